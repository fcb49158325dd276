"""Seeds that make runs independent while the script's own data stay as they are.

Weights, dropout and shuffling draw from Keras' seed generators, from explicit integer seeds and from TensorFlow's global
seed. A worker with a seed other than 0 mixes its number into each of these; Python's and numpy's generators, which
scripts make and split their data with, are left alone. Scripts that fix no seed get fixed starting points, so that runs
of different policies can be paired.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

_START = 20260101


def mix(value: int, seed: int) -> int:
    """A seed derived from one that the script chose; the same one for seed 0."""
    if seed == 0:
        return value
    return int.from_bytes(hashlib.sha256(f"{value}:{seed}".encode()).digest()[:4], "big") & 0x7FFFFFFF


def fix_start() -> None:
    """Gives scripts that fix no seed of their own a fixed start for every generator."""
    random.seed(_START)
    np.random.seed(_START)
    tf.random.set_seed(_START)
    fresh = np.random.default_rng
    drawn = iter(range(_START, _START + 10**9))

    def default_rng(seed: Any = None) -> np.random.Generator:
        return fresh(next(drawn) if seed is None else seed)

    np.random.default_rng = default_rng  # type: ignore[assignment]


def shift(seed: int) -> None:
    """Mixes a seed into everything that Keras draws from; does nothing for seed 0."""
    if seed == 0:
        return
    from keras.src.backend.tensorflow import random as backend_random
    from keras.src.initializers.random_initializers import RandomInitializer
    from keras.src.random import seed_generator

    plain_default = seed_generator.make_default_seed

    def default_seed() -> int:
        return mix(plain_default(), seed)

    seed_generator.make_default_seed = default_seed
    backend_random.make_default_seed = default_seed

    _mix_argument(keras.random.SeedGenerator, seed)
    plain_initializer = RandomInitializer.__init__

    def initializer(self: Any, seed: Any = None, _shift: int = seed) -> None:
        plain_initializer(self, seed=seed)
        if isinstance(seed, int):
            self.seed = mix(seed, _shift)

    RandomInitializer.__init__ = initializer
    _mix_shuffles(seed)


def seed_fit(script_seed: int | None, seed: int) -> None:
    """Sets TensorFlow's global seed before a measured ``fit``, so that its shuffling is repeatable.

    Args:
        script_seed: Global seed that the script had set, None without.
        seed: The worker's seed.
    """
    tf.random.set_seed(mix(_START if script_seed is None else script_seed, seed))


def _mix_argument(kind: Any, shift_by: int) -> None:
    plain: Callable[..., None] = kind.__init__

    def init(self: Any, seed: Any = None, *args: Any, **kwargs: Any) -> None:
        plain(self, mix(seed, shift_by) if isinstance(seed, int) else seed, *args, **kwargs)

    kind.__init__ = init


def _mix_shuffles(shift_by: int) -> None:
    plain = tf.data.Dataset.shuffle
    drawn = iter(range(_START, _START + 10**9))

    def shuffle(
        self: Any, buffer_size: Any, seed: Any = None, reshuffle_each_iteration: Any = None, name: Any = None
    ) -> Any:
        # A shuffle that stays the same in every epoch often stands before a split: it belongs to the data.
        if reshuffle_each_iteration is not False and (seed is None or isinstance(seed, int)):
            seed = mix(next(drawn) if seed is None else seed, shift_by)
        return plain(self, buffer_size, seed=seed, reshuffle_each_iteration=reshuffle_each_iteration, name=name)

    tf.data.Dataset.shuffle = shuffle


def global_seed() -> int | None:
    """TensorFlow's global seed as it stands; None when none was set."""
    from tensorflow.python.eager import context

    seed = context.global_seed()
    return None if seed is None else int(seed)

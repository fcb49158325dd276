"""A training step that leaves its loss, its loss scale and its count of updates behind, step by step."""

from __future__ import annotations

import hashlib
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from autotune.workload.headroom import SizeWatch

_LIMIT = 200_000
_FIRST = 4


class StepRecorder:
    """Wraps ``train_step`` for one run; values stay in device memory until they are read.

    Not used while steps are timed. Under a ``tf.distribute`` strategy and in eager mode nothing is recorded.

    Args:
        model: The compiled model.
        steps: Steps that will be run; more are not recorded.
        sizes: Whether to watch how large float16 values become.
    """

    def __init__(self, model: Any, steps: int, *, sizes: bool = True) -> None:
        self._model = model
        self.active = not model.run_eagerly and getattr(model, "_distribute_strategy", None) is None
        self.size = min(max(steps, 1), _LIMIT)
        self._batch_loss: Any = None
        self._plain_step = model.train_step
        self._plain_loss = model.compute_loss
        if not self.active:
            return
        optimizer = model.optimizer
        self._scaled = isinstance(optimizer, keras.optimizers.LossScaleOptimizer)
        self._counter = tf.Variable(0, dtype=tf.int32, trainable=False)
        self._loss = tf.Variable(tf.fill([self.size], float("nan")), trainable=False)
        self._scale = tf.Variable(tf.zeros([self.size if self._scaled else 1]), trainable=False)
        self._updates = tf.Variable(tf.zeros([self.size], tf.int32), trainable=False)
        self._data = tf.Variable(tf.zeros([_FIRST]), trainable=False)
        self._sizes = SizeWatch(model, self.size) if sizes and optimizer is not None else None

    def __enter__(self) -> StepRecorder:
        """Puts the wrapped step in place."""
        if self.active:
            object.__setattr__(self._model, "compute_loss", self._loss_of)
            object.__setattr__(self._model, "train_step", self._step)
            self._model.train_function = None
            if self._sizes is not None:
                self._sizes.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Puts the model's own step back."""
        if self.active:
            for name in ("compute_loss", "train_step"):
                vars(self._model).pop(name, None)
            self._model.train_function = None
            if self._sizes is not None:
                self._sizes.stop()

    @property
    def steps(self) -> int:
        """Steps recorded so far."""
        return min(int(self._counter.numpy()), self.size) if self.active else 0

    @property
    def watches_sizes(self) -> bool:
        """Whether float16 values are watched."""
        return self.active and self._sizes is not None and self._sizes.active

    def read(self) -> dict[str, Any]:
        """What was recorded, as plain lists; empty where nothing is."""
        if not self.active:
            return {}
        steps = self.steps
        return {
            "loss": [float(v) for v in self._loss.numpy()[:steps]],
            "loss_scale": [float(v) for v in self._scale.numpy()[:steps]] if self._scaled else [],
            "updates": [int(v) for v in self._updates.numpy()[:steps]],
            **({} if self._sizes is None else self._sizes.read(steps)),
        }

    def data_hash(self) -> str | None:
        """Hash of what the first batches held; None where nothing was recorded."""
        if not self.active or int(self._counter.numpy()) == 0:
            return None
        return hashlib.sha256(np.round(self._data.numpy(), 3).tobytes()).hexdigest()[:16]

    def _loss_of(self, *args: Any, **kwargs: Any) -> Any:
        self._batch_loss = loss = self._plain_loss(*args, **kwargs)
        return loss

    def _step(self, data: Any) -> Any:
        self._batch_loss = None
        logs = self._plain_step(data)
        loss = self._batch_loss
        if loss is None:  # a step that computes its loss in its own way: what it returns is all there is
            loss = logs.get("loss") if isinstance(logs, dict) else logs
        index = self._counter
        place = tf.reshape(tf.minimum(index, self.size - 1), [1, 1])
        if loss is not None:
            value = tf.reshape(tf.reduce_mean(tf.cast(tf.convert_to_tensor(loss), tf.float32)), [1])
            self._loss.scatter_nd_update(place, value)
        optimizer = self._model.optimizer
        if optimizer is not None:
            if self._scaled:
                self._scale.scatter_nd_update(place, tf.reshape(tf.convert_to_tensor(optimizer.dynamic_scale), [1]))
            plain = optimizer.inner_optimizer if self._scaled else optimizer
            counter = tf.cast(tf.convert_to_tensor(plain._iterations), tf.int32)
            self._updates.scatter_nd_update(place, tf.reshape(counter, [1]))
        if self._sizes is not None:
            self._sizes.end_step(place)
        first = tf.reshape(tf.minimum(index, _FIRST - 1), [1, 1])
        self._data.scatter_nd_add(first, tf.where(index < _FIRST, tf.reshape(_sum_of(data), [1]), tf.zeros([1])))
        index.assign_add(1)
        return logs


def _sum_of(data: Any) -> Any:
    """A number that depends on the content and on the order of a batch's leaves."""
    total = tf.constant(0.0)
    for leaf in keras.tree.flatten(data):
        if isinstance(leaf, tf.Tensor) and (leaf.dtype.is_floating or leaf.dtype.is_integer):
            values = tf.reshape(tf.cast(leaf, tf.float32), [-1])
            total += tf.reduce_mean(values * tf.cast(1 + tf.range(tf.size(values)) % 31, tf.float32))
    return total

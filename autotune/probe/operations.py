"""What is measured: the arithmetic of training, forward and backward. Child side; TensorFlow is handed in.

The gradients belong to it: oneDNN has float16 kernels for a convolution on processors without float16 units, and none
for its gradients, which then take ten times as long as in float32.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from autotune.probe.ladder import Call, Rung

Operation = Literal["matmul", "convolution", "copy"]

_MATMUL_SIZES = (128, 256, 512, 1024, 1536, 2048, 4096, 8192)
# Batch and channels.
_CONVOLUTION_SIZES = ((1, 32), (1, 64), (4, 64), (16, 64), (64, 64), (64, 128), (128, 256), (256, 512))
_IMAGE_SIDE, _KERNEL_SIDE = 32, 3
# The larger ones do not fit a cache; on a machine where they take too long the smaller ones have to do.
_COPY_BYTES = tuple(1 << power for power in (22, 24, 26, 28))
_PRODUCTS = 3


def operations(tf: Any, dtypes: Sequence[str]) -> Iterator[tuple[Operation, str, Iterator[Rung]]]:
    """Operation, dtype and sizes of everything to measure, what matters most first.

    Args:
        tf: The module ``tensorflow``.
        dtypes: Names of floating-point dtypes.
    """
    for dtype in dtypes:
        yield "matmul", dtype, _matmul(tf, dtype)
        yield "convolution", dtype, _convolution(tf, dtype)
    yield "copy", "float32", _copy(tf)


def _matmul(tf: Any, dtype: str) -> Iterator[Rung]:
    """The three products of a dense layer of n inputs and outputs at batch n: 2 n^3 operations each."""
    for n in _MATMUL_SIZES:

        def prepare(n: int = n) -> Call:
            inputs, weights, error = (_random(tf, (n, n), dtype) for _ in range(_PRODUCTS))

            def call() -> None:
                tf.linalg.matmul(inputs, weights)
                tf.linalg.matmul(error, weights, transpose_b=True)
                tf.linalg.matmul(inputs, error, transpose_a=True)
                _wait(tf)

            return call

        yield Rung(cost=_PRODUCTS * 2.0 * n**3, size=f"{n} x {n}, with gradients", prepare=prepare)


def _convolution(tf: Any, dtype: str) -> Iterator[Rung]:
    """A 3x3 convolution and its two gradients: 2 operations for each input channel, kernel position and output each."""
    for batch, channels in _CONVOLUTION_SIZES:

        def prepare(batch: int = batch, channels: int = channels) -> Call:
            images = _random(tf, (batch, _IMAGE_SIDE, _IMAGE_SIDE, channels), dtype)
            kernel = _random(tf, (_KERNEL_SIDE, _KERNEL_SIDE, channels, channels), dtype)
            how = {"strides": [1, 1, 1, 1], "padding": "SAME"}

            def call() -> None:
                tf.raw_ops.Conv2D(input=images, filter=kernel, **how)
                tf.raw_ops.Conv2DBackpropInput(input_sizes=images.shape, filter=kernel, out_backprop=images, **how)
                tf.raw_ops.Conv2DBackpropFilter(input=images, filter_sizes=kernel.shape, out_backprop=images, **how)
                _wait(tf)

            return call

        one = 2.0 * batch * _IMAGE_SIDE**2 * _KERNEL_SIDE**2 * channels**2
        size = f"{batch} x {_IMAGE_SIDE} x {_IMAGE_SIDE} x {channels}, 3 x 3, with gradients"
        yield Rung(cost=_PRODUCTS * one, size=size, prepare=prepare)


def _copy(tf: Any) -> Iterator[Rung]:
    """Adds one array to another in place: two reads and a write, without an allocation, which would be timed too."""
    for size in _COPY_BYTES:

        def prepare(size: int = size) -> Call:
            target = tf.Variable(tf.zeros((size // 4,), tf.float32))
            source = tf.ones((size // 4,), tf.float32)

            def call() -> None:
                target.assign_add(source, read_value=False)
                _wait(tf)

            return call

        yield Rung(cost=3.0 * size, size=f"{size >> 20} MiB, added in place", prepare=prepare)


def _random(tf: Any, shape: tuple[int, ...], dtype: str) -> Any:
    return tf.cast(tf.random.stateless_uniform(shape, seed=(1, 2), minval=-1.0, maxval=1.0), dtype)


def _wait(tf: Any) -> None:
    """Fetches a figure computed now: a device that works behind our back has then finished all that came before."""
    tf.add(tf.zeros(()), 1.0).numpy()

"""What an NVIDIA card's compute capability says of its 16-bit units.

Sources: CUDA C++ Programming Guide, "Compute Capabilities" (features and the table "Throughput of Native Arithmetic
Instructions": results a clock and multiprocessor); NVIDIA A100 Tensor Core GPU Architecture whitepaper (bfloat16 and
TF32 from 8.0); NVIDIA Ada whitepaper (FP8 from 8.9).
"""

from __future__ import annotations

Capability = tuple[int, int]

_FLOAT16_ARITHMETIC: Capability = (5, 3)
# Consumer Pascal: 2 float16 results a clock against 128 in float32.
_FLOAT16_SLOW: Capability = (6, 1)
_TENSOR_CORES: Capability = (7, 0)
_BFLOAT16_AND_TF32: Capability = (8, 0)
_FLOAT8: Capability = (8, 9)


def has_float16_units(capability: Capability | None) -> bool | None:
    """Whether float16 arithmetic is at least as fast as float32; None when the capability is unknown."""
    if capability is None:
        return None
    return capability >= _FLOAT16_ARITHMETIC and capability != _FLOAT16_SLOW


def has_tensor_cores(capability: Capability | None) -> bool | None:
    """Whether the generation has float16 tensor cores (the GeForce GTX 16 series of 7.5 has none all the same)."""
    return None if capability is None else capability >= _TENSOR_CORES


def has_bfloat16_units(capability: Capability | None) -> bool | None:
    """Whether there are bfloat16 tensor cores; None when the capability is unknown."""
    return None if capability is None else capability >= _BFLOAT16_AND_TF32


def has_tf32_units(capability: Capability | None) -> bool | None:
    """Whether float32 products can run in TensorFloat-32; None when the capability is unknown."""
    return None if capability is None else capability >= _BFLOAT16_AND_TF32


def has_float8_units(capability: Capability | None) -> bool | None:
    """Whether there are FP8 tensor cores: noted only, no policy uses them."""
    return None if capability is None else capability >= _FLOAT8

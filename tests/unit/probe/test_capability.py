"""Compute capability decides what a card can do, with the exceptions that the tables name."""

from __future__ import annotations

import pytest

from autotune.probe.capability import (
    has_bfloat16_units,
    has_float8_units,
    has_float16_units,
    has_tensor_cores,
    has_tf32_units,
)


@pytest.mark.parametrize(
    ("capability", "float16", "tensor_cores", "bfloat16", "tf32", "float8"),
    [
        ((5, 2), False, False, False, False, False),
        ((5, 3), True, False, False, False, False),
        ((6, 0), True, False, False, False, False),
        ((6, 1), False, False, False, False, False),
        ((6, 2), True, False, False, False, False),
        ((7, 0), True, True, False, False, False),
        ((7, 5), True, True, False, False, False),
        ((8, 0), True, True, True, True, False),
        ((8, 9), True, True, True, True, True),
        ((9, 0), True, True, True, True, True),
        ((12, 1), True, True, True, True, True),
    ],
)
def test_units_of_a_generation(
    capability: tuple[int, int], float16: bool, tensor_cores: bool, bfloat16: bool, tf32: bool, float8: bool
) -> None:
    assert has_float16_units(capability) is float16
    assert has_tensor_cores(capability) is tensor_cores
    assert has_bfloat16_units(capability) is bfloat16
    assert has_tf32_units(capability) is tf32
    assert has_float8_units(capability) is float8


def test_an_unknown_capability_decides_nothing() -> None:
    rules = (has_float16_units, has_tensor_cores, has_bfloat16_units, has_tf32_units, has_float8_units)
    assert [rule(None) for rule in rules] == [None] * 5

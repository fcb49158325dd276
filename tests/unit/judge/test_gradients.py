"""Gradients that meet float16, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autotune.judge.gradients import gradient_numerics, predicted_loss_scale, survival, surviving
from autotune.records.numerics import Distribution


def of(values: np.ndarray) -> Distribution:
    nonzero = np.abs(values[values != 0])
    powers, counts = np.unique(np.frexp(nonzero)[1] - 1, return_counts=True)
    return Distribution(
        count=values.size,
        largest=float(nonzero.max()),
        exponents={int(p): int(c) for p, c in zip(powers, counts, strict=True)},
        vanish={},
        overflow={},
    )


def test_the_table_is_numpys() -> None:
    """1e-5 to 1e-7 survive as float16, 1e-8 and less do not; times 1024 all down to 1e-10 do."""
    table = gradient_numerics(None).survival
    assert [row.gradient for row in table] == [1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10]
    assert [row.survives for row in table] == [True, True, True, False, False, False]
    assert all(row.scaled_survives for row in table)
    for row in table:
        assert row.as_float16 == float(np.float16(row.gradient))
        assert row.scaled_as_float16 == float(np.float16(row.gradient * 1024))


def test_what_overflows_does_not_survive_its_scale() -> None:
    """Infinity is null, and lost."""
    row = survival(100.0)
    assert row.survives and not row.scaled_survives and row.scaled_as_float16 is None


@given(st.floats(1e-12, 1e4))
def test_the_predicted_scale_leaves_room(largest: float) -> None:
    """The largest gradient times the scale stays a factor of two below 65504, and twice the scale would not."""
    scale = predicted_loss_scale(largest)
    assert scale is not None and largest * scale <= 65504 / 2
    assert scale == 2.0**24 or largest * scale * 2 > 65504 / 2
    assert predicted_loss_scale(None) is None


@pytest.mark.parametrize("scale", [1.0, 1024.0, 2.0**15])
def test_surviving_share_is_what_float16_does(scale: float) -> None:
    """Counted by powers of two, compared with casting every number."""
    rng = np.random.default_rng(0)
    values = np.exp2(rng.uniform(-45, 20, 20_000))
    with np.errstate(over="ignore", under="ignore"):
        cast = (values * scale).astype(np.float16)
    exact = float(((cast > 0) & np.isfinite(cast)).mean())
    assert surviving(of(values), scale) == pytest.approx(exact, abs=0.005)

"""Numbers are written as people read them, and unknown never becomes a number."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autotune.reports import format as write


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0115, "12 ms"),
        (3.24, "3.2 s"),
        (41.4, "41 s"),
        (97.0, "97 s"),
        (99.6, "1 min 40 s"),
        (120.2, "2 min"),
        (212.0, "3 min 32 s"),
        (599.7, "10 min"),
        (2460.0, "41 min"),
        (3599.0, "1 h"),
        (5880.0, "1 h 38 min"),
        (7200.0, "2 h"),
        (86399.0, "1 d"),
        (187_200.0, "2 d 4 h"),
        (-300.0, "-5 min"),
        (None, "unknown"),
        (math.inf, "unknown"),
    ],
)
def test_durations(seconds: float | None, text: str) -> None:
    assert write.duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.713, "1.71x"),
        (0.2264, "0.23x"),
        (1.0, "1.00x"),
        (9.996, "10.0x"),
        (40.31, "40.3x"),
        (412.0, "412x"),
        (0.0248, "0.025x"),
        (None, "-"),
        (math.nan, "-"),
    ],
)
def test_factors(value: float | None, text: str) -> None:
    assert write.factor(value) == text


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (0.0197, 0.0115, "19.7 -> 11.5 ms a step"),
        (0.00085, 0.0004, "850 -> 400 us a step"),
        (0.0011, 0.0004, "1.10 -> 0.400 ms a step"),
        (2.5, 1.25, "2.50 -> 1.25 s a step"),
        (None, 0.0115, "unknown -> 11.5 ms a step"),
    ],
)
def test_two_step_times_share_a_unit(before: float | None, after: float | None, text: str) -> None:
    assert write.step_times(before, after) == text


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(0, "0 B"), (812 * 2**20, "812 MiB"), (1_420_000_000, "1.32 GiB"), (1023 * 2**20, "0.999 GiB"), (None, "unknown")],
)
def test_sizes(size_bytes: int | None, text: str) -> None:
    assert write.size(size_bytes) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0%"), (1.0, "100%"), (0.0024, "0.24%"), (0.0205, "2.1%"), (0.61, "61%"), (None, "unknown")],
)
def test_small_shares_are_not_rounded_to_nothing(share: float | None, text: str) -> None:
    assert write.percent(share) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(32768.0, "32,768 (2^15)"), (1.0, "1"), (64.0, "64"), (2.0**-25, "2^-25"), (1000.0, "1,000"), (None, "unknown")],
)
def test_loss_scales(value: float | None, text: str) -> None:
    assert write.scale(value) == text


@pytest.mark.parametrize(
    ("value", "margin", "text"),
    [(0.915, 0.00915, "0.915"), (0.0312, 0.0003, "0.0312"), (0.00001, 0.00915, "1.00e-05"), (0.0, 0.01, "0.000")],
)
def test_quality_shows_what_the_margin_is_about(value: float, margin: float, text: str) -> None:
    assert write.quality(value, digits=write.decimals_for(margin)) == text


def test_ratios_of_speed_in_words() -> None:
    assert write.compared(1.713) == "1.71x faster"
    assert write.compared(0.2264) == "4.42x slower"
    assert write.compared(1.004) == "as fast"
    assert write.compared(None) == "speed unknown"


def test_ceilings_have_the_unit_of_their_operation() -> None:
    assert write.rate(137e9, "matmul") == "137 GFLOP/s"
    assert write.rate(1.2e12, "convolution") == "1.20 TFLOP/s"
    assert write.rate(21.4e9, "copy") == "21.4 GB/s"


def test_a_noun_follows_its_count() -> None:
    assert write.counted(1, "seed") == "1 seed"
    assert write.counted(1240, "step") == "1,240 steps"


@given(st.floats(min_value=1e-12, max_value=1e12))
def test_significant_digits_keep_the_value(value: float) -> None:
    assert math.isclose(float(write.significant(value).replace(",", "")), value, rel_tol=0.00501)


@given(st.floats(allow_nan=True, allow_infinity=True) | st.none())
def test_any_float_can_be_written(value: float | None) -> None:
    for shown in (write.significant(value), write.factor(value), write.duration(value), write.quality(value)):
        assert shown and "nan" not in shown and "inf" not in shown

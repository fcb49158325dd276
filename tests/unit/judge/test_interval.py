"""Intervals hold what they promise, and a disturbed value does not move them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter

from autotune.judge.interval import Interval, inverse, of_logs, product, variance_inflation


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=30), st.floats(1e-3, 1e3))
def test_scaling_the_values_scales_the_interval(values: list[float], factor: float) -> None:
    """A change of unit changes nothing else."""
    plain, scaled = of_logs(values), of_logs([v * factor for v in values])
    assert scaled.value == pytest.approx(plain.value * factor, rel=1e-6)
    if plain.low is not None and plain.low > 1e-200 and plain.high is not None and plain.high < 1e200:
        assert scaled.low == pytest.approx(plain.low * factor, rel=1e-4)
        assert plain.low <= plain.value * (1 + 1e-9) and plain.value <= plain.high * (1 + 1e-9)


@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize("count", [4, 8, 20])
def test_the_true_ratio_is_inside_in_about_95_of_100(heavy: bool, count: int) -> None:
    """Coverage by simulation, normal and heavy tails (t with 3 degrees of freedom)."""
    rng = np.random.default_rng(count)
    noise = rng.standard_t(3, (1000, count)) if heavy else rng.standard_normal((1000, count))
    assert coverage(noise, serial=False) >= 0.92


def coverage(noise: np.ndarray, *, serial: bool) -> float:
    """Share of rows whose interval holds the truth."""
    found = [of_logs(np.exp(0.02 * row), serial=serial) for row in noise]
    return float(np.mean([(i.low or np.inf) <= 1.0 <= (i.high or -np.inf) for i in found]))


@pytest.mark.parametrize(("count", "kept"), [(12, 0.905), (24, 0.93)])
def test_neighbours_in_time_are_no_independent_values(count: int, kept: float) -> None:
    """Chunks that follow each other, r = 0.5: taken for independent they promise 95% and keep 80."""
    rng = np.random.default_rng(count)
    steps = rng.standard_normal((1000, count + 50))
    series = lfilter([1.0], [1.0, -0.5], steps, axis=1)[:, 50:]
    assert coverage(series, serial=True) >= kept
    assert coverage(series, serial=False) < 0.82


def test_widening_costs_little_where_values_are_independent() -> None:
    """The correction does not ask for many more chunks than it needs."""
    rng = np.random.default_rng(3)
    rows = np.exp(0.02 * rng.standard_normal((300, 24)))
    ratio = [(of_logs(row, serial=True).half_log or 0.0) / (of_logs(row).half_log or 1.0) for row in rows]
    assert min(ratio) >= 1.0 and float(np.median(ratio)) < 1.2


def test_autocorrelation_is_seen_past_a_disturbed_value() -> None:
    """A slow wave inflates the variance, one outlier in it hides nothing; alternation and constants inflate nothing."""
    wave = np.sin(np.arange(24) / 4.0)
    disturbed = wave.copy()
    disturbed[7] = 50.0
    assert variance_inflation(wave) > 3.0 and variance_inflation(disturbed) > 3.0
    assert variance_inflation([1.0, -1.0] * 12) == 1.0 and variance_inflation([2.0] * 10) == 1.0


def test_one_disturbed_value_in_ten_hardly_matters() -> None:
    """Another process that doubles one chunk does not double the answer."""
    values = [1.0, 1.01, 0.99, 1.0, 1.02, 0.98, 1.0, 1.01, 0.99, 2.0]
    assert of_logs(values).value == pytest.approx(1.0, abs=0.01)


def test_few_values_have_no_interval() -> None:
    """Two values say where, not how sure."""
    assert of_logs([2.0, 2.0]) == Interval(value=2.0, count=2)


def test_equal_values_have_an_interval_of_no_width() -> None:
    """A spread of zero is no error."""
    assert of_logs([3.0] * 6).half_log == pytest.approx(0.0)


def test_product_and_inverse_keep_the_relative_width() -> None:
    """Half widths add in quadrature on the logarithmic scale."""
    one = Interval(value=2.0, low=2.0 / 1.1, high=2.0 * 1.1, count=5)
    both = product(one, inverse(one))
    assert both.value == pytest.approx(1.0)
    assert both.half_log == pytest.approx(np.sqrt(2) * np.log(1.1))
    assert product(one, Interval(value=1.0)).low is None

"""Intervals of positive quantities: estimated on logarithms, robust against a few disturbed values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.stats import mstats

_TRIM = 0.2
_FEWEST_TO_TRIM = 5
# Chunks on shared machines have 0.3 to 0.6 (measured), and a short series cannot tell more from a drift; with fewer degrees
# of freedom the interval says nothing at all.
_MOST_AUTOCORRELATION = 0.6
_LEAST_FREEDOM = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Interval:
    """An estimate with its 95% interval; without one where there are too few values.

    Attributes:
        value: The estimate.
        low: Lower end; None when unknown.
        high: Upper end; None when unknown.
        count: Values behind it.
    """

    value: float
    low: float | None = None
    high: float | None = None
    count: int = 0

    @property
    def half_log(self) -> float | None:
        """Half the interval's width on the logarithmic scale; None when unknown."""
        if self.low is None or self.high is None or self.low <= 0.0:
            return None
        return (math.log(self.high) - math.log(self.low)) / 2.0


def of_logs(values: Sequence[float], *, serial: bool = False) -> Interval:
    """Geometric centre of positive values with a 95% interval.

    A t interval of the 20% trimmed mean of the logarithms, its standard error from the winsorised variance (Tukey and
    McLaughlin 1963; ``scipy.stats.mstats.trimmed_stde``); with fewer than five values the plain t interval. Timings are
    skewed and some are disturbed by other processes: trimming keeps those from moving the answer.

    Args:
        values: Positive values, at least one.
        serial: Whether they follow each other in time. Neighbours in time are alike, so that n of them say less than n
            independent ones: the interval is widened by their autocorrelation.

    Raises:
        ValueError: There is no value.
    """
    logs = np.log(np.asarray(values, dtype=float))
    count = len(logs)
    if count == 0:
        raise ValueError("an interval needs at least one value")
    trim = _TRIM if count >= _FEWEST_TO_TRIM else 0.0
    centre = float(stats.trim_mean(logs, trim))
    if count < 3:
        return Interval(value=math.exp(centre), count=count)
    kept = count - 2 * int(trim * count)
    error = float(mstats.trimmed_stde(logs, limits=(trim, trim))) if trim else float(stats.sem(logs))
    inflation = variance_inflation(logs) if serial else 1.0
    freedom = max((kept - 1) / inflation, min(_LEAST_FREEDOM, kept - 1))
    half = float(stats.t.ppf(0.975, freedom)) * error * math.sqrt(inflation)
    return Interval(value=math.exp(centre), low=math.exp(centre - half), high=math.exp(centre + half), count=count)


def variance_inflation(series: Sequence[float] | np.ndarray) -> float:
    """By how much autocorrelation inflates the variance of a mean, at least 1: n values count as n over this.

    (1 + r) / (1 - r) for the lag-one autocorrelation r (Zwiers and von Storch 1995). It is taken between ranks, for one
    disturbed value would hide it, and its bias in short series, -(1 + 4 r) / n (Marriott and Pope 1954), is put back.
    """
    count = len(series)
    if count < 4:
        return 1.0
    ranks = stats.rankdata(series)
    ranks = ranks - ranks.mean()
    total = float(ranks @ ranks)
    if total == 0.0:
        return 1.0
    seen = float(ranks[1:] @ ranks[:-1]) / total
    likely = seen + (1.0 + 4.0 * max(seen, 0.0)) / count
    likely = min(max(likely, 0.0), _MOST_AUTOCORRELATION)
    return (1.0 + likely) / (1.0 - likely)


def product(first: Interval, second: Interval) -> Interval:
    """Product of two independent quantities; half widths add in quadrature on the logarithmic scale."""
    value = first.value * second.value
    halves = (first.half_log, second.half_log)
    if None in halves:
        return Interval(value=value, count=min(first.count, second.count))
    half = math.hypot(*(h for h in halves if h is not None))
    return Interval(
        value=value, low=value * math.exp(-half), high=value * math.exp(half), count=min(first.count, second.count)
    )


def inverse(interval: Interval) -> Interval:
    """One over a quantity."""
    low = None if interval.high is None else 1.0 / interval.high
    high = None if interval.low is None else 1.0 / interval.low
    return Interval(value=1.0 / interval.value, low=low, high=high, count=interval.count)

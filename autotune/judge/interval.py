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


def of_logs(values: Sequence[float]) -> Interval:
    """Geometric centre of positive values with a 95% interval.

    A t interval of the 20% trimmed mean of the logarithms, its standard error from the winsorised variance (Tukey and
    McLaughlin 1963; ``scipy.stats.mstats.trimmed_mean_ci``); with fewer than five values the plain t interval. Timings are
    skewed and some are disturbed by other processes: trimming keeps those from moving the answer.
    """
    logs = np.log(np.asarray(values, dtype=float))
    count = len(logs)
    if count == 0:
        raise ValueError("an interval needs at least one value")
    if count < 3:
        return Interval(value=float(np.exp(logs.mean())), count=count)
    spread = float(logs.std(ddof=1))
    if spread == 0.0:
        value = float(np.exp(logs[0]))
        return Interval(value=value, low=value, high=value, count=count)
    if count < _FEWEST_TO_TRIM:
        centre = float(logs.mean())
        half = float(stats.t.ppf(0.975, count - 1)) * spread / math.sqrt(count)
        return Interval(value=math.exp(centre), low=math.exp(centre - half), high=math.exp(centre + half), count=count)
    low, high = (float(end) for end in mstats.trimmed_mean_ci(logs, limits=(_TRIM, _TRIM), alpha=0.05))
    return Interval(
        value=math.exp(float(stats.trim_mean(logs, _TRIM))), low=math.exp(low), high=math.exp(high), count=count
    )


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

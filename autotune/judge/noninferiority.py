"""Sequential non-inferiority of paired differences: is the mean difference above minus the margin?

The hypothesis to reject is that the candidate is a whole margin worse. It is tested at each number of seeds from the
fewest on. Each look has its own part of 3.5% (Bonferroni: the parts add up, so that the error over all looks is at most
3.5% however they depend on each other; Dunn 1961), most of it at the first look, where most comparisons are settled. What
is left of 5% pays for the choice before the test: a candidate is often the best of several by its first run, which then
counts in its proof (simulated: best of six, all a margin worse, eight looks: 4.7% instead of 2.4%).

A look is a one-sided t test. It holds its level for normal and for heavy-tailed differences, not for strongly skewed ones
(rare runs that fail badly and are not among those seen). ``worse`` is the mirrored test.

Three seeds tell a spread badly, the validation examples of each pair tell it well: between trainings that differ in rounding
alone, which examples flip is nearly a matter of chance (Jordan 2023, *Calibrated Chaos*), so that the difference of a pair
scatters by about the standard error over its examples. Where both sides make the same updates, the seeds' variance is
therefore moderated by a prior from the examples (Smyth 2004, the moderated t), taken twice as large as chance alone explains;
where the seeds scatter by more than such a prior makes likely, they alone count. Simulated at any share of the spread that
chance explains, a candidate worse by the margin is called a match in at most 3.7%.

Every function takes many comparisons at once, seeds along the last axis: what simulations check is what decides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from autotune.records import AccuracyVerdictName, JudgeOptions

ALPHA = 0.035
_FIRST_SHARE = 0.4
# With fewer seeds than a test needs, a candidate this many margins and this many spreads worse is not run again.
_HOPELESS = 10.0
# Prior from the validation examples: degrees of freedom, how many times the variance that chance explains, and the quantile of
# F up to which the seeds' own variance is likely under it.
_PRIOR_FREEDOM, _PRIOR_INFLATION, _PRIOR_LIKELY = 6, 2.0, 0.6
# Values this close to whole multiples of a step, in steps, lie on it: metrics come as float32.
_ON_STEP = 0.01


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """Result of comparing paired differences with a margin.

    Attributes:
        verdict: The verdict; None while it is open and more seeds may settle it.
        mean: Mean difference, negative is worse.
        low: Lower one-sided bound of this look; None before the first look.
        high: Upper one-sided bound of this look.
        detectable: Smallest drop that this evidence would have seen.
        spread: Standard deviation of the differences, at least that of a metric which moves in steps.
    """

    verdict: AccuracyVerdictName | None
    mean: float
    low: float | None = None
    high: float | None = None
    detectable: float | None = None
    spread: float | None = None


def look_alpha(count: int, options: JudgeOptions) -> float:
    """This look's part of the error allowed."""
    looks = options.maximum_seeds - options.minimum_seeds + 1
    if looks <= 1:
        return ALPHA
    if count <= options.minimum_seeds:
        return ALPHA * _FIRST_SHARE
    return ALPHA * (1.0 - _FIRST_SHARE) / (looks - 1)


def spread_of(differences: np.ndarray, step: float = 0.0, example_spread: float = 0.0) -> np.ndarray:
    """Standard deviation over seeds, at least what a finite validation set explains.

    A metric over few validation examples moves in steps: three runs on the same step have no spread to be seen and are
    no three runs that agree exactly; rounding alone scatters by step / sqrt(12). Where single examples could be compared,
    their own differences tell how far a mean over them scatters, and that with few seeds too.
    """
    return np.asarray(np.maximum(differences.std(axis=-1, ddof=1), _floor(step, example_spread)))


def _floor(step: float, example_spread: float) -> float:
    return max(step / math.sqrt(12.0), example_spread)


def bounds(
    differences: np.ndarray,
    options: JudgeOptions,
    *,
    step: float = 0.0,
    example_spread: float = 0.0,
    moderated: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Spread of the differences, and distance of this look's one-sided bounds from their mean.

    Args:
        differences: Comparisons, seeds along the last axis.
        options: Seeds at the first and the last look.
        step: Smallest change that the metric can show.
        example_spread: Standard error of a pair's difference over its validation examples; 0 when unknown.
        moderated: Whether both sides make the same updates, so that the examples tell most of the spread.
    """
    count = differences.shape[-1]
    tail = 1.0 - look_alpha(count, options)
    spread = spread_of(differences, step, example_spread)
    half = float(stats.t.ppf(tail, count - 1)) * spread / math.sqrt(count)
    if moderated and example_spread > 0.0:
        prior = _PRIOR_INFLATION * example_spread**2
        seen = differences.var(axis=-1, ddof=1)
        freedom = _PRIOR_FREEDOM + count - 1
        pooled = np.maximum(
            np.sqrt((_PRIOR_FREEDOM * prior + (count - 1) * seen) / freedom), _floor(step, example_spread)
        )
        likely = seen <= prior * float(stats.f.ppf(_PRIOR_LIKELY, count - 1, _PRIOR_FREEDOM))
        spread = np.where(likely, pooled, spread)
        half = np.where(likely, float(stats.t.ppf(tail, freedom)) * pooled / math.sqrt(count), half)
    return np.asarray(spread), np.asarray(half)


def is_match(mean: np.ndarray, spread: np.ndarray, half: np.ndarray, margin: float) -> np.ndarray:
    """Whether the lower bound is inside the margin.

    A spread beyond the margin says that single runs differ by more than is asked about: no match then.
    """
    return np.asarray((mean - half > -margin) & (spread <= margin))


def is_worse(mean: np.ndarray, half: np.ndarray, margin: float) -> np.ndarray:
    """Whether even the upper bound is beyond the margin."""
    return np.asarray(mean + half < -margin)


def compare(
    differences: Sequence[float],
    margin: float,
    options: JudgeOptions,
    *,
    step: float = 0.0,
    example_spread: float = 0.0,
    moderated: bool = False,
    noise: float | None = None,
) -> Comparison:
    """Compares paired differences with a margin.

    Args:
        differences: Candidate minus baseline, one for each independent seed, turned so that negative is worse.
        margin: How much worse is still as good.
        options: Seeds at the first and the last look.
        step: Smallest change that the metric can show; 0 where it is continuous.
        example_spread: Standard error of a pair's difference over the validation examples; 0 when unknown.
        moderated: Whether both sides make the same updates, so that the examples tell most of the spread.
        noise: How far runs of the baseline lie apart; None when unknown.
    """
    values = np.asarray(differences, dtype=float)
    count, mean = values.size, float(values.mean())
    if count < options.minimum_seeds:
        certain = noise is not None and bool(np.all(values < -_HOPELESS * max(margin, noise)))
        return Comparison(verdict="worse" if certain else None, mean=mean)
    spread, half = bounds(values, options, step=step, example_spread=example_spread, moderated=moderated)
    verdict: AccuracyVerdictName | None = None
    if is_match(values.mean(), spread, half, margin):
        verdict = "matches"
    elif is_worse(values.mean(), half, margin):
        verdict = "worse"
    elif count >= options.maximum_seeds:
        verdict = "inconclusive"
    width = float(half)
    return Comparison(
        verdict=verdict, mean=mean, low=mean - width, high=mean + width, detectable=width, spread=float(spread)
    )


def metric_step(values: Sequence[float]) -> float:
    """Smallest change that a metric can show, such as one validation example's share; 0 where it seems continuous.

    Distinct values that are all whole multiples of the smallest gap between them, or of a half or a third of it, are a
    rate over few examples. Steps too fine to be found do not limit what can be told.
    """
    distinct = np.unique(np.round(np.abs(np.asarray(values, dtype=float)), 7))
    if distinct.size < 3:  # two values lie on some step whatever they are
        return 0.0
    gap, largest = float(np.diff(distinct).min()), float(distinct[-1])
    for parts in (1, 2, 3):
        # A small gap is not known to all its digits; that a large value is a whole multiple of it makes it so.
        step = largest / max(round(largest * parts / gap), 1)
        if np.all(np.abs(distinct / step - np.round(distinct / step)) <= _ON_STEP):
            return step
    return 0.0

"""Whether a configuration learns as well as the baseline: sequential non-inferiority over paired seeds.

The test is one-sided: the hypothesis to reject is that the mean paired difference is a whole margin worse. It is made at
each number of seeds from three on. Each look has its own part of the 5% (Bonferroni: the parts add up, so the error over
all looks is at most 5% whatever their dependence; Dunn 1961), most of it at the first look, where most runs are settled.
``worse`` is the mirrored test, that the mean difference is beyond the margin. Neither is a statement on a single run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from autotune.records import AccuracyEvidence, AccuracyVerdictName, JudgeOptions, Measurement, Outcome, WorkloadInfo

ALPHA = 0.05
_FIRST_SHARE = 0.4
# Before the fewest seeds are done, a candidate this many margins worse in each of them is not run again.
_HOPELESS_MARGINS = 5.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """Result of comparing paired differences with a margin.

    Attributes:
        verdict: The verdict; None while it is open and more seeds may settle it.
        mean: Mean difference, negative is worse.
        low: Lower one-sided bound of this look.
        high: Upper one-sided bound of this look.
        detectable: Smallest drop that this evidence would have seen.
    """

    verdict: AccuracyVerdictName | None
    mean: float
    low: float | None
    high: float | None
    detectable: float | None


def look_alpha(count: int, options: JudgeOptions) -> float:
    """This look's part of the 5%."""
    looks = options.maximum_seeds - options.minimum_seeds + 1
    if looks <= 1:
        return ALPHA
    if count <= options.minimum_seeds:
        return ALPHA * _FIRST_SHARE
    return ALPHA * (1.0 - _FIRST_SHARE) / (looks - 1)


def compare(
    differences: Sequence[float], margin: float, options: JudgeOptions, *, independent: int | None = None
) -> Comparison:
    """Compares paired differences with a margin.

    Args:
        differences: Candidate minus baseline, one for each seed, turned so that negative is worse.
        margin: How much worse is still as good, above 0.
        options: Seeds at the first and the last look.
        independent: Seeds that were runs of their own; all when None.
    """
    values = np.asarray(differences, dtype=float)
    count = len(values) if independent is None else independent
    mean = float(values.mean())
    if count < options.minimum_seeds:
        beyond = bool(np.all(values < -_HOPELESS_MARGINS * margin)) and margin > 0.0
        return Comparison(verdict="worse" if beyond else None, mean=mean, low=None, high=None, detectable=None)
    alpha = look_alpha(count, options)
    spread = float(values.std(ddof=1))
    error = spread / math.sqrt(count)
    half = float(stats.t.ppf(1.0 - alpha, count - 1)) * error
    low, high = mean - half, mean + half
    verdict: AccuracyVerdictName | None = None
    if (
        low > -margin and spread <= margin
    ):  # a spread beyond the margin says that single runs differ by more than is asked about
        verdict = "matches"
    elif high < -margin:
        verdict = "worse"
    elif count >= options.maximum_seeds:
        verdict = "inconclusive"
    return Comparison(verdict=verdict, mean=mean, low=low, high=high, detectable=half)


def quality(measurement: Measurement, metric: str) -> float | None:
    """Final value of the metric in a quality run; None where it is missing or not finite."""
    value = measurement.curve[-1].values.get(metric) if measurement.curve else None
    return value if value is not None and math.isfinite(value) else None


def margin_of(baseline: Sequence[float], options: JudgeOptions) -> float:
    """The margin in units of the metric."""
    return options.tolerance if options.tolerance_absolute else options.tolerance * abs(float(np.mean(baseline)))


def accuracy(
    baseline: Mapping[int, Measurement],
    candidate: Mapping[int, Measurement],
    workload: WorkloadInfo,
    options: JudgeOptions,
) -> AccuracyEvidence:
    """Verdict over paired seeds.

    Args:
        baseline: Quality runs of the baseline by seed.
        candidate: Quality runs of the candidate by seed.
        workload: Names the metric and its direction.
        options: Margin and seeds.
    """
    metric, direction = workload.metric or "loss", workload.metric_direction or "min"
    sign = 1.0 if direction == "max" else -1.0
    seeds = sorted(set(baseline) & set(candidate))
    ours = [quality(baseline[s], metric) for s in seeds]
    theirs = [quality(candidate[s], metric) for s in seeds]
    known: dict[str, Any] = {
        "metric": metric,
        "direction": direction,
        "source": workload.metric_source,
        "seeds": len(seeds),
    }
    all_ours = [q for m in baseline.values() if (q := quality(m, metric)) is not None]
    spread = float(np.std(all_ours, ddof=1)) if len(all_ours) > 1 else None
    if not seeds or any(value is None for value in ours):
        return AccuracyEvidence(**known, baseline_spread=spread, reason="no paired runs with this metric yet")
    base = [value for value in ours if value is not None]
    margin = margin_of(base, options)
    shares = [m.share_of_plan for m in candidate.values() if m.share_of_plan is not None]
    seen = min((m.curve[-1].samples for m in candidate.values() if m.curve), default=None)
    independent = independent_seeds([baseline[s] for s in seeds])
    common: dict[str, Any] = {
        **known,
        "baseline": float(np.mean(base)),
        "baseline_spread": spread,
        "margin": margin,
        "samples_seen": None if seen is None else round(seen),
        "share_of_plan": min(shares, default=None),
        "independent_seeds": independent,
        "paired": paired([(baseline[s], candidate[s]) for s in seeds]),
    }
    if any(value is None for value in theirs) or any(candidate[s].outcome is not Outcome.OK for s in seeds):
        return AccuracyEvidence(**common, verdict="worse", reason=f"{metric} is not finite in a run of the candidate")
    other = [value for value in theirs if value is not None]
    differences = [sign * (b - a) for a, b in zip(base, other, strict=True)]
    result = compare(differences, margin, options, independent=independent)
    reason = None
    if independent < len(seeds):
        reason = f"{len(seeds)} seeds gave only {independent} different runs: equal ones count once"
    elif result.verdict is None:
        reason = f"open after {len(seeds)} of at least {options.minimum_seeds} paired seeds"
    elif result.verdict == "inconclusive":
        reason = f"the spread over {len(seeds)} seeds is too large for this margin"
    return AccuracyEvidence(
        **common,
        candidate=float(np.mean(other)),
        difference=result.mean,
        difference_low=result.low,
        difference_high=result.high,
        detectable=result.detectable,
        verdict=result.verdict or "inconclusive",
        reason=reason,
    )


def is_open(evidence: AccuracyEvidence, options: JudgeOptions) -> bool:
    """Whether more seeds may still settle the verdict."""
    return evidence.verdict == "inconclusive" and evidence.seeds < options.maximum_seeds


def independent_seeds(runs: Sequence[Measurement]) -> int:
    """Runs that differ: equal initial weights and an equal curve are one run, however many seeds made it."""
    keys = {
        (m.weights_hash, tuple(tuple(sorted((k, v) for k, v in p.values.items() if v is not None)) for p in m.curve))
        for m in runs
    }
    return len(keys)


def paired(pairs: Sequence[tuple[Measurement, Measurement]]) -> bool | None:
    """Whether both sides of each pair began with the same weights and saw the same batches; None when that is not known."""
    known = [
        a.weights_hash == b.weights_hash
        and (a.data_hash == b.data_hash or a.configuration.batch_size != b.configuration.batch_size)
        for a, b in pairs
        if a.weights_hash and b.weights_hash and a.data_hash and b.data_hash
    ]
    return all(known) if known else None

"""Whether a configuration learns as well as the baseline: evidence from paired quality runs.

Quality of a run is the metric at its last point. Runs of one seed are a pair: both sides begin with the same weights and
see the same batches. The verdict on the differences is that of ``noninferiority``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from autotune.judge.examples import agreement
from autotune.judge.noninferiority import Comparison, compare, metric_step
from autotune.records import AccuracyEvidence, JudgeOptions, Measurement, Outcome, WorkloadInfo

Pair = tuple[Measurement, Measurement]

# Ends of a run that say something of how it learns; a crash or a time limit says nothing.
_TRAINED_BADLY = (Outcome.NON_FINITE, Outcome.DIVERGED, Outcome.NO_UPDATES)


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
    seeds = sorted(set(baseline) & set(candidate))
    pairs = distinct_pairs([(baseline[s], candidate[s]) for s in seeds])
    spread = _spread(baseline.values(), metric)
    shares = [m.share_of_plan for m in candidate.values() if m.share_of_plan is not None]
    seen = min((m.curve[-1].samples for m in candidate.values() if m.curve), default=None)
    known: dict[str, Any] = {
        "metric": metric,
        "direction": direction,
        "source": workload.metric_source,
        "seeds": len(seeds),
        "independent_seeds": len(pairs),
        "baseline_spread": spread,
        "samples_seen": None if seen is None else round(seen),
        "share_of_plan": min(shares, default=None),
        "paired": paired(pairs),
    }
    singly = agreement(pairs)
    if singly is not None:
        known |= {"examples": singly.examples, "agreement": singly.same, "example_spread": singly.spread}
    if all(baseline[s] is candidate[s] for s in seeds):
        return _of_itself(known, [q for a, _ in pairs if (q := quality(a, metric)) is not None], options)
    base = [q for a, _ in pairs if (q := quality(a, metric)) is not None]
    if base:
        known |= {"baseline": float(np.mean(base)), "margin": margin_of(base, options)}
    failure = next((why for _, b in pairs if (why := _failure(b, metric)) is not None), None)
    if failure is not None:
        return AccuracyEvidence(**known, verdict="worse", reason=failure)
    values = [
        (a, b)
        for ours, theirs in pairs
        if theirs.outcome is Outcome.OK
        and (a := quality(ours, metric)) is not None
        and (b := quality(theirs, metric)) is not None
    ]
    if not values:
        return AccuracyEvidence(**known, reason=f"no pair of runs has a value of {metric} yet")
    sign = 1.0 if direction == "max" else -1.0
    differences = [sign * (b - a) for a, b in values]
    known["candidate"] = float(np.mean([b for _, b in values]))
    margin = margin_of(base, options)
    if margin <= 0.0:
        reason = f"{metric} is 0 in the baseline, and a share of 0 is no margin: give an absolute tolerance"
        return AccuracyEvidence(**known, difference=float(np.mean(differences)), reason=reason)
    step = metric_step([v for pair in pairs for m in pair for v in _values(m, metric)])
    result = compare(
        differences,
        margin,
        options,
        step=step,
        example_spread=known.get("example_spread") or 0.0,
        moderated=all(b.configuration.same_updates(a.configuration) for a, b in pairs),
        noise=_noise(baseline.values(), metric, spread),
    )
    return AccuracyEvidence(
        **known,
        difference=result.mean,
        difference_low=result.low,
        difference_high=result.high,
        detectable=result.detectable,
        verdict=result.verdict or "inconclusive",
        reason=_reason(result, len(seeds), len(pairs), step, margin, metric, options),
    )


def _of_itself(known: dict[str, Any], base: list[float], options: JudgeOptions) -> AccuracyEvidence:
    """Evidence of a configuration whose updates are the baseline's own: its runs are the baseline's runs."""
    if not base:
        return AccuracyEvidence(**known, reason="the baseline's quality is not known yet")
    mean = float(np.mean(base))
    known |= {"baseline": mean, "candidate": mean, "margin": margin_of(base, options), "same_updates": True}
    return AccuracyEvidence(
        **known,
        difference=0.0,
        difference_low=0.0,
        difference_high=0.0,
        verdict="matches",
        reason="it makes the same updates as written, more of them a call",
    )


def is_open(evidence: AccuracyEvidence, options: JudgeOptions) -> bool:
    """Whether more seeds may still settle the verdict."""
    if evidence.verdict != "inconclusive" or evidence.seeds >= options.maximum_seeds or evidence.margin == 0.0:
        return False
    # Where most seeds repeat an earlier run, more of them will too.
    return evidence.seeds < options.minimum_seeds or 2 * evidence.independent_seeds > evidence.seeds


def distinct_pairs(pairs: Sequence[Pair]) -> list[Pair]:
    """Pairs neither of whose runs was seen before: equal ones are one run, however many seeds made it."""
    seen: set[tuple[int, object]] = set()
    kept = []
    for pair in pairs:
        keys = {(side, _identity(run)) for side, run in enumerate(pair)}
        if not keys & seen:
            kept.append(pair)
        seen |= keys
    return kept


def paired(pairs: Sequence[Pair]) -> bool | None:
    """Whether both sides of each pair began with the same weights and saw the same batches; None when not known."""
    known = [
        a.weights_hash == b.weights_hash
        and (a.data_hash == b.data_hash or a.configuration.batch_size != b.configuration.batch_size)
        for a, b in pairs
        if a.weights_hash and b.weights_hash and a.data_hash and b.data_hash
    ]
    return all(known) if known else None


def _identity(run: Measurement) -> object:
    """Equal initial weights and an equal curve are one run."""
    return run.weights_hash, tuple(tuple(sorted(p.values.items(), key=lambda item: item[0])) for p in run.curve)


def _failure(run: Measurement, metric: str) -> str | None:
    """Why a run of the candidate speaks against it whatever the others do; None when it does not."""
    if run.outcome in _TRAINED_BADLY:
        return run.reason or f"a run ended as {run.outcome.replace('_', ' ')}"
    if run.outcome is Outcome.OK and run.curve and run.curve[-1].values.get(metric, 0.0) is None:
        return f"{metric} is not finite at the end of a run of the candidate"
    return None


def _values(run: Measurement, metric: str) -> list[float]:
    return [v for point in run.curve if (v := point.values.get(metric)) is not None and math.isfinite(v)]


def _spread(baseline: Iterable[Measurement], metric: str) -> float | None:
    """Standard deviation of the baseline against itself over seeds; None with fewer than two different runs."""
    runs = {_identity(m): q for m in baseline if (q := quality(m, metric)) is not None}
    return float(np.std(list(runs.values()), ddof=1)) if len(runs) > 1 else None


def _noise(baseline: Iterable[Measurement], metric: str, spread: float | None) -> float | None:
    """How far runs of the baseline may lie apart, by what is known before there are many; None when nothing is.

    The larger of the spread over seeds and of half the largest change between neighbouring points in the second half of
    the curves, where little is left to learn.
    """
    changes = []
    for run in baseline:
        values = _values(run, metric)
        late = values[(len(values) - 1) // 2 :]
        changes += [abs(b - a) / 2.0 for a, b in itertools.pairwise(late)]
    known = [*changes, *([] if spread is None else [spread])]
    return max(known) if known else None


def _reason(
    result: Comparison, seeds: int, independent: int, step: float, margin: float, metric: str, options: JudgeOptions
) -> str | None:
    parts = []
    if result.verdict is None:
        parts.append(f"open after {seeds} of at most {options.maximum_seeds} paired seeds")
    elif result.verdict == "worse" and result.low is None:
        parts.append(f"{-result.mean / margin:.0f} margins worse: far more than chance, so it was not run again")
    elif result.verdict == "inconclusive" and result.spread is not None:
        if result.spread > margin:
            parts.append(f"the spread over {seeds} seeds, {result.spread:.2g}, is larger than the margin, {margin:.2g}")
        else:
            parts.append(f"after {seeds} seeds the difference is too close to the margin, {margin:.2g}, to tell")
    if independent < seeds:
        parts.append(f"{seeds} seeds gave only {independent} different runs: equal ones count once")
    if step > margin:
        parts.append(f"{metric} moves in steps of {step:.2g}, coarser than the margin: too few validation examples")
    return "; ".join(parts) or None

"""Whether the updates were applied, and what became of the loss scale."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from scipy import stats

from autotune.judge.headroom import headroom
from autotune.records import Measurement, Outcome, StabilityEvidence

# Share of updates that may be skipped once the loss scale has settled.
MOST_SKIPPED = 0.01
_CERTAIN = 0.01
# Below it Keras' dynamic scale no longer scales anything up: it fell because gradients are never finite.
LEAST_SCALE = 1.0
# Updates applied in a row by which a scale counts as settled; fewer where the trace ends before.
_SETTLED_RUN, _SHORTEST_RUN = 50, 5
# Halvings that lead from 2**15 down to 1.
_MOST_SETTLING = 15


def stability(measurements: Iterable[Measurement]) -> StabilityEvidence:
    """What happened to the updates over all trials of one configuration."""
    trials = [m for m in measurements if m.steps > 0]
    skips = [skipped(m) for m in trials]
    known = [s for s in skips if s is not None]
    counted = sum(total for _, total in known)
    lost = sum(count for count, _ in known)
    watched = [m.nonfinite_steps for m in trials if m.nonfinite_steps is not None]
    return StabilityEvidence(
        steps=sum(m.steps for m in trials),
        nonfinite_steps=sum(watched) if watched else None,
        skipped_updates=lost if known else None,
        skipped_fraction=lost / counted if counted else None,
        loss_scale_initial=next((m.loss_scale_initial for m in trials if m.loss_scale_initial is not None), None),
        loss_scale_final=next((m.loss_scale_final for m in reversed(trials) if m.loss_scale_final is not None), None),
        loss_scale_limit=next(
            (m.scale_limit.largest_scale for m in trials if m.scale_limit and m.scale_limit.met), None
        ),
        headroom=headroom(trials),
    )


def skipped(measurement: Measurement) -> tuple[int, int] | None:
    """Updates skipped after the loss scale had settled, and steps that counts for; None when unknown.

    Healthy float16 runs skip up to a dozen updates while the first scale settles. Where the steps were not recorded one by
    one, all of them count, less those that a settling scale explains (one for each halving).
    """
    if measurement.loss_scale_initial is None:  # without a scale no update is ever skipped
        return (0, measurement.steps) if measurement.updates is not None else None
    if measurement.trace.updates:
        applied = np.diff(np.asarray(measurement.trace.updates), prepend=0) > 0
        # A scale that starts too high comes down once an epoch, whenever the same hard batch meets it: measured on healthy
        # scripts, up to seven times over six epochs. The first half of a run is its time to settle.
        settled = settled_at(applied)
        counted = applied if settled is None else applied[max(settled, applied.size // 2) :]
        return int((~counted).sum()), int(counted.size)
    if measurement.updates is None:
        return None
    lost = max(0, measurement.steps - measurement.updates)
    if measurement.loss_scale_final and measurement.loss_scale_final < measurement.loss_scale_initial:
        lost = max(0, lost - round(math.log2(measurement.loss_scale_initial / measurement.loss_scale_final)))
    return lost, measurement.steps


def settled_at(applied: Sequence[bool] | np.ndarray) -> int | None:
    """First step of the first long run of applied updates; None when there is none.

    Long is 50 in a row, or in a shorter trace whatever leads up to its end, so long as skips came before it only.
    """
    flags = np.asarray(applied, dtype=bool)
    if flags.size >= _SETTLED_RUN:
        runs = np.convolve(flags.astype(int), np.ones(_SETTLED_RUN, dtype=int), mode="valid")
        found = np.flatnonzero(runs == _SETTLED_RUN)
        if found.size:
            return int(found[0])
    since = int(np.flatnonzero(~flags)[-1]) + 1 if not flags.all() else 0
    return since if flags.size - since >= _SHORTEST_RUN and since <= _MOST_SETTLING else None


def too_many(skips: int, steps: int) -> bool:
    """Whether more than 1% of updates are skipped beyond doubt: one-sided exact binomial test at 1%.

    A few skips in a short trial are no evidence of a rate.
    """
    if steps == 0 or skips / steps <= MOST_SKIPPED:
        return False
    return float(stats.binomtest(skips, steps, MOST_SKIPPED, alternative="greater").pvalue) < _CERTAIN


def fault(measurement: Measurement) -> str | None:
    """Why a trial is not admissible; None when nothing is wrong with how it ended and with its updates."""
    if measurement.outcome is not Outcome.OK:
        return measurement.reason or str(measurement.outcome)
    if measurement.steps and measurement.updates == 0 and measurement.weights_moved is not True:
        return f"no update was applied in {measurement.steps} steps"
    if measurement.weights_moved is False:
        return f"no weight moved in {measurement.steps} steps"
    if measurement.loss_scale_final is not None and measurement.loss_scale_final < LEAST_SCALE:
        scale = f"{measurement.loss_scale_final:.3g}"
        return f"the loss scale fell to {scale}: the gradients are not finite at any useful scale, updates are skipped"
    limit = measurement.scale_limit
    if limit is not None and limit.met and not limit.finite:
        scale = "" if limit.largest_scale is None else f", beyond {limit.largest_scale:.3g}"
        return f"weights are not finite once the loss scale meets its limit{scale}: an update that overflows is applied"
    count = skipped(measurement)
    if count is not None and too_many(*count):
        return f"{count[0]} of {count[1]} updates were skipped after the loss scale had settled"
    return None


def outcome(measurement: Measurement) -> Outcome:
    """How a trial ended, once its updates are looked at: one that ended by itself but learned nothing is no success."""
    if measurement.outcome is Outcome.OK and fault(measurement) is not None:
        return Outcome.NO_UPDATES
    return measurement.outcome

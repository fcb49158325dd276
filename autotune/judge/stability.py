"""Whether the updates were applied, and what became of the loss scale."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from autotune.records import Measurement, Outcome, StabilityEvidence

# Skipped updates once the loss scale has settled (design: 1%). Settled: as many updates in a row were applied.
MOST_SKIPPED = 0.01
_SETTLED_RUN = 50


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
    )


def skipped(measurement: Measurement) -> tuple[int, int] | None:
    """Updates skipped after the loss scale had settled, and steps that counts for; None when unknown.

    Healthy float16 runs skip up to a dozen updates while the first scale settles. Where the steps were not recorded one by
    one, all of them count, less those that a settling scale explains (one for each halving).
    """
    updates = measurement.trace.updates
    if measurement.loss_scale_initial is None:
        return (0, measurement.steps) if measurement.updates is not None else None
    if updates:
        applied = np.diff(np.asarray(updates), prepend=0) > 0
        start = settled_at(applied)
        return (
            (int((~applied[start:]).sum()), int(applied[start:].size))
            if start is not None
            else (int((~applied).sum()), int(applied.size))
        )
    if measurement.updates is None:
        return None
    lost = max(0, measurement.steps - measurement.updates)
    if measurement.loss_scale_final and measurement.loss_scale_final < measurement.loss_scale_initial:
        lost = max(0, lost - round(np.log2(measurement.loss_scale_initial / measurement.loss_scale_final)))
    return lost, measurement.steps


def settled_at(applied: Sequence[bool] | np.ndarray) -> int | None:
    """First step from which a whole run of updates was applied; None when there is none."""
    flags = np.asarray(applied, dtype=bool)
    length = min(_SETTLED_RUN, max(1, flags.size // 2))
    if flags.size < length:
        return None
    runs = np.convolve(flags.astype(int), np.ones(length, dtype=int), mode="valid")
    found = np.flatnonzero(runs == length)
    return int(found[0]) if found.size else None


def fault(measurement: Measurement) -> str | None:
    """Why a trial that ended by itself is not admissible; None when nothing is wrong with its updates."""
    if measurement.outcome is not Outcome.OK:
        return measurement.reason or str(measurement.outcome)
    if measurement.weights_moved is False:
        return f"no weight moved in {measurement.steps} steps"
    if measurement.loss_scale_final is not None and measurement.loss_scale_final < 1.0:
        return f"the loss scale fell to {measurement.loss_scale_final:.3g}: the gradients are not finite at any useful scale"
    count = skipped(measurement)
    if count is not None and count[1] and count[0] / count[1] > MOST_SKIPPED:
        return f"{count[0]} of {count[1]} updates were skipped after the loss scale had settled"
    return None

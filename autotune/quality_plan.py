"""How long the accuracy runs are: the whole planned run where it fits, else the same samples of it for every side."""

from __future__ import annotations

import math

from autotune.measure.bench import QualityPlan
from autotune.records import WorkloadInfo

# Two sides, four seeds or five, and a few screenings have to fit.
_RUNS = 16
_LONGEST_S = 60.0
_SHORTEST_S = 1.5
_POINTS = 10
_FEWEST_POINTS = 5
_FEWEST_STEPS = 20
# A step of validation costs about a third of a training step, which also goes backward.
_VALIDATION_COST = 0.35
_VALIDATION_SHARE = 0.25


def quality_plan(
    workload: WorkloadInfo,
    step_time_s: float,
    left_s: float,
    *,
    epochs: int | None = None,
    validation_batches: int | None = None,
    runs: float = _RUNS,
    fewest_steps: int = _FEWEST_STEPS,
) -> QualityPlan:
    """Chooses the length of a quality run.

    Args:
        workload: The captured fit.
        step_time_s: Step time of the baseline.
        left_s: Time left for all quality runs.
        epochs: Planned length where the user gave one.
        validation_batches: Batches of one validation pass, None when unknown.
        runs: Runs of the baseline that have to fit; a slower one counts for more.
        fewest_steps: Steps of a run, however long they take.
    """
    planned_epochs = epochs or workload.epochs
    steps = workload.steps_per_epoch
    allowed_s = min(max(left_s / runs, _SHORTEST_S), _LONGEST_S)
    allowed_steps = max(fewest_steps, int(allowed_s / step_time_s))
    limit = _validation_limit(validation_batches, allowed_steps)
    batch = float(workload.batch_size or 1)
    if steps and workload.samples_per_epoch:
        batch = workload.samples_per_epoch / steps
    if steps is None:
        part = max(5, allowed_steps // _POINTS)
        return QualityPlan(
            epochs=_POINTS, part_samples=part * batch, validation_steps=limit, planned_epochs=planned_epochs
        )
    planned = steps * planned_epochs
    pass_steps = _VALIDATION_COST * (validation_batches or 0)
    if planned + pass_steps * planned_epochs <= allowed_steps:
        parts = math.ceil(_FEWEST_POINTS / planned_epochs)
        if parts > 1 and steps >= 5 * parts and pass_steps < 0.2 * steps:
            # Few epochs make a coarse curve: look more often.
            return QualityPlan(
                epochs=planned_epochs * parts,
                part_samples=math.ceil(steps / parts) * batch,
                planned_epochs=planned_epochs,
                planned_steps=planned,
                share=1.0,
            )
        return QualityPlan(epochs=planned_epochs, planned_epochs=planned_epochs, planned_steps=planned, share=1.0)
    points = max(1, min(max(planned_epochs, _FEWEST_POINTS), _POINTS, allowed_steps // 2))
    part = max(2, min(allowed_steps, planned) // points)
    return QualityPlan(
        epochs=points,
        part_samples=part * batch,
        validation_steps=limit,
        planned_epochs=planned_epochs,
        planned_steps=planned,
        share=min(1.0, part * points / planned),
    )


def _validation_limit(batches: int | None, allowed_steps: int) -> int | None:
    """Validation batches at a point, so that all points together stay a bounded share of the run."""
    if batches is None:
        return None
    most = int(_VALIDATION_SHARE * allowed_steps / _POINTS / _VALIDATION_COST)
    return None if batches <= most else max(1, most)

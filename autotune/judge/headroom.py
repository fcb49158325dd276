"""How far float16's end is from what was seen, and whether it comes nearer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from autotune.records import HeadroomEvidence, Measurement

# Largest finite number of IEEE 754 binary16.
FLOAT16_MAX = 65504.0
# A trend is read from this many parts of the second half of a run; the first half is where weights find their place.
_PARTS, _LEAST_STEPS_A_PART = 12, 3
# A trend counts if even the lower end of its 99% interval reaches the limit.
_CERTAIN = 0.99


@dataclass(frozen=True, kw_only=True, slots=True)
class Trend:
    """Growth of the largest activation over a run.

    Attributes:
        per_step: Growth a step, by the median of all slopes (Theil-Sen).
        low: Lower end of its interval.
        last: Largest activation at the end, in the middle of what the last parts showed.
        step: Step at which that is.
    """

    per_step: float
    low: float
    last: float
    step: int


def headroom(trials: Iterable[Measurement]) -> HeadroomEvidence | None:
    """The largest float16 values over all recorded runs of a configuration; None where nothing computes in float16."""
    runs = [m for m in trials if m.trace.largest_activation]
    if not runs:
        return None
    largest: dict[str, float] = {}
    for run in runs:
        for path, value in run.largest_activations.items():
            largest[path] = max(largest.get(path, 0.0), float("inf") if value is None else value)
    layer = max(largest, key=lambda path: largest[path], default=None)
    gradients = [
        size / scale
        for run in runs
        for size, scale in zip(run.trace.largest_gradient, _scales(run), strict=False)
        if size is not None and np.isfinite(size) and scale
    ]
    reached = [step for run in runs if (step := reaches_limit(run)) is not None]
    most = largest[layer] if layer is not None else None
    return HeadroomEvidence(
        largest_activation=most if most is not None and np.isfinite(most) else None,
        activation_headroom=FLOAT16_MAX / most if most else None,
        layer=layer,
        largest_gradient=max(gradients, default=None),
        reaches_limit_at_step=min(reached, default=None),
        planned_steps=max((m.planned_steps for m in runs if m.planned_steps), default=None),
    )


def trend(sizes: Sequence[float | None]) -> Trend | None:
    """How the largest activation grows in the second half of a run; None where the run is too short or not finite.

    Largest values of equal parts, and the median of the slopes between all pairs of them with its interval (Theil 1950, Sen
    1968): single spikes do not move it.
    """
    values = np.asarray([np.nan if v is None else v for v in sizes], dtype=float)
    late = values[values.size // 2 :]
    part = late.size // _PARTS
    if part < _LEAST_STEPS_A_PART or not np.all(np.isfinite(late)):
        return None
    tops = late[: part * _PARTS].reshape(_PARTS, part).max(axis=1)
    middles = values.size // 2 + part * (np.arange(_PARTS) + 0.5)
    slope, intercept, low, _ = stats.theilslopes(tops, middles, alpha=_CERTAIN)
    return Trend(
        per_step=float(slope),
        low=float(low),
        last=float(intercept + slope * values.size),
        step=int(values.size),
    )


def reaches_limit(run: Measurement) -> int | None:
    """Step at which the largest activation reaches float16's end if it goes on as it grew, within the planned run.

    Straight ahead: at a steady learning rate weights do not grow faster than that. None where it does not grow for
    certain, or gets there after the planned end only.
    """
    found = trend(run.trace.largest_activation)
    if found is None or found.low <= 0.0 or not run.planned_steps:
        return None
    cautious = found.step + (FLOAT16_MAX - found.last) / found.low
    if cautious > run.planned_steps:
        return None
    return round(found.step + (FLOAT16_MAX - found.last) / found.per_step)


def _scales(run: Measurement) -> Sequence[float]:
    if not run.trace.loss_scale:
        return [run.loss_scale_initial or 1.0] * len(run.trace.largest_gradient)
    # The scale that a step used is the one that the step before left.
    return [run.loss_scale_initial or 1.0, *run.trace.loss_scale[:-1]]

"""The step against the machine's ceilings, in words and rows."""

from __future__ import annotations

from autotune.records import Bound, Recommendation, Roofline
from autotune.reports import format as write
from autotune.reports.model import GainLine, Number, PartLine, RooflineView

_PARTS_SHOWN = 40
_BOUND: dict[Bound, str] = {
    "compute": "arithmetic limits it",
    "memory": "memory bandwidth limits it",
    "input": "waiting for data limits it",
    "overhead": "it is spent between operations more than in them",
}


def roofline_view(recommendation: Recommendation) -> RooflineView | None:
    """Words, rows and points of the roofline; None where the record has none."""
    roofline = recommendation.roofline
    if roofline is None:
        return None
    return RooflineView(
        text=_text(roofline),
        short=f"{_BOUND[roofline.bound_by]}; {write.percent(roofline.share_of_ceiling)} of what this machine can do",
        step=_point("the step", roofline.flops, roofline.bytes, roofline.flops_per_s),
        peak=roofline.ceiling_per_s,
        bandwidth=roofline.bytes_per_s,
        parts=tuple(
            PartLine(
                path=layer.path,
                type=layer.type or "",
                flops=Number(value=layer.flops, text=write.operations(layer.flops)),
                bytes=Number(value=layer.bytes, text=write.size(layer.bytes)),
                least=Number(value=layer.least_s, text=write.step_time(layer.least_s)),
                share=Number(value=layer.share, text=write.percent(layer.share)),
                bound=layer.bound_by,
                intensity=layer.flops / layer.bytes if layer.bytes else None,
            )
            for layer in roofline.layers[:_PARTS_SHOWN]
        ),
        left_out=max(0, len(roofline.layers) - _PARTS_SHOWN),
        gains=tuple(
            GainLine(
                policy=gain.policy,
                predicted=Number(value=gain.predicted, text=write.factor(gain.predicted)),
                measured=Number(value=gain.measured, text=write.factor(gain.measured)),
            )
            for gain in roofline.gains
        ),
    )


def _text(roofline: Roofline) -> str:
    took_s = roofline.step_s if roofline.compute_s is None else min(roofline.compute_s, roofline.step_s)
    return (
        f"a step as written computes {write.operations(roofline.flops)} and moves {write.size(roofline.bytes)}. The measured "
        f"ceilings allow that in {write.step_time(roofline.least_s)}; it took {write.step_time(took_s)}"
        + (" without waiting for data" if roofline.compute_s is not None else "")
        + f": {write.percent(roofline.share_of_ceiling)} of the ceiling, and {_BOUND[roofline.bound_by]}"
    )


def _point(name: str, flops: float, size_bytes: float, per_s: float) -> tuple[str, float, float] | None:
    """Name, operations for each byte and operations a second."""
    return (name, flops / size_bytes, per_s) if size_bytes and flops else None

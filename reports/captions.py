"""What each figure shows, in words: read aloud, and printed below it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from autotune.reports.model import View


@dataclass(frozen=True, kw_only=True, slots=True)
class Caption:
    """Words for a figure.

    Attributes:
        says: What is to be seen in it, for those who do not see it.
        reads: How to read it.
    """

    says: str
    reads: str


def captions(view: View) -> Mapping[str, Caption]:
    """Words for every figure, by its name."""
    speed = view.speed.text if view.speed else "not measured"
    difference = view.difference.text if view.difference else "not measured"
    return {
        "speed": Caption(
            says=f"Speed against the script as written: {speed}.",
            reads="Estimate and 95% interval; 1 is the script as written.",
        ),
        "difference": Caption(
            says=f"Difference in {view.metric}: {difference}.",
            reads="Difference and 95% interval; the shaded part is worse than the margin allows.",
        ),
        "curves": Caption(
            says=f"{view.metric} of baseline and candidate along {len(view.curves)} runs.",
            reads=f"{view.metric} along the paired short runs, one line a seed.",
        ),
        "batches": Caption(
            says="Samples a second and time to quality by batch size, against the script as written.",
            reads="A larger batch runs more samples a second and learns less from each. What counts is the time to the "
            "quality of the script as written; above 1 is sooner.",
        ),
        "front": Caption(
            says=f"{view.metric} against samples a second, one point a configuration.",
            reads=f"{view.metric} against samples a second; the dashed line joins what nothing else beats in both.",
        ),
        "roofline": Caption(
            says=f"Roofline: {view.roofline.text if view.roofline else 'not measured'}.",
            reads="What the machine allows at each number of operations for a byte moved: memory sets the slope, arithmetic "
            "the flat part. The square is the step as it was measured, the dots are its parts where the ceilings put them.",
        ),
        "trials": Caption(
            says="Speed of each timed trial against the script as written.",
            reads="Speed of each timed trial; 1 is the script as written.",
        ),
    }

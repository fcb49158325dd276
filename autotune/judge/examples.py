"""Two runs compared validation example by validation example."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from autotune.records import ExampleScores, Measurement


@dataclass(frozen=True, kw_only=True, slots=True)
class Agreement:
    """How far paired runs agree on single examples.

    Attributes:
        examples: Examples compared in each pair.
        same: Share on which both score the same; None where scores are no hits and misses.
        spread: What the difference of a pair scatters by for the validation set is finite; None where its size is unknown.
    """

    examples: int
    same: float | None
    spread: float | None


def agreement(pairs: Sequence[tuple[Measurement, Measurement]]) -> Agreement | None:
    """Compares the runs of each pair on the examples that both were scored on; None where no pair can be.

    ``spread`` is the root mean square over pairs of s / sqrt(n), with s the standard deviation of the n examples'
    differences: the standard error of a paired comparison. Where which examples flip is a matter of chance, seeds scatter
    by that much at least, and three seeds that agree better than that agree by luck.
    """
    differences, variances, hits = [], [], True
    for ours, theirs in pairs:
        both = _common(ours.examples, theirs.examples)
        if both is None:
            continue
        known, found, total = both
        difference = found - known
        hits = hits and bool(np.all(np.isin(np.concatenate([known, found]), (0.0, 1.0))))
        differences.append(difference)
        if total is not None:
            variances.append(float(difference.var()) / total)
    if not differences:
        return None
    return Agreement(
        examples=min(d.size for d in differences),
        same=float(np.mean([np.mean(d == 0.0) for d in differences])) if hits else None,
        spread=math.sqrt(float(np.mean(variances))) if variances else None,
    )


def _common(
    ours: ExampleScores | None, theirs: ExampleScores | None
) -> tuple[np.ndarray, np.ndarray, int | None] | None:
    """Scores of both on the examples that they share, and the size of the whole set."""
    if ours is None or theirs is None or ours.digest != theirs.digest:
        return None
    count = min(len(ours.scores), len(theirs.scores))
    total = None if ours.total is None else max(ours.total, count)
    return np.asarray(ours.scores[:count]), np.asarray(theirs.scores[:count]), total

"""Boards for tests of strategies."""

from __future__ import annotations

from autotune.records import Board, Configuration, Outcome, Plan, Standing


def empty(plan: Plan, *timed: Configuration) -> Board:
    """A board with the baseline, and points that were timed and are as fast as it."""
    points = (plan.space.baseline, *timed)
    return Board(
        baseline=plan.space.baseline,
        standings=tuple(Standing(configuration=point, outcome=Outcome.OK, relative_speed=1.0) for point in points),
    )

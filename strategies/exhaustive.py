"""Every point of the space, in order: the yardstick of the other strategies."""

from __future__ import annotations

from typing import ClassVar

from autotune.records import Board, Configuration, Plan


class Exhaustive:
    """Times all points.

    Args:
        seed: Not used: nothing here is random.
    """

    name: ClassVar[str] = "exhaustive"

    def __init__(self, seed: int = 0) -> None:
        del seed

    def propose(self, plan: Plan, board: Board) -> Configuration | None:
        """The first point not yet tried."""
        tried = {standing.configuration for standing in board.standings} | {board.baseline}
        return next((point for point in plan.space.configurations() if point not in tried), None)

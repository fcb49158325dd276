"""Points in a random order, a bounded number of them."""

from __future__ import annotations

import random
from typing import ClassVar

from autotune.records import Board, Configuration, Plan


class RandomSearch:
    """Times points of the space in an order that the seed decides.

    Args:
        seed: Seed of the order.
        trials: Most points to time.
    """

    name: ClassVar[str] = "random"

    def __init__(self, seed: int = 0, trials: int = 30) -> None:
        self._seed = seed
        self._trials = trials

    def propose(self, plan: Plan, board: Board) -> Configuration | None:
        """The next point of the shuffled space."""
        points = [point for point in plan.space.configurations() if point != board.baseline]
        random.Random(self._seed).shuffle(points)
        tried = {standing.configuration for standing in board.standings}
        return next((point for point in points[: self._trials] if point not in tried), None)

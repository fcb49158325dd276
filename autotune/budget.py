"""The wall-clock budget as a promise: what is left, and what the next thing may cost."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable

# Kept for the closing comparison and the report.
_CLOSING_SHARE = 0.2
_CLOSING_MOST_S = 30.0
# Writing the reports, charts included.
REPORT_S = 7.0


class Budget:
    """Counts time down and learns what each kind of trial costs.

    Args:
        total_s: The budget.
        clock: Monotonic clock.
    """

    def __init__(self, total_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.total_s = total_s
        self._clock = clock
        self._start = clock()
        self._costs: dict[str, list[float]] = defaultdict(list)

    @property
    def elapsed_s(self) -> float:
        """Time since the start."""
        return self._clock() - self._start

    @property
    def left_s(self) -> float:
        """Time left in all."""
        return self.total_s - self.elapsed_s

    @property
    def closing_s(self) -> float:
        """Time kept for the closing comparison and the report."""
        return min(_CLOSING_SHARE * self.total_s, _CLOSING_MOST_S)

    @property
    def search_left_s(self) -> float:
        """Time left for searching and proving."""
        return self.left_s - self.closing_s

    def spent(self, kind: str, cost_s: float) -> None:
        """Notes what a trial of a kind took."""
        self._costs[kind].append(cost_s)

    def expected_s(self, kind: str, otherwise_s: float) -> float:
        """What a trial of a kind is expected to take: the mean of the last three, or what is given."""
        costs = self._costs[kind][-3:]
        return sum(costs) / len(costs) if costs else otherwise_s

    def affords(self, kind: str, otherwise_s: float) -> bool:
        """Whether one more trial of a kind fits before the closing time."""
        return self.expected_s(kind, otherwise_s) <= self.search_left_s

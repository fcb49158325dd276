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
# Where the user names no budget.
DEFAULT_S = 600.0
# A search without a named budget is not given up earlier than this, however short the training that it is for.
_LEAST_S = 60.0


class Budget:
    """Counts time down and learns what each kind of trial costs.

    Args:
        total_s: The budget; None where the user named none.
        clock: Monotonic clock.
    """

    def __init__(self, total_s: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.total_s = DEFAULT_S if total_s is None else total_s
        self._named = total_s is not None
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

    def exceeds(self, planned_s: float | None, spent_s: float = 0.0) -> bool:
        """Whether tuning has taken as long as the training that it is for, where the user named no budget.

        Args:
            planned_s: Length of the planned training; None when unknown.
            spent_s: What all trials took, those taken over from earlier runs too.
        """
        taken_s = max(self.elapsed_s, spent_s)
        return not self._named and planned_s is not None and taken_s >= max(_LEAST_S, planned_s)

    def presses(self, planned_s: float | None) -> bool:
        """Whether the training is so short that tuning will take longer than it, where the user named no budget."""
        return not self._named and planned_s is not None and planned_s < _LEAST_S

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

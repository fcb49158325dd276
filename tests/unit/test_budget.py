"""The budget learns what trials cost and keeps time for the end."""

from __future__ import annotations

import pytest

from autotune.budget import Budget


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_time_is_kept_for_the_end() -> None:
    """A fifth, at most half a minute."""
    clock = Clock()
    budget = Budget(100.0, clock)
    clock.now += 30.0
    assert (budget.elapsed_s, budget.left_s, budget.search_left_s) == (30.0, 70.0, 50.0)
    assert Budget(3600.0, clock).closing_s == 30.0


def test_costs_are_learned() -> None:
    """The mean of the last three; before the first, what is given."""
    budget = Budget(100.0, Clock())
    assert budget.expected_s("speed", 4.0) == 4.0
    for cost in (9.0, 1.0, 2.0, 3.0):
        budget.spent("speed", cost)
    assert budget.expected_s("speed", 4.0) == pytest.approx(2.0)


def test_what_does_not_fit_is_not_begun() -> None:
    """A trial that would eat into the closing time is left."""
    clock = Clock()
    budget = Budget(100.0, clock)
    budget.spent("quality", 10.0)
    clock.now += 69.0
    assert budget.affords("quality", 0.0)
    clock.now += 2.0
    assert not budget.affords("quality", 0.0)

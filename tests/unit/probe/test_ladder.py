"""An operation is measured at a size worth it, and a slow one costs no more time than a fast one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from autotune.probe.ladder import CALL_S, REPEAT_S, Call, Rung, climb


class Machine:
    """A made-up machine whose clock moves only by the work that it does."""

    def __init__(self, per_s: float, overhead_s: float = 0.0) -> None:
        self.per_s = per_s
        self.overhead_s = overhead_s
        self.now_s = 0.0

    def clock(self) -> float:
        return self.now_s

    def rungs(self, costs: list[float], fails_at: float = float("inf")) -> Iterator[Rung]:
        for cost in costs:
            yield Rung(cost=cost, size=f"{cost:g}", prepare=self._prepare(cost, fails_at))

    def _prepare(self, cost: float, fails_at: float) -> Callable[[], Call]:
        def call() -> None:
            if cost >= fails_at:
                raise MemoryError("too large")
            self.now_s += self.overhead_s + cost / self.per_s

        return lambda: call


COSTS = [8.0**n for n in range(12)]


@pytest.mark.parametrize("per_s", [1e2, 1e4, 1e6, 1e8])
def test_rate_and_time_hardly_depend_on_how_fast_the_machine_is(per_s: float) -> None:
    machine = Machine(per_s)
    best = climb(machine.rungs(COSTS), clock=machine.clock)
    assert best is not None
    best.measure(machine.clock)
    assert best.per_s == pytest.approx(per_s)
    assert machine.now_s < 0.5


def test_the_largest_size_that_is_quick_enough_is_chosen() -> None:
    machine = Machine(5e5, overhead_s=1e-5)
    best = climb(machine.rungs(COSTS), clock=machine.clock)
    assert best is not None
    # A call of 8^4 takes 8 ms and 8^5 66 ms, more than a call may take.
    assert best.rung.cost == 8.0**4
    assert best.rung.cost / 5e5 < CALL_S < 8.0**5 / 5e5


def test_one_slow_call_of_a_small_size_does_not_keep_the_next_from_being_tried() -> None:
    machine = Machine(5e5)
    calls = 0

    def rungs() -> Iterator[Rung]:
        for rung in machine.rungs(COSTS):
            yield Rung(cost=rung.cost, size=rung.size, prepare=lambda rung=rung: disturbed(rung))  # type: ignore[misc]

    def disturbed(rung: Rung) -> Call:
        call = rung.prepare()

        def slow_now_and_then() -> None:
            nonlocal calls
            calls += 1
            machine.now_s += 0.2 * (calls % 3 == 0) * (rung.cost == 8.0**3)
            call()

        return slow_now_and_then

    best = climb(rungs(), clock=machine.clock)
    assert best is not None
    assert best.rung.cost == 8.0**4


def test_the_largest_is_taken_whatever_its_speed_where_small_ones_lie_in_a_cache() -> None:
    machine = Machine(5e5)

    def rungs() -> Iterator[Rung]:
        # Small sizes seem ten times as fast.
        for rung in machine.rungs(COSTS):
            yield Rung(cost=rung.cost * (10 if rung.cost < 8.0**3 else 1), size=rung.size, prepare=rung.prepare)

    cached, memory = climb(rungs(), clock=machine.clock), climb(rungs(), near=0.0, clock=machine.clock)
    assert cached is not None and memory is not None
    assert cached.rung.size == "64"
    assert memory.rung.size == "4096"


def test_a_size_that_fails_leaves_the_smaller_ones() -> None:
    machine = Machine(1e6)
    best = climb(machine.rungs(COSTS, fails_at=8.0**3), clock=machine.clock, ignore=(MemoryError,))
    assert best is not None
    assert best.rung.cost == 8.0**2


def test_an_operation_without_a_kernel_is_left_out() -> None:
    machine = Machine(1e6)
    assert climb(machine.rungs(COSTS, fails_at=0), clock=machine.clock, ignore=(MemoryError,)) is None


def test_other_errors_are_not_hidden() -> None:
    machine = Machine(1e6)
    with pytest.raises(MemoryError):
        climb(machine.rungs(COSTS, fails_at=0), clock=machine.clock)


def test_a_disturbed_round_does_not_lower_the_ceiling() -> None:
    machine = Machine(1e6)
    best = climb(machine.rungs(COSTS), clock=machine.clock)
    assert best is not None
    machine.per_s /= 3
    best.measure(machine.clock)
    assert best.per_s == pytest.approx(1e6)


def test_a_round_takes_its_time_and_no_more() -> None:
    machine = Machine(1e6)
    best = climb(machine.rungs(COSTS), clock=machine.clock)
    assert best is not None
    before_s = machine.now_s
    best.measure(machine.clock)
    assert REPEAT_S <= machine.now_s - before_s < REPEAT_S + CALL_S

"""Measures an operation in growing sizes: large enough to be worth it, never so large that it takes long."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

# A size is tried while its call is expected to stay below this, in seconds.
CALL_S = 0.05
# Time given to a round of repeats of the best size, in seconds.
REPEAT_S = 0.06
_MIN_REPEATS, _MAX_REPEATS = 3, 1000
# A larger size is preferred unless it is slower than this share: the first repeats of a small one are few and short.
NEAR = 0.9

Call = Callable[[], Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rung:
    """One size of an operation.

    Attributes:
        cost: What a call does: floating-point operations, or bytes moved.
        size: The size in words.
        prepare: Makes the inputs and returns the call, which comes back when its work is done.
    """

    cost: float
    size: str
    prepare: Callable[[], Call]


@dataclass(kw_only=True, slots=True)
class Best:
    """The size that was chosen, ready to be measured again.

    Attributes:
        rung: The size.
        call: Its call, warmed up.
        per_s: Cost a second: the best of the medians of all rounds, for what disturbs a round only slows it down.
    """

    rung: Rung
    call: Call
    per_s: float

    def measure(self, clock: Callable[[], float] = time.monotonic, ignore: tuple[type[Exception], ...] = ()) -> None:
        """One round of repeats."""
        times: list[float] = []
        try:
            while len(times) < _MIN_REPEATS or (sum(times) < REPEAT_S and len(times) < _MAX_REPEATS):
                times.append(_timed(self.call, clock))
        except ignore:
            return
        median_s = statistics.median(times)
        if median_s > 0:
            self.per_s = max(self.per_s, self.rung.cost / median_s)


def climb(
    rungs: Iterable[Rung],
    *,
    near: float = NEAR,
    clock: Callable[[], float] = time.monotonic,
    ignore: tuple[type[Exception], ...] = (),
) -> Best | None:
    """Tries the sizes in order, up to the first whose call is expected to take long.

    The largest size that is not clearly slower than a smaller one is taken.

    Args:
        rungs: Sizes in growing order of cost.
        near: A larger size is taken from this share of the best speed on; 0 takes the largest whatever its speed.
        clock: Monotonic clock, in seconds.
        ignore: Errors that end the climb; what was measured before stays.

    Returns:
        That size; None where not even the smallest works.
    """
    best: Best | None = None
    second_cost: float | None = None
    for rung in rungs:
        if second_cost is not None and rung.cost * second_cost > CALL_S:
            break
        try:
            call = rung.prepare()
            call()  # Warm-up: kernels are chosen and memory is touched for the first time.
            times = [_timed(call, clock)]
            while len(times) < _MIN_REPEATS and sum(times) < CALL_S:
                times.append(_timed(call, clock))
        except ignore:
            break
        median_s = statistics.median(times)
        # The fastest: one slow call of a small size must not keep the next from being tried.
        second_cost = min(times) / rung.cost
        if median_s > 0 and (best is None or rung.cost / median_s >= near * best.per_s):
            best = Best(rung=rung, call=call, per_s=rung.cost / median_s)
    return best


def _timed(call: Call, clock: Callable[[], float]) -> float:
    start = clock()
    call()
    return clock() - start

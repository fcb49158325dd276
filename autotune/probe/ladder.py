"""Measures an operation in growing sizes: large enough to be worth it, never so large that it takes long."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

# A size is tried while its call is expected to stay below this, in seconds.
CALL_S = 0.03
# Time given to the repeats of the best size, in seconds.
REPEAT_S = 0.1
_MIN_REPEATS, _MAX_REPEATS = 3, 50

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


def climb(
    rungs: Iterable[Rung],
    *,
    clock: Callable[[], float] = time.monotonic,
    ignore: tuple[type[Exception], ...] = (),
) -> tuple[float, str] | None:
    """Tries the sizes in order and measures the one of the highest rate.

    Args:
        rungs: Sizes in growing order of cost.
        clock: Monotonic clock, in seconds.
        ignore: Errors that end the climb; what was measured before stays.

    Returns:
        Cost a second, by the median of the repeats, and the size; None where not even the smallest works.
    """
    best: tuple[float, Rung, Call, list[float]] | None = None
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
        second_cost = statistics.median(times) / rung.cost
        if second_cost > 0 and (best is None or 1 / second_cost > best[0]):
            best = (1 / second_cost, rung, call, times)
    if best is None:
        return None
    _, rung, call, times = best
    while sum(times) < REPEAT_S and len(times) < _MAX_REPEATS:
        times.append(_timed(call, clock))
    return rung.cost / statistics.median(times), rung.size


def _timed(call: Call, clock: Callable[[], float]) -> float:
    start = clock()
    call()
    return clock() - start

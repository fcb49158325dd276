"""Measured limits: what this machine does in each dtype, whatever it says that it can do.

``measure_ceilings`` runs in a process that may import TensorFlow; the rest is for the parent, which may not.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autotune.errors import HardwareError
from autotune.probe.child import answer_parent, ask_child
from autotune.probe.ladder import NEAR, Best, climb
from autotune.probe.operations import operations
from autotune.probe.tensorflow_devices import TensorflowDevices, list_tensorflow_devices
from autotune.records import Ceiling
from autotune.records.codec import from_json

DEFAULT_DTYPES = ("float32", "bfloat16", "float16")
_ROUNDS = 3


def measure_ceilings(
    dtypes: Sequence[str] = DEFAULT_DTYPES, budget_s: float = 3.5, *, clock: Callable[[], float] = time.monotonic
) -> list[dict[str, Any]]:
    """Child side: measures products, convolutions and memory on TensorFlow's default device.

    Each operation is tried in growing sizes until a call takes some hundredths of a second, so a dtype that is fifty
    times slower costs no more time. What fails (a dtype without a kernel) is left out. The process's peak memory is
    larger afterwards: use one whose memory is not measured.

    Args:
        dtypes: Names of floating-point dtypes.
        budget_s: No operation is begun after it, in seconds; importing TensorFlow is not counted.
        clock: Monotonic clock, in seconds.

    Returns:
        Ceilings as plain data, for ``ceilings_from``.
    """
    import tensorflow as tf

    deadline = clock() + budget_s
    ignore = (tf.errors.OpError, ValueError, TypeError)
    found: list[tuple[str, str, Best]] = []
    for operation, dtype, rungs in operations(tf, dtypes):
        if clock() >= deadline:
            break
        # Of memory the largest: a smaller array may lie in a cache, whose speed no layer larger than it will see.
        near = 0.0 if operation == "copy" else NEAR
        best = climb(rungs, near=near, clock=clock, ignore=ignore)
        if best is not None:
            found.append((operation, dtype, best))
    # Rounds over all of them: a disturbance of a second does not fall on one dtype alone.
    for _ in range(_ROUNDS):
        for _, _, best in found:
            if clock() < deadline:
                best.measure(clock, ignore)
    return [
        {"operation": operation, "dtype": dtype, "per_s": best.per_s, "size": best.rung.size}
        for operation, dtype, best in found
    ]


def ceilings_from(data: object) -> tuple[Ceiling, ...]:
    """Ceilings from what ``measure_ceilings`` gave.

    Raises:
        UsageError: The data are none of ours.
    """
    found: tuple[Ceiling, ...] = from_json(tuple[Ceiling, ...], data, what="measured ceilings")
    return tuple(c for c in found if math.isfinite(c.per_s) and c.per_s > 0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """What TensorFlow said and did in a process of its own.

    Attributes:
        devices: What it can run on; None where it did not come that far.
        ceilings: Measured limits.
    """

    devices: TensorflowDevices | None = None
    ceilings: tuple[Ceiling, ...] = ()


def run_ceilings(
    timeout_s: float = 30.0,
    *,
    budget_s: float = 3.5,
    dtypes: Sequence[str] = DEFAULT_DTYPES,
    environment: Mapping[str, str] | None = None,
) -> tuple[Ceiling, ...]:
    """Measures the ceilings in a process of its own; arguments and errors as for ``run_measured``."""
    return run_measured(timeout_s, budget_s=budget_s, dtypes=dtypes, environment=environment).ceilings


def run_measured(
    timeout_s: float = 30.0,
    *,
    budget_s: float = 3.5,
    dtypes: Sequence[str] = DEFAULT_DTYPES,
    environment: Mapping[str, str] | None = None,
) -> Measured:
    """Asks TensorFlow for its devices and measures the ceilings, in a process of its own.

    Args:
        timeout_s: Time for everything, the import of TensorFlow included.
        budget_s: Time for measuring.
        dtypes: Names of floating-point dtypes.
        environment: Variables set on top of this process's own.

    Raises:
        HardwareError: It took too long, or TensorFlow does not work here.
    """
    arguments = ("--budget", str(budget_s), *(part for dtype in dtypes for part in ("--dtype", dtype)))
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_FORCE_GPU_ALLOW_GROWTH": "true", **(environment or {})}
    answer = ask_child("autotune.probe.ceilings", *arguments, timeout_s=timeout_s, environment=quiet)
    if answer.timed_out:
        raise HardwareError(
            f"measuring the machine's limits did not end within {timeout_s:g} s",
            hint="look for other programs that use this machine or its GPU",
        )
    lists = [item for item in answer.lines if isinstance(item, list)]
    if not lists:
        raise HardwareError(
            "the machine's limits could not be measured: TensorFlow does not run here",
            hint="see whether python -c 'import tensorflow' works",
            detail=answer.error,
        )
    said = next((item for item in answer.lines if isinstance(item, dict)), None)
    devices = None if said is None else from_json(TensorflowDevices, said, what="devices of TensorFlow")
    return Measured(devices=devices, ceilings=ceilings_from(lists[-1]))


def _answers(dtypes: Sequence[str], budget_s: float) -> Iterator[Any]:
    yield list_tensorflow_devices()
    yield measure_ceilings(dtypes, budget_s)


def _main() -> None:
    parser = argparse.ArgumentParser(prog="python -m autotune.probe.ceilings")
    parser.add_argument("--budget", type=float, default=3.5, help="seconds to measure")
    parser.add_argument("--dtype", action="append", help="dtype to measure; may be given several times")
    options = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    dtypes = tuple(options.dtype or DEFAULT_DTYPES)
    answer_parent(lambda: _answers(dtypes, options.budget))


if __name__ == "__main__":
    _main()

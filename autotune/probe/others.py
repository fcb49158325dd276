"""What others took of the processor while something was measured: other programs, and other machines on the same host."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass

import psutil

from autotune.records import Finding, Severity

# Shares of all cores from which on timings are expected to suffer. Half as much as what the load at the start is warned at:
# this is a mean over the whole run, which is longer than any single disturbance.
_OTHERS_SHARE, _STOLEN_SHARE = 0.25, 0.05
_SHORTEST_S = 5.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """Counters at one moment, seconds of processor time since some start.

    Attributes:
        at_s: Monotonic clock.
        busy_s: Of the whole machine: at work, for whomever.
        stolen_s: Taken by the host for other machines; 0 where the system does not count it.
        own_s: Of this process and all that it started, those that have ended included.
        cores: Logical cores of the machine.
    """

    at_s: float
    busy_s: float
    stolen_s: float
    own_s: float
    cores: int


def read_counters() -> Reading | None:
    """The counters now; None where the system does not tell them."""
    try:
        times, cores = psutil.cpu_times(), psutil.cpu_count()
        own_s = _own_s()
    except (OSError, psutil.Error):
        return None
    if not cores:
        return None
    at_work = (getattr(times, kind, 0.0) for kind in ("user", "nice", "system", "irq", "softirq"))
    return Reading(
        at_s=time.monotonic(),
        busy_s=sum(at_work),
        stolen_s=getattr(times, "steal", 0.0),
        own_s=own_s,
        cores=cores,
    )


def others_findings(before: Reading | None, after: Reading | None) -> Iterator[Finding]:
    """What others took between two readings, where it is enough to disturb.

    Args:
        before: Counters at the start.
        after: Counters at the end.
    """
    if before is None or after is None or after.at_s - before.at_s < _SHORTEST_S:
        return
    whole_s = (after.at_s - before.at_s) * after.cores
    own_s = max(0.0, after.own_s - before.own_s)
    others = max(0.0, after.busy_s - before.busy_s - own_s) / whole_s
    stolen = max(0.0, after.stolen_s - before.stolen_s) / whole_s
    if others >= _OTHERS_SHARE:
        yield Finding(
            code="others_at_work",
            severity=Severity.WARNING,
            message=f"other programs took {others:.0%} of this machine's processor while it was measured",
            advice="stop them and measure again where the intervals are too wide",
        )
    if stolen >= _STOLEN_SHARE:
        yield Finding(
            code="processor_stolen",
            severity=Severity.WARNING,
            message=f"the host gave {stolen:.0%} of the processor to other machines while this one was measured",
            advice="expect wide intervals; a machine of its own has none of it",
        )


def _own_s() -> float:
    """Processor time of this process and of all below it."""
    this = psutil.Process()
    total = 0.0
    for process in (this, *this.children(recursive=True)):
        with contextlib.suppress(psutil.Error):
            used = process.cpu_times()
            total += used.user + used.system + used.children_user + used.children_system
    return total

"""Whether to measure now: of a machine that is not fit for it the user is warned, or it is waited for, or refused."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from autotune.errors import NoisyMachineError
from autotune.progress import Listener, Note
from autotune.records import Finding, HardwareProfile, Severity
from autotune.settings import OnBusy

# Findings of the probe that end once others are done: what a machine is stays out of it.
PASSING = frozenset({"machine_busy", "memory_low", "gpu_shared", "gpu_memory_taken", "gpu_throttled"})
_LOOK_S = 5.0


def ready(
    look: Callable[[], HardwareProfile],
    on_busy: OnBusy,
    longest_s: float,
    listener: Listener,
    *,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[HardwareProfile, float]:
    """The machine's profile once it may be measured on, and how long that was waited for, seconds.

    Args:
        look: Probes the machine.
        on_busy: What to do where something speaks against measuring now.
        longest_s: Longest wait.
        listener: Is told what is waited for.
        sleep: Lets time pass.
        clock: Monotonic clock, seconds.

    Raises:
        NoisyMachineError: It is not fit, and that is an error; or it is still not after the longest wait.
    """
    started = clock()
    profile = look()
    first = passing(profile.findings)
    if on_busy == "warn" or not first:
        return profile, 0.0
    if on_busy == "error":
        raise _refusal(first, "")
    listener(Note(text=f"waiting, {longest_s:.0f} s at most: {_in_words(first)}"))
    while found := passing(profile.findings):
        if clock() - started >= longest_s:
            raise _refusal(found, f" after {clock() - started:.0f} s of waiting")
        sleep(_LOOK_S)
        profile = look()
    waited_s = clock() - started
    finding = Finding(
        code="waited",
        severity=Severity.INFO,
        message=f"measured after {waited_s:.0f} s of waiting: {_in_words(first)}",
    )
    return replace(profile, findings=(*profile.findings, finding)), waited_s


def passing(findings: Sequence[Finding]) -> list[Finding]:
    """Those that speak against measuring now, and may not tomorrow."""
    return [finding for finding in findings if finding.code in PASSING]


def come_since(before: HardwareProfile, after: HardwareProfile) -> list[Finding]:
    """What speaks against the measurements and was not so at their start; the load is left out, for it is the run's own."""
    known = {finding.code for finding in before.findings}
    return [
        replace(finding, message=f"at the end of the run: {finding.message}")
        for finding in passing(after.findings)
        if finding.code not in known and finding.code not in ("machine_busy", "memory_low")
    ]


def _refusal(found: Sequence[Finding], after: str) -> NoisyMachineError:
    return NoisyMachineError(
        f"this machine is not fit to be measured on{after}: {_in_words(found)}",
        hint=" ".join(dict.fromkeys(f.advice for f in found if f.advice)) or "try again later",
    )


def _in_words(found: Sequence[Finding]) -> str:
    return "; ".join(finding.message for finding in found)

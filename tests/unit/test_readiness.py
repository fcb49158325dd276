"""Machines that others keep busy: warned of, waited for, refused."""

from __future__ import annotations

import pytest

from autotune.errors import NoisyMachineError
from autotune.progress import Event, Note, ignore
from autotune.readiness import come_since, ready
from autotune.records import CpuInfo, Finding, HardwareProfile, Severity, SoftwareInfo
from autotune.testing.simulated import VirtualClock

SOFTWARE = SoftwareInfo(autotune="0", python="3", system="made up")


def profile(*codes: str) -> HardwareProfile:
    findings = tuple(
        Finding(code=code, severity=Severity.WARNING, message=f"{code} here", advice="stop them") for code in codes
    )
    return HardwareProfile(device="cpu", cpu=CpuInfo(), software=SOFTWARE, findings=findings)


class Machine:
    """Busy until some time."""

    def __init__(self, until_s: float, code: str = "machine_busy") -> None:
        self.clock, self.until_s, self.code, self.looks = VirtualClock(), until_s, code, 0

    def look(self) -> HardwareProfile:
        self.looks += 1
        return profile(self.code) if self.clock() < self.until_s else profile()


def test_a_warning_waits_for_nobody() -> None:
    """The finding stays in the profile, and so in the evidence."""
    machine = Machine(1e9)
    found, waited_s = ready(machine.look, "warn", 60.0, ignore, sleep=machine.clock.pass_s, clock=machine.clock)
    assert [f.code for f in found.findings] == ["machine_busy"] and waited_s == 0.0 and machine.looks == 1


def test_it_is_waited_until_the_others_are_done() -> None:
    """What was waited for is said at the start and kept as a finding."""
    machine, told = Machine(22.0), list[Event]()
    found, waited_s = ready(machine.look, "wait", 60.0, told.append, sleep=machine.clock.pass_s, clock=machine.clock)
    assert 22.0 <= waited_s <= 27.0
    assert [f.code for f in found.findings] == ["waited"] and "machine_busy here" in found.findings[0].message
    assert [event.text for event in told if isinstance(event, Note)] == ["waiting, 60 s at most: machine_busy here"]


@pytest.mark.parametrize(("on_busy", "longest_s"), [("error", 60.0), ("wait", 30.0)])
def test_a_machine_that_stays_busy_is_refused(on_busy: str, longest_s: float) -> None:
    """Exit status 6, what is wrong and what to do."""
    machine = Machine(1e9, "gpu_shared")
    with pytest.raises(NoisyMachineError, match="gpu_shared here") as caught:
        ready(machine.look, on_busy, longest_s, ignore, sleep=machine.clock.pass_s, clock=machine.clock)  # type: ignore[arg-type]
    assert caught.value.exit_code == 6 and caught.value.hint == "stop them"
    assert machine.clock() <= longest_s + 5.0


@pytest.mark.parametrize("on_busy", ["warn", "wait", "error"])
def test_what_a_machine_is_stops_nobody(on_busy: str) -> None:
    """A quota of the container is a warning that no waiting mends."""
    found, waited_s = ready(lambda: profile("cpu_quota"), on_busy, 60.0, ignore)  # type: ignore[arg-type]
    assert waited_s == 0.0 and len(found.findings) == 1


def test_what_came_during_the_run_is_told_and_its_own_load_is_not() -> None:
    """A card that others began to use, a throttled one; the load is the run's own."""
    told = come_since(profile("gpu_shared"), profile("gpu_shared", "gpu_throttled", "machine_busy"))
    assert [f.message for f in told] == ["at the end of the run: gpu_throttled here"]

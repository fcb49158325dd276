"""What makes a machine unfit to be measured on."""

from __future__ import annotations

import pytest

from autotune.probe.fitness import fitness_findings, thread_findings
from autotune.records import CpuInfo, Severity


@pytest.mark.parametrize(("threads", "severity"), [(1, Severity.WARNING), (16, Severity.INFO), (8, None), (None, None)])
def test_a_number_of_threads_that_does_not_fit_the_cores_is_said(
    threads: int | None, severity: Severity | None
) -> None:
    """Fewer threads than cores waste them, more get into each other's way; what fits, or is left alone, is not mentioned."""
    found = list(thread_findings(CpuInfo(logical_cores=8), threads))
    assert [f.severity for f in found] == ([] if severity is None else [severity])
    if found:
        assert f"{threads} thread" in found[0].message and "8 cores" in found[0].message
    assert not list(thread_findings(CpuInfo(logical_cores=None), threads))


@pytest.mark.parametrize(("load", "idle_now", "told"), [(3.0, False, True), (3.0, True, False), (0.5, False, False)])
def test_a_load_that_has_ended_is_no_warning(load: float, idle_now: bool, told: bool) -> None:
    """The load is an average of a minute: a machine that is seen idle is idle, whatever ran before."""
    cpu = CpuInfo(logical_cores=2, machine_cores=2, load_1m=load)
    assert [f.code for f in fitness_findings(cpu, idle_now=idle_now)] == (["machine_busy"] if told else [])

"""What makes a machine unfit to be measured on."""

from __future__ import annotations

import pytest

from autotune.probe.fitness import thread_findings
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

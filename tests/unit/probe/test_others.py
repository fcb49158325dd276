"""What others took of the processor during a run."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from autotune.probe.others import Reading, others_findings, read_counters

START = Reading(at_s=100.0, busy_s=5000.0, stolen_s=10.0, own_s=40.0, cores=2)


@pytest.mark.parametrize(
    ("busy_s", "own_s", "stolen_s", "codes"),
    [
        (180.0, 175.0, 0.0, []),  # all of it was ours
        (180.0, 100.0, 0.0, ["others_at_work"]),
        (100.0, 110.0, 0.0, []),  # counters of two sources: never less than nothing
        (100.0, 100.0, 20.0, ["processor_stolen"]),
    ],
)
def test_what_others_took_is_what_was_not_ours(busy_s: float, own_s: float, stolen_s: float, codes: list[str]) -> None:
    """Of 200 core seconds."""
    end = replace(START, at_s=200.0, busy_s=5000.0 + busy_s, own_s=40.0 + own_s, stolen_s=10.0 + stolen_s)
    assert [finding.code for finding in others_findings(START, end)] == codes


def test_nothing_is_said_of_what_was_not_read_or_took_no_time() -> None:
    """Unknown stays unknown."""
    end = replace(START, at_s=101.0, busy_s=5002.0)
    assert not list(others_findings(None, START)) and not list(others_findings(START, None))
    assert not list(others_findings(START, end))


def test_own_work_is_counted_as_own() -> None:
    """The real counters: a loop of this process is its own."""
    before = read_counters()
    until = time.process_time() + 0.2
    while time.process_time() < until:
        pass
    after = read_counters()
    assert before is not None and after is not None
    assert after.own_s - before.own_s >= 0.15

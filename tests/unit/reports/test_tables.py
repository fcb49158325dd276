"""Rows say what happened: extremes marked, reasons joined, the Pareto front drawn right."""

from __future__ import annotations

from dataclasses import replace

from autotune.records import CandidateRow, Excluded, Finding, Outcome, PolicyRow, Severity
from autotune.reports.context import ceiling_lines, machine_facts, workload_facts
from autotune.reports.tables import candidate_lines, finding_lines, policy_lines, ruled_out
from tests.unit.reports.samples import BASELINE, BFLOAT16, FLOAT16, HARDWARE, WORKLOAD, by_precision, failed_float16


def test_highest_and_lowest_of_each_column_are_marked() -> None:
    rows = {row.policy: row for row in policy_lines(by_precision())}
    assert rows["mixed_float16"].step_time.mark == "highest"
    assert rows["mixed_bfloat16"].step_time.mark == "lowest"
    assert rows["mixed_bfloat16"].relative.mark == "highest"
    assert rows["float32"].step_time.mark == ""
    assert rows["mixed_float16"].accuracy.mark == ""


def test_equal_values_are_not_marked() -> None:
    record = by_precision()
    record = replace(record, policy_table=tuple(replace(row, accuracy=0.5) for row in record.policy_table))
    assert {row.accuracy.mark for row in policy_lines(record)} == {""}


def test_a_failed_policy_says_how_it_ended() -> None:
    row = policy_lines(failed_float16())[-1]
    assert row.note.startswith("non-finite values; loss became nan")
    assert row.step_time.value is None and row.step_time.text == "-"


def test_one_reason_for_several_batches_is_told_once() -> None:
    lines = [(line.what, line.why) for line in ruled_out(by_precision())]
    assert [what for what, _ in lines] == ["mixed_float16", "mixed_bfloat16, batch 128, 256"]


def test_a_policy_that_failed_is_ruled_out_even_if_nobody_said_so() -> None:
    record = replace(
        by_precision(), excluded=(), policy_table=(PolicyRow(policy="mixed_float16", outcome=Outcome.OUT_OF_MEMORY),)
    )
    assert [(line.what, line.why) for line in ruled_out(record)] == [("mixed_float16", "out of memory")]


def test_many_configurations_with_one_reason_are_counted() -> None:
    group = [BFLOAT16.but(steps_per_execution=n) for n in (2, 4, 8, 16)]
    record = replace(
        by_precision(), policy_table=(), excluded=tuple(Excluded(configuration=c, reason="slower") for c in group)
    )
    assert ruled_out(record)[0].what.endswith(" and 2 more")


def test_the_front_holds_what_nothing_beats_in_both() -> None:
    def row(batch: int, speed: float | None, quality: float | None, outcome: Outcome = Outcome.OK) -> CandidateRow:
        return CandidateRow(
            configuration=BASELINE.but(batch_size=batch), samples_per_s=speed, quality=quality, outcome=outcome
        )

    rows = (row(1, 100, 0.9), row(2, 200, 0.8), row(3, 150, 0.7), row(4, 300, None), row(5, 400, 0.9, Outcome.DIVERGED))
    record = replace(by_precision(), candidates=rows)
    assert [line.front for line in candidate_lines(record)] == [True, True, False, False, False]
    smaller_is_better = replace(record, accuracy=replace(record.accuracy, direction="min"))
    assert [line.front for line in candidate_lines(smaller_is_better)] == [False, True, True, False, False]


def test_findings_stand_by_gravity_and_once() -> None:
    info = Finding(code="a", severity=Severity.INFO, message="a")
    error = Finding(code="b", severity=Severity.ERROR, message="b", layer="dense", policy="mixed_float16")
    lines = finding_lines((info, error, info))
    assert [line.code for line in lines] == ["b", "a"]
    assert lines[0].where == ("dense", "mixed_float16")


def test_ceilings_are_compared_with_float32_of_the_same_operation() -> None:
    rows = {(line.operation, line.dtype): line for line in ceiling_lines(HARDWARE)}
    assert rows["convolution", "float16"].relative.text == "0.78x"
    assert rows["copy", "float32"].rate.text == "21.4 GB/s"
    without = replace(HARDWARE, ceilings=HARDWARE.ceilings[1:2])
    assert ceiling_lines(without)[0].relative.value is None


def test_unknown_facts_of_the_machine_read_unknown() -> None:
    cpu = replace(HARDWARE.cpu, logical_cores=None, memory_bytes=None, float16_units=None, machine_cores=None)
    facts = {fact.label: fact.value for fact in machine_facts(replace(HARDWARE, cpu=cpu))}
    assert facts["cores"] == facts["memory"] == facts["float16 units"] == "unknown"


def test_the_measured_fit_is_named_among_all() -> None:
    facts = {fact.label: fact.value for fact in workload_facts(WORKLOAD)}
    assert facts["fit"] == "train.py:57, 2 of 2"
    assert FLOAT16 != BFLOAT16 and facts["batch as written"] == "64"

"""Two runs side by side: what differs is named, what differs by itself is no change, names stay text."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from autotune.records import Configuration, LossScale, Recommendation
from autotune.reports.compare import compare
from autotune.reports.compare_views import comparison_html, comparison_markdown, render_comparison
from autotune.reports.record_json import render_json
from tests.unit.reports.samples import HARDWARE, MARKUP, SAMPLES, SOFTWARE, by_batch, by_precision, failed_float16
from tests.unit.reports.test_views import Page


def terminal(first: Recommendation, second: Recommendation) -> str:
    stream = io.StringIO()
    render_comparison(compare(first, second), Console(file=stream, width=100))
    return stream.getvalue()


def elsewhere() -> Recommendation:
    """The same training with another processor, another Keras and a changed script."""
    record = by_precision()
    return replace(
        record,
        hardware=replace(HARDWARE, cpu=replace(HARDWARE.cpu, name="Another Processor")),
        software=replace(SOFTWARE, keras="3.99.0"),
        workload=replace(record.workload, digest="0123abcd"),
    )


def test_the_same_record_twice_has_not_changed() -> None:
    comparison = compare(by_precision(), by_precision())
    assert comparison.same_answer and comparison.changes == ()
    assert not any(row.changed for row in (*comparison.answers, *comparison.policies))
    assert comparison.headline.startswith("The same answer with machine, versions and training the same")


def test_machine_versions_and_script_are_each_named_with_both_values() -> None:
    comparison = compare(by_precision(), elsewhere())
    found = {(change.group, change.second) for change in comparison.changes}
    assert ("versions", "3.99.0") in found and ("training", "0123abcd") in found
    assert any(group == "machine" and "Another Processor" in value for group, value in found)
    assert comparison.headline.startswith("The same answer with another machine and other versions and other training")


def test_another_answer_is_the_headline() -> None:
    comparison = compare(by_precision(), by_batch())
    assert not comparison.same_answer
    assert comparison.headline.startswith("Another answer") and "batch 256" in comparison.headline
    assert {row.what for row in comparison.answers if row.changed} >= {"answer", "speed-up"}


def test_times_that_differ_by_themselves_are_no_change() -> None:
    first = by_precision()
    second = replace(
        first, speed=replace(first.speed, speedup=1.69, speedup_low=1.62, speedup_high=1.74, step_time_s=0.0118)
    )
    comparison = compare(first, second)
    speed = next(row for row in comparison.answers if row.what == "speed-up")
    assert speed.first != speed.second and not speed.changed


def test_a_policy_that_broke_in_one_of_them_is_a_change() -> None:
    comparison = compare(by_precision(), failed_float16())
    assert [row.what for row in comparison.policies if row.changed] == ["mixed_float16"]
    assert "non finite" in next(row.second for row in comparison.policies if row.changed)


def test_runs_judged_by_different_metrics_show_both() -> None:
    first = by_precision()
    second = replace(first, accuracy=replace(first.accuracy, metric="val_loss"))
    shown = {row.what: (row.first, row.second) for row in compare(first, second).answers}
    assert shown["val_accuracy"][1] == "-" and shown["val_loss"][0] == "-"


@pytest.mark.parametrize("name", SAMPLES)
def test_every_kind_of_answer_compares_in_every_view(name: str) -> None:
    first, second = SAMPLES[name](), by_precision()
    comparison = compare(first, second, ("one", "two"))
    assert " ".join(comparison.headline.split()) in " ".join(terminal(first, second).split())
    assert comparison.headline in Page(comparison_html(comparison)).text
    assert json.loads(render_json(comparison))["headline"] == comparison.headline
    assert comparison_markdown(comparison).startswith("# ")


def test_markup_stays_text() -> None:
    broken = Configuration(policy="mixed_float16", loss_scale=LossScale(), float32_layers=(MARKUP,))
    record = replace(failed_float16(), configuration=broken)
    comparison = compare(record, by_precision(), (MARKUP, "two"))
    page = Page(comparison_html(comparison))
    assert "b" not in {tag for tag, _ in page.tags}
    assert MARKUP in page.text
    assert "<b onmouseover" not in comparison_markdown(comparison).replace("\\<", "")
    assert "[bold red]" in terminal(record, by_precision())

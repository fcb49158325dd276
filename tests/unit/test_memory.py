"""Earlier runs: taken over where nothing changed, compared anew, dropped where the comparison says otherwise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from autotune.memory import MACHINE, MODEL, outdated, remember
from autotune.recommend import recommend
from autotune.records import Configuration
from autotune.store import RunFolder
from autotune.testing.simulated import Behaviour
from tests.unit.builders import record
from tests.unit.test_search import BFLOAT16, Machine, by_policy

IDENTITY = {"the script": "a", MACHINE: "b", MODEL: "c"}
FAST = by_policy(mixed_bfloat16=Behaviour(step_time_s=0.006))


def earlier(folder: Path, identity: dict[str, str] = IDENTITY) -> Machine:
    """A finished run."""
    machine = Machine(folder, FAST)
    machine.folder.note(identity)
    machine.run()
    return machine


def test_a_known_answer_costs_a_duel_and_no_more(tmp_path: Path) -> None:
    """The same thing again: nothing is timed or trained, the winner is compared with the baseline, the answer is the same."""
    before = earlier(tmp_path / "one")
    with RunFolder(tmp_path / "two") as folder:
        memory = remember(folder, IDENTITY)
        assert folder.measurements() == list(memory.measurements)
        assert folder.quality_plan() == before.folder.quality_plan()
    assert {m.purpose for m in memory.measurements} == {"speed", "quality"}
    assert memory.findings[0].code == "known_before" and "runs" not in memory.findings[0].message.split("/")[0]
    again = Machine(tmp_path / "two", FAST, recalled=memory.measurements)
    assert again.run() == BFLOAT16
    assert {purpose for purpose, _, _ in again.bench.asked} <= {"duel", "soak"}
    assert len(again.asked("duel")) >= 1
    assert outdated(again.search.measurements, memory.measurements) is None


def test_an_answer_that_no_longer_holds_is_noticed(tmp_path: Path) -> None:
    """Where the machine's 16-bit arithmetic has become slow, the duel says so, and nothing taken over is believed."""
    earlier(tmp_path / "one")
    with RunFolder(tmp_path / "two") as folder:
        memory = remember(folder, IDENTITY)
    slower = by_policy(mixed_bfloat16=Behaviour(step_time_s=0.009))
    again = Machine(tmp_path / "two", slower, recalled=memory.measurements)
    again.run()
    found = outdated(again.search.measurements, memory.measurements)
    assert found is not None and found.code == "outdated"
    assert "1.6" in found.message and "1.1" in found.message


def test_a_baseline_that_was_kept_is_compared_too(tmp_path: Path) -> None:
    """Without a leader the fastest that trains is compared: it may be fast by now."""
    slow = by_policy(mixed_bfloat16=Behaviour(step_time_s=0.02), mixed_float16=Behaviour(step_time_s=0.0101))
    first = Machine(tmp_path / "one", slow)
    first.folder.note(IDENTITY)
    assert first.run() is None
    with RunFolder(tmp_path / "two") as folder:
        memory = remember(folder, IDENTITY)
    again = Machine(
        tmp_path / "two", by_policy(mixed_float16=Behaviour(step_time_s=0.005)), recalled=memory.measurements
    )
    again.run()
    assert not again.asked("duel")
    again.search.recheck()
    assert [c.policy for c in again.asked("duel")][-1] == "mixed_float16"
    assert outdated(again.search.measurements, memory.measurements) is not None


@pytest.mark.parametrize("changed", list(IDENTITY))
def test_measurements_of_something_else_are_not_taken_over(tmp_path: Path, changed: str) -> None:
    """Another script, machine or model: nothing is known."""
    earlier(tmp_path / "one")
    with RunFolder(tmp_path / "two") as folder:
        assert not remember(folder, {**IDENTITY, changed: "other"}).measurements
        assert folder.measurements() == []


def test_the_answer_for_the_same_model_is_timed_first(tmp_path: Path) -> None:
    """Another script with the same model on the same machine begins with what won there, and measures all else itself."""
    machine = earlier(tmp_path / "one")
    winner = Configuration(policy="mixed_bfloat16", batch_size=32)
    answer = replace(recommend(record(machine.search.measurements)), verdict="recommended", configuration=winner)
    machine.folder.write_recommendation(answer)
    with RunFolder(tmp_path / "two") as folder:
        memory = remember(folder, {**IDENTITY, "the script": "other"})
    assert memory.first == (winner,) and not memory.measurements and not memory.findings
    with RunFolder(tmp_path / "three") as folder:
        assert remember(folder, {**IDENTITY, "the script": "other", MODEL: "other"}).first == ()


def test_folders_that_cannot_be_read_are_passed_over(tmp_path: Path) -> None:
    """Damaged files of earlier runs cost nothing; a torn last line costs that one trial."""
    earlier(tmp_path / "one")
    trials = tmp_path / "one" / "trials.jsonl"
    whole = trials.read_text().splitlines()
    trials.write_text("\n".join(whole[:2]) + "\n" + whole[2][:50])
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "identity.json").write_bytes(b"\xff[")
    (tmp_path / "nested").mkdir()
    (tmp_path / "nested" / "identity.json").write_text("[" * 100_000)
    (tmp_path / "file").write_text("x")
    with RunFolder(tmp_path / "two") as folder:
        assert len(remember(folder, IDENTITY).measurements) == 2


def test_the_run_that_knows_most_is_taken(tmp_path: Path) -> None:
    """A newer one that was killed after its baseline does not hide it; what is no regular file is passed over."""
    earlier(tmp_path / "one")
    earlier(tmp_path / "later")
    trials = tmp_path / "later" / "trials.jsonl"
    trials.write_text(trials.read_text().splitlines()[0] + "\n")
    earlier(tmp_path / "pipe")
    (tmp_path / "pipe" / "trials.jsonl").unlink()
    (tmp_path / "pipe" / "trials.jsonl").mkdir()
    with RunFolder(tmp_path / "two") as folder:
        memory = remember(folder, IDENTITY)
    assert len(memory.measurements) > 5 and "/one)" in memory.findings[0].message


@pytest.mark.parametrize("damage", ['{"epochs": -6, "planned_epochs": 3}', "[", None])
def test_quality_runs_of_an_unknown_length_are_not_taken_over(tmp_path: Path, damage: str | None) -> None:
    """They could not be compared with new ones; timings can."""
    earlier(tmp_path / "one")
    plan = tmp_path / "one" / "quality_plan.json"
    plan.unlink() if damage is None else plan.write_text(damage)
    with RunFolder(tmp_path / "two") as folder:
        memory = remember(folder, IDENTITY)
        assert folder.quality_plan() is None
    assert {m.purpose for m in memory.measurements} == {"speed"}

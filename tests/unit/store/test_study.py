"""The Optuna study: complete, readable by others, clean after a crash."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import optuna
import pytest
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

from autotune.errors import UsageError
from autotune.records import LossScale, Outcome, SearchSpace
from autotune.store import Study
from tests.unit.builders import BASELINE, FLOAT16

SPACE = SearchSpace(
    baseline=BASELINE,
    policies=("float32", "mixed_float16"),
    batch_sizes=(32, 64),
    loss_scales=(None, LossScale(initial=1024.0)),
    learning_rate_rules=("1", "sqrt"),
)


def loaded(folder: Path, name: str = "autotune") -> optuna.Study:
    path = str(folder / "study.log")
    storage = optuna.storages.JournalStorage(JournalFileBackend(path, lock_obj=JournalFileOpenLock(path)))
    return optuna.load_study(study_name=name, storage=storage)


def once(study: Study, space: SearchSpace = SPACE) -> None:
    study.tell(study.ask(BASELINE, space), 1.0, Outcome.OK, {}, infeasible=False)


@pytest.fixture(autouse=True)
def quiet() -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)


def test_every_trial_is_there_with_its_parameters(tmp_path: Path) -> None:
    """Asked and told trials open with plain Optuna; failed ones are complete, worthless and marked infeasible."""
    study = Study(tmp_path)
    scaled = FLOAT16.but(loss_scale=LossScale(initial=1024.0))
    for configuration, value, outcome in (
        (BASELINE, 1.0, Outcome.OK), (FLOAT16, None, Outcome.NON_FINITE), (scaled, 0.5, Outcome.OK),
        (BASELINE.but(batch_size=64, learning_rate_factor=2.0**0.5), 1.7, Outcome.OK),
    ):  # fmt: skip
        number = study.ask(configuration, SPACE)
        study.tell(number, value, outcome, {"seed": 0}, infeasible=outcome is not Outcome.OK)
    trials = loaded(tmp_path).trials
    assert [t.value for t in trials] == [1.0, 0.0, 0.5, 1.7]
    assert [t.params["policy"] for t in trials] == ["float32", "mixed_float16", "mixed_float16", "float32"]
    assert "loss_scale" not in trials[0].params and "1024" in trials[2].params["loss_scale"]
    assert [t.user_attrs["feasible"] for t in trials] == [True, False, True, True]
    assert [t.constraints["feasible"] <= 0 for t in trials] == [True, False, True, True]
    assert {t.state.name for t in trials} == {"COMPLETE"}


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_value_that_is_not_finite_is_none(tmp_path: Path, value: float) -> None:
    """The trial is complete: samplers pass over failed ones and would try the point again."""
    study = Study(tmp_path)
    study.tell(study.ask(FLOAT16, SPACE), value, Outcome.NON_FINITE, {}, infeasible=True)
    assert [(t.state.name, t.value) for t in loaded(tmp_path).trials] == [("COMPLETE", 0.0)]


def test_samplers_know_what_is_infeasible(tmp_path: Path) -> None:
    """The best trial of the study is the best that works, whatever speed a broken one showed."""
    study = Study(tmp_path)
    for configuration, value, outcome in ((BASELINE, 1.0, Outcome.OK), (FLOAT16, 3.0, Outcome.NO_UPDATES)):
        study.tell(study.ask(configuration, SPACE), value, outcome, {}, infeasible=outcome is not Outcome.OK)
    assert loaded(tmp_path).best_trial.params["policy"] == "float32"


def test_trials_whose_parent_died_are_told_failed(tmp_path: Path) -> None:
    """A trial left running by a killed run does not stay so."""
    Study(tmp_path).ask(BASELINE, SPACE)
    assert [t.state.name for t in loaded(tmp_path).trials] == ["RUNNING"]
    Study(tmp_path)
    assert [t.state.name for t in loaded(tmp_path).trials] == ["FAIL"]


def test_a_trial_that_was_not_yet_started_is_told_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C between putting a trial into the queue and taking it out: the run can go on, and does not meet it again."""

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(optuna.Study, "ask", stopped)
        with pytest.raises(KeyboardInterrupt):
            Study(tmp_path).ask(FLOAT16, SPACE)
    assert [t.state.name for t in loaded(tmp_path).trials] == ["WAITING"]
    once(Study(tmp_path))
    trials = loaded(tmp_path).trials
    assert [t.state.name for t in trials] == ["FAIL", "COMPLETE"] and trials[1].params["policy"] == "float32"


def test_what_a_killed_writer_left_is_mended(tmp_path: Path) -> None:
    """A torn last line goes, its lock holds nobody up, what was whole stays and is written on."""
    once(Study(tmp_path))
    with (tmp_path / "study.log").open("ab") as file:
        file.write(b'{"op_code":5,"wor')
    (tmp_path / "study.log.lock").touch()
    once(Study(tmp_path))
    once(Study(tmp_path))
    assert [t.state.name for t in loaded(tmp_path).trials] == ["COMPLETE"] * 3


def test_another_space_has_a_study_of_its_own(tmp_path: Path) -> None:
    """A run goes on with other batches: Optuna would refuse the values, so a second study in the same journal takes them."""
    once(Study(tmp_path))
    other = replace(SPACE, batch_sizes=(32, 64, 128))
    once(Study(tmp_path), other)
    once(Study(tmp_path), other)
    assert [len(loaded(tmp_path, name).trials) for name in ("autotune", "autotune-2")] == [1, 2]
    assert loaded(tmp_path, "autotune-2").trials[0].distributions["batch_size"].choices == (32, 64, 128)


@pytest.mark.parametrize("content", [b"no json\nat all\n", b"42\n42\n", b'{"op_code":0}\n'])
def test_a_damaged_journal_is_named(tmp_path: Path, content: bytes) -> None:
    """Which file, and that the measurements are elsewhere; the file is left as it is."""
    (tmp_path / "study.log").write_bytes(content)
    with pytest.raises(UsageError, match=r"study\.log is damaged") as caught:
        Study(tmp_path)
    assert "trials.jsonl" in caught.value.hint and (tmp_path / "study.log").read_bytes() == content

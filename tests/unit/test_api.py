"""The public names: what a script or notebook sees after ``import autotune``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import autotune
from autotune import api
from autotune.errors import UsageError
from autotune.recommend import recommend as decide
from autotune.settings import Settings
from autotune.store import RunFolder
from tests.unit.builders import record, speed_trial

ANSWER = decide(record([speed_trial()]))


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Settings]:
    """Settings with which the tuner, replaced, was called; the script is train.py in the working folder."""
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text("print()\n")
    calls: list[Settings] = []

    def tune(settings: Settings, listener: Any, *, command: str) -> Any:
        calls.append(settings)
        return ANSWER

    monkeypatch.setattr("autotune.tuner.tune", tune)
    return calls


def test_recommend_stays_a_function(called: list[Settings]) -> None:
    """The module that holds the decision rule has the same name; importing it does not take the function's place."""
    for _ in range(2):
        assert autotune.recommend("train.py") is ANSWER
        from autotune import recommend

        assert recommend is api.recommend
    assert len(called) == 2


def test_recommend_is_a_function_in_a_new_interpreter() -> None:
    """Also where the module was imported first, before any public name was used."""
    code = (
        "import autotune.recommend, autotune.tuner, autotune\n"
        "assert autotune.recommend.__module__ == 'autotune.api', autotune.recommend\n"
        "from autotune.recommend import recommend\n"
        "assert recommend.__module__ == 'autotune.recommend'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_options_of_the_command_are_arguments(called: list[Settings]) -> None:
    """The names of the options with underscores, as texts or as values."""
    autotune.recommend(
        Path("train.py"),
        budget_s=90,
        batch_size=[32, 64],
        policy="mixed_float16",
        tolerance="abs:0.1",
        arguments=["-x"],
    )
    settings = called[0]
    assert (settings.budget_s, settings.batch_sizes, settings.policies) == (90.0, (32, 64), ("mixed_float16",))
    assert (settings.tolerance, settings.tolerance_absolute, settings.arguments) == (0.1, True, ("-x",))


def test_variables_count_for_the_api_too(called: list[Settings], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is set for a whole pipeline holds in its notebooks."""
    monkeypatch.setitem(os.environ, "AUTOTUNE_BUDGET", "3m")
    autotune.recommend("train.py")
    autotune.recommend("train.py", budget_s=10)
    assert [settings.budget_s for settings in called] == [180.0, 10.0]


def test_a_wrong_argument_is_a_value_error(called: list[Settings]) -> None:
    """Callers need not know our classes."""
    with pytest.raises(ValueError, match="there is no such setting"):
        autotune.recommend("train.py", bugdet_s=3)
    assert called == []


def test_load(tmp_path: Path) -> None:
    """A recommendation comes back from its file and from its folder."""
    with RunFolder(tmp_path / "run") as folder:
        folder.write_recommendation(ANSWER)
    assert autotune.load(tmp_path / "run") == autotune.load(str(tmp_path / "run" / "recommendation.json")) == ANSWER
    with pytest.raises(UsageError, match="holds no recommendation"):
        autotune.load(tmp_path)


def test_public_names_are_listed() -> None:
    """Completion in a notebook shows them; what is not there is an attribute error."""
    assert set(autotune.__all__) <= set(dir(autotune))
    assert all(getattr(autotune, name) is not None for name in autotune.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = autotune.nothing

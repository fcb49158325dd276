"""Errors become messages and exit codes; arguments arrive as they were given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from autotune import errors
from autotune.cli.main import run
from autotune.recommend import recommend
from tests.unit.builders import record, speed_trial


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "train.py"
    path.write_text("print()\n")
    return path


def tuner(monkeypatch: pytest.MonkeyPatch, outcome: Any) -> list[Any]:
    """Replaces the tuner by one that raises or returns; gives what it was called with."""
    called: list[Any] = []

    def tune(settings: Any, listener: Any, **_: Any) -> Any:
        called.append(settings)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    monkeypatch.setattr("autotune.tuner.tune", tune)
    return called


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.UsageError("no such folder", hint="give another"), 2),
        (errors.WorkloadError("train.py fails", hint="run it", detail="Traceback\nKeyError: 'x'"), 4),
        (errors.HardwareError("no driver"), 5),
        (errors.NoisyMachineError("too noisy"), 6),
        (errors.BudgetError("too short"), 124),
    ],
)
def test_errors_have_their_exit_code(
    script: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: errors.AutotuneError,
    code: int,
) -> None:
    """Message, the user's detail, hint: on standard error, nothing on standard output."""
    tuner(monkeypatch, error)
    assert run(["recommend", "train.py", "-q"]) == code
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(f"error: {error.message}\n")
    assert error.hint in err and all(line in err for line in error.detail.splitlines())


def test_a_bug_of_ours_says_so_without_a_traceback(
    script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 1, one line and how to see more."""
    tuner(monkeypatch, RuntimeError("oh"))
    monkeypatch.delenv("AUTOTUNE_DEBUG", raising=False)
    assert run(["recommend", "train.py", "-q"]) == 1
    err = capsys.readouterr().err
    assert "this is a bug in autotune: RuntimeError: oh" in err and "Traceback" not in err


def test_interrupt(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C before anything was measured: 130."""
    tuner(monkeypatch, KeyboardInterrupt())
    assert run(["recommend", "train.py", "-q"]) == 130


@pytest.mark.parametrize(
    "arguments", [["recommend"], ["recommend", "train.py", "--bogus"], ["nonsense"], ["recommend", "none.py"]]
)
def test_usage_errors(script: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    """Exit 2, a message, a hint."""
    assert run(arguments) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ") and "hint:" in err


def test_what_follows_the_dashes_is_the_scripts(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Options of the same names as ours included."""
    called = tuner(monkeypatch, recommend(record([speed_trial()])))
    assert run(["recommend", "train.py", "--budget", "30s", "-q", "--", "--budget", "3", "-x", "a b"]) == 0
    assert (called[0].budget_s, called[0].arguments) == (30.0, ("--budget", "3", "-x", "a b"))


def test_require_gain(script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Keeping the baseline is 3 then; the answer is printed all the same."""
    tuner(monkeypatch, recommend(record([speed_trial()])))
    assert run(["recommend", "train.py", "-q", "--require-gain", "--format", "json"]) == 3
    out, err = capsys.readouterr()
    assert out.startswith("{") and "no gain" in err

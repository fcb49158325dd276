"""Errors become messages and exit codes; arguments arrive as they were given."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from autotune import errors
from autotune.cli.main import run
from autotune.recommend import recommend
from tests.unit.builders import record, speed_trial
from tests.unit.cli.conftest import Tuner


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
    tuner: Tuner,
    capsys: pytest.CaptureFixture[str],
    error: errors.AutotuneError,
    code: int,
) -> None:
    """Message, the user's detail, hint: on standard error, nothing on standard output."""
    tuner(error)
    assert run(["recommend", "train.py", "-q"]) == code
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(f"error: {error.message}\n")
    assert error.hint in err and all(line in err for line in error.detail.splitlines())


def test_a_long_detail_is_cut_at_its_start(script: Path, tuner: Tuner, capsys: pytest.CaptureFixture[str]) -> None:
    """The last lines say most; how many are missing is told."""
    tuner(errors.WorkloadError("train.py fails", detail="\n".join(f"line {n}" for n in range(100))))
    assert run(["recommend", "train.py", "-q"]) == 4
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 22 and "80 more lines" in lines[1] and lines[-1] == "  | line 99"


@pytest.mark.parametrize("debug", [False, True])
def test_a_bug_of_ours_says_so_without_a_traceback(
    script: Path, tuner: Tuner, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], debug: bool
) -> None:
    """Exit 1, two lines and how to see more; the traceback when it is asked for."""
    tuner(RuntimeError("oh\nand more"))
    monkeypatch.delenv("AUTOTUNE_DEBUG", raising=False)
    if debug:
        monkeypatch.setenv("AUTOTUNE_DEBUG", "1")
    assert run(["recommend", "train.py", "-q"]) == 1
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: this is a bug in autotune: RuntimeError: oh\n")
    assert ("Traceback" in err) is debug
    assert debug or (len(err.splitlines()) == 2 and "AUTOTUNE_DEBUG=1" in err)


def test_a_full_disk_is_nobodys_bug(script: Path, tuner: Tuner, capsys: pytest.CaptureFixture[str]) -> None:
    """Which file, why, and that the run can go on."""
    tuner(OSError(errno.ENOSPC, "No space left on device", "run/trials.jsonl"))
    assert run(["recommend", "train.py", "-q"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: run/trials.jsonl: No space left on device\n") and "--resume" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ["recommend"],
        ["recommend", "train.py", "--bogus"],
        ["recommend", "train.py", "--budget"],
        ["recommend", "train.py", "--seeds", "many"],
        ["recommend", "train.py", "--format", "xml"],
        ["recommend", "none.py"],
        ["nonsense"],
        ["report", "nowhere"],
    ],
)
def test_usage_errors(script: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    """Exit 2, a message, a hint, nothing else."""
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == "" and [line.split()[0] for line in err.splitlines()] == ["error:", "hint:"]


@pytest.mark.parametrize(
    "arguments",
    [["--budget", "3", "-x", "a b"], ["--", "x"], ["--help"], ["", "é\n", "-q"], ["recommend", "--version"]],
)
def test_what_follows_the_dashes_is_the_scripts(script: Path, tuner: Tuner, arguments: list[str]) -> None:
    """Options of the same names as ours, dashes and empty texts included."""
    called = tuner(recommend(record([speed_trial()])))
    assert run(["recommend", "train.py", "--budget", "30s", "-q", "--", *arguments]) == 0
    assert (called[0].budget_s, called[0].arguments) == (30.0, tuple(arguments))

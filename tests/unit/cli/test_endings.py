"""How a command ends when it is not by an error: interrupted, without a gain, without a reader."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from autotune.cli.main import run
from autotune.recommend import recommend
from tests.unit.builders import record, speed_trial
from tests.unit.cli.conftest import Tuner


def test_interrupt(script: Path, tuner: Tuner, capsys: pytest.CaptureFixture[str]) -> None:
    """Ctrl-C before anything was measured: 130, one word, no traceback."""
    tuner(KeyboardInterrupt())
    assert run(["recommend", "train.py", "-q"]) == 130
    assert capsys.readouterr() == ("", "interrupted\n")


def test_an_interrupted_answer_says_how_to_go_on(
    script: Path, tuner: Tuner, capsys: pytest.CaptureFixture[str]
) -> None:
    """The answer so far on standard output; the command, quoted, with the script's arguments, on standard error."""
    answer = replace(recommend(record([speed_trial()])), interrupted=True, run_folder="my runs")
    called = tuner(answer)
    assert run(["recommend", "train.py", "-q", "--format", "json", "--", "--name", "a b"]) == 130
    out, err = capsys.readouterr()
    assert json.loads(out)["interrupted"] is True
    assert run(shlex.split(err.partition("autotune ")[2])) == 130
    assert (called[1].resume, called[1].arguments) == (Path("my runs"), ("--name", "a b"))


def test_require_gain(script: Path, tuner: Tuner, capsys: pytest.CaptureFixture[str]) -> None:
    """Keeping the baseline is 3 then; the answer is printed all the same."""
    tuner(recommend(record([speed_trial()])))
    assert run(["recommend", "train.py", "-q", "--require-gain", "--format", "json"]) == 3
    out, err = capsys.readouterr()
    assert out.startswith("{") and "no gain" in err


@pytest.mark.parametrize("arguments", [["schema"], ["--help"]])
def test_a_reader_that_has_gone(arguments: list[str]) -> None:
    """``autotune ... | head``: no traceback and no failure, whoever writes the text."""
    command = [sys.executable, "-W", "error", "-m", "autotune", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert (process.stderr.read(), process.wait(timeout=60)) == ("", 0)

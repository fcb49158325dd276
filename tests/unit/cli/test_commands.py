"""What the smaller commands print, write and start."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

import autotune
from autotune.cli.main import run
from autotune.recommend import recommend
from autotune.records.codec import to_json
from autotune.settings import Settings
from autotune.settings_forms import tolerance
from autotune.store import RunFolder, read_run
from autotune.strategies import names
from tests.unit.builders import BFLOAT16, record, speed_trial


class Replaced(BaseException):
    """Stands for the process that is another one now: the call never returns."""


@pytest.fixture
def finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a run that has ended, below the working folder."""
    monkeypatch.chdir(tmp_path)
    stored = record([speed_trial(), speed_trial(BFLOAT16, 0.008)])
    with RunFolder(Path("a run")) as folder:
        folder.write_run(stored)
        folder.write_recommendation(recommend(stored))
    yield Path("a run")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """The package's own."""
    assert run(["--version"]) == 0
    assert capsys.readouterr() == (f"autotune {autotune.__version__}\n", "")


def test_without_a_command_it_helps(capsys: pytest.CaptureFixture[str]) -> None:
    """All commands are listed; nothing was asked for, so it is a usage error."""
    assert run([]) == 2
    told = "".join(capsys.readouterr())
    assert all(
        command in told
        for command in ("recommend", "diagnose", "probe", "run", "report", "compare", "export", "schema")
    )


def test_the_help_of_recommend_names_the_strategies(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the table that the check of the option reads."""
    monkeypatch.setenv("COLUMNS", "200")
    assert run(["recommend", "--help"]) == 0
    told = capsys.readouterr().out
    assert all(name in told for name in names()) and "trials=30" in told


def test_the_help_tells_the_defaults(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """They reach the screen (square brackets in a text would be taken for markup), and are those of the settings."""
    monkeypatch.setenv("COLUMNS", "200")
    assert run(["recommend", "--help"]) == 0
    told = capsys.readouterr().out
    defaults = {name: field.default for name, field in Settings.model_fields.items()}
    for text, value in (
        ("10m, less for a short training", ("budget_s", None)), ("1%", ("tolerance", tolerance("1%")[0])), ("8", ("seeds", 8)),
        ("ladder", ("strategy", "ladder")), ("found in the script", ("metric", None)), ("the longest", ("fit", None)),
        ("the script's own", ("epochs", None)), ("autotune-runs/<script>-<time>", ("out", None)),
    ):  # fmt: skip
        assert f"[default: ({text})]" in told and defaults[value[0]] == value[1]
    assert run(["report", "--help"]) == 0
    assert "[default: (standard output)]" in capsys.readouterr().out


def test_the_schema_fits_what_is_stored(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The printed JSON Schema is valid and accepts a recommendation, as printed by ``report`` too."""
    assert run(["schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads((finished / "recommendation.json").read_text()), schema)
    assert run(["report", str(finished), "--format", "json"]) == 0
    jsonschema.validate(json.loads(capsys.readouterr().out), schema)


def test_report_computes_the_answer_from_the_record(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A recommendation that was changed or deleted changes nothing; the record alone counts, folder or file."""
    expected = to_json(recommend(read_run(finished)))
    (finished / "recommendation.json").write_text("{}")
    for path in (finished, finished / "run.json"):
        assert run(["report", str(path), "--format", "json"]) == 0
        assert json.loads(capsys.readouterr().out) == expected


@pytest.mark.parametrize(
    ("form", "start"), [("terminal", "\n"), ("markdown", "# "), ("html", "<!doctype html>"), ("json", "{")]
)
def test_report_in_every_format(
    finished: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, form: str, start: str
) -> None:
    """On standard output, or in a file and then nothing is printed."""
    assert run(["report", str(finished), "--format", form]) == 0
    printed, err = capsys.readouterr()
    assert err == "" and printed.lstrip("\n").lower().startswith(start.strip()) and "float32" in printed
    assert run(["report", str(finished), "--format", form, "--output", "answer"]) == 0
    assert capsys.readouterr() == ("", "")
    assert "float32" in Path("answer").read_text(encoding="utf-8")


def test_report_into_a_place_that_cannot_be_written(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A usage error with a hint."""
    assert run(["report", str(finished), "--output", "no/such/folder/answer.md"]) == 2
    err = capsys.readouterr().err
    assert "--output: no/such/folder/answer.md cannot be written" in err and "hint:" in err


@pytest.mark.parametrize(
    ("form", "start"), [("terminal", "The same"), ("html", "<!doctype"), ("markdown", "# The"), ("json", "{")]
)
def test_compare_in_every_format(finished: Path, capsys: pytest.CaptureFixture[str], form: str, start: str) -> None:
    assert run(["compare", str(finished), str(finished / "recommendation.json"), "--format", form]) == 0
    told = capsys.readouterr()
    assert told.out.startswith(start) and told.err == ""


def test_compare_with_what_is_no_run(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", str(finished), "nowhere"]) == 2
    assert "nowhere does not exist" in capsys.readouterr().err


@pytest.mark.parametrize(("kind", "start"), [("csv", "trial,purpose"), ("python", "# "), ("yaml", "verdict:")])
def test_export_of_text_goes_to_standard_output_or_a_file(
    finished: Path, capsys: pytest.CaptureFixture[str], kind: str, start: str
) -> None:
    assert run(["export", str(finished), "--to", kind]) == 0
    told = capsys.readouterr().out
    assert told.startswith(start)
    assert run(["export", str(finished), "--to", kind, "-o", "there"]) == 0
    assert Path("there").read_text() == told.removesuffix("\n") == capsys.readouterr().out + told.removesuffix("\n")


@pytest.mark.parametrize("kind", ["parquet", "tensorboard"])
def test_export_of_files_goes_below_the_run(finished: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    assert run(["export", str(finished), "--to", kind]) == 0
    assert capsys.readouterr().out.startswith("written: a run/exports/")
    assert list((finished / "exports").iterdir())
    with RunFolder(finished) as folder:
        folder.empty()
    assert not (finished / "exports").exists()


def test_export_without_its_package_says_how_to_install_it(
    finished: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("pyarrow", "tensorboard.compat.proto", "mlflow.entities"):
        monkeypatch.setitem(sys.modules, package, None)
    for kind in ("parquet", "tensorboard", "mlflow"):
        assert run(["export", str(finished), "--to", kind]) == 2
        assert f"pip install 'keras-autotune[{kind}]'" in " ".join(capsys.readouterr().err.split())


def test_export_to_a_place_that_cannot_be_written(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for kind in ("csv", "parquet", "tensorboard"):
        assert run(["export", str(finished), "--to", kind, "-o", "/proc/nowhere/file"]) == 2
        assert "/proc/nowhere/file cannot be written" in " ".join(capsys.readouterr().err.split())


def test_brief_is_a_form_of_markdown(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Shorter; elsewhere it has no meaning, and is refused instead of ignored."""
    assert run(["report", str(finished), "--format", "markdown"]) == 0
    whole = capsys.readouterr().out
    assert run(["report", str(finished), "--format", "markdown", "--brief"]) == 0
    assert 0 < len(capsys.readouterr().out) < len(whole)
    assert run(["report", str(finished), "--format", "html", "--brief"]) == 2
    assert "--brief" in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="elsewhere a child process runs the script")
@pytest.mark.parametrize("given", ["a run", "a run/recommendation.json"])
def test_run_becomes_the_script(
    finished: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], given: str
) -> None:
    """The process is replaced, with the script's arguments as they were given, empty and dashed ones included."""

    def replace(program: str, command: list[str]) -> None:
        raise Replaced(program, command)

    monkeypatch.setattr(os, "execv", replace)
    Path("train.py").write_text("print()\n")
    with pytest.raises(Replaced) as caught:
        run(["run", "train.py", "--with", given, "--", "--with", "x", "", "-h"])
    program, command = caught.value.args
    assert program == command[0] == sys.executable
    assert command[1:4] == ["-P", "-m", "autotune.workload.apply_main"]
    assert command[4:] == ["a run/recommendation.json", "train.py", "--with", "x", "", "-h"]
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("autotune: ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "none.py", "--with", "a run"], "none.py does not exist"),
        (["run", "train.py", "--with", "nowhere"], "nowhere does not exist"),
        (["run", "train.py", "--with", "a run/run.json"], "is no recommendation of autotune"),
        (["run", "train.py"], "--with"),
    ],
)
def test_run_checks_before_it_starts(
    finished: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    """Script and recommendation are looked at first: nothing is started with a wrong one."""
    monkeypatch.setattr(os, "execv", lambda *_: pytest.fail("it was started"))
    Path("train.py").write_text("print()\n")
    assert run(arguments) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("command", ["recommend", "diagnose"])
def test_an_option_of_the_script_is_told_from_ours(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A user who forgot -- learns of it."""
    assert run([command, "train.py", "--rows", "5"]) == 2
    assert f"goes behind --: autotune {command} train.py -- --rows" in capsys.readouterr().err
    assert run(["report", "somewhere", "--rows", "5"]) == 2
    assert "autotune report --help" in capsys.readouterr().err

"""The files of a run: whole or not there, read back as they were, damage told by file and line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from autotune.atomic import write_atomically
from autotune.errors import UsageError
from autotune.store import RunFolder, read_recommendation, read_run
from tests.unit.builders import record, speed_trial

ROOT = Path(__file__).parents[3]
TRIALS = [speed_trial(step_time_s=t) for t in (0.01, 0.02, 0.03)]


def test_measurements_come_back_as_they_were(tmp_path: Path) -> None:
    """Appended one by one, read in order."""
    with RunFolder(tmp_path / "run") as folder:
        assert folder.measurements() == []
        for trial in TRIALS:
            folder.append(trial)
        assert folder.measurements() == TRIALS and folder.dropped_lines == 0


@pytest.mark.parametrize("torn", [b'{"number": 1, "purp', b'{"number"', b"\0\0\0", b"\xff\xfe", b"42"])
def test_a_torn_last_line_is_dropped_and_told(tmp_path: Path, torn: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """The writer was killed: what was whole stays, and what is measured next does too, however often it happens."""
    with RunFolder(tmp_path / "run") as folder:
        for trial in TRIALS:
            folder.append(trial)
            with (folder.path / "trials.jsonl").open("ab") as file:
                file.write(torn)
            folder.measurements()
        assert folder.measurements() == TRIALS and folder.dropped_lines == 3
        assert [r.levelname for r in caplog.records] == ["WARNING"] * 3 and "trials.jsonl" in caplog.messages[0]


@pytest.mark.parametrize("acknowledged", [1, 3, 8])
def test_a_killed_writer_loses_nothing_that_it_had_stored(tmp_path: Path, acknowledged: int) -> None:
    """SIGKILL at any moment: every measurement whose storing had ended is there, in order, and the run can go on."""
    code = (
        "import itertools\nfrom pathlib import Path\nfrom autotune.store import RunFolder\n"
        "from tests.unit.builders import speed_trial\n"
        f"folder = RunFolder(Path({str(tmp_path / 'run')!r}))\n"
        "for number in itertools.count():\n"
        "    folder.append(speed_trial(step_time_s=0.001 + number))\n"
        "    print(number, flush=True)\n"
    )
    writer = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    with writer:
        assert writer.stdout is not None
        told = [writer.stdout.readline() for _ in range(acknowledged)]
        writer.kill()
        told += writer.stdout.readlines()
    with RunFolder(tmp_path / "run") as folder:
        found = folder.measurements()
        assert len(told) >= acknowledged and len(found) in (len(told), len(told) + 1)
        assert found == [speed_trial(step_time_s=0.001 + number) for number in range(len(found))]
        folder.append(TRIALS[0])
        assert folder.measurements()[-1] == TRIALS[0]


def test_a_line_torn_before_its_end_is_whole(tmp_path: Path) -> None:
    """Only the line feed is missing: the measurement counts, and the next has a line of its own."""
    with RunFolder(tmp_path / "run") as folder:
        folder.append(TRIALS[0])
        file = folder.path / "trials.jsonl"
        file.write_bytes(file.read_bytes().rstrip(b"\n"))
        assert folder.measurements() == TRIALS[:1]
        folder.append(TRIALS[1])
        assert folder.measurements() == TRIALS[:2] and folder.dropped_lines == 0


@pytest.mark.parametrize("damaged", ["{}", "", "no json", '{"number": 1, "purp'])
@pytest.mark.parametrize("line", [1, 2])
def test_a_damaged_line_is_an_error(tmp_path: Path, damaged: str, line: int) -> None:
    """It names file and line; the file is left as it is."""
    with RunFolder(tmp_path / "run") as folder:
        folder.append(TRIALS[0])
        file = folder.path / "trials.jsonl"
        lines = [file.read_text().rstrip("\n")]
        lines.insert(line - 1, damaged)
        content = "\n".join(lines) + "\n"
        file.write_text(content)
        with pytest.raises(UsageError, match=rf"trials.jsonl, line {line} ") as caught:
            folder.measurements()
        assert caught.value.hint and file.read_text() == content


@pytest.mark.parametrize("failing", ["os.replace", "os.fsync"])
def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str) -> None:
    """Atomic: old or new, never a part, and no half-written file left."""
    path = tmp_path / "run.json"
    write_atomically(path, "old")

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(failing, fail)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, "new")
    assert path.read_text() == "old" and [p.name for p in tmp_path.iterdir()] == ["run.json"]


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX'")
def test_others_may_read_what_the_umask_lets_them(tmp_path: Path) -> None:
    """A stored record is no more private than any other new file."""
    plain = tmp_path / "plain"
    plain.write_text("")
    write_atomically(tmp_path / "run.json", "{}")
    assert (tmp_path / "run.json").stat().st_mode == plain.stat().st_mode


def test_a_record_comes_back(tmp_path: Path) -> None:
    """From the folder and from the file."""
    with RunFolder(tmp_path / "run") as folder:
        stored = record([speed_trial()])
        folder.write_run(stored)
        assert read_run(folder.path) == read_run(folder.path / "run.json") == stored


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("nothing", None, "does not exist"),
        (".", None, "holds no run.json"),
        ("run.json", b"\xff\0", "run.json cannot be read"),
        ("run.json", b"{", "run.json cannot be read"),
        ("run.json", b"[]", "run.json is damaged or not one of ours"),
        ("run.json", b'{"schema": 1}', "run.json is damaged or not one of ours: command"),
        ("run.json", b'{"schema": 2}', "written by a later version of autotune: schema 2, this one reads 1"),
        ("run.json", b"[" * 200_000, "run.json cannot be read"),
    ],
)
def test_records_that_are_none_are_refused(tmp_path: Path, name: str, content: bytes | None, said: str) -> None:
    """Missing, damaged or foreign: which file, and what to give instead."""
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError) as caught:
        read_run(tmp_path / name)
    assert said in caught.value.message and caught.value.hint


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        "42",
        '{"schema": 2}',
        '{"schema": 1}',
        '{"schema": "1"}',
        json.dumps({"schema": 1, "configuration": 3}),
    ],
)
def test_foreign_recommendations_are_refused(tmp_path: Path, content: str) -> None:
    """A usage error with a hint, never another exception."""
    (tmp_path / "recommendation.json").write_text(content)
    with pytest.raises(UsageError) as caught:
        read_recommendation(tmp_path)
    assert caught.value.hint

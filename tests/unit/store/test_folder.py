"""The run folder: nothing lost, nothing overwritten, one writer."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from autotune.errors import UsageError
from autotune.settings import Settings
from autotune.store import RunFolder, read_recommendation, read_run
from autotune.store.folder import write_atomically
from tests.unit.builders import record, speed_trial


def settings(tmp_path: Path, **more: object) -> Settings:
    (tmp_path / "train.py").write_text("")
    return Settings(target=tmp_path / "train.py", **more)  # type: ignore[arg-type]


def test_measurements_come_back_as_they_were(tmp_path: Path) -> None:
    """Appended one by one, read in order."""
    with RunFolder(tmp_path / "run") as folder:
        trials = [speed_trial(step_time_s=t) for t in (0.01, 0.02)]
        for trial in trials:
            folder.append(trial)
        assert folder.measurements() == trials


def test_a_torn_last_line_is_dropped_and_counted(tmp_path: Path) -> None:
    """The writer was killed: what was whole stays."""
    with RunFolder(tmp_path / "run") as folder:
        folder.append(speed_trial())
        with (folder.path / "trials.jsonl").open("a") as file:
            file.write('{"number": 1, "purp')
        assert len(folder.measurements()) == 1 and folder.dropped_lines == 1


def test_damage_before_the_last_line_is_an_error(tmp_path: Path) -> None:
    """It names file and line."""
    with RunFolder(tmp_path / "run") as folder:
        (folder.path / "trials.jsonl").write_text("{}\n" + "{}\n")
        with pytest.raises(UsageError, match=r"trials.jsonl, line 1"):
            folder.measurements()


def test_one_writer_at_a_time_and_the_lock_dies_with_its_holder(tmp_path: Path) -> None:
    """Another process holds the folder; once it is killed the folder is free."""
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom autotune.store import RunFolder\n"
        f"folder = RunFolder(Path({str(tmp_path / 'run')!r}))\nprint('held', flush=True)\ntime.sleep(60)\n"
    )
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None and holder.stdout.readline() == "held\n"
    with pytest.raises(UsageError, match="in use by another run"):
        RunFolder(tmp_path / "run")
    holder.kill()
    holder.wait()
    holder.stdout.close()
    RunFolder(tmp_path / "run").close()


@pytest.mark.parametrize("name", ["notes.txt", "train.py"])
def test_a_folder_with_other_files_is_refused(tmp_path: Path, name: str) -> None:
    """--out never mixes with what is the user's."""
    out = tmp_path / "out"
    out.mkdir()
    (out / name).write_text("mine")
    with pytest.raises(UsageError, match=f"holds other files \\({name}\\)"):
        RunFolder.open_for(settings(tmp_path, out=out))
    assert (out / name).read_text() == "mine"


def test_an_earlier_run_is_not_overwritten_unasked(tmp_path: Path) -> None:
    """It says how to go on with it, or how to start over."""
    out = tmp_path / "out"
    with RunFolder(out) as folder:
        folder.append(speed_trial())
    with pytest.raises(UsageError, match="holds an earlier run") as caught:
        RunFolder.open_for(settings(tmp_path, out=out))
    assert "--resume" in caught.value.hint and "--fresh" in caught.value.hint
    with RunFolder.open_for(settings(tmp_path, out=out, fresh=True)) as folder:
        assert folder.measurements() == []


def test_resume_wants_the_folder_of_a_run(tmp_path: Path) -> None:
    """A folder without measurements is none."""
    with pytest.raises(UsageError, match="is not the folder of an autotune run"):
        RunFolder.open_for(settings(tmp_path, resume=tmp_path))


def test_a_changed_script_is_noticed_on_resume(tmp_path: Path) -> None:
    """Old measurements are not mixed with a new script."""
    with RunFolder(tmp_path / "run") as folder:
        folder.check_same("abc")
        folder.append(speed_trial())
        folder.check_same("abc")
        with pytest.raises(UsageError, match="script has changed"):
            folder.check_same("def")


def test_folders_that_cannot_be_made(tmp_path: Path) -> None:
    """A file in the way, or below one: what, where, what to do."""
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written") as caught:
        RunFolder(tmp_path / "file" / "run")
    assert "--out" in caught.value.hint
    with pytest.raises(UsageError, match="is a file"):
        RunFolder.open_for(settings(tmp_path, out=tmp_path / "file"))


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Atomic: old or new, never a part, and no temporary file left."""
    path = tmp_path / "run.json"
    write_atomically(path, "old")

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, "new")
    assert path.read_text() == "old" and [p.name for p in tmp_path.iterdir()] == ["run.json"]


def test_a_record_comes_back(tmp_path: Path) -> None:
    """From the folder and from the file."""
    with RunFolder(tmp_path / "run") as folder:
        stored = record([speed_trial()])
        folder.write_run(stored)
        assert read_run(folder.path) == read_run(folder.path / "run.json") == stored


@pytest.mark.parametrize(
    "content", ["{", "[]", "42", '{"schema": 2}', '{"schema": 1}', json.dumps({"schema": 1, "configuration": 3})]
)
def test_foreign_recommendations_are_refused(tmp_path: Path, content: str) -> None:
    """A usage error with a hint, never another exception."""
    (tmp_path / "recommendation.json").write_text(content)
    with pytest.raises(UsageError) as caught:
        read_recommendation(tmp_path)
    assert caught.value.hint

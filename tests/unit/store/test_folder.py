"""The run folder: nothing of the user's touched, no earlier run overwritten, one writer."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

import pytest

from autotune.errors import UsageError
from autotune.measure.bench import QualityPlan
from autotune.settings import Settings
from autotune.store import RunFolder
from tests.unit.builders import speed_trial


def settings(tmp_path: Path, **more: object) -> Settings:
    (tmp_path / "train.py").write_text("")
    return Settings(target=tmp_path / "train.py", **more)  # type: ignore[arg-type]


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


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize(
    "name", ["report.html", "run.json", "recommendation.json", "study.log", "report.md", "figures"]
)
def test_files_of_our_names_are_the_users_where_no_run_was(tmp_path: Path, name: str, fresh: bool) -> None:
    """A folder of results with a report of its own: refused, and nothing in it is deleted."""
    out = tmp_path / "results"
    out.mkdir()
    (out / name).write_text("mine")
    with pytest.raises(UsageError, match=f"holds other files \\({name}\\)"):
        RunFolder.open_for(settings(tmp_path, out=out, fresh=fresh))
    assert (out / name).read_text() == "mine"


def test_a_run_that_ended_before_it_measured_is_no_obstacle(tmp_path: Path) -> None:
    """What it left, its lock after a kill included, is taken over without --fresh."""
    out = tmp_path / "out"
    RunFolder(out).close()
    (out / ".lock").touch()
    with RunFolder.open_for(settings(tmp_path, out=out)) as folder:
        folder.check_same({"the script": "abc"})
    with RunFolder.open_for(settings(tmp_path, out=out)) as folder:
        assert folder.measurements() == []


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
        folder.check_same({"the script": "abc"})
        folder.append(speed_trial())
        folder.check_same({"the script": "abc"})
        with pytest.raises(UsageError, match="script has changed"):
            folder.check_same({"the script": "def"})


def test_all_that_changed_is_named(tmp_path: Path) -> None:
    """A run on another machine with other arguments is another run, whatever the script."""
    before = {"the script": "a", "its arguments": "", "the machine": "one"}
    with RunFolder(tmp_path / "run") as folder:
        folder.check_same(before)
        folder.append(speed_trial())
        with pytest.raises(UsageError, match=r"^its arguments and the machine have changed"):
            folder.check_same({**before, "its arguments": "--deep", "the machine": "two"})
        with pytest.raises(UsageError, match=r"^its arguments have changed"):
            folder.check_same({**before, "its arguments": "--deep"})


def test_folders_that_cannot_be_made(tmp_path: Path) -> None:
    """A file in the way, or below one: what, where, what to do."""
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written") as caught:
        RunFolder(tmp_path / "file" / "run")
    assert "--out" in caught.value.hint
    with pytest.raises(UsageError, match="is a file"):
        RunFolder.open_for(settings(tmp_path, out=tmp_path / "file"))


@pytest.mark.parametrize("name", [".run.json.3f2a", ".report.html.77aa.tmp", "study.log.lock", "study.log.lock81c0"])
def test_leftovers_of_a_killed_run_are_not_the_users(tmp_path: Path, name: str) -> None:
    """Half-written files and Optuna's lock do not stand in the way of starting over."""
    out = tmp_path / "out"
    with RunFolder(out) as folder:
        folder.append(speed_trial())
    (out / name).write_text("")
    with RunFolder.open_for(settings(tmp_path, out=out, fresh=True)) as folder:
        assert folder.measurements() == []


def test_starting_over_waits_for_nobody(tmp_path: Path) -> None:
    """--fresh does not take the measurements of a run that still goes on."""
    out = tmp_path / "out"
    with RunFolder(out) as folder:
        folder.append(speed_trial())
        with pytest.raises(UsageError, match="in use by another run"):
            RunFolder.open_for(settings(tmp_path, out=out, fresh=True))
        assert len(folder.measurements()) == 1


def test_two_runs_of_a_minute_have_two_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Named by script and time, with a number where that name is taken."""
    monkeypatch.chdir(tmp_path)
    now = datetime(2026, 3, 4, 5, 6)
    with RunFolder.open_for(settings(tmp_path), now) as one, RunFolder.open_for(settings(tmp_path), now) as two:
        assert [str(f.path) for f in (one, two)] == [
            "autotune-runs/train-0304-0506",
            "autotune-runs/train-0304-0506-2",
        ]


def test_runs_that_start_at_once_have_folders_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job array that starts eight runs in the same second: none is told that its folder is in use."""
    monkeypatch.chdir(tmp_path)
    now, given = datetime(2026, 3, 4, 5, 6), settings(tmp_path)
    together, waited, mkdir = threading.Barrier(8, timeout=60), threading.local(), Path.mkdir

    def all_at_once(path: Path, **how: bool) -> None:
        if not hasattr(waited, "done"):
            waited.done = True
            together.wait()
        mkdir(path, **how)

    monkeypatch.setattr(Path, "mkdir", lambda path, mode=0o777, **how: all_at_once(path, **how))
    with ThreadPoolExecutor(8) as pool:
        folders = list(pool.map(lambda _: RunFolder.open_for(given, now), range(8)))
    assert len({folder.path for folder in folders}) == 8
    for folder in folders:
        folder.close()


@pytest.mark.skipif(sys.platform == "win32", reason="the lock's file stays there")
def test_giving_a_folder_free_takes_it_from_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that takes the folder in the very moment it gets free holds it alone."""
    folder, taken = RunFolder(tmp_path / "run"), []
    release = folder._lock.release

    def released() -> None:
        release()
        taken.append(RunFolder(tmp_path / "run"))

    monkeypatch.setattr(folder._lock, "release", released)
    folder.close()
    with pytest.raises(UsageError, match="in use by another run"):
        RunFolder(tmp_path / "run")
    monkeypatch.undo()
    taken[0].close()


def test_the_folder_is_left_clean(tmp_path: Path) -> None:
    """Given free, it holds no lock, and can be taken again."""
    RunFolder(tmp_path / "run").close()
    assert [p.name for p in (tmp_path / "run").iterdir()] == ["logs"]
    RunFolder(tmp_path / "run").close()


def test_fresh_takes_away_all_of_an_earlier_run_and_nothing_else(tmp_path: Path) -> None:
    """Figures and logs too; a folder with logs alone, which may be the user's, keeps them."""
    out = tmp_path / "run"
    with RunFolder(out) as folder:
        folder.append(speed_trial())
        (folder.logs / "worker.log").write_text("old")
        (out / "figures").mkdir()
        (out / "figures" / "speed.svg").write_text("old")
        folder.keep_quality_plan(QualityPlan(epochs=3, planned_epochs=3))
    with RunFolder.open_for(settings(tmp_path, out=out, fresh=True)) as folder:
        assert sorted(p.name for p in out.iterdir() if not p.name.startswith(".")) == ["logs"]
        assert list(folder.logs.iterdir()) == [] and folder.quality_plan() is None
    theirs = tmp_path / "theirs"
    (theirs / "logs").mkdir(parents=True)
    (theirs / "logs" / "mine.txt").write_text("mine")
    with RunFolder.open_for(settings(tmp_path, out=theirs, fresh=True)):
        assert (theirs / "logs" / "mine.txt").read_text() == "mine"


def test_the_length_of_quality_runs_is_kept_for_those_that_go_on(tmp_path: Path) -> None:
    """Runs of another length cannot be compared."""
    plan = QualityPlan(epochs=7, part_samples=320.5, planned_epochs=50, planned_steps=1000, share=0.3)
    with RunFolder(tmp_path / "run") as folder:
        assert folder.quality_plan() is None
        folder.keep_quality_plan(plan)
    with RunFolder(tmp_path / "run") as folder:
        assert folder.quality_plan() == plan


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"[", b'{"epochs": -6, "planned_epochs": 3}'])
def test_a_damaged_length_of_quality_runs_is_told(tmp_path: Path, content: bytes) -> None:
    """Not text, not JSON, or a length that no run has."""
    with RunFolder(tmp_path / "run") as folder:
        (folder.path / "quality_plan.json").write_bytes(content)
        with pytest.raises(UsageError, match=r"quality_plan\.json"):
            folder.quality_plan()
        folder.append(speed_trial())
        (folder.path / "identity.json").write_bytes(content)
        with pytest.raises(UsageError, match=r"identity\.json"):
            folder.check_same({"the script": "a"})

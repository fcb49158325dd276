"""One run's folder."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from types import TracebackType

from filelock import FileLock, Timeout

from autotune.atomic import write_atomically
from autotune.errors import UsageError
from autotune.measure.bench import QualityPlan
from autotune.records import Measurement, Recommendation, RunRecord
from autotune.records.codec import dumps, from_json, loads, to_json
from autotune.settings import SETTINGS, Settings

RECOMMENDATION = "recommendation.json"
RUN = "run.json"
TRIALS = "trials.jsonl"
# Version of the layout of both records that this version writes and reads.
SCHEMA = 1
_LOCK = ".lock"
IDENTITY = "identity.json"
_DIAGNOSIS = "diagnosis.json"
LENGTH = "quality_plan.json"
_STUDY = "study.log"
# Larger numbers of steps or samples are no length of a short training.
_MOST = 1e12
# A folder with one of these is a run's; with a report.html or a study.log alone it is more likely somebody else's.
_MARKS = (TRIALS, IDENTITY, _DIAGNOSIS)
_FOLDERS = ("exports", "figures", "logs")
_OURS = {
    *_FOLDERS,
    RECOMMENDATION,
    RUN,
    TRIALS,
    _LOCK,
    IDENTITY,
    _DIAGNOSIS,
    LENGTH,
    SETTINGS,
    "diagnosis.html",
    _STUDY,
    "report.html",
    "report.md",
}
_log = logging.getLogger(__name__)


class RunFolder:
    """The folder of one run, held by a lock that dies with its holder.

    Args:
        path: The folder; made where it does not exist.

    Raises:
        UsageError: It cannot be written, holds something else, or is in use.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.dropped_lines = 0
        try:
            path.mkdir(parents=True, exist_ok=True)
            self.logs.mkdir(exist_ok=True)
            with tempfile.TemporaryFile(dir=path):
                pass
        except OSError as error:
            raise UsageError(
                f"the run folder {path} cannot be written: {error.strerror}", hint="choose another with --out"
            ) from None
        self._lock = FileLock(path / _LOCK)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise UsageError(
                f"the run folder {path} is in use by another run", hint="wait for it, or choose another with --out"
            ) from None

    @classmethod
    def open_for(cls, settings: Settings, now: datetime | None = None) -> RunFolder:
        """The folder that the settings ask for: a new one, or that of the run to go on with.

        Raises:
            UsageError: It cannot be used.
        """
        if settings.resume is not None:
            path = settings.resume
            if not (path / TRIALS).is_file():
                raise UsageError(
                    f"--resume: {path} is not the folder of an autotune run", hint="give the folder that the run named"
                )
            return cls(path)
        if settings.out is not None:
            path = settings.out
            if path.exists() and not path.is_dir():
                raise UsageError(f"--out: {path} is a file", hint="give a folder")
            foreign = _foreign(path)
            if foreign:
                raise UsageError(f"--out: {path} holds other files ({foreign[0]})", hint="give an empty or new folder")
            if (path / TRIALS).exists() and not settings.fresh:
                raise UsageError(
                    f"--out: {path} holds an earlier run",
                    hint=f"go on with --resume {path}, or start over with --fresh",
                )
            folder = cls(path)
            if any((path / name).exists() for name in _MARKS):
                folder.empty()
            return folder
        stamp = (now or datetime.now()).strftime("%m%d-%H%M")
        base = Path("autotune-runs") / f"{settings.target.stem}-{stamp}"
        path, number = base, 1
        while True:
            # Made here and not only looked for: of two runs that start at once, each gets its own.
            try:
                path.mkdir(parents=True)
                break
            except FileExistsError:
                number += 1
                path = base.with_name(f"{base.name}-{number}")
            except OSError:
                break  # the constructor says what is wrong
        return cls(path)

    @property
    def logs(self) -> Path:
        """Folder of the workers' logs."""
        return self.path / "logs"

    def empty(self) -> None:
        """Takes away what an earlier run left here, the lock aside."""
        for name in _OURS.difference(_FOLDERS, {_LOCK}):
            with contextlib.suppress(FileNotFoundError):
                (self.path / name).unlink()
        for name in _FOLDERS:
            shutil.rmtree(self.path / name, ignore_errors=True)
        self.logs.mkdir(exist_ok=True)

    def keep_settings(self, settings: Settings) -> None:
        """Stores what was asked for, so that a run that goes on with this one is asked the same."""
        write_atomically(self.path / SETTINGS, settings.kept())

    def quality_plan(self) -> QualityPlan | None:
        """The length of this run's quality runs, so that later ones can be compared with them; None before the first.

        Raises:
            UsageError: The file is damaged.
        """
        file = self.path / LENGTH
        return read_quality_plan(file) if file.exists() else None

    def keep_quality_plan(self, plan: QualityPlan) -> None:
        """Stores the length of the quality runs, atomically."""
        write_atomically(self.path / LENGTH, dumps(plan))

    def append(self, measurement: Measurement) -> None:
        """Stores one measurement, on disk before it returns."""
        line = json.dumps(to_json(measurement), allow_nan=False) + "\n"
        with (self.path / TRIALS).open("a", encoding="utf-8") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    def measurements(self) -> list[Measurement]:
        """Measurements stored so far.

        A torn last line (the writer was killed) is dropped, counted and logged as a warning, and taken out of the file:
        the next one would otherwise be joined to it.

        Raises:
            UsageError: A line is damaged.
        """
        try:
            text = (self.path / TRIALS).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return []
        *lines, rest = text.split("\n")
        found = [
            loads(Measurement, line, what=f"{self.path / TRIALS}, line {number}")
            for number, line in enumerate(lines, 1)
        ]
        if rest:
            try:
                found.append(loads(Measurement, rest))
            except UsageError:
                self.dropped_lines += 1
                _log.warning(
                    "%s: the last line was torn and is dropped; that trial is measured again", self.path / TRIALS
                )
            self.rewrite(found)
        return found

    def rewrite(self, measurements: list[Measurement]) -> None:
        """Replaces the stored measurements, atomically."""
        text = "".join(json.dumps(to_json(m), allow_nan=False) + "\n" for m in measurements)
        write_atomically(self.path / TRIALS, text)

    def forget(self) -> None:
        """Drops what was measured and the length of the quality runs: all of it is measured again."""
        self.rewrite([])
        with contextlib.suppress(FileNotFoundError):
            (self.path / LENGTH).unlink()

    def check_same(self, identity: Mapping[str, str]) -> None:
        """Notes what this run is about, or checks it on resume: measurements of two different things are not mixed.

        Args:
            identity: What a measurement depends on, by the name that a user would give it.

        Raises:
            UsageError: What was measured belongs to something else; says to what.
        """
        file = self.path / IDENTITY
        if file.exists() and (self.path / TRIALS).exists():
            known = loads(dict[str, str], file.read_text(encoding="utf-8", errors="replace"), what=str(file))
            changed = [name for name, value in identity.items() if known.get(name) != value]
            if changed:
                verb = "have" if len(changed) > 1 or changed[0].endswith("s") else "has"
                raise UsageError(
                    f"{' and '.join(changed)} {verb} changed since this run was interrupted",
                    hint="start a new run without --resume",
                )
        self.note(identity)

    def note(self, identity: Mapping[str, str]) -> None:
        """Stores what this run is about, so that later runs can tell whether they are about the same."""
        write_atomically(self.path / IDENTITY, json.dumps(dict(identity), indent=2) + "\n")

    def write_run(self, record: RunRecord) -> None:
        """Stores the whole record, atomically."""
        write_atomically(self.path / RUN, dumps(record))

    def write_recommendation(self, recommendation: Recommendation) -> None:
        """Stores the answer, atomically."""
        write_atomically(self.path / RECOMMENDATION, dumps(recommendation))

    def close(self) -> None:
        """Gives the folder free."""
        # Taken away while it is held: once it is free another run may hold this very file, and removing it then would let
        # a third one in. Windows refuses to remove a file that is open, and leaves an empty one.
        with contextlib.suppress(OSError):
            (self.path / _LOCK).unlink()
        self._lock.release()

    def __enter__(self) -> RunFolder:
        """Holds the folder."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Gives it free."""
        self.close()


def read_quality_plan(file: Path) -> QualityPlan:
    """The length of quality runs that a run stored.

    Raises:
        UsageError: The file is damaged, or no run can have that length.
    """
    plan = loads(QualityPlan, file.read_text(encoding="utf-8", errors="replace"), what=str(file))
    numbers = (plan.epochs, plan.part_samples, plan.validation_steps, plan.planned_epochs, plan.planned_steps)
    if not all(number is None or 0 < number < _MOST for number in numbers):
        raise UsageError(f"{file} is damaged: no run has that length", hint="start a new run without --resume")
    return plan


def _foreign(path: Path) -> list[str]:
    """Names in a folder that no run of ours put there; in one that bears none of our marks, all but logs and lock."""
    if not path.is_dir():
        return []
    names = sorted(entry.name for entry in path.iterdir())
    if any(name in _MARKS for name in names):
        return [name for name in names if not _ours(name)]
    # A run that ended before it measured anything leaves these.
    return [name for name in names if name not in ("logs", _LOCK)]


def _ours(name: str) -> bool:
    """Whether a file of this name is ours, what a killed writer left half-written included."""
    return name in _OURS or name.startswith(("study.log.lock", *(f".{known}." for known in _OURS)))


def read_run(path: Path) -> RunRecord:
    """The record of a run, from its folder or file.

    Raises:
        UsageError: There is none, or it is damaged or foreign.
    """
    data = _parsed(path, RUN)
    _check_schema(path, data)
    return from_json(RunRecord, data, what=str(path))


def read_recommendation(path: Path) -> Recommendation:
    """A recommendation, from its file or its run's folder.

    Raises:
        UsageError: There is none, or it is damaged or foreign.
    """
    data = _parsed(path, RECOMMENDATION)
    _check_schema(path, data)
    if not isinstance(data, dict) or data.get("schema") != SCHEMA or "configuration" not in data:
        raise UsageError(
            f"{path} is no recommendation of autotune (schema {SCHEMA})",
            hint="give a recommendation.json that autotune recommend wrote",
        )
    return from_json(Recommendation, data, what=str(path))


def _check_schema(path: Path, data: object) -> None:
    """Raises a usage error for a file of a later version, which would otherwise look damaged."""
    schema = data.get("schema") if isinstance(data, dict) else None
    if isinstance(schema, int) and schema > SCHEMA:
        raise UsageError(
            f"{path} was written by a later version of autotune: schema {schema}, this one reads {SCHEMA}",
            hint="update autotune: pip install --upgrade keras-autotune",
        )


def _parsed(path: Path, name: str) -> object:
    file = path / name if path.is_dir() else path
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if (path / _DIAGNOSIS).is_file():
            raise UsageError(
                f"{path} is the folder of a diagnosis", hint=f"its page is {path / 'diagnosis.html'}"
            ) from None
        what = f"{path} holds no {name}" if path.is_dir() else f"{path} does not exist"
        raise UsageError(what, hint="give the folder of a finished autotune run") from None
    except (OSError, RecursionError, ValueError) as error:
        raise UsageError(f"{file} cannot be read: {error}", hint="give a file that autotune wrote") from None

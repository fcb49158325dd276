"""Earlier runs beside this one: what they measured of the same thing, and what they answered to a similar one.

Nothing is kept elsewhere: an earlier run is found by its folder, as long as that lies where runs are put.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from autotune.errors import AutotuneError
from autotune.measure.bench import QualityPlan
from autotune.records import Configuration, Measurement
from autotune.records.codec import loads
from autotune.store.folder import IDENTITY, LENGTH, TRIALS, read_quality_plan, read_recommendation

# The newest runs are looked at, no more.
_MOST = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Earlier:
    """An earlier run.

    Attributes:
        path: Its folder.
        measurements: Its trials, those at the end of a run aside: comparisons in alternation are made anew.
        plan: Length of its quality runs; None where it had none.
    """

    path: Path
    measurements: tuple[Measurement, ...]
    plan: QualityPlan | None


def same_run(folder: Path, identity: Mapping[str, str]) -> Earlier | None:
    """The earlier run that knows most of exactly the same: script, arguments, model, data, machine, versions.

    Args:
        folder: This run's folder; others are looked for beside it.
        identity: What measurements depend on.

    Returns:
        The newest of those that know most; None without one.
    """
    best: Earlier | None = None
    for path, known in _beside(folder):
        if known != dict(identity):
            continue
        plan = _plan(path)
        # Quality runs of a length that is not known cannot be compared with others.
        measurements = [m for m in _trials(path) if m.purpose == "speed" or plan is not None]
        if len(measurements) > (0 if best is None else len(best.measurements)):
            best = Earlier(path=path, measurements=tuple(measurements), plan=plan)
    return best


def similar_answer(folder: Path, identity: Mapping[str, str], like: tuple[str, ...]) -> Configuration | None:
    """What the newest earlier run that agrees in some things recommended; None without one.

    Args:
        folder: This run's folder.
        identity: What measurements depend on.
        like: What has to agree.
    """
    for path, known in _beside(folder):
        if any(known.get(name) != identity.get(name) for name in like):
            continue
        try:
            answer = read_recommendation(path)
        except AutotuneError:
            continue
        if answer.verdict == "recommended":
            return answer.configuration
    return None


def _beside(folder: Path) -> Iterator[tuple[Path, dict[str, str]]]:
    """Folders of other runs and their identities, the newest first; what cannot be read is passed over."""
    found = []
    try:
        others = [path for path in folder.resolve().parent.iterdir() if path != folder.resolve()]
    except OSError:
        return
    for path in others:
        with contextlib.suppress(OSError):
            file = path / IDENTITY
            if file.is_file():
                found.append((file.stat().st_mtime, path))
    for _, path in sorted(found, reverse=True)[:_MOST]:
        try:
            yield path, loads(dict[str, str], (path / IDENTITY).read_text(encoding="utf-8"))
        except (AutotuneError, OSError, UnicodeDecodeError):
            continue


def _trials(path: Path) -> list[Measurement]:
    if not (path / TRIALS).is_file():
        return []
    try:
        lines = (path / TRIALS).read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return []
    found = []
    for line in lines:
        try:
            measurement = loads(Measurement, line)
        except AutotuneError:
            continue  # a torn last line, or one of a later version: that trial is made anew
        if measurement.purpose in ("speed", "quality"):
            found.append(measurement)
    return found


def _plan(path: Path) -> QualityPlan | None:
    try:
        return read_quality_plan(path / LENGTH) if (path / LENGTH).is_file() else None
    except (AutotuneError, OSError):
        return None

"""What earlier runs know of this one: trials taken over, a configuration to begin with, and whether both still agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from autotune.judge.board import duel_sides
from autotune.judge.interval import Interval
from autotune.judge.speed import duel_ratio, relative
from autotune.records import Configuration, Finding, Measurement, Severity
from autotune.store import RunFolder
from autotune.store.earlier import same_run, similar_answer

MODEL = "the model"
MACHINE = "the machine"
# Two processes of the same program came out as different by up to 4% (docs/performance.md), and days may lie between.
_DRIFT = 0.05


@dataclass(frozen=True, kw_only=True, slots=True)
class Memory:
    """What is known from before.

    Attributes:
        measurements: Trials of an earlier run of exactly the same; they stand in this run's folder too.
        first: Configurations to time before all others.
        findings: Where it is from.
    """

    measurements: tuple[Measurement, ...] = ()
    first: tuple[Configuration, ...] = ()
    findings: tuple[Finding, ...] = ()


def remember(folder: RunFolder, identity: Mapping[str, str]) -> Memory:
    """Takes over what an earlier run beside this one measured of exactly the same, or what it answered to something similar.

    Args:
        folder: This run's folder, with nothing measured in it.
        identity: What measurements depend on.
    """
    known = same_run(folder.path, identity)
    if known is not None:
        folder.rewrite(list(known.measurements))
        if known.plan is not None:
            folder.keep_quality_plan(known.plan)
        count = len(known.measurements)
        return Memory(
            measurements=known.measurements,
            findings=(
                Finding(
                    code="known_before",
                    severity=Severity.INFO,
                    message=f"{count} trial{'s' if count > 1 else ''} of an earlier run of the same script, data, machine"
                    f" and versions ({_name(known.path)}) {'are' if count > 1 else 'is'} taken over; what is fastest is"
                    " compared with the baseline anew",
                    advice="--fresh measures everything again",
                ),
            ),
        )
    similar = similar_answer(folder.path, identity, like=(MODEL, MACHINE))
    return Memory() if similar is None else Memory(first=(similar,))


def outdated(measurements: Sequence[Measurement], before: Sequence[Measurement]) -> Finding | None:
    """Says that a comparison made now contradicts what was taken over, where it does.

    It does where the two intervals, widened by what separate processes differ by, do not meet.

    Args:
        measurements: All of this run, those that were taken over included.
        before: Those.
    """
    for then in (m for m in before if m.purpose == "speed"):
        sides = duel_sides(then.configuration, measurements)
        old = None if sides is None else relative(measurements[0], then)
        new = None if sides is None else duel_ratio(*sides)
        if old is not None and new is not None and (_above(old, new) or _above(new, old)):
            return Finding(
                code="outdated",
                severity=Severity.INFO,
                message=f"an earlier run of the same measured {old.value:.2f}x where it is {new.value:.2f}x now:"
                " everything was measured again",
            )
    return None


def _above(one: Interval, other: Interval) -> bool:
    return one.low is not None and other.high is not None and one.low > other.high * (1.0 + _DRIFT)


def _name(path: Path) -> str:
    """A run folder as a user knows it: the last two parts, without what lies above."""
    return "/".join(path.parts[-2:])

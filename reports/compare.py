"""What is different between two runs: the machine, the versions, the script, the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autotune.records import PolicyRow, Recommendation, SpeedEvidence
from autotune.reports import context
from autotune.reports import format as write
from autotune.reports.model import Fact

# They tell how the same thing went, not what it was.
_NOT_TOLD = ("fingerprint", "fit", "target")
_SAME = "nothing"


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """Something that differs.

    Attributes:
        group: ``machine``, ``versions`` or ``training``.
        what: Its name.
        first: As the first run had it.
        second: As the second had it.
    """

    group: str
    what: str
    first: str
    second: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """A figure or answer of both runs.

    Attributes:
        what: Its name.
        first: As the first run had it.
        second: As the second had it.
        changed: Whether they say something else: another answer or verdict, or speeds whose intervals do not meet. Times differ
            from run to run by themselves.
    """

    what: str
    first: str
    second: str
    changed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """Two runs side by side.

    Attributes:
        headline: What changed, in one sentence.
        first: Name of the first run.
        second: Name of the second.
        same_answer: Whether both recommend the same configuration.
        changes: What differs in machine, versions and training.
        answers: What both answered, with their figures.
        policies: Speed and accuracy of each policy in both.
    """

    headline: str
    first: str
    second: str
    same_answer: bool
    changes: tuple[Change, ...]
    answers: tuple[Compared, ...]
    policies: tuple[Compared, ...]


def compare(first: Recommendation, second: Recommendation, names: tuple[str, str] = ("first", "second")) -> Comparison:
    """Compares two answers.

    Args:
        first: One run's.
        second: The other's.
        names: What to call them.
    """
    groups = {
        "machine": (context.machine_facts(first.hardware), context.machine_facts(second.hardware)),
        "versions": (context.software_facts(first.software), context.software_facts(second.software)),
        "training": (_training(first), _training(second)),
    }
    changes = tuple(change for group, (one, other) in groups.items() for change in _changes(group, one, other))
    same = first.configuration == second.configuration
    return Comparison(
        headline=_headline(first, second, changes, same),
        first=names[0],
        second=names[1],
        same_answer=same,
        changes=changes,
        answers=_answers(first, second),
        policies=_policies(first, second),
    )


def _training(record: Recommendation) -> tuple[Fact, ...]:
    digest = Fact(label="script's text", value=record.workload.digest or write.UNKNOWN)
    target = Fact(label="script", value=" ".join((record.workload.target, *record.workload.arguments)))
    return (target, digest, *context.workload_facts(record.workload))


def _changes(group: str, first: Sequence[Fact], second: Sequence[Fact]) -> list[Change]:
    one, other = ({fact.label: fact.value for fact in facts} for facts in (first, second))
    labels = [label for label in dict.fromkeys((*one, *other)) if label not in _NOT_TOLD]
    return [
        Change(group=group, what=label, first=one.get(label, "-"), second=other.get(label, "-"))
        for label in labels
        if one.get(label) != other.get(label)
    ]


def _headline(first: Recommendation, second: Recommendation, changes: Sequence[Change], same: bool) -> str:
    groups = list(dict.fromkeys(change.group for change in changes))
    differing = (
        f"with another {' and other '.join(groups)}" if groups else "with machine, versions and training the same"
    )
    if not same:
        return (
            f"Another answer {differing}: {second.configuration.describe(second.baseline)} instead of "
            f"{first.configuration.describe(first.baseline)}."
        )
    answer = first.configuration.describe(first.baseline)
    gains = [write.factor(record.speed.speedup, missing="") for record in (first, second)]
    speeds = f", {gains[0]} and {gains[1]}" if all(gains) else ""
    return f"The same answer {differing}: {answer}{speeds}."


def _answers(first: Recommendation, second: Recommendation) -> tuple[Compared, ...]:
    one, other = _figures(first), _figures(second)
    changed = {
        "answer": first.configuration != second.configuration,
        "accuracy": first.accuracy.verdict != second.accuracy.verdict,
        "speed-up": _apart(first.speed, second.speed),
    }
    return tuple(
        Compared(what=what, first=one.get(what, "-"), second=other.get(what, "-"), changed=changed.get(what, False))
        for what in dict.fromkeys((*one, *other))
    )


def _apart(first: SpeedEvidence, second: SpeedEvidence) -> bool:
    """Whether the intervals of both speed-ups do not meet."""
    ends = (first.speedup_low, first.speedup_high, second.speedup_low, second.speedup_high)
    if any(end is None for end in ends):
        return False
    low, high, other_low, other_high = (end or 0.0 for end in ends)
    return high < other_low or other_high < low


def _figures(record: Recommendation) -> Mapping[str, str]:
    speed, accuracy, cost = record.speed, record.accuracy, record.cost
    ratio = write.factor(speed.speedup)
    if speed.speedup_low is not None:
        ratio += f" {write.interval(speed.speedup_low, speed.speedup_high)}"
    digits = write.decimals_for(accuracy.margin)
    quality = write.quality(accuracy.candidate if accuracy.candidate is not None else accuracy.baseline, digits=digits)
    return {
        "answer": record.configuration.describe(record.baseline),
        "speed-up": ratio,
        "step as written": write.step_time(speed.baseline_step_time_s, missing="-"),
        "step recommended": write.step_time(speed.step_time_s, missing="-"),
        accuracy.metric or "accuracy": quality,
        "accuracy": accuracy.verdict,
        "steps seen stable": write.count(record.stability.steps),
        "peak memory": write.size(record.memory.peak_bytes, missing="-"),
        "planned run as written": write.duration(cost.baseline_run_s, missing="-"),
        "planned run recommended": write.duration(cost.run_s, missing="-"),
        "tuning took": write.duration(cost.tuning_s),
        "made": record.started_at or "-",
    }


def _policies(first: Recommendation, second: Recommendation) -> tuple[Compared, ...]:
    one, other = ({row.policy: row for row in record.policy_table} for record in (first, second))
    rows = []
    for policy in dict.fromkeys((*one, *other)):
        here, there = one.get(policy), other.get(policy)
        changed = _judged(here) != _judged(there)
        rows.append(Compared(what=policy, first=_policy(here), second=_policy(there), changed=changed))
    return tuple(rows)


def _judged(row: PolicyRow | None) -> tuple[str, str]:
    return ("", "") if row is None else (row.outcome or "", row.accuracy_verdict or "")


def _policy(row: PolicyRow | None) -> str:
    if row is None:
        return "-"
    parts = (
        write.step_time(row.step_time_s, missing=""),
        write.factor(row.relative_speed, missing=""),
        row.accuracy_verdict or "",
        "" if row.outcome in (None, "ok") else str(row.outcome).replace("_", " "),
    )
    return ", ".join(filter(None, parts)) or "not measured"

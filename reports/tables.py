"""Rows of the tables: policies, candidates, trials, what was ruled out, findings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from autotune.records import CandidateRow, Configuration, Finding, Outcome, PolicyRow, Recommendation, TrialRow
from autotune.reports import format as write
from autotune.reports.model import CandidateLine, FindingLine, Number, PolicyLine, RuledOut, TrialLine

Row = TypeVar("Row", PolicyLine, CandidateLine)
_SEVERITIES = ("error", "warning", "info")
_OUTCOMES = {
    Outcome.OK: "ok",
    Outcome.NON_FINITE: "non-finite values",
    Outcome.NO_UPDATES: "no updates applied",
    Outcome.DIVERGED: "diverged",
    Outcome.UNSUPPORTED: "not supported here",
    Outcome.NOT_APPLIED: "did not take effect",
    Outcome.OUT_OF_MEMORY: "out of memory",
    Outcome.TIMEOUT: "took too long",
    Outcome.CRASHED: "crashed",
    Outcome.SCRIPT_ERROR: "the script failed",
}


def outcome_text(outcome: Outcome | None) -> str:
    """An outcome in words; "not tried" for None."""
    return "not tried" if outcome is None else _OUTCOMES[outcome]


def policy_lines(recommendation: Recommendation) -> tuple[PolicyLine, ...]:
    """The measured policy table, with the extremes of each column marked."""
    lines = tuple(_policy_line(row, recommendation) for row in recommendation.policy_table)
    return _marked(lines, ("step_time", "relative", "run", "accuracy"))


def _policy_line(row: PolicyRow, recommendation: Recommendation) -> PolicyLine:
    digits = write.decimals_for(recommendation.accuracy.margin)
    notes = [row.note or ""]
    if row.outcome is not Outcome.OK:
        notes.insert(0, outcome_text(row.outcome))
    return PolicyLine(
        policy=row.policy,
        chosen=row.policy == recommendation.configuration.policy,
        step_time=Number(value=row.step_time_s, text=write.step_time_ms(row.step_time_s)),
        relative=Number(value=row.relative_speed, text=write.factor(row.relative_speed)),
        run=Number(value=row.run_s, text=write.duration(row.run_s, missing=write.NOTHING)),
        accuracy=Number(value=row.accuracy, text=write.quality(row.accuracy, digits=digits)),
        verdict=row.accuracy_verdict or "",
        note="; ".join(note for note in notes if note),
    )


def candidate_lines(recommendation: Recommendation) -> tuple[CandidateLine, ...]:
    """Every configuration with what is known of it."""
    front = _front(recommendation)
    lines = tuple(_candidate_line(row, recommendation, row in front) for row in recommendation.candidates)
    return _marked(lines, ("samples", "relative", "quality", "time_to_quality", "memory"))


def _candidate_line(row: CandidateRow, recommendation: Recommendation, front: bool) -> CandidateLine:
    digits = write.decimals_for(recommendation.accuracy.margin)
    notes = [row.note or ""]
    if row.outcome not in (Outcome.OK, None):
        notes.insert(0, outcome_text(row.outcome))
    return CandidateLine(
        name=row.configuration.describe(recommendation.baseline),
        settings=tuple(
            row.configuration.differences(recommendation.baseline.but(batch_size=row.configuration.batch_size))
        ),
        policy=row.configuration.policy,
        chosen=row.configuration == recommendation.configuration,
        baseline=row.configuration == recommendation.baseline,
        front=front,
        batch=Number(value=row.configuration.batch_size, text=write.count(row.configuration.batch_size)),
        samples=Number(value=row.samples_per_s, text=write.significant(row.samples_per_s)),
        relative=Number(value=row.relative_speed, text=write.factor(row.relative_speed)),
        quality=Number(value=row.quality, text=write.quality(row.quality, digits=digits)),
        time_to_quality=Number(value=row.time_to_quality_speedup, text=write.factor(row.time_to_quality_speedup)),
        predicted=Number(
            value=row.predicted_time_to_quality_speedup,
            text=write.factor(row.predicted_time_to_quality_speedup, missing=write.NOTHING),
        ),
        memory=Number(value=row.peak_memory_bytes, text=write.size(row.peak_memory_bytes, missing=write.NOTHING)),
        verdict=row.accuracy_verdict or "",
        note="; ".join(note for note in notes if note),
    )


def _front(recommendation: Recommendation) -> list[CandidateRow]:
    """Rows that no other one beats in both samples a second and quality."""
    sign = -1.0 if recommendation.accuracy.direction == "min" else 1.0
    known = [
        (row.samples_per_s, sign * row.quality, row)
        for row in recommendation.candidates
        if row.samples_per_s is not None and row.quality is not None and row.outcome in (Outcome.OK, None)
    ]
    return [
        row
        for speed, quality, row in known
        if not any(s >= speed and q >= quality and (s > speed or q > quality) for s, q, _ in known)
    ]


def trial_lines(recommendation: Recommendation) -> tuple[TrialLine, ...]:
    """Every trial in order."""
    return tuple(_trial_line(row, recommendation) for row in recommendation.trials)


def _trial_line(row: TrialRow, recommendation: Recommendation) -> TrialLine:
    spread = ""
    if row.step_time_low_s is not None and row.step_time_high_s is not None:
        spread = f"{write.step_time_ms(row.step_time_low_s)} to {write.step_time_ms(row.step_time_high_s)}"
    return TrialLine(
        number=Number(value=row.number, text=str(row.number)),
        purpose=row.purpose,
        name=row.configuration.describe(recommendation.baseline),
        outcome=outcome_text(row.outcome),
        seed=Number(value=row.seed, text=str(row.seed)),
        steps=Number(value=row.steps, text=write.count(row.steps)),
        step_time=Number(value=row.step_time_s, text=write.step_time_ms(row.step_time_s)),
        spread=spread,
        samples=Number(value=row.samples_per_s, text=write.significant(row.samples_per_s)),
        relative=Number(value=row.relative_speed, text=write.factor(row.relative_speed)),
        metric=Number(value=row.metric, text=write.quality(row.metric)),
        memory=Number(value=row.peak_memory_bytes, text=write.size(row.peak_memory_bytes, missing=write.NOTHING)),
        reason=row.reason or "",
    )


def ruled_out(recommendation: Recommendation) -> tuple[RuledOut, ...]:
    """What was left out or given up, joined where the reason is the same."""
    groups: dict[str, list[Configuration]] = {}
    for entry in recommendation.excluded:
        groups.setdefault(entry.reason, []).append(entry.configuration)
    lines = [RuledOut(what=_joined(group, recommendation.baseline), why=why) for why, group in groups.items()]
    told = {entry.configuration.policy for entry in recommendation.excluded}
    for row in recommendation.policy_table:
        if row.outcome not in (Outcome.OK, None) and row.policy not in told:
            lines.append(RuledOut(what=row.policy, why=row.note or outcome_text(row.outcome)))
    return tuple(lines)


def _joined(configurations: Sequence[Configuration], baseline: Configuration) -> str:
    """Names of a group; those that differ in the batch alone share one."""
    batches: dict[str, list[str]] = {}
    for configuration in configurations:
        batch = configuration.batch_size
        same = configuration.but(batch_size=baseline.batch_size)
        name = "" if same == baseline else same.describe(baseline)
        batches.setdefault(name, []).append("" if batch == baseline.batch_size else write.count(batch))
    names = []
    for name, sizes in batches.items():
        known = list(dict.fromkeys(size for size in sizes if size))
        parts = [name] if name else []
        parts += ["batch " + ", ".join(known)] if known else []
        names.append(", ".join(parts) or "as written")
    return "; ".join(names) if len(names) <= 3 else "; ".join(names[:2]) + f" and {len(names) - 2} more"


def finding_lines(findings: Iterable[Finding]) -> tuple[FindingLine, ...]:
    """Findings, the gravest first, each told once."""
    unique = dict.fromkeys(findings)
    return tuple(_finding_line(f) for f in sorted(unique, key=lambda f: _SEVERITIES.index(f.severity.value)))


def _finding_line(finding: Finding) -> FindingLine:
    confirmed = {True: "confirmed by a measurement", False: "not confirmed by a measurement", None: ""}
    return FindingLine(
        severity=finding.severity.value,
        code=finding.code,
        message=finding.message,
        where=tuple(part for part in (finding.layer, finding.policy, finding.line) if part),
        advice=finding.advice or "",
        confirmed=confirmed[finding.confirmed],
    )


def _marked(rows: tuple[Row, ...], columns: Sequence[str]) -> tuple[Row, ...]:
    """Marks the highest and the lowest of each column where at least two values differ."""
    for column in columns:
        values = [getattr(row, column).value for row in rows if getattr(row, column).value is not None]
        if len(set(values)) < 2:
            continue
        marks = {max(values): "highest", min(values): "lowest"}
        changed: list[Any] = []
        for row in rows:
            number: Number = getattr(row, column)
            mark = "" if number.value is None else marks.get(number.value, "")
            marked: dict[str, Any] = {column: replace(number, mark=mark)}
            changed.append(replace(row, **marked))
        rows = tuple(changed)
    return rows

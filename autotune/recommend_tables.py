"""The tables of a recommendation: policies, candidates, trials, what was ruled out, curves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autotune.judge.accuracy import quality
from autotune.judge.board import Case
from autotune.judge.speed import Speed, relative, speed
from autotune.judge.stability import fault, outcome
from autotune.recommend_words import lost, predicted_gain
from autotune.records import CandidateRow, Configuration, Curve, Excluded, Measurement, PolicyRow, RunRecord, TrialRow
from autotune.records.configuration import REFERENCE_POLICIES


def policy_rows(judged: Sequence[Case], record: RunRecord) -> tuple[PolicyRow, ...]:
    """Each policy at the written batch and settings."""
    rows = []
    planned, base = record.workload.planned_samples, _baseline_speed(judged, record)
    for case in judged:
        if case.configuration.but(policy=record.baseline.policy) != record.baseline and not (
            case.configuration.other_float32(record.baseline)
        ):
            continue
        rate = _rate(case, base)
        values = finals(case, record)
        if not values:  # accuracy belongs to the policy: runs of it with other knobs at this batch tell it as well
            values = [v for other in judged if same_arithmetic(other, case) for v in finals(other, record)]
        other = next((o for o in judged if same_arithmetic(o, case) and o.accuracy is not None), None)
        evidence = case.accuracy or (None if other is None else other.accuracy)
        borrowed = None
        if case.accuracy is None and other is not None and other.configuration.learning != case.configuration.learning:
            borrowed = f"accuracy of its runs with {other.configuration.learning.describe(case.configuration.learning)}"
        rows.append(
            PolicyRow(
                policy=_row_name(case.configuration, record.baseline),
                outcome=case.outcome,
                step_time_s=None if rate is None or base is None else base.samples / rate,
                relative_speed=None if case.relative is None else case.relative.value,
                run_s=None if rate is None or planned is None else planned / rate,
                accuracy=float(np.mean(values)) if values else None,
                accuracy_verdict=None if evidence is None else evidence.verdict,
                note=case.fault
                or ("a yardstick, never recommended" if case.configuration.policy in REFERENCE_POLICIES else borrowed),
            )
        )
    return tuple(rows)


def _row_name(configuration: Configuration, baseline: Configuration) -> str:
    if not configuration.other_float32(baseline):
        return configuration.policy
    return f"{configuration.policy}, {'TF32' if configuration.tf32 else 'no TF32'}"


def _baseline_speed(judged: Sequence[Case], record: RunRecord) -> Speed | None:
    base = next((c.speed_trial for c in judged if c.configuration == record.baseline), None)
    return None if base is None else speed(base.chunks)


def _rate(case: Case, base: Speed | None) -> float | None:
    """Samples a second at the pace that the machine had in the baseline's own trial, so that the rows compare."""
    return None if base is None or case.relative is None else base.samples_per_s.value * case.relative.value


def same_arithmetic(other: Case, case: Case) -> bool:
    """Whether two configurations differ in nothing that changes what is computed."""
    a, b = other.configuration, case.configuration
    return (a.policy, a.batch_size, a.loss_scale, a.learning_rate_factor, a.float32_layers, a.tf32) == (
        b.policy,
        b.batch_size,
        b.loss_scale,
        b.learning_rate_factor,
        b.float32_layers,
        b.tf32,
    )


def stands_for_another(case: Case, judged: Sequence[Case]) -> bool:
    """Whether a configuration was trained only because its runs are those of another, which was timed."""
    learning = case.configuration.learning
    return case.speed_trial is None and any(
        other.speed_trial is not None and other.configuration.learning == learning for other in judged
    )


def candidate_rows(judged: Sequence[Case], record: RunRecord) -> tuple[CandidateRow, ...]:
    """Each configuration with all that is known of it; what was only trained, for one that was timed, stands with that."""
    rows = []
    base = _baseline_speed(judged, record)
    for case in judged:
        if stands_for_another(case, judged):
            continue
        rate = _rate(case, base)
        values = finals(case, record)
        rows.append(
            CandidateRow(
                configuration=case.configuration,
                samples_per_s=rate,
                relative_speed=None if case.relative is None else case.relative.value,
                quality=float(np.mean(values)) if values else None,
                accuracy_verdict=None if case.accuracy is None else case.accuracy.verdict,
                time_to_quality_speedup=None if case.gain is None else case.gain.value,
                predicted_time_to_quality_speedup=predicted_gain(case, record),
                peak_memory_bytes=case.peak_memory_bytes,
                outcome=case.outcome,
                note=case.fault or case.gain_reason,
            )
        )
    return tuple(rows)


def trial_rows(judged: Sequence[Case], record: RunRecord) -> tuple[TrialRow, ...]:
    """Each trial, in order."""
    base = next((c.speed_trial for c in judged if c.configuration == record.baseline), None)
    return tuple(_trial_row(m, base, record) for m in record.measurements)


def curves(base: Case | None, other: Case | None) -> tuple[Curve, ...]:
    """Learning curves of the baseline and of the configuration that is shown beside it."""
    found = [
        Curve(side="baseline", seed=seed, points=m.curve)
        for seed, m in (base.quality if base else {}).items()
        if m.curve
    ]
    if other is not None and other is not base:
        found += [Curve(side="candidate", seed=seed, points=m.curve) for seed, m in other.quality.items() if m.curve]
    return tuple(found)


def excluded_rows(judged: Sequence[Case], record: RunRecord, winner: Case | None) -> tuple[Excluded, ...]:
    """What was left out by the plan, and what was tried and lost, each with its reason."""
    rows = []
    for case in judged:
        point = case.configuration
        if case is winner or point == record.baseline or point.policy in REFERENCE_POLICIES:
            continue
        if (point.other_float32(record.baseline) and not point.tf32) or stands_for_another(case, judged):
            continue  # a yardstick too, or told with the other
        rows.append(Excluded(configuration=case.configuration, reason=lost(case, record, winner)))
    return (*rows, *record.excluded)


def finals(case: Case, record: RunRecord) -> list[float]:
    """Final values of the metric over a configuration's quality runs."""
    return [v for m in case.quality.values() if (v := quality(m, record.workload.metric or "loss")) is not None]


def _trial_row(measurement: Measurement, base: Measurement | None, record: RunRecord) -> TrialRow:
    found = speed(measurement.chunks)
    ratio = relative(base, measurement) if base is not None and measurement.purpose == "speed" else None
    return TrialRow(
        number=measurement.number,
        purpose=measurement.purpose,
        configuration=measurement.configuration,
        outcome=outcome(measurement),
        seed=measurement.seed,
        step_time_s=None if found is None else found.step_time_s.value,
        step_time_low_s=None if found is None else found.step_time_s.low,
        step_time_high_s=None if found is None else found.step_time_s.high,
        samples_per_s=None if found is None else found.samples_per_s.value,
        relative_speed=None if ratio is None else ratio.value,
        metric=quality(measurement, record.workload.metric or "loss"),
        peak_memory_bytes=measurement.peak_memory_bytes,
        steps=measurement.steps,
        reason=measurement.reason or fault(measurement),
    )

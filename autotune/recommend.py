"""The decision rule: a pure function of the run's record."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from autotune.judge.board import Case, cases
from autotune.judge.findings import findings
from autotune.judge.interval import Interval
from autotune.judge.speed import speed
from autotune.judge.stability import stability
from autotune.recommend_tables import candidate_rows, curves, excluded_rows, policy_rows, trial_rows
from autotune.records import (
    AccuracyEvidence,
    CostEvidence,
    MemoryEvidence,
    Recommendation,
    RunRecord,
    SpeedEvidence,
    WorkloadInfo,
)
from autotune.records.codec import dumps
from autotune.records.configuration import REFERENCE_POLICIES


def recommend(record: RunRecord) -> Recommendation:
    """Decides.

    A configuration is admissible if it was itself measured, nothing is wrong with its updates, and its accuracy matches. Of
    the admissible ones the highest lower bound of the time-to-quality gain wins; below the smallest gain the baseline is
    kept.

    Args:
        record: Everything measured.
    """
    judged = cases(record.baseline, record.workload, record.options, record.measurements)
    base = next((case for case in judged if case.configuration == record.baseline), None)
    winner = choose(judged, record)
    leader = winner or _leader(judged, record)
    kept = winner is None
    shown = base if kept else winner
    all_findings = findings(
        judged, record.workload, record.hardware, record.options, (*record.hardware.findings, *record.findings)
    )
    return Recommendation(
        verdict="keep_baseline" if kept else "recommended",
        headline=_headline(record, winner),
        why=_why(record, winner, leader),
        configuration=record.baseline if winner is None else winner.configuration,
        baseline=record.baseline,
        speed=_speed(base, winner),
        accuracy=_accuracy(winner, record.workload),
        stability=stability(shown.trials if shown is not None else ()),
        memory=MemoryEvidence(
            baseline_peak_bytes=None if base is None else base.peak_memory_bytes,
            peak_bytes=None if shown is None else shown.peak_memory_bytes,
            limit_bytes=record.options.memory_limit_bytes,
        ),
        cost=_cost(record, base, winner),
        hardware=record.hardware,
        software=record.hardware.software,
        workload=record.workload,
        hardware_fingerprint=_fingerprint(
            record.hardware.device, record.hardware.cpu.name, record.hardware.cpu.logical_cores, record.hardware.gpus
        ),
        software_fingerprint=_fingerprint(record.hardware.software),
        workload_fingerprint=_fingerprint(
            record.workload.digest, record.workload.layers, record.workload.batch_size, record.workload.arguments
        ),
        policy_table=policy_rows(judged, record),
        candidates=candidate_rows(judged, record),
        curves=curves(base, leader),
        trials=trial_rows(judged, record),
        excluded=excluded_rows(judged, record, winner),
        findings=all_findings,
        open_questions=record.open_questions,
        interrupted=record.interrupted,
        started_at=record.started_at,
        command=record.command,
    )


def choose(judged: Sequence[Case], record: RunRecord) -> Case | None:
    """The admissible configuration with the highest lower bound of its gain; None to keep the baseline."""
    best: tuple[float, Case] | None = None
    for case in judged:
        if not admissible(case, record) or case.gain is None or case.gain.low is None:
            continue
        if case.gain.low >= record.options.minimum_gain and (best is None or case.gain.low > best[0]):
            best = (case.gain.low, case)
    return None if best is None else best[1]


def admissible(case: Case, record: RunRecord) -> bool:
    """Whether a configuration may be recommended, its speed aside."""
    if case.configuration == record.baseline or case.configuration.policy in REFERENCE_POLICIES:
        return False
    measured = case.speed is not None and bool(case.quality)
    return measured and case.fault is None and case.accuracy is not None and case.accuracy.verdict == "matches"


def _leader(judged: Sequence[Case], record: RunRecord) -> Case | None:
    """The best of those with quality runs, for the explanation of why nothing changes."""
    known = [c for c in judged if c.configuration != record.baseline and c.accuracy is not None and c.speed is not None]
    hopeful = [c for c in known if c.proof in ("open", "matches", "inconclusive")]
    return max(hopeful or known, key=_promise, default=None)


def _promise(case: Case) -> float:
    found = case.gain or case.speed
    return 0.0 if found is None else found.value


def _headline(record: RunRecord, winner: Case | None) -> str:
    baseline = record.baseline
    if winner is None:
        batch = f" at batch {baseline.batch_size}" if baseline.batch_size is not None else ""
        if record.interrupted:
            return f"Keep {baseline.policy}{batch} for now: the run was interrupted before anything better was proven."
        if record.open_questions:
            return f"Keep {baseline.policy}{batch} for now: nothing better was proven within the budget."
        least = f"{record.options.minimum_gain:g}x"
        return f"Keep {baseline.policy}{batch}: nothing was found that is at least {least} faster and learns as well."
    configuration = winner.configuration
    what = (
        configuration.describe(baseline)
        if configuration.policy != baseline.policy
        else f"{configuration.policy}, {configuration.describe(baseline)}"
    )
    if configuration.batch_size == baseline.batch_size and configuration.batch_size is not None:
        what += f", at batch {configuration.batch_size}"
    gain = winner.gain if winner.gain is not None else winner.speed
    ending = "same accuracy"
    if configuration.batch_size != baseline.batch_size:
        return f"Use {what}: {_interval(gain)} sooner to the same quality."
    return f"Use {what}: {_interval(gain)} faster, {ending}."


def _interval(interval: Interval | None) -> str:
    if interval is None:
        return "an unknown factor"
    if interval.low is None or interval.high is None:
        return f"{interval.value:.2f}x"
    return f"{interval.value:.2f}x ({interval.low:.2f} to {interval.high:.2f})"


def _why(record: RunRecord, winner: Case | None, leader: Case | None) -> tuple[str, ...]:
    if winner is not None:
        return ()
    if leader is None:
        return ("no configuration was clearly faster than the baseline",)
    name = leader.configuration.describe(record.baseline)
    reasons = []
    if leader.fault is not None:
        reasons.append(f"{name}: {leader.fault}")
    elif leader.accuracy is not None and leader.accuracy.verdict != "matches":
        reasons.append(
            f"{name}, the fastest that was trained: accuracy {leader.accuracy.verdict}"
            + (f" ({leader.accuracy.reason})" if leader.accuracy.reason else "")
        )
    elif leader.gain is None:
        reasons.append(f"{name}: {leader.gain_reason}")
    else:
        reasons.append(
            f"{name} brings {_interval(leader.gain)}; at least {record.options.minimum_gain:g}x must be certain"
        )
    return tuple(reasons)


def _speed(base: Case | None, winner: Case | None) -> SpeedEvidence:
    # In the duel both sides were timed in the same minutes: its step times belong to its ratio.
    sides = winner.duel_sides if winner is not None else None
    base_trial = sides[0] if sides is not None else None if base is None else base.speed_trial
    own_trial = sides[1] if sides is not None else None if winner is None else winner.speed_trial
    ours = None if base_trial is None else speed(base_trial.chunks)
    theirs = None if own_trial is None else speed(own_trial.chunks)
    baseline_samples_per_s = None if ours is None else ours.samples_per_s.value
    baseline_step_time_s = None if ours is None else ours.step_time_s.value
    if winner is None:
        return SpeedEvidence(baseline_samples_per_s=baseline_samples_per_s, baseline_step_time_s=baseline_step_time_s)
    ratio, gain = winner.speed, winner.gain
    return SpeedEvidence(
        baseline_samples_per_s=baseline_samples_per_s,
        baseline_step_time_s=baseline_step_time_s,
        samples_per_s=None if theirs is None else theirs.samples_per_s.value,
        step_time_s=None if theirs is None else theirs.step_time_s.value,
        speedup=None if ratio is None else ratio.value,
        speedup_low=None if ratio is None else ratio.low,
        speedup_high=None if ratio is None else ratio.high,
        time_to_quality_speedup=None if gain is None else gain.value,
        time_to_quality_speedup_low=None if gain is None else gain.low,
        time_to_quality_speedup_high=None if gain is None else gain.high,
        pairs=0 if winner.duel is None else winner.duel.count,
        source="duel" if winner.duel is not None else "trials",
    )


def _accuracy(winner: Case | None, workload: WorkloadInfo) -> AccuracyEvidence:
    if winner is not None and winner.accuracy is not None:
        return winner.accuracy
    return AccuracyEvidence(
        metric=workload.metric,
        direction=workload.metric_direction,
        source=workload.metric_source,
        verdict="inconclusive",
        reason="the baseline is kept: there is nothing to compare",
    )


def _cost(record: RunRecord, base: Case | None, winner: Case | None) -> CostEvidence:
    workload = record.workload
    ours = speed(base.speed_trial.chunks) if base is not None and base.speed_trial is not None else None
    planned = workload.planned_samples
    if ours is None or planned is None:
        return CostEvidence(tuning_s=record.tuning_s, planned_epochs=workload.epochs)
    baseline_run_s = planned / ours.samples_per_s.value
    if winner is None or winner.speed is None:
        return CostEvidence(
            tuning_s=record.tuning_s,
            planned_epochs=workload.epochs,
            baseline_run_s=baseline_run_s,
            run_s=baseline_run_s,
        )
    # The planned epochs at the new speed: both sides train on the same samples.
    run_s = baseline_run_s / winner.speed.value
    saved_an_epoch = (baseline_run_s - run_s) / workload.epochs
    return CostEvidence(
        tuning_s=record.tuning_s,
        planned_epochs=workload.epochs,
        baseline_run_s=baseline_run_s,
        run_s=run_s,
        break_even_epochs=record.tuning_s / saved_an_epoch if saved_an_epoch > 0 else None,
    )


def _fingerprint(*parts: Any) -> str:
    return hashlib.sha256(dumps(parts, indent=None).encode()).hexdigest()[:16]

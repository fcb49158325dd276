"""The decision rule: a pure function of the run's record."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from autotune.judge.accuracy import quality
from autotune.judge.board import Case, cases
from autotune.judge.choice import admissible, choose
from autotune.judge.findings import findings
from autotune.judge.gradients import computing_in
from autotune.judge.roofline import roofline
from autotune.judge.speed import speed
from autotune.judge.stability import stability
from autotune.recommend_tables import candidate_rows, curves, excluded_rows, policy_rows, trial_rows
from autotune.recommend_words import headline, noise_of, why
from autotune.records import (
    SIXTEEN_BIT_POLICIES,
    AccuracyEvidence,
    CostEvidence,
    HardwareProfile,
    MemoryEvidence,
    Numerics,
    Recommendation,
    RunRecord,
    SoftwareInfo,
    SpeedEvidence,
    WorkloadInfo,
)
from autotune.records.codec import dumps


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
    winner = choose(judged, record.baseline, record.options)
    leader = winner or _leader(judged, record)
    kept = winner is None
    speeds = _speed(base, winner)
    shown = base if kept else winner
    all_findings = findings(
        judged, record.workload, record.hardware, record.options, (*record.hardware.findings, *record.findings)
    )
    return Recommendation(
        verdict="keep_baseline" if kept else "recommended",
        headline=headline(record, winner),
        why=why(record, judged, winner, [case for case in judged if admissible(case, record.baseline)]),
        configuration=record.baseline if winner is None else winner.configuration,
        baseline=record.baseline,
        speed=speeds,
        accuracy=_accuracy(base, winner, record.workload),
        stability=stability(shown.trials if shown is not None else ()),
        memory=MemoryEvidence(
            baseline_peak_bytes=None if base is None else base.peak_memory_bytes,
            peak_bytes=None if shown is None else shown.peak_memory_bytes,
            limit_bytes=record.options.memory_limit_bytes,
        ),
        cost=_cost(record, speeds),
        hardware=record.hardware,
        software=record.hardware.software,
        workload=record.workload,
        hardware_fingerprint=hardware_fingerprint(record.hardware),
        software_fingerprint=software_fingerprint(record.hardware.software),
        workload_fingerprint=workload_fingerprint(record.workload),
        policy_table=policy_rows(judged, record),
        candidates=candidate_rows(judged, record),
        curves=curves(base, leader),
        trials=trial_rows(judged, record),
        excluded=excluded_rows(judged, record, winner),
        findings=all_findings,
        noise_scale=noise_of(record),
        roofline=roofline(record.costs, record.hardware, judged),
        numerics=_numerics(record, judged, winner),
        open_questions=record.open_questions,
        interrupted=record.interrupted,
        started_at=record.started_at,
        command=record.command,
    )


def _leader(judged: Sequence[Case], record: RunRecord) -> Case | None:
    """The one whose curves are shown beside the baseline's where nothing changes: the best that was trained."""
    known = [case for case in judged if case.configuration != record.baseline and case.accuracy is not None]
    return max(known, key=lambda case: (case.gain.value if case.gain else 0.0, len(case.quality)), default=None)


def _numerics(record: RunRecord, judged: Sequence[Case], winner: Case | None) -> Numerics | None:
    if record.numerics is None:
        return None
    tried = [winner] if winner is not None else []
    tried += [case for case in judged if case.configuration.policy in SIXTEEN_BIT_POLICIES]
    sixteen = (case for case in tried if case.configuration.policy in SIXTEEN_BIT_POLICIES)
    layers = next((trial.layers for case in sixteen for trial in case.trials if trial.layers), ())
    return computing_in(record.numerics, layers)


def _speed(base: Case | None, winner: Case | None) -> SpeedEvidence:
    # In the duel both sides were timed in the same minutes: its step times belong to its ratio.
    sides = winner.duel_sides if winner is not None else None
    base_trial = sides[0] if sides is not None else None if base is None else base.speed_trial
    own_trial = sides[1] if sides is not None else None if winner is None else winner.speed_trial
    beside = own_trial.reference_chunks if own_trial is not None else ()
    ours = speed(beside) if beside else None if base_trial is None else speed(base_trial.chunks)
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


def _accuracy(base: Case | None, winner: Case | None, workload: WorkloadInfo) -> AccuracyEvidence:
    if winner is not None and winner.accuracy is not None:
        return winner.accuracy
    metric = workload.metric or "loss"
    finals = [q for m in (base.quality.values() if base is not None else ()) if (q := quality(m, metric)) is not None]
    return AccuracyEvidence(
        metric=workload.metric,
        direction=workload.metric_direction,
        source=workload.metric_source,
        baseline=float(np.mean(finals)) if finals else None,
        baseline_spread=float(np.std(finals, ddof=1)) if len(finals) > 1 else None,
        verdict="inconclusive",
        reason="the baseline is kept" if finals else "the baseline is kept, and nothing asked for a training of it",
    )


def _cost(record: RunRecord, speeds: SpeedEvidence) -> CostEvidence:
    """What the tuning cost and what it saves: the planned epochs at both speeds, on the same samples."""
    planned, epochs, rate = record.workload.planned_samples, record.workload.epochs, speeds.baseline_samples_per_s
    if rate is None or planned is None:
        return CostEvidence(tuning_s=record.tuning_s, planned_epochs=epochs)
    baseline_run_s = planned / rate
    run_s = baseline_run_s if speeds.speedup is None else baseline_run_s / speeds.speedup
    saved_an_epoch_s = (baseline_run_s - run_s) / epochs
    return CostEvidence(
        tuning_s=record.tuning_s,
        planned_epochs=epochs,
        baseline_run_s=baseline_run_s,
        run_s=run_s,
        break_even_epochs=record.tuning_s / saved_an_epoch_s if saved_an_epoch_s > 0 else None,
    )


def hardware_fingerprint(hardware: HardwareProfile) -> str:
    """Names what the machine is, not how busy it is."""
    cpu = hardware.cpu
    gpus = [(gpu.name, gpu.compute_capability, gpu.memory_total_bytes, gpu.visible) for gpu in hardware.gpus]
    tpu = None if hardware.tpu is None else (hardware.tpu.kind, hardware.tpu.chips)
    return _fingerprint(hardware.device, cpu.name, cpu.architecture, cpu.logical_cores, sorted(cpu.flags), gpus, tpu)


def software_fingerprint(software: SoftwareInfo) -> str:
    """Names the versions that training depends on."""
    return _fingerprint(
        software.python,
        software.tensorflow,
        software.tensorflow_distribution,
        software.keras,
        software.numpy,
        software.nvidia_driver,
        software.cuda,
    )


def workload_fingerprint(workload: WorkloadInfo) -> str:
    """Names script, arguments, model and size of the data, wherever the script lies."""
    return _fingerprint(
        workload.digest,
        workload.arguments,
        workload.layers,
        workload.samples_per_epoch,
        workload.steps_per_epoch,
        workload.batch_size,
        workload.epochs,
    )


def model_fingerprint(workload: WorkloadInfo) -> str:
    """Names the model alone: its layers with their shapes and dtypes, and the written batch size."""
    return _fingerprint(workload.layers, workload.batch_size)


def _fingerprint(*parts: Any) -> str:
    return hashlib.sha256(dumps(parts, indent=None).encode()).hexdigest()[:16]

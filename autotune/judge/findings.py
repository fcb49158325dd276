"""Findings that follow from measurements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from autotune.judge.board import Case
from autotune.judge.speed import speed
from autotune.judge.stability import skipped
from autotune.records import BASELINE_POLICY, Finding, HardwareProfile, JudgeOptions, Outcome, Severity, WorkloadInfo

# Share of the step that waits for data above which the input pipeline is the limit (design: 30%).
INPUT_BOUND = 0.30
_NEAR_LIMIT = 0.90
_SLOW = 0.67


def findings(
    cases: Sequence[Case],
    workload: WorkloadInfo,
    hardware: HardwareProfile,
    options: JudgeOptions,
    static: Iterable[Finding],
) -> tuple[Finding, ...]:
    """All findings of a run: those of probe, capture and plan, and those that measurements show.

    Args:
        cases: Every configuration with its measurements, the baseline first.
        workload: What was trained.
        hardware: What it was measured on.
        options: The decision rule's settings.
        static: Findings made without a measurement; each is marked as confirmed where its policy failed.
    """
    found: list[Finding] = []
    for case in cases:
        found += _of_outcome(case)
    failed = {case.configuration.policy for case in cases if case.fault is not None or case.proof == "worse"}
    tried = {case.configuration.policy for case in cases if case.quality or case.fault is not None}
    for finding in static:
        about = finding.policy
        confirmed = None if about is None or about not in tried else about in failed
        found.append(
            replace(finding, confirmed=confirmed) if confirmed is not None and finding.confirmed is None else finding
        )
    found += _slow_policies(cases, hardware)
    found += _of_baseline(cases, workload)
    found += _of_memory(cases, options)
    found += _of_accuracy(cases, workload)
    return tuple(dict.fromkeys(found))


def input_wait(case: Case) -> float | None:
    """Share of the step that waits for data; None when not measured."""
    trial = case.speed_trial
    measured = None if trial is None else speed(trial.chunks)
    if trial is None or measured is None or trial.input_free_step_time_s is None:
        return None
    return max(0.0, 1.0 - trial.input_free_step_time_s / measured.step_time_s.value)


def _of_outcome(case: Case) -> list[Finding]:
    policy = case.configuration.policy
    found: list[Finding] = []
    bad = next((m for m in case.trials if m.outcome is not Outcome.OK), None)
    for trial in case.trials:
        found += trial.findings
    if policy == BASELINE_POLICY:
        if bad is not None and bad.outcome is not Outcome.NON_FINITE:
            found.append(
                _about(case, f"trial_{bad.outcome}", Severity.INFO, f"{case.configuration.describe()}: {bad.reason}")
            )
        return found
    if bad is None:
        lost = [s for m in case.trials if (s := skipped(m)) is not None and s[0] > 0]
        if case.fault is not None and lost:
            found.append(
                _about(case, "updates_skipped", Severity.ERROR, f"updates skipped under {policy}: {case.fault}")
            )
        return found
    if bad.outcome is Outcome.NON_FINITE:
        losses = [name for name in bad.nonfinite_logs if name.removeprefix("val_") == "loss" or name.endswith("_loss")]
        if bad.nonfinite_logs and not losses:
            names = ", ".join(bad.nonfinite_logs)
            found.append(
                _about(
                    case,
                    "metric_not_finite",
                    Severity.ERROR,
                    f"metric {names} is not finite under {policy} while the loss is: it gets {policy[6:]} predictions",
                    advice='give the output layer dtype="float32", or cast the predictions in the metric',
                )
            )
        else:
            found.append(_about(case, "non_finite", Severity.ERROR, f"{policy}: {bad.reason}"))
    elif bad.outcome is Outcome.NO_UPDATES:
        found.append(
            _about(
                case, "no_updates", Severity.ERROR, f"{policy}: {bad.reason}; updates are skipped, nothing is learned"
            )
        )
    elif bad.outcome is Outcome.NOT_APPLIED:
        found.append(
            _about(
                case,
                "policy_not_applied",
                Severity.WARNING,
                f"{policy} was not applied: {bad.reason}",
                advice="remove the script's own dtype settings to let it be tried",
            )
        )
    elif bad.outcome is Outcome.UNSUPPORTED:
        found.append(
            _about(case, "unsupported", Severity.ERROR, f"{case.configuration.describe()} does not run: {bad.reason}")
        )
    else:
        found.append(
            _about(case, f"trial_{bad.outcome}", Severity.WARNING, f"{case.configuration.describe()}: {bad.reason}")
        )
    return found


def _slow_policies(cases: Sequence[Case], hardware: HardwareProfile) -> list[Finding]:
    found = []
    units = {
        "mixed_float16": ("float16", hardware.cpu.float16_units),
        "mixed_bfloat16": ("bfloat16", hardware.cpu.bfloat16_units),
    }
    for case in cases:
        policy = case.configuration.policy
        if policy not in units or case.relative is None or case.relative.value >= _SLOW:
            continue
        if case.configuration.but(policy=BASELINE_POLICY) != cases[0].configuration:
            continue  # slow for another reason than its policy
        name, has = units[policy]
        why = f": this processor has no {name} units" if hardware.device == "cpu" and has is False else ""
        found.append(
            _about(case, "slow_policy", Severity.INFO, f"{policy} is {1 / case.relative.value:.1f}x slower here{why}")
        )
    return found


def _of_baseline(cases: Sequence[Case], workload: WorkloadInfo) -> list[Finding]:
    found = []
    if workload.metric_source == "training":
        found.append(
            Finding(
                code="no_validation_data",
                severity=Severity.INFO,
                message=f"no validation data: accuracy was judged by {workload.metric} on training data, at equal samples",
                advice="give fit validation_data or validation_split for evidence on data that was not trained on",
            )
        )
    wait = input_wait(cases[0]) if cases else None
    if wait is not None and wait >= INPUT_BOUND:
        found.append(
            Finding(
                code="input_bound",
                severity=Severity.WARNING if wait >= 0.5 else Severity.INFO,
                message=(
                    f"input-bound: {wait:.0%} of each step waits for data; the input pipeline is the limit, not the arithmetic. "
                    f"A pipeline that costs nothing would make training {1 / max(1e-9, 1 - wait):.1f}x faster"
                ),
                advice=_input_advice(workload),
            )
        )
    return found


def _input_advice(workload: WorkloadInfo) -> str:
    if workload.data == "PyDataset":
        return "give the PyDataset workers=N and max_queue_size, or load the data once and keep them in memory"
    if workload.data == "generator":
        return (
            "replace the generator by a tf.data pipeline with map(num_parallel_calls=AUTOTUNE) and prefetch(AUTOTUNE)"
        )
    return "use cache(), map(num_parallel_calls=AUTOTUNE) and prefetch(AUTOTUNE) in the tf.data pipeline"


def _of_memory(cases: Sequence[Case], options: JudgeOptions) -> list[Finding]:
    limit = options.memory_limit_bytes
    if limit is None:
        return []
    return [
        _about(
            case,
            "memory_near_limit",
            Severity.WARNING,
            f"{case.configuration.describe()} comes within 10% of the memory limit",
        )
        for case in cases
        if case.peak_memory_bytes is not None and _NEAR_LIMIT * limit <= case.peak_memory_bytes <= limit
    ]


def _of_accuracy(cases: Sequence[Case], workload: WorkloadInfo) -> list[Finding]:
    found = []
    for case in cases:
        evidence = case.accuracy
        if evidence is None:
            continue
        policy = case.configuration.policy
        if case.proof == "worse" and policy != BASELINE_POLICY and evidence.difference is not None:
            found.append(
                _about(
                    case,
                    "accuracy_worse",
                    Severity.ERROR,
                    f"{case.configuration.describe()} learns worse: "
                    f"{workload.metric} {evidence.candidate:.4g} against {evidence.baseline:.4g}",
                )
            )
        if evidence.seeds > evidence.independent_seeds:
            found.append(
                Finding(
                    code="equal_runs",
                    severity=Severity.WARNING,
                    message=f"{evidence.seeds} seeds gave {evidence.independent_seeds} different runs; equal ones count once",
                    advice="does the script fix its weights and its order in a way that seeds cannot reach?",
                )
            )
    return found


def _about(case: Case, code: str, severity: Severity, message: str, *, advice: str | None = None) -> Finding:
    return Finding(code=code, severity=severity, message=message, policy=case.configuration.policy, advice=advice)

"""Findings that follow from measurements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from autotune.judge.board import Case
from autotune.judge.failures import about, of_outcome, precision_alone
from autotune.judge.headroom import headroom
from autotune.judge.noninferiority import metric_step
from autotune.judge.speed import speed
from autotune.records import (
    BASELINE_POLICY,
    SIXTEEN_BIT_POLICIES,
    Finding,
    HardwareProfile,
    JudgeOptions,
    Severity,
    WorkloadInfo,
)

# Share of the step that waits for data above which the input pipeline is the limit (design: 30%).
INPUT_BOUND = 0.30
_NEAR_LIMIT = 0.90
_SLOW = 0.67
# Points of the baseline's curves before a metric that never moved is told.
_POINTS_TO_LEARN = 6
# Factor to float16's end below which a longer run may well get there.
_LITTLE_HEADROOM = 4.0
_KEEP = 'keep this layer in float32 (dtype="float32"), or scale what it puts out'


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
    baseline = cases[0].configuration if cases else None
    found: list[Finding] = []
    for case in cases:
        found += of_outcome(case, precision_alone(case.configuration, baseline), baseline)
    precision = [case for case in cases if precision_alone(case.configuration, baseline)]
    failed = {case.configuration.policy for case in precision if case.fault is not None or case.proof == "worse"}
    tried = {case.configuration.policy for case in precision if case.quality or case.fault is not None}
    for finding in static:
        policy = finding.policy
        confirmed = None if policy is None or policy not in tried else policy in failed
        found.append(
            replace(finding, confirmed=confirmed) if confirmed is not None and finding.confirmed is None else finding
        )
    found += _slow_policies(cases, hardware)
    found += _of_tf32(cases)
    found += _of_baseline(cases, workload)
    found += _of_memory(cases, options)
    found += _of_accuracy(cases, precision, workload)
    found += [finding for case in precision for finding in _of_headroom(case)]
    return tuple(dict.fromkeys(found))


def input_wait(case: Case) -> float | None:
    """Share of the step that waits for data; None when not measured."""
    trial = case.speed_trial
    measured = None if trial is None else speed(trial.chunks)
    if trial is None or measured is None or trial.input_free_step_time_s is None:
        return None
    return max(0.0, 1.0 - trial.input_free_step_time_s / measured.step_time_s.value)


def _slow_policies(cases: Sequence[Case], hardware: HardwareProfile) -> list[Finding]:
    found = []
    for case in cases:
        policy = case.configuration.policy
        if policy not in SIXTEEN_BIT_POLICIES or case.relative is None or case.relative.value >= _SLOW:
            continue
        if case.configuration.but(policy=BASELINE_POLICY) != cases[0].configuration:
            continue  # slow for another reason than its policy
        message = f"{policy} is {1 / case.relative.value:.1f}x slower here{_missing_units(policy, hardware)}"
        found.append(about(case, "slow_policy", Severity.INFO, message))
    return found


def _of_tf32(cases: Sequence[Case]) -> list[Finding]:
    """The other kind of float32, where there are two and both were timed."""
    found = []
    for case in cases:
        if not case.configuration.other_float32(cases[0].configuration) or case.relative is None:
            continue
        if case.configuration.tf32:
            continue  # a candidate like any other
        ratio = case.relative.value
        pace = f"{1 / ratio:.2f}x slower" if ratio < 1.0 else f"{ratio:.2f}x as fast"
        seen = case.accuracy
        accuracy = (
            ""
            if seen is None or seen.baseline is None or seen.candidate is None
            else f"; {seen.metric} {seen.candidate:.4g} with it, {seen.baseline:.4g} with TensorFloat-32,"
            f" over {seen.seeds} seeds"
        )
        found.append(
            about(
                case,
                "tf32",
                Severity.INFO,
                "float32 products run in TensorFloat-32 here, as TensorFlow does unless told otherwise, and all is compared"
                f" with that: strict float32 is {pace}{accuracy}",
            )
        )
    return found


def _missing_units(policy: str, hardware: HardwareProfile) -> str:
    """Why a policy is slow, where the hardware tells; empty where it does not."""
    half = policy == "mixed_float16"
    name = "float16" if half else "bfloat16"
    if hardware.device == "cpu":
        units = hardware.cpu.float16_units if half else hardware.cpu.bfloat16_units
        return f": this processor has no {name} units" if units is False else ""
    visible = [gpu for gpu in hardware.gpus if gpu.visible is not False]
    lacking = [gpu.float16_units is False if half else gpu.bfloat16_units is False for gpu in visible]
    return f": this GPU has no fast {name} units" if hardware.device == "gpu" and lacking and all(lacking) else ""


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
    found += _of_learning(cases[0], workload) if cases else []
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


def _of_learning(baseline: Case, workload: WorkloadInfo) -> list[Finding]:
    """A metric that never moves tells nothing about any policy."""
    name = workload.metric or "loss"
    values = [
        value for run in baseline.quality.values() for p in run.curve if (value := p.values.get(name)) is not None
    ]
    if len(baseline.quality) < 2 or len(values) < _POINTS_TO_LEARN or max(values) > min(values):
        return []
    return [
        Finding(
            code="learns_nothing",
            severity=Severity.INFO,
            message=f"{name} is {values[0]:.4g} at every point of every run as written: the script learned nothing in them, "
            "and any setting matches that",
            advice="look at the data and the learning rate, or see more of the training: a larger --budget",
        )
    ]


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
        about(
            case,
            "memory_near_limit",
            Severity.WARNING,
            f"{case.configuration.describe()} comes within 10% of the memory limit",
        )
        for case in cases
        if case.peak_memory_bytes is not None and _NEAR_LIMIT * limit <= case.peak_memory_bytes <= limit
    ]


def _of_headroom(case: Case) -> list[Finding]:
    found = headroom(case.trials)
    if found is None or case.fault is not None or found.largest_activation is None:
        return []
    where = found.layer or "a layer"
    size = f"{found.largest_activation:.3g}"
    if found.reaches_limit_at_step is not None and found.planned_steps is not None:
        message = (
            f"the largest activation ({where}) grows: {size} so far, and past float16's end, 65504, at about step "
            f"{found.reaches_limit_at_step:,} of {found.planned_steps:,} if it goes on"
        )
        return [replace(about(case, "activations_grow", Severity.WARNING, message, advice=_KEEP), layer=found.layer)]
    if found.activation_headroom is not None and found.activation_headroom < _LITTLE_HEADROOM:
        message = f"the largest activation, {size} ({where}), is near float16's end, 65504"
        return [replace(about(case, "little_headroom", Severity.INFO, message, advice=_KEEP), layer=found.layer)]
    return []


def _of_accuracy(cases: Sequence[Case], precision: Sequence[Case], workload: WorkloadInfo) -> list[Finding]:
    found = []
    for case in precision:
        evidence = case.accuracy
        if case.proof != "worse" or evidence is None or evidence.candidate is None or evidence.baseline is None:
            continue
        figures = f"{workload.metric} {evidence.candidate:.4g} against {evidence.baseline:.4g}"
        name = case.configuration.describe()
        found.append(about(case, "accuracy_worse", Severity.ERROR, f"{name} learns worse: {figures}"))
    judged = [case.accuracy for case in cases if case.accuracy is not None]
    repeated = max((e for e in judged if e.seeds > e.independent_seeds), key=lambda e: e.seeds, default=None)
    if repeated is not None:
        found.append(
            Finding(
                code="equal_runs",
                severity=Severity.WARNING,
                message=f"{repeated.seeds} seeds gave {repeated.independent_seeds} different runs; equal ones count once",
                advice="does the script fix its weights and its order in a way that seeds cannot reach?",
            )
        )
    margin = next((e.margin for e in judged if e.margin), None)
    return [*found, *_of_yardstick(cases[0], judged[-1].baseline_spread, margin, workload.metric)] if margin else found


def _of_yardstick(base: Case, spread: float | None, margin: float, metric: str | None) -> list[Finding]:
    """What limits the evidence on the baseline's side, whatever is compared with it."""
    found = []
    if spread is not None and spread > margin:
        found.append(
            Finding(
                code="baseline_spread",
                severity=Severity.INFO,
                message=f"{metric} as written scatters by {spread:.2g} over seeds, more than the margin, {margin:.2g}",
                advice="more --seeds, a larger --tolerance or longer runs (--epochs) settle more",
            )
        )
    values = [v for m in base.quality.values() for p in m.curve if (v := p.values.get(metric or "loss")) is not None]
    step = metric_step(values)
    if step > margin:
        found.append(
            Finding(
                code="few_validation_examples",
                severity=Severity.INFO,
                message=f"{metric} moves in steps of {step:.2g}, coarser than the margin, {margin:.2g}",
                advice="more validation examples, or a larger --tolerance",
            )
        )
    return found

"""Raw results of a trial, before anyone judges them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from autotune.records.configuration import Configuration
from autotune.records.finding import Finding
from autotune.records.noise import GradientNoise
from autotune.records.watched import ExampleScores, ScaleLimit, StepTrace
from autotune.records.workload import LayerInfo

Purpose = Literal["speed", "quality", "duel", "soak"]


class Outcome(StrEnum):
    """How a trial ended; closed."""

    OK = "ok"
    NON_FINITE = "non_finite"
    NO_UPDATES = "no_updates"
    DIVERGED = "diverged"
    UNSUPPORTED = "unsupported"
    NOT_APPLIED = "not_applied"
    OUT_OF_MEMORY = "out_of_memory"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    SCRIPT_ERROR = "script_error"


@dataclass(frozen=True, kw_only=True, slots=True)
class Chunk:
    """Consecutive synchronised steps, timed together by a monotonic clock.

    Attributes:
        steps: Optimizer steps (batches) in the chunk.
        duration_s: Wall time of all of them.
        samples: Samples that the steps trained on.
        warmup: Whether the chunk holds tracing or first steps.
    """

    steps: int
    duration_s: float
    samples: float
    warmup: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class CurvePoint:
    """Quality after some training.

    Attributes:
        step: Steps done.
        samples: Samples seen.
        values: Log names to values; None where not finite.
    """

    step: int
    samples: float
    values: Mapping[str, float | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Measurement:
    """Raw results of one trial.

    Attributes:
        number: Running number in the run; the baseline is 0.
        purpose: ``speed`` (chunks are timed), ``quality`` (a short training with validation), ``duel`` (chunks in
            alternation with the other side; ``duel_id`` names the pair) or ``soak`` (more steps, to see that it stays stable).
        configuration: What was measured.
        seed: Index of the seed; 0 is the script as written.
        outcome: How it ended.
        reason: One sentence on the outcome, for people; None when ok.
        traceback: The user's own traceback, shortened; None without.
        batch_size_seen: Batch that arrived in the step.
        chunks: Timed chunks in order, warm-up included.
        reference_chunks: Chunks of the baseline, each timed beside the timed chunk of the same place: machines change their
            pace from second to second, and two trials apart in time then differ by that. Empty where they were timed apart.
        trace_s: Time until the first step was done (tracing, compiling).
        input_free_step_time_s: Step time when one batch in memory is used again and again; None when not measured.
        peak_memory_bytes: Peak of the worker (CPU) or of the device (GPU).
        steps: Steps run in all.
        updates: Updates that the optimizer applied; None when unknown.
        nonfinite_steps: Steps whose loss was not finite; None when not watched.
        first_nonfinite_step: First of those, from 1.
        nonfinite_logs: Names of logged values that were not finite.
        weights_moved: Whether any trainable weight changed.
        loss_scale_initial: Scale before the first step; None without scaling.
        loss_scale_final: Scale at the end.
        curve: Quality along the run.
        trace: Values by step of an instrumented run.
        planned_steps: Steps that the planned full run would have at this batch.
        share_of_plan: Part of the planned samples that this run saw, 0 to 1; None when unknown.
        sixteen_bit_layers: Layers with arithmetic that compute in 16 bits.
        arithmetic_layers: Layers with arithmetic.
        layers: Layers as this trial had them; may be empty.
        weights_hash: Hash of the weights before the first step.
        data_hash: Hash of the first batches.
        duel_id: Joins the two sides of a duel; empty otherwise.
        wall_s: Time that the trial took in all.
        started_s: Seconds since the run began.
        findings: What the worker noticed.
        noise: Gradients of several batches before and after the run; empty where that was not asked for.
        largest_activations: Path of a float16 layer to the largest magnitude that it put out; empty without any.
        scale_limit: What happened when the loss scale met its limit; None where that was not tried.
        examples: The metric on single validation examples at the end; None where it is no mean over examples.
    """

    number: int
    purpose: Purpose
    configuration: Configuration
    seed: int = 0
    outcome: Outcome
    reason: str | None = None
    traceback: str | None = None
    batch_size_seen: int | None = None
    chunks: tuple[Chunk, ...] = ()
    reference_chunks: tuple[Chunk, ...] = ()
    trace_s: float | None = None
    input_free_step_time_s: float | None = None
    peak_memory_bytes: int | None = None
    steps: int = 0
    updates: int | None = None
    nonfinite_steps: int | None = None
    first_nonfinite_step: int | None = None
    nonfinite_logs: tuple[str, ...] = ()
    weights_moved: bool | None = None
    loss_scale_initial: float | None = None
    loss_scale_final: float | None = None
    curve: tuple[CurvePoint, ...] = ()
    trace: StepTrace = field(default_factory=StepTrace)
    planned_steps: int | None = None
    share_of_plan: float | None = None
    sixteen_bit_layers: int | None = None
    arithmetic_layers: int | None = None
    layers: tuple[LayerInfo, ...] = ()
    weights_hash: str | None = None
    data_hash: str | None = None
    duel_id: str = ""
    wall_s: float | None = None
    started_s: float | None = None
    findings: tuple[Finding, ...] = ()
    noise: tuple[GradientNoise, ...] = ()
    largest_activations: Mapping[str, float | None] = field(default_factory=dict)
    scale_limit: ScaleLimit | None = None
    examples: ExampleScores | None = None

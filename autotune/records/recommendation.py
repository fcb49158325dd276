"""The answer, in the layout of recommendation.json, schema 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from autotune.records.configuration import Configuration
from autotune.records.finding import Finding
from autotune.records.hardware import HardwareProfile, SoftwareInfo
from autotune.records.measurement import CurvePoint, Outcome, Purpose
from autotune.records.noise import NoiseScale
from autotune.records.numerics import Numerics
from autotune.records.roofline import Roofline
from autotune.records.run import Excluded
from autotune.records.workload import WorkloadInfo

AccuracyVerdictName = Literal["matches", "worse", "inconclusive"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SpeedEvidence:
    """How fast, against the baseline; every ratio above 1 means faster.

    Attributes:
        speedup: Ratio of samples a second, from the duel where ``source`` says so.
        speedup_low: Lower end of its 95% interval.
        speedup_high: Upper end.
        time_to_quality_speedup: Ratio of times to the baseline's final quality.
        pairs: Pairs of chunks in the duel; 0 without.
        source: ``duel`` (alternating chunks), ``trials`` (separate trials) or None (baseline only).
    """

    baseline_samples_per_s: float | None = None
    samples_per_s: float | None = None
    speedup: float | None = None
    speedup_low: float | None = None
    speedup_high: float | None = None
    time_to_quality_speedup: float | None = None
    time_to_quality_speedup_low: float | None = None
    time_to_quality_speedup_high: float | None = None
    baseline_step_time_s: float | None = None
    step_time_s: float | None = None
    pairs: int = 0
    source: Literal["duel", "trials"] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class AccuracyEvidence:
    """Whether it learns as well as the baseline.

    ``difference`` is candidate minus baseline, turned so that negative is worse.

    Attributes:
        detectable: Smallest drop that this evidence would have seen (95% one-sided), in the metric's units.
        share_of_plan: Part of the planned run that the evidence saw, 0 to 1.
        independent_seeds: Seeds whose runs really differed.
        paired: Whether data order was the same on both sides in every pair; None when not known.
        same_updates: Whether both sides compute the same and differ in how steps are dispatched alone: nothing to compare.
        examples: Validation examples that both sides of the pairs were compared on one by one; 0 where that cannot be done.
        agreement: Share of these on which both scored the same.
        example_spread: What the difference of a pair scatters by because the validation set is finite: standard deviation of
            the differences of single examples over the square root of their number.
    """

    metric: str | None = None
    direction: Literal["max", "min"] | None = None
    baseline: float | None = None
    candidate: float | None = None
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    margin: float | None = None
    verdict: AccuracyVerdictName = "inconclusive"
    seeds: int = 0
    independent_seeds: int = 0
    baseline_spread: float | None = None
    samples_seen: int | None = None
    source: Literal["validation", "training"] = "training"
    detectable: float | None = None
    share_of_plan: float | None = None
    paired: bool | None = None
    same_updates: bool = False
    examples: int = 0
    agreement: float | None = None
    example_spread: float | None = None
    reason: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class HeadroomEvidence:
    """How near float16 came to its end, 65504, over all recorded runs.

    Attributes:
        largest_activation: Largest output of a layer that computes in float16; None where one was not finite.
        activation_headroom: Factor from that to float16's end.
        layer: The layer that put it out.
        largest_gradient: Largest gradient of a weight, the loss scale taken out.
        reaches_limit_at_step: Where the activations will be at the end if they go on growing as they did; None where they do
            not grow, or not so far within the planned run.
        planned_steps: Steps of the planned run.
    """

    largest_activation: float | None = None
    activation_headroom: float | None = None
    layer: str | None = None
    largest_gradient: float | None = None
    reaches_limit_at_step: int | None = None
    planned_steps: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class StabilityEvidence:
    """What happened to the updates, over all steps measured with this configuration.

    Attributes:
        steps: Steps of all its trials.
        nonfinite_steps: Steps with a loss that was not finite; None where not watched.
        skipped_updates: Updates skipped once the loss scale had settled.
        skipped_fraction: Share of the updates that this counts for.
        loss_scale_initial: First scale; None without scaling.
        loss_scale_final: Last scale.
        loss_scale_limit: Largest scale at which an update was applied while the scale was made to grow until it met its
            limit; None where that was not tried or the limit was not met.
        headroom: How near float16 came to its end; None without float16.
    """

    steps: int = 0
    nonfinite_steps: int | None = None
    skipped_updates: int | None = None
    skipped_fraction: float | None = None
    loss_scale_initial: float | None = None
    loss_scale_final: float | None = None
    loss_scale_limit: float | None = None
    headroom: HeadroomEvidence | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryEvidence:
    """Peak memory against the limit."""

    baseline_peak_bytes: int | None = None
    peak_bytes: int | None = None
    limit_bytes: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class CostEvidence:
    """What the tuning cost and what it saves on the planned run."""

    tuning_s: float
    planned_epochs: int | None = None
    baseline_run_s: float | None = None
    run_s: float | None = None
    break_even_epochs: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialRow:
    """One trial as tables show it."""

    number: int
    purpose: Purpose
    configuration: Configuration
    outcome: Outcome
    seed: int
    step_time_s: float | None = None
    step_time_low_s: float | None = None
    step_time_high_s: float | None = None
    samples_per_s: float | None = None
    relative_speed: float | None = None
    metric: float | None = None
    peak_memory_bytes: int | None = None
    steps: int = 0
    reason: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyRow:
    """One policy at the written batch: the measured policy table.

    Attributes:
        relative_speed: Samples a second against the baseline; above 1 is faster.
        run_s: Time of the planned epochs at this speed.
        accuracy: Mean of the metric over its quality runs; None when none was needed.
    """

    policy: str
    outcome: Outcome | None = None
    step_time_s: float | None = None
    relative_speed: float | None = None
    run_s: float | None = None
    accuracy: float | None = None
    accuracy_verdict: AccuracyVerdictName | None = None
    note: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class CandidateRow:
    """One configuration with all that is known of it: the batch table and the Pareto front.

    Attributes:
        time_to_quality_speedup: Measured gain in time to the baseline's quality.
        predicted_time_to_quality_speedup: What its measured speed and the gradient noise scale predict, where the batch
            differs.
    """

    configuration: Configuration
    samples_per_s: float | None = None
    relative_speed: float | None = None
    quality: float | None = None
    accuracy_verdict: AccuracyVerdictName | None = None
    time_to_quality_speedup: float | None = None
    predicted_time_to_quality_speedup: float | None = None
    peak_memory_bytes: int | None = None
    outcome: Outcome | None = None
    note: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Curve:
    """Quality along one quality run, for the figure."""

    side: Literal["baseline", "candidate"]
    seed: int
    points: tuple[CurvePoint, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Recommendation:
    """The answer with its evidence; the content of recommendation.json.

    Attributes:
        schema: 1.
        verdict: Whether to change anything.
        configuration: What to use; the baseline where it is kept.
        headline: The answer in one sentence.
        why: Reasons behind the verdict, one sentence each.
        noise_scale: The gradient noise scale; None where it was not measured.
        roofline: The baseline's step against the machine's ceilings; None where either is unknown.
        numerics: The model's numbers at float32, and what its layers compute in under the 16-bit policy of the answer, or the
            first one tried; None where unknown.
        run_folder: Folder of the run; empty where it is not stored.
    """

    schema: int = 1
    verdict: Literal["recommended", "keep_baseline"]
    headline: str
    why: tuple[str, ...] = ()
    configuration: Configuration
    baseline: Configuration
    speed: SpeedEvidence
    accuracy: AccuracyEvidence
    stability: StabilityEvidence
    memory: MemoryEvidence
    cost: CostEvidence
    hardware: HardwareProfile
    software: SoftwareInfo
    workload: WorkloadInfo
    hardware_fingerprint: str = ""
    software_fingerprint: str = ""
    workload_fingerprint: str = ""
    policy_table: tuple[PolicyRow, ...] = ()
    candidates: tuple[CandidateRow, ...] = ()
    curves: tuple[Curve, ...] = ()
    trials: tuple[TrialRow, ...] = ()
    excluded: tuple[Excluded, ...] = ()
    findings: tuple[Finding, ...] = ()
    noise_scale: NoiseScale | None = None
    roofline: Roofline | None = None
    numerics: Numerics | None = None
    open_questions: tuple[str, ...] = ()
    interrupted: bool = False
    started_at: str = ""
    command: str = ""
    run_folder: str = ""

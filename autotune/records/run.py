"""The whole record of a run: what `autotune report` needs to compute everything again."""

from __future__ import annotations

from dataclasses import dataclass

from autotune.records.configuration import Configuration
from autotune.records.finding import Finding
from autotune.records.hardware import HardwareProfile
from autotune.records.measurement import Measurement
from autotune.records.numerics import Numerics
from autotune.records.roofline import LayerCost
from autotune.records.workload import WorkloadInfo


@dataclass(frozen=True, kw_only=True, slots=True)
class Excluded:
    """A configuration, or a group of them, that was ruled out without or after a trial."""

    configuration: Configuration
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeOptions:
    """What the user may set of the decision rule.

    Attributes:
        tolerance: Margin of the accuracy verdict; a share of the baseline's metric, or absolute.
        tolerance_absolute: Whether ``tolerance`` is in units of the metric.
        minimum_seeds: Paired seeds before a verdict.
        maximum_seeds: Paired seeds after which an open verdict stays inconclusive.
        minimum_gain: Time-to-quality gain below which the baseline is kept.
        memory_limit_bytes: Configurations whose peak is above are not admissible.
    """

    tolerance: float = 0.01
    tolerance_absolute: bool = False
    minimum_seeds: int = 3
    maximum_seeds: int = 8
    minimum_gain: float = 1.03
    memory_limit_bytes: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRecord:
    """Everything measured in a run; all later stages are pure functions of it.

    Attributes:
        schema: Version of this layout.
        command: The command that made it.
        started_at: UTC time, ISO 8601, of the start.
        budget_s: Wall-clock budget.
        tuning_s: Wall clock used in all.
        interrupted: Whether the user stopped the run.
        open_questions: What was not settled and how long it would take, one sentence each.
        hardware: What it was measured on.
        workload: What was trained.
        baseline: The script as written, at float32.
        measurements: Trials in order.
        excluded: Configurations ruled out, with reasons.
        findings: Findings of the plan and the search.
        options: The decision rule's settings.
        costs: What a step of the baseline computes and moves, part by part; empty where it was not counted.
        numerics: The model's numbers on one batch with the weights that stood at ``fit``; None where unknown.
    """

    schema: int = 1
    command: str
    started_at: str
    budget_s: float
    tuning_s: float
    interrupted: bool = False
    open_questions: tuple[str, ...] = ()
    hardware: HardwareProfile
    workload: WorkloadInfo
    baseline: Configuration
    measurements: tuple[Measurement, ...]
    excluded: tuple[Excluded, ...] = ()
    findings: tuple[Finding, ...] = ()
    options: JudgeOptions
    costs: tuple[LayerCost, ...] = ()
    numerics: Numerics | None = None

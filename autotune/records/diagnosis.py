"""What ``autotune diagnose`` found: each policy judged, each layer's numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from autotune.records.finding import Finding
from autotune.records.measurement import Outcome
from autotune.records.numerics import GradientNumerics, LayerNumerics
from autotune.records.recommendation import AccuracyEvidence, HeadroomEvidence
from autotune.records.workload import LayerInfo


@dataclass(frozen=True, kw_only=True, slots=True)
class Rescue:
    """What became of a policy that fails once some layers were kept in float32.

    Attributes:
        layers: Layers kept in float32, the fewest that were found to help; empty where none helped.
        minimal: Whether each of them was shown to be needed.
        attempts: Sets of layers that were tried.
        accuracy: Verdict against float32 with these layers; None without.
        steps: Steps over all runs with these layers.
        evidence: One sentence.
        snippet: Lines of Python that do it; empty where nothing helped.
    """

    layers: tuple[str, ...] = ()
    minimal: bool = False
    attempts: int = 0
    accuracy: AccuracyEvidence | None = None
    steps: int = 0
    evidence: str = ""
    snippet: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyDiagnosis:
    """Whether a policy works with this model, whatever its speed.

    Attributes:
        outcome: How its training ended.
        accuracy: Verdict against float32 over paired seeds; None where it never trained.
        steps: Steps over all its runs.
        skipped_updates: Updates skipped after the loss scale had settled; None when unknown.
        evidence: One sentence.
        sixteen_bit_layers: Layers with arithmetic that compute in 16 bits.
        arithmetic_layers: Layers with arithmetic.
        layers: Layers as this policy made them.
        rescue: What keeping layers in float32 did; None where it was not tried.
        headroom: How near float16 came to its end; None without float16.
        loss_scale_limit: Largest scale at which an update was applied while the scale was made to grow until it met its
            limit; None where that was not seen.
    """

    outcome: Outcome
    accuracy: AccuracyEvidence | None = None
    steps: int = 0
    skipped_updates: int | None = None
    evidence: str = ""
    sixteen_bit_layers: int | None = None
    arithmetic_layers: int | None = None
    layers: tuple[LayerInfo, ...] = ()
    rescue: Rescue | None = None
    headroom: HeadroomEvidence | None = None
    loss_scale_limit: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnosis:
    """Content of diagnosis.json, schema 1.

    Attributes:
        schema: 1.
        target: The script.
        policies: Policy to what is known of it.
        layers: Every layer's numbers.
        gradients: All gradients together.
        findings: What a person should know.
        share_of_plan: Part of the planned run that each run saw; None when unknown.
        command: The command that made it.
    """

    schema: int = 1
    target: str
    policies: Mapping[str, PolicyDiagnosis]
    layers: tuple[LayerNumerics, ...] = ()
    gradients: GradientNumerics
    findings: tuple[Finding, ...] = ()
    share_of_plan: float | None = None
    command: str = ""

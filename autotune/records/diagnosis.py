"""What ``autotune diagnose`` found: each policy judged, each layer's numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from autotune.records.finding import Finding
from autotune.records.measurement import Outcome
from autotune.records.recommendation import AccuracyEvidence, HeadroomEvidence
from autotune.records.workload import LayerInfo


@dataclass(frozen=True, kw_only=True, slots=True)
class Distribution:
    """How large numbers are, by powers of two.

    Attributes:
        count: Numbers looked at.
        zeros: Exact zeros among them.
        nonfinite: Infinities and NaN among them.
        largest: Largest finite magnitude; None where there is none.
        smallest: Smallest magnitude above zero.
        exponents: Power of two to how many numbers have it: 2**e <= |x| < 2**(e+1).
        vanish: Format to the share of nonzero numbers that it rounds to zero.
        overflow: Format to the share of numbers that it turns into infinity.
    """

    count: int = 0
    zeros: int = 0
    nonfinite: int = 0
    largest: float | None = None
    smallest: float | None = None
    exponents: Mapping[int, int]
    vanish: Mapping[str, float | None]
    overflow: Mapping[str, float | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerNumerics:
    """One layer, at float32.

    Attributes:
        path: Path inside the model.
        type: Class name.
        variable_dtype: What its variables are stored in.
        compute_dtype: What it computes in under mixed_float16; None where that could not be tried.
        activations: Its outputs on one batch; None where it has none of its own.
        gradients: Gradients of its weights; None where it has none.
    """

    path: str
    type: str
    variable_dtype: str
    compute_dtype: str | None = None
    activations: Distribution | None = None
    gradients: Distribution | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Survival:
    """A gradient that meets float16, computed by numpy.

    Attributes:
        gradient: Its magnitude.
        as_float16: What float16 makes of it.
        survives: Whether that is above zero.
        scaled_as_float16: What float16 makes of it times the scale.
        scaled_survives: Whether that is above zero and finite.
    """

    gradient: float
    as_float16: float | None
    survives: bool
    scaled_as_float16: float | None
    scaled_survives: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class GradientNumerics:
    """The model's gradients against float16.

    Attributes:
        all: Every weight's gradient on one batch.
        survival: Magnitudes 1e-5 to 1e-10, alone and times ``scale``.
        scale: The scale of that table.
        predicted_loss_scale: Largest power of two that keeps the largest gradient a factor of two below float16's end
            (Micikevicius et al. 2018), at most 2**24; None without gradients.
        surviving: Share of the nonzero gradients that float16 keeps: alone, times ``scale``, times the predicted scale.
    """

    all: Distribution | None = None
    survival: tuple[Survival, ...] = ()
    scale: float = 1024.0
    predicted_loss_scale: float | None = None
    surviving: Mapping[str, float | None]


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

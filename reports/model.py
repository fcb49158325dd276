"""The view model: everything that a view shows, as formatted text with the number behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["good", "bad", "open", "told"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Number:
    """A figure of the record and how it is written.

    Attributes:
        value: The number, for sorting and drawing; None when unknown.
        text: The same for people.
        mark: ``highest`` or ``lowest`` of its column, empty otherwise.
    """

    value: float | None
    text: str
    mark: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fact:
    """A label and its value, both text."""

    label: str
    value: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Proof:
    """One of the reasons to trust the answer.

    Attributes:
        label: ``faster``, ``stable``, ``accurate``, ``pays off``, ...
        state: Whether it speaks for the answer, against it, is open, or is told without a judgement.
        text: One sentence.
        facts: The figures behind it.
    """

    label: str
    state: State
    text: str
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Way:
    """One way to use the answer.

    Attributes:
        title: What it is.
        short: The same in few words, for a narrow view; empty where such a view leaves it out.
        code: What to copy.
        language: ``shell`` or ``python``.
        note: One sentence; may be empty.
    """

    title: str
    short: str = ""
    code: str
    language: Literal["shell", "python"]
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Interval:
    """An estimate with its 95% interval, for a figure; None where it was not measured.

    Attributes:
        name: What is estimated.
        value: The estimate.
        low: Lower end.
        high: Upper end.
        reference: Value of "no difference".
        limit: Value beyond which the claim fails; None without.
        text: The same in words.
    """

    name: str
    value: float
    low: float
    high: float
    reference: float
    limit: float | None
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CurveLine:
    """Quality along one run.

    Attributes:
        side: ``baseline`` or ``candidate``.
        seed: Index of the seed.
        points: Samples seen and the metric's value there.
    """

    side: str
    seed: int
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyLine:
    """One row of the measured policy table."""

    policy: str
    chosen: bool
    step_time: Number
    relative: Number
    run: Number
    accuracy: Number
    verdict: str
    note: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CandidateLine:
    """One configuration with all that is known of it.

    Attributes:
        front: Whether no other one that ended well is both faster and better.
        predicted: Time to quality as speed and gradient noise predict it, at another batch.
        settings: What tells it from the baseline besides its batch.
    """

    name: str
    settings: tuple[str, ...]
    policy: str
    chosen: bool
    baseline: bool
    front: bool
    batch: Number
    samples: Number
    relative: Number
    quality: Number
    time_to_quality: Number
    predicted: Number
    memory: Number
    verdict: str
    note: str


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialLine:
    """One trial."""

    number: Number
    purpose: str
    name: str
    outcome: str
    seed: Number
    steps: Number
    step_time: Number
    spread: str
    samples: Number
    relative: Number
    metric: Number
    memory: Number
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RuledOut:
    """Configurations left out or given up, and why."""

    what: str
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class FindingLine:
    """A finding; ``where`` names layer, policy and line as far as known."""

    severity: str
    code: str
    message: str
    where: tuple[str, ...]
    advice: str
    confirmed: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CeilingLine:
    """One measured limit of the machine."""

    operation: str
    dtype: str
    rate: Number
    relative: Number
    size: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PartLine:
    """A layer, or another part of a step, against the ceilings.

    Attributes:
        intensity: Operations for each byte; None where it moves nothing.
    """

    path: str
    type: str
    flops: Number
    bytes: Number
    least: Number
    share: Number
    bound: str
    intensity: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class GainLine:
    """What a policy should gain and what it did."""

    policy: str
    predicted: Number
    measured: Number


@dataclass(frozen=True, kw_only=True, slots=True)
class RooflineView:
    """The step against the machine's ceilings.

    Attributes:
        text: The whole in one or two sentences.
        short: The same in a few words.
        step: Name, operations for each byte and operations a second of the step; None where there is no such point.
        peak: Ceiling of float32 arithmetic, operations a second.
        bandwidth: Bytes a second.
        parts: Layers and other parts, the costliest first.
        left_out: Parts beyond those.
        gains: Policies, predicted and measured.
    """

    text: str
    short: str
    step: tuple[str, float, float] | None
    peak: float
    bandwidth: float
    parts: tuple[PartLine, ...]
    left_out: int
    gains: tuple[GainLine, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Bar:
    """One power of two in a histogram.

    Attributes:
        x: Left edge.
        y: Upper edge.
        height: Height; the histogram is 36 high.
        lost: Whether float16 turns these numbers into zero or infinity.
    """

    x: float
    y: float
    height: float
    lost: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Histogram:
    """How many numbers have which power of two; heights are square roots, so that rare ones are seen.

    Attributes:
        bars: One for each power of two that occurs.
        says: The same in words, for those who do not see it.
    """

    bars: tuple[Bar, ...]
    says: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerRow:
    """One layer's numbers.

    Attributes:
        dtypes: What its variables are stored in, and what it computes in where a 16-bit policy was tried.
    """

    path: str
    type: str
    dtypes: str
    largest: Number
    activations: Histogram | None
    activations_lost: Number
    gradients: Histogram | None
    gradients_lost: Number


@dataclass(frozen=True, kw_only=True, slots=True)
class SurvivalRow:
    """One magnitude as float16 leaves it, alone and scaled."""

    gradient: str
    alone: str
    scaled: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Edges:
    """Places on the axis of the histograms: where float16 rounds to zero, loses digits, ends; and the axis's width."""

    zero: float
    subnormal: float
    end: float
    width: float
    first: int


@dataclass(frozen=True, kw_only=True, slots=True)
class NumericsView:
    """A model's numbers against float16.

    Attributes:
        layers: Layers that have numbers.
        gradients: All gradients together; None without any.
        keeps: Share of the model's gradients that float16 keeps, with how they are scaled: "98% alone".
        predicted: The predicted loss scale, and its power of two for the figure.
        survival: The table of magnitudes.
        scale: The scale of that table.
        edges: Of the histograms' axis.
    """

    layers: tuple[LayerRow, ...]
    gradients: Histogram | None
    keeps: str
    predicted: Number
    survival: tuple[SurvivalRow, ...]
    scale: str
    edges: Edges


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """All that the views show of one recommendation.

    Attributes:
        title: Name of the script or module.
        place: Machine and versions in one phrase.
        headline: The answer in one sentence.
        recommended: Whether anything is to be changed.
        interrupted: Whether the run was stopped before it was done.
        change: What differs from the script as written, one phrase; empty where nothing does.
        why: Reasons behind the verdict.
        highlights: The few figures that carry the answer.
        proofs: Reasons to trust it, in order.
        speed: The ratio of speeds, None when not measured.
        difference: The difference in quality, None when not measured.
        metric: Name of the metric, "accuracy" where there is none.
        direction: Whether a larger metric is better; empty when unknown.
        curves: Quality along the paired runs.
        epochs: Planned epochs in words: "50 epochs".
        batch_note: Why the batch stays; empty where it may change.
        go_on: Command that goes on with what is open; empty where nothing is.
        roofline: The step against the machine's ceilings; None where that is unknown.
        numerics: The model's numbers against float16; None where unknown.
        record_json: The whole record as JSON, for download.
        record_path: Where recommendation.json lies.
        report_path: Where report.html lies; empty when unknown.
    """

    title: str
    place: str
    headline: str
    recommended: bool
    interrupted: bool
    change: str
    why: tuple[str, ...]
    highlights: tuple[Fact, ...]
    proofs: tuple[Proof, ...]
    ways: tuple[Way, ...]
    speed: Interval | None
    difference: Interval | None
    metric: str
    direction: str
    curves: tuple[CurveLine, ...]
    epochs: str
    policies: tuple[PolicyLine, ...]
    candidates: tuple[CandidateLine, ...]
    batch_note: str
    trials: tuple[TrialLine, ...]
    ruled_out: tuple[RuledOut, ...]
    findings: tuple[FindingLine, ...]
    open_questions: tuple[str, ...]
    go_on: str
    machine: tuple[Fact, ...]
    software: tuple[Fact, ...]
    workload: tuple[Fact, ...]
    ceilings: tuple[CeilingLine, ...]
    roofline: RooflineView | None
    numerics: NumericsView | None
    command: str
    started_at: str
    record_json: str
    record_path: str
    report_path: str

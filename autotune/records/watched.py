"""What was watched step by step in a run, at its end, and when its loss scale met the limit."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class StepTrace:
    """What every step of an instrumented run left behind; lists are parallel, one entry a step.

    Attributes:
        loss: Loss of that batch alone, unscaled; None where not finite.
        loss_scale: Scale after the step; empty without loss scaling.
        updates: Updates applied so far; empty where the optimizer does not count.
        largest_activation: Largest magnitude that a layer put out in float16; None where not finite. Empty where no layer
            computes in float16.
        largest_gradient: Largest magnitude of a weight's gradient as it reached the optimizer, scale included; likewise.
    """

    loss: tuple[float | None, ...] = ()
    loss_scale: tuple[float, ...] = ()
    updates: tuple[int, ...] = ()
    largest_activation: tuple[float | None, ...] = ()
    largest_gradient: tuple[float | None, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ScaleLimit:
    """What happened when a dynamic loss scale was made to grow until it met its limit.

    Attributes:
        steps: Steps of this part; they count for nothing else.
        largest_scale: Largest scale at which an update was applied; None where none was.
        skipped: Updates skipped.
        met: Whether the scale met its limit and came down.
        finite: Whether all weights were finite at the end: an update that overflows must not be applied.
    """

    steps: int
    largest_scale: float | None
    skipped: int
    met: bool
    finite: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ExampleScores:
    """The metric on single validation examples, with the weights of a run's end.

    Attributes:
        scores: One for each of the first examples, in order.
        total: Examples of the whole validation set; None when unknown.
        digest: Hash of these examples.
    """

    scores: tuple[float, ...]
    total: int | None
    digest: str

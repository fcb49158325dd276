"""Gradient noise: what was measured of it, and the scale that follows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class GradientNoise:
    """Gradients of several batches at one moment of a training, at float32.

    Attributes:
        batch_size: Mean samples of a batch.
        samples_seen: Samples trained on before.
        norms: Squared length of each batch's gradient.
        dots: Product of each with the mean of all.
        mean: Squared length of that mean; None where there is none.
    """

    batch_size: float
    samples_seen: float
    norms: tuple[float, ...] = ()
    dots: tuple[float, ...] = ()
    mean: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class NoiseScale:
    """The batch, in samples, up to which larger ones make better steps.

    Attributes:
        samples: Its estimate; None where the gradient is lost in the noise, so that it is large.
        low: What it is at least.
        high: What it is at most; None without bound.
    """

    samples: float | None
    low: float
    high: float | None

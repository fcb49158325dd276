"""Gradient noise scale: the batch up to which a larger one still makes better steps (McCandlish et al. 2018).

Of n batches of size b with gradients g_i and mean m: the mean of |g_i|^2 is |G|^2 + S/b and |m|^2 is |G|^2 + S/(n b) in
expectation, with G the true gradient and S the sum of the variances of one sample's gradient. Both are solved for, and the
noise scale is S / |G|^2 (there appendix A.1). Training to a given quality with batch B then needs samples in proportion to
1 + B / scale (there equation 2.11).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from autotune.records import GradientNoise, Measurement, NoiseScale

# The scale is rough, and the learning rate decides too: nothing is ruled out that a scale this many times larger would allow.
_CAUTION = 4.0


def noise_scale(probes: Sequence[GradientNoise]) -> NoiseScale | None:
    """The noise scale over a training, from probes along it; None where none tells.

    It grows while a model learns, often by an order of magnitude: the geometric mean of the probes stands for the run, and
    its range reaches from the lowest to the highest of them, jackknife errors included (two standard errors).
    """
    found = [scale for probe in probes if (scale := _of_probe(probe)) is not None]
    known = [scale for scale in found if scale.samples is not None]
    if not known:
        return NoiseScale(samples=None, low=max(s.low for s in found), high=None) if found else None
    centre = math.exp(float(np.mean([math.log(scale.samples) for scale in known if scale.samples is not None])))
    highs = [scale.high for scale in found]
    return NoiseScale(
        samples=centre,
        low=min(scale.low for scale in found),
        high=None if any(high is None for high in highs) else max(high for high in highs if high is not None),
    )


def measured_noise_scale(measurements: Iterable[Measurement]) -> NoiseScale | None:
    """The noise scale from the run that was asked to look at it; None where none was, or where it does not tell."""
    return noise_scale(next((m.noise for m in measurements if m.noise), ()))


def samples_ratio(scale: float, baseline_batch: float, batch: float) -> float:
    """Samples that the baseline's batch needs over samples that another needs to the same quality, as predicted."""
    return (1.0 + baseline_batch / scale) / (1.0 + batch / scale)


def most_of_samples(scale: NoiseScale, baseline_batch: float, batch: float) -> float:
    """The samples ratio at a scale well above the upper end: what it rules out is ruled out safely."""
    return 1.0 if scale.high is None else samples_ratio(_CAUTION * max(scale.high, 1e-9), baseline_batch, batch)


def _of_probe(probe: GradientNoise) -> NoiseScale | None:
    count = len(probe.norms)
    if count < 4 or probe.mean is None:
        return None
    norms, dots = np.asarray(probe.norms), np.asarray(probe.dots)
    if not (np.isfinite(norms).all() and np.isfinite(dots).all() and norms.sum() > 0.0):
        return None
    whole = _solve(float(norms.mean()), probe.mean, count)
    without = []
    for n in range(count):
        # The mean without batch n: (count m - g_n) / (count - 1).
        squared = (count**2 * probe.mean - 2.0 * count * dots[n] + norms[n]) / (count - 1) ** 2
        without.append(_solve(float((norms.sum() - norms[n]) / (count - 1)), float(squared), count - 1))
    # In the share of noise in one batch's squared gradient: it stays bounded where the scale itself does not.
    error = math.sqrt((count - 1) / count * float(np.sum((np.asarray(without) - np.mean(without)) ** 2)))
    low, high = _scale(whole - 2.0 * error, probe.batch_size), _scale(whole + 2.0 * error, probe.batch_size)
    return NoiseScale(samples=_scale(whole, probe.batch_size), low=low or 0.0, high=high)


def _solve(small: float, large: float, count: int) -> float:
    """Share of noise in the squared gradient of one batch: S / b over |G|^2 + S / b."""
    noise = (small - large) / (1.0 - 1.0 / count)
    return noise / small


def _scale(share: float, batch: float) -> float | None:
    """The noise scale in samples; None where the gradient is lost in the noise."""
    if share >= 1.0:
        return None
    return max(share, 0.0) / (1.0 - share) * batch

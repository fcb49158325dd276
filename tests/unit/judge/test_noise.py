"""The gradient noise scale against gradients whose true scale is known, and what is predicted from it."""

from __future__ import annotations

import numpy as np
import pytest

from autotune.judge.noise import most_of_samples, noise_scale, samples_ratio
from autotune.records import GradientNoise, NoiseScale


def probe(scale: float, *, batch: int = 32, count: int = 24, size: int = 2000, seed: int = 0) -> GradientNoise:
    """Gradients of batches: a true gradient of length 1 and noise whose variances sum up to ``scale`` for one sample."""
    rng = np.random.default_rng(seed)
    true = rng.normal(size=size)
    true /= np.linalg.norm(true)
    batches = true + rng.normal(scale=np.sqrt(scale / batch / size), size=(count, size))
    mean = batches.mean(axis=0)
    return GradientNoise(
        batch_size=batch,
        samples_seen=0.0,
        norms=tuple(float(g @ g) for g in batches),
        dots=tuple(float(g @ mean) for g in batches),
        mean=float(mean @ mean),
    )


@pytest.mark.parametrize("scale", [3.0, 30.0, 300.0, 3000.0])
def test_a_known_scale_is_found_from_batches_of_a_quite_different_size(scale: float) -> None:
    found = noise_scale([probe(scale)])
    assert found is not None
    assert found.samples == pytest.approx(scale, rel=0.25)


def test_the_interval_holds_the_truth_nearly_always() -> None:
    """Two jackknife errors: about 95%; at most one in ten misses over many trainings."""
    missed = 0
    for seed in range(200):
        found = noise_scale([probe(100.0, seed=seed, size=300)])
        assert found is not None
        missed += not (found.low <= 100.0 <= (found.high or np.inf))
    assert missed <= 20


def test_a_gradient_lost_in_the_noise_has_a_scale_without_upper_end() -> None:
    """That no batch is too large is then all that can be said."""
    found = noise_scale([probe(1e7, batch=4)])
    assert found is not None
    assert found.high is None
    assert found.low > 4


def test_probes_along_a_training_are_averaged_on_the_logarithm_and_keep_their_range() -> None:
    found = noise_scale([probe(10.0), probe(1000.0, seed=1)])
    assert found is not None
    assert found.samples == pytest.approx(100.0, rel=0.3)
    assert found.low < 12.0 and (found.high or 0.0) > 900.0


@pytest.mark.parametrize(
    "bad",
    [
        GradientNoise(batch_size=32.0, samples_seen=0.0),
        GradientNoise(batch_size=32.0, samples_seen=0.0, norms=(1.0, 1.0), dots=(1.0, 1.0), mean=1.0),
        GradientNoise(batch_size=32.0, samples_seen=0.0, norms=(0.0,) * 8, dots=(0.0,) * 8, mean=0.0),
        GradientNoise(batch_size=32.0, samples_seen=0.0, norms=(float("inf"),) * 8, dots=(1.0,) * 8, mean=1.0),
    ],
)
def test_what_tells_nothing_gives_nothing(bad: GradientNoise) -> None:
    assert noise_scale([bad]) is None
    assert noise_scale([]) is None


def test_samples_needed_follow_the_paper() -> None:
    """Far below the scale a larger batch costs no samples, far above it costs them in proportion."""
    assert samples_ratio(1e9, 32, 512) == pytest.approx(1.0, abs=1e-6)
    assert samples_ratio(1e-9, 32, 512) == pytest.approx(32 / 512)
    assert samples_ratio(128.0, 64, 128) == pytest.approx(1.5 / 2.0)


def test_what_is_ruled_out_is_ruled_out_with_caution() -> None:
    scale = NoiseScale(samples=100.0, low=50.0, high=200.0)
    assert most_of_samples(scale, 32, 512) > samples_ratio(200.0, 32, 512)
    assert most_of_samples(NoiseScale(samples=None, low=50.0, high=None), 32, 512) == 1.0

"""Step times and ratios from timed chunks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter

from autotune.judge.speed import enough, hopeless, paired_ratio, relative_speed, speed
from autotune.records import Chunk
from tests.unit.builders import chunks


def test_warm_up_does_not_count() -> None:
    """The warm-up chunk, a hundred times slower, leaves no trace."""
    found = speed(chunks(0.01))
    assert found is not None and found.steady
    assert found.step_time_s.value == pytest.approx(0.01, rel=0.01)
    assert found.samples_per_s.value == pytest.approx(3200, rel=0.01)


def test_steady_state_is_found_not_assumed() -> None:
    """Slow first chunks are dropped; a trial that keeps drifting is not called steady."""
    settling = [Chunk(steps=1, duration_s=d, samples=1) for d in (3.0, 2.0, 1.5, 1.0, 1.0, 1.01, 0.99, 1.0, 1.0, 1.0)]
    found = speed(settling)
    assert found is not None and found.steady and found.step_time_s.value == pytest.approx(1.0, rel=0.01)
    assert found.chunks == 7
    drifting = [Chunk(steps=1, duration_s=1.2**n, samples=1) for n in range(10)]
    assert not speed(drifting).steady  # type: ignore[union-attr]


@pytest.mark.parametrize("slope", [0.02, 0.05])
def test_a_steady_drift_is_no_steady_state(slope: float) -> None:
    """A machine that heats up over the whole trial: said, not averaged away."""
    rng = np.random.default_rng(0)
    rising = [
        Chunk(steps=1, duration_s=float(np.exp(slope * n + 0.003 * rng.standard_normal())), samples=1)
        for n in range(16)
    ]
    assert not speed(rising).steady  # type: ignore[union-attr]


def test_a_slow_first_chunk_is_dropped_from_a_noisy_trial() -> None:
    """Three times as slow among 5% noise: the halves agree without it, and so it would stay."""
    rng = np.random.default_rng(2)
    times = np.exp(0.05 * rng.standard_normal(16))
    times[0] = 3.0
    found = speed(one_step_chunks(times))
    assert found is not None and found.steady and found.chunks == 15


def test_speeds_of_a_machine_with_moods_keep_their_promise() -> None:
    """Chunks that follow each other are alike (r = 0.5, as measured on shared machines): intervals allow for it."""
    rng = np.random.default_rng(6)
    waves = lfilter([1.0], [1.0, -0.5], rng.standard_normal((400, 2, 80)), axis=2)[:, :, 50:]
    steps = ratios = 0
    for ours, theirs in np.exp(0.02 * waves):
        found, ratio = speed(one_step_chunks(ours)), paired_ratio(one_step_chunks(ours), one_step_chunks(theirs))
        assert found is not None and found.step_time_s.low and found.step_time_s.high
        assert ratio is not None and ratio.low and ratio.high
        steps += found.step_time_s.low <= 1.0 <= found.step_time_s.high
        ratios += ratio.low <= 1.0 <= ratio.high
    assert steps / 400 > 0.88 and ratios / 400 > 0.88


def test_noise_is_no_drift() -> None:
    """On a noisy machine halves differ by chance: few chunks are dropped for it, and the state is steady."""
    rng = np.random.default_rng(4)
    found = [speed(one_step_chunks(np.exp(0.15 * row))) for row in rng.standard_normal((200, 24))]
    assert np.mean([f is not None and f.steady for f in found]) > 0.97
    assert np.mean([f.chunks for f in found if f is not None]) > 21


def one_step_chunks(durations_s: np.ndarray) -> list[Chunk]:
    return [Chunk(steps=1, duration_s=float(d), samples=1) for d in durations_s]


def test_without_chunks_nothing_is_known() -> None:
    """No chunk, no speed, no ratio."""
    assert speed(chunks(0.01)[:1]) is None
    assert relative_speed(chunks(0.01), ()) is None


def test_relative_speed_counts_samples_not_steps() -> None:
    """Twice the batch at the same step time is twice as fast."""
    ratio = relative_speed(chunks(0.01), chunks(0.01, batch=64, seed=1))
    assert ratio is not None and ratio.value == pytest.approx(2.0, rel=0.01)


def test_pairs_cancel_a_drift_of_the_machine() -> None:
    """The machine slows down by half over the duel; the ratio stays, with a narrow interval."""
    rng = np.random.default_rng(0)
    drift = np.linspace(1.0, 2.0, 24)
    sides = [
        [Chunk(steps=1, duration_s=float(t * d * np.exp(0.01 * rng.standard_normal())), samples=1) for d in drift]
        for t in (1.0, 0.8)
    ]
    ratio = paired_ratio(*sides)
    assert ratio is not None and ratio.low is not None and ratio.high is not None
    assert ratio.low <= 1.25 <= ratio.high and ratio.high - ratio.low < 0.03


def test_claims_of_a_duel_between_equals() -> None:
    """Two equal sides, heavy-tailed noise: a gain of 1.03 is claimed in less than 2.5% of duels."""
    rng = np.random.default_rng(1)
    claims = 0
    for _ in range(2000):
        a, b = (np.exp(0.03 * rng.standard_t(3, 16)) for _ in range(2))
        sides = ([Chunk(steps=1, duration_s=float(t), samples=1) for t in side] for side in (a, b))
        ratio = paired_ratio(*sides)
        claims += ratio is not None and ratio.low is not None and ratio.low >= 1.03
    assert claims / 2000 < 0.025


def test_racing_ends_when_it_is_certain() -> None:
    """A narrow interval is enough; five times slower is hopeless after four chunks; equal is not."""
    assert enough(chunks(0.01, count=12, noise=0.003))
    assert not enough(chunks(0.01, count=12, noise=0.2))
    assert hopeless(chunks(0.01), chunks(0.05, count=4))
    assert hopeless(chunks(0.01), chunks(0.05, count=3))
    assert not hopeless(chunks(0.01), chunks(0.05, count=2))
    assert not hopeless(chunks(0.01), chunks(0.0101, count=4))
    assert hopeless(chunks(0.01), chunks(0.008, count=6), below=1.5)


def test_equals_are_not_given_up() -> None:
    """Heavy-tailed noise of 10%, three or four chunks so far: given up wrongly in less than 1 of 200."""
    rng = np.random.default_rng(5)
    wrong = 0
    for count in (3, 4) * 100:
        ours, theirs = (one_step_chunks(np.exp(0.1 * rng.standard_t(3, n))) for n in (24, count))
        wrong += hopeless(ours, theirs)
    assert wrong / 200 < 0.005


def test_a_trial_that_still_warms_up_is_not_given_up() -> None:
    """Slow so far, but its last chunk is as fast as the baseline: it may end there."""
    warming = one_step_chunks(np.array([0.020, 0.0155, 0.0125, 0.0101]))
    assert not hopeless(chunks(0.01, batch=1), warming)

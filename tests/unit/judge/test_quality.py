"""Time to quality, against crossings computed by hand."""

from __future__ import annotations

import pytest

from autotune.judge.interval import Interval
from autotune.judge.quality import samples_needed, samples_ratio, time_to_quality
from autotune.records import JudgeOptions
from tests.unit.builders import BASELINE, BFLOAT16, quality_run, workload

OPTIONS = JudgeOptions(tolerance=0.05, tolerance_absolute=True)
DOUBLE = BASELINE.but(batch_size=64)
SPEED = Interval(value=2.0, low=1.9, high=2.1, count=10)


def test_crossing_is_linear_between_points() -> None:
    """0.8 lies halfway between 0.7 (1,000 samples) and 0.9 (2,000)."""
    curve = quality_run(BASELINE, 0, [0.7, 0.9]).curve
    assert samples_needed(curve, "val_accuracy", 0.8, 1.0) == pytest.approx(1500)
    assert samples_needed(curve, "val_accuracy", 0.6, 1.0) == 1000  # before the first point nothing is known
    assert samples_needed(curve, "val_accuracy", 0.95, 1.0) is None


def test_a_loss_is_crossed_downwards() -> None:
    """Direction by sign."""
    curve = quality_run(BASELINE, 0, [1.0, 0.5], metric="val_loss").curve
    assert samples_needed(curve, "val_loss", 0.75, -1.0) == pytest.approx(1500)


def test_ratio_over_paired_seeds() -> None:
    """The candidate needs twice the samples in each seed: 0.5."""
    base = {s: quality_run(BASELINE, s, [0.5, 0.7, 0.9, 0.95]) for s in range(3)}
    slow = {s: quality_run(DOUBLE, s, [0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.92, 0.95]) for s in range(3)}
    found = samples_ratio(base, slow, workload(), OPTIONS)
    assert found.interval is not None and found.interval.value == pytest.approx(0.5)


def test_a_target_that_is_not_reached_has_no_gain() -> None:
    """None with the reason, whatever the speed."""
    base = {0: quality_run(BASELINE, 0, [0.5, 0.9])}
    poor = {0: quality_run(DOUBLE, 0, [0.4, 0.6])}
    gain, reason = time_to_quality(SPEED, base, poor, workload(), OPTIONS, (BASELINE, DOUBLE), matches=False)
    assert gain is None and "does not reach" in (reason or "")


def test_equal_updates_that_match_gain_what_the_step_gains() -> None:
    """Precision changes the arithmetic, not the number of updates: a lucky crossing does not count."""
    base = {0: quality_run(BASELINE, 0, [0.5, 0.9])}
    lucky = {0: quality_run(BFLOAT16, 0, [0.9, 0.9])}
    gain, _ = time_to_quality(SPEED, base, lucky, workload(), OPTIONS, (BASELINE, BFLOAT16), matches=True)
    assert gain == SPEED
    still_open, _ = time_to_quality(SPEED, base, lucky, workload(), OPTIONS, (BASELINE, BFLOAT16), matches=False)
    assert still_open is not None and still_open.value <= SPEED.value


def test_a_larger_batch_pays_with_its_samples() -> None:
    """Twice the samples a second and twice the samples needed: no gain."""
    base = {s: quality_run(BASELINE, s, [0.5, 0.9]) for s in range(3)}
    slow = {s: quality_run(DOUBLE, s, [0.2, 0.5, 0.8, 0.9]) for s in range(3)}
    gain, _ = time_to_quality(SPEED, base, slow, workload(), OPTIONS, (BASELINE, DOUBLE), matches=True)
    assert gain is not None and gain.value == pytest.approx(
        2.0 * samples_ratio(base, slow, workload(), OPTIONS).interval.value
    )  # type: ignore[union-attr]
    assert gain.value < 1.2

"""Time to quality, against crossings computed by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autotune.judge.interval import Interval
from autotune.judge.quality import SamplesRatio, most_gain, samples_needed, samples_ratio, time_to_quality
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


def test_curves_that_are_clearly_slower_count_against_a_precision_that_matches() -> None:
    """The same final accuracy, but half as fast to get there, in every seed."""
    base = {s: quality_run(BASELINE, s, [0.5, 0.95, 0.95, 0.95]) for s in range(3)}
    slow = {s: quality_run(BFLOAT16, s, [0.3, 0.5, 0.6, 0.95]) for s in range(3)}
    gain, _ = time_to_quality(SPEED, base, slow, workload(), OPTIONS, (BASELINE, BFLOAT16), matches=True)
    assert gain is not None and gain.value < 1.2


def test_what_came_before_the_first_point_is_no_gain() -> None:
    """The baseline was there by its first point; a candidate with an earlier first point has gained nothing by that."""
    base = {s: quality_run(BASELINE, s, [0.95, 0.95]) for s in range(3)}
    early = {s: quality_run(DOUBLE, s, [0.95, 0.95]) for s in range(3)}
    early = {s: replace(m, curve=tuple(replace(p, samples=p.samples / 2) for p in m.curve)) for s, m in early.items()}
    found = samples_ratio(base, early, workload(), OPTIONS).interval
    assert found is not None and found.value == pytest.approx(1.0)


def test_a_target_that_is_not_reached_bounds_the_gain() -> None:
    """Twice as fast, and not there after twice the samples that the baseline needs: less than the same time."""
    base = {0: quality_run(BASELINE, 0, [0.5, 0.9, 0.9, 0.9])}
    poor = {0: quality_run(DOUBLE, 0, [0.4, 0.5, 0.6, 0.7])}
    found = samples_ratio(base, poor, workload(), OPTIONS)
    assert found.interval is None and found.at_most is not None and found.at_most < 0.5
    assert most_gain(SPEED, found) == pytest.approx(2.1 * found.at_most)
    assert most_gain(SPEED, SamplesRatio(interval=None)) is None


@given(st.floats(0.1, 10.0), st.lists(st.floats(0.0, 1.0), min_size=2, max_size=8))
def test_a_change_of_the_unit_of_samples_changes_no_ratio(unit: float, curve: list[float]) -> None:
    """Counting batches instead of samples gives the same ratio."""
    base = {0: quality_run(BASELINE, 0, sorted(curve))}
    other = {0: quality_run(DOUBLE, 0, [v * 0.99 for v in sorted(curve)])}

    def scaled(runs):
        return {
            s: replace(m, curve=tuple(replace(p, samples=p.samples * unit) for p in m.curve)) for s, m in runs.items()
        }

    plain = samples_ratio(base, other, workload(), OPTIONS).interval
    again = samples_ratio(scaled(base), scaled(other), workload(), OPTIONS).interval
    assert (plain is None) == (again is None)
    if plain is not None and again is not None:
        assert again.value == pytest.approx(plain.value)

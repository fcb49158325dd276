"""How long the accuracy runs are."""

from __future__ import annotations

import pytest

from autotune.quality_plan import quality_plan
from tests.unit.builders import workload


def test_the_whole_plan_where_it_fits() -> None:
    """A short planned run is run as it is: the script's own epochs, all of it."""
    found = quality_plan(workload(epochs=6), 0.001, left_s=300.0)
    assert (found.epochs, found.part_samples, found.share) == (6, None, 1.0)


def test_few_epochs_are_looked_at_more_often() -> None:
    """One planned epoch still gives a curve: the same samples in parts."""
    found = quality_plan(workload(epochs=1, samples_per_epoch=3200, steps_per_epoch=100), 0.001, left_s=300.0)
    assert found.epochs == 5 and found.share == 1.0
    assert found.part_samples is not None and found.epochs * found.part_samples == pytest.approx(3200)


def test_a_long_plan_is_cut_and_says_its_share() -> None:
    """What fits the budget, in ten parts; the share of the planned run is known."""
    long = workload(epochs=50, samples_per_epoch=320_000, steps_per_epoch=10_000)
    found = quality_plan(long, 0.02, left_s=120.0)
    assert found.epochs == 10 and found.part_samples is not None
    steps = found.epochs * found.part_samples / 32
    assert steps * 0.02 <= 10.5
    assert found.share == pytest.approx(steps / 500_000, rel=0.05)


def test_unknown_length_is_no_share() -> None:
    """Where the epoch's length is not known neither is the share."""
    found = quality_plan(workload(steps_per_epoch=None, samples_per_epoch=None), 0.01, left_s=120.0)
    assert found.part_samples is not None and found.share is None


def test_validation_stays_a_bounded_part_of_a_cut_run() -> None:
    """A huge validation set is looked at in part, the same part each time."""
    long = workload(epochs=50, samples_per_epoch=320_000, steps_per_epoch=10_000)
    found = quality_plan(long, 0.02, left_s=120.0, validation_batches=5000)
    assert found.validation_steps is not None and 1 <= found.validation_steps < 100
    assert quality_plan(long, 0.02, left_s=120.0, validation_batches=3).validation_steps is None

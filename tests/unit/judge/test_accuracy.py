"""Evidence of accuracy from paired quality runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autotune.judge.accuracy import accuracy, is_open
from autotune.records import JudgeOptions, Outcome
from tests.unit.builders import BASELINE, BFLOAT16, quality_run, workload

OPTIONS = JudgeOptions()


def runs(policy: object, finals: list[float | None]) -> dict[int, object]:
    return {seed: quality_run(policy, seed, [0.5, final]) for seed, final in enumerate(finals)}  # type: ignore[arg-type,list-item]


def test_evidence_of_a_match() -> None:
    """Verdict, difference with bounds, margin, yardstick and detectable drop."""
    found = accuracy(runs(BASELINE, [0.950, 0.952, 0.948]), runs(BFLOAT16, [0.951, 0.951, 0.949]), workload(), OPTIONS)  # type: ignore[arg-type]
    assert (found.verdict, found.seeds, found.independent_seeds, found.paired) == ("matches", 3, 3, True)
    assert found.margin == pytest.approx(0.0095) and found.baseline_spread == pytest.approx(0.002)
    assert found.difference_low is not None and found.difference_low < (found.difference or 0) < (
        found.difference_high or 0
    )
    assert found.detectable is not None and found.detectable > 0


def test_direction_decides_what_worse_is() -> None:
    """A higher loss is worse, a higher accuracy is not."""
    base, high = runs(BASELINE, [0.5, 0.5, 0.51]), runs(BFLOAT16, [0.9, 0.9, 0.91])
    assert accuracy(base, high, workload(), OPTIONS).verdict == "matches"  # type: ignore[arg-type]
    assert accuracy(base, high, workload(metric_direction="min"), OPTIONS).verdict == "worse"  # type: ignore[arg-type]


LEARNING = [0.80, 0.93, 0.945, 0.949, 0.951]


def test_a_clear_failure_needs_one_seed_only() -> None:
    """Far below what the baseline's own noise explains in the only run so far: not run again."""
    base = {0: quality_run(BASELINE, 0, LEARNING)}
    found = accuracy(base, {0: quality_run(BFLOAT16, 0, [0.1] * 5)}, workload(), OPTIONS)
    assert found.verdict == "worse" and "not run again" in (found.reason or "")
    assert not is_open(found, OPTIONS)


@pytest.mark.parametrize("final", [0.90, 0.94])
def test_one_bad_run_is_no_verdict(final: float) -> None:
    """A run that is some margins worse may be chance: the next seed tells."""
    base = {0: quality_run(BASELINE, 0, LEARNING)}
    found = accuracy(base, {0: quality_run(BFLOAT16, 0, [0.8, 0.85, 0.88, 0.89, final])}, workload(), OPTIONS)
    assert found.verdict == "inconclusive" and is_open(found, OPTIONS)


def test_one_seed_never_proves_a_match() -> None:
    """Fewer than three seeds stay open."""
    for seeds in (1, 2):
        found = accuracy(runs(BASELINE, [0.95] * seeds), runs(BFLOAT16, [0.95] * seeds), workload(), OPTIONS)  # type: ignore[arg-type]
        assert found.verdict == "inconclusive" and "open" in (found.reason or "")


def test_equal_runs_count_once() -> None:
    """Three seeds that gave the same run are one run: no proof, and it is said."""
    same = {seed: quality_run(BASELINE, seed, [0.5, 0.95], weights_hash="x") for seed in range(3)}
    other = {seed: quality_run(BFLOAT16, seed, [0.5, 0.95], weights_hash="x") for seed in range(3)}
    found = accuracy(same, other, workload(), OPTIONS)
    assert found.independent_seeds == 1 and found.verdict == "inconclusive"
    assert "count once" in (found.reason or "")
    assert not is_open(found, OPTIONS)  # more of the same would tell nothing


def test_repeated_runs_add_no_weight() -> None:
    """Three different pairs and two repetitions of the first: the evidence of three."""
    base, other = runs(BASELINE, [0.950, 0.952, 0.948]), runs(BFLOAT16, [0.951, 0.951, 0.949])
    plain = accuracy(base, other, workload(), OPTIONS)
    for seed in (3, 4):
        base[seed], other[seed] = replace(base[0], seed=seed), replace(other[0], seed=seed)
    repeated = accuracy(base, other, workload(), OPTIONS)
    assert (repeated.seeds, repeated.independent_seeds) == (5, 3)
    assert (repeated.difference, repeated.detectable) == (plain.difference, plain.detectable)


def test_a_metric_that_is_not_finite_is_worse() -> None:
    """A null metric names itself."""
    found = accuracy(runs(BASELINE, [0.95] * 3), runs(BFLOAT16, [0.95, None, 0.95]), workload(), OPTIONS)  # type: ignore[arg-type]
    assert found.verdict == "worse" and "val_accuracy" in (found.reason or "")


@pytest.mark.parametrize("outcome", [Outcome.TIMEOUT, Outcome.CRASHED, Outcome.OUT_OF_MEMORY])
def test_a_run_that_was_stopped_says_nothing_of_accuracy(outcome: Outcome) -> None:
    """A crash or a time limit is no sign of learning worse."""
    other = runs(BFLOAT16, [0.95])
    other[0] = replace(other[0], outcome=outcome, curve=())
    found = accuracy(runs(BASELINE, [0.95]), other, workload(), OPTIONS)
    assert found.verdict == "inconclusive" and found.candidate is None


def test_a_metric_that_is_missing_is_not_a_metric_that_is_not_finite() -> None:
    """Logs without the metric give no verdict."""
    other = {0: quality_run(BFLOAT16, 0, [0.5, 0.6], metric="val_auc")}
    found = accuracy(runs(BASELINE, [0.95]), other, workload(), OPTIONS)
    assert found.verdict == "inconclusive" and "val_accuracy" in (found.reason or "")


def test_a_share_of_nothing_is_no_margin() -> None:
    """A metric of 0 needs an absolute tolerance; more seeds do not help."""
    base, other = runs(BASELINE, [0.0] * 3), runs(BFLOAT16, [0.0] * 3)
    found = accuracy(base, other, workload(), OPTIONS)
    assert found.verdict == "inconclusive" and "absolute" in (found.reason or "") and not is_open(found, OPTIONS)
    absolute = JudgeOptions(tolerance=0.01, tolerance_absolute=True)
    assert accuracy(base, other, workload(), absolute).verdict == "matches"


def test_few_validation_examples_are_told() -> None:
    """Steps of 0.05 cannot show a margin of 0.0095, even where all runs end on the same step."""
    curves = [[0.5, 0.75, 0.95], [0.55, 0.85, 0.95], [0.6, 0.9, 0.95]]
    base, other = ({s: quality_run(c, s, curve) for s, curve in enumerate(curves)} for c in (BASELINE, BFLOAT16))
    found = accuracy(base, other, workload(), OPTIONS)
    assert found.verdict == "inconclusive" and "validation examples" in (found.reason or "")


def test_why_it_stays_inconclusive_is_told() -> None:
    """After the last seed: the spread is too large, or the difference too close to the margin."""
    wide = [0.95 + 0.02 * (-1) ** s for s in range(8)]
    flat = [0.95 + 0.0001 * s for s in range(8)]
    found = accuracy(runs(BASELINE, flat), runs(BFLOAT16, wide), workload(), OPTIONS)
    assert found.verdict == "inconclusive" and "spread" in (found.reason or "") and not is_open(found, OPTIONS)
    near = [0.9408 + 0.002 * (-1) ** s for s in range(8)]
    found = accuracy(runs(BASELINE, flat), runs(BFLOAT16, near), workload(), OPTIONS)
    assert found.verdict == "inconclusive" and "too close" in (found.reason or "")


def test_no_spread_is_no_error() -> None:
    """Constant metrics match, with a difference of exactly zero."""
    base = {s: quality_run(BASELINE, s, [1.0], weights_hash=str(s)) for s in range(3)}
    other = {s: quality_run(BFLOAT16, s, [1.0], weights_hash=str(s)) for s in range(3)}
    found = accuracy(base, other, workload(), OPTIONS)
    assert (found.verdict, found.difference, found.detectable) == ("matches", 0.0, 0.0)

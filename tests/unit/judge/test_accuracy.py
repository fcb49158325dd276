"""The accuracy verdict, with its error rates by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from autotune.judge.accuracy import accuracy, compare, look_alpha
from autotune.records import JudgeOptions
from tests.unit.builders import BASELINE, BFLOAT16, quality_run, workload

OPTIONS = JudgeOptions()
COMPARISONS = 20_000


def verdicts(mean: float, spread: float, *, heavy: bool, comparisons: int = COMPARISONS) -> dict[str, float]:
    """Shares of verdicts over many sequential comparisons, margin 1; the same rule as ``compare``, vectorised."""
    rng = np.random.default_rng(42)
    noise = rng.standard_t(3, (comparisons, 8)) / np.sqrt(3) if heavy else rng.standard_normal((comparisons, 8))
    values = mean + spread * noise
    found = np.full(comparisons, "inconclusive", dtype=object)
    is_open = np.ones(comparisons, dtype=bool)
    for count in range(OPTIONS.minimum_seeds, OPTIONS.maximum_seeds + 1):
        centre, deviation = values[:, :count].mean(axis=1), values[:, :count].std(axis=1, ddof=1)
        half = stats.t.ppf(1 - look_alpha(count, OPTIONS), count - 1) * deviation / np.sqrt(count)
        matches = is_open & (centre - half > -1) & (deviation <= 1)
        found[matches] = "matches"
        is_open &= ~matches
        worse = is_open & (centre + half < -1)
        found[worse] = "worse"
        is_open &= ~worse
    return {name: float((found == name).mean()) for name in ("matches", "worse", "inconclusive")}


def sequential(values: np.ndarray) -> str:
    """The verdict of the real function, seed by seed."""
    for count in range(OPTIONS.minimum_seeds, OPTIONS.maximum_seeds + 1):
        result = compare(values[:count].tolist(), 1.0, OPTIONS)
        if result.verdict is not None:
            return result.verdict
    raise AssertionError("the last look must give a verdict")


@pytest.mark.parametrize("heavy", [False, True])
def test_the_simulation_is_the_real_rule(heavy: bool) -> None:
    """What is simulated and what ships give the same shares."""
    rng = np.random.default_rng(42)
    noise = rng.standard_t(3, (COMPARISONS, 8)) / np.sqrt(3) if heavy else rng.standard_normal((COMPARISONS, 8))
    real = [sequential(-0.6 + 0.7 * row) for row in noise[:400]]
    # The generator fills rows in order, so the first rows are the same runs.
    small = verdicts(-0.6, 0.7, heavy=heavy)
    share = {name: real.count(name) / len(real) for name in small}
    for name, value in small.items():
        assert abs(share[name] - value) < 3 * np.sqrt(max(value * (1 - value), 0.01) / len(real)) + 0.01


@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize("spread", [0.05, 0.25, 0.5, 1.0])
def test_error_rates(heavy: bool, spread: float) -> None:
    """Worse by the margin: ``matches`` in at most 5%; by twice the margin: in at most 0.5%."""
    assert verdicts(-1.0, spread, heavy=heavy)["matches"] <= 0.05
    assert verdicts(-2.0, spread, heavy=heavy)["matches"] <= 0.005


@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize("spread", [0.05, 0.25, 0.5])
def test_identical_configurations_are_settled(heavy: bool, spread: float) -> None:
    """Equal configurations match in more than 90% within eight seeds while the spread is at most half the margin."""
    assert verdicts(0.0, spread, heavy=heavy)["matches"] > 0.9


def test_a_spread_beyond_the_margin_is_inconclusive() -> None:
    """Where single runs differ by several margins nothing can be said."""
    assert verdicts(0.0, 4.0, heavy=False)["inconclusive"] > 0.85


@given(st.lists(st.floats(-1, 1), min_size=3, max_size=8), st.floats(0.01, 1), st.floats(1, 4))
def test_a_wider_margin_never_turns_a_match_into_worse(differences: list[float], margin: float, factor: float) -> None:
    """Monotone in the margin."""
    if compare(differences, margin, OPTIONS).verdict == "matches":
        assert compare(differences, margin * factor, OPTIONS).verdict == "matches"


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


def test_a_clear_failure_needs_one_seed_only() -> None:
    """Five margins worse in the only run so far: not run again."""
    found = accuracy(runs(BASELINE, [0.95]), runs(BFLOAT16, [0.5]), workload(), OPTIONS)  # type: ignore[arg-type]
    assert found.verdict == "worse"


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


def test_a_metric_that_is_not_finite_is_worse() -> None:
    """A null metric names itself."""
    found = accuracy(runs(BASELINE, [0.95] * 3), runs(BFLOAT16, [0.95, None, 0.95]), workload(), OPTIONS)  # type: ignore[arg-type]
    assert found.verdict == "worse" and "val_accuracy" in (found.reason or "")


def test_no_spread_is_no_error() -> None:
    """Constant metrics match, with a difference of exactly zero."""
    base = {s: quality_run(BASELINE, s, [1.0], weights_hash=str(s)) for s in range(3)}
    other = {s: quality_run(BFLOAT16, s, [1.0], weights_hash=str(s)) for s in range(3)}
    found = accuracy(base, other, workload(), OPTIONS)
    assert (found.verdict, found.difference, found.detectable) == ("matches", 0.0, 0.0)

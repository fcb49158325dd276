"""Error rates of the sequential accuracy verdict, by simulation with the functions that decide."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autotune.judge.noninferiority import (
    ALPHA,
    bounds,
    compare,
    is_match,
    is_worse,
    look_alpha,
    metric_step,
)
from autotune.records import JudgeOptions

OPTIONS = JudgeOptions()
COMPARISONS = 20_000
TAILS = ("normal", "t3", "contaminated")
SPREADS = (0.02, 0.1, 0.25, 0.5, 0.75, 1.0)


def noise(tails: str, seed: int = 42) -> np.ndarray:
    """Differences of standard deviation 1 over eight seeds, many comparisons."""
    rng = np.random.default_rng(seed)
    shape = (COMPARISONS, OPTIONS.maximum_seeds)
    if tails == "t3":
        return rng.standard_t(3, shape) / np.sqrt(3.0)
    if tails == "contaminated":  # one run in ten scatters ten times as far
        return np.where(rng.random(shape) < 0.1, 5.0, 0.5) * rng.standard_normal(shape) / np.sqrt(2.725)
    return rng.standard_normal(shape)


def verdicts(differences: np.ndarray, *, options: JudgeOptions = OPTIONS, **known: float) -> dict[str, float]:
    """Shares of verdicts, margin 1, each comparison continued while it is open."""
    found = np.full(len(differences), "inconclusive", dtype=object)
    is_open = np.ones(len(differences), dtype=bool)
    for count in range(options.minimum_seeds, options.maximum_seeds + 1):
        seen = differences[:, :count]
        mean = seen.mean(axis=-1)
        spread, half = bounds(seen, options, **known)  # type: ignore[arg-type]
        for name, reached in (("matches", is_match(mean, spread, half, 1.0)), ("worse", is_worse(mean, half, 1.0))):
            found[is_open & reached] = name
            is_open &= ~reached
    return {name: float((found == name).mean()) for name in ("matches", "worse", "inconclusive")}


@pytest.mark.parametrize("tails", TAILS)
@pytest.mark.parametrize("spread", SPREADS)
def test_worse_by_the_margin_is_rarely_called_a_match(tails: str, spread: float) -> None:
    """Worse by exactly the margin: at most 5%, over all looks; by twice the margin: at most 0.5%."""
    assert verdicts(-1.0 + spread * noise(tails))["matches"] <= 0.05
    assert verdicts(-2.0 + spread * noise(tails))["matches"] <= 0.005


@pytest.mark.parametrize("rivals", [3, 6])
def test_the_best_of_several_by_its_first_run_keeps_the_error_rate(rivals: int) -> None:
    """All exactly a margin worse; the luckiest first run is chosen, and counts in the proof: still at most 5%."""
    rng = np.random.default_rng(rivals)
    runs = -1.0 + 0.5 * rng.standard_normal((COMPARISONS, rivals, OPTIONS.maximum_seeds))
    chosen = runs[np.arange(COMPARISONS), runs[:, :, 0].argmax(axis=1)]
    assert verdicts(chosen)["matches"] <= 0.05


@pytest.mark.parametrize("tails", TAILS)
@pytest.mark.parametrize("spread", [s for s in SPREADS if s <= 0.5])
def test_identical_configurations_are_settled(tails: str, spread: float) -> None:
    """More than 90% match within eight seeds while the spread is at most half the margin; hardly one is called worse."""
    found = verdicts(spread * noise(tails))
    assert found["matches"] > 0.9 and found["worse"] <= 0.001


@pytest.mark.parametrize("tails", TAILS)
def test_equals_at_any_spread_are_hardly_ever_called_worse(tails: str) -> None:
    """A large spread comes out inconclusive."""
    for spread in (1.0, 2.0, 4.0):
        assert verdicts(spread * noise(tails))["worse"] <= 0.025
    assert verdicts(4.0 * noise("normal"))["inconclusive"] > 0.9


@pytest.mark.parametrize("tails", TAILS)
def test_a_clearly_worse_one_stops_at_the_first_look(tails: str) -> None:
    """Five margins worse at a spread of half a margin: nine of ten need three seeds only."""
    first_look = JudgeOptions(minimum_seeds=3, maximum_seeds=8)
    seen = (-5.0 + 0.5 * noise(tails))[:, :3]
    _, half = bounds(seen, first_look)
    assert is_worse(seen.mean(axis=-1), half, 1.0).mean() > 0.9


@pytest.mark.parametrize("step", [0.5, 1.0, 1.5, 2.0, 3.0])
def test_steps_of_a_metric_are_no_agreement(step: float) -> None:
    """A metric over few examples lands on the same step by chance: that is no proof (without the step: up to 29%)."""
    rng = np.random.default_rng(7)
    raw = (-1.0 + 0.1 * noise("normal")) / step
    rounded = step * np.floor(raw + rng.random(raw.shape))
    assert verdicts(rounded, step=step)["matches"] <= 0.05
    if step >= 2.0:
        assert verdicts(rounded)["matches"] > 0.1


@pytest.mark.parametrize("options", [JudgeOptions(maximum_seeds=3), JudgeOptions(maximum_seeds=20), OPTIONS])
def test_the_looks_share_what_is_allowed(options: JudgeOptions) -> None:
    """However many seeds are allowed."""
    looks = range(options.minimum_seeds, options.maximum_seeds + 1)
    assert sum(look_alpha(count, options) for count in looks) == pytest.approx(ALPHA)


@given(st.lists(st.floats(-3, 3), min_size=3, max_size=8), st.floats(0.0, 1.0))
def test_compare_is_the_simulated_rule(differences: list[float], step: float) -> None:
    """The function that ships and the simulation agree on every look."""
    values = np.asarray(differences)
    spread, half = bounds(values, OPTIONS, step=step)
    found = compare(differences, 1.0, OPTIONS, step=step)
    assert (found.verdict == "matches") == bool(is_match(values.mean(), spread, half, 1.0))
    assert (found.verdict == "worse") == bool(is_worse(values.mean(), half, 1.0) and found.verdict != "matches")
    assert found.verdict is not None or values.size < OPTIONS.maximum_seeds
    assert found.detectable == pytest.approx(float(half))


@given(st.lists(st.floats(-1, 1), min_size=3, max_size=8), st.floats(0.01, 1), st.floats(1, 4))
def test_a_wider_margin_never_turns_a_match_into_worse(differences: list[float], margin: float, factor: float) -> None:
    """Monotone in the margin."""
    if compare(differences, margin, OPTIONS).verdict == "matches":
        assert compare(differences, margin * factor, OPTIONS).verdict == "matches"
    if compare(differences, margin * factor, OPTIONS).verdict == "worse":
        assert compare(differences, margin, OPTIONS).verdict == "worse"


@given(st.lists(st.floats(-3, 3), min_size=3, max_size=8), st.floats(0.001, 1000))
def test_a_change_of_unit_changes_no_verdict(differences: list[float], unit: float) -> None:
    """Differences and margin in other units: the same verdict."""
    if abs(abs(compare(differences, 1.0, OPTIONS).low or 0.0) - 1.0) > 1e-6:
        scaled = compare([d * unit for d in differences], unit, OPTIONS)
        assert scaled.verdict == compare(differences, 1.0, OPTIONS).verdict


def test_runs_that_lie_further_apart_than_the_margin_never_match() -> None:
    """Not even where they are better on average: what is asked about is smaller than chance."""
    assert compare([20.0, 15.0, 22.0], 1.0, OPTIONS).verdict is None
    assert compare([20.0, 19.6, 20.3], 1.0, OPTIONS).verdict == "matches"
    assert compare([20.0, 15.0, 22.0] * 2 + [18.0, 19.0], 1.0, OPTIONS).verdict == "inconclusive"


def test_one_run_is_given_up_only_where_noise_cannot_explain_it() -> None:
    """Eleven margins and eleven spreads worse: yes. Eleven margins in a noise of two, or noise unknown: no."""
    assert compare([-11.0], 1.0, OPTIONS, noise=1.0).verdict == "worse"
    assert compare([-11.0], 1.0, OPTIONS, noise=2.0).verdict is None
    assert compare([-11.0], 1.0, OPTIONS).verdict is None
    assert compare([-11.0, -9.0], 1.0, OPTIONS, noise=1.0).verdict is None


@pytest.mark.parametrize("examples", [10, 50, 360, 1000])
def test_the_step_of_a_rate_is_found(examples: int) -> None:
    """One example's share, from values as float32."""
    rng = np.random.default_rng(examples)
    values = (rng.binomial(examples, 0.9, 30) / examples).astype(np.float32)
    assert metric_step(values.tolist()) == pytest.approx(1 / examples, rel=0.01)


def test_a_continuous_metric_has_no_step() -> None:
    """A loss moves freely; a constant tells nothing."""
    rng = np.random.default_rng(0)
    found = [metric_step((0.4 + 0.05 * rng.standard_normal(12)).tolist()) for _ in range(500)]
    assert np.mean(np.array(found) > 1e-3) < 0.01
    assert metric_step([1.0, 1.0]) == 0.0 and metric_step([]) == 0.0


@pytest.mark.parametrize("tails", TAILS)
@pytest.mark.parametrize("chance", [1.0, 0.7, 0.5, 0.33, 0.25, 0.1])
@pytest.mark.parametrize("spread", [0.1, 0.3, 0.6, 1.0])
def test_a_prior_from_validation_examples_keeps_the_error_rate(tails: str, chance: float, spread: float) -> None:
    """Whatever share of the seeds' spread chance over the examples explains, a tenth of it included."""
    known = {"example_spread": chance * spread, "moderated": True}
    assert verdicts(-1.0 + spread * noise(tails), **known)["matches"] <= 0.05
    assert verdicts(-2.0 + spread * noise(tails), **known)["matches"] <= 0.005
    assert verdicts(spread * noise(tails), **known)["worse"] <= 0.025


@pytest.mark.parametrize("spread", [0.3, 0.4, 0.5])
def test_validation_examples_settle_identical_configurations_with_fewer_seeds(spread: float) -> None:
    """Where chance explains the spread, more of them are settled at three seeds, and as many in the end."""
    first_look = JudgeOptions(minimum_seeds=3, maximum_seeds=8)
    seen = (spread * noise("normal"))[:, :3]
    _, plain = bounds(seen, first_look)
    _, moderated = bounds(seen, first_look, example_spread=spread, moderated=True)
    open_plain, open_moderated = ((seen.mean(axis=-1) - half <= -1.0).mean() for half in (plain, moderated))
    assert open_moderated < 0.85 * open_plain
    assert verdicts(spread * noise("normal"), example_spread=spread, moderated=True)["matches"] > 0.9

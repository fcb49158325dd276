"""Runs compared validation example by validation example."""

from __future__ import annotations

import math

import numpy as np
import pytest

from autotune.judge.examples import agreement
from autotune.judge.noninferiority import compare
from autotune.records import Configuration, ExampleScores, JudgeOptions, Measurement, Outcome

OPTIONS = JudgeOptions()


def run(scores: list[float] | None, total: int | None = None, digest: str = "a") -> Measurement:
    examples = None if scores is None else ExampleScores(scores=tuple(scores), total=total, digest=digest)
    return Measurement(
        number=0, purpose="quality", configuration=Configuration(), outcome=Outcome.OK, examples=examples
    )


def test_agreement_and_standard_error_of_a_pair() -> None:
    """One of four examples flips: 75% the same, and s / sqrt(n) of the differences."""
    found = agreement([(run([1.0, 1.0, 0.0, 1.0], 4), run([1.0, 0.0, 0.0, 1.0], 4))])
    assert found is not None and found.examples == 4 and found.same == 0.75
    assert found.spread == pytest.approx(math.sqrt(np.var([0, -1, 0, 0]) / 4))


def test_a_larger_validation_set_than_was_looked_at_scatters_less() -> None:
    """The spread is that of the whole set's mean; without its size there is none."""
    pair = (run([1.0, 1.0, 0.0, 1.0], 400), run([1.0, 0.0, 0.0, 1.0], 400))
    found = agreement([pair])
    assert found is not None and found.spread == pytest.approx(math.sqrt(np.var([0, -1, 0, 0]) / 400))
    unknown = agreement([(run([1.0, 0.0]), run([1.0, 1.0]))])
    assert unknown is not None and unknown.spread is None


def test_other_examples_are_not_compared() -> None:
    """A validation set in another order, or none at all."""
    assert agreement([(run([1.0], 1), run([1.0], 1, digest="b"))]) is None
    assert agreement([(run(None), run([1.0], 1))]) is None


def test_losses_agree_on_nothing_exactly() -> None:
    """Scores that are no hits and misses have a spread, but no share that is the same."""
    found = agreement([(run([0.31, 0.2], 2), run([0.3, 0.2], 2))])
    assert found is not None and found.same is None and found.spread is not None and found.spread > 0.0


def test_three_seeds_that_agree_by_luck_do_not_settle_what_single_examples_leave_open() -> None:
    """100 examples, 4 in 100 flip: a mean over them scatters by 0.02, twice the margin, whatever three seeds say."""
    lucky = [0.0, 0.0, 0.0]
    assert compare(lucky, 0.01, OPTIONS).verdict == "matches"
    assert compare(lucky, 0.01, OPTIONS, example_spread=0.02).verdict is None


def test_the_floor_lowers_wrong_matches_on_small_validation_sets() -> None:
    """Simulated hits and misses on 400 examples, a candidate worse by exactly the margin: at most 5% are called a match."""
    rng = np.random.default_rng(11)
    count, pairs, margin, wrong = 2000, 3, 0.02, {False: 0, True: 0}
    flips = 0.04  # share of examples on which the two differ
    better = (flips - margin) / 2
    for _ in range(count):
        draws = rng.choice([1.0, -1.0, 0.0], size=(pairs, 400), p=[better, better + margin, 1 - flips])
        differences = list(draws.mean(axis=1))
        spread = math.sqrt(float(draws.var(axis=1).mean()) / 400)
        for floor in (False, True):
            verdict = compare(
                differences, margin, OPTIONS, step=1 / 400, example_spread=spread if floor else 0.0
            ).verdict
            wrong[floor] += verdict == "matches"
    assert wrong[True] <= wrong[False] and wrong[True] / count <= 0.05

"""Which quality run comes next."""

from __future__ import annotations

from autotune.prove import next_run, ranked
from autotune.records import Board, Configuration, JudgeOptions, Outcome, SearchSpace, Standing
from tests.unit.builders import BASELINE, BFLOAT16

OPTIONS = JudgeOptions()
SPACE = SearchSpace(
    baseline=BASELINE,
    policies=("float32", "mixed_bfloat16"),
    batch_sizes=(32, 64, 128, 256),
    learning_rate_rules=("1", "sqrt", "linear"),
)


def standing(configuration: Configuration, speed: float | None = 1.0, **more: object) -> Standing:
    values = {
        "outcome": Outcome.OK,
        "relative_speed": speed,
        "relative_speed_low": speed,
        "relative_speed_high": speed,
        **more,
    }
    return Standing(configuration=configuration, **values)  # type: ignore[arg-type]


def board(*standings: Standing) -> Board:
    return Board(baseline=BASELINE, standings=(standing(BASELINE, proof="matches"), *standings))


def test_nothing_faster_needs_no_proof() -> None:
    """Accuracy runs are dear: none is made when nothing could be recommended."""
    assert next_run(SPACE, board(standing(BFLOAT16, 1.01)), set(), OPTIONS) is None
    assert (
        next_run(SPACE, board(standing(BFLOAT16, 2.0, outcome=Outcome.NON_FINITE, proof="failed")), set(), OPTIONS)
        is None
    )


def test_the_leader_at_the_written_batch_is_proven_first() -> None:
    """Baseline, then the fastest with equal updates over paired seeds, before any larger batch."""
    found = board(standing(BFLOAT16, 2.0), standing(BASELINE.but(batch_size=64), 3.0))
    done: set[tuple[str, int]] = set()
    order = []
    for _ in range(6):
        run = next_run(SPACE, found, done, OPTIONS)
        assert run is not None
        order.append((run.configuration, run.seed))
        done.add((run.configuration.key, run.seed))
    assert order == [(BASELINE, 0), (BFLOAT16, 0), (BFLOAT16, 1), (BASELINE, 1), (BFLOAT16, 2), (BASELINE, 2)]


def test_every_rule_is_tried_at_the_first_rung_and_the_best_above() -> None:
    """Square root, linear, written; the next batch starts with the one that did best."""
    double, four = BASELINE.but(batch_size=64), BASELINE.but(batch_size=128)
    done = {(BASELINE.key, 0)}
    factors = []
    known: dict[Configuration, Standing] = {double: standing(double, 2.0), four: standing(four, 4.0)}
    gains = {2.0**0.5: 1.5, 2.0: 1.8, 1.0: 1.2}
    for _ in range(3):
        run = next_run(SPACE, board(*known.values()), done, OPTIONS)
        assert run is not None and run.configuration.batch_size == 64
        factor = run.configuration.learning_rate_factor
        factors.append(factor)
        done.add((run.configuration.key, 0))
        known[run.configuration] = standing(run.configuration, 2.0, seeds=1, time_to_quality=gains[factor])
    assert factors == [2.0**0.5, 2.0, 1.0]
    run = next_run(SPACE, board(*known.values()), done, OPTIONS)
    assert run is not None and (run.configuration.batch_size, run.configuration.learning_rate_factor) == (128, 4.0)


def test_the_ladder_is_left_after_two_worse_rungs() -> None:
    """Batch 256 is not trained when 64 and 128 both learn worse."""
    done = {(BASELINE.key, 0)}
    found = [standing(BASELINE.but(batch_size=size), size / 32) for size in (64, 128, 256)]
    for size in (64, 128):
        for factor in SPACE.learning_rate_factors(size):
            variant = BASELINE.but(batch_size=size, learning_rate_factor=factor)
            done.add((variant.key, 0))
            found = [s for s in found if s.configuration != variant]
            found.append(standing(variant, size / 32, proof="worse", seeds=1))
    assert next_run(SPACE, board(*found), done, OPTIONS) is None


def test_heirs_follow_when_the_leader_fails() -> None:
    """The next best screened configuration is proven after the best turned out worse."""
    double = BASELINE.but(batch_size=64, learning_rate_factor=2.0)
    found = board(
        standing(BFLOAT16, 1.5, seeds=3, proof="matches", time_to_quality=1.5),
        standing(BASELINE.but(batch_size=64), 3.0, proof="worse", seeds=1),
        standing(double, 3.0, seeds=1, time_to_quality=2.5),
        standing(BASELINE.but(batch_size=64, learning_rate_factor=2.0**0.5), 3.0, proof="worse", seeds=1),
    )
    done = {(c.key, s) for c in (BASELINE, BFLOAT16) for s in range(3)}
    done |= {(s.configuration.key, 0) for s in found.standings}
    run = next_run(SPACE, found, done, OPTIONS)
    assert run is not None and (run.configuration, run.seed, run.why) == (double, 1, "prove")


def test_a_proof_that_could_not_gain_is_not_made() -> None:
    """Less than 3% more than the proven answer is not worth its time."""
    double = BASELINE.but(batch_size=64, learning_rate_factor=2.0)
    found = board(
        standing(BFLOAT16, 1.5, seeds=3, proof="matches", time_to_quality=1.5),
        standing(double, 1.5, seeds=1, time_to_quality=1.52),
    )
    done = {(c.key, s) for c in (BASELINE, BFLOAT16, double) for s in range(3)}
    assert next_run(SPACE, found, done, OPTIONS) is None
    assert [s.configuration for s in ranked(found, OPTIONS)] == [double, BFLOAT16]


def test_a_batch_that_the_gradient_noise_rules_out_is_not_trained() -> None:
    """Twice the samples a second and three times the samples needed is no gain; what is likely to pay still is tried."""
    double, four = BASELINE.but(batch_size=64), BASELINE.but(batch_size=128)
    found = board(standing(double, 2.0), standing(four, 4.0))
    done = {(BASELINE.key, 0)}
    run = next_run(SPACE, found, done, OPTIONS, lambda batch: {64: 1 / 3, 128: 0.9}[batch or 0])
    assert run is not None and run.configuration.batch_size == 128
    assert next_run(SPACE, found, done, OPTIONS, lambda batch: 0.1) is None

"""The contract of a strategy: give ``check_strategy`` a factory and it plays many searches.

from autotune.testing.strategies import check_strategy

def test_contract():
    check_strategy(lambda seed: MyStrategy(seed=seed))
"""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product

from autotune.records import Board, Configuration, LossScale, Outcome, Plan, SearchSpace, Standing
from autotune.strategies.protocol import Strategy

_LIMIT = 2000


def example_plans() -> tuple[Plan, ...]:
    """Plans of several shapes: ordinary, everything fixed, a GPU's, and without a known batch."""
    baseline = Configuration(batch_size=32)
    ordinary = SearchSpace(
        baseline=baseline,
        policies=("float32", "mixed_bfloat16", "mixed_float16"),
        batch_sizes=(32, 64, 128),
        loss_scales=(None, LossScale(initial=1024.0)),
        steps_per_execution=(1, 4),
        jit_compile=(False, True),
        learning_rate_rules=("1", "sqrt", "linear"),
    )
    strict = baseline.but(tf32=False)
    return (
        Plan(space=ordinary, hopeless_policies=("mixed_float16",)),
        Plan(space=SearchSpace(baseline=baseline, policies=("float32",), batch_sizes=(32,))),
        Plan(
            space=SearchSpace(
                baseline=strict, policies=("float32", "mixed_float16"), batch_sizes=(32,), tf32=(False, True)
            )
        ),
        Plan(space=SearchSpace(baseline=Configuration(), policies=("float32", "mixed_bfloat16"), batch_sizes=(None,))),
    )


def check_strategy(make: Callable[[int], Strategy], *, rounds: int = 3) -> None:
    """Plays searches with made-up results and checks every proposal.

    A strategy proposes points of the space only, none twice, never the baseline; it ends; the same board gives the same
    proposal, from a fresh instance too; and every outcome of a trial and every verdict leaves it working.

    Args:
        make: Makes the strategy from a seed.
        rounds: Searches for each plan and kind of result.

    Raises:
        AssertionError: The contract is broken; the message says how.
    """
    for plan, seed in product(example_plans(), range(rounds)):
        for outcomes in ((Outcome.OK,), tuple(Outcome), (Outcome.CRASHED,)):
            _play(make, plan, random.Random(seed), outcomes, seed)


def _play(
    make: Callable[[int], Strategy], plan: Plan, chance: random.Random, outcomes: tuple[Outcome, ...], seed: int
) -> None:
    points = set(plan.space.configurations())
    baseline = plan.space.baseline
    standings = [Standing(configuration=baseline, outcome=Outcome.OK, relative_speed=1.0, proof="matches")]
    strategy = make(seed)
    for _ in range(_LIMIT):
        board = Board(baseline=baseline, standings=tuple(standings))
        proposal = strategy.propose(plan, board)
        assert proposal == make(seed).propose(plan, board), "the same board must give the same proposal"
        if proposal is None:
            return
        assert proposal in points, f"{proposal} is no point of the space"
        assert board.of(proposal) is None, f"{proposal} was proposed twice"
        standings.append(_result(proposal, chance, outcomes))
    raise AssertionError(f"no end after {_LIMIT} proposals")


def _result(point: Configuration, chance: random.Random, outcomes: tuple[Outcome, ...]) -> Standing:
    outcome = chance.choice(outcomes)
    if outcome is not Outcome.OK:
        return Standing(configuration=point, outcome=outcome, proof="failed")
    speed = chance.uniform(0.2, 4.0)
    proof = chance.choice(("open", "matches", "worse", "inconclusive"))
    return Standing(
        configuration=point,
        outcome=outcome,
        relative_speed=speed,
        relative_speed_low=0.98 * speed,
        relative_speed_high=1.02 * speed,
        proof=proof,
        time_to_quality=None if proof == "open" else chance.uniform(0.2, 4.0),
        seeds=0 if proof == "open" else 3,
    )

"""The contract of a strategy: give ``check_strategy`` a factory and it plays many searches.

from autotune.testing.strategies import check_strategy

def test_contract():
    check_strategy(lambda seed: MyStrategy(seed=seed))
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import product

from autotune.records import BASELINE_POLICY, Board, Configuration, LossScale, Outcome, Plan, SearchSpace, Standing
from autotune.strategies.protocol import Strategy

_LIMIT = 2000
# Share of the policies' points after which the prover puts a configuration of its own on the board.
_OTHERS = 0.2


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
    proposal, from a fresh instance too; and every outcome of a trial and every verdict leaves it working. As in a real
    search it is asked again once a verdict has changed, and finds configurations on the board that it never proposed.

    Args:
        make: Makes the strategy from a seed.
        rounds: Searches for each plan and kind of result.

    Raises:
        AssertionError: The contract is broken; the message says how.
    """
    name = getattr(make(0), "name", None)
    assert isinstance(name, str) and name, "a strategy has a name"
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
        proposal = _propose(strategy, plan, board)
        # A fresh instance has no memory of what the other was asked before.
        assert proposal == _propose(make(seed), plan, board), "the same board must give the same proposal"
        if proposal is None:
            unsettled = [index for index, standing in enumerate(standings) if standing.alive and standing.seeds == 0][
                1:
            ]
            if not unsettled:
                return
            index = chance.choice(unsettled)
            standings[index] = _settled(standings[index], chance)
            continue
        assert proposal != baseline, "the baseline was proposed"
        assert proposal.but(float32_layers=()) in points, f"{proposal} is no point of the space"
        layers = {standing.configuration.float32_layers for standing in board.standings}
        assert proposal.float32_layers in layers, f"{proposal} keeps layers in float32 that nobody asked for"
        assert board.of(proposal) is None, f"{proposal} was proposed twice"
        standings.append(_result(proposal, chance, outcomes))
        if chance.random() < _OTHERS and proposal.policy != BASELINE_POLICY:
            variant = proposal.but(float32_layers=("dense",))
            standings.append(_settled(_result(variant, chance, (Outcome.OK,)), chance))
    raise AssertionError(f"no end after {_LIMIT} proposals")


def _propose(strategy: Strategy, plan: Plan, board: Board) -> Configuration | None:
    before = random.getstate()
    proposal = strategy.propose(plan, board)
    assert random.getstate() == before, "randomness is the strategy's own: it left the interpreter's generator changed"
    return proposal


def _result(point: Configuration, chance: random.Random, outcomes: tuple[Outcome, ...]) -> Standing:
    """The standing of a point just timed."""
    outcome = chance.choice(outcomes)
    if outcome is not Outcome.OK:
        return Standing(configuration=point, outcome=outcome, proof="failed")
    speed = chance.uniform(0.2, 4.0)
    return Standing(
        configuration=point,
        outcome=outcome,
        relative_speed=speed,
        relative_speed_low=0.98 * speed,
        relative_speed_high=1.02 * speed,
    )


def _settled(standing: Standing, chance: random.Random) -> Standing:
    """The standing after its proof."""
    return replace(
        standing,
        proof=chance.choice(("matches", "worse", "inconclusive", "failed")),
        time_to_quality=chance.choice((None, chance.uniform(0.2, 4.0))),
        seeds=3,
    )

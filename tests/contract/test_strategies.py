"""Every shipped strategy keeps the contract, and the contract catches those that break it."""

from __future__ import annotations

from typing import ClassVar

import pytest

from autotune.errors import UsageError
from autotune.records import Board, Configuration, Outcome, Plan, Standing
from autotune.strategies import create, names
from autotune.testing.strategies import check_strategy, example_plans


@pytest.mark.parametrize("name", ["ladder", "tpe", "random", "exhaustive"])
def test_the_contract(name: str) -> None:
    """In the space, none twice, ends, pure, survives failures, never the baseline."""
    assert name in names()
    check_strategy(lambda seed: create(name, seed=seed), rounds=1 if name == "tpe" else 3)


class Again:
    """Proposes the same point for ever."""

    name: ClassVar[str] = "again"

    def propose(self, plan: Plan, board: Board) -> Configuration | None:
        return board.baseline.but(policy="mixed_bfloat16")


class Elsewhere:
    """Proposes what is not in the space."""

    name: ClassVar[str] = "elsewhere"

    def propose(self, plan: Plan, board: Board) -> Configuration | None:
        return board.baseline.but(batch_size=7)


@pytest.mark.parametrize(("kind", "said"), [(Again, "twice"), (Elsewhere, "no point of the space")])
def test_the_contract_catches(kind: type, said: str) -> None:
    """A suite that passes everything would protect nothing."""
    with pytest.raises(AssertionError, match=said):
        check_strategy(lambda seed: kind())


def test_unknown_strategies_are_named() -> None:
    """With those that there are."""
    with pytest.raises(UsageError, match="unknown strategy 'magic'") as caught:
        create("magic")
    assert "ladder" in caught.value.hint


def test_the_ladder_goes_on_with_the_next_policy_when_a_proof_fails() -> None:
    """bfloat16 was fastest but learned worse: the knobs are then climbed on float32."""
    plan = example_plans()[0]
    baseline = plan.space.baseline
    board = Board(
        baseline=baseline,
        standings=(
            Standing(configuration=baseline, outcome=Outcome.OK, relative_speed=1.0, proof="matches"),
            Standing(
                configuration=baseline.but(policy="mixed_bfloat16"),
                outcome=Outcome.OK,
                relative_speed=2.0,
                proof="worse",
                seeds=3,
            ),
            Standing(configuration=baseline.but(policy="mixed_float16"), outcome=Outcome.NON_FINITE, proof="failed"),
        ),
    )
    proposal = create("ladder").propose(plan, board)
    assert proposal is not None and proposal.policy == "float32" and proposal.steps_per_execution == 4

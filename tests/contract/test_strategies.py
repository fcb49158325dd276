"""Every shipped strategy keeps the contract, and the contract catches those that break it."""

from __future__ import annotations

import random
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


class First:
    """A strategy that keeps the contract; those below break it in one way each."""

    name: ClassVar[str] = "first"

    def propose(self, plan: Plan, board: Board) -> Configuration | None:
        return next((p for p in plan.space.configurations() if board.of(p) is None), None)


class Nameless(First):
    name: ClassVar[str] = ""


class Again(First):
    def propose(self, plan: Plan, board: Board) -> Configuration | None:
        return next((p for p in plan.space.configurations() if p != board.baseline), None)


class Baseline(First):
    def propose(self, plan: Plan, board: Board) -> Configuration | None:
        return board.baseline


class Elsewhere(First):
    def propose(self, plan: Plan, board: Board) -> Configuration | None:
        return board.baseline.but(batch_size=7)


class Remembers(First):
    asked = 0

    def propose(self, plan: Plan, board: Board) -> Configuration | None:
        self.asked += 1
        return super().propose(plan, board) if self.asked % 2 else None


class Rolls(First):
    """Draws from the generator that all share."""

    def propose(self, plan: Plan, board: Board) -> Configuration | None:
        return random.choice([p for p in plan.space.configurations() if board.of(p) is None] or [None])


class Hopes(First):
    """Takes for granted that what was tried was timed."""

    def propose(self, plan: Plan, board: Board) -> Configuration | None:
        assert all(s.relative_speed is not None for s in board.standings), "not every standing has a speed"
        return super().propose(plan, board)


class Trusts(First):
    """Takes for granted that what stands on the board is a point of the space."""

    def propose(self, plan: Plan, board: Board) -> Configuration | None:
        points = list(plan.space.configurations())
        assert all(s.configuration in points for s in board.standings), "a standing is no point"
        return super().propose(plan, board)


def test_the_contract_lets_a_right_one_pass() -> None:
    """The smallest strategy that keeps it."""
    check_strategy(lambda seed: First(), rounds=1)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (Nameless, "has a name"),
        (Again, "proposed twice"),
        (Baseline, "the baseline was proposed"),
        (Elsewhere, "no point of the space"),
        (Remembers, "the same board"),
        (Rolls, "interpreter's generator"),
        (Hopes, "not every standing has a speed"),
        (Trusts, "a standing is no point"),
    ],
)
def test_the_contract_catches(kind: type[First], said: str) -> None:
    """A suite that passes everything would protect nothing."""
    with pytest.raises(AssertionError, match=said):
        check_strategy(lambda seed: kind())


def test_the_contract_catches_a_strategy_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points that never repeat and never end, in a space that has no end either."""
    monkeypatch.setattr("autotune.testing.strategies._LIMIT", 20)
    with pytest.raises(AssertionError, match="no end after 20 proposals"):
        check_strategy(lambda seed: First())


@pytest.mark.parametrize("name", ["tpe", "random"])
def test_the_seed_decides(name: str) -> None:
    """Other seeds, other points: the seed given to the strategy is used."""
    plan = example_plans()[0]
    board = Board(baseline=plan.space.baseline)
    assert len({create(name, seed=seed).propose(plan, board) for seed in range(6)}) > 1


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

"""The ladder: what it times on a made-up machine, in which order, and where it stops."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

from autotune.records import Board, Configuration, LossScale, Outcome, Plan, Proof, SearchSpace, Standing
from autotune.strategies import create

BASELINE = Configuration(batch_size=32)
BFLOAT16, FLOAT16 = BASELINE.but(policy="mixed_bfloat16"), BASELINE.but(policy="mixed_float16")
LOW, FIXED = LossScale(initial=1024.0), LossScale(mode="fixed", initial=1024.0, growth_steps=None)
PLAN = Plan(
    space=SearchSpace(
        baseline=BASELINE,
        policies=("float32", "mixed_bfloat16", "mixed_float16"),
        batch_sizes=(32, 64, 128, 256, 512),
        loss_scales=(None, LOW, FIXED),
        steps_per_execution=(1, 4, 16, 64),
        jit_compile=(False, True),
        learning_rate_rules=("1", "sqrt", "linear"),
    )
)
SPEEDS = {"float32": 1.0, "mixed_bfloat16": 1.7, "mixed_float16": 0.3}
Machine = Callable[[Configuration], Standing]


def machine(
    speeds: Mapping[str, float] = SPEEDS, *, executions: float = 1.0, xla: float = 1.0, largest: int = 128
) -> Machine:
    """A machine where a policy has a speed, knobs have factors and a batch pays up to a size."""

    def standing(point: Configuration) -> Standing:
        speed = speeds[point.policy] * (executions if point.steps_per_execution > 1 else 1.0)
        speed *= (xla if point.jit_compile else 1.0) * min(point.batch_size or 32, largest) / 32
        return Standing(configuration=point, outcome=Outcome.OK, relative_speed=speed)

    return standing


def broken(point: Configuration, outcome: Outcome, speed: float | None = None) -> Standing:
    return Standing(configuration=point, outcome=outcome, relative_speed=speed, proof="failed")


def board(*standings: Standing) -> Board:
    first = Standing(configuration=BASELINE, outcome=Outcome.OK, relative_speed=1.0, proof="matches")
    return Board(baseline=BASELINE, standings=(first, *standings))


def climbed(run: Machine, *known: Standing, plan: Plan = PLAN) -> list[Configuration]:
    """What the ladder times, in order, until it has no more to time."""
    now, timed = board(*known), []
    while (point := create("ladder").propose(plan, now)) is not None:
        timed.append(point)
        now = board(*now.standings[1:], run(point))
    return timed


def test_xla_is_kept_only_where_two_trials_leave_no_doubt() -> None:
    """What is timed after it would be compiled too, so that luck in a short trial would cost twice."""

    def run(low: float) -> list[Configuration]:
        usual = machine(xla=1.1)

        def noisy(point: Configuration) -> Standing:
            known = usual(point)
            speed = known.relative_speed or 0.0
            return replace(known, relative_speed_low=speed * low, relative_speed_high=speed / low)

        return climbed(noisy)

    assert run(0.99)[-1].jit_compile
    assert not run(0.90)[-1].jit_compile
    assert any(point.jit_compile for point in run(0.90))


def test_steps_per_execution_are_climbed_on_once_xla_has_made_the_step_shorter() -> None:
    """Without XLA more steps a call bring nothing here, with it they do."""
    usual = machine(xla=2.0)

    def run(point: Configuration) -> Standing:
        known = usual(point)
        factor = 1.0 + 0.2 * math.log2(point.steps_per_execution) if point.jit_compile else 1.0
        return replace(known, relative_speed=(known.relative_speed or 0.0) * factor)

    assert climbed(run)[-1].steps_per_execution == 64


def proven(standing: Standing, proof: Proof) -> Standing:
    return replace(standing, proof=proof, seeds=3)


def test_policies_then_knobs_then_batches() -> None:
    """Every policy as written, then each knob on the fastest, then its batches until they pay no more."""
    fast = BFLOAT16.but(steps_per_execution=4)
    assert climbed(machine(executions=1.2, xla=0.6)) == [
        BFLOAT16,
        FLOAT16,
        fast,
        BFLOAT16.but(steps_per_execution=16),  # four times the steps bring nothing more: 64 are not tried
        fast.but(jit_compile=True),
        fast.but(batch_size=64),
        fast.but(batch_size=128),
        fast.but(batch_size=256),  # no faster: 512 is not tried
    ]


def test_a_knob_that_brings_little_is_left_alone() -> None:
    """Batches are climbed with the knobs as written."""
    timed = climbed(machine(executions=1.015, xla=1.015))
    batches = [point for point in timed if point.batch_size != 32]
    assert batches and {(point.steps_per_execution, point.jit_compile) for point in batches} == {(1, False)}


def test_the_rate_and_a_living_loss_scale_are_left_alone() -> None:
    """Neither changes the time that a step takes."""
    timed = climbed(machine({**SPEEDS, "mixed_float16": 2.5}))
    assert {point.learning_rate_factor for point in timed} == {1.0} and {p.loss_scale for p in timed} == {None}
    assert [point.batch_size for point in timed if point.policy == "mixed_float16"][-1] == 256


def test_nothing_faster_than_float32() -> None:
    """The knobs and batches of the script as written are climbed all the same."""
    timed = climbed(machine({**SPEEDS, "mixed_bfloat16": 0.9}, xla=2.0))
    assert timed[-1] == BASELINE.but(jit_compile=True, batch_size=256)


def test_a_batch_that_does_not_fit_ends_the_ladder() -> None:
    """Out of memory at 64: nothing larger is tried."""

    def run(point: Configuration) -> Standing:
        fits = machine()(point)
        return fits if point.batch_size == 32 else broken(point, Outcome.OUT_OF_MEMORY)

    assert climbed(run)[-1].batch_size == 64


def test_other_loss_scales_where_float16_is_fastest_and_its_updates_fail() -> None:
    """Each scale is timed until one lives; knobs and batches are then climbed with it."""
    run = machine({**SPEEDS, "mixed_float16": 2.5}, largest=32)
    timed = climbed(run, run(BFLOAT16), broken(FLOAT16, Outcome.NO_UPDATES, 2.5))
    assert timed[0] == FLOAT16.but(loss_scale=LOW)
    assert {(point.policy, point.loss_scale) for point in timed[1:]} == {("mixed_float16", LOW)}
    timed = climbed(
        run,
        run(BFLOAT16),
        broken(FLOAT16, Outcome.NO_UPDATES, 2.5),
        broken(FLOAT16.but(loss_scale=LOW), Outcome.NON_FINITE, 2.5),
    )
    assert timed[0] == FLOAT16.but(loss_scale=FIXED)


def test_no_scale_cures_it() -> None:
    """All of them fail: the next best policy is climbed."""
    run = machine({**SPEEDS, "mixed_float16": 2.5})
    failed = [broken(FLOAT16.but(loss_scale=scale), Outcome.NO_UPDATES, 2.5) for scale in (None, LOW, FIXED)]
    assert {point.policy for point in climbed(run, run(BFLOAT16), *failed)} == {"mixed_bfloat16"}


def test_float16_is_not_cured_where_it_would_not_win() -> None:
    """Slower than another policy, never timed, or failed for another reason: no scale is tried."""
    run = machine({**SPEEDS, "mixed_float16": 2.5})
    slow = broken(FLOAT16, Outcome.NO_UPDATES, 1.6)
    for standing in (
        slow, broken(FLOAT16, Outcome.NON_FINITE), broken(FLOAT16, Outcome.CRASHED, 2.5), proven(run(FLOAT16), "worse"),
    ):  # fmt: skip
        assert {point.policy for point in climbed(run, run(BFLOAT16), standing)} == {"mixed_bfloat16"}


def test_after_a_failed_proof_the_next_policy_is_climbed() -> None:
    """bfloat16 was fastest and learned worse: knobs and batches are then those of the next policy."""
    run = machine({**SPEEDS, "mixed_float16": 1.3}, largest=32)
    first = climbed(run)
    assert {point.policy for point in first[2:]} == {"mixed_bfloat16"}
    for proof in ("worse", "failed", "inconclusive"):
        known = [proven(run(BFLOAT16), proof), *(run(point) for point in first[1:])]
        assert {point.policy for point in climbed(run, *known)} == {"mixed_float16"}


def test_a_smaller_batch_only_where_it_is_in_the_space() -> None:
    """Batches named by the user are timed downwards too."""
    plan = replace(PLAN, space=replace(PLAN.space, batch_sizes=(32, 8, 16)))
    assert [p.batch_size for p in climbed(machine(), plan=plan) if p.batch_size != 32] == [16, 8]


def test_a_batch_that_cannot_be_seen_is_left_alone() -> None:
    """Everything else is climbed."""
    unseen = BASELINE.but(batch_size=None)
    plan = replace(PLAN, space=replace(PLAN.space, baseline=unseen, batch_sizes=(None,)))
    now = Board(baseline=unseen, standings=(Standing(configuration=unseen, relative_speed=1.0, proof="matches"),))
    timed = []
    while (point := create("ladder").propose(plan, now)) is not None:
        timed.append(point)
        now = replace(now, standings=(*now.standings, machine()(point)))
    assert {point.batch_size for point in timed} == {None} and len(timed) >= 4


def test_a_larger_loss_scale_where_float16_learns_worse_and_the_gradients_allow_one() -> None:
    """Small gradients are lost at Keras' own scale; where no larger one is allowed, no other scale is tried."""
    run = machine({**SPEEDS, "mixed_float16": 2.5}, largest=32)
    worse = proven(run(FLOAT16), "worse")
    assert all(point.policy != "mixed_float16" for point in climbed(run, run(BFLOAT16), worse))
    high = LossScale(initial=2.0**20)
    plan = replace(PLAN, space=replace(PLAN.space, loss_scales=(None, high, FIXED)))
    timed = climbed(run, run(BFLOAT16), worse, plan=plan)
    assert timed[0] == FLOAT16.but(loss_scale=high)
    assert FLOAT16.but(loss_scale=FIXED) not in timed


def test_a_proof_that_stays_open_has_a_sure_knob_timed_meanwhile() -> None:
    """More steps a call on the baseline need no proof: timed once four seeds have not settled the faster policy, not before."""
    speeds = {"float32": 1.0, "mixed_bfloat16": 1.2, "mixed_float16": 0.3}
    plan = replace(PLAN, space=replace(PLAN.space, batch_sizes=(32,), jit_compile=(False,)))
    run = machine(speeds, executions=1.2)
    bfloat16 = run(BFLOAT16)
    early = climbed(run, replace(bfloat16, seeds=3), run(FLOAT16), plan=plan)
    late = climbed(run, replace(bfloat16, seeds=4), run(FLOAT16), plan=plan)
    assert BASELINE.but(steps_per_execution=4) not in early
    assert late[:2] == [BASELINE.but(steps_per_execution=4), BASELINE.but(steps_per_execution=16)]

"""The search on a made-up machine whose truth is known: what it finds, what it spends, and what it leaves alone."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from autotune.budget import Budget
from autotune.errors import NoisyMachineError, WorkloadError
from autotune.judge.board import cases
from autotune.progress import ignore
from autotune.records import Configuration, JudgeOptions, LayerInfo, Measurement, Outcome, Plan, SearchSpace
from autotune.search import Search
from autotune.store import RunFolder, Study
from autotune.strategies.registry import create
from autotune.testing.simulated import Behaviour, SimulatedBench, VirtualClock
from tests.unit.builders import BASELINE, BFLOAT16, FLOAT16, workload

LAYERS = tuple(
    LayerInfo(path=path, type="Dense", variable_dtype="float32", compute_dtype="float32")
    for path in ("first", "second", "third", "fourth", "last")
)
WORKLOAD = workload(samples_per_epoch=4000, steps_per_epoch=125, epochs=5, layers=LAYERS, model="net")
POLICIES = SearchSpace(baseline=BASELINE, policies=("float32", "mixed_bfloat16", "mixed_float16"), batch_sizes=(32,))
World = Callable[[Configuration], Behaviour]


def by_policy(**behaviours: Behaviour) -> World:
    """A world where the policy alone decides; what is not given is as float32, 10 ms a step."""
    plain = behaviours.get("float32", Behaviour(step_time_s=0.010))
    return lambda configuration: behaviours.get(configuration.policy, plain)


class Machine:
    """A made-up machine and a search on it."""

    def __init__(
        self,
        folder: Path,
        world: World,
        *,
        space: SearchSpace = POLICIES,
        budget_s: float | None = 600.0,
        recalled: Sequence[Measurement] = (),
        seed: int = 0,
        pace: Callable[[float], float] = lambda time_s: 1.0,
        room_bytes: float = math.inf,
        first: tuple[Configuration, ...] = (),
    ) -> None:
        self.clock = VirtualClock()
        self.bench = SimulatedBench(world, WORKLOAD, self.clock, seed, pace)
        self.folder = RunFolder(folder)
        self.search = Search(
            bench=self.bench,
            plan=Plan(space=space, first=first),
            strategy=create("ladder"),
            workload=WORKLOAD,
            options=JudgeOptions(),
            folder=self.folder,
            study=Study(folder),
            budget=Budget(budget_s, self.clock),
            listener=ignore,
            recalled=recalled,
            room_bytes=room_bytes,
        )

    def run(self) -> Configuration | None:
        """Searches, duels, and gives the answer; None where the baseline is kept."""
        with self.folder:
            self.search.run()
            self.search.close()
        return self.answer()

    def answer(self) -> Configuration | None:
        """What would be recommended now; None to keep the baseline."""
        answer = self.search.answer()
        return None if answer == self.search.baseline else answer

    def asked(self, purpose: str) -> list[Configuration]:
        """Configurations of all trials of a kind, in order."""
        return [configuration for what, configuration, _ in self.bench.asked if what == purpose]


def test_the_fastest_policy_that_matches_wins_after_a_duel(tmp_path: Path) -> None:
    """The whole line: timed, proven over three seeds at least, compared in alternation."""
    machine = Machine(tmp_path / "run", by_policy(mixed_bfloat16=Behaviour(step_time_s=0.006)))
    assert machine.run() == BFLOAT16
    assert machine.asked("duel") == [BFLOAT16]
    assert machine.asked("quality").count(BFLOAT16) >= 3
    assert machine.search.open_questions == []


def test_speed_without_accuracy_is_worth_nothing(tmp_path: Path) -> None:
    """A policy twice as fast that learns clearly less is not the answer, nor is it proven over seeds without end."""
    world = by_policy(mixed_bfloat16=Behaviour(step_time_s=0.005, final=0.85))
    machine = Machine(tmp_path / "run", world)
    assert machine.run() is None
    standing = machine.search.board().of(BFLOAT16)
    assert standing is not None
    assert standing.proof == "worse"
    assert machine.asked("duel") == []
    assert machine.asked("quality").count(BFLOAT16) <= 4


def test_a_slow_policy_costs_a_few_chunks_and_no_accuracy_run(tmp_path: Path) -> None:
    """Hopelessness is certain at once."""
    world = by_policy(mixed_bfloat16=Behaviour(step_time_s=0.006), mixed_float16=Behaviour(step_time_s=0.05))
    machine = Machine(tmp_path / "run", world)
    assert machine.run() == BFLOAT16
    trial = next(m for m in machine.search.measurements if m.configuration == FLOAT16)
    assert sum(not chunk.warmup for chunk in trial.chunks) <= 6
    assert FLOAT16 not in machine.asked("quality")


def test_a_policy_that_fails_is_left_alone(tmp_path: Path) -> None:
    """One failure is data: no proof is tried, and the search goes on."""
    broken = Behaviour(step_time_s=0.004, outcome=Outcome.NON_FINITE, reason="its loss is not finite")
    machine = Machine(tmp_path / "run", by_policy(mixed_bfloat16=broken, mixed_float16=Behaviour(step_time_s=0.007)))
    assert machine.run() == FLOAT16
    assert machine.asked("quality").count(BFLOAT16) == 0


def test_an_heir_has_its_duel_when_the_leader_loses_the_lead_in_its_own(tmp_path: Path) -> None:
    """What was fast in a trial of its own and is not in alternation leaves room for the next best."""
    world = by_policy(
        mixed_bfloat16=Behaviour(step_time_s=0.005, in_alternation=1.7), mixed_float16=Behaviour(step_time_s=0.006)
    )
    machine = Machine(tmp_path / "run", world)
    machine.search.run()
    # The search proves the leader alone; the heir is proven here so that it may inherit.
    proven = Machine(tmp_path / "other", by_policy(mixed_float16=Behaviour(step_time_s=0.006)))
    assert proven.run() == FLOAT16
    machine.search.measurements.extend(
        replace(m, number=len(machine.search.measurements) + n)
        for n, m in enumerate(proven.search.measurements)
        if m.configuration == FLOAT16 and m.purpose == "quality"
    )
    machine.search.close()
    machine.folder.close()
    assert machine.asked("duel") == [BFLOAT16, FLOAT16]
    assert machine.answer() == FLOAT16


def test_the_soak_goes_to_what_wins_not_to_what_led_before_its_duel(tmp_path: Path) -> None:
    """Of two that are proven the one whose lead does not hold in alternation is not trained on with."""
    world = by_policy(
        mixed_bfloat16=Behaviour(step_time_s=0.005, in_alternation=1.9), mixed_float16=Behaviour(step_time_s=0.006)
    )
    machine = Machine(tmp_path / "run", world)
    machine.search.run()
    proven = Machine(tmp_path / "other", by_policy(mixed_float16=Behaviour(step_time_s=0.006)))
    proven.run()
    machine.search.measurements.extend(
        replace(m, number=len(machine.search.measurements) + n)
        for n, m in enumerate(proven.search.measurements)
        if m.configuration == FLOAT16 and m.purpose == "quality"
    )
    machine.search.close()
    machine.folder.close()
    assert machine.asked("soak") == [FLOAT16]


def test_what_leads_trains_on_and_a_leader_that_breaks_down_then_has_an_heir(tmp_path: Path) -> None:
    """ "Stable for N steps" counts them; a fault that shows late costs the lead."""
    world = by_policy(mixed_bfloat16=Behaviour(step_time_s=0.006))
    machine = Machine(tmp_path / "run", world)
    assert machine.run() == BFLOAT16
    soaked = next(m for m in machine.search.measurements if m.purpose == "soak")
    assert (soaked.configuration, soaked.outcome) == (BFLOAT16, Outcome.OK)
    assert soaked.steps > 100
    bench = machine.bench
    again = Machine(tmp_path / "late", world)
    late = replace(soaked, outcome=Outcome.NON_FINITE, reason="loss not finite within 900 steps")
    again.bench.soak = lambda configuration, **limits: replace(late, configuration=configuration)  # type: ignore[method-assign]
    assert again.run() is None
    assert bench.asked[: len(again.bench.asked)] == again.bench.asked


def test_a_baseline_that_is_not_finite_ends_the_run(tmp_path: Path) -> None:
    """Nothing can be compared with it."""
    bad = Behaviour(step_time_s=0.01, outcome=Outcome.NON_FINITE, reason="its loss is not finite at step 3")
    machine = Machine(tmp_path / "run", by_policy(float32=bad))
    with machine.folder, pytest.raises(WorkloadError, match="not finite"):
        machine.search.run()
    assert len(machine.bench.asked) == 1


def test_a_machine_too_noisy_to_measure_on_is_said(tmp_path: Path) -> None:
    """After more patience than any other trial gets."""
    machine = Machine(tmp_path / "run", by_policy(float32=Behaviour(step_time_s=0.5, noise=3.0)))
    with machine.folder, pytest.raises(NoisyMachineError, match="too noisy"):
        machine.search.run()


def test_a_budget_too_short_for_the_proof_says_what_it_would_take(tmp_path: Path) -> None:
    """Never a guess in place of a proof."""
    world = by_policy(float32=Behaviour(step_time_s=0.08), mixed_bfloat16=Behaviour(step_time_s=0.04, warmup_s=3.0))
    machine = Machine(tmp_path / "run", world, budget_s=30.0)
    assert machine.run() is None
    assert any("needs about" in question for question in machine.search.open_questions)


def test_nothing_is_measured_twice_when_a_run_goes_on(tmp_path: Path) -> None:
    """All of an interrupted run is recalled, in whatever place it stopped, and the answer is the same."""
    world = by_policy(mixed_bfloat16=Behaviour(step_time_s=0.006))
    first = Machine(tmp_path / "first", world)
    assert first.run() == BFLOAT16
    everything = first.search.measurements
    for kept in range(len(everything) + 1):
        second = Machine(tmp_path / f"run{kept}", world, recalled=everything[:kept])
        assert second.run() == BFLOAT16
        # A duel of which one side is missing is fought again.
        duel_at = len(everything) - 3  # its two sides, and what trains on after it
        spared = kept if kept <= duel_at else max(duel_at, kept - 1)
        assert len(second.bench.asked) == len(first.bench.asked) - spared
        assert [m.configuration for m in second.search.measurements] == [m.configuration for m in everything]


LADDER = replace(
    POLICIES, batch_sizes=(32, 64, 128, 256), steps_per_execution=(1, 4), learning_rate_rules=("1", "sqrt", "linear")
)


@pytest.mark.parametrize("seed", range(12))
def test_the_budget_is_a_promise(tmp_path: Path, seed: int) -> None:
    """On machines of any kind the run ends in time, a trial more at most, and what it names was proven and compared."""
    chance = random.Random(seed)
    speeds = {policy: chance.uniform(0.3, 2.0) for policy in POLICIES.policies}
    finals = {policy: chance.choice((0.9, 0.9, 0.8)) for policy in POLICIES.policies}
    own = chance.uniform(0.002, 0.05)

    def world(configuration: Configuration) -> Behaviour:
        batch = configuration.batch_size or 32
        step_time_s = own * (1.0 if configuration.policy == "float32" else speeds[configuration.policy])
        step_time_s *= (0.3 + 0.7 * batch / 32) * (0.9 if configuration.steps_per_execution == 4 else 1.0)
        final = 0.9 if configuration.policy == "float32" else finals[configuration.policy]
        return Behaviour(step_time_s=step_time_s, final=final, half_samples=1000.0 * (batch / 32) ** 0.3)

    budget_s = chance.choice((60.0, 120.0, 300.0))
    machine = Machine(tmp_path / "run", world, space=LADDER, budget_s=budget_s, seed=seed)
    leader = machine.run()
    longest = max(m.wall_s or 0.0 for m in machine.search.measurements)
    assert machine.clock() <= 1.05 * budget_s + longest
    if leader is not None:
        assert finals[leader.policy] == 0.9 or leader.policy == "float32"
        assert leader in machine.asked("duel")
    assert len(set(machine.bench.asked)) == len(machine.bench.asked)


def test_a_short_training_is_not_tuned_for_longer_than_it_pays(tmp_path: Path) -> None:
    """Without a named budget the search ends once an answer is proven and tuning took as long as the training."""

    def world(configuration: Configuration) -> Behaviour:
        faster = 0.6 if configuration.policy == "mixed_bfloat16" else 1.0
        return Behaviour(step_time_s=0.01 * faster, half_samples=1000.0, warmup_s=8.0)

    short = Machine(tmp_path / "short", world, space=LADDER, budget_s=None)
    leader = short.run()
    assert leader is not None
    assert leader.batch_size == 32
    assert any("as long as the planned training" in question for question in short.search.open_questions)
    named = Machine(tmp_path / "named", world, space=LADDER, budget_s=600.0)
    named.run()
    assert not any("as long as" in question for question in named.search.open_questions)
    assert len(named.bench.asked) > len(short.bench.asked)


def test_an_answer_at_the_written_batch_is_proven_before_other_batches_are_timed(tmp_path: Path) -> None:
    """Whenever the run is cut, the best answer so far is a proven one."""
    world = by_policy(mixed_bfloat16=Behaviour(step_time_s=0.006))
    machine = Machine(tmp_path / "run", world, space=LADDER)
    machine.run()
    kinds = [
        (what, configuration.batch_size) for what, configuration, _ in machine.bench.asked if configuration != BASELINE
    ]
    first_other = next(n for n, (_, batch) in enumerate(kinds) if batch != 32)
    assert kinds[:first_other].count(("quality", 32)) >= 3


@pytest.mark.parametrize("period_s", [3.0, 7.0, 20.0, 45.0])
def test_a_machine_that_changes_its_pace_is_no_cause_of_a_wrong_answer(tmp_path: Path, period_s: float) -> None:
    """Others slow it down by half for seconds at a time: trials are compared with what runs beside them."""
    world = by_policy(mixed_bfloat16=Behaviour(step_time_s=0.0075), mixed_float16=Behaviour(step_time_s=0.0105))
    machine = Machine(tmp_path / "run", world, pace=lambda time_s: 1.6 if time_s % period_s < 0.5 * period_s else 1.0)
    assert machine.run() == BFLOAT16
    board = machine.search.board()
    for policy, truth in (("mixed_bfloat16", 1 / 0.75), ("mixed_float16", 1 / 1.05)):
        standing = board.of(BASELINE.but(policy=policy))
        assert standing is not None
        assert standing.relative_speed == pytest.approx(truth, rel=0.08)


def rescuable(needed: set[str], *, worse: bool = False, cost: float = 0.0) -> World:
    """A world where bfloat16 trains once some layers stay in float32, each of which costs time."""

    def world(configuration: Configuration) -> Behaviour:
        if configuration.policy != "mixed_bfloat16":
            return Behaviour(step_time_s=0.010)
        own = 0.006 + cost * len(configuration.float32_layers)
        if needed <= set(configuration.float32_layers):
            return Behaviour(step_time_s=own)
        if worse:
            return Behaviour(step_time_s=own, final=0.7)
        return Behaviour(step_time_s=own, outcome=Outcome.NON_FINITE, reason="its loss is not finite")

    return world


@pytest.mark.parametrize("worse", [False, True])
@pytest.mark.parametrize("needed", [{"third"}, {"last"}, {"second", "fourth"}])
def test_a_policy_that_fails_competes_with_the_layers_in_float32_that_cure_it(
    tmp_path: Path, needed: set[str], worse: bool
) -> None:
    """Found, timed, proven over seeds and compared in alternation like any other configuration."""
    machine = Machine(tmp_path / "run", rescuable(needed, worse=worse))
    leader = machine.run()
    assert leader is not None
    assert (leader.policy, set(leader.float32_layers)) == ("mixed_bfloat16", needed)
    assert machine.asked("quality").count(leader) >= 3
    assert machine.asked("duel") == [leader]


def test_a_rescue_that_costs_all_that_was_gained_is_not_recommended(tmp_path: Path) -> None:
    """What is cured and slow is no answer."""
    machine = Machine(tmp_path / "run", rescuable({"third"}, cost=0.0039))
    assert machine.run() is None


def test_no_time_goes_into_curing_a_policy_that_is_slow(tmp_path: Path) -> None:
    """It would not be recommended."""
    broken = Behaviour(step_time_s=0.02, final=0.5)
    machine = Machine(tmp_path / "run", by_policy(mixed_bfloat16=broken))
    assert machine.run() is None
    assert all(not configuration.float32_layers for _, configuration, _ in machine.bench.asked)


def test_a_failure_that_no_layer_cures_ends_the_search_for_layers(tmp_path: Path) -> None:
    """After the output layer and all of them together."""
    machine = Machine(tmp_path / "run", rescuable({"nothing"}))
    assert machine.run() is None
    attempts = [c for c in machine.asked("quality") if c.float32_layers]
    assert len(attempts) == len(set(attempts)) <= 3


def test_a_cured_policy_gets_the_knobs_too(tmp_path: Path) -> None:
    """Steps per execution are tried on what is fastest, layers in float32 and all."""
    world = rescuable({"third"})
    machine = Machine(tmp_path / "run", world, space=replace(POLICIES, steps_per_execution=(1, 4)))
    machine.run()
    assert any(c.float32_layers and c.steps_per_execution == 4 for c in machine.asked("speed"))


@pytest.mark.parametrize("room_bytes", [0.0, 1e9, math.inf])
def test_trials_run_beside_the_baseline_only_where_two_workers_fit(tmp_path: Path, room_bytes: float) -> None:
    """On a GPU, or with little memory, each has the machine for itself; the answer is the same."""
    world = by_policy(mixed_bfloat16=Behaviour(step_time_s=0.006))
    machine = Machine(tmp_path / "run", world, room_bytes=room_bytes)
    assert machine.run() == BFLOAT16
    trials = [m for m in machine.search.measurements if m.purpose == "speed" and m.configuration != BASELINE]
    assert all(bool(m.reference_chunks) == (room_bytes == math.inf) for m in trials)


def with_executions(factor: float, **behaviours: Behaviour) -> World:
    """A world of policies where several steps a call are faster by a factor."""
    plain = by_policy(**behaviours)

    def world(configuration: Configuration) -> Behaviour:
        found = plain(configuration)
        return replace(
            found, step_time_s=found.step_time_s / (factor if configuration.steps_per_execution > 1 else 1.0)
        )

    return world


EXECUTIONS = replace(POLICIES, steps_per_execution=(1, 4, 16))


def test_more_steps_a_call_are_proven_by_the_baselines_own_training(tmp_path: Path) -> None:
    """They compute the same: one run tells the metric, and there is nothing to compare."""
    machine = Machine(tmp_path / "run", with_executions(1.4), space=EXECUTIONS)
    leader = machine.run()
    assert leader is not None and leader.policy == "float32" and leader.steps_per_execution > 1
    assert machine.asked("quality") == [BASELINE]
    case = next(
        c for c in cases(BASELINE, WORKLOAD, JudgeOptions(), machine.search.measurements) if c.configuration == leader
    )
    assert case.accuracy is not None and case.accuracy.same_updates and case.accuracy.verdict == "matches"


def test_runs_with_the_written_steps_a_call_stand_for_others(tmp_path: Path) -> None:
    """A policy is proven once, whatever knob is turned besides; what is recommended was timed and compared itself."""
    world = with_executions(1.4, mixed_bfloat16=Behaviour(step_time_s=0.006))
    machine = Machine(tmp_path / "run", world, space=EXECUTIONS)
    leader = machine.run()
    assert leader is not None and leader.policy == "mixed_bfloat16" and leader.steps_per_execution > 1
    assert {c.steps_per_execution for c in machine.asked("quality")} == {1}
    assert leader in machine.asked("speed") and machine.asked("duel") == [leader]
    standings = machine.search.board()
    proofs = {s.configuration: s.proof for s in standings.standings if s.configuration.policy == "mixed_bfloat16"}
    assert len(proofs) > 1 and set(proofs.values()) == {"matches"}


def test_a_batch_is_known_at_the_rate_that_was_trained_and_the_knobs_that_were_timed(tmp_path: Path) -> None:
    """Timed with several steps a call at the written rate, trained with one at the scaled rate: known as both together."""
    space = replace(EXECUTIONS, batch_sizes=(32, 64), learning_rate_rules=("1", "linear"))

    def world(configuration: Configuration) -> Behaviour:
        rate = configuration.learning_rate_factor
        half = 1000.0 if configuration.batch_size == 32 or rate > 1.0 else 2000.0
        return Behaviour(step_time_s=0.010 / (1.4 if configuration.steps_per_execution > 1 else 1.0), half_samples=half)

    machine = Machine(tmp_path / "run", world, space=space)
    leader = machine.run()
    assert leader is not None
    assert (leader.batch_size, leader.learning_rate_factor) == (64, 2.0) and leader.steps_per_execution > 1
    assert machine.asked("duel") == [leader]


def test_a_run_that_goes_on_with_another_budget_keeps_the_length_of_its_quality_runs(tmp_path: Path) -> None:
    """Those of before could not be compared with longer ones."""
    world = by_policy(mixed_bfloat16=Behaviour(step_time_s=0.006))
    first = Machine(tmp_path / "run", world, budget_s=40.0)
    first.run()
    kept = first.folder.quality_plan()
    second = Machine(tmp_path / "run", world, budget_s=6000.0, recalled=first.search.measurements)
    assert second.run() == BFLOAT16
    assert kept is not None and second.folder.quality_plan() == kept
    runs = [m for m in second.search.measurements if m.purpose == "quality"]
    assert len({m.curve[-1].samples for m in runs}) == 1


def test_strict_float32_is_a_second_baseline(tmp_path: Path) -> None:
    """Where TF32 is on as written, strict float32 is timed right after the baseline and trained over the fewest seeds."""
    written = BASELINE.but(tf32=True)
    strict = BASELINE.but(tf32=False)

    def world(configuration: Configuration) -> Behaviour:
        return Behaviour(step_time_s=0.010 if configuration.tf32 else 0.018)

    space = replace(POLICIES, baseline=written, policies=("float32",), tf32=(True, False))
    machine = Machine(tmp_path, world, space=space, first=(strict,))
    assert machine.run() is None
    assert machine.asked("speed") == [written, strict]
    assert [c for c in machine.asked("quality") if c == strict] == 3 * [strict]


def test_a_baseline_that_was_too_noisy_is_timed_again(tmp_path: Path) -> None:
    """What ended a run for noise must not end the one that goes on with it."""
    noisy = Machine(tmp_path / "first", by_policy(float32=Behaviour(step_time_s=0.010, noise=3.0)))
    with pytest.raises(NoisyMachineError):
        noisy.run()
    world = by_policy(mixed_bfloat16=Behaviour(step_time_s=0.006))
    again = Machine(tmp_path / "second", world, recalled=noisy.search.measurements)
    assert again.run() == BFLOAT16
    assert again.asked("speed")[0] == BASELINE

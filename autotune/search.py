"""The search: strategy and prover choose, workers measure, the judge says where things stand, until nothing can change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from autotune.budget import REPORT_S, Budget
from autotune.errors import BudgetError, NoisyMachineError, WorkloadError
from autotune.judge.board import board as make_board
from autotune.judge.board import cases
from autotune.judge.noise import measured_noise_scale, most_of_samples
from autotune.judge.speed import beside, enough, hopeless, mean_step_time_s, paired_ratio, settled, speed
from autotune.measure.bench import Measurer, QualityPlan, Stop
from autotune.progress import BestChanged, Clock, Listener, StageStarted, TrialEnded, TrialProgress, TrialStarted
from autotune.prove import WORTH, QualityRun, next_run, ranked
from autotune.quality_plan import quality_plan
from autotune.records import (
    Board,
    Chunk,
    Configuration,
    CurvePoint,
    Finding,
    JudgeOptions,
    Measurement,
    NoiseScale,
    Outcome,
    Plan,
    WorkloadInfo,
)
from autotune.rescue import in_order, rescue_of, wants_rescue
from autotune.store import RunFolder, Study
from autotune.strategies.protocol import Strategy

_CHUNK_S = 0.15
_LEAST_CHUNKS = 4
_LEAST_TIME_S = 3.0
# Half width of the interval of the baseline's step time beyond which no comparison can be trusted.
_TOO_NOISY = 0.6
# Where all else is compared with its trial, that goes on this many times longer until it is known well enough.
_BASELINE_PATIENCE, _BASELINE_PATIENCE_BESIDE = 5.0, 2.5
_GOOD_ENOUGH = 0.04
_FEWEST_PAIRS, _MOST_PAIRS = 12, 40
_DUEL_HALF_WIDTH = 0.015
_SHORTEST_DUEL_S, _LONGEST_DUEL_S = 10.0, 20.0
# Of the time that the search took, where that is between the two.
_DUEL_SHARE = 0.15
# Between epochs Keras spends tens of milliseconds on fetching data anew. Where epochs are this short that counts, and whole
# ones are compared; of longer ones it is a few percent, the same on both sides.
_SHORT_EPOCH_S = 1.0
_MOST_DUELS = 3
# Peaks of the baseline that two workers side by side may take, with a margin.
_WORKERS_BESIDE = 2.5
# What leads trains on for this part of the time that the search took, no longer than the planned training.
_SOAK_SHARE, _SHORTEST_SOAK_S, _SOAK_START_S = 0.15, 2.0, 3.0


@dataclass(frozen=True, kw_only=True, slots=True)
class _Attempt:
    """A configuration with layers in float32, to be trained as one of several sets, or timed because it is the answer."""

    configuration: Configuration
    alone: bool


class Search:
    """Runs trials until the answer is settled or the budget is used.

    Args:
        bench: Measures.
        plan: Space, exclusions, hopeless policies.
        strategy: Proposes what to time.
        workload: The captured fit.
        options: The decision rule's settings.
        folder: Where measurements are stored.
        study: The Optuna study.
        budget: Time.
        listener: Is told what happens.
        recalled: Measurements of an earlier, interrupted run of the same thing.
        epochs: Planned length where the user gave one.
        validation_batches: Batches of one validation pass.
        findings: What the lint noticed: it names layers to keep in float32 where a policy fails.
        room_bytes: Memory for workers. Trials are timed with the baseline beside them, for machines that others work on change
            their pace, where two workers fit; 0 where they must not be at work at once, as on a GPU.
    """

    def __init__(
        self,
        *,
        bench: Measurer,
        plan: Plan,
        strategy: Strategy,
        workload: WorkloadInfo,
        options: JudgeOptions,
        folder: RunFolder,
        study: Study,
        budget: Budget,
        listener: Listener,
        recalled: Sequence[Measurement] = (),
        epochs: int | None = None,
        validation_batches: int | None = None,
        findings: Sequence[Finding] = (),
        room_bytes: float = math.inf,
    ) -> None:
        self._bench = bench
        self._plan = plan
        self._strategy = strategy
        self._workload = workload
        self._options = options
        self._folder = folder
        self._study = study
        self._budget = budget
        self._listener = listener
        self._recalled = list(recalled)
        self._epochs = epochs
        self._validation_batches = validation_batches
        self._findings = tuple(findings)
        self._room_bytes = room_bytes
        self._noise: NoiseScale | None = None
        self._quality_plan: QualityPlan | None = None
        self._best = ""
        self._board: tuple[int, Board] | None = None
        self.measurements: list[Measurement] = []
        self.open_questions: list[str] = []

    @property
    def baseline(self) -> Configuration:
        """The baseline's configuration."""
        return self._plan.space.baseline

    def board(self) -> Board:
        """Where everything stands; judged once for each new measurement, though it is asked for more often."""
        count = len(self.measurements)
        if self._board is None or self._board[0] != count:
            found = make_board(self.baseline, self._workload, self._options, self.measurements)
            self._board = (count, found)
        return self._board[1]

    def run(self) -> None:
        """Measures until nothing can change the answer, or the time is up.

        Raises:
            WorkloadError: The baseline itself fails or is not finite.
            BudgetError: The budget ran out before the baseline was measured.
        """
        self._listener(StageStarted(stage="search", detail="timing configurations"))
        self._time_baseline()
        proving = False
        while True:
            self._tell_clock()
            board = self.board()
            if self._exceeds_the_training():
                self.open_questions.append(
                    "an answer was proven and tuning had taken as long as the planned training: other configurations"
                    " were left untried; --budget 10m tries them"
                )
                break
            proposal = self._strategy.propose(self._plan, board)
            run = next_run(self._plan.space, board, self._done(), self._options, self._most_of_samples)
            if proposal is not None and not (run is not None and self._comes_first(run, proposal)):
                if not self._budget.affords("speed", 4.0):
                    self._leave_open(f"{proposal.describe(self.baseline)} was not timed", "speed", 4.0)
                    break
                self._time(proposal)
                continue
            if run is None:
                rescued = self._next_rescue()
                if rescued is None:
                    break
                if rescued.alone:
                    self._time(rescued.configuration)
                    continue
                run = QualityRun(configuration=rescued.configuration, seed=0, why="rescue")
            if not proving:
                self._listener(StageStarted(stage="prove", detail="accuracy against float32 over paired seeds"))
                proving = True
            if not self._budget.affords("quality", self._quality_cost_s()):
                self._leave_open(
                    f"{run.configuration.describe(self.baseline)} was not proven over enough seeds",
                    "quality",
                    self._quality_cost_s(),
                )
                break
            self._train(run)
            self._tell_best()

    def _most_of_samples(self, batch_size: int | None) -> float:
        """At most how many times fewer samples a batch needs than the baseline's, as the gradient noise predicts; 1 unknown."""
        written = self.baseline.batch_size
        if batch_size is None or written is None or batch_size <= written:
            return math.inf
        if self._noise is None:
            self._noise = measured_noise_scale(self.measurements)
        return 1.0 if self._noise is None else most_of_samples(self._noise, written, batch_size)

    def _next_rescue(self) -> _Attempt | None:
        """What to train or time next so that a 16-bit policy that fails, and would be fast, may work after all."""
        space, judged = self._plan.space, cases(self.baseline, self._workload, self._options, self.measurements)
        for policy in space.policies:
            failing = next((c for c in judged if c.configuration == self.baseline.but(policy=policy)), None)
            if failing is None or policy in self._plan.hopeless_policies or not wants_rescue(failing, self.baseline):
                continue
            pace = failing.relative
            if pace is not None and (pace.low or 0.0) < self._options.minimum_gain:
                continue  # not certain to be worth curing
            found = rescue_of(failing, judged, self._workload, self._findings)
            if found.attempt is not None:
                attempt = failing.configuration.but(float32_layers=in_order(found.attempt, self._workload))
                if (attempt.key, 0) not in self._done():
                    return _Attempt(configuration=attempt, alone=False)
            elif found.layers is not None:
                helped = failing.configuration.but(float32_layers=found.layers)
                if not any(m.purpose == "speed" and m.configuration == helped for m in self.measurements):
                    return _Attempt(configuration=helped, alone=True)
        return None

    def _comes_first(self, run: QualityRun, proposal: Configuration) -> bool:
        """Whether a proof at the written batch goes before a timing: it gives an answer that stands.

        Before other batches always; where time presses before XLA too, which compiles for longer than all else takes.
        """
        here = self.baseline.batch_size
        timed = all(self.board().of(self.baseline.but(policy=p)) is not None for p in self._plan.space.policies)
        compiles = proposal.jit_compile and not self.baseline.jit_compile and self._budget.presses(self._planned_s())
        later = proposal.batch_size != here or compiles
        return run.why == "prove" and run.configuration.batch_size == here and later and timed

    def _exceeds_the_training(self) -> bool:
        """Whether tuning took as long as the training it is for, and has an answer that is certain to be faster."""
        if not self._budget.exceeds(self._planned_s()):
            return False
        leader = self.leader()
        standing = None if leader is None else self.board().of(leader)
        low = None if standing is None else standing.relative_speed_low
        same = leader is not None and leader.batch_size == self.baseline.batch_size
        return same and low is not None and low >= self._options.minimum_gain

    def _planned_s(self) -> float | None:
        """Length of the planned training as written; None when unknown."""
        samples = self._workload.planned_samples
        found = speed(self.measurements[0].chunks)
        return None if samples is None or found is None else samples / found.samples_per_s.value

    def leader(self) -> Configuration | None:
        """The best configuration that is proven, None without."""
        return next((s.configuration for s in ranked(self.board(), self._options) if s.proof == "matches"), None)

    def close(self) -> None:
        """What the answer needs at the end: the comparison in alternation, and more steps of what leads.

        Where these take the lead away, its heir goes through the same.

        Raises:
            HardwareError: The comparison could not be made.
        """
        for _ in range(_MOST_DUELS):
            self.duels()
            leader = self.leader()
            if leader is None or not self._soak(leader) or self.leader() == leader:
                return

    def _soak(self, leader: Configuration) -> bool:
        """Trains on with the leader; whether that was done."""
        if any(m.purpose == "soak" and m.configuration == leader for m in self.measurements):
            return False
        step_time_s = mean_step_time_s(self.measurements[0].chunks)
        planned_s = self._planned_s() or _SOAK_SHARE * self._spent_s()
        limit_s = min(self._budget.left_s - REPORT_S - _SOAK_START_S, _SOAK_SHARE * self._spent_s(), planned_s)
        if limit_s < max(_SHORTEST_SOAK_S, 20 * step_time_s):
            return False
        if self._recall("soak", leader, 0) is not None:
            return True
        self._listener(StageStarted(stage="soak", detail=f"more steps of {leader.describe(self.baseline)}"))
        self._listener(TrialStarted(purpose="soak", configuration=leader))
        self._keep(self._bench.soak(leader, limit_s=limit_s, capture_limit_s=max(5.0, self._budget.left_s)))
        return True

    def _spent_s(self) -> float:
        """What all trials took, those of an earlier, interrupted run too."""
        return sum(m.wall_s or 0.0 for m in self.measurements)

    def duels(self) -> None:
        """Baseline and leader in alternation; where that takes the lead away, the heir too, while there is time."""
        for _ in range(_MOST_DUELS):
            leader = self.leader()
            fought = {m.configuration for m in self.measurements if m.purpose == "duel"}
            if leader is None or leader in fought or not self._worth_a_duel(leader, fought):
                return
            started = self._budget.elapsed_s
            self._duel(leader)
            self._budget.spent("duel", self._budget.elapsed_s - started)

    def _duel(self, leader: Configuration) -> None:
        self._listener(
            StageStarted(stage="duel", detail=f"{leader.describe(self.baseline)} against the baseline, in alternation")
        )
        duel_id = f"{self.baseline.key}-{leader.key}"
        earlier = [old for old in self._recalled if old.duel_id == duel_id]
        if len(earlier) == 2:
            self.measurements += [replace(old, number=len(self.measurements) + n) for n, old in enumerate(earlier)]
            return
        self._listener(TrialStarted(purpose="duel", configuration=leader))
        patience_s = min(_LONGEST_DUEL_S, max(_SHORTEST_DUEL_S, _DUEL_SHARE * self._spent_s()))
        deadline = self._budget.elapsed_s + max(2.0, min(self._budget.left_s - REPORT_S, patience_s))

        def settled(ours: list[Chunk], theirs: list[Chunk]) -> bool:
            return self._duel_settled(ours, theirs) or self._budget.elapsed_s > deadline

        steps = self._workload.steps_per_epoch
        epoch_s = None if steps is None else steps * mean_step_time_s(self.measurements[0].chunks)
        for measurement in self._bench.duel(
            self.baseline,
            leader,
            chunk_s=_CHUNK_S,
            duel_id=duel_id,
            enough=settled,
            whole_epochs=epoch_s is not None and epoch_s <= _SHORT_EPOCH_S,
        ):
            self._keep(measurement)

    def _worth_a_duel(self, leader: Configuration, fought: set[Configuration]) -> bool:
        """Whether an heir promises enough, and time is left, after another configuration had its duel."""
        if not fought:
            return True
        gains = {s.configuration: s.time_to_quality or 0.0 for s in self.board().standings}
        known = max((gains.get(c, 0.0) for c in fought - {self.baseline}), default=0.0)
        enough_s = self._budget.expected_s("duel", _LONGEST_DUEL_S) <= self._budget.left_s - REPORT_S
        return enough_s and gains[leader] >= WORTH * known

    def _time_baseline(self) -> None:
        if self._budget.left_s < _LEAST_TIME_S:
            raise BudgetError(
                f"the budget ran out before the baseline was measured: {self._budget.elapsed_s:.0f} s went by until fit",
                hint=f"give at least --budget {2 * self._budget.elapsed_s + 30:.0f}s",
            )
        measurement = self._time(self.baseline, first=True)
        if measurement.outcome is not Outcome.OK:
            raise baseline_failure(measurement, self._workload.target)
        found = speed(measurement.chunks)
        half = None if found is None else found.step_time_s.half_log
        if half is None or half > _TOO_NOISY:
            spread = "could not be told" if half is None else f"is uncertain by {half:.0%}"
            raise NoisyMachineError(
                f"this machine is too noisy to measure on: the baseline's step time {spread}",
                hint="stop other programs, or try again later",
            )

    def _time(self, configuration: Configuration, *, first: bool = False) -> Measurement:
        known = self._recall("speed", configuration, 0)
        if known is not None:
            return known
        self._listener(TrialStarted(purpose="speed", configuration=configuration))
        number = self._study.ask(configuration, self._plan.space)
        started = self._budget.elapsed_s
        baseline = None if first else self.measurements[0]
        limit_s = min(max(self._budget.total_s / 100.0, 1.2), 2.0 if self._alternate else 3.0)
        hopeless_policy = configuration.policy in self._plan.hopeless_policies
        patience = _BASELINE_PATIENCE_BESIDE if self._alternate else _BASELINE_PATIENCE
        reference = self.baseline if self._alternate and not first else None
        measurement = self._bench.speed(
            configuration,
            chunk_s=_CHUNK_S,
            limit_s=patience * limit_s if first else min(limit_s, 1.0) if hopeless_policy else limit_s,
            stop=self._racing(baseline, limit_s),
            beside=reference,
            input_free=first,
            capture_limit_s=max(5.0, self._budget.left_s),
        )
        self._budget.spent("speed", self._budget.elapsed_s - started)
        kept = self._keep(measurement)
        standing = self.board().of(configuration)
        relative = None if standing is None else standing.relative_speed
        self._study.tell(
            number,
            relative,
            kept.outcome,
            {
                "seed": 0,
                "key": configuration.key,
                "reason": kept.reason or "",
                "float32_layers": list(configuration.float32_layers),
            },
            infeasible=kept.outcome is not Outcome.OK,
        )
        return kept

    def _train(self, run: QualityRun) -> Measurement:
        known = self._recall("quality", run.configuration, run.seed)
        if known is not None:
            return known
        self._listener(TrialStarted(purpose="quality", configuration=run.configuration, seed=run.seed))
        plan = self._length()
        started = self._budget.elapsed_s
        points = 0

        def on_point(point: CurvePoint) -> None:
            nonlocal points
            points += 1
            self._listener(TrialProgress(share=min(1.0, points / plan.epochs)))

        measurement = self._bench.quality(
            run.configuration,
            run.seed,
            plan,
            noise=run.configuration == self.baseline and run.seed == 0 and len(self._plan.space.batch_sizes) > 1,
            on_point=on_point,
            capture_limit_s=max(5.0, self._budget.left_s),
        )
        self._budget.spent("quality", self._budget.elapsed_s - started)
        kept = self._keep(measurement)
        if run.configuration == self.baseline and kept.outcome is not Outcome.OK:
            raise baseline_failure(kept, self._workload.target)
        return kept

    def _length(self) -> QualityPlan:
        if self._quality_plan is None:
            self._quality_plan = quality_plan(
                self._workload,
                mean_step_time_s(self.measurements[0].chunks),
                self._budget.search_left_s,
                epochs=self._epochs,
                validation_batches=self._validation_batches,
            )
        return self._quality_plan

    def _quality_cost_s(self) -> float:
        plan = self._length()
        per_epoch = self._workload.steps_per_epoch or 100
        if plan.part_samples is not None:
            per_epoch = int(plan.part_samples / (self._workload.batch_size or 1))
        return 2.5 + 1.3 * plan.epochs * per_epoch * mean_step_time_s(self.measurements[0].chunks)

    def _racing(self, baseline: Measurement | None, limit_s: float) -> Stop:
        """When a speed trial may end: its interval is narrow, or it is hopeless; the baseline's has more patience."""

        def stop(chunks: list[Chunk], reference: list[Chunk]) -> bool:
            timed = [c for c in chunks if not c.warmup]
            if timed:
                last = timed[-1]
                self._listener(TrialProgress(step_time_s=last.duration_s / last.steps))
            if len(timed) < _LEAST_CHUNKS:
                return False
            if reference:
                return settled(beside(reference, timed))
            if enough(timed):
                return True
            if baseline is not None:
                return hopeless(baseline.chunks, timed)
            found = speed(timed)
            half = None if found is None else found.step_time_s.half_log
            return sum(c.duration_s for c in timed) >= limit_s and half is not None and half <= _GOOD_ENOUGH

        return stop

    def _duel_settled(self, ours: list[Chunk], theirs: list[Chunk]) -> bool:
        pairs = min(len(ours), len(theirs))
        if pairs < _FEWEST_PAIRS:
            return False
        half = ratio.half_log if (ratio := paired_ratio(ours[:pairs], theirs[:pairs])) is not None else None
        return pairs >= _MOST_PAIRS or (half is not None and half < _DUEL_HALF_WIDTH)

    def _done(self) -> set[tuple[str, int]]:
        return {(m.configuration.key, m.seed) for m in self.measurements if m.purpose == "quality"}

    @property
    def _alternate(self) -> bool:
        """Whether two workers fit side by side, as far as the baseline's own trial tells."""
        peak = next((m.peak_memory_bytes for m in self.measurements if m.peak_memory_bytes), 0)
        return _WORKERS_BESIDE * peak < self._room_bytes

    def _recall(self, purpose: str, configuration: Configuration, seed: int) -> Measurement | None:
        for index, old in enumerate(self._recalled):
            if (old.purpose, old.configuration, old.seed) == (purpose, configuration, seed):
                kept = self._number(self._recalled.pop(index))
                self._listener(TrialEnded(measurement=kept, relative_speed=None, recalled=True))
                return kept
        return None

    def _keep(self, measurement: Measurement) -> Measurement:
        kept = self._number(replace(measurement, started_s=self._budget.elapsed_s - (measurement.wall_s or 0.0)))
        self._folder.append(kept)
        standing = self.board().of(kept.configuration)
        self._listener(
            TrialEnded(measurement=kept, relative_speed=None if standing is None else standing.relative_speed)
        )
        return kept

    def _number(self, measurement: Measurement) -> Measurement:
        kept = replace(measurement, number=len(self.measurements))
        self.measurements.append(kept)
        return kept

    def _leave_open(self, what: str, kind: str, otherwise_s: float) -> None:
        minutes = self._budget.expected_s(kind, otherwise_s) / 60.0
        need = max(1, round(minutes * (4 if kind == "quality" else 2) + 0.5))
        self.open_questions.append(f"{what}: needs about {need} more minute{'s' if need > 1 else ''}")

    def _tell_clock(self) -> None:
        self._listener(Clock(elapsed_s=self._budget.elapsed_s, budget_s=self._budget.total_s))

    def _tell_best(self) -> None:
        best = next(iter(ranked(self.board(), self._options)), None)
        if best is None:
            return
        state = "proven" if best.proof == "matches" else f"open after {best.seeds} seed{'s' if best.seeds > 1 else ''}"
        name = best.configuration.describe(self.baseline)
        text = f"{name}, {best.time_to_quality or 0:.2f}x sooner to the same quality ({state})"
        if text != self._best:
            self._best = text
            self._listener(BestChanged(text=text))


def baseline_failure(measurement: Measurement, target: str) -> WorkloadError | BudgetError:
    """The error that ends a run whose baseline fails: the user's bug, shown as such."""
    reason = measurement.reason or measurement.outcome
    if measurement.outcome is Outcome.NON_FINITE:
        return WorkloadError(
            f"{target} is not finite already at float32, as written: {reason}",
            hint="mend the training first (learning rate, scaling of inputs and targets, loss); no precision setting can help",
            detail=measurement.traceback or "",
        )
    if measurement.outcome is Outcome.TIMEOUT:
        return BudgetError(f"the baseline of {target} was not measured: {reason}", hint="give a larger --budget")
    if measurement.outcome is Outcome.NO_UPDATES:
        return WorkloadError(
            f"{target} trains nothing at float32: {reason}", hint="is the model frozen, or the learning rate 0?"
        )
    return WorkloadError(
        f"{target} fails at float32, as written: {reason}",
        hint="the script must train by itself first",
        detail=measurement.traceback or "",
    )

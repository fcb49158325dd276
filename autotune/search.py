"""The search: strategy and prover choose, workers measure, the judge says where things stand, until nothing can change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from autotune.baseline import baseline_failure
from autotune.budget import Budget
from autotune.closing import Closing
from autotune.judge.noise import measured_noise_scale, most_of_samples
from autotune.ledger import Ledger
from autotune.measure.bench import Measurer, QualityPlan
from autotune.progress import BestChanged, Clock, Listener, StageStarted, TrialProgress, TrialStarted
from autotune.prove import QualityRun, next_reference, next_run, ranked
from autotune.quality_plan import quality_plan
from autotune.records import (
    Board,
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
from autotune.timing import Timing

# What a duel takes at most, where none was made yet.
_RECHECK_S = 25.0


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
        room_bytes: Memory for workers side by side; 0 where they must not be at work at once.
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
        self._budget = budget
        self._listener = listener
        self._epochs = epochs
        self._validation_batches = validation_batches
        self._findings = tuple(findings)
        self._noise: NoiseScale | None = None
        self._quality_plan: QualityPlan | None = None
        self._best = ""
        self._ledger = Ledger(
            baseline=plan.space.baseline,
            workload=workload,
            options=options,
            folder=folder,
            budget=budget,
            listener=listener,
            recalled=recalled,
        )
        self._timing = Timing(
            ledger=self._ledger,
            bench=bench,
            plan=plan,
            study=study,
            budget=budget,
            listener=listener,
            room_bytes=room_bytes,
        )
        self._closing = Closing(ledger=self._ledger, bench=bench, budget=budget, listener=listener)
        self.open_questions: list[str] = []

    @property
    def baseline(self) -> Configuration:
        """The baseline's configuration."""
        return self._ledger.baseline

    @property
    def measurements(self) -> list[Measurement]:
        """All that was measured, in order."""
        return self._ledger.measurements

    def board(self) -> Board:
        """Where everything stands."""
        return self._ledger.board()

    def leader(self) -> Configuration | None:
        """The best configuration that is proven, None without."""
        case = self._ledger.leader()
        return None if case is None else case.configuration

    def answer(self) -> Configuration:
        """What would be recommended now: the baseline where nothing gains."""
        case = self._ledger.answer()
        return self.baseline if case is None else case.configuration

    def run(self) -> None:
        """Measures until nothing can change the answer, or the time is up.

        Raises:
            WorkloadError: The baseline itself fails or is not finite.
            BudgetError: The budget ran out before the baseline was measured.
            NoisyMachineError: The baseline's step time cannot be told.
        """
        self._listener(StageStarted(stage="search", detail="timing configurations"))
        self._timing.baseline()
        proving = False
        while True:
            self._listener(Clock(elapsed_s=self._budget.elapsed_s, budget_s=self._budget.total_s))
            board = self.board()
            if self._exceeds_the_training():
                self.open_questions.append(
                    "an answer was proven and tuning had taken as long as the planned training: other configurations"
                    " were left untried; --budget 10m tries them"
                )
                break
            proposal = self._proposal(board)
            run = next_run(self._plan.space, board, self._ledger.trained(), self._options, self._most_of_samples)
            if proposal is not None and not (run is not None and self._comes_first(run, proposal)):
                if not self._budget.affords("speed", 4.0):
                    self._leave_open(f"{proposal.describe(self.baseline)} was not timed", "speed", 4.0)
                    break
                self._timing.time(proposal)
                continue
            if run is None:
                rescued = self._next_rescue()
                if rescued is not None and rescued.alone:
                    self._timing.time(rescued.configuration)
                    continue
                if rescued is not None:
                    run = QualityRun(configuration=rescued.configuration, seed=0, why="rescue")
                else:
                    run = next_reference(board, self._ledger.trained(), self._options)
                if run is None:
                    break
            if not proving:
                self._listener(StageStarted(stage="prove", detail="accuracy against float32 over paired seeds"))
                proving = True
            if not self._budget.affords("quality", self._quality_cost_s()):
                self._leave_open(
                    f"{(run.candidate or run.configuration).describe(self.baseline)} was not proven over enough seeds",
                    "quality",
                    self._quality_cost_s(),
                )
                break
            self._train(run)
            self._tell_best()

    def close(self) -> None:
        """What the answer needs at the end: the comparison in alternation, and more steps of what leads.

        Raises:
            HardwareError: The comparison could not be made.
        """
        self._closing.close()

    def recheck(self) -> None:
        """Compares the fastest of what was recalled with the baseline, where no leader had its duel: is it as fast still?

        Raises:
            HardwareError: The comparison could not be made.
        """
        if any(m.purpose == "duel" for m in self.measurements):
            return
        timed = [s for s in self.board().standings if s.configuration != self.baseline and s.relative_speed is not None]
        alive = [s for s in timed if s.outcome in (None, Outcome.OK)]
        if alive and self._budget.affords("duel", _RECHECK_S):
            self._closing.duel(max(alive, key=lambda s: s.relative_speed or 0.0).configuration)

    def _proposal(self, board: Board) -> Configuration | None:
        """What to time next: what an earlier run answered first, then what the strategy says."""
        early = (c for c in self._plan.first if board.of(c) is None and c in self._plan.space)
        return next(early, None) or self._strategy.propose(self._plan, board)

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
        for policy in self._plan.space.policies:
            failing = self._ledger.case_of(self.baseline.but(policy=policy))
            if failing is None or policy in self._plan.hopeless_policies or not wants_rescue(failing, self.baseline):
                continue
            pace = failing.relative
            if pace is not None and (pace.low or 0.0) < self._options.minimum_gain:
                continue  # not certain to be worth curing
            found = rescue_of(failing, self._ledger.cases(), self._workload, self._findings)
            if found.attempt is not None:
                attempt = failing.configuration.but(float32_layers=in_order(found.attempt, self._workload))
                if (attempt.key, 0) not in self._ledger.trained():
                    return _Attempt(configuration=attempt, alone=False)
            elif found.layers is not None:
                helped = failing.configuration.but(float32_layers=found.layers)
                if self._ledger.known("speed", helped) is None:
                    return _Attempt(configuration=helped, alone=True)
        return None

    def _comes_first(self, run: QualityRun, proposal: Configuration) -> bool:
        """Whether a proof at the written batch goes before a timing: it gives an answer that stands.

        Before other batches always; where time presses before XLA too, which compiles for longer than all else takes.
        """
        here = self.baseline.batch_size
        timed = all(self.board().of(self.baseline.but(policy=p)) is not None for p in self._plan.space.policies)
        compiles = proposal.jit_compile and not self.baseline.jit_compile and self._budget.presses(self._planned_s)
        later = proposal.batch_size != here or compiles
        return run.why == "prove" and run.configuration.batch_size == here and later and timed

    def _exceeds_the_training(self) -> bool:
        """Whether tuning took as long as the training it is for, and has an answer that is certain to be faster."""
        if not self._budget.exceeds(self._planned_s, self._ledger.spent_s):
            return False
        leader = self.leader()
        standing = None if leader is None else self.board().of(leader)
        low = None if standing is None else standing.relative_speed_low
        same = leader is not None and leader.batch_size == self.baseline.batch_size
        return same and low is not None and low >= self._options.minimum_gain

    @property
    def _planned_s(self) -> float | None:
        return self._ledger.planned_s

    def _train(self, run: QualityRun) -> Measurement:
        known = self._ledger.recall("quality", run.configuration, run.seed)
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
        kept = self._ledger.keep(measurement)
        if run.configuration == self.baseline and kept.outcome is not Outcome.OK:
            raise baseline_failure(kept, self._workload.target)
        return kept

    def _length(self) -> QualityPlan:
        """How long quality runs are; where an interrupted run goes on, as long as its own."""
        if self._quality_plan is None:
            self._quality_plan = self._folder.quality_plan() or quality_plan(
                self._workload,
                self._ledger.step_time_s,
                self._budget.search_left_s,
                epochs=self._epochs,
                validation_batches=self._validation_batches,
            )
            self._folder.keep_quality_plan(self._quality_plan)
        return self._quality_plan

    def _quality_cost_s(self) -> float:
        plan = self._length()
        per_epoch = self._workload.steps_per_epoch or 100
        if plan.part_samples is not None:
            per_epoch = int(plan.part_samples / (self._workload.batch_size or 1))
        return 2.5 + 1.3 * plan.epochs * per_epoch * self._ledger.step_time_s

    def _leave_open(self, what: str, kind: str, otherwise_s: float) -> None:
        minutes = self._budget.expected_s(kind, otherwise_s) / 60.0
        need = max(1, round(minutes * (4 if kind == "quality" else 2) + 0.5))
        self.open_questions.append(f"{what}: needs about {need} more minute{'s' if need > 1 else ''}")

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

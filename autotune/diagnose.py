"""Numerics: which policy works with a model, whatever its speed, and what becomes of its numbers in 16 bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from autotune.atomic import write_atomically
from autotune.baseline import baseline_failure
from autotune.capture import Captured, capture
from autotune.errors import WorkerDied
from autotune.judge.accuracy import is_open
from autotune.judge.board import Case
from autotune.judge.findings import findings
from autotune.judge.gradients import computing_in, numerics
from autotune.judge.speed import mean_step_time_s
from autotune.judge.stability import stability
from autotune.ledger import Ledger
from autotune.measure.bench import CaptureFailed, QualityPlan
from autotune.progress import Listener, StageStarted, TrialStarted, ignore
from autotune.quality_plan import quality_plan
from autotune.records import POLICIES, Configuration, Measurement, Outcome, WorkloadInfo
from autotune.records.codec import dumps
from autotune.records.diagnosis import Diagnosis, PolicyDiagnosis, Rescue
from autotune.reports.diagnosis_page import render_diagnosis_page
from autotune.reports.format import counted
from autotune.reports.snippet import python_snippet
from autotune.reports.write import shown_folder
from autotune.rescue import Rescue as Attempt
from autotune.rescue import attempts_at, in_order, rescue_of, wants_rescue
from autotune.settings import Settings
from autotune.sitting import LauncherFactory, Sitting, sitting

# What a run costs besides its steps and the script up to its fit: tracing, validation's too.
_TRACE_S = 1.5
# float16's first run goes on until the loss scale has met its limit.
_LIMIT_S = 5.0
# Where starting the workers of several seeds takes more of the time than this, one seed gets all of it.
_MOST_STARTING = 0.6
# A step may take seconds; some are needed to say anything.
_FEWEST_STEPS = 10
# Kept for judging and writing at the end.
_CLOSING_S = 3.0
# A look at every layer's numbers, in float32.
_PROFILE_S = 2.5
# Of what is left, for a machine may become slower than it was when it was timed.
_PLANNED_SHARE = 0.85


def diagnose(
    settings: Settings, listener: Listener = ignore, *, launcher: LauncherFactory | None = None, command: str = ""
) -> Diagnosis:
    """Trains under each policy and judges it against float32 over paired seeds.

    Args:
        settings: What to do; ``budget_s`` bounds it.
        listener: Is told what happens.
        launcher: Makes the launcher of workers; workers on this machine by default.
        command: The command line, for the record.

    Raises:
        WorkloadError: The script fails, never calls ``fit``, or is not finite at float32.
        BudgetError: The budget ran out before the baseline was trained.
    """
    with sitting(settings, listener, launcher) as place:
        listener(StageStarted(stage="capture", detail=f"running {settings.target} up to its fit"))
        left_s = max(5.0, place.budget.left_s)
        started = place.budget.elapsed_s
        captured = capture(place.bench, str(settings.target), place.digest, settings.fit, left_s)
        start_s = place.budget.elapsed_s - started
        answer = _Run(settings, listener, place, captured, start_s).answer(command)
        page = place.folder.path / "diagnosis.html"
        listener(StageStarted(stage="report", detail=str(shown_folder(page))))
        write_atomically(place.folder.path / "diagnosis.json", dumps(answer))
        write_atomically(page, render_diagnosis_page(answer))
        return answer


class _Run:
    def __init__(
        self, settings: Settings, listener: Listener, place: Sitting, captured: Captured, start_s: float
    ) -> None:
        workload = captured.workload
        self._settings = settings
        self._start_s = start_s
        self._listener = listener
        self._hardware = place.profile
        self._budget = place.budget
        self._bench = place.bench
        self._captured = captured
        self._options = settings.judge_options()
        self._baseline = Configuration(
            batch_size=workload.batch_size,
            jit_compile=workload.jit_compile,
            steps_per_execution=workload.steps_per_execution,
        )
        self._ledger = Ledger(
            baseline=self._baseline,
            workload=workload,
            options=self._options,
            folder=place.folder,
            budget=place.budget,
            listener=listener,
        )

    def answer(self, command: str) -> Diagnosis:
        named = self._settings.policies or POLICIES
        policies = [policy for policy in POLICIES if policy != self._baseline.policy and policy in named]
        plan = self._plan(policies)
        self._listener(StageStarted(stage="prove", detail="training under each policy, whatever its speed"))
        first = self._train(self._baseline, 0, plan)
        if first.outcome is not Outcome.OK:
            raise baseline_failure(first, self._captured.workload.target)
        numbers = self._profile()
        for seed in range(self._options.maximum_seeds):
            for policy in policies:
                candidate = self._baseline.but(policy=policy)
                if seed == 0 or self._wants_more(candidate):
                    self._train_pair(candidate, seed, plan)
        for policy in policies:
            self._rescue(self._baseline.but(policy=policy), plan)
        return self._diagnosis(numbers, plan, command)

    def _plan(self, policies: Sequence[str]) -> QualityPlan:
        """As long a run as lets all policies be trained over enough seeds, at the speed that each has here."""
        workload = self._captured.workload
        first = self._time(self._baseline)
        if first.outcome is not Outcome.OK:
            raise baseline_failure(first, workload.target)
        step_time_s, slower = self._ledger.step_time_s, 1.0
        for policy in policies:
            timed = self._time(self._baseline.but(policy=policy))
            slower += mean_step_time_s(timed.chunks) / step_time_s if timed.outcome is Outcome.OK else 1.0
        extra_s = _CLOSING_S + _PROFILE_S + (_LIMIT_S if "mixed_float16" in policies else 0.0)
        left_s = _PLANNED_SHARE * (self._budget.left_s - extra_s)
        seeds, sides = self._options.minimum_seeds, 1 + len(policies)
        # Workers of the first seed run already.
        starting_s = sides * (seeds * _TRACE_S + (seeds - 1) * self._start_s)
        if starting_s > _MOST_STARTING * left_s:
            seeds, starting_s = 1, sides * _TRACE_S
        return quality_plan(
            workload,
            step_time_s,
            left_s - starting_s,
            epochs=self._settings.epochs,
            validation_batches=self._captured.validation_batches,
            runs=seeds * slower,
            fewest_steps=_FEWEST_STEPS,
        )

    def _time(self, configuration: Configuration) -> Measurement:
        """A short look at how fast a configuration is."""
        timed = self._bench.speed(
            configuration,
            chunk_s=0.1,
            limit_s=0.4,
            stop=lambda chunks, reference: False,
            input_free=configuration == self._baseline,
        )
        return self._ledger.keep(timed)

    def _train_pair(self, candidate: Configuration, seed: int, plan: QualityPlan) -> None:
        if self._ledger.known("quality", self._baseline, seed) is None:
            self._train(self._baseline, seed, plan)
        self._train(candidate, seed, plan)

    def _train(self, configuration: Configuration, seed: int, plan: QualityPlan) -> Measurement:
        self._listener(TrialStarted(purpose="quality", configuration=configuration, seed=seed))
        started = self._budget.elapsed_s
        measured = self._bench.quality(configuration, seed, plan)
        self._budget.spent("quality", self._budget.elapsed_s - started)
        return self._ledger.keep(measured)

    def _rescue(self, failing: Configuration, plan: QualityPlan) -> None:
        """Looks for the fewest layers to keep in float32, and trains with them over seeds like a policy of its own."""
        case = self._ledger.case_of(failing)
        if case is None or not wants_rescue(case, self._baseline):
            return
        detail = f"looking for the layers that must stay in float32 under {failing.policy}"
        self._listener(StageStarted(stage="prove", detail=detail))
        while self._budget.expected_s("quality", 5.0) <= self._budget.left_s - _CLOSING_S:
            found = self._rescued(case)
            if found.attempt is not None:
                attempt = failing.but(float32_layers=in_order(found.attempt, self._captured.workload))
                if self._ledger.known("quality", attempt) is None:
                    self._train(attempt, 0, plan)
                    continue
            if found.layers is None:
                return
            candidate = failing.but(float32_layers=found.layers)
            seeds = range(self._options.maximum_seeds)
            seed = next((s for s in seeds if self._ledger.known("quality", candidate, s) is None), None)
            if seed is None or not self._wants_more(candidate):
                return
            self._train_pair(candidate, seed, plan)

    def _rescued(self, case: Case) -> Attempt:
        return rescue_of(case, self._ledger.cases(), self._captured.workload, self._captured.findings)

    def _wants_more(self, candidate: Configuration) -> bool:
        case = self._ledger.case_of(candidate)
        if case is None or case.outcome is not Outcome.OK or case.accuracy is None:
            return False
        affordable = 2 * self._budget.expected_s("quality", 5.0) <= self._budget.left_s
        return is_open(case.accuracy, self._options) and affordable

    def _profile(self) -> Mapping[str, Any]:
        try:
            return self._bench.profile("float32", 0, 60.0)
        except (WorkerDied, CaptureFailed):
            return {"layers": {}, "gradients": None}

    def _diagnosis(self, numbers: Mapping[str, Any], plan: QualityPlan, command: str) -> Diagnosis:
        workload, judged = self._captured.workload, self._ledger.cases()
        by_policy = {c.configuration.policy: c for c in judged if not c.configuration.float32_layers}
        half = by_policy.get("mixed_float16")
        seen = computing_in(numerics(numbers, workload.layers), () if half is None else _layers(half))
        return Diagnosis(
            target=workload.target,
            policies={
                policy: replace(_policy(case, workload), rescue=self._outcome_of_rescue(case))
                for policy, case in by_policy.items()
            },
            layers=seen.layers,
            gradients=seen.gradients,
            findings=findings(judged, workload, self._hardware, self._options, self._captured.findings),
            share_of_plan=plan.share,
            command=command,
        )

    def _outcome_of_rescue(self, case: Case) -> Rescue | None:
        workload = self._captured.workload
        attempts = attempts_at(case, self._ledger.cases())
        if not attempts:
            return None
        found = self._rescued(case)
        if found.layers is None:
            tried = f"{len(attempts)} sets of layers, all of them together among these"
            evidence = (
                f"no layer in float32 helps ({tried})" if found.attempt is None else "none found in the time given"
            )
            return Rescue(attempts=len(attempts), evidence=evidence)
        best = next(c for c in attempts if set(c.configuration.float32_layers) == set(found.layers))
        return Rescue(
            layers=best.configuration.float32_layers,
            minimal=found.minimal,
            attempts=len(attempts),
            accuracy=best.accuracy,
            steps=stability(best.trials).steps,
            evidence=_policy(best, workload).evidence,
            snippet=python_snippet(best.configuration, self._baseline, workload),
        )


def _policy(case: Case, workload: WorkloadInfo) -> PolicyDiagnosis:
    found = stability(case.trials)
    last = case.trials[-1]
    accuracy = case.accuracy
    outcome = case.outcome or Outcome.OK
    if case.fault is not None:
        evidence = case.fault
        if outcome is Outcome.OK:  # its runs ended by themselves, but too few of their updates were applied
            outcome = Outcome.NO_UPDATES
    elif accuracy is None:
        evidence = f"trained {found.steps} steps, nothing non-finite"
    else:
        figures = f"{_figure(accuracy.candidate)} against {_figure(accuracy.baseline)}"
        evidence = f"{workload.metric} {figures} over {counted(accuracy.seeds, 'paired seed')}: {accuracy.verdict}"
    return PolicyDiagnosis(
        outcome=outcome,
        accuracy=accuracy,
        steps=found.steps,
        skipped_updates=found.skipped_updates,
        evidence=evidence,
        sixteen_bit_layers=last.sixteen_bit_layers,
        arithmetic_layers=last.arithmetic_layers,
        layers=_layers(case),
        headroom=found.headroom,
        loss_scale_limit=found.loss_scale_limit,
    )


def _layers(case: Case) -> tuple[Any, ...]:
    return next((m.layers for m in reversed(case.trials) if m.layers), ())


def _figure(value: float | None) -> str:
    return "not finite" if value is None else f"{value:.4g}"

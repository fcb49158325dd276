"""Numerics: which policy works with a model, whatever its speed, and what becomes of its numbers in 16 bits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from autotune.atomic import write_atomically
from autotune.capture import Captured, capture
from autotune.errors import WorkerDied
from autotune.judge.accuracy import is_open
from autotune.judge.board import Case, cases
from autotune.judge.findings import findings
from autotune.judge.gradients import gradient_numerics
from autotune.judge.speed import mean_step_time_s
from autotune.judge.stability import stability
from autotune.measure.bench import CaptureFailed, QualityPlan
from autotune.progress import Listener, StageStarted, TrialEnded, TrialStarted, ignore
from autotune.quality_plan import quality_plan
from autotune.records import POLICIES, Configuration, Measurement, Outcome, WorkloadInfo
from autotune.records.codec import dumps, from_json
from autotune.records.diagnosis import Diagnosis, Distribution, LayerNumerics, PolicyDiagnosis, Rescue
from autotune.reports.diagnosis_page import render_diagnosis_page
from autotune.reports.format import counted
from autotune.reports.snippet import python_snippet
from autotune.reports.write import shown_folder
from autotune.rescue import Rescue as Attempt
from autotune.rescue import attempts_at, in_order, rescue_of, wants_rescue
from autotune.search import baseline_failure
from autotune.settings import Settings
from autotune.sitting import LauncherFactory, Sitting, sitting

# A longest run of this long, and seeds while the budget lasts: diagnose answers within a minute or so.
_PART_OF_BUDGET = 0.9
# Kept for judging and writing at the end.
_CLOSING_S = 3.0


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
        answer = _Run(settings, listener, place).answer(command)
        page = place.folder.path / "diagnosis.html"
        listener(StageStarted(stage="report", detail=str(shown_folder(page))))
        write_atomically(place.folder.path / "diagnosis.json", dumps(answer))
        write_atomically(page, render_diagnosis_page(answer))
        return answer


class _Run:
    def __init__(self, settings: Settings, listener: Listener, place: Sitting) -> None:
        self._settings = settings
        self._listener = listener
        self._hardware = place.profile
        self._digest = place.digest
        self._budget = place.budget
        self._bench = place.bench
        self._folder = place.folder
        self._options = settings.judge_options()
        self._measurements: list[Measurement] = []

    def answer(self, command: str) -> Diagnosis:
        captured = self._capture()
        workload = captured.workload
        baseline = Configuration(
            batch_size=workload.batch_size,
            jit_compile=workload.jit_compile,
            steps_per_execution=workload.steps_per_execution,
        )
        plan = self._plan(workload, baseline, captured.validation_batches)
        self._listener(StageStarted(stage="prove", detail="training under each policy, whatever its speed"))
        first = self._train(baseline, 0, plan)
        if first.outcome is not Outcome.OK:
            raise baseline_failure(first, workload.target)
        numbers = self._profile()
        named = self._settings.policies or POLICIES
        policies = [policy for policy in POLICIES if policy != baseline.policy and policy in named]
        for seed in range(self._options.maximum_seeds):
            for policy in policies:
                candidate = baseline.but(policy=policy)
                if seed > 0 and not self._wants_more(candidate, baseline, workload):
                    continue
                if seed > 0 and not self._known(baseline, seed):
                    self._train(baseline, seed, plan)
                self._train(candidate, seed, plan)
        for policy in policies:
            self._rescue(baseline.but(policy=policy), baseline, captured, plan)
        judged = cases(baseline, workload, self._options, self._measurements)
        return self._diagnosis(judged, captured, numbers, plan, command)

    def _capture(self) -> Captured:
        settings = self._settings
        self._listener(StageStarted(stage="capture", detail=f"running {settings.target} up to its fit"))
        left_s = max(5.0, self._budget.left_s)
        return capture(self._bench, str(settings.target), self._digest, settings.fit, left_s)

    def _plan(self, workload: WorkloadInfo, baseline: Configuration, validation_batches: int | None) -> QualityPlan:
        timed = self._bench.speed(
            baseline, chunk_s=0.1, limit_s=0.4, stop=lambda chunks, reference: False, input_free=True
        )
        if timed.outcome is not Outcome.OK:
            raise baseline_failure(timed, workload.target)
        self._measurements.append(timed)
        self._folder.append(timed)
        left_s = _PART_OF_BUDGET * self._budget.left_s
        step_time_s = mean_step_time_s(timed.chunks)
        return quality_plan(
            workload, step_time_s, left_s, epochs=self._settings.epochs, validation_batches=validation_batches
        )

    def _train(self, configuration: Configuration, seed: int, plan: QualityPlan) -> Measurement:
        self._listener(TrialStarted(purpose="quality", configuration=configuration, seed=seed))
        started = self._budget.elapsed_s
        measured = self._bench.quality(configuration, seed, plan)
        self._budget.spent("quality", self._budget.elapsed_s - started)
        kept = replace(measured, number=len(self._measurements), started_s=started)
        self._measurements.append(kept)
        self._folder.append(kept)
        self._listener(TrialEnded(measurement=kept))
        return kept

    def _rescue(self, failing: Configuration, baseline: Configuration, captured: Captured, plan: QualityPlan) -> None:
        """Looks for the fewest layers to keep in float32, and trains with them over seeds like a policy of its own."""
        workload = captured.workload
        case = self._case(failing, baseline, workload)
        if case is None or not wants_rescue(case, baseline):
            return
        detail = f"looking for the layers that must stay in float32 under {failing.policy}"
        self._listener(StageStarted(stage="prove", detail=detail))
        while self._budget.expected_s("quality", 5.0) <= self._budget.left_s - _CLOSING_S:
            found = self._rescued(case, baseline, captured)
            if found.attempt is not None:
                attempt = failing.but(float32_layers=in_order(found.attempt, workload))
                if not self._known(attempt, 0):
                    self._train(attempt, 0, plan)
                    continue
            if found.layers is None:
                return
            candidate = failing.but(float32_layers=found.layers)
            seed = next((s for s in range(self._options.maximum_seeds) if not self._known(candidate, s)), None)
            if seed is None or not self._wants_more(candidate, baseline, workload):
                return
            if not self._known(baseline, seed):
                self._train(baseline, seed, plan)
            self._train(candidate, seed, plan)

    def _rescued(self, case: Case, baseline: Configuration, captured: Captured) -> Attempt:
        judged = cases(baseline, captured.workload, self._options, self._measurements)
        return rescue_of(case, judged, captured.workload, captured.findings)

    def _wants_more(self, candidate: Configuration, baseline: Configuration, workload: WorkloadInfo) -> bool:
        case = self._case(candidate, baseline, workload)
        if case is None or case.outcome is not Outcome.OK or case.accuracy is None:
            return False
        affordable = 2 * self._budget.expected_s("quality", 5.0) <= self._budget.left_s
        return is_open(case.accuracy, self._options) and affordable

    def _case(self, candidate: Configuration, baseline: Configuration, workload: WorkloadInfo) -> Case | None:
        judged = cases(baseline, workload, self._options, self._measurements)
        return next((case for case in judged if case.configuration == candidate), None)

    def _known(self, configuration: Configuration, seed: int) -> bool:
        return any(m.configuration == configuration and m.seed == seed for m in self._measurements)

    def _profile(self) -> Mapping[str, Any]:
        try:
            return self._bench.profile("float32", 0, 60.0)
        except (WorkerDied, CaptureFailed):
            return {"layers": {}, "gradients": None}

    def _diagnosis(
        self,
        judged: list[Case],
        captured: Captured,
        numbers: Mapping[str, Any],
        plan: QualityPlan,
        command: str,
    ) -> Diagnosis:
        workload = captured.workload
        by_policy = {c.configuration.policy: c for c in judged if not c.configuration.float32_layers}
        half = by_policy.get("mixed_float16")
        computed = {layer.path: layer.compute_dtype for layer in _layers(half)} if half is not None else {}
        return Diagnosis(
            target=workload.target,
            policies={
                policy: replace(_policy(case, workload), rescue=self._outcome_of_rescue(case, judged, captured))
                for policy, case in by_policy.items()
            },
            layers=tuple(
                LayerNumerics(
                    path=layer.path,
                    type=layer.type,
                    variable_dtype=layer.variable_dtype,
                    compute_dtype=computed.get(layer.path),
                    activations=_distribution(numbers["layers"].get(layer.path, {}).get("activations")),
                    gradients=_distribution(numbers["layers"].get(layer.path, {}).get("gradients")),
                )
                for layer in workload.layers
            ),
            gradients=gradient_numerics(_distribution(numbers["gradients"])),
            findings=findings(judged, workload, self._hardware, self._options, captured.findings),
            share_of_plan=plan.share,
            command=command,
        )

    def _outcome_of_rescue(self, case: Case, judged: list[Case], captured: Captured) -> Rescue | None:
        baseline, workload = judged[0].configuration, captured.workload
        attempts = attempts_at(case, judged)
        if not attempts:
            return None
        found = self._rescued(case, baseline, captured)
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
            snippet=python_snippet(best.configuration, baseline, workload),
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
    )


def _layers(case: Case) -> tuple[Any, ...]:
    return next((m.layers for m in reversed(case.trials) if m.layers), ())


def _distribution(data: Any) -> Distribution | None:
    return None if data is None else from_json(Distribution, data, what="the worker's profile")


def _figure(value: float | None) -> str:
    return "not finite" if value is None else f"{value:.4g}"

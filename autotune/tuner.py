"""The stages in order; the only orchestrator."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from autotune.capture import Captured, capture
from autotune.errors import HardwareError, WorkerDied
from autotune.judge.gradients import numerics
from autotune.measure.bench import Bench, CaptureFailed
from autotune.memory import MACHINE, MODEL, Memory, outdated, remember
from autotune.plan import plan as make_plan
from autotune.plan import wants_loss_scales
from autotune.probe.ceilings import ceilings_from
from autotune.probe.fitness import thread_findings
from autotune.probe.others import others_findings, read_counters
from autotune.probe.profile import probe
from autotune.progress import Listener, Note, StageStarted, ignore
from autotune.readiness import come_since
from autotune.recommend import hardware_fingerprint, model_fingerprint, recommend, software_fingerprint
from autotune.records import (
    BASELINE_POLICY,
    Finding,
    LayerCost,
    Measurement,
    Numerics,
    Recommendation,
    RunRecord,
    Severity,
    WorkloadInfo,
)
from autotune.reports.write import write_reports
from autotune.search import Search
from autotune.settings import Settings
from autotune.sitting import LauncherFactory, Sitting, sitting
from autotune.store import RunFolder, Study
from autotune.strategies import create

_CEILINGS_S = 2.0
_PROFILE_S = 60.0
_COUNT_S = 20.0


def tune(
    settings: Settings,
    listener: Listener = ignore,
    *,
    launcher: LauncherFactory | None = None,
    command: str | None = None,
) -> Recommendation:
    """Measures and recommends.

    Args:
        settings: What to do.
        listener: Is told what happens.
        launcher: Makes the launcher of workers; workers on this machine by default.
        command: The command line, for the record.

    Returns:
        The answer; its ``interrupted`` is set when the user stopped the run, and it is then the best answer so far.

    Raises:
        WorkloadError: The script fails, never calls ``fit``, or is not finite at float32.
        BudgetError: The budget ran out before the baseline was measured.
        UsageError: A setting or the run folder cannot be used.
        HardwareError: Hardware or framework cannot be used.
    """
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    with sitting(settings, listener, launcher) as place:
        return _tune(settings, listener, place, started_at, command or shlex.join(sys.argv))


def _tune(settings: Settings, listener: Listener, place: Sitting, started_at: str, command: str) -> Recommendation:
    budget, folder, bench = place.budget, place.folder, place.bench
    listener(StageStarted(stage="capture", detail=f"running {settings.target} up to its fit"))
    folder.check_same(_identity(settings, place))
    folder.keep_settings(settings)
    captured = capture(bench, str(settings.target), place.digest, settings.fit, max(5.0, budget.left_s - 2.0))
    workload = captured.workload
    if settings.epochs is not None:
        workload = replace(workload, epochs=settings.epochs)
    ceilings = ceilings_from(bench.ceilings(_dtypes(settings), min(_CEILINGS_S, budget.total_s / 20)))
    profile = replace(place.profile, ceilings=ceilings)
    costs = _costs(bench)
    listener(StageStarted(stage="plan", detail="what is worth trying"))
    seen = _numerics(bench, workload, min(_PROFILE_S, budget.total_s / 10))
    scale = seen.gradients.predicted_loss_scale if seen and wants_loss_scales(profile, settings) else None
    plan = make_plan(profile, workload, settings, predicted_loss_scale=scale)
    memory = _memory(settings, place, captured, listener)
    plan = replace(plan, first=(*plan.first, *memory.first))
    study = Study(folder.path)

    def search_on(recalled: Sequence[Measurement]) -> Search:
        return Search(
            bench=bench,
            plan=plan,
            strategy=create(settings.strategy, seed=settings.seed),
            workload=workload,
            options=settings.judge_options(),
            folder=folder,
            study=study,
            budget=budget,
            listener=listener,
            recalled=recalled,
            epochs=settings.epochs,
            validation_batches=captured.validation_batches,
            findings=captured.findings,
            room_bytes=place.room_bytes,
        )

    search = search_on(folder.measurements() if settings.resume is not None else memory.measurements)
    interrupted = False
    extra = list(memory.findings)
    try:
        extra += _search(search, recheck=bool(memory.measurements))
        contradiction = outdated(search.measurements, memory.measurements)
        if contradiction is not None:
            listener(Note(text=contradiction.message))
            folder.forget()
            extra = [contradiction]
            search = search_on(())
            extra += _search(search)
    except KeyboardInterrupt:
        if not any(m.configuration.policy == BASELINE_POLICY for m in search.measurements):
            raise
        interrupted = True
        listener(Note(text="interrupted: the best answer so far is written"))
    bench.close()
    extra += [*others_findings(place.counters, read_counters()), *come_since(profile, probe())]
    record = RunRecord(
        command=command,
        started_at=started_at,
        budget_s=budget.total_s,
        tuning_s=budget.elapsed_s,
        interrupted=interrupted,
        open_questions=tuple(search.open_questions),
        hardware=profile,
        workload=workload,
        baseline=plan.space.baseline,
        measurements=tuple(search.measurements),
        excluded=plan.excluded,
        findings=(*captured.findings, *thread_findings(profile.cpu, workload.intra_op_threads), *plan.findings, *extra),
        options=settings.judge_options(),
        costs=costs,
        numerics=seen,
    )
    return conclude(record, folder, listener)


def _search(search: Search, *, recheck: bool = False) -> list[Finding]:
    """Searches and compares at the end; says where that could not be done.

    Args:
        search: Not yet begun.
        recheck: Whether what was recalled needs a comparison of today, even where the baseline is kept.
    """
    search.run()
    try:
        search.close()
        if recheck:
            search.recheck()
    except HardwareError as error:
        return [Finding(code="no_duel", severity=Severity.WARNING, message=error.message)]
    return []


def _memory(settings: Settings, place: Sitting, captured: Captured, listener: Listener) -> Memory:
    """Notes in full what this run is about, and what earlier ones know of it; nothing on resume, or where it is unwanted."""
    identity = {
        **_identity(settings, place),
        MODEL: model_fingerprint(captured.workload),
        "the model's weights and data": captured.content,
        "--budget": str(settings.budget_s),
    }
    place.folder.note(identity)
    if settings.resume is not None or settings.fresh:
        return Memory()
    memory = remember(place.folder, identity)
    for finding in memory.findings:
        listener(Note(text=finding.message))
    if memory.first:
        listener(Note(text="an earlier run answered for this model: its answer is timed first"))
    return memory


def conclude(record: RunRecord, folder: RunFolder, listener: Listener = ignore) -> Recommendation:
    """Stores the record, decides and writes the reports."""
    listener(StageStarted(stage="report", detail=str(folder.path)))
    folder.write_run(record)
    recommendation = replace(recommend(record), run_folder=str(folder.path))
    folder.write_recommendation(recommendation)
    write_reports(recommendation, folder.path)
    return recommendation


def _identity(settings: Settings, place: Sitting) -> dict[str, str]:
    """What measurements of this run depend on."""
    return {
        "the script": place.digest,
        "its arguments": shlex.join(settings.arguments),
        MACHINE: hardware_fingerprint(place.profile),
        "the versions of the libraries": software_fingerprint(place.profile.software),
        "--fit": str(settings.fit),
        "--epochs": str(settings.epochs),
        "--metric": str(settings.metric),
    }


def _numerics(bench: Bench, workload: WorkloadInfo, limit_s: float) -> Numerics | None:
    """How large the model's numbers are with the weights that stand at ``fit``; None when unknown."""
    try:
        numbers = bench.profile(BASELINE_POLICY, 0, limit_s)
    except (WorkerDied, CaptureFailed):
        return None
    return numerics(numbers, workload.layers) if numbers["layers"] else None


def _costs(bench: Bench) -> tuple[LayerCost, ...]:
    """What a step computes and moves; empty where that is unknown."""
    try:
        return bench.cost(BASELINE_POLICY, 0, _COUNT_S)
    except (WorkerDied, CaptureFailed):
        return ()


def _dtypes(settings: Settings) -> tuple[str, ...]:
    return ("float32", "bfloat16", "float16", *(("float64",) if settings.reference == "float64" else ()))

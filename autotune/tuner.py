"""The stages in order; the only orchestrator."""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from autotune.budget import Budget
from autotune.capture import capture, check_backend
from autotune.errors import HardwareError
from autotune.measure.bench import Bench
from autotune.measure.launcher import Launcher, LocalLauncher
from autotune.measure.spec import WorkerSpec
from autotune.plan import plan as make_plan
from autotune.probe.ceilings import ceilings_from
from autotune.probe.profile import probe
from autotune.progress import Listener, Note, StageStarted, ignore
from autotune.recommend import recommend
from autotune.records import BASELINE_POLICY, Finding, HardwareProfile, Recommendation, RunRecord, Severity
from autotune.reports.write import write_reports
from autotune.search import Search
from autotune.settings import Settings
from autotune.store import RunFolder, Study
from autotune.strategies import create

_CEILINGS_S = 2.0
LauncherFactory = Callable[[Path, HardwareProfile, int | None], Launcher]


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
    check_backend(os.environ)
    budget = Budget(settings.budget_s)
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    folder = RunFolder.open_for(settings)
    with folder:
        listener(StageStarted(stage="probe", detail="what this machine is"))
        profile = probe()
        workers = (launcher or local_launcher)(folder.logs, profile, settings.memory_limit_bytes)
        script = settings.target.resolve()
        spec = WorkerSpec(
            script=str(script),
            target=str(settings.target),
            arguments=settings.arguments,
            cwd=os.getcwd(),
            log_path="",
            metric=settings.metric or "",
        )
        bench = Bench(workers, spec, str(folder.logs))
        try:
            return _tune(
                settings, listener, budget, folder, profile, bench, started_at, command or shlex.join(sys.argv)
            )
        finally:
            bench.close()
            workers.close()


def local_launcher(logs: Path, profile: HardwareProfile, memory_limit_bytes: int | None) -> Launcher:
    """Workers on this machine: forked on a CPU, fresh processes with a GPU."""
    environment = {**os.environ, "TF_FORCE_GPU_ALLOW_GROWTH": os.environ.get("TF_FORCE_GPU_ALLOW_GROWTH", "true")}
    limit = memory_limit_bytes if profile.device == "cpu" else None
    return LocalLauncher(logs, environment, limit, fork=profile.device == "cpu")


def _tune(
    settings: Settings,
    listener: Listener,
    budget: Budget,
    folder: RunFolder,
    profile: HardwareProfile,
    bench: Bench,
    started_at: str,
    command: str,
) -> Recommendation:
    listener(StageStarted(stage="capture", detail=f"running {settings.target} up to its fit"))
    digest = hashlib.sha256(settings.target.read_bytes()).hexdigest()[:16]
    folder.check_same(digest)
    captured = capture(bench, str(settings.target), digest, settings.fit, max(5.0, budget.left_s - 2.0))
    workload = captured.workload
    if settings.epochs is not None:
        workload = replace(workload, epochs=settings.epochs)
    profile = replace(
        profile, ceilings=ceilings_from(bench.ceilings(_dtypes(settings), min(_CEILINGS_S, budget.total_s / 20)))
    )
    listener(StageStarted(stage="plan", detail="what is worth trying"))
    plan = make_plan(profile, workload, settings)
    strategy = create(settings.strategy, seed=settings.seed)
    recalled = folder.measurements() if settings.resume is not None else []
    search = Search(
        bench=bench,
        plan=plan,
        strategy=strategy,
        workload=workload,
        options=settings.judge_options(),
        folder=folder,
        study=Study(folder.path),
        budget=budget,
        listener=listener,
        recalled=recalled,
        epochs=settings.epochs,
        validation_batches=captured.validation_batches,
    )
    interrupted = False
    extra: list[Finding] = []
    try:
        search.run()
        try:
            search.duel()
        except HardwareError as error:
            extra.append(Finding(code="no_duel", severity=Severity.WARNING, message=error.message))
    except KeyboardInterrupt:
        if not any(m.configuration.policy == BASELINE_POLICY for m in search.measurements):
            raise
        interrupted = True
        listener(Note(text="interrupted: the best answer so far is written"))
    bench.close()
    record = RunRecord(
        command=command,
        started_at=started_at,
        budget_s=settings.budget_s,
        tuning_s=budget.elapsed_s,
        interrupted=interrupted,
        open_questions=tuple(search.open_questions),
        hardware=profile,
        workload=workload,
        baseline=plan.space.baseline,
        measurements=tuple(search.measurements),
        excluded=search.excluded(),
        findings=(*captured.findings, *plan.findings, *extra),
        options=settings.judge_options(),
    )
    return conclude(record, folder, listener)


def conclude(record: RunRecord, folder: RunFolder, listener: Listener = ignore) -> Recommendation:
    """Stores the record, decides and writes the reports."""
    listener(StageStarted(stage="report", detail=str(folder.path)))
    folder.write_run(record)
    recommendation = replace(recommend(record), run_folder=str(folder.path))
    folder.write_recommendation(recommendation)
    write_reports(recommendation, folder.path)
    return recommendation


def _dtypes(settings: Settings) -> tuple[str, ...]:
    return ("float32", "bfloat16", "float16", *(("float64",) if settings.reference == "float64" else ()))

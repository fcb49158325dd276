"""Builds the view model: a pure function of the record."""

from __future__ import annotations

import shlex
from pathlib import PurePath

from autotune.records import Recommendation
from autotune.records.codec import dumps
from autotune.reports import context, proofs, tables
from autotune.reports import format as write
from autotune.reports.highlights import highlights
from autotune.reports.model import CurveLine, View, Way
from autotune.reports.numerics import numerics_view
from autotune.reports.roofline import roofline_view
from autotune.reports.snippet import one_line, python_snippet, resume_command

_RECORD_FILE = "recommendation.json"
_REPORT_FILE = "report.html"


def view(recommendation: Recommendation, run_folder: str | None = None) -> View:
    """Turns a record into all that its views show.

    Args:
        recommendation: The record.
        run_folder: Folder of the run as commands should name it; None takes the record's own word for it.
    """
    run_folder = run_folder or recommendation.run_folder or None
    workload = recommendation.workload
    record_path = str(PurePath(run_folder) / _RECORD_FILE) if run_folder else _RECORD_FILE
    planned = recommendation.cost.planned_epochs
    numbers = recommendation.numerics
    return View(
        title=PurePath(workload.target).name or workload.target,
        place=context.place(recommendation),
        headline=recommendation.headline,
        recommended=recommendation.verdict == "recommended",
        interrupted=recommendation.interrupted,
        change=_change(recommendation),
        why=recommendation.why,
        highlights=highlights(recommendation),
        proofs=proofs.proofs(recommendation),
        ways=_ways(recommendation, record_path),
        speed=proofs.speed_interval(recommendation.speed),
        difference=proofs.difference_interval(recommendation.accuracy),
        metric=recommendation.accuracy.metric or workload.metric or "accuracy",
        direction=recommendation.accuracy.direction or workload.metric_direction or "",
        curves=_curves(recommendation),
        epochs="planned run" if planned is None else write.counted(planned, "epoch"),
        policies=tables.policy_lines(recommendation),
        candidates=tables.candidate_lines(recommendation),
        batch_note=_batch_note(recommendation),
        trials=tables.trial_lines(recommendation),
        ruled_out=tables.ruled_out(recommendation),
        findings=tables.finding_lines((*recommendation.findings, *recommendation.hardware.findings)),
        open_questions=recommendation.open_questions,
        go_on=_go_on(recommendation, run_folder),
        machine=context.machine_facts(recommendation.hardware, recommendation.hardware_fingerprint),
        software=context.software_facts(recommendation.software, recommendation.software_fingerprint),
        workload=context.workload_facts(workload, recommendation.workload_fingerprint),
        ceilings=context.ceiling_lines(recommendation.hardware),
        roofline=roofline_view(recommendation),
        numerics=None if numbers is None else numerics_view(numbers.layers, numbers.gradients),
        command=recommendation.command,
        started_at=recommendation.started_at,
        record_json=dumps(recommendation, indent=None),
        record_path=record_path,
        report_path=str(PurePath(run_folder) / _REPORT_FILE) if run_folder else "",
    )


def _go_on(recommendation: Recommendation, run_folder: str | None) -> str:
    """The command that goes on with what is open; empty where nothing is."""
    if run_folder is None or not (recommendation.open_questions or recommendation.interrupted):
        return ""
    workload = recommendation.workload
    return resume_command(workload.target, workload.arguments, run_folder, budget="10m")


def _change(recommendation: Recommendation) -> str:
    if recommendation.configuration == recommendation.baseline:
        return ""
    return recommendation.configuration.describe(recommendation.baseline)


def _ways(recommendation: Recommendation, record_path: str) -> tuple[Way, ...]:
    """How to use the answer; none where nothing is to be changed."""
    if recommendation.verdict == "keep_baseline":
        return ()
    workload = recommendation.workload
    command = ["autotune", "run", workload.target, "--with", record_path]
    if workload.arguments:
        command += ["--", *workload.arguments]
    ways = [
        Way(
            title="Run the script as it is",
            code=shlex.join(command),
            language="shell",
            note="Nothing in the script changes; each setting is checked to have taken effect.",
        )
    ]
    line = one_line(recommendation.configuration, recommendation.baseline)
    if line:
        title, short, code = "Or one line before the model", "or one line before the model", line
        note = ""
    else:
        title, short = "Or these lines in the script", "or in the script"
        note = "What stands for ... stays as it is."
        code = python_snippet(recommendation.configuration, recommendation.baseline, workload)
    if code:
        ways.append(Way(title=title, short=short, code=code, language="python", note=note))
    ways.append(
        Way(
            title="Or from Python",
            code=f"import autotune\n\nchosen = autotune.load({record_path!r}).configuration\n"
            "keras.config.set_dtype_policy(chosen.policy)",
            language="python",
            note="The record also holds the batch size and every other setting.",
        )
    )
    return tuple(ways)


def _curves(recommendation: Recommendation) -> tuple[CurveLine, ...]:
    """Curves of the metric that decides; points without a finite value are left out."""
    metric = recommendation.accuracy.metric or recommendation.workload.metric
    lines = []
    for curve in recommendation.curves:
        values = ((point.samples, point.values.get(metric or "")) for point in curve.points)
        points = tuple((samples, value) for samples, value in values if value is not None)
        if points:
            lines.append(CurveLine(side=curve.side, seed=curve.seed, points=points))
    return tuple(lines)


def _batch_note(recommendation: Recommendation) -> str:
    reason = recommendation.workload.batch_fixed_reason
    if reason is None:
        return ""
    batch = recommendation.baseline.batch_size
    return f"the batch stays {'as written' if batch is None else write.count(batch)}: {reason}"

"""The parent's part of capturing: which ``fit`` is measured, and what goes wrong before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from autotune.errors import AutotuneError, BudgetError, UsageError, WorkerDied, WorkloadError
from autotune.measure.bench import Bench, CaptureFailed
from autotune.records import Finding, FitCall, Severity, WorkloadInfo
from autotune.records.codec import from_json

_LOOP_HINT = (
    "a loop of your own is not measured by this version: train with model.fit (a custom train_step keeps your step), "
    "or give a module with build_model() and load_data()"
)

_LONGEST_REASON = 120


@dataclass(frozen=True, kw_only=True, slots=True)
class Captured:
    """The fit that is measured.

    Attributes:
        workload: What it trains.
        findings: What was noticed on the way.
        validation_batches: Batches of one validation pass; None when unknown.
        content: Hash of the weights at ``fit`` and of the training data.
    """

    workload: WorkloadInfo
    findings: tuple[Finding, ...]
    validation_batches: int | None
    content: str = ""


def check_backend(environment: Mapping[str, str]) -> None:
    """Refuses an environment in which Keras runs on something else than TensorFlow.

    Raises:
        WorkloadError: It does.
    """
    backend = environment.get("KERAS_BACKEND", "tensorflow")
    if backend != "tensorflow":
        raise WorkloadError(
            f"KERAS_BACKEND is {backend}: autotune measures the TensorFlow backend only",
            hint="unset KERAS_BACKEND if the script can run on TensorFlow",
        )


def capture(bench: Bench, target: str, digest: str, wanted: int | None, limit_s: float) -> Captured:
    """Runs the script up to the ``fit`` to be measured, at float32.

    Args:
        bench: Runs workers.
        target: The script as the user wrote it.
        digest: Hash of the script.
        wanted: Index of the ``fit`` that the user chose; None for the one with the most planned work.
        limit_s: Time for all of it.

    Raises:
        WorkloadError: The script fails, ends or never calls ``fit``.
        UsageError: It has no ``fit`` with the wanted index.
        BudgetError: It did not get there in time.
    """
    try:
        if wanted is not None and wanted > 1:
            bench.select_fit(wanted)
        event = bench.capture("float32", 0, limit_s)
        fits = list(event["workload"]["fits"])
        if wanted is None and len(event["sites"]) > 1:
            found = bench.discover(limit_s)["fits"]
            fits = found or fits
            best = max(fits, key=lambda fit: (fit["planned_steps"] or 0, -fit["index"]))
            if best["index"] != event["fit_index"]:
                bench.select_fit(best["index"])
                event = bench.capture("float32", 0, limit_s)
    except CaptureFailed as failed:
        raise failure(failed, target, wanted) from None
    except WorkerDied as death:
        raise WorkloadError(
            f"{target} ended its process before fit: {death.message}",
            hint="run it by itself first",
            detail=death.detail,
        ) from None
    workload = from_json(
        WorkloadInfo, {**event["workload"], "digest": digest, "target": target}, what="the worker's description"
    )
    selected = event["fit_index"]
    calls = tuple(FitCall(**{**fit, "selected": fit["index"] == selected}) for fit in fits)
    workload = replace(workload, fits=calls)
    findings = [from_json(Finding, finding, what="the worker's finding") for finding in event["findings"]]
    findings += _about_fits(workload, event["sites"], target)
    findings += _about_callbacks(workload)
    return Captured(
        workload=workload,
        findings=tuple(findings),
        validation_batches=event.get("validation_batches"),
        content=f"{event.get('weights_hash')}-{event.get('data_hash')}",
    )


def failure(failed: CaptureFailed, target: str, wanted: int | None) -> AutotuneError:
    """The error that tells what kept the script from its ``fit``."""
    message = failed.message
    traceback = str(message.get("traceback") or "")
    if failed.kind == "timeout":
        return BudgetError(
            f"{target} did not reach its fit within {message['limit_s']:.0f} s",
            hint="give a larger --budget, or see in the run folder's logs whether the script waits for something",
        )
    if failed.kind == "framework":
        return WorkloadError(f"{target}: {message['reason']}")
    if failed.kind == "ended":
        calls = message.get("fits") or []
        why = f" ({message['why']})" if message.get("why") else ""
        if calls and wanted:
            lines = ", ".join(f"{fit['index']}: {fit['location']}" for fit in calls)
            return UsageError(
                f"--fit {wanted}: {target} calls fit {len(calls)} time{'s' if len(calls) > 1 else ''} ({lines}){why}"
            )
        if calls:
            return WorkloadError(f"{target} ended before its fit could be measured{why}")
        loop = "it trains in a loop of its own and " if message.get("loops") else ""
        return WorkloadError(
            f"{target} never calls fit: {loop}there is nothing that can be measured{why}", hint=_LOOP_HINT
        )
    if failed.kind == "exit":
        return WorkloadError(
            f"{target}: {message['reason']}",
            hint="does it need arguments? give them behind --, as in: autotune recommend train.py -- --epochs 5",
            detail=traceback,
        )
    place = f" ({message['line']})" if message.get("line") else ""
    where = "inside fit" if failed.kind == "fit" else "before fit"
    reason = str(message.get("reason", failed.kind))
    if len(reason) > _LONGEST_REASON and traceback:
        reason = reason.partition(":")[0]  # the whole of it stands below
    return WorkloadError(
        f"{target} fails {where}{place}: {reason}",
        hint="the script must run by itself first",
        detail=traceback,
    )


def _about_fits(workload: WorkloadInfo, sites: list[str], target: str) -> list[Finding]:
    if len(workload.fits) < 2:
        return []
    listed = "; ".join(
        f"{fit.index}: {fit.location}" + (f", {fit.planned_steps} steps" if fit.planned_steps else "")
        for fit in workload.fits
    )
    selected = next(fit for fit in workload.fits if fit.selected)
    before = " Earlier ones ran for one step only." if selected.index > 1 else ""
    return [
        Finding(
            code="several_fits",
            severity=Severity.INFO,
            message=f"{target} calls fit {len(workload.fits)} times ({listed}); number {selected.index} was measured.{before}",
            line=selected.location,
            advice="choose another with --fit N",
        )
    ]


def _about_callbacks(workload: WorkloadInfo) -> list[Finding]:
    if not workload.callbacks_left_out:
        return []
    names = ", ".join(workload.callbacks_left_out)
    return [
        Finding(
            code="callbacks_left_out",
            severity=Severity.INFO,
            message=f"left out of the trials, since they write, send or stop early: {names}",
            advice=None,
        )
    ]

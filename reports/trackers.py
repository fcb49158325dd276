"""A run in the stores of TensorBoard and MLflow."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from autotune.records import Curve, Recommendation, TrialRow
from autotune.reports.export import needing
from autotune.reports.frame import knob_values, trial_values

# What TensorBoard reads first in a file of events.
_EVENTS_VERSION = "brain.Event:2"
_FIRST_STEP = 0


def write_tensorboard(record: Recommendation, folder: Path) -> None:
    """Writes event files: a folder for each trial, with its knobs as hyperparameters, and one for each learning curve.

    The files are made of TensorBoard's own protocol buffers: its writer would import TensorFlow.

    Raises:
        UsageError: TensorBoard is not installed.
        OSError: The folder cannot be written to.
    """
    with needing("tensorboard", "tensorboard"):
        from tensorboard.compat.proto import event_pb2  # noqa: F401
    start = _seconds(record.started_at)
    for trial in record.trials:
        knobs = {name: value for name, value in knob_values(trial.configuration).items() if value is not None}
        events = [_session(knobs, f"trial {trial.number}", ok=trial.outcome == "ok", wall_time=start)]
        events += [_scalar(name, value, _FIRST_STEP, start) for name, value in _measured(trial).items()]
        _write_events(folder / f"trial_{trial.number:03d}", events, start)
    for curve in record.curves:
        points = [
            _scalar(name, value, point.step, start)
            for point in curve.points
            for name, value in point.values.items()
            if value is not None
        ]
        _write_events(folder / f"{curve.side}_seed_{curve.seed}", points, start)


def write_mlflow(record: Recommendation, store: str, artifacts: Path | None, files: Iterable[Path] = ()) -> str:
    """Writes an MLflow run for the answer, with a nested run for each trial, into the experiment ``autotune``.

    Args:
        record: The answer.
        store: MLflow's tracking URI.
        artifacts: Where the experiment keeps its files, if it must be made; None for the store's own place.
        files: Files to keep with the run, such as the report.

    Returns:
        The id of the run.

    Raises:
        UsageError: MLflow is not installed.
    """
    with needing("mlflow", "mlflow"):
        from mlflow.entities import Metric, Param, RunTag
        from mlflow.tracking import MlflowClient
    # It tells of every table that it makes.
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.WARNING)
    client = MlflowClient(tracking_uri=store)
    known = client.get_experiment_by_name("autotune")
    place = None if artifacts is None else artifacts.absolute().as_uri()
    experiment = known.experiment_id if known else client.create_experiment("autotune", artifact_location=place)
    start_ms = round(_seconds(record.started_at) * 1000)

    def log(
        name: str,
        knobs: Mapping[str, Any],
        measured: Mapping[str, float],
        tags: Mapping[str, str],
        curve: Curve | None = None,
    ) -> str:
        run = str(client.create_run(experiment, start_time=start_ms, run_name=name).info.run_id)
        metrics = [Metric(key, value, start_ms, 0) for key, value in measured.items()]
        if curve is not None:
            metrics += [
                Metric(_key(key), value, start_ms, point.step)
                for point in curve.points
                for key, value in point.values.items()
                if value is not None
            ]
        client.log_batch(
            run,
            metrics=metrics,
            params=[Param(key, str(value)) for key, value in knobs.items() if value is not None],
            tags=[RunTag(key, value) for key, value in tags.items()],
        )
        client.set_terminated(run, end_time=start_ms)
        return run

    answer = {
        f"{part}.{name}": float(value)
        for part in ("speed", "accuracy", "stability", "cost")
        for name, value in _numbers(getattr(record, part)).items()
    }
    tags = {"autotune.verdict": record.verdict, "mlflow.note.content": record.headline}
    tags["mlflow.source.name"] = record.workload.target
    parent = log(Path(record.workload.target).name, knob_values(record.configuration), answer, tags)
    for path in files:
        client.log_artifact(parent, str(path))
    below = {"mlflow.parentRunId": parent}
    for trial in record.trials:
        tags = {**below, "autotune.purpose": trial.purpose, "autotune.outcome": str(trial.outcome)}
        log(f"trial {trial.number}", knob_values(trial.configuration), _measured(trial), tags)
    for curve in record.curves:
        configuration = record.baseline if curve.side == "baseline" else record.configuration
        tags = {**below, "autotune.purpose": "curve"}
        log(f"{curve.side}, seed {curve.seed}", knob_values(configuration), {}, tags, curve)
    return parent


def _measured(trial: TrialRow) -> dict[str, float]:
    values = trial_values(trial)
    knobs = knob_values(trial.configuration)
    return {name: float(value) for name, value in values.items() if name not in knobs and _is_number(value)}


def _numbers(part: Any) -> dict[str, float]:
    return {name: getattr(part, name) for name in part.__dataclass_fields__ if _is_number(getattr(part, name))}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _key(name: str) -> str:
    """A log's name in the letters that MLflow allows."""
    return "".join(letter if letter.isalnum() or letter in "_-. /" else "_" for letter in name)


def _seconds(moment: str) -> float:
    try:
        return datetime.fromisoformat(moment).timestamp()
    except ValueError:
        return 0.0


def _write_events(folder: Path, events: Iterable[Any], wall_time: float) -> None:
    from tensorboard.compat.proto import event_pb2
    from tensorboard.summary.writer.record_writer import RecordWriter

    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("events.out.tfevents.*.autotune"):  # exported twice is still one series
        old.unlink()
    name = f"events.out.tfevents.{int(wall_time):010d}.autotune"
    with (folder / name).open("wb") as file:
        writer = RecordWriter(file)
        for event in (event_pb2.Event(wall_time=wall_time, file_version=_EVENTS_VERSION), *events):
            writer.write(event.SerializeToString())
        writer.flush()
        os.fsync(file.fileno())


def _scalar(name: str, value: float, step: int, wall_time: float) -> Any:
    from tensorboard.compat.proto import event_pb2, summary_pb2

    summary = summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag=name, simple_value=value)])
    return event_pb2.Event(wall_time=wall_time, step=step, summary=summary)


def _session(knobs: Mapping[str, Any], name: str, *, ok: bool, wall_time: float) -> Any:
    """The two notes by which TensorBoard's hyperparameter table knows a session."""
    from tensorboard.compat.proto import event_pb2, summary_pb2
    from tensorboard.plugins.hparams import api_pb2, plugin_data_pb2

    start = plugin_data_pb2.SessionStartInfo(group_name=name, start_time_secs=wall_time)
    for key, value in knobs.items():
        if isinstance(value, bool):
            start.hparams[key].bool_value = value
        elif isinstance(value, int | float):
            start.hparams[key].number_value = value
        else:
            start.hparams[key].string_value = str(value)
    status = api_pb2.STATUS_SUCCESS if ok else api_pb2.STATUS_FAILURE
    end = plugin_data_pb2.SessionEndInfo(status=status, end_time_secs=wall_time)
    notes = {
        "_hparams_/session_start_info": plugin_data_pb2.HParamsPluginData(session_start_info=start, version=0),
        "_hparams_/session_end_info": plugin_data_pb2.HParamsPluginData(session_end_info=end, version=0),
    }
    summary = summary_pb2.Summary()
    for tag, content in notes.items():
        value = summary.value.add(tag=tag)
        value.metadata.plugin_data.plugin_name = "hparams"
        value.metadata.plugin_data.content = content.SerializeToString()
    return event_pb2.Event(wall_time=wall_time, summary=summary)

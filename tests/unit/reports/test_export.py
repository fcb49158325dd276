"""A run for other tools: each reads back what the record holds."""

from __future__ import annotations

import io
import sqlite3
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

from autotune.records import Configuration, Recommendation
from autotune.records.codec import from_json, to_json
from autotune.reports.export import csv_text, python_text, write_parquet, yaml_text
from autotune.reports.frame import trials_frame
from autotune.reports.trackers import write_mlflow, write_tensorboard
from tests.unit.reports.samples import SAMPLES, by_batch, by_precision, failed_float16, keep_baseline, rescued_layers


@pytest.mark.parametrize("name", SAMPLES)
def test_csv_and_parquet_hold_every_trial_with_its_numbers(name: str, tmp_path: Path) -> None:
    record = SAMPLES[name]()
    write_parquet(record, tmp_path / "trials.parquet")
    for frame in (pd.read_csv(io.StringIO(csv_text(record))), pd.read_parquet(tmp_path / "trials.parquet")):
        assert list(frame["trial"]) == [trial.number for trial in record.trials]
        assert list(frame["outcome"]) == [str(trial.outcome) for trial in record.trials]
        assert list(frame["step_time_s"].fillna(0)) == pytest.approx(
            [trial.step_time_s or 0 for trial in record.trials]
        )
        assert list(frame["policy"]) == [trial.configuration.policy for trial in record.trials]


def test_whole_numbers_stay_whole_beside_missing_ones() -> None:
    frame = trials_frame(failed_float16())
    assert str(frame["batch_size"].dtype) == "Int64" and frame["peak_memory_bytes"].isna().any()
    assert "float32_layers" in frame and frame["float32_layers"].notna().sum() == 1


def test_yaml_holds_the_answer_and_reads_back() -> None:
    record = rescued_layers()
    data = yaml.safe_load(yaml_text(record))
    assert from_json(Configuration, data["configuration"]) == record.configuration
    assert data["speed"] == to_json(record.speed) and data["verdict"] == "recommended"


def test_python_says_so_where_nothing_changes() -> None:
    assert python_text(keep_baseline()).endswith("# Nothing to change.\n")
    compile(python_text(keep_baseline()), "snippet", "exec")


def read_events(folder: Path) -> tuple[dict[str, list[tuple[int, float]]], dict[str, object]]:
    """Scalars by tag, and hyperparameters, of the one file of a folder."""
    from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    (path,) = folder.iterdir()
    scalars: dict[str, list[tuple[int, float]]] = {}
    knobs: dict[str, object] = {}
    for raw in RawEventFileLoader(str(path)).Load():
        event = Event.FromString(raw)
        for value in event.summary.value:
            if value.metadata.plugin_data.plugin_name == "hparams":
                data = HParamsPluginData.FromString(value.metadata.plugin_data.content)
                for name, knob in data.session_start_info.hparams.items():
                    knobs[name] = getattr(knob, knob.WhichOneof("kind"))
            else:
                scalars.setdefault(value.tag, []).append((event.step, value.simple_value))
    return scalars, knobs


def test_tensorboard_reads_trials_and_curves(tmp_path: Path) -> None:
    record = by_batch()
    write_tensorboard(record, tmp_path)
    write_tensorboard(record, tmp_path)  # again: replaced, not doubled
    scalars, knobs = read_events(tmp_path / "trial_001")
    assert scalars["step_time_s"] == [(0, pytest.approx(record.trials[1].step_time_s))]
    assert knobs["policy"] == record.trials[1].configuration.policy and knobs["batch_size"] == 64
    curve = record.curves[0]
    scalars, _ = read_events(tmp_path / f"{curve.side}_seed_{curve.seed}")
    assert [step for step, _ in scalars["val_accuracy"]] == [point.step for point in curve.points]


def test_tensorboard_export_leaves_tensorflow_alone(tmp_path: Path) -> None:
    code = (
        "import sys; from tests.unit.reports.samples import by_precision; "
        "from autotune.reports.trackers import write_tensorboard; from pathlib import Path; "
        f"write_tensorboard(by_precision(), Path({str(tmp_path)!r})); "
        "sys.exit(any(name.split('.')[0] == 'tensorflow' for name in sys.modules))"
    )
    root = Path(__file__).parents[3]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # MLflow's and SQLAlchemy's own
def test_mlflow_holds_the_answer_and_a_run_for_each_trial_and_curve(tmp_path: Path) -> None:
    record: Recommendation = by_precision()
    report = tmp_path / "report.html"
    report.write_text("<p>report</p>")
    store = tmp_path / "mlflow.db"
    parent = write_mlflow(record, f"sqlite:///{store}", tmp_path / "artifacts", [report])
    assert rows(store, "select count(*) from runs") == [(1 + len(record.trials) + len(record.curves),)]
    speed = f"select value from metrics where run_uuid = '{parent}' and key = 'speed.speedup'"
    assert rows(store, speed) == [(pytest.approx(record.speed.speedup),)]
    policy = f"select value from params where run_uuid = '{parent}' and key = 'policy'"
    assert rows(store, policy) == [("mixed_bfloat16",)]
    assert list((tmp_path / "artifacts").rglob("report.html"))

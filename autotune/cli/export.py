"""``autotune export``: a stored run for other tools."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autotune.cli.common import deliver

if TYPE_CHECKING:
    from autotune.records import Recommendation


class Kind(StrEnum):
    """What a run is exported to."""

    CSV = "csv"
    PARQUET = "parquet"
    PYTHON = "python"
    YAML = "yaml"
    TENSORBOARD = "tensorboard"
    MLFLOW = "mlflow"


_FOLDER = "exports"


def export_command(
    run: Annotated[Path, typer.Argument(help="Folder of a run, or its recommendation.json.", metavar="RUN")],
    to: Annotated[Kind, typer.Option("--to", help="csv and parquet: the trials; python and yaml: the answer.")],
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            help="File or folder to write; for mlflow a tracking URI also does.",
            show_default="standard output for text, else RUN/exports",
        ),
    ] = None,
) -> None:
    """Write a stored run for other tools."""
    from autotune.reports.export import csv_text, python_text, yaml_text
    from autotune.store import read_recommendation

    record = read_recommendation(run)
    texts = {Kind.CSV: csv_text, Kind.PYTHON: python_text, Kind.YAML: yaml_text}
    if to in texts:
        deliver(texts[to](record), None if output is None else Path(output))
        return
    folder = run if run.is_dir() else run.parent
    place = _mlflow(record, folder, output) if to is Kind.MLFLOW else _files(record, folder, output, to)
    typer.echo(f"written: {place}")


def _files(record: Recommendation, folder: Path, output: str | None, to: Kind) -> str:
    from autotune.errors import UsageError
    from autotune.reports.export import write_parquet
    from autotune.reports.trackers import write_tensorboard

    name = "trials.parquet" if to is Kind.PARQUET else "tensorboard"
    path = Path(output) if output is not None else folder / _FOLDER / name
    try:
        if output is None:
            path.parent.mkdir(exist_ok=True)
        (write_parquet if to is Kind.PARQUET else write_tensorboard)(record, path)
    except OSError as error:
        raise UsageError(
            f"--output: {path} cannot be written: {error.strerror or error}", hint="give a place that can be written to"
        ) from None
    return f"{path} (look at it by: tensorboard --logdir {path})" if to is Kind.TENSORBOARD else str(path)


def _mlflow(record: Recommendation, folder: Path, output: str | None) -> str:
    from autotune.errors import UsageError
    from autotune.reports.trackers import write_mlflow

    store, artifacts = output or os.environ.get("MLFLOW_TRACKING_URI", ""), None
    if "://" not in store and store != "databricks":
        path = Path(store) if store else folder / _FOLDER / "mlflow.db"
        if not store:
            path.parent.mkdir(exist_ok=True)
        store, artifacts = f"sqlite:///{path.absolute()}", path.absolute().with_suffix(".artifacts")
    files = [path for name in ("recommendation.json", "report.html") if (path := folder / name).is_file()]
    try:
        write_mlflow(record, store, artifacts, files)
    except UsageError:
        raise
    except Exception as error:  # MLflow's, SQLAlchemy's and the network's have no common class
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise UsageError(
            f"MLflow's store {store} cannot be written: {reason[0]}", hint="check the address given by --output"
        ) from None
    return f"experiment autotune in {store}"


def register(app: typer.Typer) -> None:
    """Adds the command to the application."""
    app.command("export")(export_command)

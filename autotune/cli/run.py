"""``autotune run``: run the unmodified script with a recommendation applied."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from autotune.cli.common import Arguments


def run_command(
    script: Annotated[str, typer.Argument(help="The training script.", metavar="SCRIPT")],
    recommendation: Annotated[
        Path, typer.Option("--with", help="A recommendation.json, or the folder of its run.", metavar="RECOMMENDATION")
    ],
    arguments: Arguments = None,
) -> int:
    """Run a script, whole, with a recommendation applied."""
    from autotune.settings import check_target
    from autotune.store import read_recommendation

    check_target(Path(script), Path.cwd())
    answer = read_recommendation(recommendation)
    path = recommendation / "recommendation.json" if recommendation.is_dir() else recommendation
    print(f"autotune: {answer.configuration.describe(answer.baseline)}", file=sys.stderr, flush=True)
    command = [sys.executable, "-P", "-m", "autotune.workload.apply_main", str(path), script, *(arguments or [])]
    if os.name == "posix":
        os.execv(sys.executable, command)  # noqa: S606  signals, terminal and exit status stay the script's own
    return subprocess.run(command, check=False).returncode


def register(app: typer.Typer) -> None:
    """Adds the command to the application."""
    app.command("run")(run_command)

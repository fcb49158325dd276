"""``autotune diagnose``: which policy works with a model, and what becomes of its numbers in 16 bits."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from autotune.cli.common import AnswerFormat, Arguments, Quietly, Target


def diagnose_command(
    target: Target,
    arguments: Arguments = None,
    budget: Annotated[str, typer.Option(help="Wall clock: 90s, 10m.")] = "60s",
    out: Annotated[Path | None, typer.Option(help="Run folder.", show_default="autotune-runs/<script>-<time>")] = None,
    policy: Annotated[
        list[str] | None, typer.Option(help="Policy to judge; may be given several times.", show_default="all")
    ] = None,
    metric: Annotated[str | None, typer.Option(help="Metric to judge by.", show_default="found in the script")] = None,
    tolerance: Annotated[
        str | None, typer.Option(help="How much worse it may be: 1%, 0.01 or abs:0.005.", show_default="1%")
    ] = None,
    fit: Annotated[
        int | None, typer.Option(help="Which fit call of the script, from 1.", show_default="the longest")
    ] = None,
    output_format: Annotated[
        AnswerFormat, typer.Option("--format", help="json prints the diagnosis and nothing else.")
    ] = AnswerFormat.TERMINAL,
    quiet: Quietly = False,
) -> None:
    """Judge every precision policy on a script, whatever its speed, layer by layer."""
    from autotune.diagnose import diagnose
    from autotune.records.codec import dumps
    from autotune.reports.diagnosis import render_diagnosis
    from autotune.reports.live import PlainLines, Quiet
    from autotune.settings import resolve

    options: dict[str, Any] = {
        "arguments": arguments or None,
        "budget": budget,
        "out": out,
        "policy": policy,
        "metric": metric,
        "tolerance": tolerance,
        "fit": fit,
    }
    settings = resolve(target, options, os.environ)
    with Quiet() if quiet else PlainLines(sys.stderr) as listener:
        answer = diagnose(settings, listener, command="autotune " + shlex.join(sys.argv[1:]))
    if output_format is AnswerFormat.JSON:
        typer.echo(dumps(answer))
        return
    from rich.console import Console

    render_diagnosis(answer, Console())


def register(app: typer.Typer) -> None:
    """Adds the command to the application."""
    app.command("diagnose")(diagnose_command)

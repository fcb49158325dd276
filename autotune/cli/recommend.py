"""``autotune recommend``: measure and recommend."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from autotune.cli.common import AnswerFormat, Arguments, BusyChoice, Quietly, Target
from autotune.strategies import describe

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from autotune.progress import Listener
    from autotune.records import Recommendation
    from autotune.settings import Settings


def recommend_command(
    target: Target,
    arguments: Arguments = None,
    budget: Annotated[
        str | None,
        typer.Option(
            help="Wall clock: 90s, 10m, 1h30m. It ends earlier when the answer is settled.",
            show_default="10m, less for a short training",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Run folder.", show_default="autotune-runs/<script>-<time>")] = None,
    policy: Annotated[
        list[str] | None, typer.Option(help="Policy to measure, whatever its speed; may be given several times.")
    ] = None,
    batch_size: Annotated[str | None, typer.Option(help="Batches to try: 32:1024 (doublings) or 32,48,64.")] = None,
    keep_batch_size: Annotated[bool, typer.Option("--keep-batch-size", help="Leave the batch as written.")] = False,
    metric: Annotated[str | None, typer.Option(help="Metric to judge by.", show_default="found in the script")] = None,
    tolerance: Annotated[
        str | None, typer.Option(help="How much worse the metric may be: 1%, 0.01 or abs:0.005.", show_default="1%")
    ] = None,
    seeds: Annotated[int | None, typer.Option(help="Most paired seeds.", show_default="8")] = None,
    strategy: Annotated[str | None, typer.Option(help=f"Search strategy: {describe()}.", show_default="ladder")] = None,
    epochs: Annotated[int | None, typer.Option(help="Planned epochs.", show_default="the script's own")] = None,
    fit: Annotated[
        int | None, typer.Option(help="Which fit call of the script to measure, from 1.", show_default="the longest")
    ] = None,
    memory_limit: Annotated[str | None, typer.Option(help="Peak memory not to be passed: 8GiB.")] = None,
    reference: Annotated[str | None, typer.Option(help="Measure float64 too, as a yardstick.")] = None,
    require_gain: Annotated[
        bool, typer.Option("--require-gain", help="Exit with 3 when the baseline is kept.")
    ] = False,
    resume: Annotated[
        Path | None,
        typer.Option(
            help="Go on with a run that was interrupted or left questions open: its folder. Its options count again."
        ),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Know nothing of earlier runs, and start over in --out if it holds one.")
    ] = False,
    output_format: Annotated[
        AnswerFormat | None, typer.Option("--format", help="json prints the recommendation and nothing else.")
    ] = None,
    on_busy: Annotated[
        BusyChoice | None,
        typer.Option(
            help="Where other programs keep the machine busy: warn, wait for them, or error.", show_default="warn"
        ),
    ] = None,
    quiet: Quietly = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Plain lines instead of a live view.")] = False,
) -> int:
    """Measure a training script and recommend how to run it."""
    from autotune.settings import resolve

    options: dict[str, Any] = {
        "arguments": arguments or None,
        "budget": budget,
        "out": out,
        "policy": policy,
        "batch_size": batch_size,
        "keep_batch_size": keep_batch_size or None,
        "metric": metric,
        "tolerance": tolerance,
        "seeds": seeds,
        "strategy": strategy,
        "epochs": epochs,
        "fit": fit,
        "memory_limit": memory_limit,
        "reference": reference,
        "require_gain": require_gain or None,
        "resume": resume,
        "fresh": fresh or None,
        "format": None if output_format is None else str(output_format),
        "on_busy": None if on_busy is None else str(on_busy),
        "verbosity": -1 if quiet else 1 if verbose else None,
    }
    settings = resolve(target, options, os.environ)
    return recommend(settings, "autotune " + shlex.join(sys.argv[1:]))


def recommend(settings: Settings, command: str) -> int:
    """Tunes, shows the answer and gives the exit status."""
    from autotune.errors import NoGainError
    from autotune.tuner import tune

    with _view(settings) as listener:
        answer = tune(settings, listener, command=command)
    _show(settings, answer)
    if answer.interrupted:
        from autotune.reports.snippet import resume_command

        resume = resume_command(str(settings.target), settings.arguments, answer.run_folder)
        print(f"interrupted; what was measured is kept. Go on with: {resume}", file=sys.stderr)
        return 130
    if settings.require_gain and answer.verdict == "keep_baseline":
        raise NoGainError("no gain was found, and --require-gain asks for one", hint=answer.headline)
    return 0


def register(app: typer.Typer) -> None:
    """Adds the command to the application."""
    app.command("recommend")(recommend_command)


def _view(settings: Settings) -> AbstractContextManager[Listener]:
    from autotune.reports.live import LiveView, PlainLines, Quiet

    if settings.verbosity < 0:
        return Quiet()
    if sys.stderr.isatty() and settings.verbosity == 0:
        from rich.console import Console

        return LiveView(Console(stderr=True))
    return PlainLines(sys.stderr)


def _show(settings: Settings, answer: Recommendation) -> None:
    from autotune.reports.record_json import render_json
    from autotune.reports.terminal import render_terminal
    from autotune.reports.view import view

    if settings.output_format == "json":
        typer.echo(render_json(answer))
        return
    from rich.console import Console

    render_terminal(view(answer, str(answer.run_folder) if answer.run_folder else None), Console())

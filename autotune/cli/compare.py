"""``autotune compare``: two runs side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from autotune.cli.common import Output, OutputFormat, deliver, on_screen


def compare_command(
    first: Annotated[Path, typer.Argument(help="Folder of a run, or its recommendation.json.", metavar="RUN1")],
    second: Annotated[Path, typer.Argument(help="Another.", metavar="RUN2")],
    output_format: Annotated[
        OutputFormat, typer.Option("--format", help="html, markdown, json or terminal.")
    ] = OutputFormat.TERMINAL,
    output: Output = None,
) -> None:
    """Tell what changed between two runs: machine, versions, script, answer."""
    from autotune.reports.compare import compare
    from autotune.reports.compare_views import comparison_html, comparison_markdown, render_comparison
    from autotune.reports.record_json import render_json
    from autotune.store import read_recommendation

    comparison = compare(read_recommendation(first), read_recommendation(second), (str(first), str(second)))
    if output_format is OutputFormat.HTML:
        deliver(comparison_html(comparison), output)
    elif output_format is OutputFormat.MARKDOWN:
        deliver(comparison_markdown(comparison), output)
    elif output_format is OutputFormat.JSON:
        deliver(render_json(comparison), output)
    else:
        on_screen(lambda console: render_comparison(comparison, console), output)


def register(app: typer.Typer) -> None:
    """Adds the command to the application."""
    app.command("compare")(compare_command)

"""``autotune report``: render a stored run again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from autotune.cli.common import Output, OutputFormat, deliver, on_screen


def report_command(
    run: Annotated[Path, typer.Argument(help="Folder of a run.", metavar="RUN")],
    output_format: Annotated[
        OutputFormat, typer.Option("--format", help="html, markdown, json or terminal.")
    ] = OutputFormat.TERMINAL,
    output: Output = None,
    brief: Annotated[
        bool, typer.Option("--brief", help="Markdown for a comment: the answer and its proofs only.")
    ] = False,
) -> None:
    """Compute a stored run's answer again from its raw measurements, and render it."""
    from autotune.errors import UsageError
    from autotune.recommend import recommend
    from autotune.reports.html import render_html
    from autotune.reports.markdown import render_markdown
    from autotune.reports.record_json import render_json
    from autotune.reports.terminal import render_terminal
    from autotune.reports.view import view
    from autotune.store import read_run

    if brief and output_format is not OutputFormat.MARKDOWN:
        raise UsageError("--brief is a form of Markdown", hint="give --format markdown too")
    answer = recommend(read_run(run))
    shown = view(answer, str(run if run.is_dir() else run.parent))
    if output_format is OutputFormat.HTML:
        deliver(render_html(shown), output)
    elif output_format is OutputFormat.MARKDOWN:
        deliver(render_markdown(shown, brief=brief), output)
    elif output_format is OutputFormat.JSON:
        deliver(render_json(answer), output)
    else:
        on_screen(lambda console: render_terminal(shown, console), output)


def register(app: typer.Typer) -> None:
    """Adds the command to the application."""
    app.command("report")(report_command)

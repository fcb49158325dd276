"""``autotune report``: render a stored run again."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class OutputFormat(StrEnum):
    """How the report is rendered."""

    TERMINAL = "terminal"
    HTML = "html"
    MARKDOWN = "markdown"
    JSON = "json"


def report_command(
    run: Annotated[Path, typer.Argument(help="Folder of a run.", metavar="RUN")],
    output_format: Annotated[
        OutputFormat, typer.Option("--format", help="html, markdown, json or terminal.")
    ] = OutputFormat.TERMINAL,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write.", show_default="standard output")
    ] = None,
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
    if output_format is OutputFormat.TERMINAL and output is None:
        from rich.console import Console

        render_terminal(shown, Console())
        return
    if output_format is OutputFormat.HTML:
        text = render_html(shown)
    elif output_format is OutputFormat.MARKDOWN:
        text = render_markdown(shown, brief=brief)
    elif output_format is OutputFormat.JSON:
        text = render_json(answer)
    else:
        from io import StringIO

        from rich.console import Console

        buffer = StringIO()
        render_terminal(shown, Console(file=buffer, width=100))
        text = buffer.getvalue()
    if output is None:
        typer.echo(text)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"--output: {output} cannot be written: {error.strerror}", hint="give a file in a folder that exists"
        ) from None


def register(app: typer.Typer) -> None:
    """Adds the command to the application."""
    app.command("report")(report_command)

"""What several commands have in common: the target, the script's own arguments, the two ways to answer."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console


class AnswerFormat(StrEnum):
    """What is printed at the end."""

    TERMINAL = "terminal"
    JSON = "json"


class OutputFormat(StrEnum):
    """How a stored run is rendered."""

    TERMINAL = "terminal"
    HTML = "html"
    MARKDOWN = "markdown"
    JSON = "json"


class BusyChoice(StrEnum):
    """What to do where others keep the machine busy."""

    WARN = "warn"
    WAIT = "wait"
    ERROR = "error"


Target = Annotated[
    str, typer.Argument(help="A training script, or a module with build_model() and load_data().", metavar="TARGET")
]
Arguments = Annotated[list[str] | None, typer.Argument(help="Arguments of the script, behind --.", metavar="-- ARGS")]
Quietly = Annotated[bool, typer.Option("-q", "--quiet", help="Nothing but the answer.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="File to write.", show_default="standard output")]
_WIDTH = 100


def deliver(text: str, output: Path | None) -> None:
    """Writes a text to a file, or to standard output.

    Raises:
        UsageError: The file cannot be written.
    """
    from autotune.errors import UsageError

    if output is None:
        typer.echo(text)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"--output: {output} cannot be written: {error.strerror}", hint="give a file in a folder that exists"
        ) from None


def on_screen(render: Callable[[Console], None], output: Path | None) -> None:
    """Renders to the terminal, or as plain text to a file."""
    from rich.console import Console

    if output is None:
        render(Console())
        return
    from io import StringIO

    buffer = StringIO()
    render(Console(file=buffer, width=_WIDTH))
    deliver(buffer.getvalue(), output)

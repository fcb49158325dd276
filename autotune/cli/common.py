"""What several commands have in common: the target, the script's own arguments, the two ways to answer."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class AnswerFormat(StrEnum):
    """What is printed at the end."""

    TERMINAL = "terminal"
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

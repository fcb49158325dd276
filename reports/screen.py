"""Lays out labelled, wrapped rows on a console."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

GAP = "   "
_LABEL_WIDTH = 11
_WIDEST = 100
_INDENT = 2
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    """The text with its control characters spelled out, so that none of them reaches the terminal."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match.group()):02x}", text.expandtabs(4))


class Screen:
    """A console on which rows of a label and a text are laid out.

    Args:
        console: Where to write.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self.width = min(console.width, _WIDEST)

    def blank(self) -> None:
        """An empty line."""
        self._console.print()

    def paragraph(self, text: str, *, style: str = "", indent: int = 0) -> None:
        """Text over the whole width."""
        self.hanging(Text(), text, style=style, indent=indent)

    def line(self, label: str, text: str) -> None:
        """A row that is never broken, so that it can be copied."""
        self._print(_label(label, "dim") + Text(printable(text)))

    def rows(self, label: str, texts: Sequence[str], *, style: str = "dim") -> None:
        """Rows under one label."""
        for text in texts:
            self.hanging(_label(label, style), text)
            label = ""

    def pair(self, label: str, name: str, text: str, width: int) -> None:
        """A row of a name, ``width`` wide, and a text beside it, or below it where the name is longer."""
        name = printable(name)
        if len(name) <= width:
            self.hanging(_label(label, "dim") + Text(name.ljust(width) + GAP), text)
            return
        self.hanging(_label(label, "dim"), name)
        self.hanging(_label("", "") + Text(GAP), text)

    def hanging(self, head: Text, text: str, *, style: str = "", indent: int = 0) -> None:
        """A head, and a text that is wrapped beside it."""
        room = max(self.width - indent - len(head), 10)
        for line in Text(printable(text), style=style).wrap(self._console, room) or [Text()]:
            self._print(Text(" " * indent) + head + line)
            head = Text(" " * len(head))

    def _print(self, text: Text) -> None:
        text.rstrip()
        self._console.print(text, soft_wrap=True, highlight=False)


def _label(label: str, style: str) -> Text:
    return Text(" " * _INDENT) + Text(label.ljust(_LABEL_WIDTH), style=style)

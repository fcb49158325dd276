"""Where in the user's own code something happened."""

from __future__ import annotations

import ast
import contextlib
import re
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, TracebackType

# Where in the framework's own files TensorFlow saw something: it is no help, and names folders of the machine.
_DEFINED = re.compile(r" ?\(defined @ [^)]*\)")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class UserCode:
    """Knows which source files are the user's own: the script and what lies beside or below it.

    Args:
        script: Absolute path of the script.
    """

    def __init__(self, script: str) -> None:
        self.script = script
        self.folder = str(Path(script).parent)

    def owns(self, filename: str) -> bool:
        """Whether a file is the user's: in the script's folder, and not in an environment there."""
        if filename == self.script:
            return True
        return (
            filename.startswith(self.folder + "/") and "site-packages" not in filename and "/lib/python" not in filename
        )

    def sources(self) -> Iterator[tuple[str, ast.Module]]:
        """Name and syntax tree of the script and of each of the user's modules that it imported."""
        loaded = {str(getattr(module, "__file__", None)) for module in list(sys.modules.values())} - {self.script}
        for filename in [self.script, *sorted(name for name in loaded if name.endswith(".py") and self.owns(name))]:
            with contextlib.suppress(OSError, SyntaxError, ValueError):
                yield Path(filename).name, ast.parse(Path(filename).read_bytes())

    def caller(self) -> str:
        """``file:line`` of the innermost frame in the user's code; empty when there is none."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if self.owns(frame.f_code.co_filename):
                return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
            frame = frame.f_back
        return ""

    def traceback(self, error: BaseException, limit: int = 6) -> str:
        """The user's own traceback, short: their frames and the error itself, none of ours or of the frameworks."""
        frames = [
            frame for frame in traceback.extract_tb(_after_ours(error.__traceback__)) if self.owns(frame.filename)
        ]
        lines = ["Traceback (most recent call last):\n", *traceback.format_list(frames[-limit:])] if frames else []
        lines += (
            [f"{type(error).__name__}: {summary(error)}"]
            if not isinstance(error, SyntaxError)
            else traceback.format_exception_only(error)
        )
        return "".join(lines).rstrip()

    def line_of(self, error: BaseException) -> str:
        """``file:line`` of the last of the user's frames in an error's traceback."""
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if self.owns(frame.filename)]
        if frames:
            return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}"
        if isinstance(error, SyntaxError) and error.filename:
            return f"{Path(error.filename).name}:{error.lineno}"
        return ""


def out_of_memory(error: BaseException) -> bool:
    """Whether an error means that memory ran out."""
    if isinstance(error, MemoryError) or type(error).__name__ == "ResourceExhaustedError":
        return True
    text = str(error)
    return "RESOURCE_EXHAUSTED" in text or "Out of memory while trying to allocate" in text


def summary(error: BaseException, limit: int = 300) -> str:
    """What an error says, in one line: without the framework's inner stack, which TensorFlow puts into its messages."""
    lines = [line.strip() for line in str(error).splitlines()]
    lines = [line for line in lines if line and not line.startswith(("File ", "Detected at node", "[[{{node", "[["))]
    if "Graph execution error:" in lines[:1]:
        lines = [line for line in lines if line.startswith("(0)")] or lines[1:]
    text = _COLOUR.sub("", " ".join(lines)).partition(" Arguments received by ")[0]
    text = _DEFINED.sub("", text).partition(" Cf. ")[0]
    return text if len(text) <= limit else text[:limit] + " ..."


def _after_ours(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None and "autotune" in trace.tb_frame.f_globals.get("__name__", ""):
        trace = trace.tb_next
    return trace

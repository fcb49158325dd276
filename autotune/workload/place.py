"""Where in the user's own code something happened."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from types import FrameType, TracebackType


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
        return filename.startswith(self.folder + "/") and "site-packages" not in filename and "/lib/python" not in filename

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
        frames = [frame for frame in traceback.extract_tb(_after_ours(error.__traceback__)) if self.owns(frame.filename)]
        lines = ["Traceback (most recent call last):\n", *traceback.format_list(frames[-limit:])] if frames else []
        lines += traceback.format_exception_only(error)[-8:]
        return "".join(lines).rstrip()

    def line_of(self, error: BaseException) -> str:
        """``file:line`` of the last of the user's frames in an error's traceback."""
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if self.owns(frame.filename)]
        if frames:
            return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}"
        if isinstance(error, SyntaxError) and error.filename:
            return f"{Path(error.filename).name}:{error.lineno}"
        return ""


def _after_ours(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None and "autotune" in trace.tb_frame.f_globals.get("__name__", ""):
        trace = trace.tb_next
    return trace

"""Side effects of the script: noticed before ``fit``, not let through inside trials."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import keras

_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_PATH_EVENTS = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate", "shutil.move"}
_SEND_EVENTS = {"socket.connect": "a network connection", "subprocess.Popen": "a process", "os.system": "a process"}
_HARMLESS = ("/dev/", "/proc/", "/sys/")


class BlockedEffect(Exception):
    """A callback of the user's tried to write or to send something inside a trial."""


class EffectAfterFit(BaseException):
    """The script tried to write or to send something after a ``fit`` that was not really run."""


class Effects:
    """Watches the process by an audit hook.

    Args:
        allowed: Folders that may be written at any time (the run folder).

    Attributes:
        written: Paths written by the script so far, in order, without those allowed.
        sent: What it sent: kinds of effects other than files.
    """

    def __init__(self, allowed: tuple[str, ...]) -> None:
        self.written: dict[str, None] = {}
        self.sent: dict[str, None] = {}
        self._allowed = (*_HARMLESS, *allowed)
        self._temporary = tempfile.gettempdir()
        self._error: type[BaseException] | None = None
        self._thread: int | None = None
        self._watching = True
        sys.addaudithook(self._hook)
        self._guard_saving()

    @contextmanager
    def blocked(self, error: type[BaseException]) -> Iterator[None]:
        """Inside, this thread's writing and sending raises ``error`` instead of happening."""
        before = (self._error, self._thread)
        self._error, self._thread = error, threading.get_ident()
        try:
            yield
        finally:
            self._error, self._thread = before

    def block_from_now(self, error: type[BaseException]) -> None:
        """From now on this thread's writing and sending raises ``error``."""
        self._error, self._thread = error, threading.get_ident()

    def stop_watching(self) -> None:
        """What happens from now on is our own doing."""
        self._watching = False

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = arguments
            if (isinstance(mode, str) and any(c in mode for c in "wax+")) or (mode is None and flags & _WRITE_FLAGS):
                self._met(path)
        elif event in _PATH_EVENTS:
            self._met(arguments[0])
        elif event in _SEND_EVENTS:
            self._met_sending(_SEND_EVENTS[event])

    def _met(self, path: Any) -> None:
        if not isinstance(path, str | bytes | os.PathLike):
            return
        name = os.path.abspath(os.fsdecode(path))
        if name.startswith(self._allowed) or "__pycache__" in name:
            return
        self._raise_if_blocked(name)
        if self._watching and not name.startswith(self._temporary):
            self.written.setdefault(name)

    def _met_sending(self, what: str) -> None:
        self._raise_if_blocked(what)
        if self._watching:
            self.sent.setdefault(what)

    def _raise_if_blocked(self, what: str) -> None:
        if self._error is not None and threading.get_ident() == self._thread:
            raise self._error(what)

    def _guard_saving(self) -> None:
        # HDF5 and SavedModel are written below Python, where no audit hook sees them.
        for name in ("save", "save_weights", "export"):
            plain = getattr(keras.Model, name)

            def guarded(model: Any, filepath: Any = "model", *args: Any, _plain: Any = plain, **kwargs: Any) -> Any:
                self._met(filepath)
                return _plain(model, filepath, *args, **kwargs)

            setattr(keras.Model, name, guarded)


def relative(paths: Iterator[str] | list[str], folder: str) -> list[str]:
    """Paths as a person at ``folder`` would write them."""
    return [str(Path(p).relative_to(folder)) if p.startswith(folder + "/") else p for p in paths]

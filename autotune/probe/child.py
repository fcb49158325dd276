"""A bounded child process: what it wrote until it ended or its time was up."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

# A process that a driver holds in the kernel cannot be killed; it is not waited for any longer than this.
_KILL_WAIT_S = 0.3


@dataclass(frozen=True, kw_only=True, slots=True)
class ChildAnswer:
    """What a child process said.

    Attributes:
        lines: Parsed JSON lines of its standard output, in order.
        timed_out: Whether it was ended because its time was up.
        returncode: Exit status; None where it could not be ended.
        error: Last line of its standard error.
    """

    lines: tuple[Any, ...] = ()
    timed_out: bool = False
    returncode: int | None = None
    error: str = ""


def ask_child(
    module: str, *arguments: str, timeout_s: float, environment: Mapping[str, str] | None = None
) -> ChildAnswer:
    """Runs ``python -m module`` and returns what it printed, at the latest when its time is up.

    Args:
        module: Module to run as a program; it prints JSON lines.
        arguments: Its arguments.
        timeout_s: Time after which the child and all that it started are killed.
        environment: Variables set on top of this process's own.
    """
    # -P: files beside the user's script must not take the place of modules.
    command = [sys.executable, "-P", "-m", module, *arguments]
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
        )
    except OSError as error:
        return ChildAnswer(error=str(error))
    timed_out = False
    try:
        output, errors = child.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        timed_out = True
        _kill(child)
        try:
            output, errors = child.communicate(timeout=_KILL_WAIT_S)
        except subprocess.TimeoutExpired as late:
            output, errors = late.output or b"", late.stderr or b""
    finally:
        # Reached with a child that is still there when it cannot be killed, or when the user interrupts us.
        if child.returncode is None:
            _abandon(child)
    last = errors.decode(errors="replace").strip().rsplit("\n", 1)[-1]
    return ChildAnswer(lines=tuple(_parse(output)), timed_out=timed_out, returncode=child.returncode, error=last)


def _kill(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()


def _abandon(child: subprocess.Popen[bytes]) -> None:
    _kill(child)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(_KILL_WAIT_S)
    for pipe in (child.stdout, child.stderr):
        if pipe is not None:
            pipe.close()


def _parse(output: bytes) -> Iterable[Any]:
    for line in output.decode(errors="replace").splitlines():
        # A line may be cut off by the time limit, or come from a library that prints.
        with contextlib.suppress(ValueError):
            yield json.loads(line)


def answer_parent(produce: Callable[[], Iterable[Any]]) -> None:
    """Child side: prints each item as a JSON line at once; whatever else is printed goes to standard error."""
    sys.stdout.flush()
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        for item in produce():
            answers.write(json.dumps(item) + "\n")
            answers.flush()

"""A process that has imported the frameworks, never runs them, and forks workers on request.

A forked worker is ready at once where a fresh one needs seconds for its imports. The server speaks lines of JSON over one
socket: ``{"start": SPEC}`` with the worker's own socket attached, answered by ``{"pid": N}``; a worker's end is told as
``{"ended": pid, "status": STATUS}``. When its parent goes away the server ends every process group it started.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
from typing import Any

from autotune.measure.protocol import Decoder, encode
from autotune.measure.spec import WorkerSpec

_POLL_S = 0.05


def serve(control: socket.socket) -> None:
    """Answers requests until the parent closes the socket."""
    import autotune.measure.worker as worker

    worker.import_frameworks()
    control.sendall(encode({"ready": True}))
    groups: set[int] = set()
    decoder = Decoder()
    pending: list[int] = []
    try:
        while True:
            readable, _, _ = select.select([control], [], [], _POLL_S if groups else None)
            _reap(control, groups)
            if not readable:
                continue
            data, descriptors, _, _ = socket.recv_fds(control, 1 << 20, 8)
            if not data:
                return
            pending.extend(descriptors)
            for message in decoder.feed(data):
                if "start" in message:
                    groups.add(_fork(message["start"], pending.pop(0), control, worker))
    finally:
        for group in groups:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)


def _fork(spec: dict[str, Any], descriptor: int, control: socket.socket, worker: Any) -> int:
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.setsid()
            control.close()
            worker.run(WorkerSpec.from_message(spec), socket.socket(fileno=descriptor), forked=True)
            status = 0
        finally:
            os._exit(status)
    os.close(descriptor)
    with contextlib.suppress(OSError):
        control.sendall(encode({"pid": pid}))
    return pid


def _reap(control: socket.socket, groups: set[int]) -> None:
    for pid in list(groups):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            groups.discard(pid)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)  # whatever the script left running
            with contextlib.suppress(OSError):
                control.sendall(encode({"ended": pid, "status": status}))


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve(socket.socket(fileno=int(sys.argv[1])))

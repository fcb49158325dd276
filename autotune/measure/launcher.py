"""Starts workers and talks to them. Behind a protocol, since workers on other machines will come."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from pathlib import Path
from typing import Protocol

import psutil

from autotune.errors import HardwareError, WorkerDied
from autotune.measure.protocol import Decoder, Message, encode
from autotune.measure.spec import WorkerSpec

_MODULE = [sys.executable, "-P", "-m"]  # -P: a user's own autotune.py in the working folder must not be taken
_TICK_S = 0.2
_GRACE_S = 5.0
_SERVER_START_S = 180.0


class Worker(Protocol):
    """A running worker."""

    spec: WorkerSpec

    def send(self, message: Message) -> None:
        """Sends one command.

        Raises:
            WorkerDied: The worker is gone.
        """

    def receive(self, timeout_s: float) -> Message | None:
        """The next event, or None when none came in time.

        Raises:
            WorkerDied: The worker ended, was killed for its memory, or closed the connection.
        """

    def close(self) -> None:
        """Ends the worker and everything it started; does nothing the second time."""


class Launcher(Protocol):
    """Starts workers."""

    def start(self, spec: WorkerSpec) -> Worker:
        """Starts one worker.

        Raises:
            HardwareError: No worker can be started on this machine.
        """

    def close(self) -> None:
        """Ends every worker and whatever serves them."""


class LocalWorker:
    """A worker on this machine, forked by the server or started afresh.

    Args:
        spec: What it was told.
        connection: This side of its socket.
        pid: Its process, which leads a group of its own.
        process: The fresh process; None where the fork server is its parent.
        memory_limit_bytes: Resident size at which it is ended as out of memory; None for no limit.
    """

    def __init__(
        self,
        spec: WorkerSpec,
        connection: socket.socket,
        pid: int,
        process: subprocess.Popen[bytes] | None = None,
        memory_limit_bytes: int | None = None,
    ) -> None:
        self.spec = spec
        self.pid = pid
        self._connection = connection
        self._process = process
        self._memory_limit_bytes = memory_limit_bytes
        self._decoder = Decoder()
        self._events: deque[Message] = deque()
        self._closed = False
        self._server: ForkServer | None = None

    def send(self, message: Message) -> None:
        """Sends one command."""
        try:
            self._connection.sendall(encode(message))
        except OSError:
            raise self._death() from None

    def receive(self, timeout_s: float) -> Message | None:
        """The next event, or None when none came in time."""
        deadline = time.monotonic() + timeout_s
        while not self._events:
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            self._connection.settimeout(min(left, _TICK_S))
            try:
                data = self._connection.recv(1 << 20)
            except TimeoutError:
                self._check_memory()
                continue
            except OSError:
                data = b""
            if not data:
                raise self._death()
            self._events.extend(self._decoder.feed(data))
        return self._events.popleft()

    def close(self) -> None:
        """Ends the worker and everything it started."""
        if self._closed:
            return
        self._closed = True
        self._connection.close()
        self._kill_group()
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_GRACE_S)

    def log_tail(self, lines: int = 12) -> str:
        """The last lines that the script wrote."""
        try:
            text = Path(self.spec.log_path).read_text(errors="replace")
        except OSError:
            return ""
        return "\n".join(text.strip().splitlines()[-lines:])

    def _check_memory(self) -> None:
        if self._memory_limit_bytes is None:
            return
        with contextlib.suppress(psutil.Error):
            if psutil.Process(self.pid).memory_info().rss > self._memory_limit_bytes:
                self.close()
                raise WorkerDied("it used more memory than the limit allows", outcome="out_of_memory")

    def _kill_group(self) -> None:
        started: list[psutil.Process] = []
        with contextlib.suppress(psutil.Error):  # also those that left the group, and on Windows, which has none
            parent = psutil.Process(self.pid)
            started = [*parent.children(recursive=True), parent]
        if os.name == "posix":
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        for process in started:
            with contextlib.suppress(psutil.Error):
                process.kill()

    def _death(self) -> WorkerDied:
        status = self._exit_status()
        self.close()
        tail = self.log_tail()
        if status is not None and status < 0:
            name = signal.Signals(-status).name
            if -status == signal.SIGKILL:
                return WorkerDied(
                    "it was killed (SIGKILL), most likely for lack of memory", outcome="out_of_memory", detail=tail
                )
            if -status == signal.SIGABRT and "memory" in tail.lower():
                return WorkerDied("it aborted for lack of memory", outcome="out_of_memory", detail=tail)
            return WorkerDied(f"it ended by {name}", outcome="crashed", detail=tail)
        return WorkerDied(f"it ended by itself (status {status})", outcome="crashed", detail=tail)

    def _exit_status(self) -> int | None:
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return self._process.wait(_GRACE_S)
            return None
        return self._server.exit_status(self.pid, _GRACE_S) if self._server else None


class ForkServer:
    """The parent's side of the fork server."""

    def __init__(self, environment: dict[str, str], log_path: Path, cwd: str | None = None) -> None:
        ours, theirs = socket.socketpair()
        self._connection = ours
        self._decoder = Decoder()
        self._messages: deque[Message] = deque()
        self._statuses: dict[int, int] = {}
        self._ready = False
        with log_path.open("ab") as log, theirs:
            self._process = subprocess.Popen(
                [*_MODULE, "autotune.measure.fork_server", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
            )

    def start(self, spec: WorkerSpec) -> tuple[int, socket.socket]:
        """Forks a worker; its process id and this side of its socket."""
        self._wait_ready()
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._connection, [encode({"start": spec.to_message()})], [theirs.fileno()])
        message = self._next("pid", _GRACE_S * 6)
        return int(message["pid"]), ours

    def exit_status(self, pid: int, timeout_s: float) -> int | None:
        """Exit status as ``subprocess`` gives it (negative: a signal); None when it is not known in time."""
        deadline = time.monotonic() + timeout_s
        while pid not in self._statuses and (left := deadline - time.monotonic()) > 0:
            with contextlib.suppress(HardwareError):
                self._read(min(left, _TICK_S))
        return self._statuses.get(pid)

    def close(self) -> None:
        """Ends the server, which ends its workers."""
        self._connection.close()
        try:
            self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(_GRACE_S)

    def _wait_ready(self) -> None:
        if not self._ready:
            self._next("ready", _SERVER_START_S)
            self._ready = True

    def _next(self, key: str, timeout_s: float) -> Message:
        deadline = time.monotonic() + timeout_s
        while True:
            for message in list(self._messages):
                if key in message:
                    self._messages.remove(message)
                    return message
            if time.monotonic() > deadline:
                raise HardwareError(
                    "the process that starts workers does not answer", hint="see logs/server.log in the run folder"
                )
            self._read(_TICK_S)

    def _read(self, timeout_s: float) -> None:
        self._connection.settimeout(timeout_s)
        try:
            data = self._connection.recv(1 << 20)
        except TimeoutError:
            return
        except OSError:
            data = b""
        if not data:
            raise HardwareError(
                "the process that starts workers has ended",
                hint="is TensorFlow importable here? see logs/server.log in the run folder",
            )
        for message in self._decoder.feed(data):
            if "ended" in message:
                self._statuses[int(message["ended"])] = os.waitstatus_to_exitcode(int(message["status"]))
            else:
                self._messages.append(message)


class LocalLauncher:
    """Starts workers on this machine.

    Args:
        logs: Folder for the logs.
        environment: Environment of the workers.
        memory_limit_bytes: Limit for each worker; None for none.
        fork: Whether to fork from a server with the frameworks loaded (POSIX only; never with a GPU).
    """

    def __init__(
        self, logs: Path, environment: dict[str, str], memory_limit_bytes: int | None = None, *, fork: bool = True
    ) -> None:
        self._logs = logs
        self._environment = environment
        self._memory_limit_bytes = memory_limit_bytes
        self._workers: list[LocalWorker] = []
        self._server: ForkServer | None = None
        if fork and hasattr(os, "fork"):
            self._server = ForkServer(environment, logs / "server.log")

    @property
    def forks(self) -> bool:
        """Whether workers are forked."""
        return self._server is not None

    def stop_forking(self) -> None:
        """From now on every worker is a fresh process (the script sets variables that the imports read)."""
        if self._server is not None:
            server, self._server = self._server, None
            server.close()

    def start(self, spec: WorkerSpec) -> LocalWorker:
        """Starts one worker."""
        if self._server is not None:
            pid, connection = self._server.start(spec)
            worker = LocalWorker(spec, connection, pid, None, self._memory_limit_bytes)
            worker._server = self._server
        else:
            worker = self._start_fresh(spec)
        self._workers = [w for w in self._workers if not w._closed]
        self._workers.append(worker)
        return worker

    def close(self) -> None:
        """Ends every worker and the server."""
        for worker in self._workers:
            worker.close()
        self.stop_forking()

    def _start_fresh(self, spec: WorkerSpec) -> LocalWorker:
        listener = socket.create_server(("127.0.0.1", 0)) if os.name != "posix" else None
        with open(spec.log_path, "ab") as log:
            if listener is not None:  # Windows hands no sockets over: the worker connects back over loopback
                port = listener.getsockname()[1]
                process = subprocess.Popen(
                    [*_MODULE, "autotune.measure.worker", "--port", str(port)],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=self._environment,
                )
                with listener:
                    listener.settimeout(_SERVER_START_S)
                    connection, _ = listener.accept()
            else:
                connection, theirs = socket.socketpair()
                with theirs:
                    process = subprocess.Popen(
                        [*_MODULE, "autotune.measure.worker", "--fd", str(theirs.fileno())],
                        pass_fds=[theirs.fileno()],
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=log,
                        env=self._environment,
                        start_new_session=True,
                    )
        connection.sendall(encode(spec.to_message()))
        return LocalWorker(spec, connection, process.pid, process, self._memory_limit_bytes)

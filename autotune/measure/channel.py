"""The worker's side of the connection."""

from __future__ import annotations

import os
import queue
import signal
import socket
import threading
from typing import Any

from autotune.measure.protocol import Decoder, Message, encode


class Channel:
    """Sends events and takes commands. A worker whose parent is gone ends itself and all that it started.

    Args:
        connection: Socket to the parent.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._commands: queue.Queue[Message] = queue.Queue()
        self._decoder = Decoder()
        self._lock = threading.Lock()

    def first(self) -> Message:
        """The first message, read before the listening thread starts."""
        while True:
            data = self._connection.recv(1 << 16)
            if not data:
                end_group()
            messages = self._decoder.feed(data)
            if messages:
                for message in messages[1:]:
                    self._commands.put(message)
                return messages[0]

    def listen(self) -> None:
        """Starts the thread that takes commands."""
        threading.Thread(target=self._listen, name="autotune-commands", daemon=True).start()

    def send(self, event: str, **values: Any) -> None:
        """Sends one event."""
        with self._lock:
            try:
                self._connection.sendall(encode({"event": event, **values}))
            except OSError:
                end_group()

    def next(self) -> Message:
        """Waits for the next command."""
        return self._commands.get()

    def poll(self) -> Message | None:
        """A command that has already come, or None."""
        try:
            return self._commands.get_nowait()
        except queue.Empty:
            return None

    def _listen(self) -> None:
        while True:
            try:
                data = self._connection.recv(1 << 16)
            except OSError:
                data = b""
            if not data:
                end_group()
            for message in self._decoder.feed(data):
                self._commands.put(message)


def end_group() -> None:
    """Ends this process and all of its group, at once."""
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)

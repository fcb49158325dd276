"""Messages between parent and worker: JSON objects, one a line, over a socket of their own.

Parent to worker: ``{"op": NAME, ...}``. Worker to parent: ``{"event": NAME, ...}``. Nothing is ever pickled. Numbers
that are not finite travel as null.

Operations: ``speed``, ``quality``, ``layers``, ``exit``; while a trial runs also ``stop`` and, in a duel, ``go``.
Events: ``captured``, ``ended`` (the script ended without the wanted ``fit``), ``failed`` (the user's code raised),
``chunk``, ``point``, ``measured``, ``fresh_needed``, ``ceilings``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

Message = dict[str, Any]


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def encode(message: Mapping[str, Any]) -> bytes:
    """One line of bytes, newline included."""
    return json.dumps(_finite(message), allow_nan=False).encode() + b"\n"


class Decoder:
    """Cuts a stream of bytes into messages; keeps what is not yet whole."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[Message]:
        """Messages completed by these bytes; a line that is no JSON object is dropped."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        messages = []
        for line in lines:
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if isinstance(message, dict):
                messages.append(message)
        return messages

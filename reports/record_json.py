"""A record itself, as JSON text."""

from __future__ import annotations

from typing import Any

from autotune.records.codec import dumps


def render_json(record: Any) -> str:
    """The record's fields, ending in a newline; for a recommendation this is the content of recommendation.json."""
    return dumps(record) + "\n"

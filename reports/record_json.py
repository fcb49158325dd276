"""The record itself, as JSON text."""

from __future__ import annotations

from autotune.records import Recommendation
from autotune.records.codec import dumps


def render_json(recommendation: Recommendation) -> str:
    """The content of recommendation.json, ending in a newline."""
    return dumps(recommendation) + "\n"

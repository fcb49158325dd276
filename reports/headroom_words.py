"""How near float16 came to its end, in sentences."""

from __future__ import annotations

from autotune.records import HeadroomEvidence
from autotune.reports.format import count, scale, significant


def headroom_words(headroom: HeadroomEvidence | None) -> str:
    """The largest activation against float16's end; empty without float16."""
    if headroom is None or headroom.activation_headroom is None:
        return ""
    layer = f" ({headroom.layer})" if headroom.layer else ""
    if headroom.largest_activation is None:
        return f"activations passed float16's end{layer}"
    text = f"largest activation {significant(headroom.largest_activation)}{layer}"
    text += f", a factor of {significant(headroom.activation_headroom, 2)} below float16's end"
    if headroom.reaches_limit_at_step is not None:
        text += f", which it reaches at about step {count(headroom.reaches_limit_at_step)} if it grows on"
    return text


def limit_words(limit: float | None) -> str:
    """Where the loss scale met its limit; empty where that was not seen."""
    return (
        ""
        if limit is None
        else f"made to grow, the loss scale met its limit above {scale(limit)}, and training went on"
    )

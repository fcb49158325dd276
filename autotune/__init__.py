"""Hardware-aware auto-tuner for Keras training.

``recommend("train.py", budget_s=600)`` measures and gives a typed ``Recommendation``; ``load(path)`` reads one back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autotune.api import load, recommend
    from autotune.records import Configuration, Recommendation

__version__ = "0.1.0"
__all__ = ["Configuration", "Recommendation", "__version__", "load", "recommend"]

_HOMES = {
    "recommend": "autotune.api",
    "load": "autotune.api",
    "Recommendation": "autotune.records",
    "Configuration": "autotune.records",
}


def __getattr__(name: str) -> Any:
    """Public names, imported when they are first used: the command's help must be instant."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""Hardware-aware auto-tuner for Keras training.

``recommend("train.py", budget_s=600)`` measures and gives a typed ``Recommendation``; ``load(path)`` reads one back.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
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
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names too, before they are used."""
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """This package, whose ``recommend`` is the function also once the module of that name was imported.

    Python binds an imported module to its package, which would take the place of the function: the first call of
    ``autotune.recommend`` would be the last. ``from autotune.recommend import ...`` does not look here.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if name in _HOMES and isinstance(value, ModuleType):
            return
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package

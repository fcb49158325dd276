"""Finds strategies by name: ours, and those of other packages."""

from __future__ import annotations

from importlib.metadata import entry_points

from autotune.errors import UsageError
from autotune.strategies.protocol import Strategy

GROUP = "autotune.strategies"
_OWN = {
    "ladder": "autotune.strategies.ladder:Ladder",
    "tpe": "autotune.strategies.tpe:Tpe",
    "random": "autotune.strategies.random_search:RandomSearch",
    "exhaustive": "autotune.strategies.exhaustive:Exhaustive",
}


def names() -> tuple[str, ...]:
    """Names of all strategies, ours first."""
    return (*_OWN, *sorted({entry.name for entry in entry_points(group=GROUP)} - set(_OWN)))


def create(name: str, *, seed: int = 0) -> Strategy:
    """Makes a strategy.

    Args:
        name: Its name.
        seed: Seed of its own randomness.

    Raises:
        UsageError: There is none of this name.
    """
    if name in _OWN:
        import importlib

        module, _, attribute = _OWN[name].partition(":")
        kind = getattr(importlib.import_module(module), attribute)
    else:
        found = [entry for entry in entry_points(group=GROUP) if entry.name == name]
        if not found:
            raise UsageError(f"unknown strategy {name!r}", hint=f"there are {', '.join(names())}")
        kind = found[0].load()
    strategy: Strategy = kind(seed=seed)
    return strategy

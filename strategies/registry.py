"""Finds strategies by name: ours, and those of other packages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from autotune.errors import UsageError
from autotune.strategies.options import Option, values
from autotune.strategies.protocol import Strategy

GROUP = "autotune.strategies"
_TRIALS = Option(name="trials", default=30, least=1, help="most points to time")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Own:
    """One of our strategies. Known by words alone: nothing is imported for the command's help."""

    home: str
    help: str
    options: Sequence[Option] = ()


_OWN: Mapping[str, _Own] = {
    "ladder": _Own(home="ladder:Ladder", help="one setting at a time from the best, as by hand"),
    "tpe": _Own(
        home="tpe:Tpe",
        help="Optuna's estimator",
        options=(_TRIALS, Option(name="startup", default=5, least=1, help="random points before it estimates")),
    ),
    "random": _Own(home="random_search:RandomSearch", help="points in random order", options=(_TRIALS,)),
    "exhaustive": _Own(home="exhaustive:Exhaustive", help="all points"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Chosen:
    """A strategy as the user names it.

    Attributes:
        name: Its name.
        options: Values of its options, those that are given.
    """

    name: str
    options: Mapping[str, int] = field(default_factory=dict)


def names() -> tuple[str, ...]:
    """Names of all strategies, ours first."""
    return (*_OWN, *sorted({entry.name for entry in _announced()} - set(_OWN)))


def options_of(name: str) -> Sequence[Option]:
    """Options of a strategy: from our table, or from the class attribute ``options`` of another package's.

    Raises:
        UsageError: There is none of this name, or it cannot be imported.
    """
    return _OWN[name].options if name in _OWN else tuple(getattr(_kind(name), "options", ()))


def parse(text: str) -> Chosen:
    """A strategy from its name, or from a name with options: ``tpe:trials=50,startup=5``.

    Raises:
        UsageError: There is no such strategy or option, or a value is wrong.
    """
    name, colon, given = text.partition(":")
    if name not in _OWN and name not in names():
        raise _unknown(name)
    return Chosen(name=name, options=values(name, given, options_of(name)) if colon else {})


def create(text: str, *, seed: int = 0) -> Strategy:
    """Makes a strategy.

    Args:
        text: Its name, with options behind a colon where wanted.
        seed: Seed of its own randomness.

    Raises:
        UsageError: There is no such strategy or option, or a value is wrong.
    """
    chosen = parse(text)
    strategy: Strategy = _kind(chosen.name)(seed=seed, **chosen.options)
    return strategy


def describe() -> str:
    """Our strategies and their options in one sentence, for the command's help; imports none of them."""
    parts = []
    for name, own in _OWN.items():
        given = "".join(f", {option.name}={option.default}" for option in own.options)
        parts.append(f"{name} ({own.help}{given})")
    return f"{', '.join(parts)}; options as in tpe:trials=50"


def _kind(name: str) -> Any:
    from importlib import import_module

    if name in _OWN:
        module, _, attribute = _OWN[name].home.partition(":")
        return getattr(import_module(f"autotune.strategies.{module}"), attribute)
    found = next((entry for entry in _announced() if entry.name == name), None)
    if found is None:
        raise _unknown(name)
    try:
        return found.load()
    except (ImportError, AttributeError) as error:
        raise UsageError(
            f"strategy {name!r} ({found.value}) cannot be loaded: {error}", hint="mend or uninstall its package"
        ) from error


def _announced() -> Sequence[Any]:
    from importlib.metadata import entry_points  # slow to import, and not wanted for help

    return tuple(entry_points(group=GROUP))


def _unknown(name: str) -> UsageError:
    return UsageError(f"unknown strategy {name!r}", hint=f"there are {', '.join(names())}")

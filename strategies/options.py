"""Options of strategies: one table feeds the help of the command, the check of what users write, and the constructors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autotune.errors import UsageError


@dataclass(frozen=True, kw_only=True, slots=True)
class Option:
    """One option of a strategy, a whole number.

    Attributes:
        name: Its name, also that of the constructor's argument.
        default: Its value where it is not given.
        least: The smallest value that makes sense.
        help: What it means, one phrase.
    """

    name: str
    default: int
    least: int
    help: str


def values(strategy: str, text: str, options: Sequence[Option]) -> dict[str, int]:
    """Values from a text such as ``trials=50,startup=5``.

    Args:
        strategy: Name of the strategy, for the message.
        text: What stands behind the strategy's name and its colon.
        options: The options that it has.

    Raises:
        UsageError: An option is unknown, given twice, or its value is wrong.
    """
    known = {option.name: option for option in options}
    has = ", ".join(f"{option.name} ({option.help})" for option in options)
    hint = f"{strategy} has {has}" if has else f"{strategy} has no options: leave the colon away"
    found: dict[str, int] = {}
    for part in text.split(","):
        name, _, value = (piece.strip() for piece in part.partition("="))
        option = known.get(name)
        if option is None:
            raise UsageError(f"strategy {strategy} has no option {name!r}", hint=hint)
        if name in found:
            raise UsageError(f"option {name} of strategy {strategy} is given twice", hint="give it once")
        if not value.isdecimal() or int(value) < option.least:
            raise UsageError(
                f"option {name} of strategy {strategy}: {value!r} is no whole number of at least {option.least}",
                hint=f"write {strategy}:{name}={option.default}",
            )
        found[name] = int(value)
    return found

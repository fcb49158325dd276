"""Settings as people write them, in options, variables and pyproject.toml: durations, sizes, batches, margins, lists."""

from __future__ import annotations

import re
import shlex
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import TypeIs

_DURATION = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s?)?")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)


def duration_s(text: str | float) -> float:
    """Seconds from ``90s``, ``10m``, ``1h30m`` or a plain number.

    Raises:
        ValueError: The text is no duration.
    """
    if _is_number(text):
        return float(text)
    found = _DURATION.fullmatch(text.strip().lower()) if isinstance(text, str) else None
    if found is None or not any(found.groups()):
        raise ValueError(f"{text!r} is no duration; write 90s, 10m or 1h30m")
    hours, minutes, seconds = (float(part) if part else 0.0 for part in found.groups())
    return 3600.0 * hours + 60.0 * minutes + seconds


def size_bytes(text: str | int) -> int:
    """Bytes from ``8GiB``, ``500MB`` or a plain number.

    Raises:
        ValueError: The text is no size.
    """
    if isinstance(text, int) and not isinstance(text, bool):
        return text
    found = _SIZE.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None:
        raise ValueError(f"{text!r} is no size; write 8GiB or 500MB")
    number, unit, binary = found.groups()
    power = " kmgt".index(unit.lower() or " ")
    return int(Decimal(number) * (1024 if binary else 1000) ** power)


def batch_sizes(text: str | int | list[int] | tuple[int, ...]) -> tuple[int, ...]:
    """Batches from ``32:1024`` (doublings), ``32,48,64`` or a single one.

    Raises:
        ValueError: The text is none of these, or a batch is not positive.
    """
    if isinstance(text, str) and ":" in text:
        bounds = [_whole(part) for part in text.split(":")]
        if len(bounds) != 2 or None in bounds or not 1 <= (first := bounds[0] or 0) <= (last := bounds[1] or 0):
            raise ValueError(f"{text!r} is no range of batches; write 32:1024")
        return tuple(first * 2**k for k in range(64) if first * 2**k <= last)
    parts = text.split(",") if isinstance(text, str) else text if isinstance(text, list | tuple) else (text,)
    sizes = [_whole(part) or 0 for part in parts]
    if not sizes or min(sizes) < 1:
        raise ValueError(f"{text!r}: a batch is a whole number of at least 1; write 32,48,64 or 32:1024")
    return tuple(dict.fromkeys(sizes))


def tolerance(text: str | float) -> tuple[float, bool]:
    """Margin and whether it is absolute, from ``1%``, ``0.01`` or ``abs:0.005``.

    Raises:
        ValueError: The text is none of these.
    """
    if _is_number(text):
        return float(text), False
    value = text.strip() if isinstance(text, str) else ""
    try:
        if value.startswith("abs:"):
            return float(value.removeprefix("abs:")), True
        return (float(value[:-1]) / 100.0, False) if value.endswith("%") else (float(value), False)
    except ValueError:
        raise ValueError(f"{text!r} is no margin; write 1%, 0.01 or abs:0.005") from None


def arguments(text: str | list[str] | tuple[str, ...]) -> tuple[str, ...]:
    """Arguments of the script from a list, or from one text as a shell would split it.

    Raises:
        ValueError: The text is neither, or a quotation in it does not end.
    """
    if isinstance(text, str):
        return tuple(shlex.split(text))
    if isinstance(text, list | tuple):
        return tuple(str(part) for part in text)
    raise ValueError(f"{text!r} is no list of arguments")


def policies(text: str | list[str] | tuple[str, ...]) -> tuple[str, ...]:
    """Names of policies from a list, or from one text with commas.

    Raises:
        ValueError: It is neither.
    """
    if not isinstance(text, str | list | tuple):
        raise ValueError(f"{text!r} is no list of policies")
    parts = text.split(",") if isinstance(text, str) else text
    return tuple(str(part).strip() for part in parts if str(part).strip())


_FLAGS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def flag(text: str | bool | int) -> bool:
    """Whether something is asked for, from ``1``, ``true``, ``yes``, ``on`` and their opposites.

    Raises:
        ValueError: The text is none of these.
    """
    found = _FLAGS.get(str(text).strip().lower())
    if found is None:
        raise ValueError(f"{text!r} is neither yes nor no; write 1 or 0")
    return found


def _is_number(value: object) -> TypeIs[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _whole(part: object) -> int | None:
    """A whole number, None where it is none."""
    if isinstance(part, int) and not isinstance(part, bool):
        return part
    return int(part) if isinstance(part, str) and part.strip().isdecimal() else None

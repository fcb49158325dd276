"""Records to JSON and back. Numbers that are not finite become null."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from autotune.errors import UsageError

T = TypeVar("T")
_adapters: dict[type, TypeAdapter[Any]] = {}


def to_json(record: Any) -> Any:
    """Turns a record into plain dicts, lists, strings, finite numbers, booleans and None."""
    if is_dataclass(record) and not isinstance(record, type):
        return {f.name: to_json(getattr(record, f.name)) for f in fields(record)}
    if isinstance(record, float):
        return record if math.isfinite(record) else None
    if isinstance(record, Mapping):
        return {str(key): to_json(value) for key, value in record.items()}
    if isinstance(record, list | tuple | set | frozenset):
        return [to_json(item) for item in record]
    return str(record) if isinstance(record, str) else record


def dumps(record: Any, *, indent: int | None = 2) -> str:
    """The record as JSON text."""
    return json.dumps(to_json(record), indent=indent, ensure_ascii=False, allow_nan=False)


def from_json(kind: type[T], data: Any, *, what: str = "file") -> T:
    """Builds a record from parsed JSON.

    Args:
        kind: The record's class.
        data: Parsed JSON.
        what: Name of the source, for the error message.

    Raises:
        UsageError: The data do not fit the record.
    """
    adapter = _adapters.get(kind)
    if adapter is None:
        adapter = _adapters[kind] = TypeAdapter(kind)
    try:
        return adapter.validate_python(data)  # type: ignore[no-any-return]
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "top level"
        raise UsageError(
            f"{what} is damaged or not one of ours: {place}: {first['msg']}",
            hint="give a file that this version of autotune wrote",
        ) from None


def loads(kind: type[T], text: str, *, what: str = "file") -> T:
    """Builds a record from JSON text.

    Raises:
        UsageError: The text is no JSON, or does not fit the record.
    """
    try:
        data = json.loads(text)
    except (RecursionError, ValueError) as error:  # nested thousands deep is no record either
        raise UsageError(f"{what} is not JSON: {error}", hint="give a file that autotune wrote") from None
    return from_json(kind, data, what=what)

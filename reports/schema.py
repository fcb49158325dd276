"""The JSON Schema of recommendation.json."""

from __future__ import annotations

import inspect
import re
from typing import Any

from pydantic import TypeAdapter

from autotune import records
from autotune.records import Recommendation

SCHEMA_VERSION = 1
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_ID = f"urn:keras-autotune:recommendation:{SCHEMA_VERSION}"
_ATTRIBUTE = re.compile(r"^ {4}(\w+): (.+(?:\n {8,}.+)*)", re.MULTILINE)


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) that every recommendation.json of this version fits."""
    schema = TypeAdapter(Recommendation).json_schema(mode="serialization")
    for name, definition in schema.get("$defs", {}).items():
        _describe(definition, getattr(records, name, None))
    _describe(schema, Recommendation)
    schema["properties"]["schema"]["const"] = SCHEMA_VERSION
    head = {"$schema": _DIALECT, "$id": _ID, "title": "autotune recommendation"}
    return {**head, **{key: value for key, value in schema.items() if key not in head}}


def _describe(definition: dict[str, Any], kind: type | None) -> None:
    """Takes descriptions from the record's docstring, so that they are written once."""
    text = inspect.getdoc(kind) if kind is not None else None
    if not text:
        return
    definition["description"] = text.partition("\n")[0]
    # getdoc() has already taken the docstring's own indent away.
    for name, words in _ATTRIBUTE.findall(text):
        if name in definition.get("properties", {}):
            definition["properties"][name]["description"] = " ".join(words.split())

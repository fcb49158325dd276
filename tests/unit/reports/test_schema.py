"""The published schema fits what we write, and refuses what we do not."""

from __future__ import annotations

import json

import pytest

from autotune.reports.record_json import render_json
from autotune.reports.schema import json_schema
from tests.unit.reports.samples import SAMPLES, by_precision

jsonschema = pytest.importorskip("jsonschema")


@pytest.mark.parametrize("name", SAMPLES)
def test_every_record_fits_the_schema(name: str) -> None:
    jsonschema.validate(json.loads(render_json(SAMPLES[name]())), json_schema())


def test_the_schema_is_a_valid_one() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())


@pytest.mark.parametrize(
    ("field", "value"), [("schema", 2), ("verdict", "perhaps"), ("configuration", None), ("headline", 1)]
)
def test_a_foreign_record_does_not_fit(field: str, value: object) -> None:
    data = json.loads(render_json(by_precision()))
    data[field] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, json_schema())


def test_fields_carry_the_descriptions_of_the_records() -> None:
    schema = json_schema()
    assert schema["properties"]["verdict"]["description"] == "Whether to change anything."
    batch = schema["$defs"]["Configuration"]["properties"]["batch_size"]
    assert batch["description"].startswith("Samples a step; None where")

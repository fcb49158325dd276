"""Every number that a view shows can be traced to the record."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator
from typing import Any

import pytest
from rich.console import Console

from autotune.records import Recommendation
from autotune.records.codec import to_json
from autotune.reports import format as write
from autotune.reports.markdown import render_markdown
from autotune.reports.terminal import render_terminal
from autotune.reports.view import view
from tests.unit.reports.samples import SAMPLES

NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?")
FOLDER = "runs/one"
# "95% interval", "float16", "2^15" and the like: words of ours that hold a digit, never a measured figure.
WORDS = re.compile(r"95% interval|float\d+|2\^-?\d+|bfloat16|16 bits|1 is the script as written|above 1 is sooner")


def leaves(data: Any) -> Iterator[Any]:
    """Every scalar of the record."""
    if isinstance(data, dict):
        for value in data.values():
            yield from leaves(value)
    elif isinstance(data, list):
        for value in data:
            yield from leaves(value)
    elif data is not None and not isinstance(data, bool):
        yield data


def written(value: float) -> Iterator[str]:
    """All ways in which a view may write a number of the record."""
    yield from (write.significant(value), write.significant(value, 2), write.count(value), f"{value:.6g}")
    yield from (write.step_time_ms(value), write.step_time(value), write.significant(value * 1e6))
    yield from (write.factor(value), write.duration(value), write.size(value), write.percent(value), write.scale(value))
    yield from (write.rate(value, "matmul"), write.operations(value), write.quality(value))
    yield from (write.quality(abs(value), digits=digits) for digits in range(3, 7))


def derived(record: Recommendation) -> Iterator[float]:
    """Figures that follow from two fields or from a count of entries."""
    cost = record.cost
    if cost.baseline_run_s is not None and cost.run_s is not None:
        yield cost.baseline_run_s - cost.run_s
    if cost.break_even_epochs is not None:
        yield math.ceil(cost.break_even_epochs)
    for ceiling in record.hardware.ceilings:
        base = record.hardware.ceiling(ceiling.operation, "float32")
        if base:
            yield ceiling.per_s / base
    yield from (len(record.workload.fits), len(record.curves))
    # "and 300 more": entries that a view leaves out.
    yield from range(len(record.trials), 0, -1)


def known(record: Recommendation) -> set[str]:
    """Every number, as text, that may stand in a view of the record."""
    texts = {FOLDER}
    for leaf in leaves(to_json(record)):
        if isinstance(leaf, str):
            texts.add(leaf)
        else:
            texts.update(written(float(leaf)))
    for value in derived(record):
        texts.update(written(float(value)))
    return {number for text in texts for number in NUMBER.findall(text)}


@pytest.mark.parametrize("name", [name for name in SAMPLES if name != "many_trials"])
def test_numbers_of_the_views_are_numbers_of_the_record(name: str) -> None:
    record = SAMPLES[name]()
    shown = view(record, FOLDER)
    stream = io.StringIO()
    render_terminal(shown, Console(file=stream, width=100))
    for text in (stream.getvalue(), render_markdown(shown)):
        numbers = set(NUMBER.findall(WORDS.sub("", text)))
        assert numbers and numbers <= known(record)


def test_a_number_from_nowhere_would_be_found() -> None:
    record = SAMPLES["by_precision"]()
    assert not {"11.6", "20.7", "0.921", "5,566", "1,241"} & known(record)

"""A diagnosis as one HTML file that needs nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from autotune.records.codec import dumps
from autotune.records.diagnosis import Diagnosis, Distribution
from autotune.reports.diagnosis_words import headline, lost
from autotune.reports.format import percent, significant
from autotune.reports.headroom_words import headroom_words, limit_words
from autotune.reports.html import TEMPLATES, content_policy, environment, json_text
from autotune.reports.model import Number

# Powers of two that the histograms show: from what float16 loses to what it cannot hold, with room on both sides.
_FIRST, _LAST = -44, 24
_ZERO, _SUBNORMAL, _END = -25, -14, 16
_HEIGHT, _STEP = 36, 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Bar:
    """One power of two in a histogram.

    Attributes:
        x: Left edge.
        y: Upper edge.
        height: Height; the histogram is 36 high.
        lost: Whether float16 turns these numbers into zero or infinity.
    """

    x: float
    y: float
    height: float
    lost: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Histogram:
    """How many numbers have which power of two; heights are square roots, so that rare ones are seen.

    Attributes:
        bars: One for each power of two that occurs.
        says: The same in words, for those who do not see it.
    """

    bars: tuple[Bar, ...]
    says: str


def render_diagnosis_page(diagnosis: Diagnosis) -> str:
    """The whole page: policies, rescued layers, every layer's numbers, gradients against float16, findings."""
    style = (TEMPLATES / "style.css").read_text(encoding="utf-8")
    script = (TEMPLATES / "page.js").read_text(encoding="utf-8")
    layers = [layer for layer in diagnosis.layers if layer.activations is not None or layer.gradients is not None]
    return (
        environment()
        .get_template("diagnosis.html.j2")
        .render(
            diagnosis=diagnosis,
            headline=headline(diagnosis),
            policy=content_policy(style, [script]),
            style=Markup(style),
            script=Markup(script),
            layers=[
                {
                    "layer": layer,
                    "largest": _largest(layer.activations),
                    "activations": histogram(layer.activations),
                    "gradients": histogram(layer.gradients),
                    "activations_lost": _share(layer.activations),
                    "gradients_lost": _share(layer.gradients),
                }
                for layer in layers
            ],
            gradients=histogram(diagnosis.gradients.all),
            surviving=[
                (name, percent(share)) for name, share in diagnosis.gradients.surviving.items() if share is not None
            ],
            half=[
                f"{name}: {words}"
                for name, found in diagnosis.policies.items()
                for words in (limit_words(found.loss_scale_limit), headroom_words(found.headroom))
                if words
            ],
            predicted=significant(diagnosis.gradients.predicted_loss_scale),
            edges={"zero": _at(_ZERO), "subnormal": _at(_SUBNORMAL), "end": _at(_END), "width": _at(_LAST + 1)},
            record=json_text(dumps(diagnosis)),
        )
    )


def histogram(numbers: Distribution | None) -> Histogram | None:
    """Bars of a distribution; what lies outside the shown powers is added to the first and the last bar."""
    if numbers is None or not numbers.exponents:
        return None
    counts: dict[int, int] = {}
    for power, count in numbers.exponents.items():
        shown = min(max(int(power), _FIRST), _LAST)
        counts[shown] = counts.get(shown, 0) + count
    tallest = max(counts.values())
    bars = []
    for power, count in sorted(counts.items()):
        height = round(_HEIGHT * (count / tallest) ** 0.5, 2)
        bars.append(Bar(x=_at(power), y=_HEIGHT - height, height=height, lost=power < _ZERO or power >= _END))
    powers = sorted(int(power) for power in numbers.exponents)
    most = max(numbers.exponents, key=lambda power: numbers.exponents[power])
    return Histogram(bars=tuple(bars), says=f"from 2^{powers[0]} to 2^{powers[-1]}, most at 2^{most}")


def _at(power: int) -> float:
    return float((power - _FIRST) * _STEP)


def _largest(numbers: Distribution | None) -> Number:
    value = None if numbers is None else numbers.largest
    return Number(value=value, text=significant(value))


def _share(numbers: Distribution | None) -> Number:
    if numbers is None:
        return Number(value=None, text="-")
    value = lost(numbers)
    return Number(value=value, text="none" if value == 0.0 else percent(value))

"""A model's numbers against float16, ready to be drawn: histograms by powers of two, shares lost, the survival table."""

from __future__ import annotations

from collections.abc import Sequence

from autotune.records import Distribution, GradientNumerics, LayerNumerics
from autotune.reports.diagnosis_words import lost
from autotune.reports.format import percent, significant
from autotune.reports.model import Bar, Edges, Histogram, LayerRow, Number, NumericsView, SurvivalRow

# Powers of two that the histograms show: from what float16 loses to what it cannot hold, with room on both sides.
_FIRST, _LAST = -44, 24
_ZERO, _SUBNORMAL, _END = -25, -14, 16
_HEIGHT, _STEP = 36, 4


def numerics_view(layers: Sequence[LayerNumerics], gradients: GradientNumerics) -> NumericsView:
    """Rows and drawings of a model's numbers.

    Args:
        layers: Every layer's.
        gradients: All gradients together.
    """
    shares = [f"{percent(share)} {name}" for name, share in gradients.surviving.items() if share is not None]
    return NumericsView(
        layers=tuple(
            LayerRow(
                path=layer.path,
                type=layer.type,
                dtypes=", ".join(filter(None, (layer.variable_dtype, layer.compute_dtype))),
                largest=_largest(layer.activations),
                activations=histogram(layer.activations),
                activations_lost=_share(layer.activations),
                gradients=histogram(layer.gradients),
                gradients_lost=_share(layer.gradients),
            )
            for layer in layers
            if layer.activations is not None or layer.gradients is not None
        ),
        gradients=histogram(gradients.all),
        keeps=", ".join(shares),
        predicted=Number(value=gradients.predicted_loss_scale, text=significant(gradients.predicted_loss_scale)),
        survival=tuple(
            SurvivalRow(
                gradient=f"{row.gradient:.0e}",
                alone=f"{row.as_float16:.3g}" if row.survives else "0, lost",
                scaled=f"{row.scaled_as_float16:.3g}" if row.scaled_survives else "lost",
            )
            for row in gradients.survival
        ),
        scale=f"{gradients.scale:g}",
        edges=Edges(zero=_at(_ZERO), subnormal=_at(_SUBNORMAL), end=_at(_END), width=_at(_LAST + 1), first=_FIRST),
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

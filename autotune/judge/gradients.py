"""Gradients that meet float16: what survives alone, and after a loss scale."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from autotune.records import Distribution, GradientNumerics, LayerInfo, LayerNumerics, Numerics, Survival
from autotune.records.codec import from_json

SCALE = 1024.0
_MAGNITUDES = (1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)
_FLOAT16_MAX = 65504.0
_HEADROOM = 2.0
_LARGEST_SCALE = 2.0**24


def survival(magnitude: float, scale: float = SCALE) -> Survival:
    """One gradient as float16 and, times a scale, as float16; by numpy's own rounding."""
    with np.errstate(over="ignore", under="ignore"):
        alone, scaled = float(np.float16(magnitude)), float(np.float16(magnitude * scale))
    return Survival(
        gradient=magnitude,
        as_float16=alone if math.isfinite(alone) else None,
        survives=0.0 < alone < math.inf,
        scaled_as_float16=scaled if math.isfinite(scaled) else None,
        scaled_survives=0.0 < scaled < math.inf,
    )


def predicted_loss_scale(largest: float | None) -> float | None:
    """Largest power of two that keeps the largest gradient a factor of two below float16's end.

    Micikevicius et al. 2018, *Mixed Precision Training*: a scale may be chosen from gradient statistics so that the product
    with the largest gradient stays below 65504. At most 2**24, beyond which nothing more is won.
    """
    if not largest:
        return None
    return min(_LARGEST_SCALE, 2.0 ** math.floor(math.log2(_FLOAT16_MAX / _HEADROOM / largest)))


def surviving(gradients: Distribution, scale: float) -> float | None:
    """Share of the nonzero gradients that float16 keeps after a scale.

    Computed from counts by power of two: exact for scales that are powers of two, since whole binades vanish or stay.
    """
    total = sum(gradients.exponents.values())
    if not total:
        return None
    shift = math.log2(scale)
    # 2**-25 itself rounds to zero, everything above it up to 2**-24 rounds to the smallest subnormal number.
    kept = sum(count for power, count in gradients.exponents.items() if -25 <= power + shift < 16)
    return kept / total


def numerics(numbers: Mapping[str, Any], layers: Sequence[LayerInfo]) -> Numerics:
    """A worker's profile of the model as a record.

    Args:
        numbers: ``layers`` and ``gradients`` as the worker counted them.
        layers: The model's layers.

    Raises:
        UsageError: They do not fit the record.
    """

    def of(path: str, what: str) -> Distribution | None:
        return _distribution(numbers["layers"].get(path, {}).get(what))

    return Numerics(
        layers=tuple(
            LayerNumerics(
                path=layer.path,
                type=layer.type,
                variable_dtype=layer.variable_dtype,
                activations=of(layer.path, "activations"),
                gradients=of(layer.path, "gradients"),
            )
            for layer in layers
        ),
        gradients=gradient_numerics(_distribution(numbers["gradients"])),
    )


def computing_in(numbers: Numerics, layers: Sequence[LayerInfo]) -> Numerics:
    """The same with what each layer computed in where a 16-bit policy was tried."""
    dtypes = {layer.path: layer.compute_dtype for layer in layers}
    told = tuple(replace(layer, compute_dtype=dtypes.get(layer.path)) for layer in numbers.layers)
    return replace(numbers, layers=told)


def _distribution(data: Any) -> Distribution | None:
    return None if data is None else from_json(Distribution, data, what="the worker's profile")


def gradient_numerics(gradients: Distribution | None) -> GradientNumerics:
    """The survival table, and where this model's own gradients lie."""
    table = tuple(survival(magnitude) for magnitude in _MAGNITUDES)
    if gradients is None:
        return GradientNumerics(survival=table, scale=SCALE, surviving={})
    predicted = predicted_loss_scale(gradients.largest)
    shares = {"alone": surviving(gradients, 1.0), f"times {SCALE:g}": surviving(gradients, SCALE)}
    if predicted is not None:
        shares["times the predicted scale"] = surviving(gradients, predicted)
    return GradientNumerics(
        all=gradients, survival=table, scale=SCALE, predicted_loss_scale=predicted, surviving=shares
    )

"""How large a model's numbers are, layer by layer, and what becomes of them in 16 bits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Distribution:
    """How large numbers are, by powers of two.

    Attributes:
        count: Numbers looked at.
        zeros: Exact zeros among them.
        nonfinite: Infinities and NaN among them.
        largest: Largest finite magnitude; None where there is none.
        smallest: Smallest magnitude above zero.
        exponents: Power of two to how many numbers have it: 2**e <= |x| < 2**(e+1).
        vanish: Format to the share of nonzero numbers that it rounds to zero.
        overflow: Format to the share of numbers that it turns into infinity.
    """

    count: int = 0
    zeros: int = 0
    nonfinite: int = 0
    largest: float | None = None
    smallest: float | None = None
    exponents: Mapping[int, int]
    vanish: Mapping[str, float | None]
    overflow: Mapping[str, float | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerNumerics:
    """One layer, at float32.

    Attributes:
        path: Path inside the model.
        type: Class name.
        variable_dtype: What its variables are stored in.
        compute_dtype: What it computes in under the 16-bit policy that is told of; None where none was tried.
        activations: Its outputs on one batch; None where it has none of its own.
        gradients: Gradients of its weights; None where it has none.
    """

    path: str
    type: str
    variable_dtype: str
    compute_dtype: str | None = None
    activations: Distribution | None = None
    gradients: Distribution | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Survival:
    """A gradient that meets float16, computed by numpy.

    Attributes:
        gradient: Its magnitude.
        as_float16: What float16 makes of it.
        survives: Whether that is above zero.
        scaled_as_float16: What float16 makes of it times the scale.
        scaled_survives: Whether that is above zero and finite.
    """

    gradient: float
    as_float16: float | None
    survives: bool
    scaled_as_float16: float | None
    scaled_survives: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class GradientNumerics:
    """The model's gradients against float16.

    Attributes:
        all: Every weight's gradient on one batch.
        survival: Magnitudes 1e-5 to 1e-10, alone and times ``scale``.
        scale: The scale of that table.
        predicted_loss_scale: Largest power of two that keeps the largest gradient a factor of two below float16's end
            (Micikevicius et al. 2018), at most 2**24; None without gradients.
        surviving: Share of the nonzero gradients that float16 keeps: alone, times ``scale``, times the predicted scale.
    """

    all: Distribution | None = None
    survival: tuple[Survival, ...] = ()
    scale: float = 1024.0
    predicted_loss_scale: float | None = None
    surviving: Mapping[str, float | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Numerics:
    """A model's numbers on one batch, at float32.

    Attributes:
        layers: Every layer's.
        gradients: All gradients together.
    """

    layers: tuple[LayerNumerics, ...] = ()
    gradients: GradientNumerics

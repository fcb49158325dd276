"""What one step computes and moves, and how that stands against the machine's measured ceilings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Bound = Literal["compute", "memory", "input", "overhead"]


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerCost:
    """What one training step at the written batch computes and moves in a part of the model, forward and backward.

    Counted from the shapes in the traced step; nothing of it is measured.

    Attributes:
        path: Path of the layer below the model, or the name of another part of the step: the loss and all outside the
            layers, the optimizer.
        type: Class of the layer; None for another part.
        matmul_flops: Floating-point operations of matrix products.
        convolution_flops: Of convolutions.
        other_flops: Of all else, one for each number read or written, whichever are more.
        bytes: Bytes read and written, each operation by itself.
    """

    path: str
    type: str | None = None
    matmul_flops: float = 0.0
    convolution_flops: float = 0.0
    other_flops: float = 0.0
    bytes: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerRoof:
    """A part of the step against the ceilings.

    Attributes:
        path: As in :class:`LayerCost`.
        type: Class of the layer; None for another part.
        flops: Floating-point operations in all.
        bytes: Bytes read and written.
        least_s: Shortest time that the measured float32 ceilings allow.
        share: Part of the whole step's shortest time, 0 to 1.
        bound_by: Which ceiling sets that time.
    """

    path: str
    type: str | None
    flops: float
    bytes: float
    least_s: float
    share: float
    bound_by: Literal["compute", "memory"]


@dataclass(frozen=True, kw_only=True, slots=True)
class PrecisionGain:
    """What a 16-bit policy should gain, and what it did gain.

    Attributes:
        policy: The policy.
        predicted: Times the speed of float32 if what the ceilings ask for changed with them and the rest of the step stayed
            (Amdahl's law); below 1 where the machine is slow in this format.
        measured: The same measured; None where the policy was not timed by itself.
    """

    policy: str
    predicted: float
    measured: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Roofline:
    """The baseline's step against the machine's measured ceilings.

    Attributes:
        flops: Floating-point operations of a step.
        bytes: Bytes that it reads and writes, each operation by itself; caches and fused operations make it fewer.
        step_s: Measured step time.
        compute_s: Measured step time without waiting for data; None when not measured.
        least_s: Shortest time that the ceilings allow.
        flops_per_s: Operations a second reached while the step does not wait for data.
        ceiling_per_s: Ceiling of matrix products in float32: the measured one, or what the step itself reached.
        bytes_per_s: Measured memory bandwidth.
        share_of_ceiling: Shortest time over the measured time without waiting, 0 to 1; 1 where caches made it faster still.
        bound_by: What limits the step.
        layers: Its parts, the costliest first.
        gains: What 16-bit policies should gain, and did.
    """

    flops: float
    bytes: float
    step_s: float
    compute_s: float | None
    least_s: float
    flops_per_s: float
    ceiling_per_s: float
    bytes_per_s: float
    share_of_ceiling: float
    bound_by: Bound
    layers: tuple[LayerRoof, ...]
    gains: tuple[PrecisionGain, ...] = ()

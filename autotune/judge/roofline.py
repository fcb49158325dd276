"""The baseline's step against the machine's measured ceilings (Williams, Waterman and Patterson 2009, "Roofline")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from autotune.judge.board import Case
from autotune.judge.failures import precision_alone
from autotune.judge.findings import INPUT_BOUND, input_wait
from autotune.judge.speed import speed
from autotune.records import (
    BASELINE_POLICY,
    SIXTEEN_BIT_POLICIES,
    Bound,
    HardwareProfile,
    LayerCost,
    LayerRoof,
    PrecisionGain,
    Roofline,
)

# Below this share of what the ceilings allow, the step is spent between operations more than in them.
_OVERHEAD = 0.25
_HALF = {"mixed_bfloat16": "bfloat16", "mixed_float16": "float16"}


@dataclass(frozen=True, slots=True)
class _Ceilings:
    """Operations and bytes a second of one dtype, and the bytes of a number against float32's."""

    matmul: float
    convolution: float
    copy: float
    width: float = 1.0

    def compute_s(self, cost: LayerCost) -> float:
        return cost.matmul_flops / self.matmul + cost.convolution_flops / self.convolution

    def memory_s(self, cost: LayerCost) -> float:
        return cost.bytes * self.width / self.copy

    def raised(self, factor: float) -> _Ceilings:
        factor = max(1.0, factor)
        return _Ceilings(self.matmul * factor, self.convolution * factor, self.copy, self.width)

    def least_s(self, cost: LayerCost) -> float:
        return max(self.compute_s(cost), self.memory_s(cost))


def roofline(costs: Sequence[LayerCost], hardware: HardwareProfile, cases: Sequence[Case]) -> Roofline | None:
    """Places the baseline's step under the ceilings.

    Args:
        costs: What a step computes and moves, part by part; empty where it could not be counted.
        hardware: With the measured ceilings.
        cases: Every configuration with its measurements, the baseline first.

    Returns:
        None where costs, ceilings or the baseline's step time are unknown.
    """
    base = cases[0] if cases else None
    trial = base.speed_trial if base is not None else None
    measured = None if trial is None else speed(trial.chunks)
    ceilings = _ceilings(hardware, BASELINE_POLICY, 1.0)
    if base is None or trial is None or measured is None or ceilings is None or not costs:
        return None
    step_s, compute_s = measured.step_time_s.value, trial.input_free_step_time_s
    busy_s = step_s if compute_s is None else min(step_s, compute_s)
    # A step faster than its arithmetic alone could be refutes the ceilings: something disturbed their measurement.
    ceilings = ceilings.raised(sum(ceilings.compute_s(cost) for cost in costs) / busy_s)
    least_s = sum(ceilings.least_s(cost) for cost in costs)
    flops = sum(_flops(cost) for cost in costs)
    share = min(1.0, least_s / busy_s)
    layers = [_layer(cost, ceilings, least_s) for cost in costs]
    wait = input_wait(base)
    return Roofline(
        flops=flops,
        bytes=sum(cost.bytes for cost in costs),
        step_s=step_s,
        compute_s=compute_s,
        least_s=least_s,
        flops_per_s=flops / busy_s,
        ceiling_per_s=ceilings.matmul,
        bytes_per_s=ceilings.copy,
        share_of_ceiling=share,
        bound_by=_bound(wait, share, layers),
        layers=tuple(sorted(layers, key=lambda layer: -layer.least_s)),
        gains=tuple(_gains(costs, hardware, cases, ceilings, step_s, busy_s)),
    )


def _bound(wait: float | None, share: float, layers: Sequence[LayerRoof]) -> Bound:
    if wait is not None and wait >= INPUT_BOUND:
        return "input"
    if share < _OVERHEAD:
        return "overhead"
    compute_s = sum(layer.least_s for layer in layers if layer.bound_by == "compute")
    return "compute" if compute_s >= sum(layer.least_s for layer in layers) / 2 else "memory"


def _layer(cost: LayerCost, ceilings: _Ceilings, all_s: float) -> LayerRoof:
    least_s = ceilings.least_s(cost)
    bound: Literal["compute", "memory"] = "compute" if ceilings.compute_s(cost) >= ceilings.memory_s(cost) else "memory"
    return LayerRoof(
        path=cost.path,
        type=cost.type,
        flops=_flops(cost),
        bytes=cost.bytes,
        least_s=least_s,
        share=least_s / all_s if all_s else 0.0,
        bound_by=bound,
    )


def _gains(
    costs: Sequence[LayerCost],
    hardware: HardwareProfile,
    cases: Sequence[Case],
    ceilings: _Ceilings,
    step_s: float,
    busy_s: float,
) -> list[PrecisionGain]:
    """What each 16-bit policy gains where the time that the ceilings ask for changes with them and the rest stays.

    This is Amdahl's law (1967): the step is what its operations need at the least, and the rest, which no precision shortens.
    """
    least_s = sum(ceilings.least_s(cost) for cost in costs)
    within = min(1.0, busy_s / least_s) if least_s else 0.0  # caches make a small step faster than memory would
    gains = []
    for policy in SIXTEEN_BIT_POLICIES:
        half = _ceilings(hardware, policy, 0.5)
        if half is None or not least_s or step_s <= 0.0:
            continue
        case = next(
            (
                c
                for c in cases
                if c.configuration.policy == policy and precision_alone(c.configuration, cases[0].configuration)
            ),
            None,
        )
        stays = _stays(case)
        half_s = sum((ceilings if cost.type is None or cost.path in stays else half).least_s(cost) for cost in costs)
        saved_s = within * (least_s - half_s)
        gains.append(
            PrecisionGain(
                policy=policy,
                predicted=step_s / (step_s - saved_s),
                measured=None if case is None or case.speed is None else case.speed.value,
            )
        )
    return gains


def _stays(case: Case | None) -> frozenset[str]:
    """Layers that stayed in float32 when the policy was tried."""
    seen = next((trial.layers for trial in case.trials if trial.layers), ()) if case is not None else ()
    return frozenset(layer.path for layer in seen if layer.compute_dtype == "float32")


def _ceilings(hardware: HardwareProfile, policy: str, width: float) -> _Ceilings | None:
    dtype = _HALF.get(policy, "float32")
    matmul = hardware.ceiling("matmul", dtype)
    copy = hardware.ceiling("copy", "float32")
    if not matmul or not copy:
        return None
    return _Ceilings(matmul, hardware.ceiling("convolution", dtype) or matmul, copy, width)


def _flops(cost: LayerCost) -> float:
    return cost.matmul_flops + cost.convolution_flops + cost.other_flops

"""A step against the machine's ceilings: sums done by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from autotune.judge.board import cases
from autotune.judge.roofline import roofline
from autotune.records import Ceiling, Configuration, HardwareProfile, JudgeOptions, LayerCost, Measurement, Roofline
from tests.unit.builders import BASELINE, BFLOAT16, FLOAT16, hardware, speed_trial, workload

# 1 GFLOP at 100 GFLOP/s takes 10 ms, 10 MB at 10 GB/s take 1 ms.
PRODUCT = LayerCost(path="dense", type="Dense", matmul_flops=1e9, bytes=10e6)
COPY = LayerCost(path="norm", type="LayerNormalization", other_flops=1e6, bytes=20e6)
OPTIMIZER = LayerCost(path="optimizer", other_flops=1e6, bytes=10e6)


def ceiling(operation: Any, dtype: str, per_s: float) -> Ceiling:
    return Ceiling(operation=operation, dtype=dtype, per_s=per_s, size="")


MACHINE = (
    ceiling("matmul", "float32", 100e9),
    ceiling("convolution", "float32", 50e9),
    ceiling("matmul", "bfloat16", 200e9),
    ceiling("matmul", "float16", 10e9),
    ceiling("copy", "float32", 10e9),
)


def placed(
    costs: Sequence[LayerCost],
    *trials: Measurement,
    ceilings: tuple[Ceiling, ...] = MACHINE,
) -> Roofline | None:
    machine: HardwareProfile = replace(hardware(), ceilings=ceilings)
    judged = cases(BASELINE, workload(), JudgeOptions(), trials)
    return roofline(costs, machine, judged)


def found(costs: Sequence[LayerCost], *trials: Measurement) -> Roofline:
    result = placed(costs, *trials)
    assert result is not None
    return result


def test_each_part_takes_what_its_slower_ceiling_asks_for() -> None:
    result = found((PRODUCT, COPY, OPTIMIZER), speed_trial(step_time_s=0.02))
    assert {layer.path: (layer.bound_by, pytest.approx(layer.least_s)) for layer in result.layers} == {
        "dense": ("compute", 0.010),
        "norm": ("memory", 0.002),
        "optimizer": ("memory", 0.001),
    }
    assert result.least_s == pytest.approx(0.013)
    assert result.share_of_ceiling == pytest.approx(0.013 / 0.02, rel=0.02)
    assert [layer.path for layer in result.layers] == ["dense", "norm", "optimizer"]
    assert sum(layer.share for layer in result.layers) == pytest.approx(1.0)


def test_convolutions_have_a_ceiling_of_their_own() -> None:
    cost = LayerCost(path="conv", type="Conv2D", convolution_flops=1e9)
    assert found((cost,), speed_trial(step_time_s=0.05)).least_s == pytest.approx(0.020)


@pytest.mark.parametrize(
    ("cost", "step_time_s", "input_free_s", "bound"),
    [
        (PRODUCT, 0.012, 0.012, "compute"),
        (COPY, 0.003, 0.003, "memory"),
        (PRODUCT, 0.030, 0.012, "input"),
        (PRODUCT, 0.100, 0.100, "overhead"),
    ],
)
def test_what_limits_the_step(cost: LayerCost, step_time_s: float, input_free_s: float, bound: str) -> None:
    trial = speed_trial(step_time_s=step_time_s, input_free_step_time_s=input_free_s)
    assert found((cost,), trial).bound_by == bound


def test_precision_shortens_what_the_ceilings_ask_for_and_nothing_else() -> None:
    """Of 20 ms, 13 are the ceilings': bfloat16 halves 10 and 2 of them, the optimizer stays, and so do 7 ms besides."""
    trials = (speed_trial(step_time_s=0.02), speed_trial(BFLOAT16, 0.016))
    gains = {gain.policy: gain for gain in found((PRODUCT, COPY, OPTIMIZER), *trials).gains}
    assert gains["mixed_bfloat16"].predicted == pytest.approx(0.020 / 0.014, rel=0.02)
    assert gains["mixed_bfloat16"].measured == pytest.approx(1.25, rel=0.02)
    assert gains["mixed_float16"].predicted < 0.25 and gains["mixed_float16"].measured is None


def test_a_gain_with_other_settings_is_not_that_of_the_policy() -> None:
    trials = (speed_trial(step_time_s=0.02), speed_trial(BFLOAT16.but(batch_size=64), 0.016))
    assert [gain.measured for gain in found((PRODUCT,), *trials).gains] == [None, None]


def test_a_layer_that_stayed_in_float32_gains_nothing() -> None:
    from autotune.records import LayerInfo

    layer = LayerInfo(path="dense", type="Dense", variable_dtype="float32", compute_dtype="float32", parameters=1)
    trials = (speed_trial(step_time_s=0.02), speed_trial(BFLOAT16, 0.02, layers=(layer,)))
    assert found((PRODUCT,), *trials).gains[0].predicted == pytest.approx(1.0)


def test_a_step_faster_than_its_ceiling_refutes_the_ceiling() -> None:
    """10 ms by the ceiling, 5 ms measured: it is 200 GFLOP/s at the least, and no share is above 1."""
    result = found((PRODUCT,), speed_trial(step_time_s=0.005))
    assert result.ceiling_per_s == pytest.approx(200e9, rel=0.02)
    assert result.share_of_ceiling <= 1.0 and result.bound_by == "compute"


def test_a_step_out_of_caches_gains_no_more_than_it_takes() -> None:
    """2 ms by the bandwidth of memory, 1 ms measured: half of that is all that bfloat16 can take away."""
    gain = found((COPY,), speed_trial(step_time_s=0.001)).gains[0]
    assert gain.predicted == pytest.approx(2.0, rel=0.02)


@pytest.mark.parametrize("missing", ["matmul", "copy"])
def test_nothing_is_said_where_a_ceiling_is_unknown(missing: str) -> None:
    known = tuple(c for c in MACHINE if not (c.operation == missing and c.dtype == "float32"))
    assert placed((PRODUCT,), speed_trial(), ceilings=known) is None


def test_nothing_is_said_where_the_step_was_not_counted_or_timed() -> None:
    assert placed((), speed_trial()) is None
    assert placed((PRODUCT,)) is None


def test_a_policy_without_a_ceiling_is_not_predicted() -> None:
    known = tuple(c for c in MACHINE if c.dtype != "float16")
    result = placed((PRODUCT,), speed_trial(), ceilings=known)
    assert result is not None and [gain.policy for gain in result.gains] == ["mixed_bfloat16"]


def test_float16_is_judged_by_its_own_trial() -> None:
    trials = (speed_trial(step_time_s=0.02), speed_trial(Configuration(batch_size=32, policy="mixed_float16"), 0.1))
    gains = {gain.policy: gain.measured for gain in found((PRODUCT,), *trials).gains}
    assert FLOAT16.policy in gains and gains["mixed_float16"] == pytest.approx(0.2, rel=0.02)

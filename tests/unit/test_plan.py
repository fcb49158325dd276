"""Profile and workload become a space, with reasons for what is left out."""

from __future__ import annotations

from autotune.plan import plan
from autotune.records import Ceiling, GpuInfo
from autotune.settings import Settings
from tests.unit.builders import hardware, workload


def settings(**more: object) -> Settings:
    return Settings(target="train.py", **more)  # type: ignore[arg-type]


def ceilings(dtype: str, matmul: float, convolution: float) -> tuple[Ceiling, ...]:
    return tuple(
        Ceiling(operation=operation, dtype=name, per_s=speed, size="")  # type: ignore[arg-type]
        for name, speeds in (("float32", (1.0, 1.0)), (dtype, (matmul, convolution)))
        for operation, speed in zip(("matmul", "convolution"), speeds, strict=True)
    )


def test_the_baseline_is_the_script_as_written() -> None:
    """Batch, XLA and executions are the script's own, at float32; all three policies are measured."""
    found = plan(hardware(), workload(batch_size=48, jit_compile=True, steps_per_execution=2), settings()).space
    assert (found.baseline.policy, found.baseline.batch_size) == ("float32", 48)
    assert (found.baseline.jit_compile, found.baseline.steps_per_execution) == (True, 2)
    assert found.policies == ("float32", "mixed_bfloat16", "mixed_float16")
    assert next(found.configurations()) == found.baseline


def test_a_dtype_below_half_gets_one_short_trial() -> None:
    """Slow in both products: no hope, but measured; slow in one: measured as any other; named: always."""
    slow = hardware(ceilings=ceilings("float16", 0.2, 0.3))
    assert plan(slow, workload(), settings()).hopeless_policies == ("mixed_float16",)
    assert "mixed_float16" in plan(slow, workload(), settings()).space.policies
    assert plan(hardware(ceilings=ceilings("float16", 0.2, 0.9)), workload(), settings()).hopeless_policies == ()
    assert plan(slow, workload(), settings(policies=("mixed_float16",))).hopeless_policies == ()


def test_policies_not_named_are_left_out_with_a_reason() -> None:
    """``--policy`` narrows, float32 stays."""
    found = plan(hardware(), workload(), settings(policies=("mixed_float16",)))
    assert found.space.policies == ("float32", "mixed_float16")
    assert ["--policy" in e.reason for e in found.excluded if e.configuration.policy == "mixed_bfloat16"] == [True]


def test_float16_is_not_proposed_on_a_tpu() -> None:
    """Unless it is asked for."""
    assert "mixed_float16" not in plan(hardware(device="tpu"), workload(), settings()).space.policies
    assert (
        "mixed_float16"
        in plan(hardware(device="tpu"), workload(), settings(policies=("mixed_float16",))).space.policies
    )


def test_a_fixed_batch_stays_and_says_why() -> None:
    """One batch, a finding with the reason, a warning where the user asked for others."""
    found = plan(hardware(), workload(batch_fixed_reason="the data come from a generator"), settings(batch_sizes=(64,)))
    assert found.space.batch_sizes == (32,) and found.space.learning_rate_rules == ("1",)
    assert {"batch_fixed", "batch_option_unused"} <= {f.code for f in found.findings}
    assert any("generator" in f.message for f in found.findings)


def test_the_ladder_of_batches_ends_where_updates_get_few() -> None:
    """At most 16 times the written one, at least eight updates an epoch."""
    assert plan(hardware(), workload(samples_per_epoch=100_000), settings()).space.batch_sizes == (
        32,
        64,
        128,
        256,
        512,
    )
    small = plan(hardware(), workload(samples_per_epoch=1000), settings())
    assert small.space.batch_sizes == (32, 64)
    assert any("fewer than 8 updates" in e.reason for e in small.excluded)
    assert plan(hardware(), workload(), settings(batch_sizes=(48, 96))).space.batch_sizes == (32, 48, 96)
    assert plan(hardware(), workload(), settings(keep_batch_size=True)).space.batch_sizes == (32,)


def test_several_executions_only_where_keras_can() -> None:
    """Not under a strategy with replicas, not beyond half an epoch."""
    assert plan(hardware(), workload(replicas=2), settings()).space.steps_per_execution == (1,)
    assert plan(hardware(), workload(steps_per_epoch=40), settings()).space.steps_per_execution == (1, 4, 16)


def test_tf32_belongs_to_gpus_that_have_it() -> None:
    """The baseline is strict float32 there; elsewhere the setting does not exist."""
    ampere = hardware(device="gpu", gpus=(GpuInfo(index=0, tf32_units=True, visible=True),))
    assert plan(ampere, workload(), settings()).space.tf32 == (False, True)
    assert plan(ampere, workload(), settings()).space.baseline.tf32 is False
    assert plan(hardware(), workload(), settings()).space.tf32 == (None,)


def test_a_reference_is_measured_too() -> None:
    """float64 when asked for."""
    assert plan(hardware(), workload(), settings(reference="float64")).space.policies[-1] == "float64"

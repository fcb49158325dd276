"""Profile and workload become a space, with reasons for what is left out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from autotune.plan import plan
from autotune.records import POLICIES, Ceiling, GpuInfo
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


def test_a_batch_larger_than_the_data_is_left_out() -> None:
    """Named or not, it could never be filled; the reason says so, and the others stay as they were named."""
    found = plan(hardware(), workload(samples_per_epoch=1000), settings(batch_sizes=(4096, 1000, 32, 64, 1001)))
    assert found.space.batch_sizes == (32, 1000, 64)
    told = {e.configuration.batch_size: e.reason for e in found.excluded}
    assert set(told) == {1001, 4096} and all("only 1000 samples" in reason for reason in told.values())
    unknown = plan(hardware(), workload(samples_per_epoch=None), settings(batch_sizes=(4096,)))
    assert unknown.space.batch_sizes == (32, 4096)


def test_several_executions_only_where_keras_can() -> None:
    """Not under a strategy with replicas, not beyond half an epoch."""
    assert plan(hardware(), workload(replicas=2), settings()).space.steps_per_execution == (1,)
    assert plan(hardware(), workload(steps_per_epoch=40), settings()).space.steps_per_execution == (1, 4, 16)


def test_tf32_belongs_to_gpus_that_have_it() -> None:
    """The baseline is as the script leaves it, and strict float32 a second one; elsewhere the setting does not exist."""
    ampere = hardware(device="gpu", gpus=(GpuInfo(index=0, tf32_units=True, visible=True),))
    found = plan(ampere, workload(), settings())
    assert found.space.tf32 == (True, False) and found.space.baseline.tf32 is True
    assert found.first == (found.space.baseline.but(tf32=False),)
    strict = plan(ampere, workload(tf32=False), settings())
    assert strict.space.tf32 == (False, True) and strict.space.baseline.tf32 is False and strict.first == ()
    assert plan(hardware(), workload(), settings()).first == ()
    assert plan(hardware(), workload(), settings()).space.tf32 == (None,)
    hidden = (GpuInfo(index=0, tf32_units=True, visible=False), GpuInfo(index=1, tf32_units=False, visible=True))
    assert plan(hardware(device="gpu", gpus=hidden), workload(), settings()).space.tf32 == (None,)


def test_without_ceilings_nothing_is_hopeless() -> None:
    """A dtype that was not measured, or measured in one product only, is not judged by a guess."""
    whole = ceilings("float16", 0.1, 0.1)
    for kept in ((), whole[:2], whole[2:], whole[:3]):
        assert plan(hardware(ceilings=kept), workload(), settings()).hopeless_policies == ()


@given(
    batch=st.one_of(st.none(), st.integers(1, 5000)),
    samples=st.one_of(st.none(), st.integers(1, 200_000)),
    jit=st.booleans(),
    executions=st.integers(1, 100),
    replicas=st.integers(1, 4),
    fixed=st.one_of(st.none(), st.just("a generator")),
    sizes=st.one_of(st.none(), st.lists(st.integers(1, 4096), min_size=1, max_size=4).map(tuple)),
    policies=st.one_of(st.none(), st.lists(st.sampled_from(POLICIES), min_size=1).map(tuple)),
)
def test_every_space_is_sound(
    batch: int | None,
    samples: int | None,
    jit: bool,
    executions: int,
    replicas: int,
    fixed: str | None,
    sizes: tuple[int, ...] | None,
    policies: tuple[str, ...] | None,
) -> None:
    """Whatever is trained: points without repetition, the script as written among them and first in each setting."""
    trained = workload(
        batch_size=batch,
        samples_per_epoch=samples,
        steps_per_epoch=samples if samples is None or batch is None else -(-samples // batch),
        jit_compile=jit,
        steps_per_execution=executions,
        replicas=replicas,
        batch_fixed_reason=fixed,
    )
    found = plan(hardware(), trained, settings(batch_sizes=sizes, policies=policies))
    points = list(found.space.configurations())
    assert points[0] == found.space.baseline and len(set(points)) == len(points)
    assert (found.space.batch_sizes[0], found.space.jit_compile[0]) == (batch, jit)
    assert (found.space.policies[0], found.space.steps_per_execution[0]) == ("float32", executions)
    assert all(excluded.reason and excluded.configuration not in points for excluded in found.excluded)
    assert set(found.hopeless_policies) <= set(found.space.policies)


def test_a_reference_is_measured_too() -> None:
    """float64 when asked for."""
    assert plan(hardware(), workload(), settings(reference="float64")).space.policies[-1] == "float64"

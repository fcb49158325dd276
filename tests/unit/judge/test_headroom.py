"""How near float16's end is, and whether a trend towards it is one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autotune.judge.headroom import headroom, reaches_limit, trend
from autotune.judge.stability import fault, stability
from autotune.records import Configuration, Measurement, Outcome, ScaleLimit, StepTrace

FLOAT16 = Configuration(policy="mixed_float16", batch_size=32)


def run(sizes: list[float | None], *, planned: int | None = 4000, **trace: object) -> Measurement:
    return Measurement(
        number=1,
        purpose="quality",
        configuration=FLOAT16,
        outcome=Outcome.OK,
        steps=len(sizes),
        updates=len(sizes),
        planned_steps=planned,
        largest_activations={"dense": max((s or 0.0 for s in sizes), default=0.0), "out": 1.0},
        trace=StepTrace(largest_activation=tuple(sizes), **trace),  # type: ignore[arg-type]
    )


def growing(per_step: float, noise: float = 0.0, steps: int = 400) -> list[float | None]:
    rng = np.random.default_rng(3)
    return [float(100.0 + per_step * step + noise * rng.standard_normal()) for step in range(steps)]


def test_growth_is_measured_and_carried_on_to_the_limit() -> None:
    """20 a step from 100: 65504 is reached at step 3270 of 4000."""
    found = trend(growing(20.0))
    assert found is not None and found.per_step == pytest.approx(20.0, rel=1e-3)
    assert reaches_limit(run(growing(20.0))) == pytest.approx(3270, abs=10)


def test_growth_that_ends_in_time_is_no_alarm() -> None:
    """The planned run is over before the limit."""
    assert reaches_limit(run(growing(20.0), planned=3000)) is None
    assert reaches_limit(run(growing(20.0), planned=None)) is None


@pytest.mark.parametrize("seed", range(20))
def test_noise_without_growth_is_no_trend_to_the_limit(seed: int) -> None:
    """Heavy-tailed sizes around a steady level, a planned run a hundred times as long."""
    rng = np.random.default_rng(seed)
    sizes = [float(200.0 * np.exp(0.3 * rng.standard_t(3))) for _ in range(400)]
    assert reaches_limit(run(sizes, planned=40_000)) is None


def test_a_run_that_settles_is_no_alarm() -> None:
    """Growth in the first half only."""
    sizes = [float(min(step, 150) * 50.0 + (step % 7)) for step in range(400)]
    assert reaches_limit(run(sizes, planned=100_000)) is None


def test_one_spike_does_not_move_the_trend() -> None:
    """A single batch a thousand times as large."""
    sizes = growing(0.0, noise=1.0)
    sizes[390] = 60_000.0
    assert reaches_limit(run(sizes, planned=10**6)) is None


def test_short_or_not_finite_runs_have_no_trend() -> None:
    """Nothing is made up."""
    assert trend(growing(1.0, steps=40)) is None
    assert trend([*growing(1.0), None]) is None
    assert trend([]) is None


def test_headroom_names_the_layer_and_takes_the_scale_out_of_gradients() -> None:
    """Largest activation over all runs; each gradient by the scale that its step used."""
    trial = replace(
        run([10.0, 1310.08], largest_gradient=(512.0, 4.0), loss_scale=(1024.0, 1024.0)), loss_scale_initial=2048.0
    )
    found = headroom([trial, run([5.0])])
    assert found is not None and found.layer == "dense"
    assert found.activation_headroom == pytest.approx(50.0) and found.largest_gradient == 512.0 / 2048.0


def test_an_activation_past_the_end_has_no_headroom() -> None:
    """Infinity is kept as unknown size, of a named layer."""
    trial = replace(run([10.0, None]), largest_activations={"dense": None, "out": 1.0})
    found = headroom([trial])
    assert found is not None and found.largest_activation is None and found.layer == "dense"
    assert found.activation_headroom == 0.0


def test_without_float16_there_is_nothing_to_say() -> None:
    """bfloat16 has float32's range."""
    assert headroom([replace(run([]), largest_activations={})]) is None


def test_weights_that_do_not_survive_the_scales_limit_are_a_fault() -> None:
    """An update that overflows must not be applied; a limit that is met and survived is evidence."""
    limit = ScaleLimit(steps=80, largest_scale=2.0**20, skipped=2, met=True, finite=True)
    fine = replace(run([1.0] * 50), scale_limit=limit)
    assert fault(fine) is None and stability([fine]).loss_scale_limit == 2.0**20
    assert "meets its limit" in (fault(replace(fine, scale_limit=replace(limit, finite=False))) or "")
    unmet = replace(fine, scale_limit=replace(limit, met=False))
    assert stability([unmet]).loss_scale_limit is None

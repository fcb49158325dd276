"""What measurements say in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autotune.judge.board import board_of, cases
from autotune.judge.findings import findings
from autotune.records import Finding, GpuInfo, JudgeOptions, Measurement, Outcome, Severity
from tests.unit.builders import BASELINE, BFLOAT16, FLOAT16, hardware, quality_run, speed_trial, workload

OPTIONS = JudgeOptions()


def found(measurements: list[Measurement], static: tuple[Finding, ...] = (), **more: object) -> dict[str, Finding]:
    judged = cases(BASELINE, workload(**more), OPTIONS, measurements)
    return {f.code: f for f in findings(judged, workload(**more), hardware(), OPTIONS, static)}


def test_a_healthy_run_has_no_warning() -> None:
    """Nothing of severity warning or error on a healthy script."""
    runs = [quality_run(c, s, [0.9, 0.95 + 0.001 * s]) for c in (BASELINE, BFLOAT16) for s in range(3)]
    healthy = found([speed_trial(), speed_trial(BFLOAT16, 0.006), speed_trial(FLOAT16, 0.02), *runs])
    assert {f.severity for f in healthy.values()} <= {Severity.INFO}


def test_input_bound() -> None:
    """Share of the step that waits, what a free pipeline would give, what to change for this kind of data."""
    waiting = found([speed_trial(input_free_step_time_s=0.002)], data="PyDataset")["input_bound"]
    assert "80%" in waiting.message and "5.0x" in waiting.message and "workers" in (waiting.advice or "")
    assert "input_bound" not in found([speed_trial(input_free_step_time_s=0.0095)])


def test_a_slow_policy_is_explained_by_the_hardware() -> None:
    """The factor, and the units that are missing."""
    assert found([speed_trial(), speed_trial(FLOAT16, 0.044)])["slow_policy"].message == (
        "mixed_float16 is 4.4x slower here: this processor has no float16 units"
    )


def test_a_metric_that_overflows_is_told_from_a_loss_that_does() -> None:
    """The metric's name, and that training itself is fine."""
    bad = replace(
        speed_trial(FLOAT16),
        outcome=Outcome.NON_FINITE,
        nonfinite_logs=("total_ratio",),
        reason="total_ratio not finite",
    )
    assert "total_ratio" in found([speed_trial(), bad])["metric_not_finite"].message
    loss = replace(bad, nonfinite_logs=("loss", "total_ratio"), reason="loss not finite within 3 steps")
    assert "non_finite" in found([speed_trial(), loss])


def test_failures_of_a_policy_are_errors_against_it() -> None:
    """Skipped updates, unsupported operations: severity error, with the policy."""
    none = replace(speed_trial(FLOAT16), outcome=Outcome.NO_UPDATES, reason="updates were skipped until ...")
    unsupported = replace(speed_trial(BFLOAT16), outcome=Outcome.UNSUPPORTED, reason="TypeError in layer rotate")
    both = found([speed_trial(), none, unsupported])
    assert (both["no_updates"].severity, both["no_updates"].policy) == (Severity.ERROR, "mixed_float16")
    assert "rotate" in both["unsupported"].message and both["unsupported"].policy == "mixed_bfloat16"


@pytest.mark.parametrize(
    "change", [{"batch_size": 1024}, {"jit_compile": True}, {"batch_size": 64, "learning_rate_factor": 2.0}]
)
def test_what_fails_for_another_reason_is_no_fault_of_the_policy(change: dict[str, object]) -> None:
    """Too large a batch, the compiler, another rate: a healthy script and its policy get no warning and no error."""
    noticed = Finding(code="non_finite_output", severity=Severity.WARNING, message="...", policy="mixed_bfloat16")
    other = BFLOAT16.but(**change)
    for outcome in (Outcome.OUT_OF_MEMORY, Outcome.UNSUPPORTED, Outcome.NON_FINITE, Outcome.TIMEOUT):
        bad = replace(speed_trial(other), outcome=outcome, reason="...", findings=(noticed,))
        assert {f.severity for f in found([speed_trial(), speed_trial(BFLOAT16), bad]).values()} <= {Severity.INFO}
    runs = [quality_run(BASELINE, s, [0.9, 0.95 + 0.001 * s]) for s in range(3)]
    worse = [quality_run(other, s, [0.3, 0.4 + 0.001 * s]) for s in range(3)]
    assert "accuracy_worse" not in found([speed_trial(), speed_trial(other), *runs, *worse])


def test_a_policy_that_learns_worse_is_an_error_against_it() -> None:
    """At the written batch, with the figures."""
    runs = [quality_run(BASELINE, s, [0.9, 0.95 + 0.001 * s]) for s in range(3)]
    worse = [quality_run(FLOAT16, s, [0.3, 0.4 + 0.001 * s]) for s in range(3)]
    finding = found([speed_trial(), speed_trial(FLOAT16), *runs, *worse])["accuracy_worse"]
    assert finding.severity is Severity.ERROR and finding.policy == "mixed_float16" and "0.401" in finding.message


def test_updates_that_were_not_applied_are_told_although_the_trial_ended_well() -> None:
    """Skipped updates, a scale below one, weights that stand still."""
    skipping = speed_trial(FLOAT16, steps=1000, updates=900, loss_scale_initial=2.0**15, loss_scale_final=2.0**15)
    assert "updates skipped" in found([speed_trial(), skipping])["updates_skipped"].message
    sunk = speed_trial(FLOAT16, loss_scale_initial=2.0**15, loss_scale_final=2.0**-20)
    assert "updates skipped" in found([speed_trial(), sunk])["updates_skipped"].message
    still = speed_trial(FLOAT16, weights_moved=False)
    assert found([speed_trial(), still])["no_updates"].severity is Severity.ERROR


def test_what_limits_the_evidence_is_told() -> None:
    """Float32 that scatters by more than the margin; a metric that moves in steps larger than it."""
    base = [quality_run(BASELINE, s, [0.5, 0.95 + 0.03 * (-1) ** s]) for s in range(4)]
    other = [replace(m, configuration=BFLOAT16) for m in base]
    told = found([speed_trial(), speed_trial(BFLOAT16), *base, *other])
    assert told["baseline_spread"].severity is Severity.INFO and "val_accuracy" in told["baseline_spread"].message
    coarse = [quality_run(BASELINE, s, [0.5 + 0.05 * s, 0.75, 0.95]) for s in range(3)]
    told = found([speed_trial(), *coarse, *(replace(m, configuration=BFLOAT16) for m in coarse)])
    assert "0.05" in told["few_validation_examples"].message


def test_a_slow_policy_on_a_gpu_is_explained_by_the_gpu() -> None:
    """The processor's units are beside the point there."""
    old = hardware(device="gpu", gpus=(GpuInfo(index=0, visible=True, float16_units=False),))
    judged = cases(BASELINE, workload(), OPTIONS, [speed_trial(), speed_trial(FLOAT16, 0.044)])
    told = {f.code: f for f in findings(judged, workload(), old, OPTIONS, ())}
    assert told["slow_policy"].message == "mixed_float16 is 4.4x slower here: this GPU has no fast float16 units"


def test_static_checks_are_confirmed_or_not() -> None:
    """A check of the code says whether a measurement bore it out."""
    check = Finding(code="loss_not_scaled", severity=Severity.WARNING, message="...", policy="mixed_float16")
    failed = replace(speed_trial(FLOAT16), outcome=Outcome.NO_UPDATES, reason="...")
    assert found([speed_trial(), failed], (check,))["loss_not_scaled"].confirmed is True
    runs = [quality_run(c, s, [0.9, 0.95 + 0.001 * s]) for c in (BASELINE, FLOAT16) for s in range(3)]
    assert found([speed_trial(), speed_trial(FLOAT16), *runs], (check,))["loss_not_scaled"].confirmed is False
    assert found([speed_trial()], (check,))["loss_not_scaled"].confirmed is None


def test_standings_follow_from_measurements() -> None:
    """Speed by what decides it, proof by outcome and verdict."""
    scaled = BASELINE.but(batch_size=64, learning_rate_factor=2.0)
    measured = [
        speed_trial(), speed_trial(BASELINE.but(batch_size=64), 0.01), quality_run(BASELINE, 0, [0.9, 0.95]),
        quality_run(scaled, 0, [0.9, 0.95]), replace(speed_trial(FLOAT16), outcome=Outcome.NON_FINITE, reason="x"),
    ]  # fmt: skip
    standings = board_of(BASELINE, cases(BASELINE, workload(), OPTIONS, measured))
    assert standings.of(BASELINE).proof == "matches"  # type: ignore[union-attr]
    own = standings.of(BASELINE)
    assert own is not None and (own.relative_speed_low, own.relative_speed_high) == (1.0, 1.0)
    rated = standings.of(scaled)
    assert rated is not None and rated.proof == "open" and abs((rated.relative_speed or 0) - 2.0) < 0.05
    assert standings.of(FLOAT16).proof == "failed"  # type: ignore[union-attr]


def test_a_gain_that_was_not_reached_is_bounded() -> None:
    """A batch that falls short of the baseline's quality: no gain, but a bound to give it up by."""
    double = BASELINE.but(batch_size=64)
    measured = [
        speed_trial(),
        speed_trial(double, 0.01),
        quality_run(BASELINE, 0, [0.9, 0.95]),
        quality_run(double, 0, [0.5, 0.6]),
    ]
    standing = board_of(BASELINE, cases(BASELINE, workload(), OPTIONS, measured)).of(double)
    assert standing is not None and standing.time_to_quality is None
    assert standing.time_to_quality_high is not None and standing.time_to_quality_high < 2.2

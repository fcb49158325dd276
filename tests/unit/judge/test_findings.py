"""What measurements say in words."""

from __future__ import annotations

from dataclasses import replace

from autotune.judge.board import board, cases
from autotune.judge.findings import findings
from autotune.records import Finding, JudgeOptions, Measurement, Outcome, Severity
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
    standings = board(
        BASELINE, workload(), OPTIONS,
        [
            speed_trial(), speed_trial(BASELINE.but(batch_size=64), 0.01), quality_run(BASELINE, 0, [0.9, 0.95]),
            quality_run(scaled, 0, [0.9, 0.95]), replace(speed_trial(FLOAT16), outcome=Outcome.NON_FINITE, reason="x"),
        ],
    )  # fmt: skip
    assert standings.of(BASELINE).proof == "matches"  # type: ignore[union-attr]
    rated = standings.of(scaled)
    assert rated is not None and rated.proof == "open" and abs((rated.relative_speed or 0) - 2.0) < 0.05
    assert standings.of(FLOAT16).proof == "failed"  # type: ignore[union-attr]

"""Diagnoses for tests."""

from __future__ import annotations

from autotune.judge.gradients import gradient_numerics
from autotune.records import AccuracyEvidence, Finding, Outcome, Severity
from autotune.records.diagnosis import Diagnosis, PolicyDiagnosis, Rescue
from autotune.records.numerics import Distribution, LayerNumerics
from tests.unit.reports.samples import MARKUP

MATCHES = AccuracyEvidence(metric="val_accuracy", baseline=0.91, candidate=0.911, seeds=3, verdict="matches")
WORSE = AccuracyEvidence(metric="val_accuracy", baseline=0.91, seeds=1, verdict="worse")


def distribution(*, largest: float = 8.0, low: int = -20, high: int = 3, lost: float = 0.0) -> Distribution:
    """Numbers spread evenly over powers of two."""
    return Distribution(
        count=1000,
        largest=largest,
        smallest=2.0**low,
        exponents={power: 10 + 3 * (power - low) for power in range(low, high + 1)},
        vanish={"float16": lost, "bfloat16": 0.0},
        overflow={"float16": 0.0, "bfloat16": 0.0},
    )


def cured(name: str = "log_ratio") -> Diagnosis:
    """float16 fails and one layer in float32 cures it."""
    failing = PolicyDiagnosis(
        outcome=Outcome.NON_FINITE,
        accuracy=WORSE,
        steps=100,
        evidence=f"loss not finite within 1 steps (layer {name})",
        sixteen_bit_layers=3,
        arithmetic_layers=3,
        rescue=Rescue(
            layers=(name,), minimal=True, attempts=1, accuracy=MATCHES, steps=300,
            evidence="val_accuracy 0.91 against 0.91 over 3 paired seeds: matches",
            snippet=f'keras.config.set_dtype_policy("mixed_float16")\nLogRatio(..., name={name!r}, dtype="float32")',
        ),
    )  # fmt: skip
    good = PolicyDiagnosis(
        outcome=Outcome.OK, accuracy=MATCHES, steps=300, evidence="val_accuracy 0.911 against 0.91: matches",
        sixteen_bit_layers=3, arithmetic_layers=3,
    )  # fmt: skip
    plain = PolicyDiagnosis(
        outcome=Outcome.OK, steps=300, sixteen_bit_layers=0, arithmetic_layers=3, evidence="trained"
    )
    return Diagnosis(
        target="train.py",
        policies={"float32": plain, "mixed_bfloat16": good, "mixed_float16": failing},
        layers=(
            LayerNumerics(
                path=name,
                type="LogRatio",
                variable_dtype="float32",
                compute_dtype="float16",
                activations=distribution(),
            ),
            LayerNumerics(
                path="soil",
                type="Dense",
                variable_dtype="float32",
                compute_dtype="float16",
                activations=distribution(largest=70000.0, high=17),
                gradients=distribution(low=-40, high=-3, lost=0.06),
            ),
        ),
        gradients=gradient_numerics(distribution(low=-40, high=-3, lost=0.06)),
        findings=(
            Finding(
                code="epsilon_vanishes",
                severity=Severity.INFO,
                line="train.py:22",
                policy="mixed_float16",
                message=f"epsilon 1e-08 in {name} is 0 in float16",
                advice="use 1e-7",
                confirmed=True,
            ),
        ),
        share_of_plan=0.5,
        command="autotune diagnose train.py",
    )


def hostile() -> Diagnosis:
    """Names that hold markup."""
    return cured(MARKUP)

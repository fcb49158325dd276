"""A diagnosis in sentences."""

from __future__ import annotations

from autotune.records import BASELINE_POLICY, Outcome
from autotune.records.diagnosis import Diagnosis, Distribution, PolicyDiagnosis


def headline(diagnosis: Diagnosis) -> str:
    """Which policies train this model, in one sentence."""
    parts = [f"{name} {_fate(policy)}" for name, policy in diagnosis.policies.items() if name != BASELINE_POLICY]
    return "; ".join(parts) + "." if parts else "float32 alone was looked at."


def lost(numbers: Distribution | None) -> float:
    """Share of the numbers that float16 turns into zero or infinity."""
    if numbers is None:
        return 0.0
    return (numbers.vanish.get("float16") or 0.0) + (numbers.overflow.get("float16") or 0.0)


def _fate(policy: PolicyDiagnosis) -> str:
    verdict = None if policy.accuracy is None else policy.accuracy.verdict
    if policy.outcome is Outcome.OK and verdict == "matches":
        return "trains as well as float32"
    if policy.outcome is Outcome.OK and verdict != "worse":
        return "trains; whether as well as float32 is not settled"
    failure = "learns worse" if policy.outcome is Outcome.OK else "fails"
    rescue = policy.rescue
    if rescue is None:
        return failure
    if not rescue.layers:
        return f"{failure}, and no layer in float32 cures it" if "no layer" in rescue.evidence else failure
    layers = ", ".join(rescue.layers)
    if rescue.accuracy is not None and rescue.accuracy.verdict == "matches":
        return f"{failure}, but trains as well as float32 with float32 in {layers}"
    return f"{failure}, but trains with float32 in {layers}, how well is not settled"

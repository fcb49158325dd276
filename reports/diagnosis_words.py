"""A diagnosis in sentences."""

from __future__ import annotations

import re

from autotune.records import BASELINE_POLICY, Outcome
from autotune.records.diagnosis import Diagnosis, PolicyDiagnosis
from autotune.records.numerics import Distribution


def headline(diagnosis: Diagnosis) -> str:
    """Which policies train this model, in one sentence."""
    fates: dict[str, list[str]] = {}
    for name, policy in diagnosis.policies.items():
        if name != BASELINE_POLICY:
            fates.setdefault(_fate(policy), []).append(name)
    if not fates:
        return "float32 alone was looked at."
    parts = [f"{' and '.join(names)} {fate if len(names) == 1 else _plural(fate)}" for fate, names in fates.items()]
    longer = " A longer --budget settles more." if any("not settled" in fate for fate in fates) else ""
    return "; ".join(parts) + "." + longer


def lost(numbers: Distribution | None) -> float:
    """Share of the numbers that float16 turns into zero or infinity."""
    if numbers is None:
        return 0.0
    return (numbers.vanish.get("float16") or 0.0) + (numbers.overflow.get("float16") or 0.0)


def _plural(fate: str) -> str:
    return re.sub(r"\b(train|fail|learn)s\b", r"\1", fate)


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

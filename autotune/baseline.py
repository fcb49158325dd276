"""A baseline that fails: the user's own bug, and shown as such."""

from __future__ import annotations

from autotune.errors import BudgetError, WorkloadError
from autotune.records import Measurement, Outcome


def baseline_failure(measurement: Measurement, target: str) -> WorkloadError | BudgetError:
    """The error that ends a run whose baseline fails: the user's bug, shown as such."""
    reason = measurement.reason or measurement.outcome
    if measurement.outcome is Outcome.NON_FINITE:
        return WorkloadError(
            f"{target} is not finite already at float32, as written: {reason}",
            hint="mend the training first (learning rate, scaling of inputs and targets, loss); no precision setting can help",
            detail=measurement.traceback or "",
        )
    if measurement.outcome is Outcome.TIMEOUT:
        return BudgetError(f"the baseline of {target} was not measured: {reason}", hint="give a larger --budget")
    if measurement.outcome is Outcome.NO_UPDATES:
        return WorkloadError(
            f"{target} trains nothing at float32: {reason}", hint="is the model frozen, or the learning rate 0?"
        )
    return WorkloadError(
        f"{target} fails at float32, as written: {reason}",
        hint="the script must train by itself first",
        detail=measurement.traceback or "",
    )

"""Findings on configurations that failed, and whether that speaks against their policy."""

from __future__ import annotations

from dataclasses import replace

from autotune.judge.board import Case
from autotune.judge.stability import LEAST_SCALE, skipped
from autotune.records import Configuration, Finding, LossScale, Measurement, Outcome, Severity


def precision_alone(configuration: Configuration, baseline: Configuration | None) -> bool:
    """Whether nothing but the precision and how many steps a call runs tells a configuration from the baseline.

    Only then does what becomes of it speak of its policy: at another batch, rate, scale or compiler the cause may be that.
    """
    if baseline is None or configuration.policy == baseline.policy:
        return False
    if configuration.loss_scale not in (None, LossScale()):
        return False  # another scale than Keras' own
    return (
        configuration.but(
            policy=baseline.policy,
            loss_scale=baseline.loss_scale,
            steps_per_execution=baseline.steps_per_execution,
        )
        == baseline
    )


def of_outcome(case: Case, precision: bool, baseline: Configuration | None) -> list[Finding]:
    """What became of a configuration; an error or a warning only where it speaks of the policy.

    Args:
        case: The configuration.
        precision: Whether nothing but the precision tells it from the baseline.
        baseline: The baseline.
    """
    if case.configuration.float32_layers:
        return []  # an attempt to rescue a policy: what came of it is told with the policy
    noticed = [finding for trial in case.trials for finding in trial.findings]
    bad = next((m for m in case.trials if m.outcome is not Outcome.OK), None)
    if case.configuration == baseline:
        if bad is not None and bad.outcome is not Outcome.NON_FINITE:
            noticed.append(about(case, f"trial_{bad.outcome}", Severity.INFO, f"as written: {bad.reason}"))
        return noticed
    if not precision:
        # Why it was left is told where all that was left out is told; a layer that failed there may not fail elsewhere.
        return [replace(finding, severity=Severity.INFO) for finding in noticed if finding.layer is None]
    if bad is not None:
        return [*noticed, _of_failure(case, bad)]
    if case.outcome is Outcome.NO_UPDATES:
        return [*noticed, _of_updates(case)]
    return noticed


def _of_updates(case: Case) -> Finding:
    """A policy whose trials ended by themselves, but whose updates were not applied."""
    policy = case.configuration.policy
    advice = (
        "a loss that is scaled needs optimizer.scale_loss in the script's own train_step; else keep this policy off"
    )
    lost = any((count := skipped(m)) is not None and count[0] > 0 for m in case.trials)
    if lost or any(m.loss_scale_final is not None and m.loss_scale_final < LEAST_SCALE for m in case.trials):
        return about(
            case, "updates_skipped", Severity.ERROR, f"updates skipped under {policy}: {case.fault}", advice=advice
        )
    return about(case, "no_updates", Severity.ERROR, f"{policy}: {case.fault}; nothing is learned", advice=advice)


def _of_failure(case: Case, bad: Measurement) -> Finding:
    """A policy one of whose trials failed."""
    policy = case.configuration.policy
    if bad.outcome is Outcome.NON_FINITE:
        losses = [name for name in bad.nonfinite_logs if name.removeprefix("val_") == "loss" or name.endswith("_loss")]
        if bad.nonfinite_logs and not losses:
            names = ", ".join(bad.nonfinite_logs)
            return about(
                case,
                "metric_not_finite",
                Severity.ERROR,
                f"metric {names} is not finite under {policy} while the loss is: it gets {policy[6:]} predictions",
                advice='give the output layer dtype="float32", or cast the predictions in the metric',
            )
        return about(case, "non_finite", Severity.ERROR, f"{policy}: {bad.reason}")
    if bad.outcome is Outcome.NO_UPDATES:
        message = f"{policy}: {bad.reason}; updates are skipped, nothing is learned"
        return about(case, "no_updates", Severity.ERROR, message)
    if bad.outcome is Outcome.NOT_APPLIED:
        return about(
            case,
            "policy_not_applied",
            Severity.WARNING,
            f"{policy} was not applied: {bad.reason}",
            advice="remove the script's own dtype settings to let it be tried",
        )
    if bad.outcome is Outcome.UNSUPPORTED:
        message = f"{case.configuration.describe()} does not run: {bad.reason}"
        return about(case, "unsupported", Severity.ERROR, message)
    message = f"{case.configuration.describe()}: {bad.reason}"
    return about(case, f"trial_{bad.outcome}", Severity.WARNING, message)


def about(case: Case, code: str, severity: Severity, message: str, *, advice: str | None = None) -> Finding:
    """A finding on a configuration's policy."""
    return Finding(code=code, severity=severity, message=message, policy=case.configuration.policy, advice=advice)

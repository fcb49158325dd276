"""The answer in sentences: headline, reasons, and why each configuration that was tried is not the answer."""

from __future__ import annotations

from collections.abc import Sequence

from autotune.judge.board import Case
from autotune.judge.interval import Interval
from autotune.judge.noise import measured_noise_scale, samples_ratio
from autotune.records import Configuration, NoiseScale, Outcome, RunRecord

# Slower by less than this is called no faster.
_NO_FASTER = 0.96


def headline(record: RunRecord, winner: Case | None) -> str:
    """The answer in one sentence."""
    baseline = record.baseline
    if winner is None:
        keep = f"Keep {named(baseline, baseline)}"
        if record.interrupted:
            return f"{keep} for now: the run was interrupted before anything better was proven."
        if record.open_questions:
            return f"{keep} for now: nothing better was proven within the budget."
        least = f"{record.options.minimum_gain:g}x"
        return f"{keep}: nothing was found that is at least {least} faster and proven to train as well."
    use = f"Use {named(winner.configuration, baseline)}"
    if winner.configuration.batch_size != baseline.batch_size:
        return f"{use}: {factor(winner.gain, 'sooner to the same quality')}."
    return f"{use}: {factor(winner.gain, 'faster')}, same accuracy."


def named(configuration: Configuration, baseline: Configuration) -> str:
    """Policy, batch, and whatever else differs from the baseline: "mixed_bfloat16 at batch 64, XLA"."""
    batch = "" if configuration.batch_size is None else f" at batch {configuration.batch_size}"
    other = configuration.but(policy=baseline.policy, batch_size=baseline.batch_size)
    rest = "" if other == baseline else f", {other.describe(baseline)}"
    return f"{configuration.policy}{batch}{rest}"


def factor(interval: Interval | None, what: str) -> str:
    """A factor with its interval: "1.71x faster (1.66 to 1.75)"."""
    if interval is None:
        return f"{what} by an unknown factor"
    if interval.low is None or interval.high is None:
        return f"{interval.value:.2f}x {what}"
    return f"{interval.value:.2f}x {what} ({interval.low:.2f} to {interval.high:.2f})"


def why(record: RunRecord, judged: Sequence[Case], winner: Case | None, admissible: Sequence[Case]) -> tuple[str, ...]:
    """Reasons behind the verdict, one sentence each.

    Args:
        record: Everything measured.
        judged: Every configuration.
        winner: What is recommended; None where the baseline is kept.
        admissible: Those that may be recommended, their speed aside.
    """
    others = [case for case in judged if case.configuration != record.baseline]
    if winner is None:
        return _why_kept(record, others)
    reasons = []
    gain = winner.gain
    if gain is not None and gain.low is not None:
        most = f", the most of {len(admissible)} configurations that train as well" if len(admissible) > 1 else ""
        asked = f"{record.options.minimum_gain:g}x is asked for"
        reasons.append(f"at least {gain.low:.2f}x is certain to 95%{most}; {asked}")
    if winner.configuration.batch_size != record.baseline.batch_size and winner.speed is not None and gain is not None:
        reasons.append(
            f"it trains on {winner.speed.value:.2f}x the samples a second and needs {_needed(winner.speed, gain)}"
        )
        if winner.gain_reason is not None:
            reasons.append(winner.gain_reason)
    if winner.duel is None:
        why_not = "the run was interrupted before" if record.interrupted else "there was none"
        reasons.append(f"its speed is that of separate trials, not of a comparison in alternation: {why_not}")
    return tuple(reasons)


def lost(case: Case, record: RunRecord, winner: Case | None) -> str:
    """Why a configuration that was tried is not the answer, with its figure."""
    if case.fault is not None:
        return case.fault
    speed, evidence, gain = case.speed, case.accuracy, case.gain
    if speed is not None and speed.value < 1.0:
        return "no faster here" if speed.value > _NO_FASTER else f"{1 / speed.value:.1f}x slower here"
    pace = _pace(speed)
    if evidence is None:
        predicted = predicted_gain(case, record)
        why = "" if predicted is None else f": the gradient noise predicts {predicted:.2f}x sooner to the same quality"
        return f"{pace}; not trained{why}" if speed is not None else "not pursued"
    if evidence.verdict == "worse":
        known = evidence.candidate is not None and evidence.baseline is not None
        figures = f": {evidence.metric} {evidence.candidate:.4g} against {evidence.baseline:.4g}" if known else ""
        return f"{pace}, but it learns worse{figures}"
    same_batch = case.configuration.batch_size == record.baseline.batch_size
    if gain is None and not same_batch:
        return f"{pace}, but {case.gain_reason or 'nothing is known of its time to quality'}"
    if gain is None:
        return f"{pace}, but its accuracy is not settled: {evidence.reason or case.gain_reason}"
    if gain.value < 1.0:
        return f"{pace}, but {1 / gain.value:.2g}x longer to the same accuracy"
    gained = factor(gain, "faster" if same_batch else "sooner to the same accuracy")
    if evidence.verdict == "inconclusive":
        return f"{gained}, but its accuracy is not settled: {evidence.reason or 'too few seeds'}"
    if winner is not None:
        return f"{gained}, less than the recommended one"
    certain = gain.low is not None and gain.low >= record.options.minimum_gain
    if certain and case.duel is None and any(m.purpose == "duel" for m in record.measurements):
        return f"{gained} in its own trial; no time was left to compare it with the baseline in alternation"
    return f"{gained}: {record.options.minimum_gain:g}x is not certain"


def _pace(speed: Interval | None) -> str:
    if speed is None:
        return "not timed"
    return "as fast" if speed.value < 1.0 / _NO_FASTER else f"{speed.value:.2g}x more samples a second"


def _why_kept(record: RunRecord, others: Sequence[Case]) -> tuple[str, ...]:
    if not others:
        return ("nothing else was measured",)
    trained = [case for case in others if case.accuracy is not None]
    timed = [case for case in others if case.relative is not None and case.outcome is Outcome.OK]
    if trained:
        best = max(trained, key=_promise)
        return (f"{best.configuration.describe(record.baseline)}, which promised most: {lost(best, record, None)}",)
    if not timed:
        return ("no other configuration runs",)
    fastest = max(timed, key=_promise)
    name, speed = fastest.configuration.describe(record.baseline), fastest.relative
    if speed is not None and speed.low is not None and speed.low >= record.options.minimum_gain:
        return (f"{name} is {factor(speed, 'as fast')}, but was not trained to prove its accuracy",)
    return (f"no configuration is clearly faster: {name}, the fastest, is {factor(speed, 'as fast')}",)


def predicted_gain(case: Case, record: RunRecord) -> float | None:
    """Gain in time to the baseline's quality as speed and gradient noise predict it; None at the baseline's batch."""
    written, batch = record.baseline.batch_size, case.configuration.batch_size
    scale = noise_of(record)
    if case.speed is None or scale is None or written is None or batch is None or batch == written:
        return None
    return case.speed.value * (1.0 if scale.samples is None else samples_ratio(scale.samples, written, batch))


def noise_of(record: RunRecord) -> NoiseScale | None:
    """The gradient noise scale, from what the baseline's first quality run measured."""
    return measured_noise_scale(record.measurements)


def _promise(case: Case) -> float:
    known = case.gain or (case.speed if case.fault is None else None)
    return 0.0 if known is None else known.value


def _needed(speed: Interval, gain: Interval) -> str:
    """Samples to the same quality against the baseline's."""
    share = speed.value / gain.value
    return (
        "as many samples to the same quality"
        if abs(share - 1.0) < 0.005
        else f"{share:.2f}x the samples to the same quality"
    )

"""Time to quality: how long a configuration needs to reach what the baseline has at the end of its run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autotune.judge.accuracy import margin_of
from autotune.judge.accuracy import quality as final_quality
from autotune.judge.interval import Interval, of_logs, product
from autotune.records import Configuration, CurvePoint, JudgeOptions, Measurement, WorkloadInfo

# Where the updates are the same, measured curves count only if they show clearly that more samples are needed.
_CLEARLY = 0.95
_COARSE = "the baseline is there by the first point of its curve: what it needs before that is not known"


@dataclass(frozen=True, kw_only=True, slots=True)
class SamplesRatio:
    """Samples that the baseline needs over samples that the candidate needs; above 1 the candidate needs fewer.

    Attributes:
        interval: The ratio; None where a side never reached the target.
        reason: Why there is none, or what limits it.
        at_most: What the ratio is below in every case where the target was not reached: it would need more samples than
            it saw.
    """

    interval: Interval | None
    reason: str | None = None
    at_most: float | None = None


def samples_needed(curve: Sequence[CurvePoint], metric: str, target: float, sign: float) -> float | None:
    """Samples until the metric first reaches a target, linear between points; None when it does not.

    What came before the first point is unknown: a target reached there counts from that point.
    """
    before: tuple[float, float] | None = None
    for point in curve:
        value = point.values.get(metric)
        if value is None:
            before = None
            continue
        height = sign * value
        if height >= sign * target:
            if before is None or height == before[1]:
                return point.samples
            share = (sign * target - before[1]) / (height - before[1])
            return before[0] + share * (point.samples - before[0])
        before = (point.samples, height)
    return None


def samples_ratio(
    baseline: Mapping[int, Measurement],
    candidate: Mapping[int, Measurement],
    workload: WorkloadInfo,
    options: JudgeOptions,
) -> SamplesRatio:
    """Ratio of samples to the same quality over paired seeds.

    The target of a seed is what the baseline has at the end of its own run with that seed, less the margin.
    """
    metric = workload.metric or "loss"
    sign = 1.0 if workload.metric_direction == "max" else -1.0
    seeds = sorted(set(baseline) & set(candidate))
    finals = {s: q for s in seeds if (q := final_quality(baseline[s], metric)) is not None}
    if not finals:
        return SamplesRatio(interval=None, reason="the baseline's quality is not known yet")
    margin = margin_of(list(finals.values()), options)
    ratios, early = [], 0
    for seed, final in finals.items():
        target = final - sign * margin
        ours = samples_needed(baseline[seed].curve, metric, target, sign)
        theirs = samples_needed(candidate[seed].curve, metric, target, sign)
        if ours is None:  # a lone point that is not finite
            continue
        if theirs is None:
            seen = candidate[seed].curve[-1].samples if candidate[seed].curve else 0.0
            return SamplesRatio(
                interval=None,
                reason=f"it does not reach the baseline's {metric} within {seen:,.0f} samples",
                at_most=ours / seen if seen else None,
            )
        ratio = ours / theirs
        if ours == baseline[seed].curve[0].samples:
            # The baseline was there by its first point, and may have been long before: no gain can be told from that.
            ratio, early = min(1.0, ratio), early + 1
        ratios.append(ratio)
    if not ratios:
        return SamplesRatio(interval=None, reason="the target was not reached")
    coarse = 2 * early > len(ratios)
    return SamplesRatio(interval=of_logs(ratios), reason=_COARSE if coarse else None)


def most_gain(speed: Interval, ratio: SamplesRatio) -> float | None:
    """Upper bound of the time-to-quality gain, to give a configuration up by; None when nothing bounds it.

    Args:
        speed: Samples a second against the baseline.
        ratio: Samples ratio as far as known.
    """
    if ratio.interval is not None:
        return product(speed, ratio.interval).high
    return None if ratio.at_most is None else (speed.high or speed.value) * ratio.at_most


def time_to_quality(
    speed: Interval,
    baseline: Mapping[int, Measurement],
    candidate: Mapping[int, Measurement],
    workload: WorkloadInfo,
    options: JudgeOptions,
    configurations: tuple[Configuration, Configuration],
    *,
    matches: bool,
) -> tuple[Interval | None, str | None]:
    """Gain in time to the baseline's quality, None where it is not known, and the reason or what limits it.

    It is the product of samples a second and samples needed, its interval by the delta method on logarithms. A precision
    makes the same updates from the same samples: if its accuracy matches, it needs as many samples as the baseline by
    construction, and the gain is that of the step time, unless the curves show clearly that it needs more.

    Args:
        speed: Samples a second against the baseline.
        baseline: Quality runs by seed.
        candidate: Quality runs by seed.
        workload: Metric and direction.
        options: Margin.
        configurations: Baseline and candidate.
        matches: Whether the accuracy verdict is ``matches``.
    """
    ratio = samples_ratio(baseline, candidate, workload, options)
    ours, theirs = configurations
    if not theirs.same_updates(ours):
        return None if ratio.interval is None else product(speed, ratio.interval), ratio.reason
    needed = ratio.interval
    if matches:
        clearly_more = needed is not None and needed.high is not None and needed.high < _CLEARLY
        return (product(speed, needed) if clearly_more and needed is not None else speed), None
    if needed is None:
        return None, ratio.reason
    # While the verdict is open, a lucky crossing must not count for a precision.
    return product(speed, Interval(value=min(1.0, needed.value), count=needed.count)), None

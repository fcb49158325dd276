"""The few figures that carry the answer."""

from __future__ import annotations

import math

from autotune.records import Recommendation
from autotune.reports import format as write
from autotune.reports.model import Fact


def highlights(recommendation: Recommendation) -> tuple[Fact, ...]:
    """Up to four figures, each with the words that it needs; what is unknown is left out."""
    if recommendation.verdict == "keep_baseline":
        return _kept(recommendation)
    speed, accuracy, cost = recommendation.speed, recommendation.accuracy, recommendation.cost
    facts = []
    if speed.speedup is not None:
        ends = write.interval(speed.speedup_low, speed.speedup_high)
        facts.append(Fact(value=write.factor(speed.speedup), label=f"as fast {ends}".rstrip()))
    if accuracy.candidate is not None and accuracy.baseline is not None:
        digits = write.decimals_for(accuracy.margin)
        label = f"{accuracy.metric or 'quality'}, as written {write.quality(accuracy.baseline, digits=digits)}"
        facts.append(Fact(value=write.quality(accuracy.candidate, digits=digits), label=label))
    if cost.baseline_run_s is not None and cost.run_s is not None:
        epochs = "" if cost.planned_epochs is None else f" for {write.counted(cost.planned_epochs, 'epoch')}"
        label = f"saved of {write.duration(cost.baseline_run_s)}{epochs}"
        facts.append(Fact(value=write.duration(cost.baseline_run_s - cost.run_s), label=label))
    if cost.break_even_epochs is not None:
        after = max(math.ceil(cost.break_even_epochs), 1)
        label = f"until the {write.duration(cost.tuning_s)} of tuning are paid back"
        facts.append(Fact(value=write.counted(after, "epoch"), label=label))
    return tuple(facts)


def _kept(recommendation: Recommendation) -> tuple[Fact, ...]:
    speed, accuracy, cost = recommendation.speed, recommendation.accuracy, recommendation.cost
    facts = []
    if speed.baseline_step_time_s is not None:
        facts.append(Fact(value=write.step_time(speed.baseline_step_time_s), label="a step, as written"))
    if accuracy.baseline is not None:
        digits = write.decimals_for(accuracy.margin)
        label = f"{accuracy.metric or 'quality'} after a short run"
        facts.append(Fact(value=write.quality(accuracy.baseline, digits=digits), label=label))
    if cost.baseline_run_s is not None:
        epochs = "" if cost.planned_epochs is None else f" of {write.counted(cost.planned_epochs, 'epoch')}"
        facts.append(Fact(value=write.duration(cost.baseline_run_s), label=f"the planned run{epochs}"))
    facts.append(Fact(value=write.duration(cost.tuning_s), label="of measuring"))
    return tuple(facts)

"""The reasons to trust the answer, each as one sentence of measured figures."""

from __future__ import annotations

import math

from autotune.records import AccuracyEvidence, Recommendation, SpeedEvidence
from autotune.reports import format as write
from autotune.reports.headroom_words import headroom_words, limit_words
from autotune.reports.model import Fact, Interval, Proof, State

_NEAR_LIMIT = 0.9


def proofs(recommendation: Recommendation) -> tuple[Proof, ...]:
    """Every proof that the record holds evidence for, in the order in which they are told."""
    parts = [_speed(recommendation), _stability(recommendation), _accuracy(recommendation)]
    parts += [_memory(recommendation), _payback(recommendation)]
    return tuple(part for part in parts if part is not None)


def speed_interval(speed: SpeedEvidence) -> Interval | None:
    """The ratio of speeds for a figure."""
    if speed.source is None or speed.speedup is None or speed.speedup_low is None or speed.speedup_high is None:
        return None
    return Interval(
        name="speed against the baseline",
        value=speed.speedup,
        low=speed.speedup_low,
        high=speed.speedup_high,
        reference=1.0,
        limit=None,
        text=f"{write.factor(speed.speedup)} {write.interval(speed.speedup_low, speed.speedup_high)}",
    )


def difference_interval(accuracy: AccuracyEvidence) -> Interval | None:
    """The difference in quality for a figure; its limit is the margin."""
    low, high = accuracy.difference_low, accuracy.difference_high
    if accuracy.difference is None or low is None:
        return None
    digits = write.decimals_for(accuracy.margin)
    lowest = write.difference(low, digits=digits)
    ends = f"{lowest} at the least" if high is None else f"{lowest} to {write.difference(high, digits=digits)}"
    return Interval(
        name=f"difference in {accuracy.metric or 'quality'}",
        value=accuracy.difference,
        low=low,
        high=accuracy.difference if high is None else high,
        reference=0.0,
        limit=None if accuracy.margin is None else -accuracy.margin,
        text=f"{write.difference(accuracy.difference, digits=digits)} ({ends})",
    )


def _speed(recommendation: Recommendation) -> Proof | None:
    speed = recommendation.speed
    kept = recommendation.verdict == "keep_baseline"
    source = _source(speed)
    facts = [
        Fact(
            label="samples a second, baseline", value=write.significant(speed.baseline_samples_per_s, missing="unknown")
        ),
        Fact(label="step, baseline", value=write.step_time(speed.baseline_step_time_s)),
    ]
    if speed.speedup is None or (kept and speed.source is None):
        if speed.baseline_step_time_s is None and speed.baseline_samples_per_s is None:
            return None
        text = f"{write.step_time(speed.baseline_step_time_s)} a step as written"
        if speed.baseline_samples_per_s is not None:
            text += f", {write.significant(speed.baseline_samples_per_s)} samples a second"
        return Proof(label="measured", state="told", text=text, facts=tuple(facts))
    facts += [
        Fact(label="samples a second, candidate", value=write.significant(speed.samples_per_s, missing="unknown")),
        Fact(label="step, candidate", value=write.step_time(speed.step_time_s)),
        Fact(
            label="speed-up, 95% interval",
            value=f"{write.factor(speed.speedup)} {write.interval(speed.speedup_low, speed.speedup_high)}".strip(),
        ),
    ]
    if speed.time_to_quality_speedup is not None:
        facts.append(Fact(label="time to quality", value=_time_to_quality(speed)))
    if kept:
        ends = write.interval(speed.speedup_low, speed.speedup_high)
        text = (
            f"the leading alternative is {write.factor(speed.speedup)} as fast as written {ends}".rstrip()
            + f", {source}"
        )
        return Proof(label="measured", state="told", text=text, facts=tuple(facts))
    if recommendation.configuration.batch_size == recommendation.baseline.batch_size:
        text = write.step_times(speed.baseline_step_time_s, speed.step_time_s)
    else:
        # Steps of different batches cannot be compared, samples can.
        before, after = speed.baseline_samples_per_s, speed.samples_per_s
        text = f"{write.significant(before, missing='unknown')} -> {write.significant(after, missing='unknown')}"
        text += " samples a second"
    text += f", {source}"
    if speed.time_to_quality_speedup is not None and recommendation.configuration.batch_size != (
        recommendation.baseline.batch_size
    ):
        text += f"; time to the baseline's quality {_time_to_quality(speed)} shorter"
    state: State = "good" if speed.speedup_low is not None and speed.speedup_low > 1 else "open"
    return Proof(label="faster", state=state, text=text, facts=tuple(facts))


def _source(speed: SpeedEvidence) -> str:
    if speed.source == "duel":
        return f"measured in alternation, {write.counted(speed.pairs, 'pair')}"
    return "measured in separate trials" if speed.source == "trials" else "not compared"


def _time_to_quality(speed: SpeedEvidence) -> str:
    ends = write.interval(speed.time_to_quality_speedup_low, speed.time_to_quality_speedup_high)
    return f"{write.factor(speed.time_to_quality_speedup)} {ends}".strip()


def _stability(recommendation: Recommendation) -> Proof | None:
    evidence, policy = recommendation.stability, recommendation.configuration.policy
    if evidence.steps == 0:
        return None
    parts = [f"for {write.counted(evidence.steps, 'step')}"]
    state: State = "good"
    if evidence.nonfinite_steps is None:
        parts.append("non-finite values not watched")
        state = "open"
    elif evidence.nonfinite_steps == 0:
        parts.append("nothing non-finite")
    else:
        parts.append(f"{write.counted(evidence.nonfinite_steps, 'step')} non-finite")
        state = "bad"
    if evidence.skipped_updates is None:
        parts.append("updates not counted")
    elif evidence.skipped_updates == 0:
        parts.append("no update skipped")
    else:
        share = "" if evidence.skipped_fraction is None else f" ({write.percent(evidence.skipped_fraction)})"
        parts.append(f"{write.counted(evidence.skipped_updates, 'update')} skipped{share}")
    if evidence.loss_scale_final is not None:
        parts.append(
            f"loss scale {write.scale(evidence.loss_scale_initial)} -> {write.scale(evidence.loss_scale_final)}"
        )
    text = ", ".join(parts)
    if policy == "mixed_bfloat16" and evidence.loss_scale_final is None:
        text += " (bfloat16 needs no loss scale)"
    if evidence.headroom is not None and evidence.headroom.reaches_limit_at_step is not None:
        state = "open"
    facts = [
        Fact(label="steps", value=write.count(evidence.steps)),
        Fact(label="non-finite steps", value=write.count(evidence.nonfinite_steps, missing="not watched")),
        Fact(label="skipped updates", value=write.count(evidence.skipped_updates, missing="not counted")),
    ]
    if evidence.loss_scale_final is not None:
        facts += [
            Fact(label="share skipped", value=write.percent(evidence.skipped_fraction)),
            Fact(label="loss scale, first", value=write.scale(evidence.loss_scale_initial)),
            Fact(label="loss scale, last", value=write.scale(evidence.loss_scale_final)),
        ]
    if limit_words(evidence.loss_scale_limit):
        facts.append(Fact(label="loss scale, limit", value=limit_words(evidence.loss_scale_limit)))
    if headroom_words(evidence.headroom):
        facts.append(Fact(label="headroom", value=headroom_words(evidence.headroom)))
    return Proof(label="stable", state=state, text=text, facts=tuple(facts))


def _accuracy(recommendation: Recommendation) -> Proof | None:
    evidence = recommendation.accuracy
    label = "accurate" if recommendation.verdict == "recommended" else "accuracy"
    if evidence.candidate is None or evidence.baseline is None:
        if recommendation.verdict == "keep_baseline" and evidence.baseline is not None:
            return Proof(label=label, state="told", text=_own_accuracy(evidence))
        if evidence.reason is None:
            return None
        return Proof(label=label, state="open", text=f"not settled: {evidence.reason}")
    digits = write.decimals_for(evidence.margin)
    metric = evidence.metric or "quality"
    if evidence.same_updates:
        text = f"{evidence.reason}: {metric} {write.quality(evidence.baseline, digits=digits)} either way"
        return Proof(label=label, state="good", text=text, facts=_accuracy_facts(evidence, digits))
    candidate, baseline = (write.quality(value, digits=digits) for value in (evidence.candidate, evidence.baseline))
    parts = [f"{metric} {candidate} against {baseline}"]
    if evidence.baseline_spread is not None:
        parts.append(f"spread {write.quality(evidence.baseline_spread, digits=digits)}")
    seeds = write.counted(evidence.seeds, "seed" if evidence.paired is False else "paired seed")
    if evidence.independent_seeds < evidence.seeds:
        seeds += f", {evidence.independent_seeds} of them independent"
    parts.append(seeds)
    if evidence.share_of_plan is not None and evidence.share_of_plan < 1:
        parts.append(f"over {write.percent(evidence.share_of_plan)} of the planned run")
    if evidence.source == "training":
        parts.append("on training data, for there is no validation")
    text = ", ".join(parts)
    if evidence.detectable is not None and evidence.verdict == "matches":
        way = "rise" if evidence.direction == "min" else "drop"
        text += f"; a {way} of {write.quality(evidence.detectable, digits=digits)} would have been seen"
    if evidence.verdict != "matches":
        text = f"{evidence.verdict}: {text}" + (f"; {evidence.reason}" if evidence.reason else "")
    state: State = {"matches": "good", "worse": "bad", "inconclusive": "open"}[evidence.verdict]  # type: ignore[assignment]
    return Proof(label=label, state=state, text=text, facts=_accuracy_facts(evidence, digits))


def _own_accuracy(evidence: AccuracyEvidence) -> str:
    """What the baseline reached where it is kept."""
    digits = write.decimals_for(evidence.baseline_spread)
    text = f"{evidence.metric or 'quality'} {write.quality(evidence.baseline, digits=digits)}"
    if evidence.baseline_spread is not None:
        text += f", spread {write.quality(evidence.baseline_spread, digits=digits)}"
    return f"{text}: as written, for the baseline is kept"


def _accuracy_facts(evidence: AccuracyEvidence, digits: int | None) -> tuple[Fact, ...]:
    interval = difference_interval(evidence)
    singly: tuple[Fact, ...] = ()
    if evidence.examples and evidence.agreement is not None:
        share = write.percent(evidence.agreement)
        singly = (Fact(label="single examples", value=f"both right or both wrong on {share} of {evidence.examples:,}"),)
    return (
        Fact(label="verdict", value=evidence.verdict),
        Fact(label="metric", value=f"{evidence.metric or 'unknown'} ({evidence.source})"),
        Fact(label="difference, 95% interval", value=interval.text if interval else "unknown"),
        Fact(label="margin", value=write.quality(evidence.margin, digits=digits, missing="unknown")),
        Fact(
            label="spread of float32", value=write.quality(evidence.baseline_spread, digits=digits, missing="unknown")
        ),
        Fact(label="seeds, independent", value=f"{evidence.seeds}, {evidence.independent_seeds}"),
        Fact(label="samples seen", value=write.count(evidence.samples_seen, missing="unknown")),
        Fact(label="share of the plan", value=write.percent(evidence.share_of_plan)),
        *singly,
    )


def _memory(recommendation: Recommendation) -> Proof | None:
    memory = recommendation.memory
    if memory.peak_bytes is None:
        return None
    text = f"{write.size(memory.peak_bytes)} at the peak"
    if memory.baseline_peak_bytes is not None and recommendation.verdict == "recommended":
        text += f", as written {write.size(memory.baseline_peak_bytes)}"
    state: State = "good"
    if memory.limit_bytes is not None:
        text += f"; the limit is {write.size(memory.limit_bytes)}"
        if memory.peak_bytes > memory.limit_bytes:
            state, text = "bad", text + ", which is exceeded"
        elif memory.peak_bytes > _NEAR_LIMIT * memory.limit_bytes:
            state, text = "open", text + ", less than a tenth away"
    return Proof(label="memory", state=state, text=text)


def _payback(recommendation: Recommendation) -> Proof | None:
    cost = recommendation.cost
    if recommendation.verdict == "keep_baseline":
        return Proof(label="took", state="told", text=f"{write.duration(cost.tuning_s)} of measuring")
    text = saving(recommendation)
    if cost.break_even_epochs is None:
        return Proof(
            label="pays off", state="open", text=f"{text or 'unknown'}; tuning took {write.duration(cost.tuning_s)}"
        )
    epochs = max(math.ceil(cost.break_even_epochs), 1)
    if cost.planned_epochs is None:
        return Proof(
            label="pays off", state="good", text=f"after {write.counted(epochs, 'epoch')}; {text}".rstrip("; ")
        )
    if epochs <= cost.planned_epochs:
        text = f"after {epochs:,} of {write.counted(cost.planned_epochs, 'epoch')}; {text}".rstrip("; ")
        return Proof(label="pays off", state="good", text=text)
    text = (
        f"after {write.counted(epochs, 'epoch')}, more than the {cost.planned_epochs:,} planned"
        f" (tuning took {write.duration(cost.tuning_s)}); {text}"
    ).rstrip("; ")
    return Proof(label="pays off", state="open", text=text)


def saving(recommendation: Recommendation) -> str:
    """What the planned run saves: "saves 41 min of 1 h 38 min"; empty when unknown."""
    cost = recommendation.cost
    if cost.baseline_run_s is None or cost.run_s is None or recommendation.verdict == "keep_baseline":
        return ""
    return f"saves {write.duration(cost.baseline_run_s - cost.run_s)} of {write.duration(cost.baseline_run_s)}"

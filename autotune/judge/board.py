"""Where every configuration stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from autotune.judge.accuracy import accuracy, is_open
from autotune.judge.interval import Interval
from autotune.judge.quality import most_gain, samples_ratio, time_to_quality
from autotune.judge.speed import duel_ratio
from autotune.judge.speed import relative as relative_of
from autotune.judge.stability import fault
from autotune.judge.stability import outcome as outcome_of
from autotune.records import (
    AccuracyEvidence,
    Board,
    Configuration,
    JudgeOptions,
    Measurement,
    Outcome,
    Proof,
    Standing,
    WorkloadInfo,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One configuration with all that was measured of it and what the judge says.

    Attributes:
        configuration: The point.
        trials: Its trials, duels included, and the quality runs that stand for it.
        speed_trial: The trial that tells its speed: its own, or one that differs in the learning rate only.
        relative: Samples a second against the baseline from separate trials; None when not timed.
        duel: The same from chunks in alternation; None without a duel.
        duel_sides: The baseline's and its own trial of that duel; None without.
        quality: Quality runs by seed: its own, or those of one that computes the same and differs in steps a call alone.
        accuracy: Verdict on its accuracy; None where there is no paired run.
        gain: Time-to-quality gain.
        gain_reason: Why there is none.
        gain_high: What the gain is at most; None when nothing bounds it.
        fault: Why it cannot be recommended; None when nothing speaks against it.
        proof: State of its proof.
    """

    configuration: Configuration
    trials: tuple[Measurement, ...]
    speed_trial: Measurement | None
    relative: Interval | None
    duel: Interval | None
    duel_sides: tuple[Measurement, Measurement] | None
    quality: Mapping[int, Measurement]
    accuracy: AccuracyEvidence | None
    gain: Interval | None
    gain_reason: str | None
    gain_high: float | None
    fault: str | None
    proof: Proof

    @property
    def speed(self) -> Interval | None:
        """Samples a second against the baseline: the duel's where there was one."""
        return self.duel or self.relative

    @property
    def outcome(self) -> Outcome | None:
        """Outcome of its first trial that failed, else ``ok``; None where it was never tried."""
        failed = [end for m in self.trials if (end := outcome_of(m)) is not Outcome.OK]
        return failed[0] if failed else Outcome.OK if self.trials else None

    @property
    def peak_memory_bytes(self) -> int | None:
        """Largest peak over its trials."""
        return max((m.peak_memory_bytes for m in self.trials if m.peak_memory_bytes is not None), default=None)


def cases(
    baseline: Configuration, workload: WorkloadInfo, options: JudgeOptions, measurements: Sequence[Measurement]
) -> list[Case]:
    """Judges every configuration, in order of first trial.

    How fast one is does not depend on its learning rate, what it learns does not depend on its steps a call: each is
    measured once, and a configuration is known where both are.
    """
    speeds = {m.configuration.timing_key: m for m in measurements if m.purpose == "speed"}
    runs: dict[Configuration, dict[int, Measurement]] = {}
    for m in measurements:
        if m.purpose == "quality":
            runs.setdefault(m.configuration.learning, {})[m.seed] = m
    order = dict.fromkeys(m.configuration for m in measurements)
    timed = [c for c in order if c.timing_key in speeds]
    order |= dict.fromkeys(
        both
        for learned in runs
        for c in timed
        if (both := c.but(learning_rate_factor=learned.learning_rate_factor)).learning == learned
    )
    base_speed = speeds.get(baseline.timing_key)
    base_quality = runs.get(baseline.learning, {})
    return [
        _case(
            c,
            baseline,
            workload,
            options,
            measurements,
            speeds.get(c.timing_key),
            base_speed,
            runs.get(c.learning, {}),
            base_quality,
        )
        for c in order
    ]


def board_of(baseline: Configuration, judged: Iterable[Case]) -> Board:
    """The standings, as the search reads them."""
    standings = []
    for case in judged:
        relative = case.relative
        standings.append(
            Standing(
                configuration=case.configuration,
                outcome=case.outcome,
                relative_speed=None if relative is None else relative.value,
                relative_speed_low=None if relative is None else relative.low,
                relative_speed_high=None if relative is None else relative.high,
                proof=case.proof,
                time_to_quality=None if case.gain is None else case.gain.value,
                time_to_quality_high=case.gain_high,
                seeds=0 if case.accuracy is None else case.accuracy.seeds,
            )
        )
    return Board(baseline=baseline, standings=tuple(standings))


def _case(
    configuration: Configuration,
    baseline: Configuration,
    workload: WorkloadInfo,
    options: JudgeOptions,
    measurements: Sequence[Measurement],
    speed_trial: Measurement | None,
    base_speed: Measurement | None,
    quality: Mapping[int, Measurement],
    base_quality: Mapping[int, Measurement],
) -> Case:
    shared = [m for m in quality.values() if m.configuration != configuration]
    trials = (*(m for m in measurements if m.configuration == configuration), *shared)
    relative = _relative(base_speed, speed_trial)
    sides = duel_sides(configuration, measurements)
    duel = None if sides is None else duel_ratio(*sides)
    evidence = (
        accuracy(base_quality, quality, workload, options)
        if configuration != baseline and set(quality) & set(base_quality)
        else None
    )
    found = _fault(trials, options)
    speed = duel or relative
    gain, reason, high = None, None, None
    if speed is not None and evidence is not None and found is None:
        gain, reason = time_to_quality(
            speed,
            base_quality,
            quality,
            workload,
            options,
            (baseline, configuration),
            matches=evidence.verdict == "matches",
        )
        high = (
            gain.high if gain is not None else most_gain(speed, samples_ratio(base_quality, quality, workload, options))
        )
    return Case(
        configuration=configuration,
        trials=trials,
        speed_trial=speed_trial,
        relative=relative,
        duel=duel,
        duel_sides=sides,
        quality=quality,
        accuracy=evidence,
        gain=gain,
        gain_reason=reason,
        gain_high=high,
        fault=found,
        proof=_proof(configuration == baseline, found, evidence, options),
    )


def _relative(baseline: Measurement | None, candidate: Measurement | None) -> Interval | None:
    if baseline is None or candidate is None:
        return None
    if candidate is baseline:  # no comparison, and so nothing uncertain
        return Interval(value=1.0, low=1.0, high=1.0, count=len(baseline.chunks)) if baseline.chunks else None
    return relative_of(baseline, candidate)


def _proof(is_baseline: bool, found: str | None, evidence: AccuracyEvidence | None, options: JudgeOptions) -> Proof:
    if is_baseline:
        return "matches"
    if found is not None:
        return "failed"
    if evidence is None or is_open(evidence, options):
        return "open"
    return evidence.verdict


def _fault(trials: Sequence[Measurement], options: JudgeOptions) -> str | None:
    for trial in trials:
        found = fault(trial)
        if found is not None:
            return found
        limit = options.memory_limit_bytes
        if limit is not None and trial.peak_memory_bytes is not None and trial.peak_memory_bytes > limit:
            return "its peak memory is above the limit"
    return None


def duel_sides(
    configuration: Configuration, measurements: Sequence[Measurement]
) -> tuple[Measurement, Measurement] | None:
    """The baseline's and a configuration's own trial of its last duel; None without one."""
    duels = [m for m in measurements if m.purpose == "duel" and m.duel_id]
    for theirs in reversed([m for m in duels if m.configuration == configuration]):
        ours = next((m for m in duels if m.duel_id == theirs.duel_id and m.configuration != configuration), None)
        # The id names baseline and candidate in this order: the ratio is the candidate's alone.
        if ours is not None and theirs.duel_id.endswith(configuration.key):
            return ours, theirs
    return None

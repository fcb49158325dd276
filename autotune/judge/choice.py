"""Who wins: the part of the decision rule that search and recommendation share."""

from __future__ import annotations

from collections.abc import Sequence

from autotune.judge.board import Case
from autotune.records import Configuration, JudgeOptions
from autotune.records.configuration import REFERENCE_POLICIES


def choose(judged: Sequence[Case], baseline: Configuration, options: JudgeOptions) -> Case | None:
    """The admissible configuration with the highest lower bound of its gain; None to keep the baseline.

    Once baseline and a leader were compared in alternation, only what was compared so can win: separate trials lie minutes
    apart, and the one that did best in them owes some of it to luck.

    Args:
        judged: Every configuration.
        baseline: The script as written.
        options: The smallest gain.
    """
    fought = any(case.duel is not None for case in judged)
    return leading([case for case in judged if case.duel is not None] if fought else judged, baseline, options)


def leading(judged: Sequence[Case], baseline: Configuration, options: JudgeOptions) -> Case | None:
    """The admissible configuration with the highest lower bound of its gain, compared in alternation or not."""
    able = [case for case in judged if admissible(case, baseline)]
    low, best = max(((gain_low(case), case) for case in able), key=lambda item: item[0], default=(0.0, None))
    return best if low >= options.minimum_gain else None


def gain_low(case: Case) -> float:
    """Lower bound of the time-to-quality gain; 0 where it is unknown."""
    return 0.0 if case.gain is None or case.gain.low is None else case.gain.low


def best_low(case: Case) -> float:
    """What the lower bound of the gain would be if the speed were known exactly and were as measured."""
    speed = case.speed
    return gain_low(case) * (speed.value / speed.low if speed is not None and speed.low else 1.0)


def admissible(case: Case, baseline: Configuration) -> bool:
    """Whether a configuration may be recommended, its speed aside."""
    if case.configuration == baseline or case.configuration.policy in REFERENCE_POLICIES:
        return False
    measured = case.speed is not None and bool(case.quality)
    return measured and case.fault is None and case.accuracy is not None and case.accuracy.verdict == "matches"

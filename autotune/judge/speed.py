"""How fast: step times and ratios with their intervals, from timed chunks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from autotune.judge.interval import Interval, inverse, of_logs, product
from autotune.records import Chunk, Measurement

# Differences below this are no drift (on the logarithm).
_STEADY = 0.04
_FEWEST = 4
# An interval of +-1% of the mean ends a trial; one whose best case is below this share of the baseline is given up.
_ENOUGH = 0.02
_HOPELESS = 0.9


@dataclass(frozen=True, kw_only=True, slots=True)
class Speed:
    """Speed of one configuration.

    Attributes:
        step_time_s: Step time with its interval.
        samples_per_s: Samples a second with its interval.
        steady: Whether a steady state was reached.
        chunks: Chunks that count.
        samples: Samples of a step.
    """

    step_time_s: Interval
    samples_per_s: Interval
    steady: bool
    chunks: int
    samples: float


def speed(chunks: Sequence[Chunk]) -> Speed | None:
    """Steady speed of a trial; None where no chunk was timed."""
    timed = [chunk for chunk in chunks if not chunk.warmup and chunk.duration_s > 0.0]
    if not timed:
        return None
    kept, steady = steady_part(timed)
    time = of_logs([chunk.duration_s / chunk.steps for chunk in kept], serial=True)
    samples = sum(chunk.samples for chunk in kept) / sum(chunk.steps for chunk in kept)
    rate = product(inverse(time), Interval(value=samples, low=samples, high=samples, count=time.count))
    return Speed(step_time_s=time, samples_per_s=rate, steady=steady, chunks=len(kept), samples=samples)


def steady_part(chunks: Sequence[Chunk]) -> tuple[Sequence[Chunk], bool]:
    """The chunks from which on the step time no longer drifts, and whether there is such a part.

    The first chunk is dropped, down to four, while it lies apart from the rest, or while the two halves differ.
    """
    start, steady = _steady_start(np.log([chunk.duration_s / chunk.steps for chunk in chunks]))
    return chunks[start:], steady


def _steady_start(logs: np.ndarray) -> tuple[int, bool]:
    for start in range(max(1, len(logs) - _FEWEST + 1)):
        rest = logs[start:]
        if rest.size < 2:
            break
        if not _first_lies_apart(rest) and not _halves_differ(rest):
            return start, True
    return len(logs) // 2 if len(logs) >= 2 * _FEWEST else 0, False


def _first_lies_apart(logs: np.ndarray) -> bool:
    """Whether the first value is an outlier: more than three median absolute deviations away (Leys et al. 2013)."""
    others = logs[1:]
    spread = float(stats.median_abs_deviation(others, scale="normal"))
    return abs(float(logs[0] - np.median(others))) > max(_STEADY, 3.0 * spread)


def _halves_differ(logs: np.ndarray) -> bool:
    """Whether the medians of the halves differ by more than 4%, and by more than noise explains."""
    first, second = logs[: logs.size // 2], logs[logs.size // 2 :]
    allowed = _STEADY
    if second.size >= _FEWEST:
        # Both as noisy as the later half: what settles is not noise. A median scatters by sqrt(pi/2) more than a mean.
        spread = float(stats.median_abs_deviation(second, scale="normal"))
        error = math.sqrt(math.pi / 2.0) * spread * math.sqrt(1.0 / first.size + 1.0 / second.size)
        allowed = max(allowed, 2.0 * error)
    return abs(float(np.median(first) - np.median(second))) > allowed


def mean_step_time_s(chunks: Sequence[Chunk]) -> float:
    """Plain mean step time, to plan with: of the timed chunks, or of all where none was timed."""
    counted = [chunk for chunk in chunks if not chunk.warmup] or list(chunks)
    return sum(chunk.duration_s for chunk in counted) / sum(chunk.steps for chunk in counted)


def relative(baseline: Measurement, candidate: Measurement) -> Interval | None:
    """Samples a second of a candidate's trial over the baseline's: of neighbouring chunks where it was timed so."""
    if candidate.reference_chunks:
        return beside(candidate.reference_chunks, candidate.chunks)
    return relative_speed(baseline.chunks, candidate.chunks)


def beside(reference: Sequence[Chunk], candidate: Sequence[Chunk]) -> Interval | None:
    """Samples a second of a candidate over the baseline's, from a trial with a chunk of the baseline beside each of its own.

    What drifts at the beginning, and only there, is the candidate's warm-up, and does not count.
    """
    ratios = _ratios(reference, candidate)
    if not ratios:
        return None
    start, _ = _steady_start(np.log(ratios))
    return of_logs(ratios[start:], serial=True)


def relative_speed(baseline: Sequence[Chunk], candidate: Sequence[Chunk]) -> Interval | None:
    """Samples a second of a candidate over the baseline's, from separate trials; above 1 is faster."""
    ours, theirs = speed(baseline), speed(candidate)
    if ours is None or theirs is None:
        return None
    return product(theirs.samples_per_s, inverse(ours.samples_per_s))


def paired_ratio(baseline: Sequence[Chunk], candidate: Sequence[Chunk]) -> Interval | None:
    """Samples a second of a candidate over the baseline's, from chunks in alternation.

    Each chunk is compared with its neighbour of the other side, so that what drifts slowly cancels.
    """
    ratios = _ratios(baseline, candidate)
    return of_logs(ratios, serial=True) if ratios else None


def _ratios(baseline: Sequence[Chunk], candidate: Sequence[Chunk]) -> list[float]:
    ours = [chunk for chunk in baseline if not chunk.warmup]
    theirs = [chunk for chunk in candidate if not chunk.warmup]
    return [(b.samples / b.duration_s) / (a.samples / a.duration_s) for a, b in zip(ours, theirs, strict=False)]


def duel_ratio(baseline: Measurement, candidate: Measurement) -> Interval | None:
    """The ratio of a duel."""
    return paired_ratio(baseline.chunks, candidate.chunks)


def settled(ratio: Interval | None, *, below: float = _HOPELESS) -> bool:
    """Whether a trial beside the baseline may end: its ratio is known to about 1%, or certain to stay below a share."""
    if ratio is None or ratio.low is None or ratio.high is None or ratio.count < _FEWEST:
        return False
    return ratio.high < below or (ratio.high - ratio.low) / ratio.value <= _ENOUGH


def enough(chunks: Sequence[Chunk]) -> bool:
    """Whether a trial's step time is known to about 1%."""
    found = speed(chunks)
    if found is None or not found.steady or found.chunks < _FEWEST:
        return False
    time = found.step_time_s
    return time.low is not None and time.high is not None and (time.high - time.low) / time.value <= _ENOUGH


def hopeless(baseline: Sequence[Chunk], candidate: Sequence[Chunk], *, below: float = _HOPELESS) -> bool:
    """Whether a trial is certain to end slower than a share of the baseline's speed.

    A trial that still warms up drifts, and a drift widens its interval: it is not given up too early.

    Args:
        baseline: The baseline's chunks.
        candidate: The trial's chunks so far; with fewer than three that are timed nothing is certain.
        below: That share.
    """
    ratio = relative_speed(baseline, candidate)
    return ratio is not None and ratio.high is not None and ratio.high < below

"""Which quality run comes next. Accuracy runs are the dear part: they go to the leader and its heirs alone.

Configurations at the written batch differ from the baseline in arithmetic only, so the fastest goes first. A larger batch
makes fewer updates: it is screened with one seed, smallest first, and the ladder is left once time to quality gets worse
twice running. The best of all those screened is then proven over paired seeds; if it fails, the next best follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from autotune.records import Board, Configuration, JudgeOptions, Outcome, Standing
from autotune.records.configuration import REFERENCE_POLICIES
from autotune.records.space import SearchSpace

_WORSE_IN_A_ROW = 2
# Order in which rates are tried at a new batch: the square root suits adaptive optimizers (Krizhevsky 2014; Malladi et al.
# 2022), the linear rule plain SGD (Goyal et al. 2017), and some models want the written rate.
_RULES = ("sqrt", "linear", "1")


@dataclass(frozen=True, kw_only=True, slots=True)
class QualityRun:
    """A quality run to make.

    Attributes:
        configuration: What to train with.
        seed: Index of the seed.
        why: ``screen`` (one seed, to rank) or ``prove`` (paired seeds).
    """

    configuration: Configuration
    seed: int
    why: str


def next_run(space: SearchSpace, board: Board, done: set[tuple[str, int]], options: JudgeOptions) -> QualityRun | None:
    """The quality run that the answer needs next; None when it can change no more.

    Args:
        space: The search space.
        board: What is known of each configuration.
        done: Keys of configurations and seeds whose quality runs were made, failed ones included.
        options: Seeds and smallest gain.
    """
    baseline = board.baseline
    timed = [s for s in board.standings if _worth_proving(s, baseline, options)]
    if not timed:
        return None
    if (baseline.key, 0) not in done:
        return QualityRun(configuration=baseline, seed=0, why="screen")
    screening = _next_screen(space, board, timed, done)
    if screening is not None:
        return screening
    for standing in ranked(board, options):
        if standing.proof == "matches":
            return None
        run = _next_pair(baseline, standing.configuration, done, options)
        if run is not None:
            return run
    return None


def ranked(board: Board, options: JudgeOptions) -> list[Standing]:
    """Configurations that could still be recommended, the best time-to-quality gain first."""
    alive = [
        s for s in board.standings
        if s.configuration != board.baseline and s.alive and s.seeds > 0 and gain(s) is not None
        and s.configuration.policy not in REFERENCE_POLICIES
    ]  # fmt: skip
    alive = [s for s in alive if (gain(s) or 0.0) >= options.minimum_gain]
    return sorted(alive, key=lambda s: -(gain(s) or 0.0))


def gain(standing: Standing) -> float | None:
    """Time-to-quality gain as far as known."""
    return standing.time_to_quality


def _worth_proving(standing: Standing, baseline: Configuration, options: JudgeOptions) -> bool:
    if standing.configuration == baseline or standing.configuration.policy in REFERENCE_POLICIES or not standing.alive:
        return False
    high = standing.relative_speed_high or standing.relative_speed
    return high is not None and high >= options.minimum_gain


def _next_screen(
    space: SearchSpace, board: Board, timed: Sequence[Standing], done: set[tuple[str, int]]
) -> QualityRun | None:
    written = board.baseline.batch_size
    same = sorted((s for s in timed if s.configuration.batch_size == written), key=lambda s: -(s.relative_speed or 0.0))
    if same and (same[0].configuration.key, 0) not in done:
        return QualityRun(configuration=same[0].configuration, seed=0, why="screen")
    larger = [s for s in timed if s.configuration.batch_size != written and s.configuration.learning_rate_factor == 1.0]
    best = max((gain(s) or 0.0 for s in board.standings if s.seeds and s.alive), default=0.0)
    worse = 0
    for standing in sorted(larger, key=lambda s: s.configuration.batch_size or 0):
        if (standing.relative_speed_high or standing.relative_speed or 0.0) <= best:
            continue  # its samples a second alone would have to beat what is already known
        variants = list(_variants(space, standing.configuration))
        screened = [board.of(v) for v in variants if (v.key, 0) in done]
        gains = [gain(s) or 0.0 for s in screened if s is not None and s.outcome in (None, Outcome.OK)]
        found = max(gains, default=0.0)
        if len(screened) < len(variants) and not _settled(gains, best, standing):
            todo = next(v for v in variants if (v.key, 0) not in done)
            return QualityRun(configuration=todo, seed=0, why="screen")
        worse = worse + 1 if found < best else 0
        best = max(best, found)
        if worse >= _WORSE_IN_A_ROW:
            return None
    return None


def _settled(gains: Iterable[float], best: float, standing: Standing) -> bool:
    """One rule is enough where it already gives most of what the samples a second allow."""
    return any(found >= 0.9 * (standing.relative_speed or 0.0) and found > best for found in gains)


def _variants(space: SearchSpace, configuration: Configuration) -> Iterable[Configuration]:
    factors = dict(zip(space.learning_rate_rules, space.learning_rate_factors(configuration.batch_size), strict=False))
    seen: set[float] = set()
    for rule in _RULES:
        factor = factors.get(rule)
        if factor is not None and factor not in seen:
            seen.add(factor)
            yield configuration.but(learning_rate_factor=factor)


def _next_pair(
    baseline: Configuration, candidate: Configuration, done: set[tuple[str, int]], options: JudgeOptions
) -> QualityRun | None:
    for seed in range(options.maximum_seeds):
        for configuration in (baseline, candidate):
            if (configuration.key, seed) not in done:
                return QualityRun(configuration=configuration, seed=seed, why="prove")
    return None

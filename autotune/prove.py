"""Which quality run comes next. Accuracy runs are the dear part: they go to the leader and its heirs alone.

First the fastest configuration at the written batch: it makes the same updates as the baseline, so it is likely to match,
and once proven it is an answer that stands whatever comes. Then larger batches, smallest first, each screened with one seed;
the ladder is left once time to quality gets worse twice running. At the first larger batch every learning-rate rule is
tried, further up the one that did best. Whatever promises clearly more than the proven answer is then proven itself.

Runs are made with the written steps per execution and stand for all others: the same updates in the same order, dispatched
otherwise. A configuration that differs from the baseline in them alone needs no proof beyond its own speed and stability.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from autotune.records import Board, Configuration, JudgeOptions, SearchSpace, Standing
from autotune.records.configuration import REFERENCE_POLICIES

_WORSE_IN_A_ROW = 2
# More than the proven answer by this factor, or a further proof is not worth its time.
WORTH = 1.03
# The square root suits adaptive optimizers (Malladi et al. 2022), the linear rule plain SGD (Goyal et al. 2017); some
# models want the written rate.
_RULES = ("sqrt", "linear", "1")


@dataclass(frozen=True, kw_only=True, slots=True)
class QualityRun:
    """A quality run to make.

    Attributes:
        configuration: What to train with.
        seed: Index of the seed.
        why: ``screen`` (one seed, to rank) or ``prove`` (paired seeds).
        candidate: What a proof is about, where this is the baseline's side of it.
    """

    configuration: Configuration
    seed: int
    why: str
    candidate: Configuration | None = None


Done = set[tuple[str, int]]


def next_run(
    space: SearchSpace,
    board: Board,
    done: Done,
    options: JudgeOptions,
    most_of_samples: Callable[[int | None], float] = lambda batch_size: 1.0,
) -> QualityRun | None:
    """The quality run that the answer needs next; None when it can change no more.

    Args:
        space: The search space.
        board: What is known of each configuration.
        done: Keys of configurations and seeds whose quality runs were made, failed ones included.
        options: Seeds and smallest gain.
        most_of_samples: How many times fewer samples a batch needs than the baseline's at most, as predicted.
    """
    baseline = board.baseline
    timed = [s for s in board.standings if _worth_proving(s, baseline, options)]
    if not timed:
        return None
    same = sorted(
        (s for s in timed if s.configuration.batch_size == baseline.batch_size),
        key=lambda s: -(s.relative_speed or 0.0),
    )
    open_here = bool(same) and same[0].proof == "open"
    if (baseline.key, 0) not in done:
        about = same[0].configuration if open_here else None
        return QualityRun(configuration=baseline, seed=0, why="prove" if open_here else "screen", candidate=about)
    if open_here:
        return next_pair(baseline, same[0].configuration, done, options)
    screen = _next_screen(space, board, done, options, most_of_samples)
    if screen is not None:
        return QualityRun(configuration=screen, seed=0, why="screen")
    return _next_proof(board, done, options)


def ranked(board: Board, options: JudgeOptions) -> list[Standing]:
    """Configurations that could still be recommended, the best time-to-quality gain first."""
    alive = [
        s
        for s in board.standings
        if s.configuration != board.baseline
        and s.alive
        and s.seeds > 0
        and _gain(s) >= options.minimum_gain
        and s.configuration.policy not in REFERENCE_POLICIES
    ]
    return sorted(alive, key=_gain, reverse=True)


def next_pair(
    baseline: Configuration, candidate: Configuration, done: Done, options: JudgeOptions
) -> QualityRun | None:
    """The next run of a proof over paired seeds; None when all are made."""
    about, candidate = candidate, trained_as(candidate, baseline)
    for seed in range(options.maximum_seeds):
        for configuration in (candidate, baseline):  # the candidate first: if it fails, the baseline's run is saved
            if (configuration.key, seed) not in done:
                return QualityRun(configuration=configuration, seed=seed, why="prove", candidate=about)
    return None


def next_reference(board: Board, done: Done, options: JudgeOptions) -> QualityRun | None:
    """The next run of what is trained only to be shown beside: float64 where asked for, strict float32 beside TF32."""
    baseline = board.baseline
    for standing in board.standings:
        point = standing.configuration
        strict = point.other_float32(baseline) and point.tf32 is False
        if not standing.alive or not (strict or point == baseline.but(policy=point.policy)):
            continue
        if (strict or point.policy in REFERENCE_POLICIES) and standing.seeds < options.minimum_seeds:
            return next_pair(baseline, point, done, replace(options, maximum_seeds=options.minimum_seeds))
    return None


def trained_as(configuration: Configuration, baseline: Configuration) -> Configuration:
    """The configuration whose quality runs stand for one: how many steps a call runs does not change what is learned."""
    return configuration.but(steps_per_execution=baseline.steps_per_execution)


def _next_proof(board: Board, done: Done, options: JudgeOptions) -> QualityRun | None:
    proven = max((_gain(s) for s in board.standings if s.proof == "matches" and s.seeds), default=1.0)
    for standing in ranked(board, options):
        if standing.proof == "open" and _gain(standing) >= WORTH * proven:
            return next_pair(board.baseline, standing.configuration, done, options)
    return None


def _next_screen(
    space: SearchSpace,
    board: Board,
    done: Done,
    options: JudgeOptions,
    most_of_samples: Callable[[int | None], float],
) -> Configuration | None:
    written = board.baseline.batch_size
    # A rung counts by its speed, also after its own training at the written rate has failed.
    rungs = [
        s
        for s in board.standings
        if s.configuration.batch_size != written
        and s.configuration.learning_rate_factor == 1.0
        and s.relative_speed is not None
        and s.configuration.policy not in REFERENCE_POLICIES
    ]
    best = max(
        (_gain(s) for s in board.standings if s.seeds and s.alive and s.configuration.batch_size == written),
        default=1.0,
    )
    rules: Sequence[str] = [rule for rule in _RULES if rule in space.learning_rate_rules]
    worse = 0
    for rung in sorted(rungs, key=lambda s: (s.configuration.batch_size or 0, s.configuration.key)):
        predicted = min(1.0, most_of_samples(rung.configuration.batch_size))
        if not _could_gain(rung, best / predicted, max(WORTH, options.minimum_gain)):
            continue  # even with as few samples more than the baseline as are likely it would not beat what is known
        gains: dict[str, float] = {}
        for rule, variant in _variants(space, rung.configuration, rules):
            trained = trained_as(variant, board.baseline)
            if (trained.key, 0) not in done:
                return trained
            standing = board.of(variant)
            gains[rule] = _gain(standing) if standing is not None and standing.alive else 0.0
        found = max(gains.values(), default=0.0)
        if found > 0.0:
            rules = [max(gains, key=lambda rule: gains[rule])]
        worse = worse + 1 if found < best else 0
        best = max(best, found)
        if worse >= _WORSE_IN_A_ROW:
            return None
    return None


def _variants(
    space: SearchSpace, configuration: Configuration, rules: Sequence[str]
) -> Iterator[tuple[str, Configuration]]:
    factors = dict(zip(space.learning_rate_rules, space.learning_rate_factors(configuration.batch_size), strict=False))
    for rule in rules:
        if rule in factors:
            yield rule, configuration.but(learning_rate_factor=factors[rule])


def _worth_proving(standing: Standing, baseline: Configuration, options: JudgeOptions) -> bool:
    if standing.configuration == baseline or standing.configuration.policy in REFERENCE_POLICIES or not standing.alive:
        return False
    return _could_gain(standing, 1.0, options.minimum_gain)


def _could_gain(standing: Standing, known: float, factor: float) -> bool:
    """Whether samples a second alone leave hope of a factor over what is known.

    The upper end must reach it, and the estimate half of it: a wide interval around no gain is no hope.
    """
    if standing.relative_speed is None:
        return False
    high = standing.relative_speed_high or standing.relative_speed
    return high >= factor * known and standing.relative_speed >= (1.0 + factor) / 2.0 * known


def _gain(standing: Standing) -> float:
    return standing.time_to_quality or 0.0

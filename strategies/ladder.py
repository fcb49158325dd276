"""What a performance engineer does by hand: policies at the written batch, the knobs on the best of them, then the batch.

The learning rate is never touched: it does not change the time, so the prover varies it. Other loss scales are timed only
where float16 is the fastest policy and its updates fail at Keras' own scale, or it learns worse while the gradients allow a
larger one: one after the other, and the first that lives stands for the policy. A scale that lives is left alone. Another
dynamic one does the same arithmetic, and a fixed one saves a check of the gradients that a long run is better off with.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from autotune.records import Board, Configuration, LossScale, Outcome, Plan, Standing
from autotune.records.configuration import REFERENCE_POLICIES

# The ladder of batches ends where twice the batch brings less than this in samples a second.
_LEAST_STEP = 1.03
# A knob that brings less is left alone: the simpler configuration is the better one.
_LEAST_KNOB = 1.02
# XLA compiles for long, and all that is timed after it would be compiled too: luck in a short trial is not enough.
_ONLY_IF_CERTAIN = ("jit_compile",)
# Seeds after which a proof that is still open may stay so.
_LONG_PROOF = 4
# Failures that another loss scale may cure.
_OF_NUMBERS = (Outcome.NON_FINITE, Outcome.NO_UPDATES, Outcome.DIVERGED)


class Ladder:
    """Climbs one setting at a time from the best living configuration.

    Args:
        seed: Not used: nothing here is random.
    """

    name: ClassVar[str] = "ladder"

    def __init__(self, seed: int = 0) -> None:
        del seed

    def propose(self, plan: Plan, board: Board) -> Configuration | None:
        """The next rung."""
        baseline = board.baseline
        for policy in plan.space.policies:
            point = baseline.but(policy=policy)
            if board.of(point) is None:
                return point
        sure = _sure(plan, board)
        if sure is not None:
            return sure
        best, cure = _best_policy(plan, board)
        if cure is not None:
            return cure
        for field, values in (
            ("tf32", (True,) if True in plan.space.tf32 else ()),  # turning it off makes nothing faster
            ("steps_per_execution", plan.space.steps_per_execution),
            ("jit_compile", plan.space.jit_compile),
        ):
            wanted, best = _climb(best, field, values, board)
            if wanted is not None:
                return wanted
        if (
            best.jit_compile and not baseline.jit_compile
        ):  # a shorter step leaves more to gain from calling it less often
            more = tuple(n for n in plan.space.steps_per_execution if n > best.steps_per_execution)
            wanted, best = _climb(best, "steps_per_execution", more, board)
            if wanted is not None:
                return wanted
        return _next_batch(plan, board, best)


def _sure(plan: Plan, board: Board) -> Configuration | None:
    """Where a proof stays open after several seeds: the knob that needs none, on the baseline, to have an answer that stands.

    More steps a call make the same updates in the same arithmetic.
    """
    if not any(s.proof == "open" and s.seeds >= _LONG_PROOF for s in board.standings):
        return None
    return _climb(board.baseline, "steps_per_execution", plan.space.steps_per_execution, board)[0]


def _best_policy(plan: Plan, board: Board) -> tuple[Configuration, Configuration | None]:
    """The fastest living policy at the written batch, and what may cure a faster one, to be timed first; None without."""
    best, speed = board.baseline, 1.0
    cure, hoped = None, 0.0
    for policy in plan.space.policies:
        point = board.baseline.but(policy=policy)
        if point == board.baseline or policy in REFERENCE_POLICIES:
            continue
        scales = plan.space.loss_scales[1:] if policy == "mixed_float16" else ()
        for scaled in (point, *(point.but(loss_scale=scale) for scale in scales)):
            standing = board.of(scaled)
            if standing is None:
                cure, hoped = scaled, _speed(board.of(point), False)
                break
            if standing.alive and not _disproved(scaled, board):
                if _speed(standing, False) > speed:
                    best, speed = scaled, _speed(standing, False)
                break
            if standing.outcome not in _OF_NUMBERS and not (_learns_worse(scaled, board) and _larger(scales)):
                break
    for standing in board.standings:  # policies that work once some layers stay in float32
        point = standing.configuration
        rescued = board.baseline.but(policy=point.policy, float32_layers=point.float32_layers)
        if not point.float32_layers or point != rescued or not standing.alive or _disproved(point, board):
            continue
        certain = standing.relative_speed_low or 0.0
        if certain >= _LEAST_STEP and _speed(standing, False) > speed:
            best, speed = point, _speed(standing, False)
    return best, cure if hoped > speed * _LEAST_KNOB else None


def _learns_worse(point: Configuration, board: Board) -> bool:
    return any(s.configuration == point and s.proof == "worse" for s in board.standings)


def _larger(scales: Sequence[LossScale | None]) -> bool:
    """Whether the gradients allow a larger scale than Keras' own, so that small ones may be lost at that."""
    return any(scale is not None and scale.initial > LossScale().initial for scale in scales)


def _disproved(point: Configuration, board: Board) -> bool:
    """Whether a proof at the written batch speaks against a policy; another loss scale is another question."""
    return any(
        s.configuration.policy == point.policy
        and s.configuration.loss_scale == point.loss_scale
        and s.configuration.float32_layers == point.float32_layers
        and s.configuration.batch_size == board.baseline.batch_size
        and s.proof in ("worse", "failed", "inconclusive")
        and s.seeds > 0
        for s in board.standings
        if s.configuration != board.baseline
    )


def _climb(
    best: Configuration, field: str, values: tuple[object, ...], board: Board
) -> tuple[Configuration | None, Configuration]:
    """Tries the values of one setting on the best so far: the next to time, or the best once all that matter are timed."""
    chosen, speed = best, _speed(board.of(best), best == board.baseline)
    previous = speed
    for value in values:
        point = best.but(**{field: value})
        if point == best:
            continue
        standing = board.of(point)
        if standing is None:
            return point, best
        found = _speed(standing, False) if standing.alive else 0.0
        certain = field not in _ONLY_IF_CERTAIN or _surely_faster(standing, board.of(chosen))
        if found > speed * _LEAST_KNOB and certain:
            chosen, speed = point, found
        if found < previous * _LEAST_STEP and len(values) > 2:
            break  # more of the same brings nothing more
        previous = found
    return None, chosen


def _surely_faster(standing: Standing, other: Standing | None) -> bool:
    """Whether two trials' intervals leave no doubt; the half widths of two independent logarithms add as their squares do."""
    ours, theirs = standing.relative_speed or 0.0, 1.0 if other is None else other.relative_speed or 1.0
    low = standing.relative_speed_low or ours
    high = theirs if other is None else other.relative_speed_high or theirs
    return ours > theirs and math.log(ours / theirs) > math.hypot(math.log(ours / low), math.log(high / theirs))


def _next_batch(plan: Plan, board: Board, best: Configuration) -> Configuration | None:
    written = board.baseline.batch_size
    if written is None:
        return None
    larger = sorted(size for size in plan.space.batch_sizes if size is not None and size > written)
    smaller = sorted((size for size in plan.space.batch_sizes if size is not None and size < written), reverse=True)
    for sizes in (larger, smaller):
        previous = _speed(board.of(best), best == board.baseline)
        for size in sizes:
            point = best.but(batch_size=size)
            standing = board.of(point)
            if standing is None:
                return point
            found = _speed(standing, False)
            if standing.outcome not in (None, "ok") or (sizes is larger and found < previous * _LEAST_STEP):
                break
            previous = found
    return None


def _speed(standing: Standing | None, is_baseline: bool) -> float:
    if is_baseline:
        return 1.0
    return 0.0 if standing is None else standing.relative_speed or 0.0

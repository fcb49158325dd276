"""Rescue of a 16-bit policy that fails: a smallest set of layers to keep in float32.

Suspects first (layers that the worker or the lint named), then the output layer, then all layers: if not even those help,
layers are not the matter. From the first set that helps, what is not needed is taken away by halves (QuickXplain, Junker 2004):
about k log2(n/k) attempts for k of n layers, and none of those left can go, so long as a layer more in float32 never harms.
Every step follows from the attempts made so far, so an interrupted search goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from autotune.judge.board import Case
from autotune.records import SIXTEEN_BIT_POLICIES, Configuration, Finding, Outcome, WorkloadInfo

Layers = frozenset[str]
# Failures that a layer in float32 may cure.
_OF_NUMBERS = (Outcome.NON_FINITE, Outcome.NO_UPDATES, Outcome.DIVERGED, Outcome.UNSUPPORTED)
# After one run of a seed: a layer has not helped where more than this part of the loss of quality is left.
_LEFT = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class Rescue:
    """Where the search for float32 layers stands.

    Attributes:
        attempt: The set of layers to try next; None when the search has ended.
        layers: The smallest set known to help, in the model's order; None when none is known.
        minimal: Whether it is certain that no part of it can be left out.
    """

    attempt: Layers | None
    layers: tuple[str, ...] | None
    minimal: bool


class _Unknown(Exception):
    def __init__(self, group: Layers) -> None:
        super().__init__()
        self.group = group


def rescue_of(failing: Case, judged: Sequence[Case], workload: WorkloadInfo, findings: Sequence[Finding]) -> Rescue:
    """Where the rescue of a policy stands.

    Args:
        failing: The policy alone.
        judged: Every configuration measured so far, attempts among them.
        workload: Names the layers.
        findings: What the lint noticed; what the policy's own trials noticed comes before it.
    """
    paths = [workload.model, *(layer.path for layer in workload.layers if layer.arithmetic)]
    noticed = [finding for trial in failing.trials for finding in trial.findings]
    policies = (None, failing.configuration.policy)
    named = [f.layer for f in (*noticed, *findings) if f.layer is not None and f.policy in policies]
    known = {
        frozenset(case.configuration.float32_layers): works
        for case in attempts_at(failing, judged)
        if (works := _works(case, failing)) is not None
    }
    return rescue(paths, [path for name in named for path in paths if _is(path, name)], known)


def attempts_at(failing: Case, judged: Sequence[Case]) -> list[Case]:
    """The configurations that differ from a policy in layers kept in float32 alone."""
    return [
        case
        for case in judged
        if case.configuration.float32_layers and case.configuration.but(float32_layers=()) == failing.configuration
    ]


def in_order(layers: Layers, workload: WorkloadInfo) -> tuple[str, ...]:
    """Layers as a configuration names them: in the model's order, so that one set has one name."""
    paths = [workload.model, *(layer.path for layer in workload.layers)]
    return tuple(path for path in paths if path in layers)


def wants_rescue(case: Case, baseline: Configuration) -> bool:
    """Whether a policy at the baseline's settings fails in a way that a layer in float32 may cure."""
    alone = case.configuration.policy in SIXTEEN_BIT_POLICIES and case.configuration == baseline.but(
        policy=case.configuration.policy
    )
    by_its_numbers = (case.fault is not None and case.outcome in _OF_NUMBERS) or case.proof == "worse"
    return alone and by_its_numbers and any(trial.layers for trial in case.trials)


def rescue(paths: Sequence[str], suspects: Sequence[str], known: Mapping[Layers, bool], *, most: int = 12) -> Rescue:
    """The next set of layers to try in float32, and the best one so far.

    Args:
        paths: Layers with arithmetic in the model's order, the model itself first: its own ``call`` may compute too.
        suspects: Those that something speaks against, the strongest first.
        known: Sets tried so far and whether training worked with them.
        most: Attempts after which the search ends with what it has.
    """
    order = list(paths)
    place = {path: index for index, path in enumerate(order)}
    named = [path for path in dict.fromkeys(suspects) if path in place]
    helping = [group for group, works in known.items() if works]
    best = min(helping, key=lambda group: (len(group), sorted(place.get(path, 0) for path in group)), default=None)
    ordered = None if best is None else tuple(sorted(best, key=lambda path: place.get(path, 0)))
    try:
        found = _smallest(order, named, known)
    except _Unknown as unknown:
        return Rescue(attempt=unknown.group if len(known) < most else None, layers=ordered, minimal=False)
    smallest = None if found is None else tuple(sorted(found, key=lambda path: place[path]))
    return Rescue(attempt=None, layers=smallest, minimal=found is not None)


def _is(path: str, name: str) -> bool:
    return path == name or path.endswith(f"/{name}")


def _works(attempt: Case, failing: Case) -> bool | None:
    """Whether training works with some layers in float32; None where it was not trained."""
    if attempt.fault is not None or attempt.proof == "worse":
        return False
    evidence, before = attempt.accuracy, failing.accuracy
    if evidence is None or evidence.difference is None or evidence.margin is None:
        return True if attempt.quality else None
    lost = 0.0 if before is None or before.difference is None else -before.difference
    return -evidence.difference <= max(2.0 * evidence.margin, 3.0 * (evidence.baseline_spread or 0.0), _LEFT * lost)


def _smallest(order: list[str], named: list[str], known: Mapping[Layers, bool]) -> list[str] | None:
    def works(group: Sequence[str]) -> bool:
        key = frozenset(group)
        if key not in known:
            raise _Unknown(key)
        return known[key]

    if not order:
        return None
    for group in _guesses(order, named):
        if works(group):
            return _reduced(group, works)
    return None


def _guesses(order: list[str], named: list[str]) -> list[list[str]]:
    singles = [[path] for path in dict.fromkeys((*named, order[-1]))]
    together = [path for path in order if path in {*named, order[-1]}]
    return [*singles, *([together] if len(together) > 1 else []), *([order] if len(order) > len(together) else [])]


def _reduced(group: list[str], works: Callable[[Sequence[str]], bool]) -> list[str]:
    """The layers of a group that are needed: halves are left out, and looked into where that does not do."""

    def needed(kept: list[str], group: list[str], *, grown: bool) -> list[str]:
        if grown and works(kept):
            return []
        if len(group) == 1:
            return group
        first, second = group[: len(group) // 2], group[len(group) // 2 :]
        of_second = needed([*kept, *first], second, grown=True)
        return [*needed([*kept, *of_second], first, grown=bool(of_second)), *of_second]

    return needed([], group, grown=False)

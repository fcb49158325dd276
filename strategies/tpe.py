"""Optuna's tree-structured Parzen estimator, without its repetitions."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from typing import Any, ClassVar

from autotune.records import Board, Configuration, Plan, Standing

_DRAWS = 50


class Tpe:
    """Lets Optuna's sampler choose among the points of the space.

    The sampler's study is built anew from the board at each call, so that a proposal depends on nothing else. It repeats
    points of small discrete spaces; a repeated draw is passed over, and after many the first untried point is taken.

    Args:
        seed: Seed of the sampler.
        trials: Most points to time.
        startup: Points that are drawn at random before it estimates.
    """

    name: ClassVar[str] = "tpe"

    def __init__(self, seed: int = 0, trials: int = 30, startup: int = 5) -> None:
        self._seed = seed
        self._trials = trials
        self._startup = startup

    def propose(self, plan: Plan, board: Board) -> Configuration | None:
        """The sampler's next untried point."""
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        points = {_index(point): point for point in plan.space.configurations()}
        tried = {standing.configuration for standing in board.standings} | {board.baseline}
        untried = [point for point in points.values() if point not in tried]
        if not untried or len(board.standings) > self._trials:
            return None
        fields = _fields(list(points.values()))
        space = {
            name: optuna.distributions.CategoricalDistribution(tuple(range(len(values))))
            for name, values in fields.items()
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", category=optuna.exceptions.ExperimentalWarning)
            sampler = optuna.samplers.TPESampler(
                seed=self._seed + len(board.standings), multivariate=True, n_startup_trials=self._startup
            )
        study = optuna.create_study(direction="maximize", sampler=sampler)
        for standing in board.standings:
            parameters = {
                name: values.index(getattr(standing.configuration, name))
                for name, values in fields.items()
                if getattr(standing.configuration, name) in values
            }
            if len(parameters) == len(space):
                study.add_trial(
                    optuna.trial.create_trial(params=parameters, distributions=space, value=_value(standing))
                )
        for _ in range(_DRAWS):
            trial = study.ask(space)
            drawn = {name: values[trial.params[name]] for name, values in fields.items()}
            point = points.get(repr(sorted(drawn.items(), key=str)))
            if point is not None and point not in tried:
                return point
            study.tell(trial, 0.0)
        return untried[0]


def _fields(points: list[Configuration]) -> dict[str, list[Any]]:
    names = [name for name in asdict(points[0]) if name != "float32_layers"]
    return {name: list(dict.fromkeys(getattr(point, name) for point in points)) for name in names}


def _index(point: Configuration) -> str:
    return repr(sorted(((name, getattr(point, name)) for name in asdict(point) if name != "float32_layers"), key=str))


def _value(standing: Standing) -> float:
    if not standing.alive:
        return 0.0
    return standing.time_to_quality or standing.relative_speed or 1.0

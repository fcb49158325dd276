"""The run's Optuna study: what was asked and told, in a journal file that optuna-dashboard opens."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from autotune.records import Configuration, Outcome, SearchSpace

STUDY = "study.log"
_NAME = "autotune"


class Study:
    """Records trials in a study by ask and tell.

    Args:
        folder: The run folder.
    """

    def __init__(self, folder: Path) -> None:
        import optuna
        from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._optuna = optuna
        path = str(folder / STUDY)
        # The open lock needs no symbolic links, which some shared file systems refuse.
        backend = JournalFileBackend(path, lock_obj=JournalFileOpenLock(path))
        storage = optuna.storages.JournalStorage(backend)
        self._study = optuna.create_study(study_name=_NAME, storage=storage, direction="maximize", load_if_exists=True)
        for trial in self._study.get_trials(
            deepcopy=False, states=(optuna.trial.TrialState.RUNNING, optuna.trial.TrialState.WAITING)
        ):
            self._study.tell(trial.number, state=optuna.trial.TrialState.FAIL)  # left by a run that was killed

    def ask(self, configuration: Configuration, space: SearchSpace) -> int:
        """Starts a trial of a configuration; its number in the study."""
        distributions = self._distributions(
            space, configuration
        )  # the same in every trial: Optuna wants fixed categories
        self._study.enqueue_trial(parameters(configuration))
        return int(self._study.ask(distributions).number)

    def tell(
        self, number: int, value: float | None, outcome: Outcome, attributes: Mapping[str, Any], *, infeasible: bool
    ) -> None:
        """Ends a trial.

        A trial that failed is told as complete, infeasible and worthless: samplers pass over failed ones and would try the
        point again.
        """
        storage, trial_id = (
            self._study._storage,
            self._study._storage.get_trial_id_from_study_id_trial_number(self._study._study_id, number),
        )
        for name, item in {**attributes, "outcome": str(outcome), "feasible": not infeasible}.items():
            storage.set_trial_user_attr(trial_id, name, item)
        self._study.tell(number, 0.0 if value is None else value)

    def _distributions(self, space: SearchSpace, configuration: Configuration) -> dict[str, Any]:
        choices = {
            "policy": space.policies,
            "batch_size": space.batch_sizes,
            "jit_compile": space.jit_compile,
            "steps_per_execution": space.steps_per_execution,
            "learning_rate_factor": tuple(f for size in space.batch_sizes for f in space.learning_rate_factors(size)),
            "loss_scale": tuple(_text(scale) for scale in space.loss_scales),
            "tf32": space.tf32,
        }
        given = parameters(configuration)
        make = self._optuna.distributions.CategoricalDistribution
        return {
            name: make(tuple(dict.fromkeys((*values, given[name]))))
            for name, values in choices.items()
            if name in given
        }


def parameters(configuration: Configuration) -> dict[str, Any]:
    """A configuration as a trial's parameters; the loss scale only where there is one to choose."""
    values: dict[str, Any] = {
        "policy": configuration.policy,
        "batch_size": configuration.batch_size,
        "jit_compile": configuration.jit_compile,
        "steps_per_execution": configuration.steps_per_execution,
        "learning_rate_factor": configuration.learning_rate_factor,
        "tf32": configuration.tf32,
    }
    if configuration.policy == "mixed_float16":
        values["loss_scale"] = _text(configuration.loss_scale)
    return values


def _text(scale: Any) -> str:
    return "as Keras does" if scale is None else json.dumps(asdict(scale), sort_keys=True)

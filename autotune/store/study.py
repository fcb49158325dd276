"""The run's Optuna study: what was asked and told, in a journal file that optuna-dashboard opens."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from autotune.errors import UsageError
from autotune.records import Configuration, Outcome, SearchSpace

STUDY = "study.log"
_NAME = "autotune"


class Study:
    """Records trials in a study by ask and tell.

    The study is named ``autotune``. Optuna wants the same choices in all trials of a study: where a run goes on with another
    search space, its trials stand in ``autotune-2``, and so on.

    Args:
        folder: The run folder, held by its lock.

    Raises:
        UsageError: The journal is damaged.
    """

    def __init__(self, folder: Path) -> None:
        import optuna
        from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._optuna = optuna
        path = folder / STUDY
        _mend(path)
        # The open lock needs no symbolic links, which some shared file systems refuse.
        backend = JournalFileBackend(str(path), lock_obj=JournalFileOpenLock(str(path)))
        try:
            self._storage = optuna.storages.JournalStorage(backend)
            self._count = max(1, len(optuna.get_all_study_names(self._storage)))
            self._study = self._open()
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise UsageError(
                f"{path} is damaged: {error}", hint="move this file away; what was measured is in trials.jsonl"
            ) from None
        self._asked: dict[int, Any] = {}
        self._fail_unfinished()

    def ask(self, configuration: Configuration, space: SearchSpace) -> int:
        """Starts a trial of a configuration; its number in the study."""
        distributions = self._distributions(space, configuration)
        if not self._fits(distributions):
            self._count += 1
            self._study = self._open()
        self._study.enqueue_trial(parameters(configuration))
        trial = self._study.ask(distributions)
        self._asked[trial.number] = trial
        return int(trial.number)

    def tell(
        self, number: int, value: float | None, outcome: Outcome, attributes: Mapping[str, Any], *, infeasible: bool
    ) -> None:
        """Ends a trial.

        A trial that failed is told as complete, infeasible and worthless: samplers pass over failed ones and would try the
        point again. A value that is not finite counts as none, for Optuna would make the trial a failed one.

        Args:
            number: What ``ask`` gave.
            value: Samples a second against the baseline; None when not timed.
            outcome: How the trial ended.
            attributes: More to note beside it.
            infeasible: Whether the configuration can not be used.
        """
        trial = self._asked.pop(number)
        for name, item in {**attributes, "outcome": str(outcome), "feasible": not infeasible}.items():
            trial.set_user_attr(name, item)
        if hasattr(
            trial, "set_constraint"
        ):  # from Optuna 5; before it a constraint belongs to a sampler, and we have none
            trial.set_constraint("feasible", 1.0 if infeasible else 0.0)
        trial.study.tell(trial, value if value is not None and math.isfinite(value) else 0.0)

    def _fail_unfinished(self) -> None:
        """Ends what a killed or interrupted run left; one that waits must be started before it can be ended."""
        state = self._optuna.trial.TrialState
        while self._study.get_trials(deepcopy=False, states=(state.WAITING,)):
            self._study.ask()
        for trial in self._study.get_trials(deepcopy=False, states=(state.RUNNING,)):
            self._study.tell(trial.number, state=state.FAIL)

    def _open(self) -> Any:
        name = _NAME if self._count == 1 else f"{_NAME}-{self._count}"
        return self._optuna.create_study(
            study_name=name, storage=self._storage, direction="maximize", load_if_exists=True
        )

    def _fits(self, distributions: Mapping[str, Any]) -> bool:
        """Whether earlier trials of the study chose among the same values."""
        return all(
            trial.distributions.get(name, distribution) == distribution
            for trial in self._study.get_trials(deepcopy=False)
            for name, distribution in distributions.items()
        )

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


def _mend(path: Path) -> None:
    """Takes away what a killed writer left: its lock, for which we would wait, and a last line without its end."""
    path.with_name(f"{path.name}.lock").unlink(missing_ok=True)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return
    if content and not content.endswith(b"\n"):
        os.truncate(path, content.rfind(b"\n") + 1)


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

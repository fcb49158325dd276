"""A recommendation applied to a real ``fit``: each change is said in one line and checked to have taken effect."""

from __future__ import annotations

import inspect
import sys
from typing import Any

import keras

from autotune.records import Configuration
from autotune.workload import describe
from autotune.workload.data import Feed
from autotune.workload.place import UserCode
from autotune.workload.policy import PolicyCall
from autotune.workload.state import bring


class Application:
    """Stands in for ``Model.fit`` and changes one call of it.

    Args:
        configuration: What was recommended.
        baseline: What the script does by itself.
        selected: Index of the ``fit`` to change, from 1.
        user: Knows the user's files.

    Attributes:
        seen: Calls of ``fit`` so far.
        policy_calls: Policies that the script set itself.
    """

    def __init__(self, configuration: Configuration, baseline: Configuration, selected: int, user: UserCode) -> None:
        self._configuration = configuration
        self._baseline = baseline
        self._selected = selected
        self._user = user
        self.seen = 0
        self.policy_calls: list[PolicyCall] = []

    def install(self, model_class: Any) -> None:
        """Puts the changed ``fit`` in place."""
        plain = model_class.fit
        signature = inspect.signature(plain)
        application = self

        def fit(model: Any, *args: Any, **kwargs: Any) -> Any:
            application.seen += 1
            if application.seen != application._selected:
                return plain(model, *args, **kwargs)
            bound = signature.bind(model, *args, **kwargs)
            arguments = {name: value for name, value in bound.arguments.items() if name != "self"}
            return plain(model, **application._changed(model, arguments))

        model_class.fit = fit

    def _changed(self, model: Any, arguments: dict[str, Any]) -> dict[str, Any]:
        wanted, written = self._configuration, self._baseline
        stretch = 1.0
        if wanted.batch_size is not None and wanted.batch_size != written.batch_size:
            arguments = self._rebatched(arguments, wanted.batch_size)
            stretch = wanted.batch_size / (written.batch_size or wanted.batch_size)
            say(f"batch {written.batch_size} -> {wanted.batch_size}")
        if wanted.float32_layers and not model.built:
            describe.build(model, Feed(arguments).first_batch)
        bring(model, wanted, step_stretch=stretch)
        if wanted.learning_rate_factor != 1.0:
            say(f"learning rate x{wanted.learning_rate_factor:g}")
        if wanted.jit_compile != written.jit_compile:
            say(f"jit_compile {written.jit_compile} -> {wanted.jit_compile}")
        if wanted.steps_per_execution != written.steps_per_execution:
            say(f"steps_per_execution {written.steps_per_execution} -> {wanted.steps_per_execution}")
        if wanted.loss_scale is not None:
            say(f"{wanted.loss_scale.mode} loss scale {wanted.loss_scale.initial:g}")
        for layer in wanted.float32_layers:
            say(f"layer {layer} kept in float32")
        callbacks = arguments.get("callbacks")
        own = list(callbacks) if isinstance(callbacks, list | tuple) else [callbacks] if callbacks is not None else []
        return {**arguments, "callbacks": [*own, _Check(wanted)]}

    def _rebatched(self, arguments: dict[str, Any], batch_size: int) -> dict[str, Any]:
        feed = Feed({**arguments, "shuffle": arguments.get("shuffle", True)})
        changed = {**arguments, **feed.fit_arguments(batch_size)}
        if feed.validation is not None:
            changed["validation_data"] = feed.validation
            changed.pop("validation_split", None)
            if feed.kind == "arrays":
                changed["validation_batch_size"] = arguments.get("validation_batch_size") or feed.batch_size
        return changed


class _Check(keras.callbacks.Callback):  # type: ignore[misc]
    """Says what really computes in 16 bits once the model is built."""

    def __init__(self, configuration: Configuration) -> None:
        super().__init__()
        self._configuration = configuration

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if epoch != self.params.get("initial_epoch", 0) or "16" not in self._configuration.policy:
            return
        sixteen, arithmetic = describe.sixteen_bit_layers(describe.layers(self.model))
        say(f"policy {self._configuration.policy}: {sixteen} of {arithmetic} layers compute in 16 bits")
        if sixteen == 0:
            say("the policy has not taken effect: the script sets its own")


def say(text: str) -> None:
    """One line for the user, on standard error."""
    print(f"autotune: {text}", file=sys.stderr, flush=True)

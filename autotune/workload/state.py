"""The model as it stood at ``fit``, and how a configuration is brought to it."""

from __future__ import annotations

import hashlib
from typing import Any

import keras
import numpy as np

from autotune.records import Configuration, LossScale

_Schedule = keras.optimizers.schedules.LearningRateSchedule
_LossScaled = keras.optimizers.LossScaleOptimizer


class StretchedSchedule(_Schedule):  # type: ignore[misc]
    """A schedule whose rates are multiplied and whose steps count for more or fewer.

    Args:
        schedule: The script's own.
        factor: What its rates are multiplied by.
        stretch: Steps of the script's schedule that one step stands for.
    """

    def __init__(self, schedule: Any, factor: float, stretch: float) -> None:
        super().__init__()
        self.schedule, self.factor, self.stretch = schedule, factor, stretch

    def __call__(self, step: Any) -> Any:
        """The rate at a step."""
        if self.stretch != 1.0:
            step = keras.ops.cast(keras.ops.cast(step, "float32") * self.stretch, "int32")
        return self.factor * self.schedule(step)

    def get_config(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {"schedule": self.schedule, "factor": self.factor, "stretch": self.stretch}


class ModelState:
    """What stood at ``fit``: weights that the script drew or loaded, optimizer, compile settings.

    Args:
        model: A built and compiled model.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self._optimizers = _optimizers(model)
        self._optimizer = getattr(model, "optimizer", None)
        self._weights = [np.array(v) for v in model.variables]
        self._optimizer_values = [[_read(v) for v in optimizer.variables] for optimizer in self._optimizers]
        self._rates = [_plain(o)._learning_rate if hasattr(_plain(o), "_learning_rate") else None for o in self._optimizers]
        self._rate_values = [None if rate is None or _scheduled(rate) else float(_read(rate)) for rate in self._rates]
        self._scales = [_scaling(o) for o in self._optimizers]
        self._compile = (model.jit_compile, model.steps_per_execution)
        self._policies = {id(layer): layer.dtype_policy for layer in model._flatten_layers()}
        self.weights_hash = hash_weights(model)

    def restore(self) -> None:
        """Brings weights, optimizer and settings back to what stood at ``fit``."""
        model = self.model
        for layer in model._flatten_layers():
            policy = self._policies.get(id(layer))
            if policy is not None and layer.dtype_policy is not policy:
                layer.dtype_policy = policy
        for variable, value in zip(model.variables, self._weights, strict=False):
            variable.assign(value)
        if self._optimizer is not None:
            model.optimizer = self._optimizer
        for index, optimizer in enumerate(self._optimizers):
            plain = _plain(optimizer)
            if self._rates[index] is not None and plain._learning_rate is not self._rates[index]:
                plain._learning_rate = self._rates[index]
            growth, factor = self._scales[index]
            if isinstance(optimizer, _LossScaled):
                optimizer.dynamic_growth_steps = growth
            plain.loss_scale_factor = factor
            for variable, value in zip(optimizer.variables, self._optimizer_values[index], strict=False):
                variable.assign(value)
        model.jit_compile, model.steps_per_execution = self._compile
        model.stop_training = False
        model.train_function = model.test_function = None

    def apply(self, configuration: Configuration, *, step_stretch: float = 1.0) -> None:
        """Restores what stood at ``fit``, then brings a configuration to it.

        Args:
            configuration: What to bring; its policy must be the worker's own.
            step_stretch: Steps of the script's schedule that one step stands for.
        """
        self.restore()
        self.model.jit_compile = configuration.jit_compile
        self.model.steps_per_execution = configuration.steps_per_execution
        for layer in self.model._flatten_layers():
            if layer.path in configuration.float32_layers or layer.name in configuration.float32_layers:
                layer.dtype_policy = "float32"
        if configuration.loss_scale is not None:
            self._scale_loss(configuration.loss_scale)
        for index, optimizer in enumerate(self._optimizers):
            rate = self._rates[index]
            if rate is None:
                continue
            if _scheduled(rate):
                if configuration.learning_rate_factor != 1.0 or step_stretch != 1.0:
                    _plain(optimizer)._learning_rate = StretchedSchedule(rate, configuration.learning_rate_factor, step_stretch)
            elif configuration.learning_rate_factor != 1.0 and (written := self._rate_values[index]) is not None:
                rate.assign(written * configuration.learning_rate_factor)

    def _scale_loss(self, scale: LossScale) -> None:
        optimizer = self.model.optimizer
        if scale.mode == "fixed":
            plain = _plain(optimizer)
            plain.loss_scale_factor = scale.initial
            self.model.optimizer = plain
            return
        if not isinstance(optimizer, _LossScaled):
            fresh = type(optimizer).from_config(optimizer.get_config())
            self.model.optimizer = optimizer = _LossScaled(fresh, name="loss_scale_optimizer")
            optimizer.build(self.model.trainable_variables)
        optimizer.initial_scale = scale.initial
        optimizer.dynamic_growth_steps = scale.growth_steps or 2000
        optimizer.dynamic_scale.assign(scale.initial)
        optimizer.step_counter.assign(0)


def updates_applied(model: Any) -> int | None:
    """Updates that the optimizer counted; None where there is none to ask."""
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None:
        return None
    counter = getattr(_plain(optimizer), "_iterations", None)
    return None if counter is None else int(_read(counter))


def loss_scale(model: Any) -> float | None:
    """The loss scale as it stands; None without loss scaling."""
    optimizer = getattr(model, "optimizer", None)
    if isinstance(optimizer, _LossScaled):
        return float(_read(optimizer.dynamic_scale)) if optimizer.built else float(optimizer.initial_scale)
    factor = getattr(optimizer, "loss_scale_factor", None)
    return None if factor is None else float(factor)


def hash_weights(model: Any) -> str:
    """A short hash of the trainable weights."""
    result = hashlib.sha256()
    for variable in model.trainable_variables:
        result.update(np.ascontiguousarray(_read(variable)).tobytes())
    return result.hexdigest()[:16]


def scheduled(model: Any) -> bool:
    """Whether the optimizer's rate is a schedule object."""
    optimizer = getattr(model, "optimizer", None)
    return optimizer is not None and _scheduled(getattr(_plain(optimizer), "_learning_rate", None))


def _scheduled(rate: Any) -> bool:
    return isinstance(rate, _Schedule)


def _plain(optimizer: Any) -> Any:
    return optimizer.inner_optimizer if isinstance(optimizer, _LossScaled) else optimizer


def _optimizers(model: Any) -> list[Any]:
    own = [model.optimizer] if getattr(model, "optimizer", None) is not None else []
    others = [v for v in vars(model).values() if isinstance(v, keras.optimizers.Optimizer) and v not in own]
    return own + others


def _scaling(optimizer: Any) -> tuple[int | None, float | None]:
    growth = optimizer.dynamic_growth_steps if isinstance(optimizer, _LossScaled) else None
    return growth, getattr(_plain(optimizer), "loss_scale_factor", None)


def _read(variable: Any) -> Any:
    # A mirrored variable answers int() with an error, but converts.
    value = getattr(variable, "value", variable)
    value = value() if callable(value) else value
    local = getattr(value, "values", None)
    if local is not None and not callable(local):
        value = local[0]
    return np.array(keras.ops.convert_to_numpy(value))

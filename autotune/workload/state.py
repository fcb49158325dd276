"""The model as it stood at ``fit``, and how a configuration is brought to it."""

from __future__ import annotations

import hashlib
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from autotune.records import Configuration, LossScale
from autotune.workload.describe import layer_path

_Schedule: Any = keras.optimizers.schedules.LearningRateSchedule
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
        self._rates = [
            _plain(o)._learning_rate if hasattr(_plain(o), "_learning_rate") else None for o in self._optimizers
        ]
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
            values = self._optimizer_values[index]
            for place, variable in enumerate(optimizer.variables):
                # Variables that the optimizer made after fit began (its first update built it) start at zero.
                variable.assign(values[place] if place < len(values) else np.zeros(variable.shape, variable.dtype))
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
        bring(self.model, configuration, step_stretch=step_stretch)


def bring(model: Any, configuration: Configuration, *, step_stretch: float = 1.0) -> None:
    """Brings compile settings, learning rate, loss scale and float32 layers of a configuration to a compiled model.

    Args:
        model: The compiled model as the script left it; built where layers are named.
        configuration: What to bring.
        step_stretch: Steps of the script's schedule that one step stands for.
    """
    model.jit_compile = configuration.jit_compile
    model.steps_per_execution = configuration.steps_per_execution
    model.train_function = None
    if configuration.tf32 is not None:
        tf.config.experimental.enable_tensor_float_32_execution(configuration.tf32)
    _keep_float32(model, configuration.float32_layers)
    if configuration.loss_scale is not None and getattr(model, "optimizer", None) is not None:
        _scale_loss(model, configuration.loss_scale)
    factor = configuration.learning_rate_factor
    for optimizer in _optimizers(model):
        plain = _plain(optimizer)
        rate = getattr(plain, "_learning_rate", None)
        if rate is None or (factor == 1.0 and step_stretch == 1.0):
            continue
        if _scheduled(rate):
            plain._learning_rate = StretchedSchedule(rate, factor, step_stretch)
        else:
            rate.assign(float(_read(rate)) * factor)


def _keep_float32(model: Any, paths: tuple[str, ...]) -> None:
    """Layers at these paths, and all that is inside them, compute in float32; the model's own name is its ``call`` alone."""
    for layer in model._flatten_layers() if paths else ():
        path = layer_path(model, layer)
        if any(path == wanted or (path.startswith(f"{wanted}/") and layer is not model) for wanted in paths):
            layer.dtype_policy = "float32"
            # Adapted statistics were already rounded to what the layer computed in before.
            if hasattr(layer, "finalize_state"):
                layer.finalize_state()


def _scale_loss(model: Any, scale: LossScale) -> None:
    optimizer = model.optimizer
    if scale.mode == "fixed":
        plain = _plain(optimizer)
        plain.loss_scale_factor = scale.initial
        model.optimizer = plain
        return
    if not isinstance(optimizer, _LossScaled):
        model.optimizer = optimizer = _LossScaled(
            type(optimizer).from_config(optimizer.get_config()), name="loss_scale_optimizer"
        )
        if model.built:
            optimizer.build(model.trainable_variables)
    optimizer.initial_scale = scale.initial
    optimizer.dynamic_growth_steps = scale.growth_steps or 2000
    if optimizer.built:
        optimizer.dynamic_scale.assign(scale.initial)
        optimizer.step_counter.assign(0)


def updates_applied(model: Any) -> int | None:
    """Updates counted by the optimizer that applied most (a GAN has several); None where there is none to ask."""
    counters = [getattr(_plain(optimizer), "_iterations", None) for optimizer in _optimizers(model)]
    counts = [int(_read(counter)) for counter in counters if counter is not None]
    return max(counts) if counts else None


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


def learning_rate(model: Any) -> float | None:
    """The written rate; None where a schedule decides or there is none."""
    rate = getattr(_plain(getattr(model, "optimizer", None)), "_learning_rate", None)
    try:
        return None if rate is None or _scheduled(rate) else float(_read(rate))
    except (TypeError, ValueError, AttributeError):
        return None


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

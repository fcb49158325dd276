"""How large a model's numbers are: activations and gradients of one batch, by powers of two, layer by layer."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras.src.trainers.data_adapters import data_adapter_utils

from autotune.workload.describe import layer_path

# Magnitudes at and below which a format rounds to zero (half its smallest subnormal number, ties to even), and from which
# on it rounds to infinity (IEEE 754 binary16; bfloat16: 8 bits of exponent, 7 of significand).
_ZERO = {"float16": 2.0**-25, "bfloat16": 2.0**-134}
_INFINITE = {"float16": 65520.0, "bfloat16": float(np.float32(3.3961775e38))}


def profile(model: Any, batch: Any) -> dict[str, Any]:
    """Runs one batch forward and backward, eagerly, with the weights as they stand.

    Returns:
        ``{"layers": {path: {"activations": ..., "gradients": ...}}, "gradients": ...}`` with distributions as dicts.
    """
    x, y, weight = data_adapter_utils.unpack_x_y_sample_weight(batch)
    activations: dict[str, list[np.ndarray]] = {}
    restore = _collect(model, activations)
    try:
        with tf.GradientTape() as tape:
            predictions = model(x, training=True)
            loss = model.compute_loss(x=x, y=y, y_pred=predictions, sample_weight=weight)
        gradients = tape.gradient(loss, model.trainable_variables)
    finally:
        restore()
    of_layers: dict[str, list[np.ndarray]] = {}
    for variable, gradient in zip(model.trainable_variables, gradients, strict=True):
        if gradient is not None:
            path = variable.path.rpartition("/")[0].removeprefix(f"{model.name}/")
            of_layers.setdefault(path, []).append(np.array(tf.convert_to_tensor(gradient), dtype=np.float64))
    names = list(dict.fromkeys((*activations, *of_layers)))
    return {
        "layers": {
            name: {
                "activations": distribution(activations[name]) if name in activations else None,
                "gradients": distribution(of_layers[name]) if name in of_layers else None,
            }
            for name in names
        },
        "gradients": distribution([part for parts in of_layers.values() for part in parts]) if of_layers else None,
    }


def distribution(parts: list[np.ndarray]) -> dict[str, Any]:
    """Counts numbers by power of two, and how many of them each 16-bit format would lose."""
    values = np.abs(np.concatenate([np.ravel(part).astype(np.float64) for part in parts])) if parts else np.zeros(0)
    finite = values[np.isfinite(values)]
    nonzero = finite[finite > 0.0]
    powers, counts = np.unique(np.frexp(nonzero)[1] - 1, return_counts=True)
    return {
        "count": int(values.size),
        "zeros": int((values == 0.0).sum()),
        "nonfinite": int(values.size - finite.size),
        "largest": float(finite.max()) if finite.size else None,
        "smallest": float(nonzero.min()) if nonzero.size else None,
        "exponents": {int(power): int(count) for power, count in zip(powers, counts, strict=True)},
        "vanish": {name: float((nonzero <= at).mean()) if nonzero.size else None for name, at in _ZERO.items()},
        "overflow": {name: float((finite >= at).mean()) if finite.size else None for name, at in _INFINITE.items()},
    }


def _collect(model: Any, into: dict[str, list[np.ndarray]]) -> Any:
    wrapped = []
    for layer in model._flatten_layers(include_self=False):
        if isinstance(layer, keras.Model) or type(layer).__name__ == "InputLayer":
            continue
        path = layer_path(model, layer)
        object.__setattr__(layer, "call", _recording(layer.call, path, into))
        wrapped.append(layer)

    def restore() -> None:
        for layer in wrapped:
            vars(layer).pop("call", None)

    return restore


def _recording(plain: Any, path: str, into: dict[str, list[np.ndarray]]) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        output = plain(*args, **kwargs)
        for leaf in keras.tree.flatten(output):
            if isinstance(leaf, tf.Tensor) and leaf.dtype.is_floating:
                into.setdefault(path, []).append(np.array(leaf, dtype=np.float64))
        return output

    return call

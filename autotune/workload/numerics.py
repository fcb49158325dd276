"""Which layer turns non-finite: one batch, run eagerly, layer by layer."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras.src.trainers.data_adapters import data_adapter_utils

from autotune.workload.describe import layer_path

_LIMIT = {"float16": 65504.0}


def locate(model: Any, batch: Any) -> dict[str, Any] | None:
    """Finds the first layer, in order of computation, whose output is not finite while its inputs are.

    Runs the model's forward pass and its loss eagerly on one batch with the weights as they stand, then the gradients.

    Returns:
        ``{"layer", "type", "where", "detail"}`` with ``where`` one of ``inputs``, ``output``, ``loss``, ``gradients``;
        None when everything was finite or the model cannot be run so.
    """
    x, y, weight = data_adapter_utils.unpack_x_y_sample_weight(batch)
    visits: list[tuple[Any, bool, float | None]] = []
    restore = _watch(model, visits)
    try:
        with tf.GradientTape() as tape:
            predictions = model(x, training=True)
            loss = model.compute_loss(x=x, y=y, y_pred=predictions, sample_weight=weight)
            scaled = model.optimizer.scale_loss(loss) if getattr(model, "optimizer", None) is not None else loss
        gradients = tape.gradient(scaled, model.trainable_variables)
    except Exception:
        gradients, loss = None, None
    finally:
        restore()
    for layer, came_in_finite, largest in visits:
        limit = _LIMIT.get(layer.compute_dtype)
        size = f"; its largest input was {largest:.3g}" if largest is not None and np.isfinite(largest) else ""
        if not came_in_finite:
            return _place(
                model, layer, "inputs", f"what arrives in {layer.compute_dtype} is not finite{_beyond(limit)}"
            )
        return _place(model, layer, "output", f"its output is not finite in {layer.compute_dtype}{size}")
    if loss is not None and not _finite(loss):
        return {
            "layer": None,
            "type": None,
            "where": "loss",
            "detail": "every layer's output is finite, the loss is not",
        }
    return _gradients(model, gradients)


def _gradients(model: Any, gradients: Any) -> dict[str, Any] | None:
    if gradients is None:
        return None
    bad = [v for v, g in zip(model.trainable_variables, gradients, strict=True) if g is not None and not _finite(g)]
    if not bad:
        return None
    names = [v.path.rpartition("/")[0].removeprefix(f"{model.name}/") for v in bad]
    listed = ", ".join(dict.fromkeys(names))
    return {
        "layer": names[-1] or None,
        "type": None,
        "where": "gradients",
        "detail": f"the loss is finite, but the gradients of {listed} are not",
    }


def _watch(model: Any, visits: list[tuple[Any, bool, float | None]]) -> Any:
    wrapped = []

    def wrap(layer: Any) -> None:
        plain = layer.call

        def call(*args: Any, **kwargs: Any) -> Any:
            finite, largest = _finite((args, kwargs)), _largest(args)
            output = plain(*args, **kwargs)
            if (not finite or not _finite(output)) and not visits:
                visits.append((layer, finite, largest))
            return output

        object.__setattr__(layer, "call", call)
        wrapped.append(layer)

    for layer in model._flatten_layers(include_self=False):
        if not isinstance(layer, keras.Model) and type(layer).__name__ != "InputLayer":
            wrap(layer)

    def restore() -> None:
        for layer in wrapped:
            vars(layer).pop("call", None)

    return restore


def _place(model: Any, layer: Any, where: str, detail: str) -> dict[str, Any]:
    path = layer_path(model, layer)
    return {"layer": path, "type": type(layer).__name__, "where": where, "detail": detail}


def _beyond(limit: float | None) -> str:
    return "" if limit is None else f" (float16 ends at {limit:.0f})"


def _leaves(value: Any) -> list[Any]:
    return [leaf for leaf in keras.tree.flatten(value) if isinstance(leaf, tf.Tensor) and leaf.dtype.is_floating]


def _finite(value: Any) -> bool:
    return all(bool(tf.reduce_all(tf.math.is_finite(leaf))) for leaf in _leaves(value))


def _largest(value: Any) -> float | None:
    sizes = [float(tf.reduce_max(tf.abs(tf.cast(leaf, tf.float32)))) for leaf in _leaves(value) if int(tf.size(leaf))]
    return max(sizes) if sizes else None

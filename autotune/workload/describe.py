"""Describes a captured ``fit`` in plain values."""

from __future__ import annotations

import math
import os
from typing import Any

import keras
import tensorflow as tf

from autotune.workload.policy import sixteen_bit

_NO_ARITHMETIC = {
    "InputLayer",
    "Dropout",
    "SpatialDropout1D",
    "SpatialDropout2D",
    "SpatialDropout3D",
    "Flatten",
    "Reshape",
    "Permute",
    "RepeatVector",
    "Cropping1D",
    "Cropping2D",
    "Cropping3D",
    "ZeroPadding1D",
    "ZeroPadding2D",
    "ZeroPadding3D",
    "Masking",
    "Functional",
    "Sequential",
    "Concatenate",
    "Identity",
    "NotEqual",
    "Cast",
}
_UP = (
    "acc",
    "auc",
    "precision",
    "recall",
    "f1",
    "fbeta",
    "f_score",
    "iou",
    "dice",
    "r2",
    "cosine",
    "psnr",
    "ssim",
    "bleu",
)
_DOWN = (
    "loss",
    "error",
    "mae",
    "mse",
    "rmse",
    "mape",
    "msle",
    "perplexity",
    "divergence",
    "hinge",
    "entropy",
    "distance",
)


def layers(model: Any) -> list[dict[str, Any]]:
    """Every layer below the model, containers left out, with what it computes in."""
    described = []
    seen: set[str] = set()
    for layer in model._flatten_layers(include_self=False):
        own = [v for v in (*layer._trainable_variables, *layer._non_trainable_variables)]
        container = bool(layer._layers) and not own and type(layer).__module__.startswith("keras.")
        if type(layer).__name__ == "InputLayer" or (container and isinstance(layer, keras.Model)):
            continue
        path = layer_path(model, layer)
        if path in seen:
            continue
        seen.add(path)
        described.append(
            {
                "path": path,
                "type": type(layer).__name__,
                "variable_dtype": layer.variable_dtype,
                "compute_dtype": layer.compute_dtype,
                "parameters": sum(math.prod(v.shape) for v in _sized(own)),
                "arithmetic": type(layer).__name__ not in _NO_ARITHMETIC,
            }
        )
    return described


def layer_path(model: Any, layer: Any) -> str:
    """Path of a layer below the model; the model's own name for the model itself."""
    if layer is model:
        return str(layer.name)
    return str(layer.path or layer.name).removeprefix(f"{model.name}/")


def is_cell(layer: Any) -> bool:
    """Whether it is the cell of a recurrent layer, run inside that layer's loop."""
    return hasattr(layer, "state_size") and not isinstance(layer, keras.layers.RNN)


def sixteen_bit_layers(described: list[dict[str, Any]]) -> tuple[int, int]:
    """Layers with arithmetic that compute in 16 bits, and all with arithmetic."""
    arithmetic = [layer for layer in described if layer["arithmetic"]]
    return sum(sixteen_bit(layer["compute_dtype"]) for layer in arithmetic), len(arithmetic)


def metric(model: Any, wanted: str, monitored: tuple[str, str] | None, *, validated: bool) -> tuple[str, str]:
    """Name in the logs of the figure to judge by, and its direction (``max`` or ``min``).

    The user's choice comes first, then what the script's own callbacks watch, then the first compiled metric whose
    direction is known, then the loss.
    """
    names = [str(name) for name in model.get_metrics_result()]
    prefix = "val_" if validated else ""
    directions = {name: _direction(model, name) for name in names}

    def full(name: str) -> str:
        return prefix + name.removeprefix("val_")

    if wanted:
        return full(wanted) if not wanted.startswith("val_") or validated else wanted, directions.get(
            wanted.removeprefix("val_")
        ) or _by_name(wanted) or "max"
    if monitored and monitored[0].removeprefix("val_") in names:
        name = monitored[0].removeprefix("val_")
        mode = monitored[1] if monitored[1] in ("min", "max") else directions.get(name)
        if mode:
            return full(name), mode
    for name in names:
        if name != "loss" and (found := directions[name]):
            return full(name), found
    return full("loss"), "min"


def fixed_batch(model: Any) -> str | None:
    """Why the model itself works at one batch only; None when it does not say so."""
    for tensor in keras.tree.flatten(getattr(model, "inputs", None) or []):
        shape = getattr(tensor, "shape", (None,))
        if shape and shape[0] is not None:
            return f"the model is built for batches of {shape[0]} (batch_shape)"
    for layer in model._flatten_layers(include_self=False):
        if getattr(layer, "stateful", False):
            return f"layer {layer.path or layer.name} keeps its state from batch to batch (stateful)"
    return None


def build(model: Any, batch: Any) -> None:
    """Builds model, loss, metrics and optimizer from a batch, as the first step would.

    A model with a ``train_step`` of its own may never be called on a batch (a GAN); it counts as built once its layers are.
    """
    # Without the batch's size: a Sequential that is built from it must not take that size for its own.
    shapes = keras.tree.map_structure(_any_batch, batch)
    strategy = getattr(model, "_distribute_strategy", None)
    if strategy is not None:
        with strategy.scope():
            model._symbolic_build(data_batch=shapes)
        return
    try:
        model._symbolic_build(data_batch=shapes)
    except Exception:
        if not own_train_step(model) or not all(layer.built for layer in model._flatten_layers(include_self=False)):
            raise


def _any_batch(leaf: Any) -> Any:
    if leaf is None or not hasattr(leaf, "shape"):
        return leaf
    shape = tuple(leaf.shape)
    return keras.KerasTensor((None, *shape[1:]) if shape else shape, keras.backend.standardize_dtype(leaf.dtype))


def loss_name(model: Any) -> str | None:
    """Name of the compiled loss."""
    loss = getattr(model, "loss", None)
    if loss is None or isinstance(loss, str):
        return loss
    if isinstance(loss, dict | list | tuple):
        return "several"
    return str(getattr(loss, "name", None) or getattr(loss, "__name__", type(loss).__name__))


def tf32() -> bool:
    """Whether float32 products run in TensorFloat-32 where the device has it: TensorFlow's default."""
    return bool(tf.config.experimental.tensor_float_32_execution_enabled())


def intra_op_threads() -> int | None:
    """Threads that script or environment give one operation; None where TensorFlow chooses."""
    named = os.environ.get("TF_NUM_INTRAOP_THREADS", "")
    chosen = tf.config.threading.get_intra_op_parallelism_threads() or (int(named) if named.isdecimal() else 0)
    return int(chosen) or None


def own_train_step(model: Any) -> bool:
    """Whether the model overrides ``train_step``."""
    return not type(model).train_step.__module__.startswith("keras.")


def _sized(variables: list[Any]) -> list[Any]:
    return [v for v in variables if "seed_generator" not in getattr(v, "path", "")]


def _direction(model: Any, name: str) -> str | None:
    objects = list(model.metrics)
    objects += [m for group in model.metrics for m in getattr(group, "metrics", [])]
    for candidate in objects:
        if candidate.name == name or name.endswith(f"_{candidate.name}"):
            marked = getattr(candidate, "_direction", None)
            if marked in ("up", "down"):
                return "max" if marked == "up" else "min"
    return _by_name(name)


def _by_name(name: str) -> str | None:
    lower = name.lower()
    if any(part in lower for part in _DOWN):
        return "min"
    return "max" if any(part in lower for part in _UP) else None

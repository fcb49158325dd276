"""How much the gradients of batches differ from each other: what the gradient noise scale is estimated from."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from keras.src.trainers.data_adapters import data_adapter_utils

_FEWEST = 4


def gradient_norms(model: Any, batches: Iterator[Any], *, most: int, limit_s: float) -> dict[str, Any]:
    """Gradients of the compiled loss on several batches, with the weights as they stand.

    Args:
        model: The compiled model, at float32.
        batches: The training data.
        most: Batches to look at.
        limit_s: Time after which no further batch is looked at.

    Returns:
        ``{"norms": [|g_i|^2], "dots": [g_i . m], "mean": |m|^2}`` with ``m`` the mean of all ``g_i``; fewer than four batches
        give empty lists.
    """

    @tf.function(reduce_retracing=True)  # type: ignore[untyped-decorator]
    def gradients(x: Any, y: Any, weight: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = model.compute_loss(x=x, y=y, y_pred=model(x, training=True), sample_weight=weight)
        found = tape.gradient(loss, model.trainable_variables)
        return [tf.convert_to_tensor(part) for part in found if part is not None]

    started, flat = time.monotonic(), []
    for batch in batches:
        x, y, weight = data_adapter_utils.unpack_x_y_sample_weight(batch)
        parts = gradients(x, y, weight)
        flat.append(np.concatenate([np.ravel(part.numpy()).astype(np.float64) for part in parts]))
        if len(flat) >= most or time.monotonic() - started > limit_s:
            break
    if len(flat) < _FEWEST:
        return {"norms": [], "dots": [], "mean": None}
    mean = np.mean(flat, axis=0)
    return {
        "norms": [float(part @ part) for part in flat],
        "dots": [float(part @ mean) for part in flat],
        "mean": float(mean @ mean),
    }

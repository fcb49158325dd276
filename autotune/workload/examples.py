"""The metric on single validation examples, so that two runs can be compared example by example."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras.src.trainers.data_adapters import data_adapter_utils

from autotune.workload.data import digest


def example_scores(
    model: Any, batches: Iterator[Any], name: str, *, most: int, limit_s: float
) -> tuple[list[float], str] | None:
    """Scores of the first validation examples with the weights as they stand.

    Args:
        model: The compiled model.
        batches: Validation data, in an order that does not change.
        name: Metric in the logs.
        most: Examples to look at.
        limit_s: Time after which no further batch is looked at.

    Returns:
        Scores in order, and a hash of the first batch; None where the metric is no mean over examples, or examples are weighted.
    """
    score = _scorer(model, name.removeprefix("val_"))
    if score is None:
        return None
    started, first, found = time.monotonic(), "", []
    for batch in batches:
        x, y, weight = data_adapter_utils.unpack_x_y_sample_weight(batch)
        if weight is not None or y is None:
            return None
        first = first or digest((x, y))
        count = int(tf.shape(keras.tree.flatten(y)[0])[0])
        values = np.asarray(keras.ops.convert_to_numpy(score(y, model(x, training=False))), dtype=np.float64)
        if values.size == 0 or values.size % count:
            return None
        found += [float(value) for value in values.reshape(count, -1).mean(axis=1)]
        if len(found) >= most or time.monotonic() - started > limit_s:
            break
    return (found[:most], first) if found and np.all(np.isfinite(found)) else None


def _scorer(model: Any, name: str) -> Any:
    """Calculates the metric for each example from targets and predictions; None where it cannot be."""
    if name == "loss":
        loss = keras.losses.get(model.loss) if isinstance(model.loss, str) else model.loss
        if isinstance(loss, keras.losses.Loss):
            return loss.call
        return loss if callable(loss) else None
    groups = [m for group in model.metrics for m in (group, *getattr(group, "metrics", ()))]
    metric = next((m for m in groups if m.name == name and isinstance(m, keras.metrics.MeanMetricWrapper)), None)
    if metric is None:
        return None
    return lambda y, predicted: metric._fn(y, predicted, **metric._fn_kwargs)

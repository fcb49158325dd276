"""How near a step comes to float16's end: the largest activation and gradient, step by step."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from autotune.workload.describe import is_cell, layer_path

_HALF = "float16"


class SizeWatch:
    """Notes the largest output of every layer that computes in float16, and the largest gradient that reaches the optimizer.

    Values stay in device memory until they are read. Part of a recorded run, never of a timed one.

    Args:
        model: The compiled model.
        steps: Steps that will be run; more are not recorded.
    """

    def __init__(self, model: Any, steps: int) -> None:
        self._model = model
        # Of a cell, what its layer puts out tells enough.
        self._layers = [
            layer
            for layer in model._flatten_layers(include_self=False)
            if layer.compute_dtype == _HALF and not _container(layer) and not is_cell(layer)
        ]
        self.active = bool(self._layers)
        if not self.active:
            return
        self._now = tf.Variable(tf.zeros([len(self._layers)]), trainable=False)
        self._ever = tf.Variable(tf.zeros([len(self._layers)]), trainable=False)
        self._gradient = tf.Variable(0.0, trainable=False)
        self._activations = tf.Variable(tf.zeros([steps]), trainable=False)
        self._gradients = tf.Variable(tf.zeros([steps]), trainable=False)

    def start(self) -> None:
        """Puts the watching calls in place."""
        if not self.active:
            return
        for index, layer in enumerate(self._layers):
            object.__setattr__(layer, "call", self._watched(layer.call, index))
        optimizer = self._model.optimizer
        plain = optimizer.apply

        def apply(grads: Any, *args: Any, **kwargs: Any) -> Any:
            grads = list(grads)
            sizes = [_largest(g) for g in grads if g is not None]
            if sizes:
                self._gradient.assign(tf.reduce_max(tf.stack(sizes)))
            return plain(grads, *args, **kwargs)

        object.__setattr__(optimizer, "apply", apply)

    def stop(self) -> None:
        """Puts the layers' and the optimizer's own calls back."""
        if not self.active:
            return
        for layer in self._layers:
            vars(layer).pop("call", None)
        vars(self._model.optimizer).pop("apply", None)

    def end_step(self, place: Any) -> None:
        """Files what the step showed.

        Args:
            place: Index of the step, shape (1, 1).
        """
        if not self.active:
            return
        self._ever.assign(tf.maximum(self._ever, self._now))
        self._activations.scatter_nd_update(place, tf.reshape(tf.reduce_max(self._now), [1]))
        self._gradients.scatter_nd_update(place, tf.reshape(self._gradient, [1]))
        self._now.assign(tf.zeros_like(self._now))
        self._gradient.assign(0.0)

    def read(self, steps: int) -> dict[str, Any]:
        """The largest values of each step, and of each layer over all steps; empty where nothing was watched."""
        if not self.active:
            return {}
        return {
            "largest_activation": [float(v) for v in self._activations.numpy()[:steps]],
            "largest_gradient": [float(v) for v in self._gradients.numpy()[:steps]],
            "largest_activations": {
                layer_path(self._model, layer): float(value)
                for layer, value in zip(self._layers, self._ever.numpy(), strict=True)
            },
        }

    def _watched(self, plain: Any, index: int) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            output = plain(*args, **kwargs)
            sizes = [_largest(leaf) for leaf in keras.tree.flatten(output) if _floating(leaf)]
            if sizes:
                known = self._now[index]
                self._now.scatter_nd_update([[index]], [tf.maximum(known, tf.reduce_max(tf.stack(sizes)))])
            return output

        return call


def _largest(value: Any) -> Any:
    """Largest magnitude as a float32 scalar; not finite where any value is not."""
    if isinstance(value, tf.IndexedSlices):
        value = value.values
    tensor = tf.stop_gradient(tf.convert_to_tensor(value))
    # An empty tensor has no largest value; a maximum passes NaN by.
    worst = tf.cast(tf.reduce_max(tf.abs(tensor)), tf.float32) if tensor.shape.num_elements() != 0 else tf.constant(0.0)
    return tf.where(tf.reduce_any(tf.math.is_nan(tensor)), tf.constant(float("inf")), worst)


def _floating(leaf: Any) -> bool:
    return isinstance(leaf, tf.Tensor) and leaf.dtype.is_floating


def _container(layer: Any) -> bool:
    return isinstance(layer, keras.Model) or type(layer).__name__ == "InputLayer"

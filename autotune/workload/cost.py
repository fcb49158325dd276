"""Counts what one training step computes and moves, layer by layer, from the traced step; nothing of it is run."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from autotune.workload.describe import is_cell, layer_path

OUTSIDE, OPTIMIZER = "loss and all outside the layers", "optimizer"
# They move nothing, or what they move stays where it is.
_FREE = frozenset(
    (
        "Placeholder",
        "Const",
        "NoOp",
        "Identity",
        "IdentityN",
        "StopGradient",
        "PreventGradient",
        "ReadVariableOp",
        "Shape",
        "ShapeN",
        "Size",
        "Rank",
        "Reshape",
        "ExpandDims",
        "Squeeze",
        "BroadcastGradientArgs",
        "VarHandleOp",
        "Assert",
        "Switch",
        "Merge",
        "Enter",
        "Exit",
        "NextIteration",
        "LoopCond",
        "ControlTrigger",
        "TensorListReserve",
        "TensorListElementShape",
        "TensorListLength",
        "EmptyTensorList",
        "Range",
    )
)
_CALLS = ("PartitionedCall", "StatefulPartitionedCall")
_LOOPS = ("While", "StatelessWhile")
_BRANCHES = ("If", "StatelessIf", "Case", "StatelessCase")
_MARK = "autotune_part"
_MARKED = re.compile(rf"{_MARK}(\d+)x")
_NO_BOUND = 2**31 - 1
_GATES = {"lstm": 4, "gru": 3}


def step_cost(model: Any, batch: Any) -> list[dict[str, Any]]:
    """Operations and bytes of one training step.

    The step is traced with the batch's shapes, as ``fit`` would trace it, and its operations are counted: 2 m n k for a
    product of (m, k) and (k, n), two for each multiplication of a convolution, one for each number of anything else. Loops
    count as often as their bound says, of branches the larger.

    Args:
        model: Compiled and built.
        batch: What ``train_step`` is given.

    Returns:
        Fields of :class:`~autotune.records.LayerCost`, one dict for each part that costs anything, in the model's order.
    """
    optimizer = getattr(model, "optimizer", None)
    if optimizer is not None and not optimizer.built:
        optimizer.build(model.trainable_variables)
    leaves = keras.tree.flatten(batch)
    given = [index for index, leaf in enumerate(leaves) if leaf is not None]
    signature = [_signature(leaves[index]) for index in given]

    def step(*values: Any) -> Any:
        filled: list[Any] = [None] * len(leaves)
        for index, value in zip(given, values, strict=True):
            filled[index] = value
        return model.train_step(keras.tree.pack_sequence_as(batch, filled))

    layers = _layers(model)
    restore = _marked(model, layers)
    try:
        graph = tf.function(step, autograph=False).get_concrete_function(*signature).graph
    finally:
        restore()
    paths = [*layers, OPTIMIZER]
    counted: dict[str, dict[str, float]] = {}
    for name, op, times in _operations(graph, "", 1.0, {}):
        _add(counted.setdefault(_part(name, paths), {}), op, times)
    order = {path: place for place, path in enumerate((*layers, OUTSIDE, OPTIMIZER))}
    return [
        {
            "path": path,
            "type": type(layers[path]).__name__ if path in layers else None,
            **{kind: figures.get(kind, 0.0) for kind in ("matmul_flops", "convolution_flops", "other_flops", "bytes")},
        }
        for path, figures in sorted(counted.items(), key=lambda item: order[item[0]])
        if any(figures.values())
    ]


def _marked(model: Any, layers: dict[str, Any]) -> Callable[[], None]:
    """Opens a scope of ours around each layer and the optimizer, which the operations' names then carry; undone by a call.

    Gradients of an operation carry the scope of the operation itself.
    """
    marked: list[tuple[Any, str]] = []
    for number, layer in enumerate(layers.values()):
        object.__setattr__(layer, "call", _scoped(layer.call, f"{_MARK}{number}x"))
        marked.append((layer, "call"))
    optimizer = getattr(model, "optimizer", None)
    if optimizer is not None:
        object.__setattr__(optimizer, "apply", _scoped(optimizer.apply, f"{_MARK}{len(layers)}x"))
        marked.append((optimizer, "apply"))

    def restore() -> None:
        for owner, name in marked:
            vars(owner).pop(name, None)

    return restore


def _scoped(plain: Any, scope: str) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        with tf.name_scope(scope):
            return plain(*args, **kwargs)

    return call


def _part(name: str, paths: list[str]) -> str:
    """The innermost layer whose scope a name carries, the optimizer, or all else."""
    marks = _MARKED.findall(name)
    return paths[int(marks[-1])] if marks else OUTSIDE


def _layers(model: Any) -> dict[str, Any]:
    """Layers by path; cells of recurrent layers are counted with their layer."""
    return {
        layer_path(model, layer): layer
        for layer in model._flatten_layers(include_self=False)
        if type(layer).__name__ != "InputLayer" and not is_cell(layer)
    }


def _signature(leaf: Any) -> Any:
    return tf.TensorSpec(leaf.shape, tf.as_dtype(keras.backend.standardize_dtype(leaf.dtype)))


def _operations(graph: Any, scope: str, times: float, trips: dict[Any, float]) -> Iterator[tuple[str, Any, float]]:
    """Every operation with its whole name and how often a step runs it."""
    for op in _needed(graph):
        name = f"{scope}/{op.name}" if scope else op.name
        if op.type in _CALLS:
            yield from _operations(_function(graph, op.get_attr("f")), scope or op.name, times, trips)
        elif op.type in _LOOPS:
            rounds = _rounds(op, trips)
            yield from _operations(_function(graph, op.get_attr("body")), name, times * rounds, trips)
        elif op.type in _BRANCHES:
            names = (
                [op.get_attr("then_branch"), op.get_attr("else_branch")]
                if op.type.endswith("If")
                else list(op.get_attr("branches"))
            )
            branches = [list(_operations(_function(graph, branch), name, times, trips)) for branch in names]
            yield from max(branches, key=_weight)
        elif op.type not in _FREE:
            yield name, op, times


def _needed(graph: Any) -> list[Any]:
    """Operations that outputs or effects depend on; TensorFlow drops the others before it runs a graph."""
    open_ops = [tensor.op for tensor in graph.outputs] + list(graph.control_outputs)
    seen: dict[Any, None] = {}
    while open_ops:
        op = open_ops.pop()
        if op not in seen:
            seen[op] = None
            open_ops += [tensor.op for tensor in op.inputs] + list(op.control_inputs)
    return [op for op in graph.get_operations() if op in seen]


def _function(graph: Any, attribute: Any) -> Any:
    return graph._get_function(attribute.name if hasattr(attribute, "name") else attribute).graph


def _weight(operations: list[tuple[str, Any, float]]) -> float:
    figures: dict[str, float] = {}
    for _, op, times in operations:
        _add(figures, op, times)
    return sum(figures.values())


def _rounds(op: Any, trips: dict[Any, float]) -> float:
    """How often a loop runs at most: its second input says so; 1 where that is not known before it runs.

    The loop that takes the gradient of another goes as often as that one.
    """
    bound = _value(op.inputs[1])
    known = trips.get(op.inputs[1].op) if bound is None else float(bound)
    trips[op] = known if known is not None and 0 < known < _NO_BOUND else 1.0
    return trips[op]


def _value(tensor: Any) -> float | None:
    """A whole number that is known before the graph runs; Keras takes the longest of the inputs' lengths."""
    value = tf.get_static_value(tensor)
    if value is None and tensor.op.type in ("Max", "Identity"):
        value = tf.get_static_value(tensor.op.inputs[0])
    return None if value is None else float(np.max(value))


def _add(into: dict[str, float], op: Any, times: float) -> None:
    kind, flops = _flops(op)
    into[kind] = into.get(kind, 0.0) + flops * times
    into["bytes"] = into.get("bytes", 0.0) + _bytes(op) * times


def _flops(op: Any) -> tuple[str, float]:
    """What an operation computes, and of which kind it is."""
    if op.type in ("MatMul", "_FusedMatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "SparseMatMul"):
        left, out = _shape(op.inputs[0]), _shape(op.outputs[0])
        transposed = _attribute(op, "transpose_a") or _attribute(op, "adj_x")
        inner = (left[-2] if transposed else left[-1]) if len(left) > 1 else 1
        return "matmul_flops", 2.0 * math.prod(out) * inner
    if op.type == "Einsum":
        return "matmul_flops", 2.0 * _einsum(op)
    if op.type == "CudnnRNNV3" or op.type == "CudnnRNNBackpropV3":
        return "matmul_flops", _cudnn_rnn(op)
    # kernel (..., in, out): each number that goes in or comes out meets all others of its window once.
    if op.type in ("Conv2D", "Conv3D", "_FusedConv2D"):
        kernel = _shape(op.inputs[1])
        return "convolution_flops", 2.0 * math.prod(_shape(op.outputs[0])) * math.prod(kernel[:-1])
    if op.type in ("Conv2DBackpropInput", "Conv3DBackpropInputV2"):
        kernel, out = _shape(op.inputs[1]), _shape(op.inputs[2])
        return "convolution_flops", 2.0 * math.prod(out) * math.prod(kernel[:-1])
    if op.type in ("Conv2DBackpropFilter", "Conv3DBackpropFilterV2"):
        kernel, out = _shape(op.outputs[0]), _shape(op.inputs[2])
        return "convolution_flops", 2.0 * math.prod(out) * math.prod(kernel[:-1])
    if op.type == "DepthwiseConv2dNative":
        return "convolution_flops", 2.0 * math.prod(_shape(op.outputs[0])) * math.prod(_shape(op.inputs[1])[:2])
    if op.type == "DepthwiseConv2dNativeBackpropInput":
        return "convolution_flops", 2.0 * math.prod(_shape(op.inputs[2])) * math.prod(_shape(op.inputs[1])[:2])
    if op.type == "DepthwiseConv2dNativeBackpropFilter":
        return "convolution_flops", 2.0 * math.prod(_shape(op.inputs[2])) * math.prod(_shape(op.outputs[0])[:2])
    numbers = [
        sum(math.prod(_shape(tensor)) for tensor in side if _numeric(tensor)) for side in (op.inputs, op.outputs)
    ]
    return "other_flops", float(max(numbers))


def _einsum(op: Any) -> float:
    """Product of the sizes of all letters: how many multiplications there are."""
    equation = op.get_attr("equation").decode().replace(" ", "")
    sizes: dict[str, int] = {}
    rest = 1
    for letters, tensor in zip(equation.partition("->")[0].split(","), op.inputs, strict=True):
        shape = list(_shape(tensor))
        before, dots, after = letters.partition("...")
        named = [*zip(before, shape, strict=False)]
        if dots:
            named += [*zip(after, shape[len(shape) - len(after) :], strict=False)]
            rest = max(rest, math.prod(shape[len(before) : len(shape) - len(after)]))
        sizes.update(named)
    return float(math.prod(sizes.values()) * rest)


def _cudnn_rnn(op: Any) -> float:
    """A recurrent layer in one operation: its gates' products at every time step; the backward pass is twice that."""
    steps, batch, features = (*_shape(op.inputs[0]), 1, 1, 1)[:3]
    units = _shape(op.inputs[1])[-1]
    gates = _GATES.get(op.get_attr("rnn_mode").decode(), 1)
    return 2.0 * steps * batch * gates * units * (features + units) * (2 if "Backprop" in op.type else 1)


def _bytes(op: Any) -> float:
    if op.type.startswith("TensorListSetItem") or op.type.startswith("TensorListPushBack"):
        return float(_size(op.inputs[-1]))
    return float(sum(_size(tensor) for side in (op.inputs, op.outputs) for tensor in side))


def _size(tensor: Any) -> int:
    return int(math.prod(_shape(tensor))) * int(tensor.dtype.size) if _numeric(tensor) else 0


def _numeric(tensor: Any) -> bool:
    return tensor.dtype.base_dtype not in (tf.resource, tf.variant, tf.string)


def _shape(tensor: Any) -> tuple[int, ...]:
    """Static shape; 1 where a dimension is unknown."""
    if tensor.shape.rank is None:
        return ()
    return tuple(1 if size is None else int(size) for size in tensor.shape)


def _attribute(op: Any, name: str) -> bool:
    try:
        return bool(op.get_attr(name))
    except ValueError:
        return False

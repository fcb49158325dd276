"""Cheap checks of the captured model, data and script, before time is spent on measuring.

Each is a finding of severity ``info`` or ``warning``: a check that reads code can be wrong, a measurement decides.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np

from autotune.workload.describe import layer_path
from autotune.workload.lint_code import check_code
from autotune.workload.place import UserCode
from autotune.workload.policy import PolicyCall

FLOAT16_MAX = 65504.0
# Largest range of integers that the format holds exactly: 2 to the power of its significand's bits (IEEE 754; bfloat16: 8).
EXACT = {"mixed_bfloat16": 256, "mixed_float16": 2048}
_SAMPLE = 4096


def check(
    model: Any, fit: dict[str, Any], batch: Any, user: UserCode, policy_calls: list[PolicyCall]
) -> list[dict[str, Any]]:
    """All findings about a captured ``fit``, as plain dicts."""
    findings = [_placed(model, finding) for finding in check_code(user)]
    x, y = _sample(fit, batch)
    findings += _check_inputs(model, x)
    findings += _check_targets(model, y)
    findings += _check_statistics(model)
    for call in policy_calls:
        if call.replaced:
            findings.append(
                _finding(
                    "policy_replaced",
                    "info",
                    f"the script sets the dtype policy {call.name} itself; trials set their own instead",
                    line=call.location,
                    advice="a recommendation to keep float32 means removing this line",
                )
            )
        elif call.name == "float32":
            findings.append(
                _finding(
                    "policy_overridden",
                    "info",
                    "the script sets the dtype policy to float32 itself: no 16-bit policy can take effect",
                    line=call.location,
                    advice="remove this line to let 16-bit policies be tried",
                )
            )
    return findings


def _placed(model: Any, finding: dict[str, Any]) -> dict[str, Any]:
    """Gives a finding on code of a class the first layer of that class; the model's own name where it is the model's."""
    kind = finding.pop("class", "")
    layer = next((x for x in model._flatten_layers() if kind and type(x).__name__ == kind), None)
    if layer is None:
        return finding
    return {**finding, "layer": layer_path(model, layer)}


def _check_inputs(model: Any, x: Any) -> list[dict[str, Any]]:
    findings = []
    embeds = [layer for layer in model._flatten_layers(include_self=False) if type(layer).__name__ == "Embedding"]
    for name, values in _named(x):
        if not np.issubdtype(values.dtype, np.floating) or values.size == 0:
            continue
        with np.errstate(invalid="ignore"):
            largest = float(np.nanmax(np.abs(values)))
        if largest > FLOAT16_MAX:
            findings.append(
                _finding(
                    "inputs_beyond_float16",
                    "warning",
                    f"input {name} reaches {largest:.6g}, beyond float16's 65504: it arrives as inf",
                    policy="mixed_float16",
                    advice="scale the inputs before they reach the model",
                )
            )
        columns = (
            values.reshape(-1, values.shape[-1])
            if values.ndim == 2
            else values.reshape(-1, 1)
            if values.ndim == 1
            else None
        )
        if columns is None or columns.shape[1] > 512:
            continue
        for index in range(columns.shape[1]):
            column = columns[:, index]
            top = float(np.nanmax(np.abs(column))) if column.size else 0.0
            if top <= EXACT["mixed_bfloat16"] or not np.array_equal(column, np.round(column)):
                continue
            lossy = [p for p, exact in EXACT.items() if top > exact]
            place = f"column {index} of input {name}" if columns.shape[1] > 1 else f"input {name}"
            layer = embeds[0] if embeds else None
            use = f", and the model looks ids up in {layer.path or layer.name} (Embedding)" if layer is not None else ""
            findings.append(
                _finding(
                    "integers_as_floats",
                    "warning" if layer is not None else "info",
                    f"{place} holds integers up to {top:.0f} in a float array{use}: "
                    f"{' and '.join(lossy)} round{'s' if len(lossy) == 1 else ''} them before the model sees them",
                    layer=None if layer is None else layer.name,
                    advice="pass ids as an integer input of their own, or give that input dtype float32",
                )
            )
    return findings


def _check_targets(model: Any, y: Any) -> list[dict[str, Any]]:
    for name, values in _named(y):
        if (
            np.issubdtype(values.dtype, np.number)
            and values.size
            and "sparse" not in str(getattr(model, "loss", "")).lower()
        ):
            with np.errstate(invalid="ignore"):
                largest = float(np.nanmax(np.abs(values.astype("float64"))))
            if largest > FLOAT16_MAX:
                output = model.layers[-1] if getattr(model, "layers", None) else None
                return [
                    _finding(
                        "targets_beyond_float16",
                        "warning",
                        f"targets {name} reach {largest:.6g}: predictions of that size overflow in float16 (65504)",
                        layer=None if output is None else output.name,
                        policy="mixed_float16",
                        advice='scale the targets, or give the output layer dtype="float32"',
                    )
                ]
    return []


def _check_statistics(model: Any) -> list[dict[str, Any]]:
    findings = []
    for layer in model._flatten_layers(include_self=False):
        if type(layer).__name__ != "Normalization":
            continue
        for name in ("mean", "variance"):
            value = getattr(layer, name, None)
            if value is None:
                continue
            largest = float(np.max(np.abs(np.array(keras.ops.convert_to_numpy(value)).astype("float64")), initial=0.0))
            if not largest <= FLOAT16_MAX:  # also true for inf and NaN
                shown = f"{largest:.6g}" if np.isfinite(largest) else "inf"
                findings.append(
                    _finding(
                        "statistics_beyond_float16",
                        "warning",
                        f"the adapted {name} of Normalization layer {layer.name} reaches {shown}, beyond float16's 65504: "
                        "it becomes inf and wipes out the column",
                        layer=layer.name,
                        policy="mixed_float16",
                        advice='give that layer dtype="float32", or scale the column first',
                    )
                )
                break
    return findings


def _sample(fit: dict[str, Any], batch: Any) -> tuple[Any, Any]:
    """Up to a few thousand rows where the data are arrays, else the first batch."""
    x, y = fit.get("x"), fit.get("y")
    if all(isinstance(leaf, np.ndarray) for leaf in keras.tree.flatten((x, y)) if leaf is not None) and y is not None:
        step = max(1, len(keras.tree.flatten(x)[0]) // _SAMPLE)
        return keras.tree.map_structure(lambda a: a[::step], x), keras.tree.map_structure(lambda a: a[::step], y)
    parts = batch if isinstance(batch, tuple) else (batch,)
    return parts[0], parts[1] if len(parts) > 1 else None


def _named(value: Any) -> list[tuple[str, np.ndarray]]:
    if value is None:
        return []
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list | tuple)
        else [("", value)]
    )
    named = []
    for name, leaf in items:
        if hasattr(leaf, "numpy") and not hasattr(leaf, "row_splits"):
            leaf = leaf.numpy()
        if isinstance(leaf, np.ndarray) and leaf.dtype.kind in "fiub":
            named.append((str(name) if name != "" else "x", leaf))
    return named


def _finding(code: str, severity: str, message: str, **more: Any) -> dict[str, Any]:
    return {"code": code, "severity": severity, "message": message, **more}


def script_writes(written: list[str], sent: list[str], script: str) -> list[dict[str, Any]]:
    """What the script itself did before ``fit``, if anything."""
    findings = []
    if written:
        shown = ", ".join(written[:3]) + (f" and {len(written) - 3} more" if len(written) > 3 else "")
        findings.append(
            _finding(
                "script_writes",
                "info",
                f"{Path(script).name} itself writes {shown} before fit, in every trial",
                advice="move it behind fit, or run on a copy of the folder, if that matters",
            )
        )
    if sent:
        findings.append(
            _finding("script_sends", "info", f"{Path(script).name} starts {', '.join(sent)} before fit, in every trial")
        )
    return findings

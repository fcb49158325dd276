"""Checks that read the user's source: loss scaling in ``train_step``, constants that 16 bits do not hold."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from autotune.workload.place import UserCode

# float16: smallest subnormal 2**-24; half of it and less rounds to zero (IEEE 754 binary16).
_FLOAT16_ZERO = 2.0**-25
_FLOAT16_MAX = 65504.0
_GONE = {"get_scaled_loss": "optimizer.scale_loss(loss)", "get_unscaled_gradients": "nothing: apply unscales by itself"}
_CLIPS = {"clip_by_global_norm", "clip_by_norm", "clip_by_value", "global_norm"}
_APPLIES = {"apply_gradients", "apply"}


def check_code(user: UserCode) -> list[dict[str, Any]]:
    """Findings from the script and the user's modules that it imported; ``class`` names the one that the code stands in."""
    findings: list[dict[str, Any]] = []
    for name, tree in user.sources():
        findings += _train_steps(tree, name)
        findings += _gone_calls(tree, name)
        findings += _constants(tree, name)
    return findings


def _train_steps(tree: ast.Module, name: str) -> Iterator[dict[str, Any]]:
    for node in ast.walk(tree):
        if not (isinstance(node, ast.FunctionDef) and node.name == "train_step"):
            continue
        calls = [(call.lineno, _called(call)) for call in ast.walk(node) if isinstance(call, ast.Call)]
        called = {what for _, what in calls}
        uses_own = any(isinstance(part, ast.Attribute) and part.attr == "optimizer" for part in ast.walk(node))
        if not called & {"gradient", "GradientTape"} or not called & _APPLIES or not uses_own:
            continue
        line = f"{name}:{node.lineno}"
        if not called & {"scale_loss", "get_scaled_loss"}:
            yield {
                "code": "loss_not_scaled",
                "severity": "warning",
                "policy": "mixed_float16",
                "line": line,
                "message": "this train_step never calls optimizer.scale_loss: under mixed_float16 its gradients are divided "
                "by a loss "
                "scale that they were never multiplied by, and hardly anything is learned",
                "advice": "scaled = self.optimizer.scale_loss(loss) inside the tape, and take the gradients of that",
            }
        elif called & _CLIPS:
            first_clip = min(at for at, what in calls if what in _CLIPS)
            yield {
                "code": "clips_scaled_gradients",
                "severity": "warning",
                "policy": "mixed_float16",
                "line": f"{name}:{first_clip}",
                "message": "this train_step clips gradients that are still multiplied by the loss scale: under mixed_float16 "
                "the clipped "
                "steps are as many times too small",
                "advice": "give the optimizer clipnorm, global_clipnorm or clipvalue instead: it clips after unscaling",
            }


def _gone_calls(tree: ast.Module, name: str) -> Iterator[dict[str, Any]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (what := _called(node)) in _GONE:
            yield {
                "code": "loss_scaling_call_gone",
                "severity": "warning",
                "policy": "mixed_float16",
                "line": f"{name}:{node.lineno}",
                "message": f"{what} does not exist in Keras 3",
                "advice": f"write {_GONE[what]}",
            }


def _constants(tree: ast.Module, name: str) -> Iterator[dict[str, Any]]:
    classes = _classes(tree)
    for owner in ast.walk(tree):
        if not isinstance(owner, ast.FunctionDef) or not _uses_tensors(owner):
            continue
        kind = classes.get(owner, "")
        where = f"{kind}.{owner.name}" if kind else owner.name
        for node in ast.walk(owner):
            if not isinstance(node, ast.BinOp):
                continue
            for side in (node.left, node.right):
                value = _number(side)
                if value is None:
                    continue
                line = f"{name}:{node.lineno}"
                if isinstance(node.op, ast.Add | ast.Sub) and 0 < abs(value) < _FLOAT16_ZERO:
                    yield {
                        "code": "epsilon_vanishes",
                        "severity": "info",
                        "policy": "mixed_float16",
                        "line": line,
                        "class": kind,
                        "message": f"epsilon {value:g} in {where} is 0 in float16: it protects nothing there",
                        "advice": "use an epsilon of at least 1e-7, or compute this in float32",
                    }
                elif abs(value) > _FLOAT16_MAX:
                    yield {
                        "code": "constant_overflows",
                        "severity": "info",
                        "policy": "mixed_float16",
                        "line": line,
                        "class": kind,
                        "message": f"constant {value:g} in {where} is infinite in float16, and 0 times it is NaN",
                        "advice": "use a mask value of -3e4, or compute this in float32",
                    }


def _classes(tree: ast.Module) -> dict[ast.FunctionDef, str]:
    """Functions that stand in a class, and the name of the innermost one."""
    found: dict[ast.FunctionDef, str] = {}
    for kind in ast.walk(tree):  # outer classes come before inner ones
        if isinstance(kind, ast.ClassDef):
            found |= {node: kind.name for node in ast.walk(kind) if isinstance(node, ast.FunctionDef)}
    return found


def _uses_tensors(function: ast.FunctionDef) -> bool:
    names = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    return function.name in ("call", "train_step", "compute_loss") or bool(names & {"ops", "tf", "K", "keras"})


def _called(call: ast.Call) -> str:
    return (
        call.func.attr
        if isinstance(call.func, ast.Attribute)
        else call.func.id
        if isinstance(call.func, ast.Name)
        else ""
    )


def _number(node: ast.expr) -> float | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        return _number(node.operand)
    if isinstance(node, ast.Constant) and isinstance(node.value, float):
        return abs(node.value)
    return None

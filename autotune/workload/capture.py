"""Captures the script's ``fit``."""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras

from autotune.workload.place import UserCode

_KEYWORDS = {
    "epochs",
    "batch_size",
    "validation_data",
    "validation_split",
    "callbacks",
    "verbose",
    "steps_per_epoch",
    "class_weight",
    "sample_weight",
    "initial_epoch",
    "validation_steps",
}


@dataclass(slots=True)
class CapturedFit:
    """One call of ``fit``, with its arguments by name.

    Attributes:
        model: The model.
        arguments: Arguments by name, defaults filled in.
        location: ``file:line``.
        index: 1 for the first.
    """

    model: Any
    arguments: dict[str, Any]
    location: str
    index: int

    @property
    def epochs(self) -> int:
        """Planned epochs."""
        return max(1, int(self.arguments.get("epochs") or 1) - int(self.arguments.get("initial_epoch") or 0))


class FitPatch:
    """Stands in for ``Model.fit`` while the script runs.

    Args:
        user: Knows the user's files.
        wanted: Index of the ``fit`` to measure, from 1; 0 for none (to list them all).
        serve: Called with the wanted fit; does not return.
    """

    def __init__(self, user: UserCode, wanted: int, serve: Callable[[CapturedFit], None]) -> None:
        self._user = user
        self._wanted = wanted
        self._serve = serve
        self.seen: list[dict[str, Any]] = []
        self.after_fit: Callable[[], None] = lambda: None
        self.plain = keras.Model.fit
        self._signature = inspect.signature(self.plain)
        patch = self

        def fit(model: Any, *args: Any, **kwargs: Any) -> Any:
            return patch._called(model, args, kwargs)

        keras.Model.fit = fit

    def remove(self) -> None:
        """Puts Keras' own ``fit`` back."""
        keras.Model.fit = self.plain

    def _called(self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        bound = self._signature.bind(model, *args, **kwargs)
        bound.apply_defaults()
        arguments = {name: value for name, value in bound.arguments.items() if name != "self"}
        call = CapturedFit(model, arguments, self._user.caller() or Path(self._user.script).name, len(self.seen) + 1)
        self.seen.append(
            {
                "index": call.index,
                "location": call.location,
                "model": str(model.name),
                "planned_steps": planned_steps(arguments),
            }
        )
        if call.index == self._wanted:
            self._serve(call)
        history = self._briefly(call)
        self.after_fit()
        return history

    def _briefly(self, call: CapturedFit) -> Any:
        """Runs a fit that is not measured for one step, so that what follows finds a trained model and a history."""
        short = dict(call.arguments)
        x = short.get("x")
        if hasattr(x, "shape") or isinstance(x, dict | list | tuple):
            short["batch_size"] = short.get("batch_size") or 32
        short |= {
            "epochs": int(short.get("initial_epoch") or 0) + 1,
            "steps_per_epoch": 1,
            "callbacks": None,
            "verbose": 0,
        }
        if short.get("validation_data") is not None or short.get("validation_split"):
            short["validation_steps"] = 1
        return self.plain(call.model, **short)


def planned_steps(fit: dict[str, Any]) -> int | None:
    """Steps that a plain run of this ``fit`` would take; None where its length cannot be known without running it."""
    epochs = max(1, int(fit.get("epochs") or 1) - int(fit.get("initial_epoch") or 0))
    steps = fit.get("steps_per_epoch")
    x: Any = fit.get("x")
    if not steps:
        leaves = [
            leaf for leaf in keras.tree.flatten(x) if hasattr(leaf, "shape") and len(getattr(leaf, "shape", ())) > 0
        ]
        if leaves and not hasattr(x, "element_spec"):
            kept = 1.0 - float(fit.get("validation_split") or 0.0)
            steps = math.ceil(int(leaves[0].shape[0]) * kept / (fit.get("batch_size") or 32))
        elif hasattr(x, "cardinality") and callable(x.cardinality) and int(x.cardinality()) > 0:
            steps = int(x.cardinality())
        elif hasattr(x, "num_batches") and x.num_batches:
            steps = int(x.num_batches)
    return int(steps) * epochs if steps else None


def fit_sites(user: UserCode) -> list[str]:
    """``file:line`` of each call in the user's code that looks like Keras' ``fit``.

    scikit-learn's ``fit`` takes data alone; a call counts that has one of Keras' own keywords, or ``**kwargs``.
    """
    found = []
    for name, tree in user.sources():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "fit":
                keywords = {keyword.arg for keyword in node.keywords}
                if keywords & _KEYWORDS or None in keywords:
                    found.append(f"{name}:{node.lineno}")
    return found

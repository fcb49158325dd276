"""A module with ``build_model()`` and ``load_data()`` in place of a script that calls ``fit``."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

_FIT_NAMES = (
    "x",
    "y",
    "sample_weight",
    "validation_data",
    "batch_size",
    "epochs",
    "steps_per_epoch",
    "validation_steps",
    "class_weight",
    "callbacks",
)


def offered() -> tuple[Callable[[], Any], Callable[[], Any]] | None:
    """``build_model`` and ``load_data`` of the module that just ran as ``__main__``; None when it has not both."""
    module = sys.modules.get("__main__")
    build, load = getattr(module, "build_model", None), getattr(module, "load_data", None)
    if callable(build) and callable(load) and not _required(build) and not _required(load):
        return build, load
    return None


def fit_from(build: Callable[[], Any], load: Callable[[], Any]) -> None:
    """Builds the model and trains it on what ``load_data`` returns.

    ``load_data`` returns ``(x, y)``, ``((x, y), (x_val, y_val))``, a dataset, ``(dataset, validation_dataset)`` or a dict
    with the arguments of ``fit``.
    """
    model = build()
    model.fit(**_arguments(load()))


def _arguments(data: Any) -> dict[str, Any]:
    if isinstance(data, dict) and set(data) <= set(_FIT_NAMES) and "x" in data:
        return data
    if isinstance(data, tuple) and len(data) == 2:
        first, second = data
        if isinstance(first, tuple) and isinstance(second, tuple):
            names = ("x", "y", "sample_weight")
            return {**dict(zip(names, first, strict=False)), "validation_data": second}
        if _dataset(first):
            return {"x": first, "validation_data": second}
        return {"x": first, "y": second}
    return {"x": data}


def _dataset(value: Any) -> bool:
    return hasattr(value, "element_spec") or (hasattr(value, "__getitem__") and hasattr(value, "num_batches"))


def _required(function: Callable[..., Any]) -> bool:
    parameters = inspect.signature(function).parameters.values()
    return any(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)

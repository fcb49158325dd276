"""The Python API."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from autotune.progress import Listener, ignore
from autotune.records import Recommendation
from autotune.settings import resolve
from autotune.store import read_recommendation


def recommend(
    target: str | os.PathLike[str], *, budget_s: float | None = None, listener: Listener = ignore, **options: Any
) -> Recommendation:
    """Measures a training script and recommends how to run it.

    Args:
        target: Training script, or module with ``build_model()`` and ``load_data()``.
        budget_s: Wall-clock budget in seconds.
        listener: Is told what happens, see ``autotune.progress``.
        **options: Options of ``autotune recommend`` with underscores, such as ``batch_size="32:1024"``,
            ``policy=["mixed_bfloat16"]``, ``out=Path("runs/1")`` or ``arguments=["--epochs", "5"]``.

    Returns:
        The answer with its evidence. ``interrupted`` is set where the user stopped the run.

    Raises:
        UsageError: An option or path is wrong.
        WorkloadError: The script fails, never calls ``fit``, or is not finite at float32.
        BudgetError: The budget ran out before the baseline was measured.
        HardwareError: Hardware or framework cannot be used.
    """
    from autotune.tuner import tune

    given = {**options, "budget": budget_s}
    said = {} if budget_s is None else {"budget_s": budget_s}
    arguments = ", ".join([repr(os.fspath(target)), *(f"{name}={value!r}" for name, value in (said | options).items())])
    return tune(resolve(os.fspath(target), given, os.environ), listener, command=f"autotune.recommend({arguments})")


def load(path: str | os.PathLike[str]) -> Recommendation:
    """Reads a recommendation back.

    Args:
        path: A ``recommendation.json``, or the folder of its run.

    Raises:
        UsageError: There is none, or it is damaged or foreign.
    """
    return read_recommendation(Path(path))

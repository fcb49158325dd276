"""The trials as a table of pandas: one row a trial, one column a quantity, units in the names."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from autotune.records import Configuration, Recommendation, TrialRow

if TYPE_CHECKING:
    import pandas as pd


def trials_frame(record: Recommendation) -> pd.DataFrame:
    """All trials of a run.

    Returns:
        Columns: ``trial``, ``purpose``, ``outcome``, ``seed``, the knobs of the configuration, then what was measured. What was
        not measured is missing.
    """
    import pandas as pd

    frame = pd.DataFrame([trial_values(trial) for trial in record.trials], columns=[*_columns()])
    # Whole numbers stay whole where some are missing.
    whole = ("batch_size", "loss_scale_growth_steps", "peak_memory_bytes")
    return frame.astype({name: "Int64" for name in whole})


def trial_values(trial: TrialRow) -> dict[str, Any]:
    """One trial as flat values by column; None for what was not measured."""
    measured = {
        f.name: getattr(trial, f.name)
        for f in fields(TrialRow)
        if f.name not in ("number", "purpose", "outcome", "seed", "configuration")
    }
    return {
        "trial": trial.number,
        "purpose": trial.purpose,
        "outcome": str(trial.outcome),
        "seed": trial.seed,
        **knob_values(trial.configuration),
        **measured,
    }


def knob_values(configuration: Configuration) -> dict[str, Any]:
    """A configuration as flat values by knob."""
    scale = configuration.loss_scale
    return {
        "policy": configuration.policy,
        "batch_size": configuration.batch_size,
        "learning_rate_factor": configuration.learning_rate_factor,
        "jit_compile": configuration.jit_compile,
        "steps_per_execution": configuration.steps_per_execution,
        "tf32": configuration.tf32,
        "loss_scale_mode": None if scale is None else scale.mode,
        "loss_scale_initial": None if scale is None else scale.initial,
        "loss_scale_growth_steps": None if scale is None else scale.growth_steps,
        "float32_layers": " ".join(configuration.float32_layers) or None,
    }


def _columns() -> tuple[str, ...]:
    empty = TrialRow(number=0, purpose="speed", configuration=Configuration(), outcome="ok", seed=0)  # type: ignore[arg-type]
    return tuple(trial_values(empty))

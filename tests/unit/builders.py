"""Small functions that build records for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autotune.records import (
    Chunk,
    Configuration,
    CpuInfo,
    CurvePoint,
    HardwareProfile,
    JudgeOptions,
    Measurement,
    Outcome,
    RunRecord,
    SoftwareInfo,
    StepTrace,
    WorkloadInfo,
)

BASELINE = Configuration(batch_size=32)
BFLOAT16 = BASELINE.but(policy="mixed_bfloat16")
FLOAT16 = BASELINE.but(policy="mixed_float16")


def chunks(
    step_time_s: float, *, count: int = 12, batch: float = 32, noise: float = 0.005, seed: int = 0
) -> tuple[Chunk, ...]:
    """Timed chunks of ten steps, one of warm-up before them."""
    rng = np.random.default_rng(seed)
    times = step_time_s * 10 * np.exp(noise * rng.standard_normal(count))
    warm = Chunk(steps=1, duration_s=100 * step_time_s, samples=batch, warmup=True)
    return (warm, *(Chunk(steps=10, duration_s=float(t), samples=10 * batch) for t in times))


def speed_trial(configuration: Configuration = BASELINE, step_time_s: float = 0.01, **more: Any) -> Measurement:
    """A speed trial."""
    seed = more.pop("noise_seed", 0)
    timed = chunks(step_time_s, batch=configuration.batch_size or 32, seed=seed)
    values = {"outcome": Outcome.OK, "steps": 121, "updates": 121, "weights_moved": True, **more}
    return Measurement(number=0, purpose="speed", configuration=configuration, chunks=timed, **values)


def quality_run(
    configuration: Configuration, seed: int, curve: Sequence[float], *, metric: str = "val_accuracy", **more: Any
) -> Measurement:
    """A quality run whose metric takes these values at the ends of epochs of 1,000 samples."""
    points = tuple(CurvePoint(step=31 * n, samples=1000.0 * n, values={metric: v}) for n, v in enumerate(curve, 1))
    values = {
        "outcome": Outcome.OK, "steps": 31 * len(curve), "updates": 31 * len(curve), "weights_moved": True,
        "weights_hash": f"seed {seed}", "data_hash": f"seed {seed}", "share_of_plan": 1.0, **more,
    }  # fmt: skip
    return Measurement(number=0, purpose="quality", configuration=configuration, seed=seed, curve=points, **values)


def duel(baseline_s: float, candidate: Configuration, candidate_s: float, *, pairs: int = 20) -> list[Measurement]:
    """Both sides of a duel."""
    name = f"{BASELINE.key}-{candidate.key}"
    common = {"number": 0, "purpose": "duel", "outcome": Outcome.OK, "duel_id": name, "steps": 200, "updates": 200}
    return [
        Measurement(configuration=BASELINE, chunks=chunks(baseline_s, count=pairs, seed=5), **common),
        Measurement(
            configuration=candidate,
            chunks=chunks(candidate_s, count=pairs, batch=candidate.batch_size or 32, seed=6),
            **common,
        ),
    ]


def workload(**more: Any) -> WorkloadInfo:
    """A workload judged by validation accuracy."""
    values = {
        "target": "train.py", "batch_size": 32, "samples_per_epoch": 1000, "steps_per_epoch": 32, "epochs": 5, "data": "arrays",
        "metric": "val_accuracy", "metric_direction": "max", "metric_source": "validation", "validation": "validation_data",
    }  # fmt: skip
    return WorkloadInfo(**{**values, **more})


def hardware(**more: Any) -> HardwareProfile:
    """A processor with bfloat16 units and without float16 units."""
    cpu = CpuInfo(name="a processor", logical_cores=2, bfloat16_units=True, float16_units=False)
    software = SoftwareInfo(autotune="0", python="3", system="Linux")
    return HardwareProfile(**{"device": "cpu", "cpu": cpu, "software": software, **more})


def record(measurements: Sequence[Measurement], **more: Any) -> RunRecord:
    """The record of a run."""
    numbered = [Measurement(**{**fields_of(m), "number": n}) for n, m in enumerate(measurements)]
    values = {
        "command": "autotune recommend train.py", "started_at": "2026-01-01T00:00:00+00:00", "budget_s": 600.0, "tuning_s": 60.0,
        "hardware": hardware(), "workload": workload(), "baseline": BASELINE, "options": JudgeOptions(), **more,
    }  # fmt: skip
    return RunRecord(measurements=tuple(numbered), **values)


def fields_of(measurement: Measurement) -> dict[str, Any]:
    """A measurement's fields by name."""
    return {name: getattr(measurement, name) for name in Measurement.__dataclass_fields__}


def trace(*, updates: Sequence[int], loss_scale: Sequence[float] = ()) -> StepTrace:
    """A trace by step."""
    return StepTrace(loss=tuple(0.1 for _ in updates), updates=tuple(updates), loss_scale=tuple(loss_scale))

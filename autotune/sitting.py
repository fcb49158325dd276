"""What every measuring command begins with: run folder, probe, workers and a bench, all given free at the end."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from autotune.budget import Budget
from autotune.capture import check_backend
from autotune.measure.bench import Bench
from autotune.measure.launcher import Launcher, LocalLauncher
from autotune.measure.spec import WorkerSpec
from autotune.probe.others import Reading, read_counters
from autotune.probe.profile import probe
from autotune.progress import Listener, StageStarted
from autotune.readiness import ready
from autotune.records import HardwareProfile
from autotune.settings import Settings
from autotune.store import RunFolder

LauncherFactory = Callable[[Path, HardwareProfile, int | None], Launcher]


@dataclass(frozen=True, kw_only=True, slots=True)
class Sitting:
    """One command's measuring.

    Attributes:
        budget: Time, counted from the start of the sitting.
        folder: The run folder, held.
        profile: What the machine is.
        bench: Runs trials of the target.
        counters: What the processor had done before anything was measured.
        digest: Hash of the script's text.
        room_bytes: Memory in which workers may be side by side; 0 where they must not be at work at once.
    """

    budget: Budget
    folder: RunFolder
    profile: HardwareProfile
    bench: Bench
    counters: Reading | None
    digest: str
    room_bytes: float


@contextmanager
def sitting(settings: Settings, listener: Listener, launcher: LauncherFactory | None = None) -> Iterator[Sitting]:
    """Opens the run folder, probes the machine and starts what runs workers; ends all of it.

    Args:
        settings: Target, budget, run folder, memory limit.
        listener: Is told what happens.
        launcher: Makes the launcher of workers; workers on this machine by default.

    Raises:
        WorkloadError: Keras runs on another backend.
        UsageError: The run folder cannot be used.
        HardwareError: No worker can be started.
        NoisyMachineError: Others keep the machine busy, and the settings do not allow that.
    """
    check_backend(os.environ)
    budget = Budget(settings.budget_s)
    with RunFolder.open_for(settings) as folder:
        listener(StageStarted(stage="probe", detail="what this machine is"))
        profile, waited_s = ready(probe, settings.on_busy, budget.total_s, listener)
        if waited_s:  # waiting is no measuring
            budget = Budget(settings.budget_s)
        counters = read_counters()
        workers = (launcher or local_launcher)(folder.logs, profile, settings.memory_limit_bytes)
        spec = WorkerSpec(
            script=str(settings.target.resolve()),
            target=str(settings.target),
            arguments=settings.arguments,
            cwd=str(Path.cwd()),
            log_path="",
            metric=settings.metric or "",
        )
        room_bytes = _room_bytes(profile)
        bench = Bench(workers, spec, str(folder.logs), room_bytes=room_bytes or None)
        digest = hashlib.sha256(settings.target.read_bytes()).hexdigest()[:16]
        try:
            yield Sitting(
                budget=budget,
                folder=folder,
                profile=profile,
                bench=bench,
                counters=counters,
                digest=digest,
                room_bytes=room_bytes,
            )
        finally:
            bench.close()
            workers.close()


def local_launcher(logs: Path, profile: HardwareProfile, memory_limit_bytes: int | None) -> Launcher:
    """Workers on this machine: forked on a CPU, fresh processes with a GPU."""
    environment = {**os.environ, "TF_FORCE_GPU_ALLOW_GROWTH": os.environ.get("TF_FORCE_GPU_ALLOW_GROWTH", "true")}
    limit = memory_limit_bytes if profile.device == "cpu" else None
    return LocalLauncher(logs, environment, limit, fork=profile.device == "cpu")


def _room_bytes(profile: HardwareProfile) -> float:
    """Memory in which workers may be side by side; 0 on a GPU, whose memory two of them would share unseen."""
    if profile.device != "cpu":
        return 0.0
    known = [size for size in (profile.cpu.memory_bytes, profile.cpu.memory_available_bytes) if size is not None]
    return min(known, default=math.inf)

"""The probe: everything that can be learned of the machine without running anything on it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal, TypeVar

import psutil

from autotune.probe.cpu import allowed_cores, probe_cpu
from autotune.probe.fitness import busy, fitness_findings
from autotune.probe.nvidia import GpuProbe, probe_gpus
from autotune.probe.software import probe_software
from autotune.probe.tpu import probe_tpu, tensorflow_can_use, tpu_findings
from autotune.records import Ceiling, CpuInfo, Finding, GpuInfo, HardwareProfile, Severity, TpuInfo

# A look at the processor where the last minute's load was high, and below what it counts as idle.
_LOOK_S, _IDLE_PERCENT = 0.3, 20.0
T = TypeVar("T")


def probe(
    root: Path = Path("/"),
    environment: Mapping[str, str] = os.environ,
    *,
    gpu_timeout_s: float = 5.0,
    ceilings: tuple[Ceiling, ...] = (),
) -> HardwareProfile:
    """What this machine is. No failure of a part ends it: what was not learned is unknown, and a finding says why.

    Args:
        root: Folder that holds ``proc``, ``sys`` and ``dev``.
        environment: Variables of the process to be measured.
        gpu_timeout_s: Time given to the NVIDIA driver.
        ceilings: Limits measured earlier, to be kept with the profile.
    """
    findings: list[Finding] = []
    no_gpu: GpuProbe = ((), (), None, None)
    no_tpu: tuple[TpuInfo | None, bool] = (None, False)
    # The driver is asked in a process of its own; the rest is read meanwhile.
    with ThreadPoolExecutor(max_workers=1) as pool:
        asked = pool.submit(probe_gpus, environment, gpu_timeout_s)
        cpu = _part("processor", lambda: probe_cpu(root), CpuInfo(), findings)
        seen_cores = _part("processor's affinity", lambda: allowed_cores(root), None, findings)
        tpu, tpu_usable = _part("TPU", lambda: _tpu(root, environment), no_tpu, findings)
        gpus, gpu_findings, driver, cuda = _part("GPU", asked.result, no_gpu, findings)
    findings += gpu_findings
    if tpu is not None:
        findings += tpu_findings(tpu, usable=tpu_usable)
    chosen = "TF_NUM_INTRAOP_THREADS" in environment
    idle_now = root == Path("/") and busy(cpu) and psutil.cpu_percent(interval=_LOOK_S) < _IDLE_PERCENT
    findings += fitness_findings(cpu, gpus, seen_cores=None if chosen else seen_cores, idle_now=idle_now)
    return HardwareProfile(
        device=_device(gpus, tpu_usable),
        cpu=cpu,
        gpus=gpus,
        tpu=tpu,
        software=probe_software(nvidia_driver=driver, cuda=cuda),
        ceilings=ceilings,
        findings=tuple(findings),
    )


def _part(name: str, read: Callable[[], T], otherwise: T, findings: list[Finding]) -> T:
    try:
        return read()
    except Exception as error:
        # Whatever an odd machine makes of a part, the run goes on without it.
        findings.append(
            Finding(
                code="probe_failed",
                severity=Severity.WARNING,
                message=f"the probe of the {name} failed: {type(error).__name__}: {error}",
                advice="nothing to do: what it would have told is treated as unknown; please report it",
            )
        )
        return otherwise


def _tpu(root: Path, environment: Mapping[str, str]) -> tuple[TpuInfo | None, bool]:
    tpu = probe_tpu(root, environment)
    return tpu, tpu is not None and tensorflow_can_use(tpu, root, environment)


def _device(gpus: tuple[GpuInfo, ...], tpu_usable: bool) -> Literal["cpu", "gpu", "tpu"]:
    """Where training is expected to run; TensorFlow in the worker has the last word."""
    if any(gpu.visible is not False for gpu in gpus):
        return "gpu"
    return "tpu" if tpu_usable else "cpu"

"""What the machine is: known facts, and None for whatever could not be learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from autotune.records.finding import Finding


@dataclass(frozen=True, kw_only=True, slots=True)
class CpuInfo:
    """The processor as this process may use it.

    Attributes:
        name: Model name.
        architecture: ``x86_64``, ``aarch64``, ...
        logical_cores: Cores that affinity and cgroup limits leave, at least 1.
        machine_cores: Logical cores of the whole machine.
        memory_bytes: Memory that this process may use (cgroup limit or the machine's).
        memory_available_bytes: Memory free for use now.
        flags: Instruction sets that decide 16-bit speed, e.g. ``avx512_bf16``.
        bfloat16_units: Whether there are bfloat16 units; None when unknown.
        float16_units: Whether there are float16 arithmetic units; None when unknown.
        load_1m: Load average of the last minute.
    """

    name: str | None = None
    architecture: str | None = None
    logical_cores: int | None = None
    machine_cores: int | None = None
    memory_bytes: int | None = None
    memory_available_bytes: int | None = None
    flags: tuple[str, ...] = ()
    bfloat16_units: bool | None = None
    float16_units: bool | None = None
    load_1m: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuInfo:
    """One NVIDIA device as NVML describes it.

    Attributes:
        index: NVML's number of the card, by PCI bus; an instance has its card's.
        name: Model name.
        uuid: ``GPU-...``, or ``MIG-...`` for an instance.
        pci_bus_id: Domain, bus, device and function of the card.
        compute_capability: Major and minor number.
        memory_total_bytes: Memory of the card or instance; None also where it shares the machine's.
        memory_free_bytes: Memory that nobody uses now.
        power_limit_w: Power limit in force.
        sm_clock_mhz: Clock of the multiprocessors now.
        max_sm_clock_mhz: Highest clock of the multiprocessors.
        throttle_reasons: Why the clock is held down now.
        mig_parent_uuid: The card that an instance is part of; None for a whole card.
        process_count: Processes that compute on it now.
        visible: Whether a CUDA program sees it; None where that cannot be told.
        float16_units: Whether float16 arithmetic is at least as fast as float32.
        bfloat16_units: Whether there are bfloat16 tensor cores.
        tf32_units: Whether float32 products can run in TensorFloat-32.
        tensor_cores: Whether its generation has tensor cores.
        float8_units: Whether there are FP8 tensor cores; no policy uses them.
    """

    index: int
    name: str | None = None
    uuid: str | None = None
    pci_bus_id: str | None = None
    compute_capability: tuple[int, int] | None = None
    memory_total_bytes: int | None = None
    memory_free_bytes: int | None = None
    power_limit_w: float | None = None
    sm_clock_mhz: int | None = None
    max_sm_clock_mhz: int | None = None
    throttle_reasons: tuple[str, ...] = ()
    mig_parent_uuid: str | None = None
    process_count: int | None = None
    visible: bool | None = None
    float16_units: bool | None = None
    bfloat16_units: bool | None = None
    tf32_units: bool | None = None
    tensor_cores: bool | None = None
    float8_units: bool | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TpuInfo:
    """Signs of a TPU.

    Attributes:
        evidence: Device files, PCI devices and names of variables that speak of one.
        kind: ``v4``, ``v5e``, ``v5litepod-8``, ...; None when unknown.
        chips: Chips found in this machine; None where only the environment speaks of a TPU.
        hosts: Machines that the TPU spans; None when unknown.
    """

    evidence: tuple[str, ...]
    kind: str | None = None
    chips: int | None = None
    hosts: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SoftwareInfo:
    """Versions that a measurement depends on.

    Attributes:
        autotune: Version of this program.
        python: Version of Python.
        system: Operating system, its release and the architecture.
        tensorflow: Version of TensorFlow, under whatever name it is installed.
        keras: Version of Keras.
        optuna: Version of Optuna.
        numpy: Version of NumPy.
        nvidia_driver: Version of the NVIDIA driver.
        cuda: Newest CUDA version that the driver supports.
        tensorflow_distribution: Name under which TensorFlow is installed, such as ``tensorflow-cpu``.
    """

    autotune: str
    python: str
    system: str
    tensorflow: str | None = None
    keras: str | None = None
    optuna: str | None = None
    numpy: str | None = None
    nvidia_driver: str | None = None
    cuda: str | None = None
    tensorflow_distribution: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Ceiling:
    """A measured limit of this machine.

    Attributes:
        operation: ``matmul``, ``convolution`` or ``copy`` (memory bandwidth).
        dtype: ``float32``, ``bfloat16``, ...
        per_s: Floating-point operations, or bytes moved for ``copy``, per second.
        size: What was run, in words.
    """

    operation: Literal["matmul", "convolution", "copy"]
    dtype: str
    per_s: float
    size: str


@dataclass(frozen=True, kw_only=True, slots=True)
class HardwareProfile:
    """What the probe learned.

    Attributes:
        device: What training runs on: ``cpu``, ``gpu`` or ``tpu``.
        cpu: The processor.
        gpus: NVIDIA devices, visible or not.
        tpu: Signs of a TPU, None without.
        software: Versions.
        ceilings: Measured limits; empty when not measured.
        findings: What a person should know of the machine.
    """

    device: Literal["cpu", "gpu", "tpu"]
    cpu: CpuInfo
    gpus: tuple[GpuInfo, ...] = ()
    tpu: TpuInfo | None = None
    software: SoftwareInfo
    ceilings: tuple[Ceiling, ...] = ()
    findings: tuple[Finding, ...] = ()

    def ceiling(self, operation: str, dtype: str) -> float | None:
        """Measured operations a second, None where not measured."""
        return next((c.per_s for c in self.ceilings if (c.operation, c.dtype) == (operation, dtype)), None)

    @property
    def description(self) -> str:
        """One phrase: processor, cores and GPU."""
        cores = f", {self.cpu.logical_cores} cores" if self.cpu.logical_cores else ""
        visible = [gpu.name or "unnamed GPU" for gpu in self.gpus if gpu.visible is not False]
        gpus = ", ".join(visible) if self.device == "gpu" and visible else "no GPU" if self.device == "cpu" else ""
        tpu = (self.tpu.kind or "TPU") if self.device == "tpu" and self.tpu else ""
        return ", ".join(part for part in ((self.cpu.name or "unknown processor") + cores, gpus, tpu) if part)

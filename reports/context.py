"""What it was measured on: machine, versions and workload as labelled facts."""

from __future__ import annotations

from autotune.records import HardwareProfile, Recommendation, SoftwareInfo, WorkloadInfo
from autotune.reports import format as write
from autotune.reports.model import CeilingLine, Fact, Number


def _known(value: bool | None) -> str:
    return write.UNKNOWN if value is None else "yes" if value else "no"


def machine_facts(hardware: HardwareProfile, fingerprint: str = "") -> tuple[Fact, ...]:
    """The machine; what could not be learned reads unknown."""
    cpu = hardware.cpu
    cores = write.count(cpu.logical_cores, missing=write.UNKNOWN)
    if cpu.machine_cores is not None and cpu.machine_cores != cpu.logical_cores:
        cores += f" of {cpu.machine_cores:,}"
    facts = [
        Fact(label="trains on", value=hardware.device),
        Fact(label="processor", value=cpu.name or write.UNKNOWN),
        Fact(label="architecture", value=cpu.architecture or write.UNKNOWN),
        Fact(label="cores", value=cores),
        Fact(label="memory", value=write.size(cpu.memory_bytes)),
        Fact(label="bfloat16 units", value=_known(cpu.bfloat16_units)),
        Fact(label="float16 units", value=_known(cpu.float16_units)),
    ]
    for gpu in hardware.gpus:
        capability = ".".join(str(part) for part in gpu.compute_capability) if gpu.compute_capability else ""
        parts = [
            gpu.name or "unnamed",
            f"capability {capability}" if capability else "",
            write.size(gpu.memory_total_bytes),
        ]
        parts.append("not visible to TensorFlow" if gpu.visible is False else "")
        facts.append(Fact(label=f"GPU {gpu.index}", value=", ".join(part for part in parts if part)))
    if hardware.tpu is not None:
        facts.append(Fact(label="TPU", value=hardware.tpu.kind or ", ".join(hardware.tpu.evidence) or write.UNKNOWN))
    if fingerprint:
        facts.append(Fact(label="fingerprint", value=fingerprint))
    return tuple(facts)


def software_facts(software: SoftwareInfo, fingerprint: str = "") -> tuple[Fact, ...]:
    """Versions; parts that are not installed are left out."""
    named = {
        "autotune": software.autotune,
        "Python": software.python,
        "TensorFlow": software.tensorflow,
        "Keras": software.keras,
        "Optuna": software.optuna,
        "NumPy": software.numpy,
        "NVIDIA driver": software.nvidia_driver,
        "CUDA": software.cuda,
        "system": software.system,
        "fingerprint": fingerprint or None,
    }
    return tuple(Fact(label=label, value=value) for label, value in named.items() if value is not None)


def workload_facts(workload: WorkloadInfo, fingerprint: str = "") -> tuple[Fact, ...]:
    """The captured training."""
    selected = next((fit for fit in workload.fits if fit.selected), None)
    rate = write.UNKNOWN if workload.learning_rate is None else f"{workload.learning_rate:.6g}"
    facts = {
        "target": " ".join((workload.target, *workload.arguments)),
        "fit": f"{selected.location}, {selected.index} of {len(workload.fits)}" if selected else write.UNKNOWN,
        "model": workload.model or write.UNKNOWN,
        "parameters": write.count(workload.parameters, missing=write.UNKNOWN),
        "optimizer": workload.optimizer or write.UNKNOWN,
        "learning rate": "a schedule" if workload.schedule else rate,
        "loss": workload.loss or write.UNKNOWN,
        "data": workload.data,
        "samples an epoch": write.count(workload.samples_per_epoch, missing=write.UNKNOWN),
        "epochs": write.count(workload.epochs),
        "batch as written": write.count(workload.batch_size, missing=write.UNKNOWN),
        "validation": workload.validation or "none",
        "judged by": f"{workload.metric or write.UNKNOWN} ({workload.metric_source})",
        "distribution": f"{workload.distribution}, {write.counted(workload.replicas, 'replica')}"
        if workload.distribution
        else "",
        "callbacks kept": ", ".join(workload.callbacks_kept),
        "callbacks left out of trials": ", ".join(workload.callbacks_left_out),
        "fingerprint": fingerprint,
    }
    return tuple(Fact(label=label, value=value) for label, value in facts.items() if value)


def ceiling_lines(hardware: HardwareProfile) -> tuple[CeilingLine, ...]:
    """Measured limits, each against float32 in the same operation."""
    lines = []
    for ceiling in hardware.ceilings:
        base = hardware.ceiling(ceiling.operation, "float32")
        ratio = ceiling.per_s / base if base else None
        lines.append(
            CeilingLine(
                operation=ceiling.operation,
                dtype=ceiling.dtype,
                rate=Number(value=ceiling.per_s, text=write.rate(ceiling.per_s, ceiling.operation)),
                relative=Number(value=ratio, text=write.factor(ratio)),
                size=ceiling.size,
            )
        )
    return tuple(lines)


def place(recommendation: Recommendation) -> str:
    """Machine and the two versions that matter most, in one phrase."""
    software = recommendation.software
    versions = (("TensorFlow", software.tensorflow), ("Keras", software.keras))
    known = ", ".join(f"{name} {version}" for name, version in versions if version)
    return recommendation.hardware.description + (f"; {known}" if known else "")

"""Whether this machine is fit to be measured on: what makes timings noisy or runs fail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autotune.records import CpuInfo, Finding, GpuInfo, Severity

# Share of the machine's cores that others keep busy before timings are expected to suffer.
_BUSY_SHARE = 0.5
# TensorFlow alone takes about half of it.
_LITTLE_MEMORY_BYTES = 2 << 30
_LITTLE_FREE_SHARE = 0.5
_GIBIBYTE = 1 << 30


def fitness_findings(
    cpu: CpuInfo, gpus: Sequence[GpuInfo] = (), *, seen_cores: int | None = None, idle_now: bool = False
) -> Iterator[Finding]:
    """Everything that speaks against measuring here and now.

    Args:
        cpu: The processor.
        gpus: NVIDIA cards; only those that a CUDA program may see count.
        seen_cores: Cores that this process sees by its affinity, for each of which TensorFlow starts a thread.
        idle_now: Whether the processor was seen idle: the load is that of a minute, and what caused it may have ended.
    """
    yield from _cpu_findings(cpu, seen_cores, idle_now)
    for gpu in gpus:
        if gpu.visible is not False:
            yield from _gpu_findings(gpu)


def busy(cpu: CpuInfo) -> bool:
    """Whether the load of the last minute speaks of other programs."""
    return cpu.load_1m is not None and cpu.machine_cores is not None and cpu.load_1m > _BUSY_SHARE * cpu.machine_cores


def thread_findings(cpu: CpuInfo, intra_op_threads: int | None) -> Iterator[Finding]:
    """What is wrong with the number of threads that script or environment give one operation.

    Args:
        cpu: The processor.
        intra_op_threads: That number; None for TensorFlow's own choice.
    """
    cores = cpu.logical_cores
    if intra_op_threads is None or cores is None or intra_op_threads == cores:
        return
    fewer = intra_op_threads < cores
    yield Finding(
        code="threads",
        severity=Severity.WARNING if fewer else Severity.INFO,
        message=f"script or environment let an operation run on {intra_op_threads} thread{'s' if intra_op_threads > 1 else ''}"
        f", and {cores} cores are there",
        advice=f"set {cores}, or leave it to TensorFlow: tf.config.threading.set_intra_op_parallelism_threads, "
        "TF_NUM_INTRAOP_THREADS",
    )


def _cpu_findings(cpu: CpuInfo, seen_cores: int | None, idle_now: bool) -> Iterator[Finding]:
    cores = cpu.machine_cores
    if busy(cpu) and not idle_now:
        yield Finding(
            code="machine_busy",
            severity=Severity.WARNING,
            message=f"other programs keep this machine busy: load {cpu.load_1m:.1f} on {cores} cores",
            advice="stop them, or expect wide intervals and a longer search",
        )
    if cpu.memory_available_bytes is not None and cpu.memory_available_bytes < _LITTLE_MEMORY_BYTES:
        yield Finding(
            code="memory_low",
            severity=Severity.WARNING,
            message=f"only {cpu.memory_available_bytes / _GIBIBYTE:.1f} GiB of memory are free",
            advice="free some: a worker that runs out of memory is ended by the system",
        )
    if seen_cores and cpu.logical_cores and cpu.logical_cores < seen_cores:
        yield Finding(
            code="cpu_quota",
            severity=Severity.WARNING,
            message=(
                f"a limit of the container leaves {cpu.logical_cores} of the {seen_cores} cores that are seen, "
                f"and TensorFlow starts threads for {seen_cores}"
            ),
            advice=f"set TF_NUM_INTRAOP_THREADS={cpu.logical_cores} for this and for the real run",
        )


def _gpu_findings(gpu: GpuInfo) -> Iterator[Finding]:
    name = f"{gpu.name or 'GPU'} {gpu.index}"
    if gpu.process_count:
        yield Finding(
            code="gpu_shared",
            severity=Severity.WARNING,
            message=f"{gpu.process_count} other process{'es use' if gpu.process_count > 1 else ' uses'} {name}",
            advice="wait for it to end, or choose another card by CUDA_VISIBLE_DEVICES",
        )
    free, total = gpu.memory_free_bytes, gpu.memory_total_bytes
    if free is not None and total and free < _LITTLE_FREE_SHARE * total:
        yield Finding(
            code="gpu_memory_taken",
            severity=Severity.WARNING,
            message=f"{free / _GIBIBYTE:.1f} of {total / _GIBIBYTE:.1f} GiB of {name} are free",
            advice="large batches may fail here that fit when the card is free",
        )
    if gpu.throttle_reasons:
        yield Finding(
            code="gpu_throttled",
            severity=Severity.WARNING,
            message=f"{name} is slowed down: {', '.join(gpu.throttle_reasons)}",
            advice="let it cool down, or raise its power limit; timings drift until it is steady",
        )

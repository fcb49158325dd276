"""The profile of a machine as one screen, Markdown or JSON: three views of the same rows."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from autotune.records import CpuInfo, Finding, GpuInfo, HardwareProfile
from autotune.records.codec import dumps

_UNKNOWN = "unknown"
_GIBIBYTE = 1 << 30
_GIGA = 1e9
_OPERATION_NAMES = {"matmul": "matrix product", "convolution": "convolution", "copy": "memory"}

Row = tuple[str, str]


def as_json(profile: HardwareProfile) -> str:
    """The record itself."""
    return dumps(profile)


def as_markdown(profile: HardwareProfile) -> str:
    """Tables for an issue report or a page of notes."""
    lines = [f"# {profile.description}", "", "| what | value |", "| --- | --- |"]
    lines += [f"| {name} | {_cell(value)} |" for name, value in facts(profile)]
    rows = ceiling_rows(profile)
    if rows:
        lines += ["", "| measured | rate | against float32 |", "| --- | --- | --- |"]
        lines += [f"| {_cell(name)} | {rate} | {relative} |" for name, rate, relative in rows]
    if profile.findings:
        lines += ["", *(f"- **{f.severity}**: {_sentence(f)}" for f in profile.findings)]
    return "\n".join(lines)


def show(profile: HardwareProfile, console: Console | None = None) -> None:
    """One screen for people.

    Args:
        profile: What the probe learned.
        console: Where to write; standard output by default.
    """
    console = console or Console(highlight=False)
    console.print(f"[bold]{escape(profile.description)}[/bold]")
    console.print()
    grid = Table.grid(padding=(0, 3))
    grid.add_column(style="cyan", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in facts(profile):
        grid.add_row(name, escape(value))
    console.print(Padding(grid, (0, 0, 0, 2)))
    rows = ceiling_rows(profile)
    if rows:
        table = Table.grid(padding=(0, 3))
        table.add_column(style="cyan", no_wrap=True)
        table.add_column(justify="right", no_wrap=True)
        table.add_column(justify="right", no_wrap=True)
        for row in rows:
            table.add_row(*map(escape, row))
        console.print()
        console.print("  measured here, forward and backward as in training")
        console.print(Padding(table, (0, 0, 0, 2)))
    for finding in profile.findings:
        console.print()
        console.print(Padding(f"[yellow]{finding.severity}[/yellow]  {escape(_sentence(finding))}", (0, 0, 0, 2)))


def facts(profile: HardwareProfile) -> Iterator[Row]:
    """Name and value of everything known of the machine."""
    yield ("trains on", {"cpu": "the processor", "gpu": "the GPU", "tpu": "the TPU"}[profile.device])
    yield from _cpu_facts(profile.cpu)
    for gpu in profile.gpus:
        yield f"GPU {gpu.index}", _gpu_fact(gpu)
    if profile.tpu is not None:
        yield ("TPU", f"{profile.tpu.kind or 'kind unknown'} (by {', '.join(profile.tpu.evidence)})")
    software = profile.software
    other = software.tensorflow_distribution not in (None, "tensorflow")
    named = f" ({software.tensorflow_distribution})" if other else ""
    yield "TensorFlow", f"{software.tensorflow}{named}" if software.tensorflow else "not installed"
    yield "Keras", software.keras or "not installed"
    if software.nvidia_driver:
        yield ("NVIDIA driver", f"{software.nvidia_driver}, CUDA up to {software.cuda or _UNKNOWN}")
    yield ("autotune", f"{software.autotune} on Python {software.python}, {software.system}")


def ceiling_rows(profile: HardwareProfile) -> list[tuple[str, str, str]]:
    """Operation and dtype, measured rate, and the rate against float32 where both were measured."""
    rows = []
    for ceiling in profile.ceilings:
        base = profile.ceiling(ceiling.operation, "float32")
        other = ceiling.operation != "copy" and ceiling.dtype != "float32" and base
        unit = "GB/s" if ceiling.operation == "copy" else "GFLOP/s"
        dtype = "" if ceiling.operation == "copy" else f" {ceiling.dtype}"
        rows.append(
            (
                f"{_OPERATION_NAMES[ceiling.operation]}{dtype}",
                f"{ceiling.per_s / _GIGA:,.3g} {unit}"
                if ceiling.per_s < 1000 * _GIGA
                else f"{ceiling.per_s / _GIGA:,.0f} {unit}",
                f"{ceiling.per_s / base:.2f}x" if other and base else "",
            )
        )
    return rows


def _cpu_facts(cpu: CpuInfo) -> Iterator[Row]:
    yield ("processor", f"{cpu.name or _UNKNOWN} ({cpu.architecture or 'architecture unknown'})")
    of = f" of {cpu.machine_cores}" if cpu.machine_cores and cpu.machine_cores != cpu.logical_cores else ""
    load = "" if cpu.load_1m is None else f", load {cpu.load_1m:.2f}"
    yield "cores", f"{cpu.logical_cores or _UNKNOWN}{of}{load}"
    yield ("memory", f"{_bytes(cpu.memory_bytes)}, {_bytes(cpu.memory_available_bytes)} free")
    yield ("16-bit units", f"bfloat16 {_yes_no(cpu.bfloat16_units)}, float16 {_yes_no(cpu.float16_units)}")
    if cpu.flags:
        yield "flags", " ".join(cpu.flags)


def _gpu_fact(gpu: GpuInfo) -> str:
    capability = ".".join(map(str, gpu.compute_capability)) if gpu.compute_capability else _UNKNOWN
    parts = [
        gpu.name or "unnamed",
        f"compute capability {capability}",
        f"{_bytes(gpu.memory_total_bytes)}, {_bytes(gpu.memory_free_bytes)} free",
        f"float16 {_yes_no(gpu.float16_units)}, bfloat16 {_yes_no(gpu.bfloat16_units)}, TF32 {_yes_no(gpu.tf32_units)}",
    ]
    if gpu.mig_parent_uuid:
        parts.append("a MIG instance")
    if gpu.visible is not True:
        parts.append("hidden from CUDA programs" if gpu.visible is False else "visibility unknown")
    if gpu.process_count:
        parts.append(f"used by {gpu.process_count} process{'es' if gpu.process_count > 1 else ''}")
    if gpu.throttle_reasons:
        parts.append("slowed down: " + ", ".join(gpu.throttle_reasons))
    return "; ".join(parts)


def _bytes(count: int | None) -> str:
    return _UNKNOWN if count is None else f"{count / _GIBIBYTE:.1f} GiB"


def _yes_no(value: bool | None) -> str:
    return _UNKNOWN if value is None else "yes" if value else "no"


def _sentence(finding: Finding) -> str:
    return finding.message + (f"; {finding.advice}" if finding.advice else "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")

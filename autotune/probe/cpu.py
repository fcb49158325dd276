"""The processor: its name, the units that decide 16-bit speed, and what of it this process may use."""

from __future__ import annotations

import os
import platform
from functools import cache
from pathlib import Path
from typing import Any

from autotune.probe.cgroup import read_cgroup_limits, read_text, whole_cores
from autotune.probe.child import answer_parent, ask_child
from autotune.probe.cpuinfo import CpuFacts, parse_cpuinfo
from autotune.records import CpuInfo

_HERE = Path("/")
# Flags worth recording; names as Linux writes them.
_FLAGS_OF_INTEREST = frozenset(
    [
        "avx",
        "avx2",
        "avx512f",
        "avx512_bf16",
        "avx512_fp16",
        "avx512_vnni",
        "avx10",
        "amx_tile",
        "amx_bf16",
        "amx_fp16",
        "amx_int8",
        "avx_ne_convert",
        "f16c",
        "fma",
        "asimd",
        "asimdhp",
        "fphp",
        "bf16",
        "sve",
        "sve2",
        "svebf16",
        "i8mm",
        "sme",
        "smebf16",
        "smef16f32",
        "vsx",
        "mma",
    ]
)
_BFLOAT16_FLAGS = frozenset({"avx512_bf16", "amx_bf16", "bf16", "svebf16"})
_FLOAT16_FLAGS = frozenset({"avx512_fp16", "amx_fp16", "asimdhp"})
_KIBIBYTE = 1024


def probe_cpu(root: Path = _HERE, *, timeout_s: float = 1.0) -> CpuInfo:
    """What the processor is and what of it this process may use.

    Args:
        root: Folder that holds ``proc`` and ``sys``; another one than ``/`` is read alone, without asking this machine.
        timeout_s: Time given to py-cpuinfo, where ``/proc/cpuinfo`` does not say enough.
    """
    here = root == _HERE
    facts = parse_cpuinfo(read_text(root / "proc/cpuinfo") or "")
    architecture = facts.architecture or (platform.machine() or None if here else None)
    name, flags = facts.name, facts.flags
    if here and (name is None or flags is None):
        more = ask_py_cpuinfo(timeout_s)
        name = name or more.name
        flags = more.flags if flags is None else flags
    limits = read_cgroup_limits(root)
    allowed = allowed_cores(root)
    usable = [n for n in (allowed, whole_cores(limits.cpus), facts.processors) if n]
    total, available = _memory(root)
    return CpuInfo(
        name=name or (_board(root) if not name else None),
        architecture=architecture,
        logical_cores=min(usable, default=None),
        machine_cores=_machine_cores(root) or facts.processors,
        memory_bytes=min((n for n in (total, limits.memory_bytes) if n), default=None),
        memory_available_bytes=min((n for n in (available, limits.memory_free_bytes) if n is not None), default=None),
        flags=tuple(sorted(flags & _FLAGS_OF_INTEREST)) if flags else (),
        bfloat16_units=bool(flags & _BFLOAT16_FLAGS) if flags else None,
        float16_units=bool(flags & _FLOAT16_FLAGS) if flags else None,
        load_1m=_load(root),
    )


@cache
def ask_py_cpuinfo(timeout_s: float) -> CpuFacts:
    """Asks py-cpuinfo in a child: it starts programs of its own, can take seconds and may hang."""
    answer = ask_child("autotune.probe.cpu", timeout_s=timeout_s)
    data: dict[str, Any] = answer.lines[-1] if answer.lines and isinstance(answer.lines[-1], dict) else {}
    flags, name = data.get("flags"), data.get("brand_raw")
    return CpuFacts(
        name=name if isinstance(name, str) and name else None,
        flags=frozenset(map(str, flags)) if isinstance(flags, list) and flags else None,
    )


def allowed_cores(root: Path = _HERE) -> int | None:
    """Cores that affinity (and a cpuset, which sets it) leaves this process."""
    for line in (read_text(root / "proc/self/status") or "").splitlines():
        name, _, value = line.partition(":")
        if name == "Cpus_allowed_list":
            return _count(value)
    if root != _HERE:
        return None
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def _machine_cores(root: Path) -> int | None:
    return _count(read_text(root / "sys/devices/system/cpu/online") or "") or (
        os.cpu_count() if root == _HERE else None
    )


def _count(text: str) -> int | None:
    """Members of a list such as ``0-3,8``; None where there is none."""
    count = 0
    for part in text.strip().split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            return None
        count += int(last or first) - int(first) + 1
    return count or None


def _memory(root: Path) -> tuple[int | None, int | None]:
    """Total and available memory in bytes."""
    values: dict[str, int] = {}
    for line in (read_text(root / "proc/meminfo") or "").splitlines():
        name, _, rest = line.partition(":")
        number = rest.split()[:1]
        if number and number[0].isdecimal():
            values[name] = int(number[0]) * _KIBIBYTE
    if "MemTotal" in values or root != _HERE:
        return values.get("MemTotal"), values.get("MemAvailable", values.get("MemFree"))
    import psutil

    memory = psutil.virtual_memory()
    return int(memory.total), int(memory.available)


def _board(root: Path) -> str | None:
    """Name of a board that describes itself by a device tree."""
    text = read_text(root / "proc/device-tree/model")
    return text.rstrip("\0").strip() or None if text else None


def _load(root: Path) -> float | None:
    first = (read_text(root / "proc/loadavg") or "").split()[:1]
    try:
        if first:
            return float(first[0])
        return os.getloadavg()[0] if root == _HERE else None
    except (OSError, ValueError, AttributeError):
        return None


def _ask_library() -> list[dict[str, Any]]:
    import cpuinfo

    info = cpuinfo.get_cpu_info()
    return [{"brand_raw": info.get("brand_raw"), "flags": info.get("flags")}]


if __name__ == "__main__":
    answer_parent(_ask_library)

"""What control groups (version 1 and 2) leave of cores and memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

# Version 1 writes a number near 2**63 for "no limit".
_UNLIMITED_BYTES = 1 << 60


@dataclass(frozen=True, kw_only=True, slots=True)
class CgroupLimits:
    """The tightest limits on the way from this process's group to the top; None without a limit.

    Attributes:
        cpus: Processor time a second of wall clock, in cores; may be a fraction.
        memory_bytes: Memory that the group may use.
        memory_free_bytes: What of it is unused, page cache counted as unused.
    """

    cpus: float | None = None
    memory_bytes: int | None = None
    memory_free_bytes: int | None = None


def read_cgroup_limits(root: Path = Path("/")) -> CgroupLimits:
    """Reads the limits of this process from ``proc`` and ``sys`` under a root folder."""
    cpus: list[float] = []
    limits: list[int] = []
    free: list[int] = []
    for folder in _folders(root, "cpu"):
        cpus += _cpus(folder)
    for folder in _folders(root, "memory"):
        for limit in _memory_limits(folder):
            limits.append(limit)
            used = _memory_used(folder)
            if used is not None:
                free.append(max(limit - used, 0))
    return CgroupLimits(
        cpus=min(cpus, default=None), memory_bytes=min(limits, default=None), memory_free_bytes=min(free, default=None)
    )


def _cpus(folder: Path) -> Iterator[float]:
    quota, _, period = (read_text(folder / "cpu.max") or "").partition(" ")  # version 2: "max 100000"
    if not quota:
        quota = read_text(folder / "cpu.cfs_quota_us") or ""  # version 1: -1 without a limit
        period = read_text(folder / "cpu.cfs_period_us") or ""
    with_limit = quota.isdecimal() and period.isdecimal() and int(period) > 0
    if with_limit and int(quota) > 0:
        yield int(quota) / int(period)


def _memory_limits(folder: Path) -> Iterator[int]:
    # memory.high stops no process, but one above it is slowed down until it is of no use.
    for name in ("memory.max", "memory.high", "memory.limit_in_bytes"):
        value = read_text(folder / name) or ""
        if value.isdecimal() and 0 < int(value) < _UNLIMITED_BYTES:
            yield int(value)


def _memory_used(folder: Path) -> int | None:
    used = read_text(folder / "memory.current") or read_text(folder / "memory.usage_in_bytes") or ""
    if not used.isdecimal():
        return None
    cache = 0
    for line in (read_text(folder / "memory.stat") or "").splitlines():
        name, _, value = line.partition(" ")
        if name in ("inactive_file", "total_inactive_file") and value.isdecimal():
            cache = max(cache, int(value))
    return int(used) - cache


def _folders(root: Path, controller: str) -> Iterator[Path]:
    """Folders of the groups that this process is in for a controller, from its own to the topmost that can be seen."""
    for mount, mount_root, path in _groups(root, controller):
        base = root / mount.lstrip("/")
        parts = PurePosixPath(path).parts
        top = PurePosixPath(mount_root).parts
        # Inside a container the path may be the host's, of which only what lies below the mount's root can be seen.
        below = parts[len(top) :] if parts[: len(top)] == top else parts[1:]
        folder = base.joinpath(*below)
        if ".." in below or not folder.is_dir():
            folder = base
        yield folder
        while folder != base:
            folder = folder.parent
            yield folder


def _groups(root: Path, controller: str) -> Iterator[tuple[str, str, str]]:
    """Mount point, root of the mount and path of this process's group, for each hierarchy with the controller."""
    paths: dict[str, str] = {}
    for line in (read_text(root / "proc/self/cgroup") or "").splitlines():
        _, _, rest = line.partition(":")
        names, _, path = rest.partition(":")
        for name in names.split(","):
            paths[name] = path
    for line in (read_text(root / "proc/self/mountinfo") or "").splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) < 5 or len(kind) < 3:
            continue
        if kind[0] == "cgroup2" and "" in paths:
            yield _unescaped(fields[4]), _unescaped(fields[3]), paths[""]
        elif kind[0] == "cgroup" and controller in kind[2].split(",") and controller in paths:
            yield _unescaped(fields[4]), _unescaped(fields[3]), paths[controller]


def _unescaped(field: str) -> str:
    """The kernel writes a space in a mount point as an octal escape."""
    return field.replace("\\040", " ")


def whole_cores(cpus: float | None) -> int | None:
    """Cores that a quota keeps busy, a fraction counted as one more, at least 1."""
    return None if cpus is None else max(1, math.ceil(cpus))


def read_text(path: Path) -> str | None:
    """Text of a small file without surrounding space; None where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None

"""The tightest limit on the way up counts, and what is no limit is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from autotune.probe.cgroup import CgroupLimits, read_cgroup_limits, whole_cores


def tree(root: Path, group: str, files: dict[str, str]) -> Path:
    """A machine with control groups of version 2 on which this process is in a group."""
    everything = {
        "proc/self/cgroup": f"0::{group}\n",
        "proc/self/mountinfo": "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
        **{f"sys/fs/cgroup/{name}": text for name, text in files.items()},
    }
    for name, text in everything.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def test_a_limit_of_an_outer_group_binds_the_inner_one(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        "/outer/inner",
        {
            "outer/cpu.max": "200000 100000\n",
            "outer/inner/cpu.max": "max 100000\n",
            "outer/memory.max": "1000\n",
            "outer/memory.current": "900\n",
            "outer/inner/memory.max": "5000\n",
            "outer/inner/memory.current": "400\n",
        },
    )
    assert read_cgroup_limits(root) == CgroupLimits(cpus=2.0, memory_bytes=1000, memory_free_bytes=100)


def test_memory_high_counts_as_a_limit(tmp_path: Path) -> None:
    root = tree(tmp_path, "/", {"memory.max": "max\n", "memory.high": "700\n", "memory.current": "1000\n"})
    assert read_cgroup_limits(root) == CgroupLimits(memory_bytes=700, memory_free_bytes=0)


def test_a_path_above_the_mount_is_read_at_the_mount(tmp_path: Path) -> None:
    root = tree(tmp_path, "/../../elsewhere", {"cpu.max": "50000 100000\n"})
    assert read_cgroup_limits(root).cpus == 0.5


def test_a_group_that_only_begins_like_the_mounts_root_is_another(tmp_path: Path) -> None:
    root = tree(tmp_path, "/docker/abcdef", {"def/cpu.max": "100000 100000\n"})
    (root / "proc/self/mountinfo").write_text("30 1 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    assert read_cgroup_limits(root) == CgroupLimits()


def test_nothing_mounted_is_no_limit(tmp_path: Path) -> None:
    assert read_cgroup_limits(tmp_path) == CgroupLimits()


@pytest.mark.parametrize(("cpus", "cores"), [(None, None), (0.25, 1), (1.0, 1), (1.5, 2), (8.0, 8)])
def test_a_fraction_of_a_core_keeps_one_more_busy(cpus: float | None, cores: int | None) -> None:
    assert whole_cores(cpus) == cores

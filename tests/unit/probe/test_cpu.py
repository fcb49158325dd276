"""The processor of recorded machines is told as it is, within what a container leaves of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from autotune.probe import cpu
from autotune.probe.cpu import allowed_cores, probe_cpu
from autotune.probe.cpuinfo import CpuFacts
from autotune.probe.fitness import fitness_findings
from autotune.records import CpuInfo

GIB = 1 << 30
KIB = 1 << 10


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "zen4_vm",
            CpuInfo(
                name="AMD EPYC",
                architecture="x86_64",
                logical_cores=2,
                machine_cores=2,
                memory_bytes=24684084 * KIB,
                memory_available_bytes=24252452 * KIB,
                flags=("avx", "avx2", "avx512_bf16", "avx512_vnni", "avx512f", "f16c", "fma"),
                bfloat16_units=True,
                float16_units=False,
                load_1m=0.07,
            ),
        ),
        (
            "sapphire_rapids_docker",
            CpuInfo(
                name="Intel(R) Xeon(R) Platinum 8480+",
                architecture="x86_64",
                logical_cores=8,
                machine_cores=224,
                memory_bytes=32 * GIB,
                # 8 GiB used, 5 of them page cache that gives way.
                memory_available_bytes=29 * GIB,
                flags=(
                    "amx_bf16",
                    "amx_int8",
                    "amx_tile",
                    "avx",
                    "avx2",
                    "avx512_bf16",
                    "avx512_fp16",
                    "avx512_vnni",
                    "avx512f",
                    "f16c",
                    "fma",
                ),
                bfloat16_units=True,
                float16_units=True,
                load_1m=180.52,
            ),
        ),
        (
            "graviton3",
            CpuInfo(
                name="Arm Neoverse-V1",
                architecture="aarch64",
                logical_cores=4,
                machine_cores=4,
                memory_bytes=7930240 * KIB,
                memory_available_bytes=7200000 * KIB,
                flags=("asimd", "asimdhp", "bf16", "fphp", "i8mm", "sve", "svebf16"),
                bfloat16_units=True,
                float16_units=True,
                load_1m=0.0,
            ),
        ),
        (
            "apple_container",
            CpuInfo(
                name="Apple silicon",
                architecture="aarch64",
                logical_cores=2,
                machine_cores=8,
                memory_bytes=4 * GIB,
                memory_available_bytes=4 * GIB - 524288000,
                flags=("asimd", "asimdhp", "fphp"),
                bfloat16_units=False,
                float16_units=True,
                load_1m=0.52,
            ),
        ),
        (
            "old_laptop",
            CpuInfo(
                name="Intel(R) Core(TM) i5-3320M CPU @ 2.60GHz",
                architecture="x86_64",
                logical_cores=4,
                machine_cores=4,
                memory_bytes=7923584 * KIB,
                memory_available_bytes=1048576 * KIB,
                flags=("avx", "f16c"),
                bfloat16_units=False,
                float16_units=False,
                load_1m=3.1,
            ),
        ),
        (
            "kubernetes_v1",
            CpuInfo(
                name="Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz",
                architecture="x86_64",
                logical_cores=4,
                machine_cores=64,
                memory_bytes=16 * GIB,
                memory_available_bytes=14 * GIB,
                flags=("avx", "avx2", "avx512_vnni", "avx512f", "f16c", "fma"),
                bfloat16_units=False,
                float16_units=False,
                load_1m=9.0,
            ),
        ),
    ],
)
def test_recorded_machine(machine: Callable[[str], Path], name: str, expected: CpuInfo) -> None:
    assert probe_cpu(machine(name)) == expected


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("zen4_vm", []),
        ("graviton3", []),
        ("sapphire_rapids_docker", ["machine_busy", "cpu_quota"]),
        ("apple_container", ["cpu_quota"]),
        ("old_laptop", ["machine_busy", "memory_low"]),
        ("kubernetes_v1", []),
    ],
)
def test_what_speaks_against_measuring(machine: Callable[[str], Path], name: str, codes: list[str]) -> None:
    root = machine(name)
    assert [f.code for f in fitness_findings(probe_cpu(root), seen_cores=allowed_cores(root))] == codes


def test_an_empty_root_is_all_unknown(tmp_path: Path) -> None:
    """Nothing of this machine leaks into a probe of another root, and no figure is made up."""
    assert probe_cpu(tmp_path) == CpuInfo()


def test_damaged_files_leave_unknowns(tmp_path: Path) -> None:
    files = {
        "proc/cpuinfo": "processor\t: \xb2\nflags\t\t:\n: :\n",
        "proc/meminfo": "MemTotal:\nMemAvailable: many kB\n",
        "proc/loadavg": "busy\n",
        "proc/self/status": "Cpus_allowed_list:\t0-\n",
        "proc/self/cgroup": "nonsense\n",
        "proc/self/mountinfo": "36 - \n",
        "sys/devices/system/cpu/online": "all\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert probe_cpu(tmp_path) == CpuInfo()


def test_a_board_without_a_known_part_is_named_by_its_device_tree(tmp_path: Path) -> None:
    (tmp_path / "proc/device-tree").mkdir(parents=True)
    (tmp_path / "proc/device-tree/model").write_text("Some Board 4\0", encoding="utf-8")
    assert probe_cpu(tmp_path).name == "Some Board 4"


def test_this_machine_is_told_without_py_cpuinfo_where_the_kernel_says_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path("/proc/cpuinfo").is_file() or probe_cpu().name is None:
        pytest.skip("this kernel does not name its processor")

    def refuse(timeout_s: float) -> CpuFacts:
        raise AssertionError("py-cpuinfo was asked for nothing")

    monkeypatch.setattr(cpu, "ask_py_cpuinfo", refuse)
    info = probe_cpu()
    assert info.logical_cores is not None and info.machine_cores is not None
    assert 1 <= info.logical_cores <= info.machine_cores
    assert info.memory_bytes is not None and info.memory_available_bytes is not None
    assert 0 < info.memory_available_bytes <= info.memory_bytes

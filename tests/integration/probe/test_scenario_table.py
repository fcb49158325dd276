"""Which plan follows from which card: the table of the documentation, computed anew.

``AUTOTUNE_WRITE_DOCS=1 pytest tests/integration/probe/test_scenario_table.py`` writes it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from autotune.plan import plan
from autotune.probe.profile import probe
from autotune.records import GpuInfo, HardwareProfile
from autotune.settings import Settings
from tests.unit.builders import workload

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the stand-in is a Linux library")

DOCUMENT = Path(__file__).parents[3] / "docs" / "hardware.md"
START, END = "<!-- scenarios: written by a test -->", "<!-- end of scenarios -->"
SCENARIOS = {
    "a100": "one A100",
    "h100_mig": "H100 in instances",
    "v100": "V100",
    "t4": "T4 that others use",
    "gtx1080": "GTX 1080",
    "laptop": "laptop, power not told",
    "gb10": "GB10, memory shared",
    "jetson_orin": "Jetson, memory shared",
    "wsl": "Windows' WSL",
    "two_different": "two different cards",
    "lost": "a card lost meanwhile",
    "nothing_supported": "a driver that tells nothing",
    "driver_mismatch": "driver of two versions",
    "driver_not_loaded": "driver not loaded",
    "hang": "a call that hangs",
    "hang_at_once": "the first call hangs",
}
HEAD = ("machine", "cards", "trains on", "units", "policies", "other float32", "said")


def units(gpu: GpuInfo) -> str:
    named = {
        "tensor cores": gpu.tensor_cores,
        "float16": gpu.float16_units,
        "bfloat16": gpu.bfloat16_units,
        "TF32": gpu.tf32_units,
        "FP8": gpu.float8_units,
    }
    if all(value is None for value in named.values()):
        return "unknown"
    return ", ".join(name for name, value in named.items() if value) or "none of 16 bits"


def used(profile: HardwareProfile) -> list[GpuInfo]:
    return [gpu for gpu in profile.gpus if gpu.visible is not False]


def row(title: str, profile: HardwareProfile) -> tuple[str, ...]:
    following = plan(profile, workload(), Settings(target=Path("train.py")))
    cards = [f"{gpu.name or 'unnamed'}{'' if gpu.visible is not False else ' (not used)'}" for gpu in profile.gpus]
    alike = list(dict.fromkeys(units(gpu) for gpu in used(profile)))
    return (
        title,
        "; ".join(cards) or "none told",
        profile.device,
        "; ".join(alike) or "-",
        ", ".join(policy.removeprefix("mixed_") for policy in following.space.policies),
        "strict" if following.first else "-",
        ", ".join(f"`{finding.code}`" for finding in profile.findings if finding.code.startswith(("gpu", "nvml")))
        or "-",
    )


@pytest.fixture
def table(card: Callable[..., dict[str, str]], tmp_path: Path) -> str:
    rows = [row(title, probe(tmp_path / name, card(name), gpu_timeout_s=2.0)) for name, title in SCENARIOS.items()]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (HEAD, ("---",) * len(HEAD), *rows))


def test_the_documented_plans_are_those_that_follow(table: str) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    before, _, rest = text.partition(START)
    documented, _, after = rest.partition(END)
    if os.environ.get("AUTOTUNE_WRITE_DOCS"):
        DOCUMENT.write_text(f"{before}{START}\n{table}\n{END}{after}", encoding="utf-8")
        return
    assert documented.strip() == table

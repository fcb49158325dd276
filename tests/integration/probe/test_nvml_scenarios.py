"""Cards that we do not have, through the real pynvml in a real child process, over a stand-in for the driver."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from autotune.probe.nvidia import probe_gpus
from autotune.probe.profile import probe
from autotune.records import GpuInfo, HardwareProfile

Card = Callable[..., dict[str, str]]
MIB = 1 << 20

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the stand-in is a Linux library")


def gpu(**fields: object) -> GpuInfo:
    """A card of the newest kind, with what a scenario has different."""
    units = {"float16_units": True, "bfloat16_units": True, "tf32_units": True, "tensor_cores": True}
    return GpuInfo(**{"index": 0, "visible": True, "process_count": 0, "float8_units": False, **units, **fields})  # type: ignore[arg-type]


VOLTA = {"bfloat16_units": False, "tf32_units": False}
PASCAL = {**VOLTA, "float16_units": False, "tensor_cores": False}
UNKNOWN_UNITS = dict.fromkeys(("float16_units", "bfloat16_units", "tf32_units", "tensor_cores", "float8_units"))


@pytest.mark.parametrize(
    ("scenario", "expected", "codes", "versions"),
    [
        (
            "a100",
            gpu(
                name="NVIDIA A100-SXM4-40GB",
                uuid="GPU-5a1c3f7e-88d2-4b64-9d0f-0f5f6b2e7a10",
                pci_bus_id="00000000:07:00.0",
                compute_capability=(8, 0),
                memory_total_bytes=40960 * MIB,
                memory_free_bytes=40338 * MIB,
                power_limit_w=400.0,
                sm_clock_mhz=210,
                max_sm_clock_mhz=1410,
            ),
            [],
            ("550.90.07", "12.4"),
        ),
        (
            "v100",
            gpu(
                name="Tesla V100-SXM2-16GB",
                uuid="GPU-11e0c2a4-7f6d-4f0b-bb0b-9c8a7c1d0e33",
                pci_bus_id="00000000:00:1E.0",
                compute_capability=(7, 0),
                memory_total_bytes=16160 * MIB,
                memory_free_bytes=16157 * MIB,
                power_limit_w=300.0,
                sm_clock_mhz=135,
                max_sm_clock_mhz=1530,
                **VOLTA,
            ),
            [],
            ("470.223.02", "11.4"),
        ),
        (
            "t4",
            gpu(
                name="Tesla T4",
                uuid="GPU-2f0a9d3b-6f1e-4a57-9ad1-35ac2f5b6c44",
                pci_bus_id="00000000:00:04.0",
                compute_capability=(7, 5),
                memory_total_bytes=15360 * MIB,
                memory_free_bytes=4200 * MIB,
                power_limit_w=70.0,
                sm_clock_mhz=585,
                max_sm_clock_mhz=1590,
                throttle_reasons=("power cap", "software thermal slowdown"),
                process_count=2,
                **VOLTA,
            ),
            ["gpu_shared", "gpu_memory_taken", "gpu_throttled"],
            ("535.104.05", "12.2"),
        ),
        (
            "gtx1080",
            gpu(
                name="NVIDIA GeForce GTX 1080",
                uuid="GPU-9c3de8a1-5e55-4c39-8b7c-7d1b2a3c4d55",
                pci_bus_id="00000000:01:00.0",
                compute_capability=(6, 1),
                memory_total_bytes=8192 * MIB,
                memory_free_bytes=7900 * MIB,
                power_limit_w=180.0,
                sm_clock_mhz=1607,
                max_sm_clock_mhz=1911,
                **PASCAL,
            ),
            [],
            ("535.183.01", "12.2"),
        ),
        (
            "laptop",
            gpu(
                name="NVIDIA GeForce RTX 3060 Laptop GPU",
                uuid="GPU-7be1d0c9-0a3d-4f8e-9f64-6a5b4c3d2e66",
                pci_bus_id="00000000:01:00.0",
                compute_capability=(8, 6),
                memory_total_bytes=6144 * MIB,
                memory_free_bytes=5531 * MIB,
                power_limit_w=None,
                sm_clock_mhz=210,
                max_sm_clock_mhz=2100,
            ),
            [],
            ("550.120", "12.4"),
        ),
        (
            "gb10",
            gpu(
                name="NVIDIA GB10",
                uuid="GPU-2dee1e25-b3b5-007e-2b55-79f2d0f2ebe5",
                pci_bus_id="0000000F:01:00.0",
                compute_capability=(12, 1),
                sm_clock_mhz=208,
                max_sm_clock_mhz=3003,
                float8_units=True,
            ),
            ["gpu_memory_unknown"],
            ("580.126.09", "13.0"),
        ),
        (
            "jetson_orin",
            gpu(
                name="Orin (nvgpu)",
                uuid="GPU-e5b06d4f-3b0c-5a16-8c41-0c2d1e0f9a77",
                compute_capability=(8, 7),
                process_count=None,
            ),
            ["gpu_memory_unknown"],
            ("540.4.0", "12.6"),
        ),
        (
            "wsl",
            gpu(
                name="NVIDIA GeForce RTX 4090",
                uuid="GPU-b1f4c7d2-93e2-4d36-a7bd-1f2e3d4c5b88",
                pci_bus_id="00000000:01:00.0",
                compute_capability=(8, 9),
                memory_total_bytes=24564 * MIB,
                memory_free_bytes=22830 * MIB,
                sm_clock_mhz=2520,
                max_sm_clock_mhz=3105,
                process_count=None,
                float8_units=True,
            ),
            [],
            ("555.85", "12.5"),
        ),
        ("nothing_supported", gpu(process_count=None, **UNKNOWN_UNITS), ["gpu_memory_unknown"], (None, None)),
    ],
)
def test_one_card(
    card: Card,
    tmp_path: Path,
    scenario: str,
    expected: GpuInfo,
    codes: list[str],
    versions: tuple[str | None, str | None],
) -> None:
    """Each field is what the driver says, and unknown where it says nothing."""
    profile = probe(tmp_path, card(scenario))
    assert profile.gpus == (expected,)
    assert profile.device == "gpu"
    assert [f.code for f in profile.findings] == codes
    assert (profile.software.nvidia_driver, profile.software.cuda) == versions


def test_a_card_in_instances(card: Card) -> None:
    """Its instances are devices of their own; CUDA uses the first one and never the card as a whole."""
    gpus, findings, _, _ = probe_gpus(card("h100_mig"))
    assert [(g.index, g.name, g.visible) for g in gpus] == [
        (0, "NVIDIA H100 80GB HBM3", False),
        (0, "NVIDIA H100 80GB HBM3 MIG 3g.40gb", True),
        (0, "NVIDIA H100 80GB HBM3 MIG 1g.10gb", False),
    ]
    assert [g.mig_parent_uuid for g in gpus] == [None, gpus[0].uuid, gpus[0].uuid]
    assert [g.memory_total_bytes for g in gpus] == [81559 * MIB, 40448 * MIB, 9984 * MIB]
    # What an instance does not tell of itself is its card's.
    assert {(g.compute_capability, g.power_limit_w, g.pci_bus_id) for g in gpus} == {
        ((9, 0), 700.0, "00000000:19:00.0")
    }
    # The driver does not tell the processes of the card as a whole.
    assert [g.process_count for g in gpus] == [None, 0, 1]
    assert findings == ()


@pytest.mark.parametrize("value", ["MIG-2b9e", "MIG-GPU-c6a2f0b1-3b1d-4c0e-a7a5-2f1f9f0d8e21/9/0", "MIG-GPU-c6a2/9/0"])
def test_an_instance_chosen_by_either_name(card: Card, value: str) -> None:
    gpus, _, _, _ = probe_gpus(card("h100_mig", CUDA_VISIBLE_DEVICES=value))
    assert [g.visible for g in gpus] == [False, False, True]


def test_unequal_cards_named_by_number(card: Card) -> None:
    gpus, findings, _, _ = probe_gpus(card("two_different", CUDA_VISIBLE_DEVICES="0"))
    assert [g.visible for g in gpus] == [None, None]
    assert [f.code for f in findings] == ["gpu_choice_unclear"]
    gpus, findings, _, _ = probe_gpus(card("two_different", CUDA_VISIBLE_DEVICES="0", CUDA_DEVICE_ORDER="PCI_BUS_ID"))
    assert [g.visible for g in gpus] == [True, False]
    assert findings == ()


def test_cards_that_the_environment_hides(card: Card, tmp_path: Path) -> None:
    profile = probe(tmp_path, card("a100", CUDA_VISIBLE_DEVICES=""))
    assert profile.device == "cpu"
    assert [g.visible for g in profile.gpus] == [False]
    assert [f.code for f in profile.findings] == ["gpus_hidden"]


@pytest.mark.parametrize(
    ("scenario", "words"),
    [("driver_mismatch", "different versions"), ("driver_not_loaded", "driver is not loaded")],
)
def test_a_driver_that_cannot_be_used(card: Card, tmp_path: Path, scenario: str, words: str) -> None:
    profile = probe(tmp_path, card(scenario))
    assert (profile.device, profile.gpus) == ("cpu", ())
    (finding,) = profile.findings
    assert finding.code == "nvml_unusable"
    assert words in finding.message
    assert finding.advice


@pytest.mark.parametrize(
    ("scenario", "names", "words"),
    [
        ("hang_at_once", [], "did not answer within 2 s"),
        ("hang", ["NVIDIA L4"], "did not answer within 2 s, after 1 of 2 cards"),
    ],
)
def test_a_driver_that_hangs(card: Card, tmp_path: Path, scenario: str, names: list[str], words: str) -> None:
    """It costs its time limit, it is said, and what was learned before stays."""
    start_s = time.monotonic()
    profile: HardwareProfile = probe(tmp_path, card(scenario), gpu_timeout_s=2.0)
    assert time.monotonic() - start_s < 3.5
    assert [g.name for g in profile.gpus] == names
    assert [words in f.message for f in profile.findings if f.code == "nvml_timeout"] == [True]


def test_a_card_lost_in_the_middle(card: Card, tmp_path: Path) -> None:
    """The lost card is named and not used; the other is told in full."""
    profile = probe(tmp_path, card("lost"))
    lost, other = profile.gpus
    assert (lost.name, lost.uuid, lost.visible) == ("NVIDIA A100-PCIE-40GB", None, False)
    assert (other.visible, other.compute_capability, other.power_limit_w) == (True, (8, 0), 250.0)
    assert [f.code for f in profile.findings] == ["gpu_lost"]
    assert profile.device == "gpu"


def test_a_machine_without_the_library_has_no_card_and_nothing_to_say(tmp_path: Path) -> None:
    """No driver is the usual case, not a fault."""
    # An empty folder first on the path cannot hide a real driver; such a machine has its own tests.
    gpus, findings, driver, _ = probe_gpus({"LD_LIBRARY_PATH": str(tmp_path)})
    if driver is not None or gpus:
        pytest.skip("this machine has an NVIDIA driver")
    assert findings == ()

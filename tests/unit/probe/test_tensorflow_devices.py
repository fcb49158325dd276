"""TensorFlow has the last word on which cards are used, and says loudly when it uses none."""

from __future__ import annotations

from typing import Literal

import pytest

from autotune.probe.gpu_findings import tensorflow_sees_none
from autotune.probe.tensorflow_devices import TensorflowDevices, as_tensorflow_sees
from autotune.records import CpuInfo, GpuInfo, HardwareProfile, SoftwareInfo

A100 = GpuInfo(
    index=0, name="NVIDIA A100", uuid="GPU-1", pci_bus_id="00000000:07:00.0", compute_capability=(8, 0), visible=True
)
OTHER = GpuInfo(index=1, name="NVIDIA A100", uuid="GPU-2", pci_bus_id="00000000:0F:00.0", visible=None)


def profile(*gpus: GpuInfo, device: Literal["cpu", "gpu", "tpu"] = "gpu", **software: str) -> HardwareProfile:
    return HardwareProfile(
        device=device,
        cpu=CpuInfo(),
        gpus=gpus,
        software=SoftwareInfo(autotune="0", python="3", system="Linux", **software),
    )


def test_cards_are_matched_by_address_whatever_its_spelling() -> None:
    seen = as_tensorflow_sees(profile(A100, OTHER), TensorflowDevices(gpu_count=1, pci_bus_ids=("0000:0f:00.0",)))
    assert [gpu.visible for gpu in seen.gpus] == [False, True]
    assert seen.device == "gpu"
    assert seen.findings == ()


def test_without_addresses_the_environments_word_stands() -> None:
    seen = as_tensorflow_sees(profile(A100, OTHER), TensorflowDevices(gpu_count=2))
    assert [gpu.visible for gpu in seen.gpus] == [True, None]


def test_an_instance_is_used_and_its_card_is_not() -> None:
    card = GpuInfo(index=0, uuid="GPU-1", pci_bus_id="00000000:07:00.0", visible=False)
    used = GpuInfo(index=0, uuid="MIG-1", pci_bus_id=card.pci_bus_id, mig_parent_uuid="GPU-1", visible=True)
    idle = GpuInfo(index=0, uuid="MIG-2", pci_bus_id=card.pci_bus_id, mig_parent_uuid="GPU-1", visible=False)
    devices = TensorflowDevices(gpu_count=1, pci_bus_ids=("0000:07:00.0",))
    assert [gpu.visible for gpu in as_tensorflow_sees(profile(card, used, idle), devices).gpus] == [False, True, False]


def test_a_card_that_tensorflow_does_not_see_is_a_loud_finding() -> None:
    seen = as_tensorflow_sees(profile(A100), TensorflowDevices(gpu_count=0))
    assert seen.device == "cpu"
    assert [gpu.visible for gpu in seen.gpus] == [False]
    (finding,) = seen.findings
    assert finding.code == "tensorflow_sees_no_gpu"
    assert "NVIDIA A100" in finding.message
    assert "no GPU" in seen.description


def test_a_card_that_the_environment_hides_is_no_surprise() -> None:
    hidden = GpuInfo(index=0, visible=False)
    seen = as_tensorflow_sees(profile(hidden, device="cpu"), TensorflowDevices(gpu_count=0))
    assert (seen.device, seen.findings) == ("cpu", ())


def test_a_tpu_stays_a_tpu() -> None:
    assert as_tensorflow_sees(profile(device="tpu"), TensorflowDevices(gpu_count=0)).device == "tpu"


@pytest.mark.parametrize(
    ("how", "advice"),
    [
        ({}, 'pip install "tensorflow[and-cuda]"'),
        ({"distribution": "tf-nightly"}, 'pip install "tf-nightly[and-cuda]"'),
        ({"distribution": "tensorflow-cpu"}, "pip uninstall tensorflow-cpu"),
        ({"cuda": "11.4"}, "install a newer driver"),
        ({"cuda": "12.4"}, 'pip install "tensorflow[and-cuda]"'),
        ({"system": "Windows"}, "WSL 2"),
        ({"machine": "aarch64"}, "container of NVIDIA's"),
    ],
)
def test_the_likeliest_way_out(how: dict[str, str], advice: str) -> None:
    finding = tensorflow_sees_none([A100], **{"system": "Linux", "machine": "x86_64", **how})
    assert finding.advice is not None and advice in finding.advice


def test_a_card_older_than_the_wheels_is_said_so() -> None:
    maxwell = GpuInfo(index=0, name="GTX 980", compute_capability=(5, 2))
    finding = tensorflow_sees_none([maxwell], system="Linux", machine="x86_64")
    assert finding.advice is not None and "this old" in finding.advice

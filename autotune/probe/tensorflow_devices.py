"""The profile as TensorFlow sees it: which of the cards it uses, by PCI bus id."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Literal

from autotune.probe.gpu_findings import tensorflow_sees_none
from autotune.records import GpuInfo, HardwareProfile

_PCI_ADDRESS = re.compile(r"([0-9a-f]+):([0-9a-f]{2}):([0-9a-f]{2})\.([0-9a-f])")


@dataclass(frozen=True, kw_only=True, slots=True)
class TensorflowDevices:
    """What TensorFlow says that it can run on.

    Attributes:
        gpu_count: GPUs that it sees.
        pci_bus_ids: Their addresses, as far as they are known.
    """

    gpu_count: int
    pci_bus_ids: tuple[str, ...] = ()


def list_tensorflow_devices() -> dict[str, Any]:
    """Child side: the fields of ``TensorflowDevices``; starts the GPUs, as training would."""
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    addresses: list[str] = []
    if gpus:
        # The only place where TensorFlow tells the address of a card.
        from tensorflow.python.client import device_lib

        text = " ".join(device.physical_device_desc for device in device_lib.list_local_devices())
        addresses = [match.group(0) for match in _PCI_ADDRESS.finditer(text.lower())]
    return {"gpu_count": len(gpus), "pci_bus_ids": addresses}


def as_tensorflow_sees(profile: HardwareProfile, devices: TensorflowDevices) -> HardwareProfile:
    """The profile with TensorFlow's word on which cards are used, and a loud finding where it uses none.

    Args:
        profile: What the probe learned.
        devices: What TensorFlow said in a process of the same environment.
    """
    if devices.gpu_count == 0:
        return _without_gpu(profile)
    used = set(map(_normal, devices.pci_bus_ids))
    split = {gpu.mig_parent_uuid for gpu in profile.gpus if gpu.mig_parent_uuid is not None}
    gpus = tuple(_seen(gpu, used, split) for gpu in profile.gpus) if used else profile.gpus
    return replace(profile, device="gpu", gpus=gpus)


def _without_gpu(profile: HardwareProfile) -> HardwareProfile:
    hidden = [gpu for gpu in profile.gpus if gpu.visible is False]
    usable = [gpu for gpu in profile.gpus if gpu.visible is not False]
    device: Literal["cpu", "gpu", "tpu"] = "cpu" if profile.device == "gpu" else profile.device
    if not usable:
        # Nothing to wonder at: there is none, or the environment hides them all, which is said already.
        return replace(profile, device=device)
    software = profile.software
    finding = tensorflow_sees_none(
        usable, distribution=software.tensorflow_distribution or "tensorflow", cuda=software.cuda
    )
    gpus = tuple(gpu if gpu in hidden else replace(gpu, visible=False) for gpu in profile.gpus)
    return replace(profile, device=device, gpus=gpus, findings=(*profile.findings, finding))


def _seen(gpu: GpuInfo, used: Collection[str], split: Collection[str]) -> GpuInfo:
    """A card is used when its address is named; of a card in instances only the one that CUDA sees."""
    if gpu.pci_bus_id is None or gpu.uuid in split or (gpu.mig_parent_uuid is not None and not gpu.visible):
        return gpu
    return replace(gpu, visible=_normal(gpu.pci_bus_id) in used)


def _normal(address: str) -> str:
    """NVML writes the domain in eight digits and capitals, TensorFlow in four and small letters."""
    match = _PCI_ADDRESS.search(address.lower())
    return f"{int(match.group(1), 16):x}:{match.group(2)}:{match.group(3)}.{match.group(4)}" if match else address

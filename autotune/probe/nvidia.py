"""NVIDIA cards by NVML, asked in a child process: a driver that hangs costs a few seconds and no more."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from autotune.probe.capability import (
    has_bfloat16_units,
    has_float8_units,
    has_float16_units,
    has_tensor_cores,
    has_tf32_units,
)
from autotune.probe.child import answer_parent, ask_child
from autotune.probe.gpu_findings import answer_findings, card_findings, tensorflow_sees_none
from autotune.probe.visibility import Device, visible_devices
from autotune.records import Finding, GpuInfo

__all__ = ["GpuProbe", "probe_gpus", "tensorflow_sees_none"]

GpuProbe = tuple[tuple[GpuInfo, ...], tuple[Finding, ...], str | None, str | None]

# Bits of nvmlDeviceGetCurrentClocksEventReasons that mean "slower than it could be"; idle and set clocks do not.
_THROTTLE_BITS = {
    0x04: "power cap",
    0x08: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
}


def probe_gpus(environment: Mapping[str, str] = os.environ, timeout_s: float = 5.0) -> GpuProbe:
    """NVIDIA cards of this machine, whether or not a CUDA program may see them.

    Args:
        environment: Variables of the process to be measured; ``CUDA_VISIBLE_DEVICES`` decides what it sees.
        timeout_s: Time after which the driver is said to hang.

    Returns:
        Cards, findings, version of the driver, and the newest CUDA version that it supports.
    """
    answer = ask_child("autotune.probe.nvidia", timeout_s=timeout_s, environment=environment)
    items = [item for item in answer.lines if isinstance(item, dict)]
    system = next((item for item in items if item["kind"] == "system"), {})
    cards = [item for item in items if item["kind"] == "card"]
    visible = visible_devices([_device(card) for card in cards], environment)
    gpus = tuple(_gpu(card, seen) for card, seen in zip(cards, visible, strict=True))
    lost = [gpu for gpu, card in zip(gpus, cards, strict=True) if card["lost"]]
    findings = (*answer_findings(answer, timeout_s), *card_findings(gpus, lost, environment))
    return gpus, findings, system.get("driver"), system.get("cuda")


def _device(card: dict[str, Any]) -> Device:
    ids = card["instance_ids"]
    return Device(
        uuid=card["uuid"],
        model=card["name"],
        parent_uuid=card["parent_uuid"],
        instance_ids=(ids[0], ids[1]) if ids else None,
        split=bool(card["split"]),
    )


def _gpu(card: dict[str, Any], visible: bool | None) -> GpuInfo:
    numbers = card["capability"]
    capability = (numbers[0], numbers[1]) if numbers else None
    return GpuInfo(
        index=card["index"],
        name=card["name"],
        uuid=card["uuid"],
        pci_bus_id=card["pci_bus_id"],
        compute_capability=capability,
        memory_total_bytes=card["memory_total"],
        memory_free_bytes=card["memory_free"],
        power_limit_w=card["power_limit_mw"] / 1000 if card["power_limit_mw"] else None,
        sm_clock_mhz=card["sm_clock"],
        max_sm_clock_mhz=card["max_sm_clock"],
        throttle_reasons=tuple(name for bit, name in _THROTTLE_BITS.items() if (card["throttle"] or 0) & bit),
        mig_parent_uuid=card["parent_uuid"],
        process_count=card["processes"],
        visible=False if card["lost"] else visible,
        float16_units=has_float16_units(capability),
        bfloat16_units=has_bfloat16_units(capability),
        tf32_units=has_tf32_units(capability),
        tensor_cores=has_tensor_cores(capability),
        float8_units=has_float8_units(capability),
    )


def _ask_driver() -> Iterator[dict[str, Any]]:
    """Child side: one item for the system and one for each card, each given as soon as it is known."""
    import pynvml

    try:
        pynvml.nvmlInit()
        count = pynvml.nvmlDeviceGetCount()
    except pynvml.NVMLError as error:
        yield {"kind": "error", "name": type(error).__name__.removeprefix("NVMLError_"), "text": str(error)}
        return
    ask = _Asker(pynvml)
    cuda = ask("nvmlSystemGetCudaDriverVersion")
    yield {
        "kind": "system",
        "driver": ask("nvmlSystemGetDriverVersion"),
        "cuda": f"{cuda // 1000}.{cuda % 1000 // 10}" if cuda else None,
        "count": count,
    }
    for index in range(count):
        ask.lost = False
        handle = ask("nvmlDeviceGetHandleByIndex", index)
        # Also without a handle: the card is there, and CUDA counts it.
        card = _card(ask, handle, index)
        yield card
        if card["split"]:
            for place in range(ask("nvmlDeviceGetMaxMigDeviceCount", handle) or 0):
                part = ask("nvmlDeviceGetMigDeviceHandleByIndex", handle, place)
                if part is not None:
                    yield _instance(ask, part, card)


class _Asker:
    """Calls NVML; what is not supported, not permitted, or not there in an older library, is None.

    Attributes:
        lost: Whether the card asked last fell off the bus; it is not asked again.
    """

    def __init__(self, library: Any) -> None:
        self._library = library
        self.lost = False

    def __call__(self, function: str, *arguments: Any) -> Any:
        call: Callable[..., Any] | None = getattr(self._library, function, None)
        if call is None or self.lost or any(argument is None for argument in arguments):
            return None
        try:
            return call(*arguments)
        except self._library.NVMLError as error:
            self.lost = error.value == self._library.NVML_ERROR_GPU_IS_LOST
        except (ValueError, TypeError):
            # A name that is no text, a structure of another version.
            pass
        return None


def _card(ask: _Asker, handle: Any, index: int) -> dict[str, Any]:
    import pynvml

    pci = ask("nvmlDeviceGetPciInfo", handle)
    mig = ask("nvmlDeviceGetMigMode", handle)
    throttle = ask("nvmlDeviceGetCurrentClocksEventReasons", handle)
    if throttle is None:
        throttle = ask("nvmlDeviceGetCurrentClocksThrottleReasons", handle)
    card = {
        "kind": "card",
        "index": index,
        **_common(ask, handle),
        "pci_bus_id": (pci.busId.decode() if isinstance(pci.busId, bytes) else pci.busId) if pci else None,
        "capability": ask("nvmlDeviceGetCudaComputeCapability", handle),
        "power_limit_mw": ask("nvmlDeviceGetEnforcedPowerLimit", handle),
        # A clock of 0 is what a card says that has no such figure.
        "sm_clock": ask("nvmlDeviceGetClockInfo", handle, pynvml.NVML_CLOCK_SM) or None,
        "max_sm_clock": ask("nvmlDeviceGetMaxClockInfo", handle, pynvml.NVML_CLOCK_SM) or None,
        "throttle": throttle,
        "split": bool(mig and mig[0] == pynvml.NVML_DEVICE_MIG_ENABLE),
        "parent_uuid": None,
        "instance_ids": None,
    }
    return {**card, "lost": ask.lost}


def _instance(ask: _Asker, handle: Any, card: dict[str, Any]) -> dict[str, Any]:
    """One MIG instance: clocks, power and capability are its card's."""
    ids = (ask("nvmlDeviceGetGpuInstanceId", handle), ask("nvmlDeviceGetComputeInstanceId", handle))
    return {
        **card,
        **_common(ask, handle),
        "split": False,
        "parent_uuid": card["uuid"],
        "instance_ids": None if None in ids else ids,
        "lost": ask.lost,
    }


def _common(ask: _Asker, handle: Any) -> dict[str, Any]:
    memory = ask("nvmlDeviceGetMemoryInfo", handle)
    processes = ask("nvmlDeviceGetComputeRunningProcesses", handle)
    return {
        "name": ask("nvmlDeviceGetName", handle) or None,
        "uuid": ask("nvmlDeviceGetUUID", handle) or None,
        # A total of 0 is what cards without memory of their own say; it is no figure.
        "memory_total": memory.total or None if memory else None,
        "memory_free": memory.free if memory and memory.total else None,
        "processes": None if processes is None else len(processes),
    }


if __name__ == "__main__":
    answer_parent(_ask_driver)

"""NVIDIA cards by NVML, asked in a child process: a driver that hangs costs a few seconds and no more."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from autotune.probe.capability import (
    has_bfloat16_units,
    has_float16_units,
    has_tf32_units,
)
from autotune.probe.child import ChildAnswer, answer_parent, ask_child
from autotune.probe.visibility import VISIBLE_DEVICES, Device, visible_devices
from autotune.records import Finding, GpuInfo, Severity

GpuProbe = tuple[tuple[GpuInfo, ...], tuple[Finding, ...], str | None, str | None]

# Bits of nvmlDeviceGetCurrentClocksEventReasons that mean "slower than it could be"; idle and set clocks do not.
_THROTTLE_BITS = {
    0x04: "power cap",
    0x08: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
}
# NVML's errors at the start, by name: what a person should read; None where it only means "no NVIDIA card here".
_START_ERRORS: dict[str, tuple[str, str] | None] = {
    "LibraryNotFound": None,
    "DriverNotLoaded": (
        "the NVIDIA driver's library is installed but the driver is not loaded",
        "load it (modprobe nvidia) or start the container with the GPU passed in (docker run --gpus all)",
    ),
    "LibRmVersionMismatch": (
        "the NVIDIA driver in the kernel and its library are of different versions, as after an update",
        "restart the machine, or load the new kernel module",
    ),
    "NoPermission": (
        "the NVIDIA driver does not let this user ask about the cards",
        "check the rights of /dev/nvidia*",
    ),
}


def probe_gpus(
    environment: Mapping[str, str] = os.environ, timeout_s: float = 5.0
) -> GpuProbe:
    """NVIDIA cards of this machine, whether or not a CUDA program may see them.

    Args:
        environment: Variables of the process to be measured; ``CUDA_VISIBLE_DEVICES`` decides what it sees.
        timeout_s: Time after which the driver is said to hang.

    Returns:
        Cards, findings, version of the driver, and the newest CUDA version that it supports.
    """
    answer = ask_child(
        "autotune.probe.nvidia", timeout_s=timeout_s, environment=environment
    )
    items = [item for item in answer.lines if isinstance(item, dict)]
    system = next((item for item in items if item["kind"] == "system"), {})
    cards = [item for item in items if item["kind"] == "card"]
    findings = [
        *_start_findings(items),
        *_failure_findings(answer, len(cards), system.get("count"), timeout_s),
    ]
    visible = visible_devices([_device(card) for card in cards], environment)
    gpus = tuple(_gpu(card, seen) for card, seen in zip(cards, visible, strict=True))
    findings += [
        Finding(
            code="gpu_lost",
            severity=Severity.WARNING,
            message=f"{card['name'] or 'GPU'} {card['index']} stopped answering: the driver calls it lost",
            advice="look for Xid errors in the kernel's log; a restart of the machine usually brings it back",
        )
        for card in cards
        if card["lost"]
    ]
    findings += _visibility_findings(gpus, environment)
    return gpus, tuple(findings), system.get("driver"), system.get("cuda")


def tensorflow_sees_none(
    gpus: tuple[GpuInfo, ...], *, distribution: str = "tensorflow"
) -> Finding:
    """The finding for a machine with cards of which TensorFlow uses none.

    Args:
        gpus: Cards as probed.
        distribution: Name under which TensorFlow is installed, e.g. ``tensorflow-cpu``.
    """
    names = ", ".join(gpu.name or "unnamed GPU" for gpu in gpus)
    if distribution == "tensorflow":
        advice = 'pip install "tensorflow[and-cuda]" and try again; every figure here is the processor\'s'
    else:
        advice = f'pip uninstall {distribution}, then pip install "tensorflow[and-cuda]"; every figure here is the processor\'s'
    return Finding(
        code="tensorflow_sees_no_gpu",
        severity=Severity.WARNING,
        message=f"this machine has {names}, but TensorFlow sees no GPU and trains on the processor",
        advice=advice,
    )


def _start_findings(items: list[dict[str, Any]]) -> Iterator[Finding]:
    for item in items:
        if item["kind"] != "error":
            continue
        known = _START_ERRORS.get(
            item["name"],
            (f"NVML cannot be used: {item['text']}", "look at what nvidia-smi says"),
        )
        if known is not None:
            yield Finding(
                code="nvml_unusable",
                severity=Severity.WARNING,
                message=known[0],
                advice=known[1],
            )


def _failure_findings(
    answer: ChildAnswer, found: int, expected: int | None, timeout_s: float
) -> Iterator[Finding]:
    if answer.timed_out:
        heard = f" after {found} of {expected} cards" if expected else ""
        yield Finding(
            code="nvml_timeout",
            severity=Severity.WARNING,
            message=f"the NVIDIA driver did not answer within {timeout_s:g} s{heard}",
            advice="see whether nvidia-smi answers; a driver that hangs usually needs a restart of the machine",
        )
    elif answer.returncode != 0:
        yield Finding(
            code="nvml_failed",
            severity=Severity.WARNING,
            message=f"asking the NVIDIA driver failed (status {answer.returncode}): {answer.error or 'no message'}",
            advice="see whether nvidia-smi works",
        )


def _visibility_findings(
    gpus: tuple[GpuInfo, ...], environment: Mapping[str, str]
) -> Iterator[Finding]:
    value = environment.get(VISIBLE_DEVICES)
    if gpus and value is not None and all(gpu.visible is False for gpu in gpus):
        yield Finding(
            code="gpus_hidden",
            severity=Severity.INFO,
            message=f"{VISIBLE_DEVICES}={value!r} hides every GPU of this machine",
            advice=f"unset {VISIBLE_DEVICES} to train on a GPU",
        )
    if any(gpu.visible is None for gpu in gpus):
        yield Finding(
            code="gpu_choice_unclear",
            severity=Severity.INFO,
            message=f"{VISIBLE_DEVICES}={value!r} names cards by number, and CUDA numbers unequal cards by speed",
            advice="set CUDA_DEVICE_ORDER=PCI_BUS_ID, or name the card by its UUID (nvidia-smi -L)",
        )


def _device(card: dict[str, Any]) -> Device:
    ids = card["instance_ids"]
    return Device(
        uuid=card["uuid"],
        model=card["name"],
        parent_uuid=card["parent_uuid"],
        instance_ids=tuple(ids) if ids else None,
        split=bool(card["split"]),
    )


def _gpu(card: dict[str, Any], visible: bool | None) -> GpuInfo:
    capability = tuple(card["capability"]) if card["capability"] else None
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
        throttle_reasons=tuple(
            name
            for bit, name in _THROTTLE_BITS.items()
            if (card["throttle"] or 0) & bit
        ),
        mig_parent_uuid=card["parent_uuid"],
        process_count=card["processes"],
        visible=False if card["lost"] else visible,
        float16_units=has_float16_units(capability),
        bfloat16_units=has_bfloat16_units(capability),
        tf32_units=has_tf32_units(capability),
    )


def _ask_driver() -> Iterator[dict[str, Any]]:
    """Child side: one item for the system and one for each card, each given as soon as it is known."""
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        yield {
            "kind": "error",
            "name": type(error).__name__.removeprefix("NVMLError_"),
            "text": str(error),
        }
        return
    ask = _Asker(pynvml)
    count = ask("nvmlDeviceGetCount") or 0
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
        if handle is None and not ask.lost:
            continue
        card = _card(ask, handle, index)
        yield card
        if card["split"]:
            for place in range(ask("nvmlDeviceGetMaxMigDeviceCount", handle) or 0):
                part = ask("nvmlDeviceGetMigDeviceHandleByIndex", handle, place)
                if part is not None:
                    yield _instance(ask, part, card)


class _Asker:
    """Calls NVML; what is not supported, or not there in an older library, is None."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self.lost = False

    def __call__(self, function: str, *arguments: Any) -> Any:
        call: Callable[..., Any] | None = getattr(self._library, function, None)
        if call is None or self.lost or None in arguments:
            return None
        try:
            return call(*arguments)
        except self._library.NVMLError as error:
            self.lost = error.value == self._library.NVML_ERROR_GPU_IS_LOST
        except (ValueError, TypeError):
            pass
        return None


def _card(ask: _Asker, handle: Any, index: int) -> dict[str, Any]:
    import pynvml

    pci = ask("nvmlDeviceGetPciInfo", handle)
    mig = ask("nvmlDeviceGetMigMode", handle)
    processes = ask("nvmlDeviceGetComputeRunningProcesses", handle)
    throttle = ask("nvmlDeviceGetCurrentClocksEventReasons", handle)
    if throttle is None:
        throttle = ask("nvmlDeviceGetCurrentClocksThrottleReasons", handle)
    card = {
        "kind": "card",
        "index": index,
        **_common(ask, handle),
        "pci_bus_id": (
            pci.busId.decode() if isinstance(pci.busId, bytes) else pci.busId
        )
        if pci
        else None,
        "capability": ask("nvmlDeviceGetCudaComputeCapability", handle),
        "power_limit_mw": ask("nvmlDeviceGetEnforcedPowerLimit", handle),
        "sm_clock": ask("nvmlDeviceGetClockInfo", handle, pynvml.NVML_CLOCK_SM),
        "max_sm_clock": ask("nvmlDeviceGetMaxClockInfo", handle, pynvml.NVML_CLOCK_SM),
        "throttle": throttle,
        "processes": None if processes is None else len(processes),
        "split": bool(mig and mig[0] == pynvml.NVML_DEVICE_MIG_ENABLE),
        "parent_uuid": None,
        "instance_ids": None,
    }
    return {**card, "lost": ask.lost}


def _instance(ask: _Asker, handle: Any, card: dict[str, Any]) -> dict[str, Any]:
    """One MIG instance: clocks, power and capability are its card's."""
    ids = (
        ask("nvmlDeviceGetGpuInstanceId", handle),
        ask("nvmlDeviceGetComputeInstanceId", handle),
    )
    processes = ask("nvmlDeviceGetComputeRunningProcesses", handle)
    return {
        **card,
        **_common(ask, handle),
        "processes": None if processes is None else len(processes),
        "split": False,
        "parent_uuid": card["uuid"],
        "instance_ids": ids if None not in ids else None,
        "lost": ask.lost,
    }


def _common(ask: _Asker, handle: Any) -> dict[str, Any]:
    memory = ask("nvmlDeviceGetMemoryInfo", handle)
    return {
        "name": ask("nvmlDeviceGetName", handle) or None,
        "uuid": ask("nvmlDeviceGetUUID", handle) or None,
        # A total of 0 is what cards without memory of their own say; it is no figure.
        "memory_total": memory.total or None if memory else None,
        "memory_free": memory.free if memory and memory.total else None,
    }


if __name__ == "__main__":
    answer_parent(_ask_driver)

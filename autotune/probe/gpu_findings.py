"""What a person should know of the NVIDIA cards and their driver."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence

from autotune.probe.child import ChildAnswer
from autotune.probe.visibility import VISIBLE_DEVICES
from autotune.records import Finding, GpuInfo, Severity

# NVML's errors at the start, by name: message and advice; None where it only means "no NVIDIA card here".
_START_ERRORS: dict[str, tuple[str, str] | None] = {
    "LibraryNotFound": None,
    "DriverNotLoaded": (
        "the NVIDIA driver's library is installed but the driver is not loaded",
        "load it (modprobe nvidia), or start the container with the GPU passed in (docker run --gpus all)",
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

# Builds without GPU support, whatever the machine has.
_CPU_BUILDS = frozenset(
    {
        "tensorflow-cpu",
        "tf-nightly-cpu",
        "tensorflow-intel",
        "intel-tensorflow",
        "tensorflow-cpu-aws",
        "tensorflow-macos",
    }
)
# TensorFlow's wheels since 2.16 are built for CUDA 12 (extra "and-cuda" of its metadata) ...
_NEEDED_CUDA = 12
# ... and since 2.18 hold no code for cards before Pascal (release notes).
_OLDEST_CAPABILITY = (6, 0)


def answer_findings(answer: ChildAnswer, timeout_s: float) -> Iterator[Finding]:
    """Findings of asking the driver at all: it cannot be used, hangs or fails."""
    items = [item for item in answer.lines if isinstance(item, dict)]
    for item in items:
        if item["kind"] == "error":
            other = (f"the NVIDIA driver cannot be used: {item['text']}", "look at what nvidia-smi says")
            known = _START_ERRORS.get(item["name"], other)
            if known is not None:
                yield Finding(code="nvml_unusable", severity=Severity.WARNING, message=known[0], advice=known[1])
    if answer.timed_out:
        expected = next((item["count"] for item in items if item["kind"] == "system"), None)
        found = len({item["index"] for item in items if item["kind"] == "card"})
        heard = "" if expected is None else f", after {found} of {expected} cards"
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


def card_findings(
    gpus: Sequence[GpuInfo], lost: Sequence[GpuInfo], environment: Mapping[str, str]
) -> Iterator[Finding]:
    """Findings of single cards and of which of them a CUDA program sees."""
    for gpu in lost:
        yield Finding(
            code="gpu_lost",
            severity=Severity.WARNING,
            message=f"{gpu.name or 'GPU'} {gpu.index} stopped answering: the driver calls it lost",
            advice="look for Xid errors in the kernel's log; a restart of the machine usually brings it back",
        )
    for gpu in gpus:
        if gpu.visible and gpu.memory_total_bytes is None:
            yield Finding(
                code="gpu_memory_unknown",
                severity=Severity.INFO,
                message=f"the driver does not tell the memory of {gpu.name or 'the GPU'}",
                advice="a card that shares the machine's memory never does: leave room for the rest of the machine",
            )
    value = environment.get(VISIBLE_DEVICES)
    answering = [gpu for gpu in gpus if gpu not in lost]
    if answering and value is not None and all(gpu.visible is False for gpu in answering):
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


def tensorflow_sees_none(
    gpus: Sequence[GpuInfo],
    *,
    distribution: str = "tensorflow",
    cuda: str | None = None,
    system: str | None = None,
    machine: str | None = None,
) -> Finding:
    """The finding for a machine with cards of which TensorFlow uses none, with the likeliest way out.

    Args:
        gpus: Cards as probed.
        distribution: Name under which TensorFlow is installed, e.g. ``tensorflow-cpu``.
        cuda: Newest CUDA version that the driver supports.
        system: As ``platform.system()`` names it; this machine's by default.
        machine: As ``platform.machine()`` names it; this machine's by default.
    """
    names = ", ".join(dict.fromkeys(gpu.name or "unnamed GPU" for gpu in gpus))
    way = _way_out(gpus, distribution, cuda, system or platform.system(), machine or platform.machine())
    return Finding(
        code="tensorflow_sees_no_gpu",
        severity=Severity.WARNING,
        message=f"this machine has {names}, but TensorFlow sees no GPU: every result is the processor's",
        advice=way,
    )


def _way_out(gpus: Sequence[GpuInfo], distribution: str, cuda: str | None, system: str, machine: str) -> str:
    package = "tf-nightly" if distribution.startswith("tf-nightly") else "tensorflow"
    install = f'pip install "{package}[and-cuda]"'
    major = int(cuda.split(".")[0]) if cuda and cuda.split(".")[0].isdecimal() else None
    capabilities = [gpu.compute_capability for gpu in gpus if gpu.compute_capability is not None]
    if system == "Windows":
        return "TensorFlow uses no GPU on Windows itself: run it in WSL 2"
    if distribution in _CPU_BUILDS:
        return f"{distribution} is built without GPU support: pip uninstall {distribution}, then {install}"
    if machine in ("aarch64", "arm64"):
        return "TensorFlow's wheels for this processor have no GPU support: use a build or container of NVIDIA's"
    if major is not None and major < _NEEDED_CUDA:
        return f"the driver supports CUDA {cuda} and TensorFlow needs {_NEEDED_CUDA}: install a newer driver"
    if capabilities and max(capabilities) < _OLDEST_CAPABILITY:
        return "TensorFlow's wheels hold no code for a card this old: build TensorFlow for it, or use an older one"
    return install

"""Signs of a TPU: PCI devices, device files and environment. Nothing here connects to one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from autotune.probe.cgroup import read_text
from autotune.probe.software import VersionOf
from autotune.records import Finding, Severity, TpuInfo

# Set by Cloud TPU machines, Kubernetes and Colab, or read by TensorFlow's own resolver.
_ADDRESS_VARIABLES = ("TPU_NAME", "COLAB_TPU_ADDR", "KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS")
_LOCAL_VARIABLES = (
    "TPU_ACCELERATOR_TYPE",
    "TPU_CHIPS_PER_HOST_BOUNDS",
    "TPU_VISIBLE_CHIPS",
    "TPU_WORKER_HOSTNAMES",
    "TPU_WORKER_ID",
)
_KIND_VARIABLE = "TPU_ACCELERATOR_TYPE"
_HOSTS_VARIABLE = "TPU_WORKER_HOSTNAMES"

_GOOGLE = "0x1ae0"
# PCI numbers of Google's chips, as JAX (jax/_src/hardware_utils.py) and PyTorch/XLA list them.
_KINDS = {"0x0027": "v2 or v3", "0x005e": "v4", "0x0062": "v5p", "0x0063": "v5e", "0x006f": "v6e", "0x0076": "7x"}
_LIBRARY_DISTRIBUTIONS = ("libtpu", "libtpu-nightly", "tensorflow-tpu")
_LIBRARY_FILES = ("lib/libtpu.so", "usr/lib/libtpu.so")


def probe_tpu(root: Path = Path("/"), environment: Mapping[str, str] = os.environ) -> TpuInfo | None:
    """Signs of a TPU, None without any.

    Args:
        root: Folder that holds ``dev`` and ``sys``.
        environment: Variables of the process to be measured.
    """
    variables = tuple(name for name in (*_ADDRESS_VARIABLES, *_LOCAL_VARIABLES) if environment.get(name))
    chips = list(_pci_chips(root))
    files = tuple(_device_files(root, also_vfio=bool(variables or chips)))
    if not (variables or chips or files):
        return None
    named = tuple(f"{name} is set" for name in variables)
    hosts = [host for host in environment.get(_HOSTS_VARIABLE, "").split(",") if host.strip()]
    return TpuInfo(
        evidence=(*(f"PCI device {address}" for address, _ in chips), *files, *named),
        kind=environment.get(_KIND_VARIABLE) or next((kind for _, kind in chips), None),
        chips=len(chips) or None,
        hosts=len(hosts) or None,
    )


def tensorflow_can_use(
    tpu: TpuInfo, root: Path = Path("/"), environment: Mapping[str, str] = os.environ, version_of: VersionOf = version
) -> bool:
    """Whether what TensorFlow needs for a TPU is there: an address to connect to, or the library of a local one."""
    if any(environment.get(name) for name in _ADDRESS_VARIABLES) or environment.get("TPU_LIBRARY_PATH"):
        return True
    if tpu.chips is None and not any("/dev/" in sign for sign in tpu.evidence):
        return False
    return any((root / name).exists() for name in _LIBRARY_FILES) or any(
        _installed(name, version_of) for name in _LIBRARY_DISTRIBUTIONS
    )


def tpu_findings(tpu: TpuInfo, *, usable: bool) -> Iterator[Finding]:
    """What a person should know of a TPU.

    Args:
        tpu: Its signs.
        usable: Whether TensorFlow has what it needs for it.
    """
    if tpu.hosts is not None and tpu.hosts > 1:
        yield Finding(
            code="tpu_several_hosts",
            severity=Severity.WARNING,
            message=f"the TPU spans {tpu.hosts} hosts, which this version does not measure",
            advice="measure on a TPU of one host; the answer for several may differ",
        )
    if not usable:
        yield Finding(
            code="tpu_not_usable",
            severity=Severity.WARNING,
            message="this machine has signs of a TPU, but TensorFlow has no library for it: training runs elsewhere",
            advice="pip install tensorflow-tpu",
        )
    else:
        yield Finding(
            code="tpu_needs_strategy",
            severity=Severity.INFO,
            message="a TPU is used only by a model that is built inside the scope of a TPUStrategy",
        )


def _pci_chips(root: Path) -> Iterator[tuple[str, str]]:
    """Address and kind of each TPU on the PCI bus."""
    for folder in sorted((root / "sys/bus/pci/devices").glob("*")):
        kind = _KINDS.get(read_text(folder / "device") or "")
        if kind is not None and read_text(folder / "vendor") == _GOOGLE:
            yield folder.name, kind


def _device_files(root: Path, *, also_vfio: bool) -> list[str]:
    """Device files of chips; ``vfio`` groups may be of anything and count only beside another sign."""
    names = [p.name for p in sorted((root / "dev").glob("accel[0-9]*"))]
    # The kernel's common folder for accelerators is also that of Intel's and AMD's neural units.
    for path in sorted((root / "dev/accel").glob("accel[0-9]*")):
        if read_text(root / "sys/class/accel" / path.name / "device/vendor") == _GOOGLE:
            names.append(f"accel/{path.name}")
    if also_vfio:
        names += [f"vfio/{p.name}" for p in sorted((root / "dev/vfio").glob("[0-9]*"))]
    return [f"/dev/{name}" for name in names]


def _installed(name: str, version_of: VersionOf) -> bool:
    try:
        return bool(version_of(name))
    except PackageNotFoundError:
        return False

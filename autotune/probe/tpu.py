"""Signs of a TPU: device files and environment. Nothing here connects to one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from autotune.records import TpuInfo

# Set by Cloud TPU machines, Colab and TensorFlow's own resolvers.
_VARIABLES = (
    "TPU_NAME",
    "COLAB_TPU_ADDR",
    "TPU_ACCELERATOR_TYPE",
    "TPU_WORKER_ID",
    "TPU_WORKER_HOSTNAMES",
    "TPU_CHIPS_PER_HOST_BOUNDS",
    "TPU_VISIBLE_CHIPS",
    "KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS",
)


def probe_tpu(
    root: Path = Path("/"), environment: Mapping[str, str] = os.environ
) -> TpuInfo | None:
    """Signs of a TPU, None without any.

    Args:
        root: Folder that holds ``dev``.
        environment: Variables of the process to be measured.
    """
    variables = tuple(
        f"{name}={environment[name]}" for name in _VARIABLES if environment.get(name)
    )
    files = tuple(_device_files(root, also_vfio=bool(variables)))
    if not files and not variables:
        return None
    return TpuInfo(
        evidence=files + variables, kind=environment.get("TPU_ACCELERATOR_TYPE") or None
    )


def _device_files(root: Path, *, also_vfio: bool) -> list[str]:
    """Device files of chips; ``vfio`` groups are only telling where the environment speaks of a TPU."""
    folder = root / "dev"
    names = sorted(p.name for p in folder.glob("accel[0-9]*")) + sorted(
        f"accel/{p.name}" for p in (folder / "accel").glob("accel[0-9]*")
    )
    if also_vfio:
        names += sorted(f"vfio/{p.name}" for p in (folder / "vfio").glob("[0-9]*"))
    return [f"/dev/{name}" for name in names]

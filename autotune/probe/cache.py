"""Ceilings kept from one ``autotune probe`` to the next, for the same hardware and software."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from autotune.errors import AutotuneError
from autotune.probe.ceilings import Measured
from autotune.records import HardwareProfile
from autotune.records.codec import dumps, loads

CACHE_VARIABLE = "AUTOTUNE_CACHE_DIR"
# Changes when what is measured changes, so that old figures are not compared with new ones.
_MEASURED = 1
# Variables that change which kernels run, and on how many threads.
_PREFIXES = ("TF_", "XLA_", "CUDA_", "NVIDIA_TF32", "ONEDNN_", "DNNL_", "OMP_", "KMP_")


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Folder of the cache: ``AUTOTUNE_CACHE_DIR``, or the user's cache folder."""
    own = environment.get(CACHE_VARIABLE)
    if own:
        return Path(own)
    import platformdirs

    return Path(platformdirs.user_cache_dir("autotune", appauthor=False))


def cache_key(profile: HardwareProfile, dtypes: Sequence[str], environment: Mapping[str, str] = os.environ) -> str:
    """Equal where the same should be measured: devices, what may be used of them, versions and settings."""
    cpu = replace(profile.cpu, load_1m=None, memory_available_bytes=None, memory_bytes=None)
    gpus = [(gpu.uuid, gpu.name, gpu.visible, gpu.power_limit_w) for gpu in profile.gpus]
    settings = sorted((name, value) for name, value in environment.items() if name.startswith(_PREFIXES))
    parts = (_MEASURED, list(dtypes), cpu, gpus, profile.tpu, profile.software, settings)
    return hashlib.sha256(dumps(parts, indent=None).encode()).hexdigest()[:16]


def load_measured(profile: HardwareProfile, dtypes: Sequence[str], folder: Path) -> Measured | None:
    """What was measured earlier on the same machine; None where there is nothing that can be read."""
    try:
        text = _file(profile, dtypes, folder).read_text(encoding="utf-8")
        measured = loads(Measured, text, what="cached ceilings")
    except (OSError, ValueError, AutotuneError):
        return None
    return measured if measured.ceilings else None


def save_measured(measured: Measured, profile: HardwareProfile, dtypes: Sequence[str], folder: Path) -> bool:
    """Keeps what was measured; False where the folder cannot be written, which is no error."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, suffix=".tmp")
    except OSError:
        return False
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(dumps(measured))
        # Replaced in one step: another process never reads half a file.
        os.replace(name, _file(profile, dtypes, folder))
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(name)
        return False
    return True


def _file(profile: HardwareProfile, dtypes: Sequence[str], folder: Path) -> Path:
    return folder / f"ceilings-{cache_key(profile, dtypes)}.json"

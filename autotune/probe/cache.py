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
from autotune.probe.ceilings import ceilings_from
from autotune.records import Ceiling, HardwareProfile
from autotune.records.codec import dumps, to_json

CACHE_VARIABLE = "AUTOTUNE_CACHE_DIR"
# Changes when what is measured changes, so that old figures are not compared with new ones.
_MEASURED = 1


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Folder of the cache: ``AUTOTUNE_CACHE_DIR``, or the user's cache folder."""
    own = environment.get(CACHE_VARIABLE)
    if own:
        return Path(own)
    import platformdirs

    return Path(platformdirs.user_cache_dir("autotune", appauthor=False))


def cache_key(profile: HardwareProfile, dtypes: Sequence[str]) -> str:
    """Equal for profiles that should measure the same: devices, what may be used of them, and versions."""
    cpu = replace(
        profile.cpu, load_1m=None, memory_available_bytes=None, memory_bytes=None
    )
    gpus = [
        (gpu.uuid, gpu.name, gpu.visible, gpu.power_limit_w) for gpu in profile.gpus
    ]
    parts = (_MEASURED, list(dtypes), cpu, gpus, profile.tpu, profile.software)
    return hashlib.sha256(dumps(to_json(parts), indent=None).encode()).hexdigest()[:16]


def load_ceilings(
    profile: HardwareProfile, dtypes: Sequence[str], folder: Path
) -> tuple[Ceiling, ...] | None:
    """Ceilings measured earlier on the same machine; None where there are none that can be read."""
    import json

    try:
        return (
            ceilings_from(
                json.loads(_file(profile, dtypes, folder).read_text(encoding="utf-8"))
            )
            or None
        )
    except (OSError, ValueError, AutotuneError):
        return None


def save_ceilings(
    ceilings: Sequence[Ceiling],
    profile: HardwareProfile,
    dtypes: Sequence[str],
    folder: Path,
) -> bool:
    """Keeps ceilings; False where the folder cannot be written, which is no error."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, suffix=".tmp")
    except OSError:
        return False
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(dumps(list(ceilings)))
        # Replaced in one step: another process never reads half a file.
        os.replace(name, _file(profile, dtypes, folder))
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(name)
        return False
    return True


def _file(profile: HardwareProfile, dtypes: Sequence[str], folder: Path) -> Path:
    return folder / f"ceilings-{cache_key(profile, dtypes)}.json"

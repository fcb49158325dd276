"""A stand-in for NVIDIA's library, compiled once, and the scenarios that it answers from."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

_NVML = Path(__file__).parent / "nvml"


@pytest.fixture(scope="session")
def nvml_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the compiled stand-in under the name that pynvml loads."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler to build the stand-in for NVML")
    folder = tmp_path_factory.mktemp("nvml")
    command = [compiler, "-shared", "-fPIC", "-o", "libnvidia-ml.so.1"]
    subprocess.run([*command, str(_NVML / "standin.c")], cwd=folder, check=True, timeout=120)
    return folder


@pytest.fixture
def card(nvml_folder: Path) -> Callable[..., dict[str, str]]:
    """Environment of a machine with the cards of a scenario."""

    def environment(scenario: str, **variables: str) -> dict[str, str]:
        path = os.pathsep.join([str(nvml_folder), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])])
        file = _NVML / "scenarios" / f"{scenario}.txt"
        assert file.is_file()
        return {"LD_LIBRARY_PATH": path, "NVML_STANDIN": str(file), **variables}

    return environment

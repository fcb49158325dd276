"""Versions come from metadata, under whatever name TensorFlow is installed, without importing it."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import PackageNotFoundError

import pytest

from autotune.probe.software import probe_software


def installed(**versions: str):
    known = {name.replace("_", "-"): number for name, number in versions.items()}

    def version_of(name: str) -> str:
        if name not in known:
            raise PackageNotFoundError(name)
        return known[name]

    return version_of


@pytest.mark.parametrize("name", ["tensorflow", "tensorflow_cpu", "tf_nightly", "tensorflow_macos"])
def test_tensorflow_by_any_name(name: str) -> None:
    info = probe_software(version_of=installed(**{name: "2.21.0"}, keras="3.15.1"))
    assert (info.tensorflow, info.keras) == ("2.21.0", "3.15.1")
    assert info.tensorflow_distribution == name.replace("_", "-")


def test_the_plain_package_wins_over_leftovers() -> None:
    info = probe_software(version_of=installed(tensorflow="2.21.0", tensorflow_cpu="2.11.0"))
    assert (info.tensorflow, info.tensorflow_distribution) == ("2.21.0", "tensorflow")


def test_what_is_not_installed_is_unknown() -> None:
    info = probe_software(version_of=installed())
    assert (info.tensorflow, info.tensorflow_distribution, info.keras, info.numpy) == (None, None, None, None)
    assert info.autotune and info.python


def test_nothing_heavy_is_imported() -> None:
    code = (
        "import sys; from autotune.probe.software import probe_software; probe_software();"
        "print([m for m in ('tensorflow', 'keras', 'numpy', 'pynvml', 'cpuinfo') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"

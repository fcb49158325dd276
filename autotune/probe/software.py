"""Versions that a measurement depends on, read from package metadata: nothing heavy is imported."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version

from autotune.records import SoftwareInfo

# Every name under which the module tensorflow is published, the usual one first.
TENSORFLOW_DISTRIBUTIONS = (
    "tensorflow",
    "tensorflow-cpu",
    "tf-nightly",
    "tf-nightly-cpu",
    "tensorflow-gpu",
    "tensorflow-macos",
    "tensorflow-intel",
    "intel-tensorflow",
    "tensorflow-cpu-aws",
    "tensorflow-rocm",
    "tensorflow-tpu",
)
_KERAS_DISTRIBUTIONS = ("keras", "keras-nightly")
_AUTOTUNE_DISTRIBUTIONS = ("keras-autotune",)

VersionOf = Callable[[str], str]


def probe_software(
    *, nvidia_driver: str | None = None, cuda: str | None = None, version_of: VersionOf = version
) -> SoftwareInfo:
    """Versions of what a measurement runs on.

    Args:
        nvidia_driver: Version of the driver, as the driver says.
        cuda: Newest CUDA version that the driver supports.
        version_of: Gives the version of an installed distribution, or raises ``PackageNotFoundError``.
    """
    import autotune

    return SoftwareInfo(
        autotune=_first(_AUTOTUNE_DISTRIBUTIONS, version_of) or autotune.__version__,
        python=platform.python_version(),
        system=_system(),
        tensorflow=_first(TENSORFLOW_DISTRIBUTIONS, version_of),
        keras=_first(_KERAS_DISTRIBUTIONS, version_of),
        optuna=_first(("optuna",), version_of),
        numpy=_first(("numpy",), version_of),
        nvidia_driver=nvidia_driver,
        cuda=cuda,
        tensorflow_distribution=tensorflow_distribution(version_of),
    )


def tensorflow_distribution(version_of: VersionOf = version) -> str | None:
    """Name under which TensorFlow is installed; None where it is not."""
    return next((name for name in TENSORFLOW_DISTRIBUTIONS if _version(name, version_of)), None)


def _first(names: Iterable[str], version_of: VersionOf) -> str | None:
    return next((found for name in names if (found := _version(name, version_of))), None)


def _version(name: str, version_of: VersionOf) -> str | None:
    try:
        return version_of(name) or None
    except PackageNotFoundError:
        return None


def _system() -> str:
    release = platform.release()
    wsl = " (WSL)" if "microsoft" in release.lower() else ""
    return f"{platform.system()} {release} {platform.machine()}{wsl}"

"""The distributions, built once, and environments of their own in which they are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_SOURCES = ("autotune", "strategies", "reports")


def run(*command: str | Path, cwd: Path) -> str:
    """Runs a command, which must succeed, without variables that change what Python imports; gives its output."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@dataclass(frozen=True, kw_only=True)
class Built:
    """A copy of the sources and what was built from it."""

    source: Path
    wheel: Path
    sdist: Path


@dataclass(frozen=True, kw_only=True)
class Installed:
    """An environment in which the project is installed, and its programs."""

    how: str
    python: Path
    command: Path
    packages: Path


@pytest.fixture(scope="package")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A source distribution, and a wheel that is built from it, of a copy of the tree."""
    folder = tmp_path_factory.mktemp("dist")
    source = folder / "a copy, with spaces"
    for name in _SOURCES:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, source, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    (sdist,) = folder.glob("*.tar.gz")
    return Built(source=source, wheel=wheel, sdist=sdist)


@pytest.fixture(scope="package", params=["wheel", "editable"])
def installed(request: pytest.FixtureRequest, built: Built, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The project in a new environment, from its wheel or editable; dependencies are those of the running tests."""
    home = tmp_path_factory.mktemp(f"environment-{request.param}")
    run(sys.executable, "-m", "venv", "--without-pip", home, cwd=home)
    scheme = sysconfig.get_paths("venv", vars={"base": str(home), "platbase": str(home)})
    packages, programs = Path(scheme["purelib"]), Path(scheme["scripts"])
    # A folder named in a .pth file comes after the environment's own, and the .pth files in it are not read: an
    # editable install beside these tests stays unseen.
    (packages / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    python = programs / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", "install")
    what = ("--editable", built.source) if request.param == "editable" else (built.wheel,)
    run(*pip, "--quiet", "--ignore-installed", "--no-deps", "--no-build-isolation", *what, cwd=home)
    return Installed(how=request.param, python=python, command=programs / "autotune", packages=packages)

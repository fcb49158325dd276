"""What is distributed: one top-level name, everything that is needed, and the tree's own list of packages."""

from __future__ import annotations

import tarfile
import tomllib
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

import autotune
from tests.packaging.conftest import ROOT, Built

TEMPLATES = {path.name for path in (ROOT / "reports" / "templates").iterdir() if path.is_file()}


@pytest.fixture(scope="module")
def in_wheel(built: Built) -> set[str]:
    """Names of the files in the wheel."""
    with zipfile.ZipFile(built.wheel) as wheel:
        return set(wheel.namelist())


@pytest.fixture(scope="module")
def in_sdist(built: Built) -> set[str]:
    """Names of the files in the source distribution, below its folder."""
    with tarfile.open(built.sdist) as sdist:
        return {member.name.split("/", 1)[1] for member in sdist.getmembers() if member.isfile()}


@pytest.mark.slow
def test_the_wheel_has_one_top_level_name(in_wheel: set[str]) -> None:
    """``strategies`` and ``reports`` lie inside the package: users have folders of these names."""
    assert {name.split("/")[0] for name in in_wheel if ".dist-info/" not in name} == {"autotune"}


@pytest.mark.slow
def test_every_module_is_in_the_wheel(in_wheel: set[str]) -> None:
    """A module that imports in the tree imports once installed."""
    tree = {path.relative_to(ROOT).as_posix() for path in (ROOT / "autotune").rglob("*.py")}
    for folder in ("strategies", "reports"):
        tree |= {"autotune/" + path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*.py")}
    assert {name for name in in_wheel if name.endswith(".py")} == tree


@pytest.mark.slow
def test_templates_types_and_licence_are_in_the_wheel(in_wheel: set[str]) -> None:
    """Reports render, type checkers see the types, and the licence travels along."""
    assert TEMPLATES
    assert {f"autotune/reports/templates/{name}" for name in TEMPLATES} | {"autotune/py.typed"} <= in_wheel
    assert [name for name in in_wheel if name.endswith(".dist-info/licenses/LICENSE")]


@pytest.mark.slow
def test_the_source_distribution_is_complete(in_sdist: set[str]) -> None:
    """The wheel is built from it, and people can read what they got."""
    assert {f"reports/templates/{name}" for name in TEMPLATES} <= in_sdist
    assert {"pyproject.toml", "README.md", "LICENSE", "autotune/py.typed", "strategies/__init__.py"} <= in_sdist


@pytest.mark.slow
def test_name_version_and_licence_of_the_wheel(built: Built) -> None:
    """The distribution's name differs from the package's; the version has one home."""
    with zipfile.ZipFile(built.wheel) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = HeaderParser().parsestr(wheel.read(name).decode())
    assert metadata["Name"] == "keras-autotune"
    assert metadata["Version"] == autotune.__version__
    assert metadata["License-Expression"] == "MIT"


def test_every_package_is_listed() -> None:
    """The packages that pyproject.toml lists are those of the tree: none forgotten, none gone."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    assert sorted(listed) == sorted({*_packages("autotune"), *_packages("strategies"), *_packages("reports")})


def _packages(folder: str) -> set[str]:
    names = {".".join(path.parent.relative_to(ROOT).parts) for path in Path(ROOT, folder).rglob("__init__.py")}
    return names if folder == "autotune" else {f"autotune.{name}" for name in names}

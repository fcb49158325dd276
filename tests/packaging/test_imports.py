"""What is imported when: help answers at once, and the parent stays without the frameworks."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.packaging.conftest import run

HEAVY = {"altair", "jax", "keras", "numpy", "optuna", "pandas", "scipy", "tensorflow", "torch"}
_TELL = "\nimport json, sys\nprint('\\n' + json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
_COMMANDS = ("recommend", "probe", "diagnose", "run", "report", "schema")


def imported_by(code: str, cwd: Path) -> set[str]:
    """Top-level names that a new interpreter has imported after running some code."""
    return set(json.loads(run(sys.executable, "-P", "-c", code + _TELL, cwd=cwd).splitlines()[-1]))


@pytest.mark.parametrize("command", ["", *_COMMANDS])
def test_help_imports_nothing_heavy(command: str, tmp_path: Path) -> None:
    """``autotune --help`` is instant, and the help of a command waits for none of the large libraries."""
    arguments = [word for word in (command, "--help") if word]
    names = imported_by(f"from autotune.cli.main import run\nassert run({arguments!r}) == 0", tmp_path)
    assert "typer" in names
    assert sorted(names & (HEAVY if command else HEAVY | {"pydantic"})) == []


def test_the_package_imports_nothing_heavy(tmp_path: Path) -> None:
    """``import autotune`` costs nothing in a user's script or notebook."""
    assert sorted(imported_by("import autotune", tmp_path) & HEAVY) == []


def test_the_whole_parent_imports_no_framework(tmp_path: Path) -> None:
    """Everything that the parent can run imports without TensorFlow, Keras or another framework."""
    code = (
        "import autotune, autotune.api, autotune.tuner, autotune.reports.write, autotune.strategies.tpe\n"
        "autotune.recommend, autotune.load, autotune.Recommendation, autotune.Configuration"
    )
    names = imported_by(code, tmp_path)
    assert "scipy" in names, "the parent was imported"
    assert sorted(names & {"jax", "keras", "tensorflow", "torch"}) == []

"""The installed project: works from any folder, beside any files of the user's, from a wheel and editable."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.packaging.conftest import Built, Installed, run

pytestmark = pytest.mark.slow

_WHERE = """
import autotune, autotune.strategies, autotune.reports, autotune.api, sys
from autotune.strategies import names
print([autotune.__file__, autotune.strategies.__file__, autotune.reports.__file__], len(names()))
"""


def test_every_package_imports_from_any_folder(installed: Installed, built: Built, tmp_path: Path) -> None:
    """The mapped packages too, and from this installation, not from the tree of the tests."""
    source = str(built.source if installed.how == "editable" else installed.packages)
    for folder in (tmp_path, Path("/")):
        told = run(installed.python, "-c", _WHERE, cwd=folder)
        assert told.count(source) == 3, told


def test_the_templates_are_found(installed: Installed, tmp_path: Path) -> None:
    """Reports read their templates through the package, wherever that lies."""
    code = (
        "from importlib.resources import files\n"
        "folder = files('autotune.reports') / 'templates'\n"
        "print([item.name for item in folder.iterdir()])"
    )
    assert "report.html.j2" in run(installed.python, "-c", code, cwd=tmp_path)


def test_no_name_but_autotune_can_be_imported(installed: Installed, tmp_path: Path) -> None:
    """``import strategies`` and ``import reports`` stay the user's."""
    code = "import importlib.util as u; print([n for n in ('strategies', 'reports', 'records') if u.find_spec(n)])"
    assert run(installed.python, "-c", code, cwd=tmp_path).strip() == "[]"


def test_a_users_own_names_do_the_command_no_harm(installed: Installed, tmp_path: Path) -> None:
    """Modules of our names in the working folder are not taken for ours by the console script."""
    theirs = "raise SystemExit('a module of the user')\n"
    for name in ("strategies", "reports", "records"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(theirs)
    (tmp_path / "autotune.py").write_text(theirs)
    assert "recommend" in run(installed.command, "--help", cwd=tmp_path)
    assert json.loads(run(installed.command, "schema", cwd=tmp_path))["type"] == "object"


def test_a_users_own_strategies_import_beside_ours(installed: Installed, tmp_path: Path) -> None:
    """A user's ``strategies`` and ours live in one process."""
    (tmp_path / "strategies").mkdir()
    (tmp_path / "strategies" / "__init__.py").write_text("mine = True\n")
    code = "import autotune.strategies, strategies\nprint(strategies.mine, autotune.strategies.names() != ())"
    assert run(installed.python, "-c", code, cwd=tmp_path).split() == ["True", "True"]


def test_the_version_is_told(installed: Installed, tmp_path: Path) -> None:
    """The console script is wired to the program."""
    import autotune

    assert run(installed.command, "--version", cwd=tmp_path).split() == ["autotune", autotune.__version__]

"""What is installed: one top-level name, everything that is needed, nothing that gets in a user's way."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*command: str, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[zipfile.ZipFile, tarfile.TarFile]:
    """A wheel and a source distribution, built from a copy of the tracked files."""
    out = tmp_path_factory.mktemp("dist")
    source = out / "source"
    names = run(
        "git", "ls-files", "autotune", "strategies", "reports", "pyproject.toml", "README.md", "LICENSE", cwd=ROOT
    ).split()
    for name in names:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes((ROOT / name).read_bytes())
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(source), cwd=out)
    return zipfile.ZipFile(next(out.glob("*.whl"))), tarfile.open(next(out.glob("*.tar.gz")))


@pytest.mark.slow
def test_the_wheel_installs_one_top_level_name(built: tuple[zipfile.ZipFile, tarfile.TarFile]) -> None:
    """``strategies`` and ``reports`` live inside the package, not beside it."""
    names = {name.split("/")[0] for name in built[0].namelist() if ".dist-info" not in name}
    assert names == {"autotune"}


@pytest.mark.slow
def test_templates_and_marker_are_inside(built: tuple[zipfile.ZipFile, tarfile.TarFile]) -> None:
    """Every template of the tree and ``py.typed`` are in the wheel and in the source distribution."""
    templates = {p.name for p in (ROOT / "reports" / "templates").iterdir() if p.is_file()}
    wheel = built[0].namelist()
    assert templates and {f"autotune/reports/templates/{name}" for name in templates} <= set(wheel)
    assert "autotune/py.typed" in wheel
    source = {name.split("/", 1)[1] for name in built[1].getnames() if "/" in name}
    assert {f"reports/templates/{name}" for name in templates} | {"pyproject.toml", "README.md", "LICENSE"} <= source


def test_every_package_is_listed() -> None:
    """The list of packages in pyproject.toml is the tree's."""
    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    found = {".".join(p.parent.relative_to(ROOT).parts) for p in (ROOT / "autotune").rglob("__init__.py")}
    for name in ("strategies", "reports"):
        found |= {"autotune." + ".".join(p.parent.relative_to(ROOT).parts) for p in (ROOT / name).rglob("__init__.py")}
    assert listed == found


def test_help_is_instant_because_it_imports_nothing_heavy(tmp_path: Path) -> None:
    """Neither the frameworks nor the large libraries are imported for ``autotune --help``."""
    code = (
        "import sys\nfrom autotune.cli.main import run\n"
        "assert run(['--help']) == 0\n"
        "heavy = {'tensorflow', 'keras', 'optuna', 'pandas', 'scipy', 'altair', 'numpy', 'pydantic'}\n"
        "print(sorted(heavy & {name.split('.')[0] for name in sys.modules}), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_a_users_own_modules_do_no_harm(tmp_path: Path) -> None:
    """Folders and files of our names in the working folder are not taken for ours by the installed command."""
    for name in ("strategies", "reports", "records"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('the user\\'s own')\n")
    (tmp_path / "autotune.py").write_text("raise SystemExit('the user\\'s own')\n")
    command = Path(sys.executable).parent / "autotune"
    if not command.exists():
        pytest.skip("the console script is not installed beside this interpreter")
    assert "recommend" in run(str(command), "--help", cwd=tmp_path)
    assert "schema" in run(str(command), "schema", cwd=tmp_path)


def test_import_from_any_folder(tmp_path: Path) -> None:
    """An installed copy, editable or not, imports from anywhere, mapped packages included, without the frameworks."""
    code = "import sys, autotune, autotune.strategies, autotune.reports, autotune.api\nassert 'tensorflow' not in sys.modules\n"
    run(sys.executable, "-P", "-c", code, cwd=tmp_path)

"""Reports are written whole or not at all, with the permissions of other files."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from autotune.atomic import write_atomically
from autotune.reports.write import shown_folder, write_reports
from tests.unit.reports.samples import by_precision, nothing_known


def test_page_markdown_and_figures_are_written(tmp_path: Path) -> None:
    paths = write_reports(by_precision(), tmp_path)
    assert paths == {
        "html": tmp_path / "report.html",
        "markdown": tmp_path / "report.md",
        "figures": tmp_path / "figures",
    }
    markdown = paths["markdown"].read_text(encoding="utf-8")
    drawn = sorted(path.name for path in paths["figures"].iterdir())
    assert drawn == ["batches.svg", "curves.svg", "difference.svg", "front.svg", "roofline.svg", "speed.svg"]
    assert all(f"](figures/{name})" in markdown for name in drawn)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figures", "report.html", "report.md"]


def test_no_figures_no_folder(tmp_path: Path) -> None:
    assert set(write_reports(nothing_known(), tmp_path)) == {"html", "markdown"}
    assert not (tmp_path / "figures").exists()


def test_a_second_report_replaces_the_first(tmp_path: Path) -> None:
    write_reports(nothing_known(), tmp_path)
    write_reports(by_precision(), tmp_path)
    assert "1.71x faster" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.md"
    write_atomically(path, "old")

    def full(source: object, target: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="no space left"):
        write_atomically(path, "new")
    assert path.read_text(encoding="utf-8") == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.md"]


def test_permissions_are_those_of_any_new_file(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("", encoding="utf-8")
    write_atomically(tmp_path / "report.md", "text")
    assert stat.S_IMODE((tmp_path / "report.md").stat().st_mode) == stat.S_IMODE(other.stat().st_mode)


def test_commands_name_the_folder_from_where_we_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert shown_folder(tmp_path / "runs" / "one") == Path("runs/one")
    assert shown_folder(Path("runs/one")) == Path("runs/one")
    assert shown_folder(Path("/elsewhere/one")) == Path("/elsewhere/one")

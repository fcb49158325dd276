"""Writes the reports into the run folder."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from autotune.records import Recommendation
from autotune.reports.html import render_html
from autotune.reports.markdown import render_markdown
from autotune.reports.view import view

HTML_NAME = "report.html"
MARKDOWN_NAME = "report.md"


def write_reports(recommendation: Recommendation, folder: Path) -> dict[str, Path]:
    """Writes report.html and report.md; a reader sees the old file or the new one, never a part.

    Args:
        recommendation: The record.
        folder: The run folder, which must exist.

    Returns:
        The paths written, by format: ``html`` and ``markdown``.

    Raises:
        OSError: The folder cannot be written to.
    """
    shown = view(recommendation, str(folder))
    paths = {"html": folder / HTML_NAME, "markdown": folder / MARKDOWN_NAME}
    write_text(paths["html"], render_html(shown))
    write_text(paths["markdown"], render_markdown(shown))
    return paths


def write_text(path: Path, text: str) -> None:
    """Replaces a file in one step, by way of a new one in the same folder."""
    # Not tempfile: its files are private, a report has the permissions of any other new file.
    beside = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        with open(beside, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise

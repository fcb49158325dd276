"""Writes the reports into the run folder."""

from __future__ import annotations

import os
from pathlib import Path

from autotune.atomic import write_atomically
from autotune.records import Recommendation
from autotune.reports.chart_style import PAPER, still
from autotune.reports.charts import figures
from autotune.reports.html import render_html
from autotune.reports.markdown import render_markdown
from autotune.reports.view import view

HTML_NAME = "report.html"
MARKDOWN_NAME = "report.md"
FIGURES_NAME = "figures"


def write_reports(recommendation: Recommendation, folder: Path) -> dict[str, Path]:
    """Writes report.html, report.md and the figures of the latter.

    A reader sees the old file or the new one, never a part.

    Args:
        recommendation: The record.
        folder: The run folder, which must exist.

    Returns:
        The paths written: ``html``, ``markdown``, and ``figures`` for the folder, where there are any.

    Raises:
        OSError: The folder cannot be written to.
    """
    shown = view(recommendation, str(shown_folder(folder)))
    paths = {"html": folder / HTML_NAME, "markdown": folder / MARKDOWN_NAME}
    write_atomically(paths["html"], render_html(shown))
    drawn = {name: still(specification) for name, specification in figures(shown, PAPER).items()}
    if drawn:
        paths["figures"] = folder / FIGURES_NAME
        paths["figures"].mkdir(exist_ok=True)
    for name, svg in drawn.items():
        write_atomically(folder / FIGURES_NAME / f"{name}.svg", svg)
    places = {name: f"{FIGURES_NAME}/{name}.svg" for name in drawn}
    write_atomically(paths["markdown"], render_markdown(shown, figures=places))
    return paths


def shown_folder(folder: Path) -> Path:
    """The folder as commands should name it: from where we are, if it lies below; else in full."""
    full, here = Path(os.path.abspath(folder)), Path.cwd()
    return full.relative_to(here) if full.is_relative_to(here) else full

"""Two runs side by side on a terminal, as Markdown, as an HTML page."""

from __future__ import annotations

from rich.console import Console

from autotune.reports.compare import Compared, Comparison
from autotune.reports.markdown import plain, table
from autotune.reports.page import render_page
from autotune.reports.record_json import render_json
from autotune.reports.screen import Screen


def render_comparison(comparison: Comparison, console: Console) -> None:
    """Writes the comparison to a console."""
    screen = Screen(console)
    screen.paragraph(comparison.headline, style="bold")
    screen.blank()
    screen.rows("first", [comparison.first])
    screen.rows("second", [comparison.second])
    screen.blank()
    if not comparison.changes:
        screen.rows("changed", ["nothing in machine, versions and training"])
    for change in comparison.changes:
        screen.rows(change.group, [f"{change.what}: {change.first} -> {change.second}"])
    screen.blank()
    for row in (*comparison.answers, *comparison.policies):
        screen.rows("changed" if row.changed else "", [_line(row)])


def _line(row: Compared) -> str:
    return f"{row.what}: {row.first}" + ("" if row.first == row.second else f" -> {row.second}")


def comparison_markdown(comparison: Comparison) -> str:
    """The comparison as Markdown; names and messages stay text."""
    head = ("", plain(comparison.first), plain(comparison.second))
    parts = [f"# {plain(comparison.headline)}", "## What changed"]
    changes = [(plain(f"{c.group}: {c.what}"), plain(c.first), plain(c.second)) for c in comparison.changes]
    parts.append(table(head, changes) if changes else "Nothing in machine, versions and training.")
    for title, rows in (("Answers", comparison.answers), ("Policies", comparison.policies)):
        cells = [(_marked(row), plain(row.first), plain(row.second)) for row in rows]
        parts += [f"## {title}", table(head, cells)]
    return "\n\n".join(parts) + "\n"


def _marked(row: Compared) -> str:
    return f"**{plain(row.what)}** (changed)" if row.changed else plain(row.what)


def comparison_html(comparison: Comparison) -> str:
    """The comparison as one HTML file that needs nothing else."""
    return render_page("compare.html.j2", record_json=render_json(comparison), comparison=comparison)

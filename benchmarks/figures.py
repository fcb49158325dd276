"""Draws the benchmarks' figures into docs/figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt

FIGURES = Path(__file__).parents[1] / "docs" / "figures"


def line_chart(
    rows: Sequence[Mapping[str, Any]],
    *,
    x: str,
    y: str,
    by: str,
    log: bool = False,
    titles: tuple[str, str] | None = None,
) -> alt.Chart:
    """Lines with their points.

    Args:
        rows: One mapping a point.
        x: Field on the horizontal axis.
        y: Field on the vertical axis.
        by: Field that tells the lines apart.
        log: Whether both axes are logarithmic.
        titles: Of the axes; the fields' names without.
    """
    scale = alt.Scale(type="log") if log else alt.Scale()
    across, up = titles or (x, y)
    return (
        alt.Chart(alt.Data(values=[dict(row) for row in rows]))
        .mark_line(point=True)
        .encode(
            x=alt.X(f"{x}:Q", title=across, scale=scale),
            y=alt.Y(f"{y}:Q", title=up, scale=scale),
            color=alt.Color(f"{by}:N", title=None, legend=alt.Legend(orient="top")),
        )
        .properties(width=520, height=280)
    )


def draw(chart: alt.Chart, name: str) -> None:
    """Writes a figure as SVG."""
    FIGURES.mkdir(parents=True, exist_ok=True)
    chart.configure(background="white").save(str(FIGURES / f"{name}.svg"))
    print(f"drawn: docs/figures/{name}.svg")

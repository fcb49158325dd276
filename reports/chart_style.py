"""How every figure of the reports looks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import altair as alt
import vl_convert

Figure = alt.Chart | alt.LayerChart | alt.FacetChart
_STATIC_WIDTH = 600


@dataclass(frozen=True, kw_only=True, slots=True)
class Palette:
    """Colours and font of a figure; any CSS colour, in a page its variables."""

    ink: str
    muted: str
    line: str
    accent: str
    plain: str
    bad: str
    paper: str = "transparent"
    font: str = "system-ui, sans-serif"


PAGE = Palette(
    ink="var(--ink)",
    muted="var(--muted)",
    line="var(--line)",
    accent="var(--accent)",
    plain="var(--plain)",
    bad="var(--bad)",
)
PAPER = Palette(
    ink="#1d1c19",
    muted="#68645c",
    line="#e2ded5",
    accent="#0b6b5d",
    plain="#8a8478",
    bad="#a3341f",
    paper="#ffffff",
    font="sans-serif",
)


def finish(chart: Figure, palette: Palette) -> dict[str, Any]:
    """The Vega-Lite specification of a figure, with fonts, colours and axes of the house."""
    text = {
        "labelColor": palette.muted,
        "titleColor": palette.muted,
        "labelFont": palette.font,
        "titleFont": palette.font,
    }
    axis = {
        **text,
        "domain": False,
        "ticks": False,
        "gridColor": palette.line,
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "labelPadding": 6,
        "titlePadding": 8,
    }
    configured = (
        chart.properties(width=_STATIC_WIDTH, autosize=alt.AutoSizeParams(type="fit-x", contains="padding"))
        .configure(aria=False, background=palette.paper, font=palette.font)
        .configure_axis(**axis)
        .configure_axisY(tickCount=5)
        .configure_view(stroke=None)
        .configure_legend(**text, orient="top", title=None, labelFontSize=12, symbolStrokeWidth=2, offset=4)
    )
    specification: dict[str, Any] = configured.to_dict()
    return specification


def still(specification: Mapping[str, Any]) -> str:
    """A figure as SVG, for paper, for Markdown, and in a page until the live figure takes its place."""
    svg: str = vl_convert.vegalite_to_svg(dict(specification))
    return svg

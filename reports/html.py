"""The report as one HTML file that needs nothing else."""

from __future__ import annotations

from autotune.reports.captions import captions
from autotune.reports.chart_style import still
from autotune.reports.charts import figures
from autotune.reports.model import View
from autotune.reports.page import render_page


def render_html(view: View) -> str:
    """The whole page."""
    charts = figures(view)
    return render_page(
        "report.html.j2",
        record_json=view.record_json,
        version=view.software[0].value if view.software else "",
        scripts=("float16.js",) if view.numerics else (),
        charts=charts,
        stills={name: still(specification) for name, specification in charts.items()},
        view=view,
        captions=captions(view),
    )

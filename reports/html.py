"""The report as one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from pathlib import Path
from typing import Any

import vl_convert
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from autotune.reports.captions import captions
from autotune.reports.chart_style import still
from autotune.reports.charts import figures
from autotune.reports.model import Number, View

TEMPLATES = Path(__file__).parent / "templates"
# Only the names that page.js uses; vl-convert adds the libraries behind them.
_BUNDLE_SNIPPET = "window.vegaEmbed = vegaEmbed;"


def render_html(view: View) -> str:
    """The whole page: style, scripts, charts and data inside, no outside reference.

    Names and messages are escaped by the template engine. The content policy allows only the page's own
    style and scripts, each by its hash.
    """
    specifications = figures(view)
    style = (TEMPLATES / "style.css").read_text(encoding="utf-8")
    names = ("page.js", "float16.js") if view.numerics else ("page.js",)
    scripts = [chart_library()] if specifications else []
    scripts += [(TEMPLATES / name).read_text(encoding="utf-8") for name in names]
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            view=view,
            policy=content_policy(style, scripts),
            style=Markup(style),
            scripts=[Markup(script) for script in scripts],
            figures={name: Markup(still(specification)) for name, specification in specifications.items()},
            captions=captions(view),
            specifications=_json(specifications),
            record=json_text(view.record_json),
        )
    )


def content_policy(style: str, scripts: list[str]) -> str:
    """The Content-Security-Policy of the page.

    Vega turns the expressions of a chart into functions, which needs ``unsafe-eval``. Texts of the record
    are data of a chart, or quoted strings in its expressions; only scripts whose hashes stand here run.
    """
    allowed = " ".join(_hash(script) for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed} 'unsafe-eval'; style-src {_hash(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


@functools.cache
def chart_library() -> str:
    """Vega-Embed with all it needs, as one script."""
    bundle: str = vl_convert.javascript_bundle(_BUNDLE_SNIPPET)
    # A closing tag inside a string would end the script element.
    return bundle.replace("</script", "<\\/script")


def environment() -> Environment:
    """Templates with everything escaped, and an error for a name that is missing."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["bar"] = _bar
    environment.filters["capitalize_first"] = _capitalized
    return environment


def _bar(number: Number, column: list[Number]) -> float | None:
    """Length of a bar in percent of the longest in its column; None without a number."""
    longest = max((other.value for other in column if other.value is not None), default=0.0)
    if number.value is None or number.value < 0 or longest <= 0:
        return None
    return round(100 * number.value / longest, 2)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _json(data: Any) -> Markup:
    return json_text(json.dumps(data, separators=(",", ":"), allow_nan=False))


def json_text(text: str) -> Markup:
    """JSON that may stand inside a script element: no character of it can end the element."""
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def _capitalized(text: str) -> str:
    """A sentence from a phrase: a capital first where a plain word stands there, no full stop at the end."""
    first = text.split(" ", 1)[0]
    return (text[:1].upper() + text[1:] if first.isalpha() else text).rstrip(".")

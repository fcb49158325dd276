"""What every page has in common: style, scripts, escaping and the content policy, in one file that needs nothing else."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import vl_convert
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from autotune.reports.model import Number

_TEMPLATES = Path(__file__).parent / "templates"
# Only the names that page.js uses; vl-convert adds the libraries behind them.
_BUNDLE_SNIPPET = "window.vegaEmbed = vegaEmbed;"


def render_page(
    template: str,
    *,
    record_json: str,
    version: str = "",
    scripts: Sequence[str] = (),
    charts: Mapping[str, Any] | None = None,
    stills: Mapping[str, str] | None = None,
    **context: Any,
) -> str:
    """The whole page: no reference leaves it, names and messages stay text.

    The content policy allows only the page's own style and scripts, each by its hash.

    Args:
        template: Name of the template.
        record_json: The record behind the page, to download from it.
        version: Of the autotune that made the record.
        scripts: Names of scripts beside the page's own.
        charts: Specifications of the charts, by name.
        stills: The same as SVG, seen until the scripts have run.
        context: What the template shows.
    """
    style = (_TEMPLATES / "style.css").read_text(encoding="utf-8")
    code = [_chart_library()] if charts else []
    code += [(_TEMPLATES / name).read_text(encoding="utf-8") for name in ("page.js", *scripts)]
    return (
        _environment()
        .get_template(template)
        .render(
            policy=_content_policy(style, code),
            style=Markup(style),
            scripts=[Markup(script) for script in code],
            figures={name: Markup(svg) for name, svg in (stills or {}).items()},
            specifications=_json_text(json.dumps(charts or {}, separators=(",", ":"), allow_nan=False)),
            record=_json_text(record_json),
            version=version,
            **context,
        )
    )


def _content_policy(style: str, scripts: Sequence[str]) -> str:
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
def _chart_library() -> str:
    """Vega-Embed with all it needs, as one script."""
    bundle: str = vl_convert.javascript_bundle(_BUNDLE_SNIPPET)
    # A closing tag inside a string would end the script element.
    return bundle.replace("</script", "<\\/script")


def _environment() -> Environment:
    """Templates with everything escaped, and an error for a name that is missing."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
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


def _json_text(text: str) -> Markup:
    """JSON that may stand inside a script element: no character of it can end the element."""
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def _capitalized(text: str) -> str:
    """A sentence from a phrase: a capital first where a plain word stands there, no full stop at the end."""
    first = text.split(" ", 1)[0]
    return (text[:1].upper() + text[1:] if first.isalpha() else text).rstrip(".")

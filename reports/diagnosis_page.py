"""A diagnosis as one HTML file that needs nothing else."""

from __future__ import annotations

from markupsafe import Markup

from autotune.records.codec import dumps
from autotune.records.diagnosis import Diagnosis
from autotune.reports.diagnosis_words import headline
from autotune.reports.headroom_words import headroom_words, limit_words
from autotune.reports.html import TEMPLATES, content_policy, environment, json_text
from autotune.reports.numerics import numerics_view


def render_diagnosis_page(diagnosis: Diagnosis) -> str:
    """The whole page: policies, rescued layers, every layer's numbers, gradients against float16, findings."""
    style = (TEMPLATES / "style.css").read_text(encoding="utf-8")
    scripts = [(TEMPLATES / name).read_text(encoding="utf-8") for name in ("page.js", "float16.js")]
    return (
        environment()
        .get_template("diagnosis.html.j2")
        .render(
            diagnosis=diagnosis,
            headline=headline(diagnosis),
            policy=content_policy(style, scripts),
            style=Markup(style),
            scripts=[Markup(script) for script in scripts],
            numerics=numerics_view(diagnosis.layers, diagnosis.gradients),
            half=[
                f"{name}: {words}"
                for name, found in diagnosis.policies.items()
                for words in (limit_words(found.loss_scale_limit), headroom_words(found.headroom))
                if words
            ],
            record=json_text(dumps(diagnosis)),
        )
    )

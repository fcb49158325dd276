"""A diagnosis as one HTML file that needs nothing else."""

from __future__ import annotations

from autotune.records.codec import dumps
from autotune.records.diagnosis import Diagnosis
from autotune.reports.diagnosis_words import headline
from autotune.reports.headroom_words import headroom_words, limit_words
from autotune.reports.numerics import numerics_view
from autotune.reports.page import render_page


def render_diagnosis_page(diagnosis: Diagnosis) -> str:
    """The whole page: policies, rescued layers, every layer's numbers, gradients against float16, findings."""
    return render_page(
        "diagnosis.html.j2",
        record_json=dumps(diagnosis),
        scripts=("float16.js",),
        diagnosis=diagnosis,
        headline=headline(diagnosis),
        numerics=numerics_view(diagnosis.layers, diagnosis.gradients),
        half=[
            f"{name}: {words}"
            for name, found in diagnosis.policies.items()
            for words in (limit_words(found.loss_scale_limit), headroom_words(found.headroom))
            if words
        ],
    )

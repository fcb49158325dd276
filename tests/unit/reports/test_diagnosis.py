"""What is said of a diagnosis, on the screen and on the page."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from autotune.records import AccuracyEvidence, Outcome
from autotune.records.diagnosis import Diagnosis, PolicyDiagnosis, Rescue
from autotune.reports.diagnosis import render_diagnosis
from autotune.reports.diagnosis_page import render_diagnosis_page
from autotune.reports.diagnosis_words import headline
from autotune.reports.numerics import histogram
from tests.unit.reports.diagnoses import MATCHES, WORSE, cured, distribution, hostile
from tests.unit.reports.samples import MARKUP


def screen(diagnosis: Diagnosis) -> str:
    text = io.StringIO()
    render_diagnosis(diagnosis, Console(file=text, width=100, color_system=None))
    return text.getvalue()


def with_policy(policy: PolicyDiagnosis) -> str:
    found = cured()
    return headline(replace(found, policies={"float32": found.policies["float32"], "mixed_float16": policy}))


OPEN = AccuracyEvidence(metric="val_accuracy", verdict="inconclusive")


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (PolicyDiagnosis(outcome=Outcome.OK, accuracy=MATCHES), "mixed_float16 trains as well as float32."),
        (
            PolicyDiagnosis(outcome=Outcome.OK, accuracy=OPEN),
            "mixed_float16 trains; whether as well as float32 is not settled. A longer --budget settles more.",
        ),
        (PolicyDiagnosis(outcome=Outcome.OK, accuracy=WORSE), "mixed_float16 learns worse."),
        (PolicyDiagnosis(outcome=Outcome.UNSUPPORTED), "mixed_float16 fails."),
        (
            PolicyDiagnosis(outcome=Outcome.NO_UPDATES, rescue=Rescue(evidence="no layer in float32 helps")),
            "mixed_float16 fails, and no layer in float32 cures it.",
        ),
        (
            PolicyDiagnosis(outcome=Outcome.NON_FINITE, rescue=Rescue(evidence="none found in the time given")),
            "mixed_float16 fails.",
        ),
        (
            PolicyDiagnosis(outcome=Outcome.NON_FINITE, rescue=Rescue(layers=("a", "b"), accuracy=MATCHES)),
            "mixed_float16 fails, but trains as well as float32 with float32 in a, b.",
        ),
        (
            PolicyDiagnosis(outcome=Outcome.NON_FINITE, rescue=Rescue(layers=("a",), accuracy=OPEN)),
            "mixed_float16 fails, but trains with float32 in a, how well is not settled. A longer --budget settles more.",
        ),
    ],
)
def test_each_fate_has_its_sentence(policy: PolicyDiagnosis, said: str) -> None:
    assert with_policy(policy) == said


def test_the_screen_shows_the_layers_in_float32_with_their_lines() -> None:
    text = screen(cured())
    assert "mixed_float16 trains with float32 in log_ratio (none of them can be left out; 1 set tried)" in text
    assert 'dtype="float32")' in text
    assert "epsilon 1e-08 in log_ratio is 0 in float16 (train.py:22); use 1e-7" in text


def test_names_are_never_read_as_markup() -> None:
    assert MARKUP in screen(hostile()).replace("\n", "")
    page = render_diagnosis_page(hostile())
    assert MARKUP not in page.partition('<script type="application/json"')[0]


def test_a_histogram_shows_what_float16_loses_and_keeps_all_numbers() -> None:
    found = histogram(distribution(low=-60, high=30))
    assert found is not None
    assert {bar.lost for bar in found.bars} == {True, False}
    assert max(bar.height for bar in found.bars) == 36
    assert found.says == "from 2^-60 to 2^30, most at 2^30"
    shown = histogram(distribution(low=-10, high=3))
    assert shown is not None
    assert not any(bar.lost for bar in shown.bars)
    assert histogram(None) is None


def test_the_page_needs_nothing_from_outside() -> None:
    page = render_diagnosis_page(cured())
    assert "http" not in page.replace("http-equiv", "")
    assert len(page) < 200_000


def test_policies_of_one_fate_share_a_sentence() -> None:
    """What is the same of both is said once."""
    both = dict.fromkeys(("mixed_bfloat16", "mixed_float16"), PolicyDiagnosis(outcome=Outcome.NON_FINITE))
    assert headline(replace(cured(), policies=both)) == "mixed_bfloat16 and mixed_float16 fail."

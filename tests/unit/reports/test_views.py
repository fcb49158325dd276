"""Every kind of answer renders in every view, and its names and messages stay text."""

from __future__ import annotations

import io
import json
from html.parser import HTMLParser

import pytest
from rich.console import Console

from autotune.records import Recommendation
from autotune.records.codec import loads
from autotune.reports.html import render_html
from autotune.reports.markdown import render_markdown
from autotune.reports.record_json import render_json
from autotune.reports.terminal import render_terminal
from autotune.reports.view import view
from tests.unit.reports.samples import MARKUP, SAMPLES, by_precision, failed_float16, keep_baseline, many_trials

FOLDER = "autotune-runs/train-1201-1004"


def terminal(record: Recommendation, width: int = 80, **options: bool) -> str:
    """What the terminal shows."""
    stream = io.StringIO()
    render_terminal(view(record, FOLDER), Console(file=stream, width=width, **options))
    return stream.getvalue()


class Page(HTMLParser):
    """Tags and attributes of a page, and its visible text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._hidden = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._hidden += tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.text += data


@pytest.mark.parametrize("name", SAMPLES)
def test_the_headline_stands_in_every_view(name: str) -> None:
    record = SAMPLES[name]()
    shown = view(record, FOLDER)
    assert record.headline in " ".join(terminal(record).split())
    assert record.headline in Page(render_html(shown)).text
    assert record.headline in render_markdown(shown)
    assert json.loads(render_json(record))["headline"] == record.headline


@pytest.mark.parametrize("name", SAMPLES)
def test_json_reads_back_to_the_same_record(name: str) -> None:
    record = SAMPLES[name]()
    assert loads(Recommendation, render_json(record)) == record


@pytest.mark.parametrize("width", [80, 100, 200])
@pytest.mark.parametrize("name", SAMPLES)
def test_terminal_fits_its_width_except_for_lines_to_copy(name: str, width: int) -> None:
    lines = terminal(SAMPLES[name](), width).splitlines()
    folded = [
        line for line in lines if not any(mark in line for mark in ("autotune run", "or one line", FOLDER, "  #", "= "))
    ]
    code = [line for line in folded if "keras.config" in line or "model." in line]
    assert all(len(line) <= min(width, 100) for line in folded if line not in code)


def test_terminal_never_breaks_the_command_to_copy() -> None:
    command = f"autotune run examples/train.py --with {FOLDER}/recommendation.json -- --data 'my data'"
    assert command in terminal(by_precision(), 60)


def test_terminal_without_colour_has_no_control_characters() -> None:
    text = terminal(by_precision())
    assert text.isprintable() or all(c == "\n" or c.isprintable() for c in text)


def test_control_characters_of_a_message_do_not_reach_the_terminal() -> None:
    from dataclasses import replace

    record = replace(by_precision(), open_questions=("\x1b[2J\x07gone\x9b31m",))
    assert "\x1b" not in terminal(record) and "\x9b" not in terminal(record)
    assert "\\x1b[2J\\x07gone\\x9b31m" in terminal(record)


def test_markup_in_names_stays_text_in_the_terminal() -> None:
    # As a continuous string: folding may break it.
    assert MARKUP.replace(" ", "") in terminal(failed_float16(), 100, force_terminal=False).replace(" ", "").replace(
        "\n", ""
    )


def test_markup_in_names_stays_text_in_html() -> None:
    page = Page(render_html(view(failed_float16(), FOLDER)))
    assert MARKUP in page.text
    assert not any("onmouseover" in attributes for _, attributes in page.tags)
    assert "b" not in {tag for tag, _ in page.tags}


def test_markup_in_names_stays_text_in_markdown() -> None:
    text = render_markdown(view(failed_float16(), FOLDER))
    outside = "".join(text.split("```")[::2])
    assert "\\<b onmouseover" in outside
    assert "<b" not in outside.replace("\\<b", "")
    rows = [line for line in outside.splitlines() if line.startswith("|")]
    assert all(line.endswith(" |") for line in rows)


def test_html_holds_no_outside_reference_and_fits_in_a_mail() -> None:
    text = render_html(view(many_trials(), FOLDER))
    outside = {"src", "srcset", "href", "action", "data", "poster"}
    used = [v for tag, attributes in Page(text).tags for k, v in attributes.items() if k in outside and tag != "use"]
    assert all(value is not None and value.startswith("#") for value in used)
    assert len(text.encode()) < 2_500_000


def test_html_record_reads_back() -> None:
    record = failed_float16()
    text = render_html(view(record, FOLDER))
    start = text.index('id="record">') + len('id="record">')
    assert loads(Recommendation, text[start : text.index("</script>", start)]) == record


def test_keeping_the_baseline_names_no_way_to_use_it() -> None:
    text = terminal(keep_baseline())
    assert "use it" not in text
    assert "below 1.03x" in text


def test_brief_markdown_leaves_trials_out() -> None:
    shown = view(by_precision(), FOLDER)
    assert "## Trials" in render_markdown(shown)
    assert "Trials" not in render_markdown(shown, brief=True)

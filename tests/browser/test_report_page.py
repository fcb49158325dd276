"""The HTML report in a real browser, without a network: quiet, sortable, readable, accessible, printable."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autotune.reports.html import render_html
from autotune.reports.view import view
from tests.browser.opened import NEEDS_BROWSER, Opened
from tests.unit.reports.samples import MARKUP, SAMPLES, by_precision

pytest.importorskip("playwright.sync_api")
WIDTHS = (400, 1280)

pytestmark = NEEDS_BROWSER


@pytest.fixture
def written(tmp_path: Path) -> Any:
    """Writes the report of a sample and gives its path."""

    def write(name: str) -> Path:
        path = tmp_path / f"{name}.html"
        path.write_text(render_html(view(SAMPLES[name](), "runs/one")), encoding="utf-8")
        return path

    return write


def column(page: Any, table: str, number: int) -> list[str]:
    """Texts of one column of the rows that are shown."""
    cells = page.locator(f"{table} tbody tr:visible > :nth-child({number})").all_inner_texts()
    return [cell.splitlines()[0].strip() for cell in cells]


@pytest.mark.parametrize("name", SAMPLES)
def test_page_says_nothing_on_the_console_and_asks_for_nothing(browser: Any, written: Any, name: str) -> None:
    path = written(name)
    opened = Opened(browser, path, viewport={"width": 1280, "height": 900})
    opened.to_the_end()
    assert opened.messages == []
    assert opened.requests == [path.as_uri()]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", SAMPLES)
def test_page_never_scrolls_sideways(browser: Any, written: Any, name: str, width: int) -> None:
    opened = Opened(browser, written(name), viewport={"width": width, "height": 900})
    opened.to_the_end()
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width


def test_markup_in_names_stays_text(browser: Any, written: Any) -> None:
    opened = Opened(browser, written("failed_float16"))
    opened.to_the_end()
    assert opened.page.locator("[onmouseover]").count() == 0
    assert opened.page.locator("main b").count() == 0
    assert MARKUP in opened.page.locator("main").inner_text().replace("\n", " ")


def test_a_metric_whose_name_looks_like_code_stays_a_name(browser: Any, tmp_path: Path) -> None:
    name = "\"]; window.broken = 1; datum['x'] + </script><script>window.broken = 1</script>"
    record = by_precision()
    points = tuple(
        replace(line, points=tuple(replace(point, values={name: 0.5 + point.step / 2000}) for point in line.points))
        for line in record.curves
    )
    record = replace(record, accuracy=replace(record.accuracy, metric=name), curves=points)
    path = tmp_path / "report.html"
    path.write_text(render_html(view(record, "runs/one")), encoding="utf-8")
    opened = Opened(browser, path, viewport={"width": 1280, "height": 900})
    opened.to_the_end()
    opened.page.locator("[data-figure=curves] svg .mark-symbol path").first.hover(force=True)
    assert name in opened.page.locator("#vg-tooltip-element").inner_text()
    assert opened.page.evaluate("typeof window.broken") == "undefined"
    assert opened.messages == []


def test_a_column_sorts_both_ways_and_keeps_unknown_values_last(browser: Any, written: Any) -> None:
    page = Opened(browser, written("failed_float16")).page
    head = page.locator("#policies + .body table thead th", has_text="ms a step")
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert column(page, "#policies + .body table", 1) == ["mixed_bfloat16", "float32", "mixed_float16"]
    head.get_by_role("button").press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert column(page, "#policies + .body table", 1) == ["float32", "mixed_bfloat16", "mixed_float16"]


def test_numbers_sort_as_numbers_and_words_as_words(browser: Any, written: Any) -> None:
    page = Opened(browser, written("many_trials")).page
    page.locator("#trial-table thead th", has_text="ms a step").get_by_role("button").click()
    shown = [float(text) for text in column(page, "#trial-table", 6) if text != "-"]
    assert len(shown) == 500 and shown == sorted(shown)
    page.locator("#trial-table thead th", has_text="configuration").get_by_role("button").click()
    names = column(page, "#trial-table", 2)
    assert names == page.evaluate(
        "names => [...names].sort((a, b) => a.toLowerCase().localeCompare(b.toLowerCase()))", names
    )


def test_trials_are_filtered_by_words_and_purpose(browser: Any, written: Any) -> None:
    page = Opened(browser, written("by_precision")).page
    page.get_by_label("Filter").fill("BFLOAT16 quality")
    assert set(column(page, "#trial-table", 2)) == {"mixed_bfloat16"}
    assert page.locator("#trial-shown").inner_text() == "5 of 15 shown"
    page.get_by_label("Filter").fill("")
    page.get_by_label("Purpose").select_option("duel")
    assert column(page, "#trial-table", 3) == ["duel"]


def test_dark_and_light_follow_the_system_and_the_button(browser: Any, written: Any) -> None:
    def brightness(page: Any) -> int:
        color = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in color.removeprefix("rgb(").removesuffix(")").split(","))

    path = written("by_precision")
    light, dark = (Opened(browser, path, color_scheme=scheme).page for scheme in ("light", "dark"))
    assert brightness(light) > 600 > 150 > brightness(dark)
    dark.get_by_role("button", name="Light").click()
    assert brightness(dark) > 600


def test_copying_takes_the_command_as_it_is(browser: Any, written: Any) -> None:
    options = {"permissions": ["clipboard-read", "clipboard-write"]}
    page = Opened(browser, written("by_precision"), **options).page
    page.locator("button[data-copies=way-1]").click()
    page.get_by_role("button", name="Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == "autotune run examples/train.py --with runs/one/recommendation.json -- --data 'my data'"


def test_downloaded_record_is_the_record(browser: Any, written: Any, tmp_path: Path) -> None:
    page = Opened(browser, written("failed_float16")).page
    with page.expect_download() as download:
        page.locator("#download").click()
    download.value.save_as(tmp_path / "record.json")
    stored = json.loads((tmp_path / "record.json").read_text(encoding="utf-8"))
    assert stored["workload"]["model"] == MARKUP


def test_charts_are_drawn_without_scripts(browser: Any, written: Any) -> None:
    page = Opened(browser, written("by_precision"), java_script_enabled=False).page
    assert page.locator(".chart svg").count() >= 4
    assert not page.get_by_role("button", name="Copy").first.is_visible()


def test_a_chart_fits_its_column_after_the_window_changes(browser: Any, written: Any) -> None:
    opened = Opened(browser, written("by_precision"), viewport={"width": 1280, "height": 900})
    opened.to_the_end()
    opened.page.set_viewport_size({"width": 420, "height": 900})
    opened.page.wait_for_timeout(300)
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 420
    width = opened.page.locator(".chart svg").first.bounding_box()["width"]
    assert 300 < width <= 400


def test_float16_in_the_page_is_numpys(browser: Any, written: Any) -> None:
    """Bits and value of every gradient and loss scale that the two dials can be set to, against numpy's own rounding."""
    opened = Opened(browser, written("by_precision"))
    seen = opened.page.evaluate(
        """() => {
            const [gradient, scale] = ["meets-gradient", "meets-scale"].map((id) => document.getElementById(id));
            const figure = document.getElementById("meets");
            const found = [];
            for (let turn = 0; turn < 2400; turn += 1) {
                gradient.value = String(-40 + (57 * turn) / 2399);
                scale.value = String(turn % 25);
                scale.dispatchEvent(new Event("input"));
                found.push([Number(figure.dataset.product), Number(figure.dataset.bits), figure.dataset.half]);
            }
            // On the edges between two numbers, where ties go to the even one.
            for (let power = -26; power <= 16; power += 1) {
                gradient.value = String(power);
                scale.value = "0";
                gradient.dispatchEvent(new Event("input"));
                found.push([Number(figure.dataset.product), Number(figure.dataset.bits), figure.dataset.half]);
            }
            return found;
        }"""
    )
    assert len(seen) > 2400
    with np.errstate(over="ignore", under="ignore"):
        for product, bits, half in seen:
            expected = np.float16(product)
            assert (bits, float(half)) == (int(expected.view(np.uint16)), float(expected)), product
    kinds = {bits == 0 or (2 if bits == 0x7C00 else 3 if bits < 0x400 else 4) for _, bits, _ in seen}
    assert kinds == {True, 2, 3, 4}, "lost, infinite, subnormal and normal ones are among them"


def test_the_dials_are_keys_and_words_too(browser: Any, written: Any) -> None:
    page = Opened(browser, written("by_precision")).page
    assert "lost" in page.locator("#meets-fate").inner_text()
    scale = page.get_by_label("loss scale")
    scale.focus()
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    assert "survives" in page.locator("#meets-fate").inner_text()
    assert "1,024" in (scale.get_attribute("aria-valuetext") or "")
    assert "exponent" in (page.locator("#meets-bits").get_attribute("aria-label") or "")


def test_500_trials_are_usable_within_a_second(browser: Any, written: Any) -> None:
    page = Opened(browser, written("many_trials")).page
    timing = page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
    assert timing < 1000


def test_page_prints_to_a_pdf(browser: Any, written: Any) -> None:
    page = Opened(browser, written("by_precision")).page
    document = page.pdf(format="A4")
    assert document.startswith(b"%PDF")
    assert 2 <= document.count(b"/Type /Page\n") + document.count(b"/Type /Page ") <= 8


def test_keyboard_reaches_the_answer_first(browser: Any, written: Any) -> None:
    page = Opened(browser, written("by_precision")).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the answer"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", SAMPLES)
def test_axe_finds_no_violation(browser: Any, written: Any, name: str, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    opened = Opened(browser, written(name), color_scheme=scheme, bypass_csp=True)
    opened.to_the_end()
    results = axe.Axe().run(opened.page)
    assert results.violations_count == 0, results.generate_report()

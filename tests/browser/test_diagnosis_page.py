"""The page of a diagnosis in a real browser, without a network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from autotune.reports.diagnosis_page import render_diagnosis_page
from tests.browser.opened import NEEDS_BROWSER, Opened
from tests.unit.reports.diagnoses import cured, hostile
from tests.unit.reports.samples import MARKUP

pytest.importorskip("playwright.sync_api")
pytestmark = NEEDS_BROWSER


@pytest.fixture
def page_of(tmp_path: Path) -> Any:
    def write(diagnosis: Any) -> Path:
        path = tmp_path / "diagnosis.html"
        path.write_text(render_diagnosis_page(diagnosis), encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("width", [400, 1280])
def test_quiet_alone_and_never_wider_than_the_window(browser: Any, page_of: Any, width: int) -> None:
    path = page_of(cured())
    opened = Opened(browser, path, viewport={"width": width, "height": 900})
    assert opened.messages == []
    assert opened.requests == [path.as_uri()]
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width


def test_layers_sort_by_what_they_lose(browser: Any, page_of: Any) -> None:
    opened = Opened(browser, page_of(cured()), viewport={"width": 1280, "height": 900})
    layers = opened.page.locator("table", has_text="largest activation")
    layers.get_by_role("button", name="largest activation").click()
    layers.get_by_role("button", name="largest activation").click()
    assert layers.locator("tbody th").all_inner_texts() == ["soil", "log_ratio"]


def test_markup_in_names_stays_text(browser: Any, page_of: Any) -> None:
    opened = Opened(browser, page_of(hostile()))
    assert opened.page.locator("[onmouseover]").count() == 0
    assert MARKUP in opened.page.locator("main").inner_text().replace("\n", " ")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(browser: Any, page_of: Any, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    opened = Opened(browser, page_of(cured()), color_scheme=scheme, bypass_csp=True)
    results = axe.Axe().run(opened.page)
    assert results.violations_count == 0, results.generate_report()

"""The page of a comparison in a real browser: quiet, readable on any width, accessible, with its data to download."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from autotune.records.codec import to_json
from autotune.reports.compare import compare
from autotune.reports.compare_views import comparison_html
from tests.browser.opened import NEEDS_BROWSER, Opened
from tests.unit.reports.samples import failed_float16
from tests.unit.reports.test_compare import elsewhere

pytest.importorskip("playwright.sync_api")

pytestmark = NEEDS_BROWSER
COMPARISON = compare(elsewhere(), failed_float16(), ("runs/here", "runs/<i>there</i>"))


@pytest.fixture
def page_file(tmp_path: Path) -> Path:
    """The page of two very different runs, one full of markup."""
    path = tmp_path / "comparison.html"
    path.write_text(comparison_html(COMPARISON), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_is_quiet_fits_and_is_accessible(browser: Any, page_file: Path, width: int, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    opened = Opened(browser, page_file, viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True)
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
    assert opened.page.locator("main i, main b").count() == 0
    results = axe.Axe().run(opened.page)
    assert results.violations_count == 0, results.generate_report()
    assert opened.messages == [] and opened.requests == [page_file.as_uri()]


def test_downloaded_data_are_the_comparison(browser: Any, page_file: Path) -> None:
    page = Opened(browser, page_file).page
    with page.expect_download() as download:
        page.get_by_role("button", name="Download comparison.json").click()
    assert download.value.suggested_filename == "comparison.json"
    assert json.loads(Path(download.value.path()).read_text()) == to_json(COMPARISON)

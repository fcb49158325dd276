"""One browser for all tests of a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.opened import CHROMIUM


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One headless Chromium for all tests of this file."""
    playwright_api = pytest.importorskip("playwright.sync_api")
    with playwright_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()

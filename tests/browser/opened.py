"""A page in a real browser, without a network."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NEEDS_BROWSER = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: apt-get install chromium"),
]


class Opened:
    """A page, and what it said and asked for."""

    def __init__(self, browser: Any, path: Path, **options: Any) -> None:
        self.messages: list[str] = []
        self.requests: list[str] = []
        self.page = browser.new_context(offline=True, **options).new_page()
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())

    def to_the_end(self) -> None:
        """Scrolls through the page, so that every chart comes alive."""
        for chart in self.page.locator(".chart").all():
            chart.scroll_into_view_if_needed()
        self.page.wait_for_function("document.querySelectorAll('.chart:not([data-live])').length === 0")

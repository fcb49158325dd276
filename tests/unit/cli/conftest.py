"""A command line whose tuner is replaced."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autotune.settings import Settings

Tuner = Callable[[object], list[Settings]]


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty training script in a folder of its own, where the command runs."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "train.py"
    path.write_text("print()\n")
    return path


@pytest.fixture
def tuner(monkeypatch: pytest.MonkeyPatch) -> Tuner:
    """Replaces the tuner by one that raises or returns what is given; gives the settings that it was called with."""

    def replaced(outcome: object) -> list[Settings]:
        called: list[Settings] = []

        def tune(settings: Settings, listener: Any, **_: Any) -> Any:
            called.append(settings)
            if isinstance(outcome, BaseException):
                raise outcome
            return outcome

        monkeypatch.setattr("autotune.tuner.tune", tune)
        return called

    return replaced

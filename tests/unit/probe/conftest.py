"""Recorded machines as folders: each file under ``machines`` holds the files of one, unpacked for a test."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

_MACHINES = Path(__file__).parent / "machines"


@pytest.fixture
def machine(tmp_path: Path) -> Callable[[str], Path]:
    """Unpacks a recorded machine and returns its root folder."""

    def unpack(name: str) -> Path:
        root = tmp_path / name
        _, *parts = re.split(r"^=== ", (_MACHINES / f"{name}.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)
        for part in parts:
            head, _, text = part.partition("\n")
            path, _, times = head.partition(" * ")
            # "* 224": one block of /proc/cpuinfo stands for as many processors.
            blocks = [text.replace("processor\t: 0", f"processor\t: {n}") for n in range(int(times or 1))]
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("".join(blocks), encoding="utf-8")
        return root

    return unpack

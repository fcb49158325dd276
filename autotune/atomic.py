"""Files that a reader sees whole: the old content or the new, never a part."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write_atomically(path: Path, text: str) -> None:
    """Replaces a file in one step, by way of a new one in the same folder.

    Args:
        path: The file; its folder must exist.
        text: The new content, stored as UTF-8 with line feeds.

    Raises:
        OSError: It cannot be written; the old file stays and nothing else is left.
    """
    # Not tempfile: its files are private, ours have the permissions of any other new file.
    beside = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        with beside.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise

"""Entry of the command."""

from __future__ import annotations

from autotune.cli.main import main

if __name__ == "__main__":
    main()

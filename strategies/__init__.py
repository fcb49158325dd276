"""What to try next: search strategies, one small file each.

A strategy of one's own is a class with a ``name`` and ``propose``, and with ``options`` where it has any, announced by an
entry point in the group ``autotune.strategies``; ``autotune.testing.strategies`` holds the contract that it must pass.
"""

from autotune.strategies.options import Option
from autotune.strategies.protocol import Strategy
from autotune.strategies.registry import create, describe, names, parse

__all__ = ["Option", "Strategy", "create", "describe", "names", "parse"]

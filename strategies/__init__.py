"""What to try next: search strategies, one small file each.

A strategy of one's own is a class with a ``name`` and ``propose``, announced by an entry point in the group
``autotune.strategies``; ``autotune.testing.strategies`` holds the contract that it must pass.
"""

from autotune.strategies.protocol import Strategy
from autotune.strategies.registry import create, names

__all__ = ["Strategy", "create", "names"]

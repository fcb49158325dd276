"""Runs the user's unmodified script as ``__main__``, in its own context."""

from __future__ import annotations

import importlib.machinery
import sys
from pathlib import Path
from types import ModuleType


def run_as_main(script: str, target: str, arguments: tuple[str, ...]) -> None:
    """Runs a script as plain Python would: its folder first on the path, its arguments, its main guard.

    Args:
        script: Absolute path.
        target: Path as the user wrote it; what ``sys.argv[0]`` holds.
        arguments: Rest of ``sys.argv``.

    Raises:
        BaseException: Whatever the script raises.
    """
    folder = str(Path(script).parent)
    sys.argv = [target, *arguments]
    sys.path.insert(0, folder)
    sys.dont_write_bytecode = True  # the user's folder stays as it is
    hide_own_modules(folder)
    module = ModuleType("__main__")
    module.__file__ = script  # absolute, as Python gives it
    module.__dict__["__builtins__"] = __builtins__
    module.__loader__ = importlib.machinery.SourceFileLoader("__main__", script)
    sys.modules["__main__"] = module
    code = compile(Path(script).read_bytes(), script, "exec", dont_inherit=True)
    exec(code, module.__dict__)


def hide_own_modules(folder: str) -> None:
    """Lets a user's own module or package named ``autotune`` be imported by their script."""
    own = Path(folder, "autotune")
    if own.with_suffix(".py").exists() or (own.is_dir() and Path(__file__).parents[1] != own.resolve()):
        for name in [name for name in sys.modules if name == "autotune" or name.startswith("autotune.")]:
            del sys.modules[name]

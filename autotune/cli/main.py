"""Runs the application and turns errors into messages and exit codes."""

from __future__ import annotations

import os
import sys
import traceback

from autotune.errors import AutotuneError

INTERRUPTED = 130
_BUG = 1


def main() -> None:
    """Runs the command and exits with its status."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Runs the command line and gives its exit status.

    Args:
        arguments: Arguments without the program's name. What follows ``--`` is handed to the script unchanged.
    """
    from autotune.cli.app import make_app

    try:
        result = make_app()(args=arguments, prog_name="autotune", standalone_mode=False)
    except AutotuneError as error:
        tell(error)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone; let the interpreter's own flush at exit find nothing to write.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if hasattr(error, "exit_code") and hasattr(error, "format_message"):  # a usage error of the option parser
            return _usage(error)
        if type(error).__name__ == "Abort":
            print("interrupted", file=sys.stderr)
            return INTERRUPTED
        print(f"error: this is a bug in autotune: {type(error).__name__}: {error}", file=sys.stderr)
        if os.environ.get("AUTOTUNE_DEBUG"):
            traceback.print_exc()
        else:
            print("       set AUTOTUNE_DEBUG=1 to see where, and please report it", file=sys.stderr)
        return _BUG
    return result if isinstance(result, int) else 0


def tell(error: AutotuneError) -> None:
    """Prints an error in a few lines on standard error."""
    print(f"error: {error.message}", file=sys.stderr)
    for line in error.detail.strip().splitlines():
        print(f"  | {line}", file=sys.stderr)
    if error.hint:
        print(f"  hint: {error.hint}", file=sys.stderr)


def _usage(error: Exception) -> int:
    message = str(error.format_message()).strip()  # type: ignore[attr-defined]
    if message:
        print(f"error: {message}", file=sys.stderr)
        context = getattr(error, "ctx", None)
        if context is not None:
            print(f"  hint: {context.command_path} --help", file=sys.stderr)
    return int(error.exit_code) if message else 2  # type: ignore[attr-defined]

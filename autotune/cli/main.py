"""Runs the application and turns errors into messages and exit codes."""

from __future__ import annotations

import errno
import os
import sys
import traceback

from autotune.errors import AutotuneError, UsageError

INTERRUPTED = 130
_BUG = 1
# A full or write-protected disk is nobody's bug.
_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}
_DISK_HINT = "make room there; what was measured is kept, and --resume goes on"
_MOST_LINES = 20
# Commands that hand arguments to a script.
_WITH_SCRIPTS = ("recommend", "diagnose", "run")


def main() -> None:
    """Runs the command and exits with its status."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Runs the command line and gives its exit status.

    Args:
        arguments: Arguments without the program's name. What follows ``--`` is handed to the script unchanged.
    """
    from autotune.cli.app import Stopped, make_app

    try:
        result = make_app()(args=arguments, prog_name="autotune", standalone_mode=False)
    except AutotuneError as error:
        tell(error)
        return error.exit_code
    except (KeyboardInterrupt, Stopped):
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        return _reader_gone()
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # Rich and Typer end the program themselves
            return _reader_gone()
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _DISK:
            tell(UsageError(f"{error.filename or 'the run folder'}: {error.strerror}", hint=_DISK_HINT))
            return UsageError.exit_code
        if hasattr(error, "exit_code") and hasattr(error, "format_message"):  # a usage error of the option parser
            return _usage(error)
        if type(error).__name__ == "Abort":
            print("interrupted", file=sys.stderr)
            return INTERRUPTED
        first = next(iter(str(error).splitlines()), "")
        print(f"error: this is a bug in autotune: {type(error).__name__}: {first}", file=sys.stderr)
        if os.environ.get("AUTOTUNE_DEBUG"):
            traceback.print_exc()
        else:
            print("       set AUTOTUNE_DEBUG=1 to see where, and please report it", file=sys.stderr)
        return _BUG
    return result if isinstance(result, int) else 0


def tell(error: AutotuneError) -> None:
    """Prints an error in a few lines on standard error."""
    print(f"error: {error.message}", file=sys.stderr)
    lines = error.detail.strip().splitlines()
    if len(lines) > _MOST_LINES:
        print(f"  | ... {len(lines) - _MOST_LINES} more lines before", file=sys.stderr)
    for line in lines[-_MOST_LINES:]:
        print(f"  | {line}", file=sys.stderr)
    if error.hint:
        print(f"  hint: {error.hint}", file=sys.stderr)


def _reader_gone() -> int:
    # The reader of our output has gone; let the interpreter's own flush at exit find nothing to write.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)
    return 0


def _usage(error: Exception) -> int:
    message = str(error.format_message()).strip()  # type: ignore[attr-defined]
    if message:
        print(f"error: {message}", file=sys.stderr)
        context = getattr(error, "ctx", None)
        command = "autotune" if context is None else context.command_path
        if hasattr(error, "option_name") and command.rpartition(" ")[2] in _WITH_SCRIPTS:
            print(
                f"  hint: what the script itself takes goes behind --: {command} train.py -- {error.option_name}",
                file=sys.stderr,
            )
        else:
            print(f"  hint: {command} --help", file=sys.stderr)
    return int(error.exit_code) if message else 2  # type: ignore[attr-defined]

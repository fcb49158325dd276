"""One tree of errors; each carries the exit code and a hint of what to do."""

from __future__ import annotations


class AutotuneError(Exception):
    """Base of every error that autotune raises on purpose.

    Args:
        message: What is wrong and where, one sentence.
        hint: What to do about it, one sentence; may be empty.
        detail: More lines to show below the message, such as the user's own traceback.

    Attributes:
        exit_code: Exit status of the command when this error ends it.
    """

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "", detail: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.detail = detail


class UsageError(AutotuneError, ValueError):
    """An option, setting, path or file given by the user is wrong."""

    exit_code = 2


class NoGainError(AutotuneError):
    """Nothing faster was found and the caller required a gain."""

    exit_code = 3


class WorkloadError(AutotuneError):
    """The user's script fails, never calls ``fit`` or is non-finite already at float32."""

    exit_code = 4


class HardwareError(AutotuneError):
    """Hardware, driver or framework cannot be used."""

    exit_code = 5


class NoisyMachineError(AutotuneError):
    """The machine was too noisy or busy to decide."""

    exit_code = 6


class BudgetError(AutotuneError):
    """The budget ran out before the baseline was measured."""

    exit_code = 124


class WorkerDied(AutotuneError):
    """A worker process ended or was ended before it answered.

    Args:
        message: What happened.
        outcome: The value of the outcome that describes the end, for the trial's record.
        detail: Last lines of the worker's log.
    """

    exit_code = 1

    def __init__(self, message: str, *, outcome: str, detail: str = "") -> None:
        super().__init__(message, detail=detail)
        self.outcome = outcome

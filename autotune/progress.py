"""What the tuner tells while it works; the command line and the API listen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from autotune.records import Configuration, Measurement, Purpose

Stage = Literal["probe", "capture", "plan", "search", "prove", "duel", "soak", "report"]


@dataclass(frozen=True, kw_only=True, slots=True)
class StageStarted:
    """A stage begins.

    Attributes:
        stage: Its name.
        detail: One phrase for people.
    """

    stage: Stage
    detail: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialStarted:
    """A trial begins."""

    purpose: Purpose
    configuration: Configuration
    seed: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialProgress:
    """A trial goes on: the latest figures.

    Attributes:
        step_time_s: Step time so far; None before the first chunk.
        share: Part of the trial that is done, 0 to 1; None when unknown.
    """

    step_time_s: float | None = None
    share: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialEnded:
    """A trial ended.

    Attributes:
        measurement: Its raw result.
        relative_speed: Samples a second against the baseline; None when not timed.
        recalled: Whether it was read from an earlier run's folder instead of measured.
    """

    measurement: Measurement
    relative_speed: float | None = None
    recalled: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class BestChanged:
    """Best answer so far, in one phrase."""

    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Clock:
    """Time spent and time that the rest is expected to take (None when unknown)."""

    elapsed_s: float
    budget_s: float
    remaining_s: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Note:
    """One line that a person should see now."""

    text: str


Event = StageStarted | TrialStarted | TrialProgress | TrialEnded | BestChanged | Clock | Note
Listener = Callable[[Event], None]


def ignore(event: Event) -> None:
    """A listener that does nothing."""

"""What the search knows so far: the input of a strategy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from autotune.records.configuration import Configuration
from autotune.records.measurement import Outcome

Proof = Literal["open", "matches", "worse", "inconclusive", "failed"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """One configuration and what is known of it.

    Attributes:
        configuration: The point.
        outcome: Of its speed trial, or of its first quality run that failed; None where not tried.
        relative_speed: Samples a second against the baseline; None when not timed.
        relative_speed_low: Lower end of its 95% interval.
        relative_speed_high: Upper end.
        proof: State of its accuracy: ``failed`` where a trial's outcome already rules it out.
        time_to_quality: Time-to-quality gain over the baseline as far as known; None when unknown.
        time_to_quality_high: What that gain is at most, also where the baseline's quality was not reached; None when
            nothing bounds it.
        seeds: Paired quality runs done.
    """

    configuration: Configuration
    outcome: Outcome | None = None
    relative_speed: float | None = None
    relative_speed_low: float | None = None
    relative_speed_high: float | None = None
    proof: Proof = "open"
    time_to_quality: float | None = None
    time_to_quality_high: float | None = None
    seeds: int = 0

    @property
    def alive(self) -> bool:
        """Whether it could still be recommended."""
        return self.outcome in (None, Outcome.OK) and self.proof in ("open", "matches")


@dataclass(frozen=True, kw_only=True, slots=True)
class Board:
    """Every configuration tried so far, in order of first trial; the baseline is the first.

    Attributes:
        baseline: The baseline's configuration.
        standings: One entry a configuration.
    """

    baseline: Configuration
    standings: tuple[Standing, ...] = ()

    def of(self, configuration: Configuration) -> Standing | None:
        """The standing of a configuration, None where it was never tried."""
        return next((s for s in self.standings if s.configuration == configuration), None)

"""What the live views know while a run goes on, and the lines they tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from autotune.progress import BestChanged, Clock, Event, Note, StageStarted, TrialEnded, TrialProgress, TrialStarted
from autotune.records import BASELINE_POLICY, Chunk, Configuration, Measurement, Outcome
from autotune.reports import format as write
from autotune.reports.tables import outcome_text

_STAGES = {
    "probe": "Probing the machine",
    "capture": "Reading the script",
    "plan": "Planning",
    "search": "Searching",
    "prove": "Proving the accuracy",
    "duel": "Last comparison",
    "soak": "Training on",
    "report": "Writing the report",
}


@dataclass(kw_only=True, slots=True)
class LiveState:
    """The present of a run, fed by its events.

    Attributes:
        stage: What is being done, in words.
        trial: Name of the running trial; empty between trials.
        step_time_s: Its step time so far.
        share: Part of it that is done; None when unknown.
        best: The best answer so far, in one phrase.
        clock: Time spent and left, None before the first word of it.
        trials: Trials that have ended.
        baseline: The first configuration that was tried, against which others are named.
    """

    stage: str = "Starting"
    trial: str = ""
    step_time_s: float | None = None
    share: float | None = None
    best: str = ""
    clock: Clock | None = None
    trials: int = 0
    baseline: Configuration | None = field(default=None)

    def tell(self, event: Event) -> str | None:
        """Takes an event in.

        Returns:
            The line to keep on the screen, None where the event only moves the present.
        """
        match event:
            case StageStarted():
                self.trial, self.share, self.step_time_s = "", None, None
                self.stage = _STAGES[event.stage] + (f": {event.detail}" if event.detail else "")
                return self.stage
            case TrialStarted():
                self._meet(event.configuration)
                self.trial, self.share, self.step_time_s = self._name(event), None, None
            case TrialProgress():
                self.share = event.share
                if event.step_time_s is not None:
                    self.step_time_s = event.step_time_s
            case TrialEnded():
                self.trials += 1
                self._meet(event.measurement.configuration)
                self.trial, self.share, self.step_time_s = "", None, None
                return self._ended(event)
            case BestChanged():
                self.best = event.text
                return f"  best so far: {event.text}"
            case Clock():
                self.clock = event
            case Note():
                return event.text
        return None

    def _meet(self, configuration: Configuration) -> None:
        """Takes the first float32 configuration for the baseline: it is always measured first."""
        if self.baseline is None and configuration.policy == BASELINE_POLICY:
            self.baseline = configuration

    def _name(self, event: TrialStarted) -> str:
        name = event.configuration.describe(self.baseline)
        if event.purpose == "quality":
            return f"{name}, accuracy, seed {event.seed}"
        return name + {"duel": ", against the baseline", "soak": ", to see that it stays stable"}.get(event.purpose, "")

    def _ended(self, event: TrialEnded) -> str:
        measurement = event.measurement
        parts = [measurement.configuration.describe(self.baseline)]
        if measurement.outcome is not Outcome.OK:
            parts.append(outcome_text(measurement.outcome) + (f": {measurement.reason}" if measurement.reason else ""))
        elif measurement.purpose == "quality":
            parts += [f"seed {measurement.seed}", *_last_quality(measurement)]
        else:
            parts += _pace(measurement)
            if event.relative_speed is not None and measurement.configuration != self.baseline:
                parts.append(write.compared(event.relative_speed))
        parts += ["known from before"] if event.recalled else []
        return "  " + ", ".join(parts)


def _pace(measurement: Measurement) -> list[str]:
    """Step time, and the baseline's of the same moments: machines change their pace between trials."""
    own, beside = _step_time_s(measurement.chunks), _step_time_s(measurement.reference_chunks)
    if own is None:
        return []
    return [f"{write.step_time(own)} a step" + ("" if beside is None else f" beside {write.step_time(beside)}")]


def _step_time_s(chunks: Sequence[Chunk]) -> float | None:
    """Mean over the timed chunks: a first impression, the judge has better means."""
    timed = [chunk for chunk in chunks if not chunk.warmup]
    steps = sum(chunk.steps for chunk in timed)
    return sum(chunk.duration_s for chunk in timed) / steps if steps else None


def _last_quality(measurement: Measurement) -> list[str]:
    """The last point of the curve, validation first."""
    if not measurement.curve:
        return []
    values = {name: value for name, value in measurement.curve[-1].values.items() if value is not None}
    shown = [name for name in values if name.startswith("val_")] or list(values)
    return [f"{name} {write.quality(values[name])}" for name in shown[:2]]

"""The views of a running run: each event told once, the terminal left clean, pipes free of control characters."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from rich.console import Console

from autotune.progress import (
    BestChanged,
    Clock,
    Event,
    Note,
    StageStarted,
    TrialEnded,
    TrialProgress,
    TrialStarted,
)
from autotune.records import Chunk, Configuration, Measurement, Outcome
from autotune.reports.live import LiveView, PlainLines, Quiet
from tests.unit.reports.samples import BASELINE, BFLOAT16, FLOAT16, curve


def measured(configuration: Configuration, step_time_s: float, **fields: object) -> Measurement:
    """A timed trial."""
    chunks = (
        Chunk(steps=5, duration_s=9.0, samples=320, warmup=True),
        Chunk(steps=10, duration_s=10 * step_time_s, samples=640),
    )
    known = {"number": 0, "purpose": "speed", "outcome": Outcome.OK, "chunks": chunks}
    return Measurement(configuration=configuration, **{**known, **fields})  # type: ignore[arg-type]


def events() -> Iterator[Event]:
    """A short run."""
    yield StageStarted(stage="search", detail="3 configurations")
    yield TrialStarted(purpose="speed", configuration=BASELINE)
    yield Clock(elapsed_s=12.0, budget_s=600.0, remaining_s=140.0)
    yield TrialProgress(step_time_s=0.0197, share=0.5)
    yield TrialEnded(measurement=measured(BASELINE, 0.0197), relative_speed=1.0)
    beside = (Chunk(steps=10, duration_s=0.199, samples=640),)
    yield TrialEnded(measurement=measured(BFLOAT16, 0.0115, reference_chunks=beside), relative_speed=1.73)
    yield BestChanged(text="mixed_bfloat16, 1.71x faster")
    yield TrialEnded(
        measurement=measured(FLOAT16, 1.0, outcome=Outcome.NON_FINITE, reason="nan at step 12"), recalled=True
    )
    yield Note(text="[bold]odd[/] \x1b[31m\nname")
    yield StageStarted(stage="prove")
    quality = measured(BFLOAT16, 1.0, purpose="quality", seed=2, curve=curve("candidate", 2, 0.914).points)
    yield TrialEnded(measurement=quality)


EXPECTED = [
    "Searching: 3 configurations",
    "  as written, 19.7 ms a step",
    "  mixed_bfloat16, 11.5 ms a step beside 19.9 ms, 1.73x faster",
    "  best so far: mixed_bfloat16, 1.71x faster",
    "  mixed_float16, non-finite values: nan at step 12, known from before",
    "[bold]odd[/] \\x1b[31m name",
    "Proving the accuracy",
    "  mixed_bfloat16, seed 2, val_accuracy 0.914",
]


def test_plain_lines_tell_each_event_worth_telling_once() -> None:
    stream = io.StringIO()
    with PlainLines(stream) as listener:
        for event in events():
            listener(event)
    assert stream.getvalue().splitlines() == EXPECTED


def test_live_view_keeps_what_has_ended_and_clears_the_rest() -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, color_system=None, width=100)
    with LiveView(console) as listener:
        for event in events():
            listener(event)
    text = stream.getvalue()
    assert all(line.replace(" name", "") in text for line in EXPECTED)
    assert "\x1b[31m" not in text
    # The cursor, hidden while live, is shown again at the end.
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")


def shown(*happened: Event) -> str:
    """The lines that follow the run, after some events."""
    live = LiveView(Console(file=io.StringIO(), force_terminal=True))
    for event in happened:
        live(event)
    console = Console(file=io.StringIO(), width=90, color_system=None)
    with console.capture() as capture:
        console.print(live)
    return capture.get()


def test_present_shows_stage_trial_best_and_time() -> None:
    text = shown(
        StageStarted(stage="search", detail="3 configurations"),
        BestChanged(text="mixed_bfloat16, 1.71x faster"),
        TrialStarted(purpose="speed", configuration=BASELINE),
        TrialStarted(purpose="speed", configuration=BFLOAT16),
        TrialProgress(step_time_s=0.0115, share=0.25),
        Clock(elapsed_s=12.0, budget_s=600.0, remaining_s=140.0),
    )
    assert "Searching: 3 configurations" in text
    assert "trial  mixed_bfloat16 " in text and "11.5 ms a step" in text
    assert "best   mixed_bfloat16, 1.71x faster" in text
    assert "12 s of at most 10 min, about 2 min 20 s left" in text


def test_an_unknown_rest_is_not_shown_as_a_time() -> None:
    assert shown(Clock(elapsed_s=12.0, budget_s=600.0)).rstrip().endswith("12 s of at most 10 min")


def test_an_ended_trial_is_no_longer_present() -> None:
    text = shown(
        TrialStarted(purpose="speed", configuration=BASELINE),
        TrialEnded(measurement=measured(BASELINE, 0.0197), relative_speed=1.0),
    )
    assert "trial" not in text


def test_quiet_tells_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Quiet() as listener:
        for event in events():
            listener(event)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_terminal_is_given_back_after_an_interrupt() -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, color_system=None)
    with pytest.raises(KeyboardInterrupt), LiveView(console) as listener:
        listener(StageStarted(stage="search"))
        raise KeyboardInterrupt
    assert stream.getvalue().rstrip().endswith("\x1b[?25h") or "\x1b[?25h" in stream.getvalue()[-40:]

"""The views of a run while it goes on: live on a terminal, plain lines elsewhere, or nothing."""

from __future__ import annotations

from types import TracebackType
from typing import Self, TextIO

from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from autotune.progress import Event, TrialProgress
from autotune.reports import format as write
from autotune.reports.live_state import LiveState
from autotune.reports.screen import printable

_REFRESHES_PER_S = 8
_BAR_WIDTH = 24


class LiveView:
    """A few lines at the bottom of a terminal that follow the run; what has ended stays above them.

    Args:
        console: Where to draw; usually standard error.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._state = LiveState()
        self._spinner = Spinner("line")
        self._live = Live(
            self,
            console=console,
            refresh_per_second=_REFRESHES_PER_S,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def __call__(self, event: Event) -> None:
        """Takes an event of the run in."""
        line = self._state.tell(event)
        if line is not None:
            self._console.print(Text(printable(line), style="dim"), highlight=False)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The present, one fact a line."""
        state = self._state
        head = Table.grid(padding=(0, 1))
        head.add_row(self._spinner, Text(printable(state.stage), style="bold"))
        lines: list[Table | Text] = [head]
        if state.trial:
            lines.append(self._trial())
        if state.best:
            lines.append(Text(f"  best   {printable(state.best)}", overflow="ellipsis", no_wrap=True))
        if state.clock is not None:
            lines.append(Text(f"  time   {_clock(state)}", style="dim", overflow="ellipsis", no_wrap=True))
        yield Group(*lines)

    def _trial(self) -> Table:
        state = self._state
        row = Table.grid(padding=(0, 1))
        row.add_column(no_wrap=True)
        row.add_column(no_wrap=True, overflow="ellipsis")
        row.add_column(no_wrap=True)
        row.add_column(no_wrap=True)
        bar: ProgressBar | Text = Text("")
        if state.share is not None:
            bar = ProgressBar(total=1.0, completed=state.share, width=_BAR_WIDTH)
        speed = "" if state.step_time_s is None else f"{write.step_time(state.step_time_s)} a step"
        row.add_row(Text("  trial "), Text(printable(state.trial)), bar, Text(speed, style="dim"))
        return row


class PlainLines:
    """One line for each event worth telling, without control characters: for files and pipes.

    Args:
        stream: Where to write; usually standard error.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._state = LiveState()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.flush()

    def __call__(self, event: Event) -> None:
        """Takes an event of the run in."""
        line = self._state.tell(event)
        if line is not None and not isinstance(event, TrialProgress):
            self._stream.write(printable(line).replace("\n", " ") + "\n")
            self._stream.flush()


class Quiet:
    """Tells nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def __call__(self, event: Event) -> None:
        """Takes an event of the run in."""


def _clock(state: LiveState) -> str:
    clock = state.clock
    if clock is None:
        return ""
    text = f"{write.duration(clock.elapsed_s)} of at most {write.duration(clock.budget_s)}"
    if clock.remaining_s is not None:
        text += f", about {write.duration(clock.remaining_s)} left"
    return text

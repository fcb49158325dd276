"""``autotune probe``: what this machine is and can do."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from autotune.records import HardwareProfile


class OutputFormat(StrEnum):
    """How the profile is shown."""

    TERMINAL = "terminal"
    JSON = "json"
    MARKDOWN = "markdown"


def probe_command(
    ceilings: Annotated[
        bool, typer.Option("--ceilings/--no-ceilings", help="Measure what each dtype does here (some seconds, once).")
    ] = True,
    output_format: Annotated[
        OutputFormat, typer.Option("--format", help="For people, for programs, or for an issue report.")
    ] = OutputFormat.TERMINAL,
    fresh: Annotated[bool, typer.Option("--fresh", help="Measure again, even if this machine was measured.")] = False,
) -> None:
    """Show what this machine is and can do."""
    from autotune.cli import probe_view

    profile = _profile(ceilings=ceilings, fresh=fresh, show_progress=output_format is OutputFormat.TERMINAL)
    if output_format is OutputFormat.JSON:
        typer.echo(probe_view.as_json(profile))
    elif output_format is OutputFormat.MARKDOWN:
        typer.echo(probe_view.as_markdown(profile))
    else:
        probe_view.show(profile)


def register(app: typer.Typer) -> None:
    """Adds the command to the application."""
    app.command("probe")(probe_command)


def _profile(*, ceilings: bool, fresh: bool, show_progress: bool) -> HardwareProfile:
    """Probes, and adds what TensorFlow says and does, from the cache where that was measured before."""
    from dataclasses import replace

    from rich.console import Console

    from autotune.errors import HardwareError
    from autotune.probe.cache import cache_folder, load_measured, save_measured
    from autotune.probe.ceilings import DEFAULT_DTYPES, run_measured
    from autotune.probe.profile import probe
    from autotune.probe.tensorflow_devices import as_tensorflow_sees
    from autotune.records import Finding, Severity

    profile = probe()
    if not ceilings or profile.software.tensorflow is None:
        return profile
    folder = cache_folder()
    measured = None if fresh else load_measured(profile, DEFAULT_DTYPES, folder)
    if measured is None:
        console = Console(stderr=True, quiet=not show_progress)
        try:
            with console.status("measuring what each dtype does here ..."):
                measured = run_measured()
        except HardwareError as error:
            advice = "; ".join(part for part in (error.hint, error.detail) if part) or None
            finding = Finding(code="ceilings_failed", severity=Severity.WARNING, message=error.message, advice=advice)
            return replace(profile, findings=(*profile.findings, finding))
        save_measured(measured, profile, DEFAULT_DTYPES, folder)
    seen = profile if measured.devices is None else as_tensorflow_sees(profile, measured.devices)
    return replace(seen, ceilings=measured.ceilings)

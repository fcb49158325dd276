"""The application: commands are registered by their own modules."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

_COMMANDS = ("recommend", "diagnose", "probe", "run", "report", "compare", "export", "schema")


class Stopped(Exception):
    """The user interrupted a command: Typer would turn Ctrl-C itself into a silent end."""


class _Group(TyperGroup):
    def invoke(self, ctx: Any) -> object:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Stopped from None


def make_app() -> typer.Typer:
    """Builds the application."""
    app = typer.Typer(
        name="autotune",
        cls=_Group,
        help="Find the fastest numerically stable way to run a Keras training on this machine, with evidence.",
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for name in _COMMANDS:
        import_module(f"autotune.cli.{name}").register(app)
    app.callback()(_options)
    return app


def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=lambda value: _version(value), is_eager=True),
    ] = False,
) -> None:
    """Find the fastest numerically stable way to run a Keras training on this machine, with evidence."""


def _version(asked: bool) -> None:
    if asked:
        from autotune import __version__

        typer.echo(f"autotune {__version__}")
        raise typer.Exit

"""``autotune schema``: the JSON Schema of recommendation.json."""

from __future__ import annotations

import typer


def schema_command() -> None:
    """Print the JSON Schema of recommendation.json."""
    import json

    from autotune.reports.schema import json_schema

    typer.echo(json.dumps(json_schema(), indent=2))


def register(app: typer.Typer) -> None:
    """Adds the command to the application."""
    app.command("schema")(schema_command)

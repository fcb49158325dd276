"""A run for other tools: as a table, as lines of Python, as YAML, as Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from autotune.errors import UsageError
from autotune.records import Recommendation
from autotune.records.codec import to_json
from autotune.reports.frame import trials_frame
from autotune.reports.snippet import python_snippet

_ANSWER = ("verdict", "headline", "configuration", "baseline", "speed", "accuracy", "stability", "memory", "cost")


def csv_text(record: Recommendation) -> str:
    """All trials, one a line, with a head."""
    return str(trials_frame(record).to_csv(index=False, lineterminator="\n"))


def python_text(record: Recommendation) -> str:
    """The lines that make the script train as recommended, below the answer as a comment."""
    lines = python_snippet(record.configuration, record.baseline, record.workload)
    headline = " ".join(record.headline.split())
    return f"# {headline}\n{lines or '# Nothing to change.'}\n"


def yaml_text(record: Recommendation) -> str:
    """The answer with its evidence, without trials and curves."""
    import yaml

    whole = to_json(record)
    answer = {name: whole[name] for name in _ANSWER}
    return str(yaml.safe_dump(answer, sort_keys=False, allow_unicode=True, width=100))


def write_parquet(record: Recommendation, path: Path) -> None:
    """All trials as a Parquet file.

    Raises:
        UsageError: pyarrow is not installed.
    """
    with needing("parquet", "pyarrow"):
        import pyarrow  # noqa: F401  # pandas' own error names three packages and no way to install them with ours
    trials_frame(record).to_parquet(path, engine="pyarrow", index=False)


@contextmanager
def needing(extra: str, package: str) -> Iterator[None]:
    """Turns a package that is not installed into an error that says how to get it."""
    try:
        yield
    except ImportError:
        raise UsageError(
            f"{package} is not installed", hint=f"install it by: pip install 'keras-autotune[{extra}]'"
        ) from None

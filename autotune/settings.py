"""Settings: defaults < pyproject.toml < environment < options, validated once."""

from __future__ import annotations

import ast
import re
import shlex
import tomllib
import warnings
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from autotune.errors import UsageError, WorkloadError
from autotune.records import POLICIES, REFERENCE_POLICIES, JudgeOptions

if TYPE_CHECKING:
    from typing_extensions import TypeIs

PREFIX = "AUTOTUNE_"
# Variables with our prefix that are not settings of a run.
_OTHER_VARIABLES = {"AUTOTUNE_DEBUG", "AUTOTUNE_CACHE_DIR"}
_DURATION = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s?)?")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)
OutputFormat = Literal["terminal", "json"]
_HINT = "autotune recommend --help lists all options"


class Settings(BaseModel):
    """What a tuning run does.

    Attributes:
        target: Training script, or module with ``build_model()`` and ``load_data()``.
        arguments: What the script gets as its own arguments.
        budget_s: Wall-clock budget.
        out: Run folder; None for ``autotune-runs/<script>-<time>``.
        policies: Policies to measure whatever the ceilings say; None for the plan's choice.
        batch_sizes: Batches to try; None for the plan's ladder.
        keep_batch_size: Whether the written batch stays.
        metric: Name of the metric to judge by; None to find it in the script.
        tolerance: Margin of the accuracy verdict, relative, or absolute where ``tolerance_absolute``.
        seeds: Most paired seeds.
        strategy: Name of the search strategy.
        epochs: Planned length; None for the script's own.
        fit: Which ``fit`` call to measure, from 1; None for the longest.
        memory_limit_bytes: Peak memory that must not be passed.
        reference: Policy measured as a yardstick only.
        require_gain: Whether keeping the baseline is a failure.
        resume: Run folder to go on with.
        fresh: Whether earlier results are ignored.
        output_format: What is printed at the end.
        verbosity: -1 quiet, 0 normal, 1 more.
        seed: Seed of the strategy's own randomness.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    target: Path
    arguments: tuple[str, ...] = ()
    budget_s: float = Field(600.0, ge=1.0, allow_inf_nan=False)
    out: Path | None = None
    policies: tuple[str, ...] | None = None
    batch_sizes: tuple[int, ...] | None = None
    keep_batch_size: bool = False
    metric: str | None = None
    tolerance: float = Field(0.01, gt=0.0, allow_inf_nan=False)
    tolerance_absolute: bool = False
    seeds: int = Field(8, ge=3, le=20)
    strategy: str = "ladder"
    epochs: int | None = Field(None, ge=1)
    fit: int | None = Field(None, ge=1)
    memory_limit_bytes: int | None = Field(None, ge=1)
    reference: str | None = None
    require_gain: bool = False
    resume: Path | None = None
    fresh: bool = False
    output_format: OutputFormat = "terminal"
    verbosity: int = 0
    seed: int = 0

    @field_validator("policies")
    @classmethod
    def _known_policies(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        for name in value or ():
            if name not in POLICIES:
                raise ValueError(f"unknown policy {name!r}; there are {', '.join(POLICIES)}")
        return value

    @field_validator("reference")
    @classmethod
    def _known_reference(cls, value: str | None) -> str | None:
        if value is not None and value not in REFERENCE_POLICIES:
            raise ValueError(f"unknown reference {value!r}; there is {', '.join(REFERENCE_POLICIES)}")
        return value

    @field_validator("strategy")
    @classmethod
    def _known_strategy(cls, value: str) -> str:
        from autotune.strategies import names

        if value not in names():
            raise ValueError(f"unknown strategy {value!r}; there are {', '.join(names())}")
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Settings:
        if self.keep_batch_size and self.batch_sizes is not None:
            raise ValueError("--keep-batch-size and --batch-size contradict each other: give one of them")
        if self.resume is not None and self.fresh:
            raise ValueError("--resume and --fresh contradict each other: give one of them")
        if self.resume is not None and self.out is not None:
            raise ValueError("--resume goes on in its own folder: leave --out away")
        return self

    def judge_options(self) -> JudgeOptions:
        """The part of the settings that the decision rule reads."""
        return JudgeOptions(
            tolerance=self.tolerance,
            tolerance_absolute=self.tolerance_absolute,
            maximum_seeds=self.seeds,
            memory_limit_bytes=self.memory_limit_bytes,
        )


# Text forms, as options, variables and pyproject.toml give them.


def duration_s(text: str | float) -> float:
    """Seconds from ``90s``, ``10m``, ``1h30m`` or a plain number.

    Raises:
        ValueError: The text is no duration.
    """
    if _is_number(text):
        return float(text)
    found = _DURATION.fullmatch(text.strip().lower()) if isinstance(text, str) else None
    if found is None or not any(found.groups()):
        raise ValueError(f"{text!r} is no duration; write 90s, 10m or 1h30m")
    hours, minutes, seconds = (float(part) if part else 0.0 for part in found.groups())
    return 3600.0 * hours + 60.0 * minutes + seconds


def size_bytes(text: str | int) -> int:
    """Bytes from ``8GiB``, ``500MB`` or a plain number.

    Raises:
        ValueError: The text is no size.
    """
    if isinstance(text, int) and not isinstance(text, bool):
        return text
    found = _SIZE.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None:
        raise ValueError(f"{text!r} is no size; write 8GiB or 500MB")
    number, unit, binary = found.groups()
    power = " kmgt".index(unit.lower() or " ")
    return int(Decimal(number) * (1024 if binary else 1000) ** power)


def batch_sizes(text: str | int | list[int] | tuple[int, ...]) -> tuple[int, ...]:
    """Batches from ``32:1024`` (doublings), ``32,48,64`` or a single one.

    Raises:
        ValueError: The text is none of these, or a batch is not positive.
    """
    if isinstance(text, str) and ":" in text:
        bounds = [_whole(part) for part in text.split(":")]
        if len(bounds) != 2 or None in bounds or not 1 <= (first := bounds[0] or 0) <= (last := bounds[1] or 0):
            raise ValueError(f"{text!r} is no range of batches; write 32:1024")
        return tuple(first * 2**k for k in range(64) if first * 2**k <= last)
    parts = text.split(",") if isinstance(text, str) else text if isinstance(text, list | tuple) else (text,)
    sizes = [_whole(part) or 0 for part in parts]
    if not sizes or min(sizes) < 1:
        raise ValueError(f"{text!r}: a batch is a whole number of at least 1; write 32,48,64 or 32:1024")
    return tuple(dict.fromkeys(sizes))


def tolerance(text: str | float) -> tuple[float, bool]:
    """Margin and whether it is absolute, from ``1%``, ``0.01`` or ``abs:0.005``.

    Raises:
        ValueError: The text is none of these.
    """
    if _is_number(text):
        return float(text), False
    value = text.strip() if isinstance(text, str) else ""
    try:
        if value.startswith("abs:"):
            return float(value.removeprefix("abs:")), True
        return (float(value[:-1]) / 100.0, False) if value.endswith("%") else (float(value), False)
    except ValueError:
        raise ValueError(f"{text!r} is no margin; write 1%, 0.01 or abs:0.005") from None


def arguments(text: str | list[str] | tuple[str, ...]) -> tuple[str, ...]:
    """Arguments of the script from a list, or from one text as a shell would split it.

    Raises:
        ValueError: The text is neither, or a quotation in it does not end.
    """
    if isinstance(text, str):
        return tuple(shlex.split(text))
    if isinstance(text, list | tuple):
        return tuple(str(part) for part in text)
    raise ValueError(f"{text!r} is no list of arguments")


def policies(text: str | list[str] | tuple[str, ...]) -> tuple[str, ...]:
    """Names of policies from a list, or from one text with commas.

    Raises:
        ValueError: It is neither.
    """
    if not isinstance(text, str | list | tuple):
        raise ValueError(f"{text!r} is no list of policies")
    parts = text.split(",") if isinstance(text, str) else text
    return tuple(str(part).strip() for part in parts if str(part).strip())


def _is_number(value: object) -> TypeIs[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _whole(part: object) -> int | None:
    """A whole number, None where it is none."""
    if isinstance(part, int) and not isinstance(part, bool):
        return part
    return int(part) if isinstance(part, str) and part.strip().isdecimal() else None


_PARSERS: dict[str, Callable[[Any], Any]] = {
    "arguments": arguments,
    "batch_size": batch_sizes,
    "budget": duration_s,
    "memory_limit": size_bytes,
    "policy": policies,
}
_NAMES = {
    "budget": "budget_s",
    "memory_limit": "memory_limit_bytes",
    "batch_size": "batch_sizes",
    "policy": "policies",
    "format": "output_format",
}


def resolve(
    target: str | Path,
    options: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Settings:
    """Settings of a run.

    Args:
        target: The script as the user wrote it.
        options: Options by their long names with underscores (``batch_size``, ``budget``); None values are not given.
        environment: Variables; ``AUTOTUNE_BUDGET=5m`` and the like are read.
        cwd: Folder that relative paths start from.

    Raises:
        UsageError: A setting is wrong, or two contradict each other.
        WorkloadError: The script has a syntax error.
    """
    path = check_target(Path(target), cwd or Path.cwd())
    values: dict[str, Any] = {}
    labels: dict[str, str] = {}
    for source, given in _sources(path, options or {}, environment or {}):
        for name, value in given.items():
            label = _label(name, source)
            if name == "target":  # only the command line names what is tuned
                raise UsageError(f"{label}: there is no such setting", hint=_HINT)
            parsed = _parsed(name, value, label)
            values |= parsed
            labels |= dict.fromkeys(parsed, label)
    try:
        return Settings(target=Path(target), **values)
    except ValidationError as error:
        first = error.errors()[0]
        label = labels.get(str(first["loc"][0]), str(first["loc"][0])) if first["loc"] else ""
        message = str(first.get("ctx", {}).get("error") or first["msg"])
        if first["type"] == "extra_forbidden":
            message = "there is no such setting"
        raise UsageError(f"{label}: {message}" if label else message, hint=_HINT) from None


def check_target(target: Path, cwd: Path) -> Path:
    """Checks that the target is a readable Python file.

    Raises:
        UsageError: It is missing, a folder, or no Python.
        WorkloadError: It has a syntax error.
    """
    path = cwd / target
    try:
        if not path.exists():
            raise UsageError(f"{target} does not exist", hint="give the path of a training script")
        if path.is_dir():
            raise UsageError(f"{target} is a folder", hint="give the script in it that calls fit")
        source = path.read_bytes()
        if b"\0" in source:
            raise UsageError(f"{target} is not Python source", hint="give a .py file")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python says them where the script runs
            ast.parse(source, filename=str(target))
    except UsageError:  # is a ValueError too
        raise
    except OSError as error:
        raise UsageError(
            f"{target} cannot be read: {error.strerror}", hint="give the path of a training script"
        ) from None
    except (MemoryError, RecursionError):
        raise WorkloadError(
            f"{target} is nested too deeply for Python", hint="the script must run by itself first"
        ) from None
    except (SyntaxError, ValueError) as error:
        if path.suffix not in (".py", ""):
            raise UsageError(f"{target} is not Python source", hint="give a .py file") from None
        line = getattr(error, "lineno", None)
        text = (getattr(error, "text", None) or "").rstrip()
        reason = getattr(error, "msg", str(error))
        raise WorkloadError(
            f"{target}:{line}: syntax error: {reason}", hint="the script must run by itself first", detail=text
        ) from None
    return path


def _sources(
    path: Path, options: Mapping[str, Any], environment: Mapping[str, str]
) -> list[tuple[str, Mapping[str, Any]]]:
    variables = {
        name.removeprefix(PREFIX).lower(): value
        for name, value in environment.items()
        if name.startswith(PREFIX) and name not in _OTHER_VARIABLES and value != ""
    }
    file, table = _project_table(path)
    return [
        (f"[tool.autotune] in {file}", table),
        ("environment", variables),
        (
            "option",
            {name: value for name, value in options.items() if value is not None and value != () and value != []},
        ),
    ]


def _project_table(path: Path) -> tuple[str, Mapping[str, Any]]:
    for folder in path.resolve().parents:
        file = folder / "pyproject.toml"
        if file.is_file():
            try:
                content = tomllib.loads(file.read_text(encoding="utf-8"))
            except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
                raise UsageError(f"{file} cannot be read: {error}", hint="mend it, or move it away") from None
            tool = content.get("tool", {})
            table = tool.get("autotune", {}) if isinstance(tool, dict) else {}
            if not isinstance(table, dict):
                raise UsageError(
                    f"[tool.autotune] in {file} is no table", hint='write budget = "10m" and the like below it'
                )
            return str(file), {name.replace("-", "_"): value for name, value in table.items()}
    return "", {}


def _label(name: str, source: str) -> str:
    """How the user wrote the setting: the option, the variable, or the entry and its file."""
    if source == "option":
        return f"--{name.replace('_', '-')}"
    return f"{PREFIX}{name.upper()}" if source == "environment" else f"{name} ({source})"


def _parsed(name: str, value: Any, label: str) -> dict[str, Any]:
    try:
        if name == "tolerance":
            margin, absolute = tolerance(value)
            return {"tolerance": margin, "tolerance_absolute": absolute}
        if name in _PARSERS:
            value = _PARSERS[name](value)
    except ValueError as error:
        raise UsageError(f"{label}: {error}", hint=_HINT) from None
    return {_NAMES.get(name, name): value}

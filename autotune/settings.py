"""Settings: defaults < pyproject.toml < environment < options, validated once."""

from __future__ import annotations

import ast
import json
import tomllib
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from autotune.errors import UsageError, WorkloadError
from autotune.records import POLICIES, REFERENCE_POLICIES, JudgeOptions
from autotune.settings_forms import arguments, batch_sizes, duration_s, flag, policies, size_bytes, tolerance

PREFIX = "AUTOTUNE_"
# In the run folder.
SETTINGS = "settings.json"
# Variables with our prefix that are not settings of a run.
_OTHER_VARIABLES = {"AUTOTUNE_DEBUG", "AUTOTUNE_CACHE_DIR"}
OutputFormat = Literal["terminal", "json"]
OnBusy = Literal["warn", "wait", "error"]
_HINT = "autotune recommend --help lists all options"
# Settings of one sitting: a run that is gone on with takes over all others.
_OF_A_SITTING = (
    "target",
    "budget_s",
    "out",
    "resume",
    "fresh",
    "require_gain",
    "output_format",
    "on_busy",
    "verbosity",
)
# Settings that contradict each other, by the names that users write. Of two sources the stronger one wins.
_EXCLUSIVE = (
    ("keep_batch_size", "batch_size", ""),
    ("resume", "fresh", ""),
    ("resume", "out", ": a run goes on in its own folder"),
)


class Settings(BaseModel):
    """What a tuning run does.

    Attributes:
        target: Training script, or module with ``build_model()`` and ``load_data()``.
        arguments: What the script gets as its own arguments.
        budget_s: Wall-clock budget; None: ten minutes at most, and once an answer is proven no longer than the planned training.
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
        fresh: Whether earlier runs are ignored, and one in ``out`` is started over.
        output_format: What is printed at the end.
        on_busy: What to do where others keep the machine busy: ``warn``, ``wait`` for them, or ``error``.
        verbosity: -1 quiet, 0 normal, 1 more.
        seed: Seed of the strategy's own randomness.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    target: Path
    arguments: tuple[str, ...] = ()
    budget_s: float | None = Field(None, ge=1.0, allow_inf_nan=False)
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
    on_busy: OnBusy = "warn"
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
        from autotune.strategies import parse

        try:
            parse(value)
        except UsageError as error:
            raise ValueError(f"{error.message}; {error.hint}") from None
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Settings:
        for one, other, why in _EXCLUSIVE:
            if _given(getattr(self, _NAMES.get(one, one))) and _given(getattr(self, _NAMES.get(other, other))):
                raise ValueError(_contradiction(_label(one, "option"), _label(other, "option"), why))
        return self

    def kept(self) -> str:
        """What a run that goes on with this one takes over, as JSON: all but what belongs to one sitting."""
        return self.model_dump_json(exclude=set(_OF_A_SITTING), indent=2) + "\n"

    def judge_options(self) -> JudgeOptions:
        """The part of the settings that the decision rule reads."""
        return JudgeOptions(
            tolerance=self.tolerance,
            tolerance_absolute=self.tolerance_absolute,
            maximum_seeds=self.seeds,
            memory_limit_bytes=self.memory_limit_bytes,
        )


_PARSERS: dict[str, Callable[[Any], Any]] = {
    "arguments": arguments,
    "batch_size": batch_sizes,
    "budget": duration_s,
    "fresh": flag,
    "keep_batch_size": flag,
    "memory_limit": size_bytes,
    "policy": policies,
    "require_gain": flag,
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
        if source == "option" and (resumed := given.get("resume") or values.get("resume")):
            values |= _of_run(cwd or Path.cwd(), Path(resumed))
        ours: dict[str, Any] = {}
        for name, value in given.items():
            label = _label(name, source)
            if name == "target":  # only the command line names what is tuned
                raise UsageError(f"{label}: there is no such setting", hint=_HINT)
            parsed = _parsed(name, value, label)
            ours |= parsed
            labels |= dict.fromkeys(parsed, label)
        _settle(values, ours, labels)
        values |= ours
    try:
        return Settings(target=Path(target), **values)
    except ValidationError as error:
        first = error.errors()[0]
        label = labels.get(str(first["loc"][0]), str(first["loc"][0])) if first["loc"] else ""
        message = str(first.get("ctx", {}).get("error") or first["msg"])
        if first["type"] == "extra_forbidden":
            message = "there is no such setting"
        raise UsageError(f"{label}: {message}" if label else message, hint=_HINT) from None


def _of_run(cwd: Path, folder: Path) -> dict[str, Any]:
    """What the run to go on with was asked for; options given anew win over it.

    Raises:
        UsageError: Its file is damaged.
    """
    file = cwd / folder / SETTINGS
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(content, dict) or not content.keys().isdisjoint(_OF_A_SITTING):
            raise ValueError("it is not what a run wrote")
        known = Settings.model_validate({**content, "target": folder})
        return known.model_dump(include=set(content))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, RecursionError, ValueError) as error:
        reason = "it is not what a run wrote" if isinstance(error, ValidationError) else str(error)
        raise UsageError(
            f"--resume: {folder / SETTINGS} is damaged: {reason}", hint="start a new run without --resume"
        ) from None


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


def _settle(values: dict[str, Any], ours: Mapping[str, Any], labels: Mapping[str, str]) -> None:
    """Takes away what a weaker source said where this one says the opposite.

    Raises:
        UsageError: One source contradicts itself.
    """
    for one, other, why in _EXCLUSIVE:
        pair = _NAMES.get(one, one), _NAMES.get(other, other)
        said = [name for name in pair if _given(ours.get(name))]
        if len(said) == 2:
            raise UsageError(_contradiction(labels[pair[0]], labels[pair[1]], why), hint=_HINT)
        for name in pair:
            if said and name not in said:
                values.pop(name, None)


def _given(value: object) -> bool:
    return value is not None and value is not False


def _contradiction(one: str, other: str, why: str) -> str:
    return f"{one} and {other} contradict each other{why}; give one of them"


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

"""Something that a person should know."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How much a finding matters."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """Something that a person should know, with where it is and what to do.

    Attributes:
        code: Stable identifier, snake_case.
        severity: ``info``, ``warning`` or ``error``; an error rules its policy out.
        message: One sentence: what was seen.
        layer: Path of the layer that it concerns.
        policy: Policy that it concerns; None for all.
        advice: What to do; None where nothing is to be done.
        line: ``file:line`` in the user's code.
        confirmed: Whether a measurement confirmed a static check; None where it is no static check.
    """

    code: str
    severity: Severity
    message: str
    layer: str | None = None
    policy: str | None = None
    advice: str | None = None
    line: str | None = None
    confirmed: bool | None = None

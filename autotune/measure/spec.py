"""What a worker is told at its start."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerSpec:
    """What a worker is told at its start.

    Attributes:
        script: Absolute path of the script; empty for a worker that only measures ceilings.
        target: The script's path as the user wrote it; what ``sys.argv[0]`` and ``__file__`` show.
        arguments: Rest of ``sys.argv``.
        cwd: Working folder.
        policy: Keras dtype policy set before the script's first line.
        seed: 0 leaves the script's seeds as written; others shift them.
        fit: Index of the ``fit`` call to measure, from 1; 0 runs every ``fit`` for a moment, to list them.
        log_path: File that takes the script's output.
        environment: Variables added to the parent's environment.
        metric: Name in the logs to judge by; empty to find one.
        ceilings: Dtypes whose ceilings to measure instead of running a script.
        ceilings_budget_s: Time for that.
    """

    script: str = ""
    target: str = ""
    arguments: tuple[str, ...] = ()
    cwd: str = "."
    policy: str = "float32"
    seed: int = 0
    fit: int = 1
    log_path: str
    environment: dict[str, str] = field(default_factory=dict)
    metric: str = ""
    ceilings: tuple[str, ...] = ()
    ceilings_budget_s: float = 3.0

    def to_message(self) -> dict[str, Any]:
        """As plain JSON."""
        return asdict(self)

    @classmethod
    def from_message(cls, data: dict[str, Any]) -> WorkerSpec:
        """From plain JSON."""
        return cls(**{**data, "arguments": tuple(data["arguments"]), "ceilings": tuple(data["ceilings"])})

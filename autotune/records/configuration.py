"""What can be tuned: one point of the search space."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

BASELINE_POLICY = "float32"
SIXTEEN_BIT_POLICIES = ("mixed_bfloat16", "mixed_float16")
POLICIES = (BASELINE_POLICY, *SIXTEEN_BIT_POLICIES)
# Measured as a yardstick when asked for, never recommended.
REFERENCE_POLICIES = ("float64",)


@dataclass(frozen=True, kw_only=True, slots=True)
class LossScale:
    """How the loss is scaled under float16.

    Attributes:
        mode: ``dynamic`` (Keras' LossScaleOptimizer) or ``fixed`` (``loss_scale_factor``).
        initial: First scale, or the fixed one.
        growth_steps: Finite steps before a dynamic scale doubles; None when fixed.
    """

    mode: Literal["dynamic", "fixed"] = "dynamic"
    initial: float = 2.0**15
    growth_steps: int | None = 2000


@dataclass(frozen=True, kw_only=True, slots=True)
class Configuration:
    """One point of the search space.

    Attributes:
        policy: Keras dtype policy.
        batch_size: Samples a step; None where the data alone decide and it could not be seen.
        loss_scale: Loss scaling; None where the policy needs none.
        jit_compile: Whether the step is compiled by XLA.
        steps_per_execution: Steps that one call of the compiled function runs.
        learning_rate_factor: What the script's learning rate is multiplied by.
        float32_layers: Paths of layers kept in float32 under a 16-bit policy.
        tf32: Whether TensorFloat-32 is on; None where the device has none.
    """

    policy: str = BASELINE_POLICY
    batch_size: int | None = None
    loss_scale: LossScale | None = None
    jit_compile: bool = False
    steps_per_execution: int = 1
    learning_rate_factor: float = 1.0
    float32_layers: tuple[str, ...] = ()
    tf32: bool | None = None

    @property
    def key(self) -> str:
        """A short, stable name of this configuration, equal for equal ones."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def timing_key(self) -> str:
        """The name of what decides the step time: the learning rate does not."""
        return replace(self, learning_rate_factor=1.0).key

    @property
    def learning(self) -> Configuration:
        """What decides what is learned: how many steps a call runs does not, it computes the same."""
        return replace(self, steps_per_execution=1)

    def same_updates(self, other: Configuration) -> bool:
        """Whether both make the same number of updates from the same samples: only the arithmetic differs."""
        return self.batch_size == other.batch_size and self.learning_rate_factor == other.learning_rate_factor

    def other_float32(self, baseline: Configuration) -> bool:
        """Whether this is the baseline with TensorFloat-32 turned on or off, and nothing else."""
        return self.tf32 is not None and self.tf32 != baseline.tf32 and self.but(tf32=baseline.tf32) == baseline

    def but(self, **changes: Any) -> Configuration:
        """This configuration with some fields changed."""
        return replace(self, **changes)

    def describe(self, baseline: Configuration | None = None) -> str:
        """One phrase for people, naming only what differs from a baseline where one is given."""
        return ", ".join(self.differences(baseline)) or "as written"

    def differences(self, baseline: Configuration | None = None) -> list[str]:
        """The parts of that phrase; none where nothing differs."""
        other = baseline or Configuration(batch_size=self.batch_size)
        parts = []
        if baseline is None or self.policy != other.policy:
            parts.append(self.policy)
        if self.batch_size is not None and (baseline is None or self.batch_size != other.batch_size):
            parts.append(f"batch {self.batch_size}")
        if self.learning_rate_factor != other.learning_rate_factor:
            parts.append(f"learning rate x{self.learning_rate_factor:g}")
        if self.steps_per_execution != other.steps_per_execution:
            parts.append(f"{self.steps_per_execution} steps per execution")
        if self.jit_compile != other.jit_compile:
            parts.append("XLA" if self.jit_compile else "no XLA")
        if self.loss_scale is not None and self.loss_scale != LossScale():
            parts.append(f"{self.loss_scale.mode} loss scale {self.loss_scale.initial:g}")
        if self.float32_layers:
            parts.append("float32 in " + ", ".join(self.float32_layers))
        if self.tf32 != other.tf32 and self.tf32 is not None:
            parts.append("TF32" if self.tf32 else "no TF32")
        return parts

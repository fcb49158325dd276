"""The search space: the values each setting may take, and which combinations are points of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from autotune.records.configuration import Configuration, LossScale
from autotune.records.finding import Finding
from autotune.records.run import Excluded


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchSpace:
    """Allowed values of each setting; the baseline's own value stands first in each.

    Attributes:
        baseline: The script as written, at float32.
        policies: Policies to measure.
        batch_sizes: Batches; one where the batch is fixed.
        loss_scales: Loss scales that apply under mixed_float16 (None: as the script has it).
        steps_per_execution: Steps that one call runs.
        jit_compile: Values to try.
        learning_rate_rules: ``1``, ``sqrt`` and ``linear``; only batches other than the written one use the last two.
        tf32: Values to try; (None,) where the device has none.
    """

    baseline: Configuration
    policies: tuple[str, ...]
    batch_sizes: tuple[int | None, ...]
    loss_scales: tuple[LossScale | None, ...] = (None,)
    steps_per_execution: tuple[int, ...] = (1,)
    jit_compile: tuple[bool, ...] = (False,)
    learning_rate_rules: tuple[str, ...] = ("1",)
    tf32: tuple[bool | None, ...] = (None,)

    def learning_rate_factors(self, batch_size: int | None) -> tuple[float, ...]:
        """Factors that the rules give for a batch; (1.0,) at the written batch."""
        written = self.baseline.batch_size
        if batch_size is None or written is None or batch_size == written:
            return (1.0,)
        ratio = batch_size / written
        factor = {"1": 1.0, "sqrt": ratio**0.5, "linear": ratio}
        return tuple(factor[rule] for rule in self.learning_rate_rules)

    def configurations(self) -> Iterator[Configuration]:
        """Every point once, the baseline first."""
        yield self.baseline
        settings = itertools.product(
            self.policies, self.batch_sizes, self.steps_per_execution, self.jit_compile, self.tf32
        )
        for policy, batch_size, steps, jit, tf32 in settings:
            scales = self.loss_scales if policy == "mixed_float16" else (None,)
            for scale, rate in itertools.product(scales, self.learning_rate_factors(batch_size)):
                point = Configuration(
                    policy=policy,
                    batch_size=batch_size,
                    loss_scale=scale,
                    jit_compile=jit,
                    steps_per_execution=steps,
                    learning_rate_factor=rate,
                    tf32=tf32,
                )
                if point != self.baseline:
                    yield point

    def __contains__(self, configuration: object) -> bool:
        """Whether a configuration is a point of the space, layers kept in float32 aside."""
        if not isinstance(configuration, Configuration):
            return False
        return configuration.but(float32_layers=()) in set(self.configurations())


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """Space, what was left out of it and why, and what a person should know.

    Attributes:
        space: What the search may try.
        excluded: Groups of configurations left out, each with its reason.
        findings: What a person should know of the plan.
        hopeless_policies: Policies that ceilings predict to be slower than half of float32: one short trial and no more.
        first: Configurations to time before all others: strict float32 where TF32 is on as written, what an earlier
            run of something similar answered.
    """

    space: SearchSpace
    excluded: tuple[Excluded, ...] = ()
    findings: tuple[Finding, ...] = ()
    hopeless_policies: tuple[str, ...] = ()
    first: tuple[Configuration, ...] = ()

"""What the search costs against the number of options, on a made-up machine whose clock is virtual.

    python benchmarks/options.py [--runs 10]

Search spaces of about 10 to 1,000 configurations, nested in each other, through the real search; beside it the cost of timing
all to 1% and judging all over three seeds. Prints a table and the exponent of a power law through the points, and draws
docs/figures/options.svg. Needs no TensorFlow and no quiet machine.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import replace
from statistics import median

import numpy as np
from figures import draw, line_chart
from replay import searched

from autotune.measure.bench import QualityPlan
from autotune.records import Configuration, JudgeOptions, LossScale, SearchSpace, WorkloadInfo
from autotune.testing.simulated import Behaviour, SimulatedBench, VirtualClock

WORKLOAD = WorkloadInfo(
    target="train.py",
    samples_per_epoch=6400,
    steps_per_epoch=200,
    epochs=10,
    batch_size=32,
    metric="val_accuracy",
    metric_direction="max",
    metric_source="validation",
)
BASELINE = Configuration(batch_size=32)
SMALLEST = SearchSpace(
    baseline=BASELINE, policies=("float32", "mixed_bfloat16"), batch_sizes=(32,), steps_per_execution=(1, 4, 8, 16, 32)
)
SCALES = (None, LossScale(initial=1024.0), LossScale(mode="fixed", initial=1024.0, growth_steps=None))
RULES = ("1", "sqrt", "linear")
# Each adds what a user might let it search, too.
SPACES = (
    SMALLEST,
    (s2 := replace(SMALLEST, jit_compile=(False, True))),
    (s3 := replace(s2, batch_sizes=(32, 64), learning_rate_rules=RULES)),
    (s4 := replace(s3, batch_sizes=(32, 64, 128, 256))),
    (s5 := replace(s4, policies=(*s4.policies, "mixed_float16"))),
    (s6 := replace(s5, loss_scales=SCALES)),
    replace(s6, batch_sizes=(32, 64, 96, 128, 192, 256, 384, 512)),
)
# The gradient noise scale of the made-up model, in samples.
_NOISE_SCALE = 300.0
_POLICIES = {"float32": 1.0, "mixed_bfloat16": 1.6, "mixed_float16": 0.7}


def world(configuration: Configuration) -> Behaviour:
    """A machine with fast bfloat16 on which dispatch costs a little, and a model for which larger batches soon stop paying."""
    batch = configuration.batch_size or 32
    compute_s = 0.008 * (0.3 + 0.7 * batch / 32) / _POLICIES[configuration.policy]
    dispatch_s = 0.001 / configuration.steps_per_execution
    fit = {1.0: 0.9, (batch / 32) ** 0.5: 1.0}.get(configuration.learning_rate_factor, 0.8)
    return Behaviour(
        step_time_s=(compute_s + dispatch_s) * (1.1 if configuration.jit_compile else 1.0),
        warmup_s=12.0 if configuration.jit_compile else 1.0,
        half_samples=3000.0 * (1.0 + batch / _NOISE_SCALE) / fit,
    )


def cost(space: SearchSpace, seed: int) -> tuple[float, float]:
    """Seconds that the search takes, and that of the answer's step time over the best."""
    clock = VirtualClock()
    bench = SimulatedBench(world, WORKLOAD, clock, seed)
    answer = searched(bench, clock, space, WORKLOAD, JudgeOptions(), budget_s=7200.0)
    return clock(), _time_to_quality(answer) / min(_time_to_quality(c) for c in space.configurations())


def exhaustive_s(space: SearchSpace) -> float:
    """Timing to 1% (12 chunks of each side) and three trainings, of every configuration."""
    plan = QualityPlan(epochs=WORKLOAD.epochs, planned_epochs=WORKLOAD.epochs)
    total_s = 0.0
    for configuration in space.configurations():
        behaviour = world(configuration)
        steps = plan.epochs * math.ceil((WORKLOAD.samples_per_epoch or 0) / (configuration.batch_size or 32))
        total_s += behaviour.warmup_s + 24 * 0.15
        total_s += 3 * (behaviour.warmup_s + 1.1 * steps * behaviour.step_time_s)
    return total_s


def _time_to_quality(configuration: Configuration) -> float:
    behaviour = world(configuration)
    return behaviour.step_time_s / (configuration.batch_size or 32) * behaviour.half_samples


def main() -> None:
    """Plays, prints and draws."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    runs = parser.parse_args().runs
    points = []
    print(f"{'options':>7} {'search':>8} {'exhaustive':>11} {'share':>6} {'answer / best':>14}")
    for space in SPACES:
        count = len(list(space.configurations()))
        played = [cost(space, seed) for seed in range(runs)]
        ours_s, all_s = median(p[0] for p in played), exhaustive_s(space)
        points.append((count, ours_s, all_s))
        print(
            f"{count:7} {ours_s:7.0f}s {all_s:10.0f}s {ours_s / all_s:6.1%} {max(p[1] for p in played):14.3f}",
            flush=True,
        )
    counts, ours, _ = (np.array(column, dtype=float) for column in zip(*points, strict=True))
    exponent = float(np.polyfit(np.log(counts), np.log(ours), 1)[0])
    print(f"the search's cost grows with the options to the power of {exponent:.2f}")
    rows = [
        {"options": count, "seconds": value, "what": what}
        for count, ours_s, all_s in points
        for what, value in (("autotune", ours_s), ("every one timed and judged", all_s))
    ]
    draw(line_chart(rows, x="options", y="seconds", by="what", log=True), "options")


if __name__ == "__main__":
    main()

"""Records whole grids: every configuration timed to 1%, every way of learning trained over three seeds.

    python benchmarks/grids.py [NAME ...]

Without names all workloads in benchmarks/workloads are recorded, one after another, into benchmarks/data; a recording that was
interrupted goes on where it was. Nothing else should run on the machine meanwhile. Steps per execution and XLA change how
fast a configuration is and not what it learns: runs are trained once with the written ones, and stand for all.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from autotune.capture import capture
from autotune.judge.speed import beside, mean_step_time_s, settled
from autotune.measure.bench import Bench
from autotune.measure.launcher import LocalLauncher
from autotune.measure.spec import WorkerSpec
from autotune.probe.profile import probe
from autotune.quality_plan import quality_plan
from autotune.records import Configuration, Measurement, SearchSpace
from autotune.testing.replay import Header, Recording, add, learning_key, slim

ROOT = Path(__file__).parent
NAMES = ("small_cnn", "residual_cnn", "wide_mlp", "tiny_mlp", "transformer", "lstm", "tabular", "input_bound")
SEEDS, TIMES_BATCH, EXECUTIONS = 3, (1, 2, 4, 8), (1, 4, 16)
CHUNK_S, LONGEST_S, BUDGET_S = 0.15, 6.0, 600.0


def record(name: str) -> None:
    """Records what is missing of one workload's grid."""
    path, script = ROOT / "data" / f"{name}.jsonl.gz", ROOT / "workloads" / f"{name}.py"
    with tempfile.TemporaryDirectory() as logs:
        launcher = LocalLauncher(Path(logs), dict(os.environ))
        spec = WorkerSpec(script=str(script), target=script.name, arguments=(), cwd=logs, log_path="", metric="")
        bench = Bench(launcher, spec, logs)
        try:
            header = _header(name, bench, script)
            known: list[Measurement] = []
            if path.exists():
                known = list(Recording.read(path).measurements)
            else:
                add(path, [header])
            for measured in _missing(header, bench, known):
                known.append(measured)
                add(path, [measured])
                what = f"{measured.purpose} {measured.configuration.describe()} {measured.outcome}"
                print(f"{name} {len(known)}: {what}, {measured.wall_s or 0.0:.1f} s", flush=True)
        finally:
            bench.close()
            launcher.close()


def _header(name: str, bench: Bench, script: Path) -> Header:
    found = capture(bench, script.name, "", None, 120.0)
    workload = found.workload
    started = time.monotonic()
    bench.capture("mixed_bfloat16", 0, 120.0)
    start_s = time.monotonic() - started
    machine = probe()
    batch = workload.batch_size or 1
    baseline = Configuration(batch_size=batch)
    space = SearchSpace(
        baseline=baseline,
        policies=("float32", "mixed_bfloat16"),
        batch_sizes=tuple(batch * times for times in TIMES_BATCH),
        steps_per_execution=EXECUTIONS,
        jit_compile=(False, True),
        learning_rate_rules=("1", "sqrt", "linear"),
    )
    return Header(
        name=name,
        machine=f"{machine.cpu.name}, {machine.cpu.logical_cores} cores",
        software=machine.software,
        recorded_at=datetime.now(UTC).date().isoformat(),
        workload=workload,
        space=space,
        start_s=start_s,
    )


def _missing(header: Header, bench: Bench, known: list[Measurement]) -> Iterator[Measurement]:
    """Measures what is not known yet: the baseline, all other timings, all trainings."""
    baseline = header.space.baseline
    timed = {m.configuration.timing_key for m in known if m.purpose == "speed"}
    trained = {(m.configuration, m.seed) for m in known if m.purpose == "quality"}
    number = len(known)
    for configuration in header.space.configurations():
        if configuration.timing_key in timed or configuration.learning_rate_factor != 1.0:
            continue
        yield slim(_number(_timing(bench, configuration, baseline), number))
        number += 1
    first = next(m for m in known if m.configuration == baseline and m.purpose == "speed")
    plan = quality_plan(header.workload, mean_step_time_s(first.chunks), BUDGET_S)
    for seed in range(SEEDS):
        for configuration in dict.fromkeys(learning_key(c, baseline) for c in header.space.configurations()):
            if (configuration, seed) in trained:
                continue
            noise = configuration == baseline and seed == 0
            yield slim(_number(bench.quality(configuration, seed, plan, noise=noise), number))
            number += 1


def _timing(bench: Bench, configuration: Configuration, baseline: Configuration) -> Measurement:
    return bench.speed(
        configuration,
        chunk_s=CHUNK_S,
        limit_s=LONGEST_S,
        stop=lambda chunks, reference: len(chunks) > 12 and settled(beside(reference, chunks), below=0.0),
        beside=baseline,
        input_free=configuration == baseline,
    )


def _number(measurement: Measurement, number: int) -> Measurement:
    return replace(measurement, number=number)


def main() -> None:
    """Records the workloads that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    for name in parser.parse_args().names or NAMES:
        record(name)


if __name__ == "__main__":
    main()

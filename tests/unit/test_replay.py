"""Recorded grids, played through the real search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from autotune.budget import Budget
from autotune.errors import UsageError
from autotune.measure.bench import QualityPlan
from autotune.progress import ignore
from autotune.records import Configuration, JudgeOptions, Plan, SearchSpace, SoftwareInfo
from autotune.search import Search
from autotune.store import RunFolder, Study
from autotune.strategies import create
from autotune.testing.replay import Header, Recording, ReplayBench, add, learning_key
from autotune.testing.simulated import Behaviour, SimulatedBench, VirtualClock
from benchmarks.replay import DATA, play, truth_of
from tests.unit.builders import BASELINE, workload

WORKLOAD = workload(samples_per_epoch=4000, steps_per_epoch=125, epochs=5)
SPACE = SearchSpace(
    baseline=BASELINE,
    policies=("float32", "mixed_bfloat16"),
    batch_sizes=(32, 64),
    steps_per_execution=(1, 4),
    learning_rate_rules=("1", "linear"),
)
SOFTWARE = SoftwareInfo(autotune="0", python="3", system="made up")
PLAN = QualityPlan(epochs=5, planned_epochs=5)


def world(configuration: Configuration) -> Behaviour:
    """bfloat16 is 1.6 times as fast, four steps a call 1.2 times, the larger batch learns half as much of a sample."""
    step_time_s = 0.010 / (1.6 if configuration.policy == "mixed_bfloat16" else 1.0)
    step_time_s /= 1.2 if configuration.steps_per_execution == 4 else 1.0
    half = 1000.0 if configuration.batch_size == 32 else 2200.0
    return Behaviour(step_time_s=step_time_s * (configuration.batch_size or 32) / 32 * 0.95, half_samples=half)


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    """A grid as the recorder writes it."""
    bench = SimulatedBench(world, WORKLOAD, VirtualClock())
    path = tmp_path / "grid.jsonl.gz"
    header = Header(
        name="made up",
        machine="none",
        software=SOFTWARE,
        recorded_at="2026-12-01",
        workload=WORKLOAD,
        space=SPACE,
        start_s=0.5,
    )
    add(path, [header])
    number = 0
    for configuration in SPACE.configurations():
        if configuration.learning_rate_factor == 1.0:
            timed = bench.speed(
                configuration, chunk_s=0.15, limit_s=3.0, stop=lambda chunks, reference: False, beside=BASELINE
            )
            add(path, [replace(timed, number=number)])
            number += 1
    for seed in range(3):
        for configuration in dict.fromkeys(learning_key(c, BASELINE) for c in SPACE.configurations()):
            add(path, [replace(bench.quality(configuration, seed, PLAN), number=number)])
            number += 1
    return Recording.read(path)


def played(recording: Recording, folder: Path, strategy: str = "ladder") -> tuple[Search, VirtualClock, ReplayBench]:
    clock = VirtualClock()
    bench = ReplayBench(recording, clock)
    with RunFolder(folder) as place:
        search = Search(
            bench=bench,
            plan=Plan(space=SPACE),
            strategy=create(strategy),
            workload=WORKLOAD,
            options=JudgeOptions(maximum_seeds=3),
            folder=place,
            study=Study(folder),
            budget=Budget(3600.0, clock),
            listener=ignore,
        )
        search.run()
        search.close()
    return search, clock, bench


def test_the_whole_grid_is_known(recording: Recording) -> None:
    """Every point of the space, timed once for all learning rates, trained once for all steps a call."""
    assert recording.configurations() == list(SPACE.configurations())
    assert recording.seeds == 3
    assert len(recording.judged()) == 4 * len(recording.configurations())


@pytest.mark.parametrize("strategy", ["ladder", "exhaustive"])
def test_the_search_finds_the_best_of_a_recorded_grid(recording: Recording, tmp_path: Path, strategy: str) -> None:
    """The real search, on time that a clock makes up."""
    search, clock, bench = played(recording, tmp_path / strategy, strategy)
    assert search.answer() == BASELINE.but(policy="mixed_bfloat16", steps_per_execution=4)
    timing_s, training_s = bench.exhaustive_s()
    assert bench.timing_s > 0.0 and bench.training_s < training_s
    assert clock() < timing_s + training_s


def test_the_same_seed_plays_the_same_and_another_begins_elsewhere(recording: Recording, tmp_path: Path) -> None:
    """Recorded chunks are real; where a trial begins in them is drawn."""
    never: Callable[..., bool] = lambda chunks, reference: False  # noqa: E731
    chunks = [
        ReplayBench(recording, VirtualClock(), seed).speed(BASELINE, chunk_s=0.1, limit_s=0.5, stop=never).chunks
        for seed in (0, 0, 1)
    ]
    assert chunks[0] == chunks[1] != chunks[2]


def test_a_worker_starts_once_for_a_policy_and_seed(recording: Recording) -> None:
    """The script's own start is paid again only for a worker that is not alive."""
    clock = VirtualClock()
    bench = ReplayBench(recording, clock)
    first = bench.quality(BASELINE, 0, PLAN)
    after = clock()
    bench.quality(BASELINE, 0, PLAN)
    assert first.wall_s is not None
    assert after == pytest.approx(0.5 + first.wall_s) and clock() - after == pytest.approx(first.wall_s)


def test_what_was_not_recorded_is_not_made_up(recording: Recording) -> None:
    """An error names it."""
    with pytest.raises(LookupError, match="batch 4096"):
        ReplayBench(recording, VirtualClock()).quality(BASELINE.but(batch_size=4096), 0, PLAN)


def test_a_damaged_recording_is_refused(tmp_path: Path) -> None:
    """A clear error, no traceback of a parser."""
    path = tmp_path / "grid.jsonl.gz"
    add(path, [])
    import gzip

    with gzip.open(path, "wt") as lines:
        lines.write('{"name": 3}\n')
    with pytest.raises(UsageError, match="damaged"):
        Recording.read(path)


NAMES = sorted(path.name.removesuffix(".jsonl.gz") for path in DATA.glob("*.jsonl.gz"))
# Where what was recorded leaves the best itself uncertain by more than 5%: docs/performance.md has the figures.
UNCERTAIN = {"input_bound": 0.08, "tabular": 0.06}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_search_finds_what_a_recorded_grid_holds(name: str) -> None:
    """Within 5% of what timing and judging everything finds, for a tenth of its cost."""
    recording = Recording.read(DATA / f"{name}.jsonl.gz")
    truth = truth_of(recording)
    runs = [play(recording, "ladder", seed, 600.0, truth) for seed in range(2)]
    assert max(run.regret for run in runs) <= UNCERTAIN.get(name, 0.05)
    assert max(run.cost for run in runs) <= 0.10
    assert max(run.timing_cost for run in runs) <= 0.25

"""Grids recorded from real runs, played back through the real search.

from autotune.testing.replay import Recording, ReplayBench

recording = Recording.read(Path("benchmarks/data/small_cnn.jsonl.gz"))
bench = ReplayBench(recording, VirtualClock())
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from autotune.judge.speed import mean_step_time_s
from autotune.measure.bench import ALIVE, QualityPlan, Stop, next_to_end
from autotune.records import (
    Chunk,
    Configuration,
    CurvePoint,
    Measurement,
    Outcome,
    SearchSpace,
    SoftwareInfo,
    WorkloadInfo,
)
from autotune.records.codec import dumps, from_json
from autotune.testing.simulated import VirtualClock


@dataclass(frozen=True, kw_only=True, slots=True)
class Header:
    """What a grid was recorded of, and on what.

    Attributes:
        name: Name of the workload.
        machine: Processor and cores, in words.
        software: Versions.
        recorded_at: Day, ISO 8601.
        workload: The captured fit.
        space: The configurations of the grid.
        start_s: Time for a worker to reach the ``fit``.
        float16_speed: Speed of float16 against float32 in the measured ceilings; None when unknown.
    """

    name: str
    machine: str
    software: SoftwareInfo
    recorded_at: str
    workload: WorkloadInfo
    space: SearchSpace
    start_s: float
    float16_speed: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Recording:
    """A grid: every timing and every accuracy run.

    Attributes:
        header: What it was recorded of.
        measurements: Trials as measured; the baseline's timing first.
    """

    header: Header
    measurements: tuple[Measurement, ...]

    @classmethod
    def read(cls, path: Path) -> Recording:
        """Reads a recording.

        Args:
            path: A file that ``add`` wrote.

        Raises:
            UsageError: A line is damaged.
        """
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            header = from_json(Header, json.loads(next(lines)), what=str(path))
            measurements = [from_json(Measurement, json.loads(line), what=str(path)) for line in lines]
        return cls(header=header, measurements=tuple(measurements))

    def timing(self, configuration: Configuration) -> Measurement | None:
        """The trial that tells a configuration's step time."""
        key = configuration.timing_key
        return next((m for m in self.measurements if m.purpose == "speed" and m.configuration.timing_key == key), None)

    def training(self, configuration: Configuration, seed: int) -> Measurement | None:
        """The accuracy run: steps per call and compiler do not change what is learned, and were recorded once."""
        wanted = learning_key(configuration, self.header.space.baseline)
        found = (m for m in self.measurements if m.purpose == "quality" and m.seed == seed)
        return next((m for m in found if m.configuration == wanted), None)

    @property
    def seeds(self) -> int:
        """Seeds of the accuracy runs."""
        return 1 + max((m.seed for m in self.measurements if m.purpose == "quality"), default=0)

    def configurations(self) -> list[Configuration]:
        """Every configuration whose timing and accuracy are known."""
        return [c for c in self.header.space.configurations() if self.timing(c) and self.training(c, 0)]

    def judged(self) -> list[Measurement]:
        """All that an exhaustive search would have measured, each configuration with runs of its own."""
        found = []
        for configuration in self.configurations():
            timed = self.timing(configuration)
            runs = [run for seed in range(self.seeds) if (run := self.training(configuration, seed)) is not None]
            found += [replace(m, configuration=configuration) for m in (timed, *runs) if m is not None]
        return found


def learning_key(configuration: Configuration, baseline: Configuration) -> Configuration:
    """What of a configuration decides what is learned, the rest as written."""
    return configuration.but(steps_per_execution=baseline.steps_per_execution, jit_compile=baseline.jit_compile)


def add(path: Path, records: Iterable[Header | Measurement]) -> None:
    """Appends records to a recording; a header only where it is new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "at", encoding="utf-8", compresslevel=9) as lines:
        for record in records:
            lines.write(dumps(record, indent=None) + "\n")


class ReplayBench:
    """Answers with what was recorded, and lets the time pass that it took.

    Chunks are taken from the recorded ones in turn, from a place that the seed draws; where a search asks for more than
    were recorded they begin again. Baseline and candidate stay beside each other, as they were recorded.

    Args:
        recording: The grid.
        clock: Goes forward by what each trial took.
        seed: Another one begins elsewhere in the recorded chunks.
    """

    def __init__(self, recording: Recording, clock: VirtualClock, seed: int = 0) -> None:
        self._recording = recording
        self._clock = clock
        self._seed = seed
        self._workers: dict[tuple[str, int], None] = {}
        self.timing_s = 0.0
        self.training_s = 0.0

    def speed(
        self,
        configuration: Configuration,
        *,
        chunk_s: float,
        limit_s: float,
        stop: Stop,
        beside: Configuration | None = None,
        input_free: bool = False,
        capture_limit_s: float = 600.0,
    ) -> Measurement:
        """Recorded chunks, until ``stop`` says so or the limit is reached."""
        started = self._clock()
        recorded = self._timed(configuration)
        self._start(configuration.policy, 0)
        if beside is not None:
            self._start(beside.policy, -3)
        warm = [c for c in recorded.chunks if c.warmup]
        self._clock.pass_s(sum(c.duration_s for c in warm))
        chunks, reference, timed_s = list(warm), [], 0.0
        if recorded.outcome is Outcome.OK:
            for ours, theirs in self._pairs(recorded):
                chunks.append(ours)
                timed_s += ours.duration_s
                self._clock.pass_s(ours.duration_s)
                if beside is not None and theirs is not None:
                    reference.append(theirs)
                    self._clock.pass_s(theirs.duration_s)
                if timed_s >= limit_s or stop(chunks, reference):
                    break
        wall_s = self._clock() - started
        self.timing_s += wall_s
        return replace(
            recorded,
            configuration=configuration,
            chunks=tuple(chunks),
            reference_chunks=tuple(reference),
            steps=sum(c.steps for c in chunks),
            wall_s=wall_s,
        )

    def quality(
        self,
        configuration: Configuration,
        seed: int,
        plan: QualityPlan,
        *,
        noise: bool = False,
        capture_limit_s: float = 600.0,
        on_point: Callable[[CurvePoint], None] = lambda point: None,
    ) -> Measurement:
        """The recorded curve; its time is that of the recorded run with this configuration's step time."""
        recorded = self._recording.training(configuration, seed)
        if recorded is None:
            raise LookupError(f"not recorded: {configuration.describe()}, seed {seed}")
        self._start(configuration.policy, seed)
        wall_s = self._training_s(recorded, configuration)
        self._clock.pass_s(wall_s)
        self.training_s += wall_s
        for point in recorded.curve:
            on_point(point)
        return replace(recorded, configuration=configuration, wall_s=wall_s, noise=recorded.noise if noise else ())

    def soak(self, configuration: Configuration, *, limit_s: float, capture_limit_s: float = 600.0) -> Measurement:
        """Time passes; what was recorded says nothing of more steps."""
        self._clock.pass_s(limit_s)
        return replace(self._timed(configuration), purpose="soak", configuration=configuration, wall_s=limit_s)

    def duel(
        self,
        baseline: Configuration,
        candidate: Configuration,
        *,
        chunk_s: float,
        duel_id: str,
        enough: Callable[[list[Chunk], list[Chunk]], bool],
        whole_epochs: bool = False,
        capture_limit_s: float = 600.0,
    ) -> tuple[Measurement, Measurement]:
        """Both sides as they were recorded beside each other."""
        recorded = self._timed(candidate)
        ours: list[Chunk] = []
        theirs: list[Chunk] = []
        for own, reference in self._pairs(recorded):
            if reference is None:
                break
            theirs.append(own)
            ours.append(reference)
            self._clock.pass_s(own.duration_s + reference.duration_s)
            if enough(ours, theirs):
                break
        first, second = (
            replace(
                recorded,
                purpose="duel",
                configuration=configuration,
                chunks=tuple(chunks),
                reference_chunks=(),
                duel_id=duel_id,
                wall_s=sum(c.duration_s for c in chunks),
            )
            for configuration, chunks in ((baseline, ours), (candidate, theirs))
        )
        return first, second

    def exhaustive_s(self) -> tuple[float, float]:
        """What timing and training every configuration of the grid takes, seconds each."""
        timing_s, training_s = 0.0, 0.0
        for configuration in self._recording.configurations():
            timed = self._timed(configuration)
            timing_s += sum(c.duration_s for c in (*timed.chunks, *timed.reference_chunks))
            for seed in range(self._recording.seeds):
                run = self._recording.training(configuration, seed)
                training_s += 0.0 if run is None else self._training_s(run, configuration)
        return timing_s, training_s

    def _training_s(self, run: Measurement, configuration: Configuration) -> float:
        """Wall time of an accuracy run, from the one that was recorded with the written knobs."""
        written = self._timed(run.configuration)
        own = self._timed(configuration)
        if written is own or not own.chunks or not written.chunks:
            return run.wall_s or 0.0
        slower_s = run.steps * (mean_step_time_s(own.chunks) - mean_step_time_s(written.chunks))
        compile_s = max(0.0, (own.trace_s or 0.0) - (written.trace_s or 0.0))
        return max(1.0, (run.wall_s or 0.0) + slower_s + compile_s)

    def _pairs(self, recorded: Measurement) -> Iterator[tuple[Chunk, Chunk | None]]:
        timed = [c for c in recorded.chunks if not c.warmup]
        beside: Sequence[Chunk | None] = recorded.reference_chunks or [None] * len(timed)
        pairs = list(zip(timed, beside, strict=False))
        place = int(np.random.default_rng([self._seed, recorded.number]).integers(len(pairs))) if pairs else 0
        while pairs:
            yield pairs[place % len(pairs)]
            place += 1

    def _timed(self, configuration: Configuration) -> Measurement:
        found = self._recording.timing(configuration)
        if found is None:
            raise LookupError(f"not recorded: {configuration.describe()}")
        return found

    def _start(self, policy: str, seed: int) -> None:
        """Lets the time of a worker's start pass where none is alive for this policy and seed."""
        key = (policy, seed)
        if key not in self._workers:
            self._clock.pass_s(self._recording.header.start_s)
            while len(self._workers) >= ALIVE:
                del self._workers[next_to_end(self._workers)]
        self._workers[key] = self._workers.pop(key, None)  # most recently used last


def slim(measurement: Measurement) -> Measurement:
    """A measurement without what no search reads."""
    changes: dict[str, Any] = {"layers": (), "trace": replace(measurement.trace, loss=())}
    if measurement.examples is not None:
        scores = tuple(float(f"{score:.5g}") for score in measurement.examples.scores)
        changes["examples"] = replace(measurement.examples, scores=scores)
    return replace(measurement, **changes)

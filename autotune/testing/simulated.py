"""A machine that is made up: searches run on it in milliseconds, through the real search code.

from autotune.testing.simulated import Behaviour, SimulatedBench, VirtualClock

clock = VirtualClock()
bench = SimulatedBench(lambda configuration: Behaviour(step_time_s=0.01), workload, clock)
budget = Budget(600.0, clock)
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from autotune.measure.bench import QualityPlan, Stop
from autotune.records import Chunk, Configuration, CurvePoint, Measurement, Outcome, Purpose, WorkloadInfo

# Validation and reading the logs, on top of the training of a quality run.
_OVERHEAD = 1.1


class VirtualClock:
    """Time that passes only when told to."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        """The time, in seconds."""
        return self.now_s

    def pass_s(self, seconds: float) -> None:
        """Lets time go by."""
        self.now_s += seconds


@dataclass(frozen=True, kw_only=True, slots=True)
class Behaviour:
    """How a configuration behaves on the made-up machine.

    Attributes:
        step_time_s: Mean step time.
        noise: Standard deviation of the logarithm of a chunk's time.
        warmup_s: Tracing and compiling, once a trial.
        final: Quality after endless training, larger is better.
        half_samples: Samples after which half of the way from 0 to ``final`` is done.
        spread: Standard deviation of the quality over seeds; a seed moves all configurations alike.
        own_spread: Standard deviation that a configuration adds to each of its own runs.
        outcome: How its trials end.
        reason: Why they fail.
        in_alternation: Factor on the step time in a duel: a machine that behaves otherwise there.
    """

    step_time_s: float
    noise: float = 0.01
    warmup_s: float = 1.0
    final: float = 0.9
    half_samples: float = 1000.0
    spread: float = 0.003
    own_spread: float = 0.001
    outcome: Outcome = Outcome.OK
    reason: str | None = None
    in_alternation: float = 1.0


class SimulatedBench:
    """Measures nothing: makes up what a machine with the given behaviour would have shown.

    The same configuration, purpose and seed always give the same numbers, in whatever order they are asked for.

    Args:
        behaviour: How each configuration behaves.
        workload: The made-up fit; its metric is what curves hold.
        clock: Goes forward by what a real trial would take.
        seed: Another one makes other noise.
        pace: Factor on all step times at a time in seconds: a machine that others work on too.
    """

    def __init__(
        self,
        behaviour: Callable[[Configuration], Behaviour],
        workload: WorkloadInfo,
        clock: VirtualClock,
        seed: int = 0,
        pace: Callable[[float], float] = lambda time_s: 1.0,
    ) -> None:
        self._behaviour = behaviour
        self._workload = workload
        self._clock = clock
        self._seed = seed
        self._pace = pace
        self.asked: list[tuple[str, Configuration, int]] = []

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
        """Chunks around the true step time, until ``stop`` says so or the limit is reached."""
        self.asked.append(("speed", configuration, 0))
        side = self._side("speed", configuration)
        side.warm()
        if side.behaviour.outcome is Outcome.OK:
            timed_s, reference = 0.0, None if beside is None else self._side("pace", beside)
            while timed_s < limit_s:
                if reference is not None:
                    reference.chunk(chunk_s)
                timed_s += side.chunk(chunk_s)
                if stop(side.chunks, [] if reference is None else reference.chunks):
                    break
            if reference is not None:
                return replace(side.measured("speed"), reference_chunks=tuple(reference.chunks))
        return side.measured("speed")

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
        """A curve that rises to the true quality, with the spread of its seed."""
        self.asked.append(("quality", configuration, seed))
        side = self._side("quality", configuration, seed)
        self._clock.pass_s(side.behaviour.warmup_s)
        if side.behaviour.outcome is not Outcome.OK:
            return side.measured("quality")
        truth, batch = side.behaviour, configuration.batch_size or 1
        shared = truth.spread * np.random.default_rng([self._seed, seed]).standard_normal()
        own = truth.own_spread * side.rng.standard_normal()
        part = plan.part_samples or float(self._workload.samples_per_epoch or 1000)
        points = []
        for number in range(1, plan.epochs + 1):
            samples = part * number
            steps = math.ceil(part / batch)
            self._clock.pass_s(_OVERHEAD * steps * truth.step_time_s)
            value = truth.final * (1.0 - 0.5 ** (samples / truth.half_samples)) + shared + own
            points.append(
                CurvePoint(step=steps * number, samples=samples, values={self._workload.metric or "loss": value})
            )
            on_point(points[-1])
        return side.measured("quality", points)

    def soak(self, configuration: Configuration, *, limit_s: float, capture_limit_s: float = 600.0) -> Measurement:
        """More steps of what leads."""
        self.asked.append(("soak", configuration, 0))
        side = self._side("soak", configuration)
        side.warm()
        if side.behaviour.outcome is Outcome.OK:
            side.chunk(limit_s)
        return side.measured("soak")

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
        """Both sides in alternation until ``enough`` says so."""
        self.asked.append(("duel", candidate, 0))
        ours, theirs = self._side("duel", baseline), self._side("duel", candidate)
        for side in (ours, theirs):
            side.warm()
        while True:
            for side in (ours, theirs):
                side.chunk(chunk_s, side.behaviour.in_alternation)
            if enough(ours.chunks[1:], theirs.chunks[1:]):
                break
        first = ours.measured("duel", duel_id=duel_id)
        return first, theirs.measured("duel", duel_id=duel_id)

    def _side(self, purpose: str, configuration: Configuration, seed: int = 0) -> _Side:
        noise = zlib.crc32(f"{purpose} {configuration.key}".encode())
        rng = np.random.default_rng([self._seed, noise, seed])
        return _Side(self._behaviour(configuration), rng, self._clock, self._pace, self._workload, configuration, seed)


class _Side:
    """A trial that runs."""

    def __init__(
        self,
        behaviour: Behaviour,
        rng: np.random.Generator,
        clock: VirtualClock,
        pace: Callable[[float], float],
        workload: WorkloadInfo,
        configuration: Configuration,
        seed: int,
    ) -> None:
        self._layers = workload.layers
        self._pace = pace
        self.behaviour = behaviour
        self.rng = rng
        self._clock = clock
        self._started_s = clock()
        self._configuration = configuration
        self._seed = seed
        self.chunks: list[Chunk] = []

    def warm(self) -> None:
        duration_s = self.behaviour.warmup_s
        self._clock.pass_s(duration_s)
        self.chunks.append(
            Chunk(steps=1, duration_s=duration_s, samples=self._configuration.batch_size or 1, warmup=True)
        )

    def chunk(self, chunk_s: float, factor: float = 1.0) -> float:
        step_time_s = factor * self.behaviour.step_time_s
        steps = max(1, round(chunk_s / step_time_s))
        step_time_s *= self._pace(self._clock())
        duration_s = float(steps * step_time_s * np.exp(self.behaviour.noise * self.rng.standard_normal()))
        self._clock.pass_s(duration_s)
        samples = float(steps * (self._configuration.batch_size or 1))
        self.chunks.append(Chunk(steps=steps, duration_s=duration_s, samples=samples))
        return duration_s

    def measured(
        self,
        purpose: Purpose,
        points: list[CurvePoint] | None = None,
        duel_id: str = "",
    ) -> Measurement:
        fine = self.behaviour.outcome is Outcome.OK
        steps = points[-1].step if points else sum(chunk.steps for chunk in self.chunks)
        return Measurement(
            number=0,
            purpose=purpose,
            configuration=self._configuration,
            seed=self._seed,
            outcome=self.behaviour.outcome,
            reason=self.behaviour.reason,
            chunks=tuple(self.chunks) if fine else (),
            curve=tuple(points or ()),
            steps=steps,
            updates=steps if fine else None,
            weights_moved=True if fine else None,
            weights_hash=f"seed {self._seed}",
            data_hash=f"seed {self._seed}",
            layers=self._layers,
            peak_memory_bytes=1 << 30,
            batch_size_seen=self._configuration.batch_size,
            share_of_plan=1.0 if points else None,
            duel_id=duel_id,
            wall_s=self._clock() - self._started_s,
        )

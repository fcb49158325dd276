"""The parent's side of measuring: keeps workers alive, runs trials in them, turns events into measurements."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from autotune.errors import HardwareError, WorkerDied
from autotune.measure.launcher import Launcher, Worker
from autotune.measure.protocol import Message
from autotune.measure.result import measurement_from
from autotune.measure.spec import WorkerSpec
from autotune.records import Chunk, Configuration, CurvePoint, LayerCost, Measurement, Outcome
from autotune.records.codec import to_json

_QUIET_S = 120.0
_SOAK_CHUNK_S = 0.5
# Workers that wait for their next trial, at most: where their memory is unknown, and as far as they fit.
ALIVE, _FEWEST_ALIVE, _MOST_ALIVE = 5, 3, 12
_ROOM_SHARE = 0.6
# Seeds of workers apart from those that train: one lists every fit, one runs the baseline beside the trials of others.
_LISTING_SEED, _PACE_SEED = -2, -3


@dataclass(frozen=True, kw_only=True, slots=True)
class QualityPlan:
    """How long a quality run is; baseline and candidate see the same samples.

    Attributes:
        epochs: Epochs, or pseudo-epochs where ``part_samples`` is given.
        part_samples: Samples of a pseudo-epoch; None to run the script's own epochs.
        validation_steps: Validation batches at each point; None for the script's own.
        planned_epochs: Epochs that the script plans.
        planned_steps: Steps that the script plans at the written batch; None when unknown.
        share: Part of the planned samples that a run sees; None when unknown.
    """

    epochs: int
    part_samples: float | None = None
    validation_steps: int | None = None
    planned_epochs: int
    planned_steps: int | None = None
    share: float | None = None

    def command(self, configuration: Configuration) -> Message:
        """The message that runs this plan with a configuration."""
        return {
            "op": "quality",
            "configuration": to_json(configuration),
            "epochs": self.epochs,
            "part_samples": self.part_samples,
            "epoch_scale": 1.0 if self.part_samples is None else self.planned_epochs / self.epochs,
            "planned_steps": self.planned_steps,
            "validation_steps": self.validation_steps,
        }


# Is given the timed chunks so far, and those of the configuration beside, empty without one.
Stop = Callable[[list[Chunk], list[Chunk]], bool]


class Measurer(Protocol):
    """What a search measures with: workers on this machine, or recorded and simulated ones."""

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
        """Times chunks of steps, alone or with one of another configuration beside each, until ``stop`` or the limit."""

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
        """Trains for the plan's length and records the curve; compares gradients of batches before and after if asked to."""

    def soak(self, configuration: Configuration, *, limit_s: float, capture_limit_s: float = 600.0) -> Measurement:
        """Trains on, for stability alone."""

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
        """Runs baseline and candidate in alternating chunks, or whole epochs, until ``enough`` says so."""


class CaptureFailed(Exception):
    """The script did not get as far as the wanted ``fit``.

    Args:
        kind: ``error``, ``exit``, ``fit``, ``framework``, ``ended``, ``timeout`` or an outcome's value.
        message: Details, as the worker sent them.
    """

    def __init__(self, kind: str, message: Mapping[str, Any]) -> None:
        super().__init__(kind)
        self.kind = kind
        self.message = dict(message)


def next_to_end(workers: Iterable[tuple[str, int]]) -> tuple[str, int]:
    """The worker to give up where there is no room for another.

    Seed 0 and the pace are asked for again and again, another seed rarely twice.

    Args:
        workers: Policy and seed of each, the least recently used first.
    """
    listed = list(workers)
    return next((worker for worker in listed if worker[1] > 0), listed[0])


class Bench:
    """Runs trials in workers, one for each policy and seed, kept alive over configurations.

    Args:
        launcher: Starts workers.
        spec: What every worker is told; policy, seed and log are filled in.
        logs: Folder for the workers' logs.
        clock: Monotonic clock.
        room_bytes: Memory for workers side by side; None when unknown.
    """

    def __init__(
        self,
        launcher: Launcher,
        spec: WorkerSpec,
        logs: str,
        clock: Callable[[], float] = time.monotonic,
        room_bytes: float | None = None,
    ) -> None:
        self._launcher = launcher
        self._spec = spec
        self._logs = logs
        self._clock = clock
        self._workers: dict[tuple[str, int], Worker] = {}
        self._captured: dict[tuple[str, int], Message] = {}
        self._started = 0
        self._again = True
        self._room_bytes = room_bytes
        self._peak_bytes = 0
        self._pace: _Side | None = None

    def select_fit(self, index: int) -> None:
        """From now on workers measure this ``fit``."""
        self._spec = replace(self._spec, fit=index)
        self.close()

    def capture(self, policy: str, seed: int, limit_s: float) -> Message:
        """Runs the script up to its ``fit`` in a worker of its own; what the worker found out there.

        Raises:
            CaptureFailed: It did not get there.
            WorkerDied: The worker died on the way.
        """
        key = (policy, seed)
        if key in self._workers:
            return self._captured[key]
        while len(self._workers) >= self._most_alive:
            self._end(next_to_end(self._workers))
        self._started += 1
        log = f"{self._logs}/worker-{self._started:03d}-{policy}-seed{seed}.log"
        worker = self._launcher.start(replace(self._spec, policy=policy, seed=seed, log_path=log))
        self._workers[key] = worker
        deadline = self._clock() + limit_s
        try:
            while True:
                event = worker.receive(max(0.0, deadline - self._clock()))
                if event is None:
                    raise CaptureFailed("timeout", {"limit_s": limit_s})
                if event["event"] == "captured":
                    self._captured[key] = event
                    self._again = bool(event["again"])
                    return event
                if event["event"] == "fresh_needed":
                    return self._start_fresh(key, event, deadline - self._clock())
                if event["event"] == "ended":
                    raise CaptureFailed("ended", event)
                if event["event"] == "failed":
                    raise CaptureFailed(str(event["kind"]), event)
        except BaseException:
            self._end(key)
            raise

    def discover(self, limit_s: float) -> Message:
        """Runs the script with every ``fit`` cut short and gives the ``fit`` calls that it makes."""
        spec = self._spec
        self._spec = replace(spec, fit=0)
        try:
            self.capture("float32", _LISTING_SEED, limit_s)
        except CaptureFailed as failed:
            if failed.kind == "ended":
                return failed.message
            raise
        finally:
            self._spec = spec
        raise AssertionError("a worker that looks for every fit captured one")

    def ceilings(self, dtypes: tuple[str, ...], budget_s: float) -> list[dict[str, Any]]:
        """Measured ceilings of this machine; empty when they cannot be measured."""
        spec = replace(self._spec, ceilings=dtypes, ceilings_budget_s=budget_s, log_path=f"{self._logs}/ceilings.log")
        worker = self._launcher.start(spec)
        try:
            event = worker.receive(60.0 + budget_s)
            return list(event["ceilings"]) if event is not None and event["event"] == "ceilings" else []
        except WorkerDied:
            return []
        finally:
            worker.close()

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
        """Times chunks of steps until ``stop`` says so or the limit is reached.

        Args:
            configuration: What to time.
            chunk_s: Length of a chunk.
            limit_s: Most seconds of timed chunks.
            stop: Ends the trial; is given the chunks so far, and those beside.
            beside: Of this configuration a chunk is timed beside each, in a worker of its own that goes on from trial to
                trial; None to time alone.
            input_free: Whether to time steps on one batch in memory too.
            capture_limit_s: Time for the script to reach its ``fit``.
        """
        command = {
            "op": "speed",
            "configuration": to_json(configuration),
            "chunk_s": chunk_s,
            "limit_s": limit_s,
            "input_free": input_free,
        }
        pace = None if beside is None else self._pace_of(beside, chunk_s, capture_limit_s)
        if pace is None:
            return self._trial("speed", configuration, 0, command, capture_limit_s, stop=lambda own: stop(own, []))
        return self._timed_beside(pace, configuration, command, limit_s, stop, capture_limit_s)

    def _pace_of(self, configuration: Configuration, chunk_s: float, limit_s: float) -> _Side | None:
        """The worker that runs chunks of a configuration beside those of trials; None where there can be none."""
        key = (configuration.policy, _PACE_SEED)
        if self._pace is not None and self._pace.configuration == configuration and key in self._workers:
            self._workers[key] = self._workers.pop(key)
            return self._pace
        side = _Side(configuration)
        try:
            side.worker = self._worker(key, limit_s)
            side.start(chunk_s)
            side.until_waiting(self._next)
        except (WorkerDied, CaptureFailed, _Silent):
            side.end = {"event": "lost"}
        if side.ended:
            self._end(key)
            return None
        self._pace = side
        return side

    def _timed_beside(
        self,
        pace: _Side,
        configuration: Configuration,
        command: Message,
        limit_s: float,
        stop: Stop,
        capture_limit_s: float,
    ) -> Measurement:
        key, started = (configuration.policy, 0), self._clock()
        side = _Side(configuration)
        reference: list[Chunk] = []
        try:
            side.worker = self._worker(key, capture_limit_s)
            side.worker.send({**command, "limit_s": 1e9, "on_command": True})
            side.until_waiting(self._next)
            while not side.ended:
                first = len(reference) % 2 == 0  # who goes first changes from pair to pair
                beat = self._beat(pace) if first else None
                side.go(self._next)
                beat = beat if first else self._beat(pace)
                if beat is not None and not side.ended:
                    reference.append(beat)
                timed_s = sum(chunk.duration_s for chunk in side.timed)
                if beat is None or timed_s >= limit_s or stop(side.chunks, reference):
                    side.finish(self._next)
        except (WorkerDied, CaptureFailed, _Silent) as error:
            self._end(key)
            side.end = _failure_of(error)
        event = {**side.end, "wall_s": self._clock() - started}
        measured = measurement_from(event, "speed", configuration, 0, side.chunks, [])
        return replace(measured, reference_chunks=tuple(reference[: len(side.timed)]))

    def _beat(self, pace: _Side) -> Chunk | None:
        """One chunk of the configuration beside; None once its worker is lost."""
        pace.chunks.clear()
        with contextlib.suppress(WorkerDied, _Silent):
            pace.go(self._next)
        if pace.chunks and not pace.ended:
            return pace.chunks[-1]
        self._end((pace.configuration.policy, _PACE_SEED))
        return None

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
        """Trains for the plan's length and records the curve; compares gradients of batches before and after if asked to."""
        if not self._again:
            self._end((configuration.policy, seed))  # data that cannot be gone through again need the script afresh
        measured = self._trial(
            "quality",
            configuration,
            seed,
            {**plan.command(configuration), "noise": noise},
            capture_limit_s,
            on_point=on_point,
        )
        return replace(measured, planned_steps=plan.planned_steps, share_of_plan=plan.share)

    def soak(self, configuration: Configuration, *, limit_s: float, capture_limit_s: float = 600.0) -> Measurement:
        """Trains on for a time, without validation: whether the configuration stays stable.

        Args:
            configuration: What to train with.
            limit_s: How long.
            capture_limit_s: Time for the script to reach its ``fit``.
        """
        command = {"op": "speed", "configuration": to_json(configuration), "chunk_s": _SOAK_CHUNK_S, "limit_s": limit_s}
        return self._trial("soak", configuration, 0, command, capture_limit_s)

    def profile(self, policy: str, seed: int, limit_s: float) -> Message:
        """How large the numbers of the model are, with the weights as that worker's last trial left them.

        Raises:
            WorkerDied: The worker did not survive it.
            CaptureFailed: The script did not reach its fit.
        """
        return self._ask("profile", (policy, seed), limit_s) or {"layers": {}, "gradients": None}

    def cost(self, policy: str, seed: int, limit_s: float) -> tuple[LayerCost, ...]:
        """What a step at the written batch computes and moves, layer by layer; empty where that cannot be counted.

        Raises:
            WorkerDied: The worker did not survive it.
            CaptureFailed: The script did not reach its fit.
        """
        event = self._ask("cost", (policy, seed), limit_s)
        return () if event is None else tuple(LayerCost(**part) for part in event["parts"])

    def _ask(self, what: str, key: tuple[str, int], limit_s: float) -> Message | None:
        """What a worker says of its model; None where it takes too long, and the worker is ended then."""
        worker = self._worker(key, limit_s)
        worker.send({"op": what})
        event = worker.receive(limit_s)
        if event is None or event["event"] != what:
            self._end(key)
            return None
        return event

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
        """Runs baseline and candidate in alternating chunks in one sitting until ``enough`` says so.

        Args:
            baseline: One side.
            candidate: The other.
            chunk_s: Length of a chunk.
            duel_id: Joins the two trials.
            enough: Is given the timed chunks of both sides.
            whole_epochs: Whether a chunk is an epoch as ``fit`` runs it, whatever its length.
            capture_limit_s: Time for the script to reach its ``fit``.

        Raises:
            HardwareError: A side failed.
        """
        sides = (_Side(baseline), _Side(candidate))
        keys = ((baseline.policy, 0), (candidate.policy, -1 if candidate.policy == baseline.policy else 0))
        try:
            for side, key in zip(sides, keys, strict=True):
                side.worker = self._worker(key, capture_limit_s)
                side.start(chunk_s, whole_epochs=whole_epochs)
                side.until_waiting(self._next)
            while True:
                first, second = (
                    sides if len(sides[0].timed) % 2 == 0 else sides[::-1]
                )  # who goes first changes every pair
                for side in (first, second):
                    side.go(self._next)
                if any(side.ended for side in sides) or enough(sides[0].timed, sides[1].timed):
                    break
            for side in sides:
                side.finish(self._next)
        except (WorkerDied, CaptureFailed, _Silent) as error:
            for key in keys:
                self._end(key)
            raise HardwareError(f"the closing comparison could not be made: {error}") from None
        first_side, second_side = (
            replace(measurement_from(side.end, "duel", side.configuration, 0, side.chunks, []), duel_id=duel_id)
            for side in sides
        )
        return first_side, second_side

    def close(self) -> None:
        """Ends every worker."""
        for key in list(self._workers):
            self._end(key)

    def _trial(
        self,
        purpose: Any,
        configuration: Configuration,
        seed: int,
        command: Message,
        capture_limit_s: float,
        *,
        stop: Callable[[list[Chunk]], bool] | None = None,
        on_point: Callable[[CurvePoint], None] = lambda point: None,
    ) -> Measurement:
        key = (configuration.policy, seed)
        chunks: list[Chunk] = []
        points: list[CurvePoint] = []
        started = self._clock()
        try:
            worker = self._worker(key, capture_limit_s)
            worker.send(command)
            stopped = False
            while True:
                event = self._next(worker)
                if event["event"] == "chunk":
                    chunks.append(chunk_from(event))
                    if stop is not None and not stopped and stop(chunks):
                        worker.send({"op": "stop"})
                        stopped = True
                elif event["event"] == "point":
                    points.append(CurvePoint(step=event["step"], samples=event["samples"], values=event["values"]))
                    on_point(points[-1])
                elif event["event"] == "measured":
                    self._peak_bytes = max(self._peak_bytes, event.get("peak_memory_bytes") or 0)
                    return measurement_from(event, purpose, configuration, seed, chunks, points)
        except (WorkerDied, CaptureFailed, _Silent) as error:
            self._end(key)
            event = {**_failure_of(error), "wall_s": self._clock() - started}
            return measurement_from(event, purpose, configuration, seed, chunks, points)

    @property
    def _most_alive(self) -> int:
        """How many workers may wait with the script's data loaded: each spares loading it again."""
        if not self._peak_bytes or self._room_bytes is None:
            return ALIVE
        return int(min(_MOST_ALIVE, max(_FEWEST_ALIVE, _ROOM_SHARE * self._room_bytes / self._peak_bytes)))

    def _worker(self, key: tuple[str, int], limit_s: float) -> Worker:
        self.capture(*key, limit_s)
        self._workers[key] = self._workers.pop(key)  # most recently used last
        return self._workers[key]

    def _next(self, worker: Worker) -> Message:
        event = worker.receive(_QUIET_S)
        if event is None:
            raise _Silent(_QUIET_S)
        return event

    def _start_fresh(self, key: tuple[str, int], event: Message, limit_s: float) -> Message:
        self._end(key)
        stop_forking = getattr(self._launcher, "stop_forking", None)
        if stop_forking is not None:
            stop_forking()
        self._spec = replace(self._spec, environment={**self._spec.environment, **event["environment"]})
        return self.capture(*key, limit_s)

    def _end(self, key: tuple[str, int]) -> None:
        worker = self._workers.pop(key, None)
        self._captured.pop(key, None)
        if worker is not None:
            worker.close()


def chunk_from(event: Mapping[str, Any]) -> Chunk:
    """A chunk from its event."""
    return Chunk(
        steps=event["steps"], duration_s=event["duration_s"], samples=event["samples"], warmup=bool(event["warmup"])
    )


def _failure_of(error: WorkerDied | CaptureFailed | _Silent) -> dict[str, Any]:
    """What the loss of a worker means for its trial."""
    if isinstance(error, CaptureFailed):
        return capture_failure(error)
    if isinstance(error, _Silent):
        reason = f"the worker said nothing for {error.quiet_s:.0f} s and was ended"
        return {"outcome": Outcome.TIMEOUT, "reason": reason}
    reason = f"the worker did not survive: {error.message}"
    return {"outcome": error.outcome, "reason": reason, "traceback": error.detail or None}


def capture_failure(failed: CaptureFailed) -> dict[str, Any]:
    """What a failed capture means for a trial of a configuration."""
    message = failed.message
    outcome = {
        "timeout": Outcome.TIMEOUT,
        "out_of_memory": Outcome.OUT_OF_MEMORY,
        "fit": Outcome.UNSUPPORTED,
        "error": Outcome.UNSUPPORTED,
    }.get(failed.kind, Outcome.SCRIPT_ERROR)
    reason = (
        message.get("reason")
        or message.get("why")
        or f"the script did not reach its fit in {message.get('limit_s', 0):.0f} s"
    )
    return {"outcome": outcome, "reason": reason, "traceback": message.get("traceback"), "line": message.get("line")}


class _Silent(Exception):
    def __init__(self, quiet_s: float) -> None:
        super().__init__(f"a worker said nothing for {quiet_s:.0f} s")
        self.quiet_s = quiet_s


class _Side:
    """One side of a duel."""

    worker: Worker

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.chunks: list[Chunk] = []
        self.end: Message = {}

    @property
    def timed(self) -> list[Chunk]:
        return [chunk for chunk in self.chunks if not chunk.warmup]

    @property
    def ended(self) -> bool:
        return bool(self.end)

    def start(self, chunk_s: float, *, whole_epochs: bool = False) -> None:
        """Lets the worker warm up and then wait for each chunk to be asked for."""
        self.worker.send(
            {
                "op": "speed",
                "configuration": to_json(self.configuration),
                "chunk_s": chunk_s,
                "limit_s": 1e9,
                "on_command": True,
                "whole_epochs": whole_epochs,
            }
        )

    def go(self, receive: Callable[[Worker], Message]) -> None:
        """Runs one chunk."""
        self.worker.send({"op": "go"})
        self.until_waiting(receive)

    def until_waiting(self, receive: Callable[[Worker], Message]) -> None:
        while not self.ended:
            event = receive(self.worker)
            if event["event"] == "waiting":
                return
            if event["event"] == "chunk":
                self.chunks.append(chunk_from(event))
            elif event["event"] == "measured":
                self.end = event

    def finish(self, receive: Callable[[Worker], Message]) -> None:
        if not self.ended:
            self.worker.send({"op": "stop"})
            self.until_waiting(receive)

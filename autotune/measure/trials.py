"""Trials inside a captured ``fit``: timed chunks, and short trainings."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf

from autotune.measure.channel import Channel
from autotune.measure.protocol import Message
from autotune.measure.spec import WorkerSpec
from autotune.measure.telemetry import peak_memory_bytes, reset_peak_memory
from autotune.records import Configuration, LossScale
from autotune.workload import callbacks as user_callbacks
from autotune.workload import describe, numerics
from autotune.workload.capture import CapturedFit
from autotune.workload.data import Feed
from autotune.workload.effects import Effects
from autotune.workload.instrument import StepRecorder
from autotune.workload.noise import gradient_norms
from autotune.workload.place import UserCode, out_of_memory, summary
from autotune.workload.profile import profile
from autotune.workload.state import ModelState, hash_weights, loss_scale, updates_applied

_WARM_S = 0.1
_WARM_CHUNKS = 12
_ENDLESS = 10**9
# Times that chunks on one batch in memory and on the real pipeline take turns.
_INPUT_TURNS = 3
# Batches whose gradients are compared, and the time for each comparison.
_NOISE_BATCHES, _NOISE_S = 24, 1.5


@dataclass(slots=True)
class Trials:
    """Runs trials on a captured ``fit``; each starts from the model as it stood there."""

    channel: Channel
    spec: WorkerSpec
    call: CapturedFit
    feed: Feed
    state: ModelState
    plain_fit: Callable[..., Any]
    callbacks: user_callbacks.Sorted
    effects: Effects
    user: UserCode
    seed_fit: Callable[[], None]

    def serve(self, command: Message) -> None:
        """Answers one command with ``measured``, whatever happens in it.

        A ``stop`` that comes after its trial has ended by itself is passed over here.
        """
        if command["op"] == "profile":
            self._profile()
        if command["op"] not in ("speed", "quality"):
            return
        started = time.monotonic()
        result: dict[str, Any] = {"outcome": "ok"}
        reset_peak_memory()
        try:
            if command["op"] == "speed":
                result |= self._speed(command)
            elif command["op"] == "quality":
                result |= self._quality(command)
        except Exception as error:
            result |= self._failure(error)
        result["peak_memory_bytes"] = _peak()
        result["wall_s"] = time.monotonic() - started
        described = describe.layers(self.call.model)
        result["layers"] = described
        result["sixteen_bit_layers"], result["arithmetic_layers"] = describe.sixteen_bit_layers(described)
        result["left_out"] = dict(self.callbacks.left_out)
        self.channel.send("measured", **result)

    def _speed(self, command: Message) -> dict[str, Any]:
        configuration = _configuration(command)
        model, batch = self.call.model, configuration.batch_size
        self.state.apply(configuration)
        self.seed_fit()
        before = hash_weights(model)
        scale = loss_scale(model)
        seen = self.feed.seen_batch(self.feed.endless(batch))
        samples_a_step = self.feed.mean_batch(batch)
        per_call = configuration.steps_per_execution
        warm = _Chunks(self.channel, per_call, samples_a_step, warm=True, until=_WARM_S)
        self._fit_chunks(self.feed.endless(batch), per_call, warm)
        steps_a_chunk = max(per_call, per_call * math.ceil(command["chunk_s"] / max(warm.step_time_s, 1e-7) / per_call))
        epoch = self.feed.steps_at(batch) if command.get("whole_epochs") else None
        timed = _Chunks(
            self.channel,
            epoch or steps_a_chunk,
            samples_a_step,
            until=command["limit_s"],
            on_command=bool(command.get("on_command")),
        )
        if not warm.nonfinite and epoch is not None:
            self._fit_epochs(batch, timed)
        elif not warm.nonfinite:
            self._fit_chunks(self.feed.endless(batch), steps_a_chunk, timed)
        steps = warm.steps + timed.steps
        nonfinite = warm.nonfinite or timed.nonfinite
        result: dict[str, Any] = {
            "batch_size_seen": seen,
            "steps": steps,
            "updates": updates_applied(model),
            "weights_moved": hash_weights(model) != before,
            "weights_hash": self.state.weights_hash,
            "loss_scale_initial": scale,
            "loss_scale_final": loss_scale(model),
            "trace_s": warm.first_s,
        }
        if nonfinite:
            result |= self._nonfinite(nonfinite, warm.steps if warm.nonfinite else steps, configuration)
        elif command.get("input_free"):
            result["input_free_step_time_s"] = self._input_free(configuration, steps_a_chunk, timed.step_time_s)
        return result

    def _fit_chunks(self, dataset: Any, steps: int, chunks: _Chunks) -> None:
        self._fit_timed({"x": dataset, "steps_per_epoch": steps, "shuffle": False}, chunks)

    def _fit_epochs(self, batch: int | None, chunks: _Chunks) -> None:
        """Real epochs as chunks: what Keras spends between them, fetching the first batch anew, is in them."""
        self._fit_timed(self.feed.fit_arguments(batch), chunks)

    def _fit_timed(self, arguments: dict[str, Any], chunks: _Chunks) -> None:
        own = user_callbacks.trial_callbacks(
            self.callbacks.kept, self.effects, self.callbacks.left_out, batch_hooks_only=True
        )
        verbose = self.call.arguments.get("verbose", "auto")
        self.plain_fit(self.call.model, **arguments, epochs=_ENDLESS, callbacks=[*own, chunks], verbose=verbose)

    def _input_free(self, configuration: Configuration, steps: int, step_time_s: float) -> float | None:
        """Step time on one batch in memory, at the pace that the machine had in the trial.

        Few chunks of both kinds in turn: machines change their pace, and two series apart would differ by that.
        """
        batch = configuration.batch_size
        once = self.feed.one_batch(batch)
        if once is None:
            return None
        ratios = []
        for _ in range(_INPUT_TURNS):
            free, real = (_Chunks(None, steps, 1.0, until=0.4, at_most=4) for _ in range(2))
            self._fit_chunks(once, steps, free)
            self._fit_chunks(self.feed.endless(batch), steps, real)
            ratios.append(free.step_time_s / real.step_time_s)
        return step_time_s * sorted(ratios)[len(ratios) // 2]

    def _quality(self, command: Message) -> dict[str, Any]:
        configuration = _configuration(command)
        model, batch, fit = self.call.model, configuration.batch_size, self.call.arguments
        epochs, part = command["epochs"], command.get("part_samples")
        short = None if part is None else max(1, round(part / self.feed.mean_batch(batch)))
        stretch = self._stretch(batch, short and short * epochs, command.get("planned_steps"))
        self.state.apply(configuration, step_stretch=stretch)
        noise = [self._noise(batch, 0.0)] if command.get("noise") else []
        if noise:  # looking moved what a training step moves: statistics, seeds
            self.state.apply(configuration, step_stretch=stretch)
        self.seed_fit()
        before = hash_weights(model)
        scale = loss_scale(model)
        arguments = self.feed.fit_arguments(batch)
        if short:
            arguments = {"x": self.feed.endless(batch), "steps_per_epoch": short, "shuffle": False}
        steps_per_epoch = short or self.feed.steps_at(batch)
        first = 0 if short else int(fit.get("initial_epoch") or 0)
        if self.feed.validation is not None:
            arguments["validation_data"] = self.feed.validation
            arguments["validation_batch_size"] = fit.get("validation_batch_size") or (
                self.feed.batch_size if self.feed.kind == "arrays" else None
            )
            arguments["validation_steps"] = command.get("validation_steps") or fit.get("validation_steps")
            arguments["validation_freq"] = 1 if short else fit.get("validation_freq", 1)
        points = _Points(self.channel, self.feed.mean_batch(batch), steps_per_epoch)
        own = user_callbacks.trial_callbacks(
            self.callbacks.kept,
            self.effects,
            self.callbacks.left_out,
            batch_hooks_only=False,
            epoch_scale=command.get("epoch_scale", 1.0),
            rate_factor=configuration.learning_rate_factor,
        )
        with StepRecorder(model, epochs * (steps_per_epoch or 10_000)) as recorder:
            self.plain_fit(
                model, **arguments, epochs=first + epochs, initial_epoch=first, callbacks=[*own, points], verbose=0
            )
            trace = recorder.read()
            data_hash = recorder.data_hash()
        losses = [value for value in trace.get("loss", [])]
        bad = [index + 1 for index, value in enumerate(losses) if not math.isfinite(value)]
        steps = len(losses) or points.steps
        result: dict[str, Any] = {
            "steps": steps,
            "updates": updates_applied(model),
            "nonfinite_steps": len(bad) if losses else None,
            "first_nonfinite_step": bad[0] if bad else None,
            "weights_moved": hash_weights(model) != before,
            "weights_hash": self.state.weights_hash,
            "data_hash": data_hash,
            "loss_scale_initial": scale,
            "loss_scale_final": loss_scale(model),
            "trace": trace,
        }
        if noise and not points.nonfinite:
            result["noise"] = [*noise, self._noise(batch, points.steps * self.feed.mean_batch(batch))]
        if points.nonfinite:
            result |= self._nonfinite(points.nonfinite, bad[0] if bad else points.steps, configuration)
            result["first_nonfinite_step"] = bad[0] if bad else None
        return result

    def _stretch(self, batch: int | None, short_steps: int | None, planned_steps: int | None) -> float:
        """Steps of the script's schedules that one step stands for: a short run goes through the whole schedule."""
        if short_steps and planned_steps:
            return planned_steps / short_steps
        if batch is None or not self.feed.batch_size:
            return 1.0
        return batch / self.feed.batch_size

    def _nonfinite(self, names: list[str], step: int, configuration: Configuration) -> dict[str, Any]:
        place = numerics.locate(self.call.model, self.feed.first_batch)
        if place is None:  # the weights may be past saving: look at the model as it stood at fit
            self.state.apply(configuration)
            place = numerics.locate(self.call.model, self.feed.first_batch)
        return {"outcome": "non_finite", "nonfinite_logs": names, "first_nonfinite_step": step, "place": place}

    def _noise(self, batch: int | None, samples_seen: float) -> dict[str, Any]:
        """Gradients of several batches with the weights as they stand; without any where the model does not allow that."""
        found: dict[str, Any] = {"norms": [], "dots": [], "mean": None}
        if keras.distribution.distribution() is None and not tf.distribute.has_strategy():
            with contextlib.suppress(Exception):  # a loss or a step of its own that cannot be called so
                batches = iter(self.feed.endless(batch))
                found = gradient_norms(self.call.model, batches, most=_NOISE_BATCHES, limit_s=_NOISE_S)
        return {"batch_size": self.feed.mean_batch(batch), "samples_seen": samples_seen, **found}

    def _profile(self) -> None:
        """Sends how large the numbers of the model are, with the weights as the last trial left them."""
        try:
            self.channel.send("profile", **profile(self.call.model, self.feed.first_batch))
        except Exception as error:  # a model that cannot be run eagerly has no profile, and no fault
            self.channel.send("profile", layers={}, gradients=None, reason=f"{type(error).__name__}: {summary(error)}")

    def _failure(self, error: Exception) -> dict[str, Any]:
        return {
            "outcome": "out_of_memory" if out_of_memory(error) else "unsupported",
            "reason": f"{type(error).__name__}: {summary(error)}",
            "traceback": self.user.traceback(error),
            "line": self.user.line_of(error),
        }


class _Chunks(keras.callbacks.Callback):  # type: ignore[misc]
    """Times epochs as chunks; Keras waits for the device at their ends.

    It overrides no hook of batches: that would change how Keras dispatches, and so what is measured.
    """

    def __init__(
        self,
        channel: Channel | None,
        steps: int,
        samples_a_step: float,
        *,
        until: float,
        warm: bool = False,
        on_command: bool = False,
        at_most: int | None = None,
    ) -> None:
        super().__init__()
        self._channel, self._steps_a_chunk, self._samples = channel, steps, samples_a_step
        self._until, self._warm, self._on_command, self._at_most = until, warm, on_command, at_most
        self._durations: list[float] = []
        self._begun = 0.0
        self._first_end = 0.0
        self.steps = 0
        self.first_s = 0.0
        self.nonfinite: list[str] = []

    @property
    def step_time_s(self) -> float:
        """Median time of a step, the first chunk left out where there are more."""
        durations = sorted(self._durations[1:] or self._durations)
        return durations[len(durations) // 2] / self._steps_a_chunk if durations else 0.0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        if self._on_command and self._channel is not None and epoch > 0:
            self._channel.send("waiting")
            if self._channel.next()["op"] == "stop":
                self.model.stop_training = True
        self._begun = time.perf_counter()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        now = time.perf_counter()
        if self._on_command and self.model.stop_training:
            return
        duration = now - self._begun
        self.steps += self._steps_a_chunk
        self._durations.append(duration)
        self.nonfinite = nonfinite_names(logs)
        if epoch == 0:
            self.first_s, self._first_end = duration, now
        if self._channel is not None:
            self._channel.send(
                "chunk",
                steps=self._steps_a_chunk,
                duration_s=duration,
                samples=self._steps_a_chunk * self._samples,
                warmup=self._warm or epoch == 0,
                loss=(logs or {}).get("loss"),
            )
        if self._done(epoch, now):
            self.model.stop_training = True

    def _done(self, epoch: int, now: float) -> bool:
        if self.nonfinite:
            return True
        if self._warm:
            return epoch + 1 >= _WARM_CHUNKS or (epoch >= 2 and now - self._first_end >= self._until)
        if self._at_most is not None and epoch + 1 >= self._at_most:
            return True
        if self._on_command:
            return False
        if self._channel is not None and (command := self._channel.poll()) is not None and command["op"] == "stop":
            return True
        return now - self._first_end >= self._until


class _Points(keras.callbacks.Callback):  # type: ignore[misc]
    """Sends a point of the curve at the end of each epoch and stops once something is not finite."""

    def __init__(self, channel: Channel, samples_a_step: float, steps_per_epoch: int | None) -> None:
        super().__init__()
        self._channel, self._samples, self._steps_per_epoch = channel, samples_a_step, steps_per_epoch
        self.steps = 0
        self.nonfinite: list[str] = []

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        steps = self._steps_per_epoch or int(self.params.get("steps") or 0)
        self.steps += steps
        self._channel.send("point", step=self.steps, samples=self.steps * self._samples, values=dict(logs or {}))
        self.nonfinite = nonfinite_names(logs)
        command = self._channel.poll()
        # A callback of the script's must not shorten the run unseen: only we stop it.
        self.model.stop_training = bool(self.nonfinite) or (command is not None and command["op"] == "stop")


def nonfinite_names(logs: Any) -> list[str]:
    """Names of logged values that are not finite."""
    return [
        str(name) for name, value in (logs or {}).items() if isinstance(value, float | int) and not math.isfinite(value)
    ]


def _configuration(command: Message) -> Configuration:
    values = dict(command["configuration"])
    scale = values.pop("loss_scale")
    layers = tuple(values.pop("float32_layers"))
    return Configuration(**values, float32_layers=layers, loss_scale=None if scale is None else LossScale(**scale))


def _peak() -> int | None:
    import tensorflow as tf

    if tf.config.list_physical_devices("GPU"):
        return int(tf.config.experimental.get_memory_info("GPU:0")["peak"])
    return peak_memory_bytes()

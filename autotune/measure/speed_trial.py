"""Timed chunks inside a captured ``fit``."""

from __future__ import annotations

import math
import time
from typing import Any

import keras

from autotune.measure.channel import Channel
from autotune.measure.fit import Fit, configuration_of, nonfinite_names
from autotune.measure.protocol import Message
from autotune.records import Configuration
from autotune.workload import callbacks as user_callbacks
from autotune.workload.state import hash_weights, loss_scale, updates_applied

_WARM_S = 0.1
_WARM_CHUNKS = 12
_ENDLESS = 10**9
# Times that chunks on one batch in memory and on the real pipeline take turns.
_INPUT_TURNS = 3
# Steps so long that one turn has to do.
_LONG_STEP_S = 0.2


class SpeedTrial:
    """Times steps of one configuration after another.

    Args:
        on: The captured fit.
    """

    def __init__(self, on: Fit) -> None:
        self._on = on

    def run(self, command: Message) -> dict[str, Any]:
        """Times chunks of steps as the command says."""
        configuration = configuration_of(command)
        model, batch = self._on.call.model, configuration.batch_size
        self._on.state.apply(configuration)
        self._on.seed_fit()
        before = hash_weights(model)
        scale = loss_scale(model)
        seen = self._on.feed.seen_batch(self._on.feed.endless(batch))
        samples_a_step = self._on.feed.mean_batch(batch)
        per_call = configuration.steps_per_execution
        warm = _Chunks(self._on.channel, per_call, samples_a_step, warm=True, until=_WARM_S)
        self._fit_chunks(self._on.feed.endless(batch), per_call, warm)
        steps_a_chunk = max(per_call, per_call * math.ceil(command["chunk_s"] / max(warm.step_time_s, 1e-7) / per_call))
        epoch = self._on.feed.steps_at(batch) if command.get("whole_epochs") else None
        timed = _Chunks(
            self._on.channel,
            epoch or steps_a_chunk,
            samples_a_step,
            until=command["limit_s"],
            on_command=bool(command.get("on_command")),
        )
        if not warm.nonfinite and epoch is not None:
            self._fit_epochs(batch, timed)
        elif not warm.nonfinite:
            self._fit_chunks(self._on.feed.endless(batch), steps_a_chunk, timed)
        steps = warm.steps + timed.steps
        nonfinite = warm.nonfinite or timed.nonfinite
        result: dict[str, Any] = {
            "batch_size_seen": seen,
            "steps": steps,
            "updates": updates_applied(model),
            "weights_moved": hash_weights(model) != before,
            "weights_hash": self._on.state.weights_hash,
            "loss_scale_initial": scale,
            "loss_scale_final": loss_scale(model),
            "trace_s": warm.first_s,
        }
        if nonfinite:
            result |= self._on.nonfinite(nonfinite, warm.steps if warm.nonfinite else steps, configuration)
        elif command.get("input_free"):
            result["input_free_step_time_s"] = self._input_free(configuration, steps_a_chunk, timed.step_time_s)
        return result

    def _fit_chunks(self, dataset: Any, steps: int, chunks: _Chunks) -> None:
        self._fit_timed({"x": dataset, "steps_per_epoch": steps, "shuffle": False}, chunks)

    def _fit_epochs(self, batch: int | None, chunks: _Chunks) -> None:
        """Real epochs as chunks: what Keras spends between them, fetching the first batch anew, is in them."""
        self._fit_timed(self._on.feed.fit_arguments(batch), chunks)

    def _fit_timed(self, arguments: dict[str, Any], chunks: _Chunks) -> None:
        own = user_callbacks.trial_callbacks(
            self._on.callbacks.kept, self._on.effects, self._on.callbacks.left_out, batch_hooks_only=True
        )
        verbose = self._on.call.arguments.get("verbose", "auto")
        self._on.plain_fit(self._on.call.model, **arguments, epochs=_ENDLESS, callbacks=[*own, chunks], verbose=verbose)

    def _input_free(self, configuration: Configuration, steps: int, step_time_s: float) -> float | None:
        """Step time on one batch in memory, at the pace that the machine had in the trial.

        Few chunks of both kinds in turn: machines change their pace, and two series apart would differ by that.
        """
        batch = configuration.batch_size
        once = self._on.feed.one_batch(batch)
        if once is None:
            return None
        ratios = []
        for _ in range(_INPUT_TURNS if step_time_s < _LONG_STEP_S else 1):
            free, real = (_Chunks(None, steps, 1.0, until=0.4, at_most=4) for _ in range(2))
            self._fit_chunks(once, steps, free)
            self._fit_chunks(self._on.feed.endless(batch), steps, real)
            ratios.append(free.step_time_s / real.step_time_s)
        return step_time_s * sorted(ratios)[len(ratios) // 2]


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

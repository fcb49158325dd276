"""Short trainings inside a captured ``fit``, recorded step by step."""

from __future__ import annotations

import contextlib
import itertools
import math
import time
from typing import Any

import keras
import tensorflow as tf

from autotune.measure.channel import Channel
from autotune.measure.fit import Fit, configuration_of, nonfinite_names
from autotune.measure.protocol import Message
from autotune.records import Configuration
from autotune.workload import callbacks as user_callbacks
from autotune.workload.examples import example_scores
from autotune.workload.instrument import StepRecorder
from autotune.workload.noise import gradient_norms
from autotune.workload.place import out_of_memory
from autotune.workload.state import hash_weights, loss_scale, updates_applied

# Batches whose gradients are compared, and the time for each comparison.
_NOISE_BATCHES, _NOISE_S = 24, 1.5
# Validation examples that are scored one by one, and the time for that.
_EXAMPLES, _EXAMPLES_S = 2048, 1.0
# A dynamic scale that doubles every few steps meets its limit in a short run: at most this many chunks of steps, this long.
_FAST_GROWTH, _LIMIT_CHUNK, _LIMIT_CHUNKS, _LIMIT_S = 2, 2, 60, 3.0


class QualityRun:
    """Trains with one configuration after another.

    Args:
        on: The captured fit.
    """

    def __init__(self, on: Fit) -> None:
        self._on = on

    def run(self, command: Message) -> dict[str, Any]:
        """Trains as the command says, with a point of the curve at the end of each epoch."""
        configuration = configuration_of(command)
        model, batch = self._on.call.model, configuration.batch_size
        epochs, part = command["epochs"], command.get("part_samples")
        short = None if part is None else max(1, round(part / self._on.feed.mean_batch(batch)))
        stretch = self._stretch(batch, short and short * epochs, command.get("planned_steps"))
        self._on.state.apply(configuration, step_stretch=stretch)
        noise = [self._noise(batch, 0.0)] if command.get("noise") else []
        if noise:  # looking moved what a training step moves: statistics, seeds
            self._on.state.apply(configuration, step_stretch=stretch)
        before = hash_weights(model)
        scale = loss_scale(model)
        recorder = StepRecorder(model, epochs * (short or self._on.feed.steps_at(batch) or 10_000))
        try:
            points = self._train(command, configuration, short, recorder)
        except Exception as error:
            if not recorder.watches_sizes or recorder.steps > 0 or out_of_memory(error):
                raise
            # Watching sizes is more than some models can be traced with: train as if nobody looked.
            self._on.state.apply(configuration, step_stretch=stretch)
            recorder = StepRecorder(model, recorder.size, sizes=False)
            points = self._train(command, configuration, short, recorder)
        trace, data_hash = recorder.read(), recorder.data_hash()
        losses = [value for value in trace.get("loss", [])]
        bad = [index + 1 for index, value in enumerate(losses) if not math.isfinite(value)]
        steps = len(losses) or points.steps
        result: dict[str, Any] = {
            "steps": steps,
            "updates": updates_applied(model),
            "nonfinite_steps": len(bad) if losses else None,
            "first_nonfinite_step": bad[0] if bad else None,
            "weights_moved": hash_weights(model) != before,
            "weights_hash": self._on.state.weights_hash,
            "data_hash": data_hash,
            "loss_scale_initial": scale,
            "loss_scale_final": loss_scale(model),
            "trace": trace,
            "largest_activations": trace.get("largest_activations"),
        }
        if not points.nonfinite:
            validated = command.get("validation_steps") or self._on.call.arguments.get("validation_steps")
            result["examples"] = self._examples(validated)
            if self._on.spec.seed == 0 and recorder.active:
                with contextlib.suppress(Exception):  # what cannot train on has trained all the same
                    result["scale_limit"] = self._scale_limit(batch)
        if noise and not points.nonfinite:
            result["noise"] = [*noise, self._noise(batch, points.steps * self._on.feed.mean_batch(batch))]
        if points.nonfinite:
            result |= self._on.nonfinite(points.nonfinite, bad[0] if bad else points.steps, configuration)
            result["first_nonfinite_step"] = bad[0] if bad else None
        return result

    def _train(
        self, command: Message, configuration: Configuration, short: int | None, recorder: StepRecorder
    ) -> _Points:
        """One recorded training, in epochs of the script's or of ``short`` steps."""
        batch, fit, epochs = configuration.batch_size, self._on.call.arguments, command["epochs"]
        self._on.seed_fit()  # before the data are put together: a shuffle takes its seed then
        arguments = self._on.feed.fit_arguments(batch)
        if short:
            arguments = {"x": self._on.feed.endless(batch), "steps_per_epoch": short, "shuffle": False}
        first = 0 if short else int(fit.get("initial_epoch") or 0)
        if self._on.feed.validation is not None:
            arguments["validation_data"] = self._on.feed.validation
            arguments["validation_batch_size"] = fit.get("validation_batch_size") or (
                self._on.feed.batch_size if self._on.feed.kind == "arrays" else None
            )
            arguments["validation_steps"] = command.get("validation_steps") or fit.get("validation_steps")
            arguments["validation_freq"] = 1 if short else fit.get("validation_freq", 1)
        points = _Points(self._on.channel, self._on.feed.mean_batch(batch), short or self._on.feed.steps_at(batch))
        own = user_callbacks.trial_callbacks(
            self._on.callbacks.kept,
            self._on.effects,
            self._on.callbacks.left_out,
            batch_hooks_only=False,
            epoch_scale=command.get("epoch_scale", 1.0),
            rate_factor=configuration.learning_rate_factor,
        )
        with recorder:
            self._on.plain_fit(
                self._on.call.model,
                **arguments,
                epochs=first + epochs,
                initial_epoch=first,
                callbacks=[*own, points],
                verbose=0,
            )
        return points

    def _stretch(self, batch: int | None, short_steps: int | None, planned_steps: int | None) -> float:
        """Steps of the script's schedules that one step stands for: a short run goes through the whole schedule."""
        if short_steps and planned_steps:
            return planned_steps / short_steps
        if batch is None or not self._on.feed.batch_size:
            return 1.0
        return batch / self._on.feed.batch_size

    def _examples(self, validation_steps: int | None) -> dict[str, Any] | None:
        """The metric on the single examples of a validation pass; None where there is none."""
        with contextlib.suppress(Exception):  # a model of its own ways: single examples are a plus, never a fault
            found = self._on.feed.validation_examples(validation_steps)
            name = self._on.metric
            if found is not None and name.startswith("val_"):
                batches, total = found
                scores = example_scores(self._on.call.model, batches, name, most=_EXAMPLES, limit_s=_EXAMPLES_S)
                if scores is not None:
                    return {"scores": scores[0], "digest": scores[1], "total": total}
        return None

    def _scale_limit(self, batch: int | None) -> dict[str, Any] | None:
        """Trains on with a loss scale that grows fast, until it has met its limit; None without a dynamic scale."""
        model = self._on.call.model
        optimizer = getattr(model, "optimizer", None)
        if not isinstance(optimizer, keras.optimizers.LossScaleOptimizer):
            return None
        optimizer.dynamic_growth_steps = _FAST_GROWTH
        optimizer.step_counter.assign(0)
        scale = loss_scale(model) or 1.0
        watch = _UntilLimit()
        with StepRecorder(model, _LIMIT_CHUNK * _LIMIT_CHUNKS, sizes=False) as recorder:
            watch.recorder = recorder
            self._on.plain_fit(
                model,
                x=self._on.feed.endless(batch),
                steps_per_epoch=_LIMIT_CHUNK,
                epochs=_LIMIT_CHUNKS,
                shuffle=False,
                callbacks=[watch],
                verbose=0,
            )
            trace = recorder.read()
        scales = [scale, *trace["loss_scale"]]
        counts = trace["updates"]
        applied = [s for s, before, after in zip(scales, counts, counts[1:], strict=False) if after > before]
        finite = all(bool(tf.reduce_all(tf.math.is_finite(v.value))) for v in model.trainable_variables)
        return {
            "steps": len(counts),
            "largest_scale": max(applied, default=None),
            "skipped": len(counts) - 1 - len(applied) if counts else 0,
            "met": watch.met,
            "finite": finite,
        }

    def _noise(self, batch: int | None, samples_seen: float) -> dict[str, Any]:
        """Gradients of several batches with the weights as they stand; without any where the model does not allow that."""
        found: dict[str, Any] = {"norms": [], "dots": [], "mean": None}
        if keras.distribution.distribution() is None and not tf.distribute.has_strategy():
            with contextlib.suppress(Exception):  # a loss or a step of its own that cannot be called so
                batches = iter(self._on.feed.endless(batch))
                found = gradient_norms(self._on.call.model, batches, most=_NOISE_BATCHES, limit_s=_NOISE_S)
        return {"batch_size": self._on.feed.mean_batch(batch), "samples_seen": samples_seen, **found}


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


class _UntilLimit(keras.callbacks.Callback):  # type: ignore[misc]
    """Ends a run some steps after the loss scale has come down."""

    recorder: StepRecorder

    def __init__(self) -> None:
        super().__init__()
        self.met = False
        self._begun = time.monotonic()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        scales = self.recorder.read().get("loss_scale", [])
        already, self.met = self.met, any(after < before for before, after in itertools.pairwise(scales))
        self.model.stop_training = already or time.monotonic() - self._begun > _LIMIT_S

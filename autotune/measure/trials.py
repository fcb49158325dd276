"""What a worker does once its ``fit`` is captured: answer commands with trials."""

from __future__ import annotations

import time
from typing import Any

from autotune.measure.fit import Fit
from autotune.measure.protocol import Message
from autotune.measure.quality_run import QualityRun
from autotune.measure.speed_trial import SpeedTrial
from autotune.measure.telemetry import peak_memory_bytes, reset_peak_memory
from autotune.workload import describe
from autotune.workload.cost import step_cost
from autotune.workload.place import out_of_memory, summary
from autotune.workload.profile import profile


class Trials:
    """Runs trials on a captured ``fit``; each starts from the model as it stood there.

    Args:
        on: The captured fit.
    """

    def __init__(self, on: Fit) -> None:
        self._on = on
        self._runs = {"speed": SpeedTrial(on).run, "quality": QualityRun(on).run}

    def serve(self, command: Message) -> None:
        """Answers one command with ``measured``, whatever happens in it.

        A ``stop`` that comes after its trial has ended by itself is passed over here.
        """
        if command["op"] == "profile":
            self._profile()
        if command["op"] == "cost":
            self._cost()
        run = self._runs.get(command["op"])
        if run is None:
            return
        started = time.monotonic()
        result: dict[str, Any] = {"outcome": "ok"}
        reset_peak_memory()
        try:
            result |= run(command)
        except Exception as error:
            result |= self._failure(error)
        result["peak_memory_bytes"] = _peak()
        result["wall_s"] = time.monotonic() - started
        described = describe.layers(self._on.call.model)
        result["layers"] = described
        result["sixteen_bit_layers"], result["arithmetic_layers"] = describe.sixteen_bit_layers(described)
        result["left_out"] = dict(self._on.callbacks.left_out)
        self._on.channel.send("measured", **result)

    def _profile(self) -> None:
        """Sends how large the numbers of the model are, with the weights as the last trial left them."""
        try:
            self._on.channel.send("profile", **profile(self._on.call.model, self._on.feed.first_batch))
        except Exception as error:  # a model that cannot be run eagerly has no profile, and no fault
            self._on.channel.send(
                "profile", layers={}, gradients=None, reason=f"{type(error).__name__}: {summary(error)}"
            )

    def _cost(self) -> None:
        """Sends what a step computes and moves; no parts where the step cannot be traced by itself."""
        try:
            self._on.channel.send("cost", parts=step_cost(self._on.call.model, self._on.feed.first_batch))
        except Exception as error:  # what cannot be counted is unknown, and no fault
            self._on.channel.send("cost", parts=[], reason=f"{type(error).__name__}: {summary(error)}")

    def _failure(self, error: Exception) -> dict[str, Any]:
        return {
            "outcome": "out_of_memory" if out_of_memory(error) else "unsupported",
            "reason": f"{type(error).__name__}: {summary(error)}",
            "traceback": self._on.user.traceback(error),
            "line": self._on.user.line_of(error),
        }


def _peak() -> int | None:
    import tensorflow as tf

    if tf.config.list_physical_devices("GPU"):
        return int(tf.config.experimental.get_memory_info("GPU:0")["peak"])
    return peak_memory_bytes()

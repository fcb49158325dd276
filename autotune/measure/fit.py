"""A captured ``fit`` as trials use it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from autotune.measure.channel import Channel
from autotune.measure.protocol import Message
from autotune.measure.spec import WorkerSpec
from autotune.records import Configuration, LossScale
from autotune.workload import callbacks as user_callbacks
from autotune.workload import numerics
from autotune.workload.capture import CapturedFit
from autotune.workload.data import Feed
from autotune.workload.effects import Effects
from autotune.workload.place import UserCode
from autotune.workload.state import ModelState


@dataclass(slots=True)
class Fit:
    """What a trial needs: the call, its data, the model as it stood there.

    Attributes:
        channel: Connection to the parent.
        spec: What this worker is for.
        call: The captured call.
        feed: Its training data, in any batch.
        state: Brings the model back to what stood at ``fit``.
        plain_fit: Keras' own ``fit``.
        callbacks: The script's callbacks, those that run in trials apart.
        effects: Stops callbacks that write.
        user: Knows the user's files.
        seed_fit: Seeds what ``fit`` draws.
        metric: Name in the logs of the figure that quality is judged by.
    """

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
    metric: str

    def nonfinite(self, names: list[str], step: int, configuration: Configuration) -> dict[str, Any]:
        """How a trial ends in which values were not finite: with the layer where that begins."""
        place = numerics.locate(self.call.model, self.feed.first_batch)
        if place is None:  # the weights may be past saving: look at the model as it stood at fit
            self.state.apply(configuration)
            place = numerics.locate(self.call.model, self.feed.first_batch)
        return {"outcome": "non_finite", "nonfinite_logs": names, "first_nonfinite_step": step, "place": place}


def nonfinite_names(logs: Any) -> list[str]:
    """Names of logged values that are not finite."""
    return [
        str(name) for name, value in (logs or {}).items() if isinstance(value, float | int) and not math.isfinite(value)
    ]


def configuration_of(command: Message) -> Configuration:
    """The configuration that a command names."""
    values = dict(command["configuration"])
    scale = values.pop("loss_scale")
    layers = tuple(values.pop("float32_layers"))
    return Configuration(**values, float32_layers=layers, loss_scale=None if scale is None else LossScale(**scale))

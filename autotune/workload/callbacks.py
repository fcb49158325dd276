"""Which of the script's callbacks run in trials, and how."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import keras

from autotune.workload.effects import BlockedEffect, Effects

_WRITERS = ("ModelCheckpoint", "BackupAndRestore", "CSVLogger", "TensorBoard", "RemoteMonitor", "OrbaxCheckpoint")
_STOPPERS = ("EarlyStopping", "TerminateOnNaN")
_SENDERS = ("wandb", "mlflow", "neptune", "comet_ml", "clearml", "dvclive", "aim", "ray", "swanlab")
_OWN = ("History", "ProgbarLogger", "CallbackList")
_RATE = ("LearningRateScheduler", "ReduceLROnPlateau")
_HOOKS = tuple(
    f"on_{name}_{edge}"
    for name in ("train", "epoch", "batch", "train_batch", "test", "test_batch", "predict", "predict_batch")
    for edge in ("begin", "end")
)
_BATCH_HOOKS = tuple(name for name in _HOOKS if name.endswith(("batch_begin", "batch_end")) and "predict" not in name)


@dataclass(slots=True)
class Sorted:
    """The script's callbacks, sorted.

    Attributes:
        kept: Callbacks that run in trials.
        left_out: Class name of each that does not, with the reason.
    """

    kept: list[Any] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)


def sort(callbacks: Any) -> Sorted:
    """Sorts what ``fit`` was given: writers, senders and stoppers stay out, schedules and the user's own stay in."""
    result = Sorted()
    for callback in _flatten(callbacks):
        names = {kind.__name__ for kind in type(callback).__mro__}
        module = type(callback).__module__.split(".")[0]
        name = type(callback).__name__
        if names & set(_OWN):
            continue
        if names & set(_WRITERS):
            result.left_out[name] = "it writes files"
        elif module in _SENDERS:
            result.left_out[name] = "it sends or stores what it sees"
        elif names & set(_STOPPERS):
            result.left_out[name] = "it could shorten a measurement"
        else:
            result.kept.append(callback)
    return result


def has_schedule(callbacks: list[Any]) -> bool:
    """Whether one of the callbacks sets the learning rate."""
    return any({kind.__name__ for kind in type(c).__mro__} & set(_RATE) for c in callbacks)


def monitored(callbacks: Any) -> tuple[str, str] | None:
    """Metric and mode (``min``, ``max`` or ``auto``) that the script's own callbacks watch, None without."""
    for callback in _flatten(callbacks):
        monitor = getattr(callback, "monitor", None)
        if isinstance(monitor, str):
            return monitor, str(getattr(callback, "mode", "auto"))
    return None


def trial_callbacks(
    kept: list[Any],
    effects: Effects,
    left_out: dict[str, str],
    *,
    batch_hooks_only: bool,
    epoch_scale: float = 1.0,
    rate_factor: float = 1.0,
) -> list[keras.callbacks.Callback]:
    """The kept callbacks as they run in a trial.

    Args:
        kept: Callbacks that run in trials.
        effects: What stops them from writing.
        left_out: Filled with those that tried.
        batch_hooks_only: For speed trials, whose epochs are not the script's: only the hooks of batches run.
        epoch_scale: Planned epochs a pseudo-epoch stands for, so that schedules see the whole plan.
        rate_factor: What a schedule's learning rate is multiplied by.
    """
    hooks = _BATCH_HOOKS if batch_hooks_only else _HOOKS
    guarded = [
        _Guarded(c, hooks, effects, left_out, epoch_scale, rate_factor)
        for c in kept
        if type(c).__name__ not in left_out
    ]
    return [callback for callback in guarded if callback.active]


class _Guarded(keras.callbacks.Callback):
    """Passes hooks on to a user's callback and drops it once it tries to write or send."""

    def __init__(
        self,
        inner: Any,
        hooks: tuple[str, ...],
        effects: Effects,
        left_out: dict[str, str],
        epoch_scale: float,
        rate_factor: float,
    ) -> None:
        super().__init__()
        self._inner = inner
        self._effects = effects
        self._left_out = left_out
        self._epoch_scale = epoch_scale
        self.active = False
        for hook in hooks:
            own = getattr(inner, hook, None)
            # A hook that is not overridden must stay so: Keras dispatches callbacks differently when batch hooks are.
            if own is not None and not getattr(own, "_is_default", False):
                self.active = True
                setattr(self, hook, self._forward(hook, own))
        if rate_factor != 1.0 and type(inner).__name__ == "LearningRateScheduler":
            inner.schedule = _scaled_schedule(inner.schedule, rate_factor)

    def set_model(self, model: Any) -> None:
        super().set_model(model)
        self._inner.set_model(model)

    def set_params(self, params: Any) -> None:
        super().set_params(params)
        self._inner.set_params(params)

    def _forward(self, hook: str, own: Callable[..., Any]) -> Callable[..., None]:
        on_epoch = hook.startswith("on_epoch")

        def forward(*args: Any, **kwargs: Any) -> None:
            if not self.active:
                return
            if on_epoch and args and self._epoch_scale != 1.0:
                args = (int(args[0] * self._epoch_scale), *args[1:])
            try:
                with self._effects.blocked(BlockedEffect):
                    own(*args, **kwargs)
            except BlockedEffect as effect:
                self.active = False
                self._left_out[type(self._inner).__name__] = f"it writes or sends ({effect})"

        return forward


def _scaled_schedule(schedule: Callable[..., Any], factor: float) -> Callable[..., Any]:
    plain = getattr(schedule, "_autotune_plain", schedule)

    def scaled(epoch: int, rate: float | None = None) -> Any:
        try:
            return factor * plain(epoch, None if rate is None else rate / factor)
        except TypeError:
            return factor * plain(epoch)

    scaled._autotune_plain = plain  # type: ignore[attr-defined]
    return scaled


def _flatten(callbacks: Any) -> list[Any]:
    if callbacks is None:
        return []
    if isinstance(callbacks, list | tuple):
        return [item for entry in callbacks for item in _flatten(entry)]
    return list(getattr(callbacks, "callbacks", [callbacks]))

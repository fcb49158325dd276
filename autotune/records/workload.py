"""What the user trains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class FitCall:
    """One call of ``fit`` that the script makes.

    Attributes:
        index: 1 for the first.
        location: ``file:line`` of the call.
        model: Name of the model.
        planned_steps: Steps a plain run would take; None where it cannot be known.
        selected: Whether this is the one measured.
    """

    index: int
    location: str
    model: str
    planned_steps: int | None = None
    selected: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerInfo:
    """One layer and what it computes in.

    Attributes:
        path: Path of the layer inside the model.
        type: Class name.
        variable_dtype: What its variables are stored in.
        compute_dtype: What it computes in.
        parameters: Number of scalars in its own variables.
        arithmetic: Whether it does floating-point arithmetic of its own (an InputLayer or Dropout does not count).
    """

    path: str
    type: str
    variable_dtype: str
    compute_dtype: str
    parameters: int = 0
    arithmetic: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkloadInfo:
    """The captured ``fit``: model, data and arguments, as the script wrote them.

    Attributes:
        target: Path of the script or module as given.
        arguments: What follows ``--``.
        digest: Hash of the script's text.
        fits: Every ``fit`` call that was seen.
        model: Name of the model.
        parameters: Trainable and other scalars of the model.
        layers: Layers of the model at float32.
        optimizer: Class name.
        learning_rate: Written rate; None where a schedule decides.
        schedule: Whether the rate changes over the run (schedule object or callback).
        loss: Name of the loss.
        data: What ``fit`` was given.
        samples_per_epoch: Training samples of one epoch; None when unknown.
        steps_per_epoch: Steps of one epoch as written; None when unknown.
        epochs: Planned epochs.
        batch_size: Batch as seen; None when unknown.
        batch_fixed_reason: Why the batch cannot be changed; None when it can.
        validation: Where validation data come from; None without.
        metric: Name in the logs of the figure that quality is judged by.
        metric_direction: Whether larger is better.
        metric_source: ``validation``, or ``training`` where there is no validation data.
        jit_compile: As compiled by the script.
        steps_per_execution: As compiled by the script.
        loss_scaled: Whether the script wraps its optimizer in a LossScaleOptimizer itself.
        own_train_step: Whether the model overrides ``train_step``.
        distribution: Name of the ``tf.distribute`` strategy; None for the default.
        replicas: Replicas in that strategy.
        callbacks_kept: Class names of callbacks that run in trials.
        callbacks_left_out: Class names of callbacks that do not.
        tf32: Whether TensorFloat-32 is on as the script leaves it; counts only on devices that have it.
        intra_op_threads: Threads that script or environment give one operation; None for TensorFlow's own choice.
    """

    target: str
    arguments: tuple[str, ...] = ()
    digest: str = ""
    fits: tuple[FitCall, ...] = ()
    model: str = ""
    parameters: int | None = None
    layers: tuple[LayerInfo, ...] = ()
    optimizer: str | None = None
    learning_rate: float | None = None
    schedule: bool = False
    loss: str | None = None
    data: Literal["arrays", "tf.data", "PyDataset", "generator", "other"] = "other"
    samples_per_epoch: int | None = None
    steps_per_epoch: int | None = None
    epochs: int = 1
    batch_size: int | None = None
    batch_fixed_reason: str | None = None
    validation: str | None = None
    metric: str | None = None
    metric_direction: Literal["max", "min"] | None = None
    metric_source: Literal["validation", "training"] = "training"
    jit_compile: bool = False
    steps_per_execution: int = 1
    loss_scaled: bool = False
    own_train_step: bool = False
    distribution: str | None = None
    replicas: int = 1
    callbacks_kept: tuple[str, ...] = ()
    callbacks_left_out: tuple[str, ...] = ()
    tf32: bool = True
    intra_op_threads: int | None = None

    @property
    def planned_samples(self) -> int | None:
        """Samples that the planned run trains on."""
        return None if self.samples_per_epoch is None else self.samples_per_epoch * self.epochs

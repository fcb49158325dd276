"""The lines of Python that make a script train as recommended."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence

from autotune.records import Configuration, LossScale, WorkloadInfo


def python_snippet(configuration: Configuration, baseline: Configuration, workload: WorkloadInfo) -> str:
    """Lines to put into the script; empty where nothing changes.

    Args:
        configuration: What is recommended.
        baseline: The script as written.
        workload: What was captured, for the written learning rate.
    """
    lines: list[str] = []
    if configuration.tf32 != baseline.tf32 and configuration.tf32 is not None:
        lines.append(f"tf.config.experimental.enable_tensor_float_32_execution({configuration.tf32})  # first of all")
    if configuration.policy != baseline.policy:
        lines.append(f"keras.config.set_dtype_policy({json.dumps(configuration.policy)})  # before the model is made")
    for path in configuration.float32_layers:
        lines += _float32(path, configuration.policy, workload)
    lines += _learning_rate(configuration, baseline, workload)
    compile_arguments = _loss_scale(configuration.loss_scale, baseline.loss_scale, lines)
    if configuration.jit_compile != baseline.jit_compile:
        compile_arguments.append(f"jit_compile={configuration.jit_compile}")
    if configuration.steps_per_execution != baseline.steps_per_execution:
        compile_arguments.append(f"steps_per_execution={configuration.steps_per_execution}")
    if compile_arguments:
        lines.append(f"model.compile(..., {', '.join(compile_arguments)})")
    if configuration.batch_size != baseline.batch_size and configuration.batch_size is not None:
        lines.append(_batch(configuration.batch_size, workload))
    return "\n".join(lines)


def resume_command(target: str, arguments: Sequence[str], run_folder: str, *, budget: str | None = None) -> str:
    """The command that goes on with a run.

    Args:
        target: The script.
        arguments: What the script gets.
        run_folder: Its folder.
        budget: Time to name; None for the default.
    """
    command = ["autotune", "recommend", target, "--resume", run_folder]
    command += [] if budget is None else ["--budget", budget]
    return shlex.join([*command, *(["--", *arguments] if arguments else [])])


def one_line(configuration: Configuration, baseline: Configuration) -> str:
    """The one line that is enough, where only the policy changes; empty otherwise."""
    if configuration.policy == baseline.policy or configuration != baseline.but(
        policy=configuration.policy, loss_scale=configuration.loss_scale
    ):
        return ""
    if configuration.loss_scale not in (None, LossScale(), baseline.loss_scale):
        return ""
    return f"keras.config.set_dtype_policy({json.dumps(configuration.policy)})"


def _float32(path: str, policy: str, workload: WorkloadInfo) -> list[str]:
    """How one layer is kept in float32 where it is made."""
    kinds = {layer.path: layer.type if layer.type.isidentifier() else "layer" for layer in workload.layers}
    name = path.rsplit("/", 1)[-1]
    if path in kinds and not any(other.startswith(f"{path}/") for other in kinds):
        return [f'{kinds[path]}(..., name={json.dumps(name)}, dtype="float32")']
    if path == workload.model and path not in kinds:
        return ['model.dtype_policy = "float32"  # what its own call computes; its layers keep theirs']
    # Layers inside it take the policy that holds while they are made.
    return [
        f'keras.config.set_dtype_policy("float32")  # before {kinds.get(path, "layer")} {name!r} is made',
        f"keras.config.set_dtype_policy({json.dumps(policy)})  # after it",
    ]


def _learning_rate(configuration: Configuration, baseline: Configuration, workload: WorkloadInfo) -> list[str]:
    ratio = configuration.learning_rate_factor / baseline.learning_rate_factor
    if ratio == 1:
        return []
    if workload.learning_rate is None or workload.schedule:
        return [f"# multiply every learning rate by {ratio:.6g}"]
    return [f"learning_rate = {workload.learning_rate:.6g} * {ratio:.6g}"]


def _loss_scale(wanted: LossScale | None, written: LossScale | None, lines: list[str]) -> list[str]:
    if wanted is None or wanted == written or (written is None and wanted == LossScale()):
        # Keras wraps the optimizer by itself, with these values, under mixed_float16.
        return []
    if wanted.mode == "fixed":
        lines.append(f"optimizer.loss_scale_factor = {wanted.initial:g}")
        return ["optimizer=optimizer", "auto_scale_loss=False"]
    growth = f", dynamic_growth_steps={wanted.growth_steps}" if wanted.growth_steps is not None else ""
    lines.append(
        f"optimizer = keras.optimizers.LossScaleOptimizer(optimizer, initial_scale={wanted.initial:g}{growth})"
    )
    return ["optimizer=optimizer"]


def _batch(batch_size: int, workload: WorkloadInfo) -> str:
    if workload.data == "arrays":
        return f"model.fit(..., batch_size={batch_size})"
    if workload.data == "tf.data":
        return f"dataset = dataset.rebatch({batch_size})  # steps_per_epoch, where given, changes with it"
    return f"# let the data yield batches of {batch_size}"

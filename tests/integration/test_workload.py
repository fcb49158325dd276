"""What a script may hand to ``fit``, and what running it must not do."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from autotune.capture import capture
from autotune.errors import AutotuneError, BudgetError, UsageError, WorkloadError
from autotune.judge.noise import noise_scale
from autotune.measure.bench import Bench, QualityPlan
from autotune.measure.launcher import LocalLauncher
from autotune.records import Configuration, Measurement, Outcome, WorkloadInfo

pytestmark = pytest.mark.tensorflow
Make = Callable[..., tuple[Bench, Path]]


def captured(bench: Bench, name: str, wanted: int | None = None, limit_s: float = 60.0) -> WorkloadInfo:
    return capture(bench, name, "digest", wanted, limit_s).workload


def timed(bench: Bench, configuration: Configuration) -> Measurement:
    return bench.speed(configuration, chunk_s=0.02, limit_s=0.2, stop=lambda chunks, reference: len(chunks) > 18)


def trained(bench: Bench, configuration: Configuration, seed: int = 0, **plan: int) -> Measurement:
    return bench.quality(configuration, seed, QualityPlan(**{"epochs": 2, "planned_epochs": 2, **plan}))


def test_named_inputs_and_outputs_with_weights(bench_for: Make) -> None:
    """Dicts for inputs, outputs and sample weights, with a split, are re-batched and validated."""
    bench, _ = bench_for("dict_inputs_weights.py")
    workload = captured(bench, "dict_inputs_weights.py")
    assert (workload.tf32, workload.intra_op_threads) == (True, None)
    assert (workload.data, workload.samples_per_epoch, workload.steps_per_epoch) == ("arrays", 480, 8)
    assert (workload.metric, workload.metric_direction, workload.validation) == (
        "val_first_accuracy",
        "max",
        "validation_split",
    )
    measured = timed(bench, Configuration(batch_size=96))
    assert (measured.outcome, measured.batch_size_seen) == (Outcome.OK, 96)
    assert "val_second_mae" in trained(bench, Configuration(batch_size=96)).curve[-1].values


def test_pydataset_with_worker_threads_keeps_its_batch(bench_for: Make) -> None:
    """A PyDataset makes its own batches: fixed, with a reason; its worker threads do not stall a second trial."""
    bench, _ = bench_for("pydataset_workers.py")
    workload = captured(bench, "pydataset_workers.py")
    assert workload.data == "PyDataset" and workload.batch_size == 25
    assert workload.batch_fixed_reason is not None and "PyDataset" in workload.batch_fixed_reason
    for _ in range(2):
        assert timed(bench, Configuration(batch_size=25)).outcome is Outcome.OK


def test_the_longest_of_several_fits_is_measured_and_nothing_is_written(bench_for: Make) -> None:
    """Of two fits the longer one is chosen; the save after them does not happen."""
    bench, folder = bench_for("two_fits.py")
    found = capture(bench, "two_fits.py", "digest", None, 60.0)
    assert [(fit.location, fit.planned_steps, fit.selected) for fit in found.workload.fits] == [
        ("two_fits.py:23", 16, False),
        ("two_fits.py:28", 192, True),
    ]
    assert "several_fits" in {finding.code for finding in found.findings}
    assert timed(bench, Configuration(batch_size=40)).outcome is Outcome.OK
    assert [path.name for path in folder.iterdir()] == ["two_fits.py"]


def test_a_fit_can_be_chosen(bench_for: Make) -> None:
    """``--fit 1`` measures the first; an index that the script never reaches is a usage error naming those it has."""
    bench, _ = bench_for("two_fits.py")
    assert captured(bench, "two_fits.py", wanted=1).epochs == 1
    with pytest.raises(UsageError, match=r"calls fit 2 times.*two_fits.py:23.*two_fits.py:28"):
        captured(bench, "two_fits.py", wanted=3)


def test_a_fit_in_a_loop_is_taken_once(bench_for: Make) -> None:
    """Cross-validation: one call site in a loop is one fit."""
    bench, _ = bench_for("folds.py")
    assert [fit.index for fit in captured(bench, "folds.py").fits] == [1]


VALIDATED = """
import keras, numpy as np, tensorflow as tf
x, y = np.zeros((330, 4), "float32"), np.zeros((330, 1), "float32")
class Batches(keras.utils.PyDataset):
    def __len__(self):
        return 5
    def __getitem__(self, index):
        return x[:10], y[:10]
def endless():
    while True:
        yield x[:10], y[:10]
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
"""


@pytest.mark.parametrize(
    ("fit", "batches"),
    [
        ("x, y, batch_size=20, validation_data=(x[:100], y[:100])", 5),
        ("x, y, validation_data=(x[:100], y[:100]), validation_batch_size=30", 4),
        ("x, y, validation_split=0.2", 3),
        ("x, y, validation_data=(x, y), validation_steps=2", 2),
        ("x, y, validation_data=tf.data.Dataset.from_tensor_slices((x, y)).batch(50)", 7),
        ("x, y, validation_data=Batches()", 5),
        ("x, y, validation_data=tf.data.Dataset.from_tensor_slices((x, y)).filter(lambda x, y: True).batch(9)", None),
        ("x, y", None),
    ],
)
def test_the_length_of_a_validation_pass_is_known_where_something_tells(
    bench_for: Make, fit: str, batches: int | None
) -> None:
    """A pass of thousands of batches would cost more than the training that it judges: its length is planned for."""
    bench, _ = bench_for("train.py", text=f"{VALIDATED}model.fit({fit})\n")
    assert capture(bench, "train.py", "digest", None, 60.0).validation_batches == batches


def test_callbacks_that_write_are_left_out_and_schedules_stay(bench_for: Make) -> None:
    """Writers do not write, early stopping does not shorten, the schedule acts; all of it in trials of both kinds."""
    bench, folder = bench_for("own_callback_writes.py")
    workload = captured(bench, "own_callback_writes.py")
    assert set(workload.callbacks_left_out) == {"EarlyStopping", "ModelCheckpoint"}
    timed(bench, Configuration(batch_size=32))
    measured = trained(bench, Configuration(batch_size=32), epochs=6)
    assert len(measured.curve) == 6
    assert measured.curve[-1].values["learning_rate"] == pytest.approx(0.01 * 0.9**5)
    assert [path.name for path in folder.iterdir()] == ["own_callback_writes.py"]


def test_schedules_of_callbacks_follow_the_learning_rate_factor(bench_for: Make) -> None:
    """A rate that a callback sets is multiplied as a written one would be."""
    bench, _ = bench_for("own_callback_writes.py")
    captured(bench, "own_callback_writes.py")
    measured = trained(bench, Configuration(batch_size=32, learning_rate_factor=2.0), epochs=2)
    assert measured.curve[-1].values["learning_rate"] == pytest.approx(2 * 0.01 * 0.9)


def test_a_model_with_two_optimizers(bench_for: Make) -> None:
    """A GAN with its own compile and train_step: updates of its own optimizers count, and state is reset."""
    bench, _ = bench_for("gan.py")
    assert captured(bench, "gan.py").own_train_step
    first = trained(bench, Configuration(batch_size=32))
    second = trained(bench, Configuration(batch_size=32))
    assert (first.outcome, first.updates) == (Outcome.OK, 40)
    assert first.weights_hash == second.weights_hash and second.updates == 40


def test_a_module_with_functions_replaces_a_script(bench_for: Make) -> None:
    """``build_model`` and ``load_data`` are enough."""
    bench, _ = bench_for("functions_module.py")
    workload = captured(bench, "functions_module.py")
    assert (workload.batch_size, workload.epochs, workload.metric) == (64, 3, "val_accuracy")


def test_import_time_environment_gets_a_fresh_process(bench_for: Make, tmp_path: Path) -> None:
    """A variable that TensorFlow reads at import is in force although workers are forked."""
    launcher = LocalLauncher(tmp_path, dict(os.environ))
    try:
        bench, _ = bench_for("sets_environment.py", launcher=launcher)
        assert captured(bench, "sets_environment.py").batch_size == 64
        assert not launcher.forks
    finally:
        launcher.close()


def test_strings_and_unknown_cardinality(bench_for: Make) -> None:
    """A text pipeline of unknown length is counted; a Sequential built at fit does not take the batch for its own."""
    bench, _ = bench_for("text_strings.py")
    workload = captured(bench, "text_strings.py")
    assert (workload.steps_per_epoch, workload.batch_fixed_reason) == (30, None)
    assert timed(bench, Configuration(batch_size=40)).batch_size_seen == 40


def test_a_script_that_is_mixed_already_has_a_float32_baseline(bench_for: Make) -> None:
    """Its own policy is replaced in trials, and a finding says so."""
    bench, _ = bench_for("already_mixed.py")
    found = capture(bench, "already_mixed.py", "digest", None, 60.0)
    assert {layer.compute_dtype for layer in found.workload.layers} == {"float32"}
    assert "policy_replaced" in {finding.code for finding in found.findings}
    mixed = timed(bench, Configuration(policy="mixed_bfloat16", batch_size=64))
    assert (mixed.sixteen_bit_layers, mixed.arithmetic_layers) == (1, 2)


def test_which_float32_and_how_many_threads(bench_for: Make) -> None:
    """What the script leaves TensorFloat-32 at is known; a trial runs with what its configuration says, and says nothing else."""
    bench, _ = bench_for("float32_kinds.py")
    workload = captured(bench, "float32_kinds.py")
    assert (workload.tf32, workload.intra_op_threads) == (False, 1)
    for wanted in (True, False, True):
        assert trained(bench, Configuration(batch_size=32, tf32=wanted)).curve[-1].values["tf32"] == float(wanted)


def test_replicas_under_a_strategy(bench_for: Make) -> None:
    """MirroredStrategy on two logical CPUs is timed and trained; its counters can be read."""
    bench, _ = bench_for("mirrored_replicas.py")
    workload = captured(bench, "mirrored_replicas.py")
    assert (workload.distribution, workload.replicas) == ("MirroredStrategy", 2)
    measured = timed(bench, Configuration(batch_size=64))
    assert measured.outcome is Outcome.OK and measured.updates == measured.steps
    assert trained(bench, Configuration(batch_size=64)).curve


def test_seeds_are_independent_runs_on_the_same_data(bench_for: Make) -> None:
    """Weights and order move with the seed although the script fixes its own; policies of one seed are paired."""
    bench, _ = bench_for("folds.py")
    captured(bench, "folds.py")
    plain = [trained(bench, Configuration(batch_size=32), seed) for seed in (0, 1)]
    mixed = trained(bench, Configuration(policy="mixed_bfloat16", batch_size=32), 1)
    assert plain[0].weights_hash != plain[1].weights_hash
    assert plain[0].data_hash != plain[1].data_hash
    assert (mixed.weights_hash, mixed.data_hash) == (plain[1].weights_hash, plain[1].data_hash)


def test_a_trial_starts_from_what_stood_at_fit(bench_for: Make) -> None:
    """Two equal runs in one worker, other trials between them, give equal curves."""
    bench, _ = bench_for("folds.py")
    captured(bench, "folds.py")
    first = trained(bench, Configuration(batch_size=32))
    timed(bench, Configuration(batch_size=64, steps_per_execution=4))
    trained(bench, Configuration(batch_size=64, learning_rate_factor=3.0))
    again = trained(bench, Configuration(batch_size=32))
    assert [p.values["loss"] for p in first.curve] == pytest.approx([p.values["loss"] for p in again.curve], rel=1e-4)


def test_gradients_are_compared_before_and_after_a_run_and_leave_it_as_it_was(bench_for: Make) -> None:
    """Dropout and batch statistics stand where they stood: the curve is that of a run without looking."""
    text = """
import keras, numpy as np
keras.utils.set_random_seed(2)
rng = np.random.default_rng(2)
x = rng.normal(size=(640, 8)).astype("float32")
y = (x[:, 0] > 0).astype("int32")
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(16, "relu"), keras.layers.BatchNormalization(),
    keras.layers.Dropout(0.3), keras.layers.Dense(2, "softmax")])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x, y, batch_size=32, epochs=2, validation_split=0.2)
"""
    bench, _ = bench_for("train.py", text=text)
    plan, written = QualityPlan(epochs=2, planned_epochs=2), Configuration(batch_size=32)
    plain, looked = bench.quality(written, 0, plan), bench.quality(written, 0, plan, noise=True)
    assert [(probe.samples_seen, probe.batch_size) for probe in looked.noise] == [(0.0, 32.0), (1024.0, 32.0)]
    assert all(len(probe.norms) >= 4 for probe in looked.noise)
    assert plain.noise == ()
    assert [point.values for point in looked.curve] == [point.values for point in plain.curve]
    scale = noise_scale(looked.noise)
    assert scale is not None and scale.low >= 0.0


def test_a_short_run_sees_the_same_samples_at_every_batch(bench_for: Make) -> None:
    """Where the plan is cut, twice the batch makes half the steps."""
    bench, _ = bench_for("folds.py")
    captured(bench, "folds.py")
    plan = QualityPlan(epochs=3, part_samples=800, planned_epochs=10, planned_steps=130, share=0.6)
    runs = [bench.quality(Configuration(batch_size=batch), 0, plan) for batch in (32, 64)]
    assert [run.steps for run in runs] == [78, 42]
    assert runs[0].curve[-1].samples == pytest.approx(runs[1].curve[-1].samples, rel=0.05)


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("reads_stdin.py", WorkloadError, r"reads_stdin.py:5\): EOFError.*standard input"),
        ("calls_exit.py", WorkloadError, r"calls sys.exit\(2\) before any fit"),
    ],
)
def test_scripts_that_end_before_fit(bench_for: Make, name: str, kind: type[AutotuneError], said: str) -> None:
    """The user's own fault is shown with its line, and what to do."""
    bench, _ = bench_for(name)
    with pytest.raises(kind, match=said) as caught:
        captured(bench, name)
    assert caught.value.exit_code == 4 and caught.value.hint


def test_a_script_that_never_gets_to_its_fit(bench_for: Make) -> None:
    """The time limit ends it."""
    bench, _ = bench_for("sleeps.py")
    with pytest.raises(BudgetError, match="did not reach its fit within 2 s"):
        captured(bench, "sleeps.py", limit_s=2.0)


def test_a_loop_of_its_own_is_told_from_a_script_that_trains_nothing(bench_for: Make) -> None:
    """Without any fit the message says what could be measured instead."""
    bench, _ = bench_for("empty.py", text="import keras\n")
    with pytest.raises(WorkloadError, match="never calls fit") as caught:
        captured(bench, "empty.py")
    assert "model.fit" in caught.value.hint


def test_keras_2_gets_one_clear_sentence(bench_for: Make) -> None:
    """tf_keras models are refused before they train."""
    bench, folder = bench_for("old.py", text="import tf_keras\ntf_keras.train_for_hours()\n")
    (folder / "tf_keras.py").write_text("def train_for_hours():\n    raise SystemExit('was run')\n")
    with pytest.raises(WorkloadError, match="tf_keras"):
        captured(bench, "old.py")


def test_the_users_own_autotune_module_is_theirs(bench_for: Make) -> None:
    """Modules named like ours beside the script are imported by the script, not ours."""
    text = (
        "import autotune, strategies, reports\nassert (autotune.MINE, strategies.MINE, reports.MINE) == (1, 2, 3)\n"
        + (Path(__file__).parent / "scripts" / "folds.py").read_text()
    )
    bench, folder = bench_for("train.py", text=text)
    (folder / "autotune.py").write_text("MINE = 1\n")
    for number, name in ((2, "strategies"), (3, "reports")):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(f"MINE = {number}\n")
    assert captured(bench, "train.py").batch_size == 32
    assert not list(folder.rglob("__pycache__"))


def test_the_script_has_its_own_context(bench_for: Make) -> None:
    """Arguments, main guard, file, path and working folder are what plain Python gives."""
    text = (
        "import os, sys\n"
        "assert sys.argv == ['train.py', '--epochs', '3'], sys.argv\n"
        "assert __name__ == '__main__' and sys.modules['__main__'].__file__ == os.path.abspath('train.py')\n"
        "assert sys.path[0] == os.getcwd() and __file__ == os.path.abspath('train.py')\n"
        "import helper\n" + (Path(__file__).parent / "scripts" / "folds.py").read_text()
    )
    bench, folder = bench_for("train.py", "--epochs", "3", text=text)
    (folder / "helper.py").write_text("")
    assert captured(bench, "train.py").epochs == 3


def test_a_steps_operations_are_counted_layer_by_layer(bench_for: Make) -> None:
    """Forward and backward, by hand: three products a layer, two where inputs need no gradient; loops as often as they run."""
    bench, _ = bench_for("many_layers.py")
    captured(bench, "many_layers.py")
    parts = {part.path: part for part in bench.cost("float32", 0, 60.0)}
    batch, steps, pixels = 4, 12, 64
    dense = 2 * batch * 20 * 20
    products = {
        "block/dense": 3 * 2 * batch * 24 * 20,
        "block/dense_1": 3 * dense,
        "twice/inner": 2 * 3 * dense,
        "out": 3 * 2 * batch * 20,
        "lstm": steps * 2 * batch * 64 * (2 * 7 + 3 * 16),
        "gru": steps * 3 * 2 * batch * 24 * (16 + 8),
        "attention/query": 3 * 2 * batch * steps * 16 * 16,
        "attention": 2 * 3 * 2 * batch * 2 * steps * steps * 8,
    }
    assert {path: parts[path].matmul_flops for path in products} == products
    convolutions = {
        "conv": 2 * 2 * batch * pixels * 16 * 27,
        "depthwise": 3 * 2 * batch * pixels * 16 * 9,
    }
    assert {path: parts[path].convolution_flops for path in convolutions} == convolutions
    weights = sum(layer.parameters for layer in captured(bench, "many_layers.py").layers)
    optimizer = parts["optimizer"]
    # Adam reads a gradient and reads and writes a weight and its two moments, at the least.
    assert optimizer.type is None and optimizer.bytes >= 7 * 4 * weights and optimizer.matmul_flops == 0.0
    assert timed(bench, Configuration(batch_size=4)).outcome is Outcome.OK, "counting leaves the worker as it was"


@pytest.mark.parametrize("script", ["already_mixed.py", "gan.py", "text_strings.py", "mirrored_replicas.py"])
def test_counting_a_step_leaves_training_alone(bench_for: Make, script: str) -> None:
    """Layers in 16 bits, two optimizers, strings and replicas are counted too."""
    bench, _ = bench_for(script)
    batch = captured(bench, script).batch_size
    assert sum(part.matmul_flops for part in bench.cost("float32", 0, 60.0)) > 0
    assert timed(bench, Configuration(batch_size=batch)).outcome is Outcome.OK


def test_a_step_that_cannot_be_traced_by_itself_is_not_counted(bench_for: Make) -> None:
    script = """
import keras, numpy as np
class Odd(keras.Model):
    def train_step(self, data):
        import traceback
        if any("step_cost" in frame.name for frame in traceback.extract_stack()):
            raise RuntimeError("not like this")
        return super().train_step(data)
x = keras.Input((4,))
model = Odd(x, keras.layers.Dense(1)(x))
model.compile("sgd", "mse")
model.fit(np.ones((64, 4), "float32"), np.ones((64, 1), "float32"), batch_size=8, verbose=0)
"""
    bench, _ = bench_for("odd.py", text=script)
    captured(bench, "odd.py")
    assert bench.cost("float32", 0, 60.0) == ()
    assert timed(bench, Configuration(batch_size=8)).outcome is Outcome.OK

"""What a quality run leaves behind besides its curve: sizes of float16 values, the scale's limit, single examples."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from autotune.judge.headroom import headroom
from autotune.measure.bench import Bench, QualityPlan
from autotune.records import Configuration, Outcome

pytestmark = pytest.mark.tensorflow
Make = Callable[..., tuple[Bench, Path]]

HEAD = """
import keras, numpy as np
from keras import layers, ops
keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
x = rng.normal(size=(700, 6, 4)).astype("float32")
y = (x[:, :, 0].sum(axis=1) > 0).astype("int32")
"""
RECURRENT = """
model = keras.Sequential([keras.Input((6, 4)), layers.LSTM(8, name="memory"), layers.Dense(8, "relu", name="hidden"),
    layers.Dense(2, "softmax", name="kind")])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x[:500], y[:500], batch_size=50, epochs=3, validation_data=(x[500:], y[500:]))
"""
HALF = Configuration(policy="mixed_float16", batch_size=50)
PLAN = QualityPlan(epochs=3, planned_epochs=3, planned_steps=30, share=1.0)


def test_float16_sizes_are_noted_by_step_and_layer(bench_for: Make) -> None:
    """Every step has its largest activation and gradient; a recurrent layer counts as one."""
    bench, _ = bench_for("train.py", text=HEAD + RECURRENT)
    run = bench.quality(HALF, 0, PLAN)
    assert (run.outcome, run.steps) == (Outcome.OK, 30)
    assert len(run.trace.largest_activation) == len(run.trace.largest_gradient) == 30
    assert set(run.largest_activations) == {"memory", "hidden", "kind"}
    assert max(v or 0.0 for v in run.trace.largest_activation) == max(
        v or 0.0 for v in run.largest_activations.values()
    )
    assert 0.5 <= (run.largest_activations["kind"] or 0.0) <= 1.0  # a softmax
    found = headroom([run])
    assert found is not None and found.largest_gradient is not None and 1e-4 < found.largest_gradient < 10.0


def test_the_loss_scale_is_led_to_its_limit(bench_for: Make) -> None:
    """Made to grow, it comes down again, updates are skipped there only, and the weights stay finite."""
    bench, _ = bench_for("train.py", text=HEAD + RECURRENT)
    run = bench.quality(HALF, 0, PLAN)
    limit = run.scale_limit
    assert limit is not None and limit.met and limit.finite and limit.skipped >= 1
    assert limit.largest_scale is not None and limit.largest_scale >= 2.0**15
    assert run.steps == 30 and run.loss_scale_final == 2.0**15  # of the run itself nothing has changed
    again = bench.quality(HALF, 1, PLAN)
    assert again.scale_limit is None  # once is enough


def test_nothing_computes_in_float16_nothing_is_watched(bench_for: Make) -> None:
    """float32 and bfloat16 have range enough."""
    bench, _ = bench_for("train.py", text=HEAD + RECURRENT)
    for policy in ("float32", "mixed_bfloat16"):
        run = bench.quality(HALF.but(policy=policy), 0, PLAN)
        assert (run.trace.largest_activation, run.largest_activations, run.scale_limit) == ((), {}, None)


@pytest.mark.parametrize(
    ("compiled", "metric"),
    [
        ('"adam", "sparse_categorical_crossentropy", metrics=["accuracy"]', "val_accuracy"),
        ('"adam", "sparse_categorical_crossentropy"', "val_loss"),
        ('"adam", keras.losses.SparseCategoricalCrossentropy()', "val_loss"),
        ('"adam", "sparse_categorical_crossentropy", weighted_metrics=["accuracy"]', "val_accuracy"),
    ],
)
@pytest.mark.parametrize("data", ["(x[500:], y[500:])", "held"])
def test_scores_of_single_examples_are_what_the_metric_is_the_mean_of(
    bench_for: Make, compiled: str, metric: str, data: str
) -> None:
    """Arrays and a tf.data pipeline, a metric and a loss."""
    text = HEAD + RECURRENT.replace('"adam", "sparse_categorical_crossentropy", metrics=["accuracy"]', compiled)
    text = text.replace("(x[500:], y[500:])", data).replace(
        "model.fit",
        "import tensorflow as tf\nheld = tf.data.Dataset.from_tensor_slices((x[500:], y[500:])).batch(50)\nmodel.fit",
    )
    bench, _ = bench_for("train.py", text=text)
    run = bench.quality(HALF.but(policy="float32"), 0, PLAN)
    seen = run.examples
    assert seen is not None and len(seen.scores) == 200
    assert np.mean(seen.scores) == pytest.approx(run.curve[-1].values[metric], abs=1e-5)
    other = bench.quality(HALF.but(policy="mixed_bfloat16"), 0, PLAN)
    assert other.examples is not None and other.examples.digest == seen.digest


@pytest.mark.parametrize(
    "changes",
    [
        {
            'layers.Dense(2, "softmax", name="kind")': 'layers.Dense(1, "sigmoid", name="kind")',
            '"sparse_categorical_crossentropy", metrics=["accuracy"]': '"bce", metrics=[keras.metrics.AUC(name="auc")]',
        },
        {"(x[500:], y[500:])": "(x[500:], y[500:], np.linspace(1, 2, 200))"},
    ],
    ids=["area under a curve", "weighted examples"],
)
def test_a_metric_that_is_no_mean_over_examples_has_no_single_scores(bench_for: Make, changes: dict[str, str]) -> None:
    """Nothing that the metric is not the mean of."""
    text = HEAD + RECURRENT
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    bench, _ = bench_for("train.py", text=text)
    run = bench.quality(HALF.but(policy="float32"), 0, PLAN)
    assert (run.outcome, run.examples) == (Outcome.OK, None)


def test_a_model_that_cannot_be_watched_is_trained_all_the_same(bench_for: Make) -> None:
    """A layer that runs inside vectorized_map: nothing may be assigned there."""
    text = (
        HEAD
        + """
import tensorflow as tf
class Each(layers.Layer):
    def __init__(self):
        super().__init__(name="each")
        self.inner = layers.Dense(4, name="inner")
    def build(self, shape):
        self.inner.build((None, shape[-1]))
    def call(self, x):
        return tf.vectorized_map(self.inner, x)
    def compute_output_shape(self, shape):
        return (*shape[:-1], 4)
model = keras.Sequential([keras.Input((6, 4)), Each(), layers.Flatten(), layers.Dense(2, "softmax", name="kind")])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x[:500], y[:500], batch_size=50, epochs=3, validation_data=(x[500:], y[500:]))
"""
    )
    bench, _ = bench_for("train.py", text=text)
    run = bench.quality(HALF, 0, PLAN)
    assert (run.outcome, run.steps, len(run.trace.loss)) == (Outcome.OK, 30, 30)

"""``diagnose`` on real models: what it says of a policy that fails, and whether the layers it names really cure it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from autotune.diagnose import diagnose
from autotune.judge.stability import fault
from autotune.measure.bench import Bench, QualityPlan
from autotune.records import Configuration, Outcome
from autotune.settings import Settings

pytestmark = pytest.mark.tensorflow

HEAD = """
import keras, numpy as np
from keras import layers, ops
keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
x = rng.normal(size=(1200, 8)).astype("float32")
y = (x[:, 0] + 0.5 * x[:, 1] > 0).astype("int32")
"""
CLASSIFIER = """
model.compile(keras.optimizers.Adam(5e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x[:900], y[:900], batch_size=30, epochs=2, validation_data=(x[900:], y[900:]))
"""
# Each fails in float16 in its own way: at once in a layer of its own; at once, in a layer that is made of others; in the
# targets' range; in adapted statistics, with nothing that is not finite; in gradients alone, so that updates are skipped.
KINDS = {
    "epsilon": """
class Share(layers.Layer):
    def call(self, x):
        return ops.log(ops.relu(x) + 1e-9) / 10.0
model = keras.Sequential([keras.Input((8,)), Share(name="share"), layers.Dense(16, "relu", name="hidden"),
    layers.Dense(2, "softmax", name="kind")])
""",
    "mask": """
class Gate(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.inner = layers.Dense(8, name="inner")
    def call(self, x):
        keep = ops.cast(ops.abs(x) < 2.0, x.dtype)
        return ops.softmax(self.inner(x) + (1.0 - keep) * -1e9, axis=-1)
inputs = keras.Input((8,))
joined = layers.Concatenate()([inputs, Gate(name="gate")(inputs)])
model = keras.Model(inputs, layers.Dense(2, "softmax", name="kind")(joined))
""",
    "targets": """
y = (80000.0 + 9000.0 * x[:, 0]).astype("float32")
model = keras.Sequential([keras.Input((8,)), layers.Dense(16, "relu", name="hidden"),
    layers.Dense(1, bias_initializer=keras.initializers.Constant(80000.0), name="price")])
model.compile(keras.optimizers.Adam(0.02), "mae")
model.fit(x[:900], y[:900], batch_size=30, epochs=2, validation_data=(x[900:], y[900:]))
""",
    "statistics": """
x[:, 0] *= 2000.0
y = (x[:, 0] > 0).astype("int32")
normalize = layers.Normalization(name="normalize")
normalize.adapt(x)
model = keras.Sequential([keras.Input((8,)), normalize, layers.Dense(16, "relu", name="hidden"),
    layers.Dense(2, "softmax", name="kind")])
""",
    "gradients": """
class Length(layers.Layer):
    def call(self, x):
        x = ops.relu(x)
        return ops.power(ops.sum(x * x, axis=-1, keepdims=True) + 1e-9, 0.5)
inputs = keras.Input((8,))
hidden = layers.Dense(3, name="hidden")(inputs)
joined = layers.Concatenate()([hidden, Length(name="length")(hidden)])
model = keras.Model(inputs, layers.Dense(2, "softmax", name="kind")(joined))
""",
}
NAMED = {"epsilon": "share", "mask": "gate", "targets": "price", "statistics": "normalize", "gradients": "length"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(KINDS))
def test_the_layer_that_float16_breaks_is_found_and_cures_it_for_ten_times_the_steps(
    kind: str, tmp_path: Path, bench_for: Callable[..., tuple[Bench, Path]]
) -> None:
    """The fewest layers, the lines that do it, and a real training ten times as long with them."""
    text = HEAD + KINDS[kind] + ("" if kind == "targets" else CLASSIFIER)
    script = tmp_path / "train.py"
    script.write_text(text)
    found = diagnose(Settings(target=script, budget_s=50.0, out=tmp_path / "run", policies=("mixed_float16",)))
    policy = found.policies["mixed_float16"]
    assert policy.outcome is not Outcome.OK or (policy.accuracy is not None and policy.accuracy.verdict == "worse")
    rescue = policy.rescue
    assert rescue is not None
    assert (rescue.layers, rescue.minimal) == ((NAMED[kind],), True)
    assert f'"{NAMED[kind]}"' in rescue.snippet or f"'{NAMED[kind]}'" in rescue.snippet
    bench, _ = bench_for("train.py", text=text)
    long = QualityPlan(epochs=20, planned_epochs=20)
    cured = Configuration(policy="mixed_float16", batch_size=30, float32_layers=rescue.layers)
    measured = bench.quality(cured, 0, long)
    assert measured.steps == 600
    assert (measured.outcome, fault(measured)) == (Outcome.OK, None)
    assert measured.sixteen_bit_layers


def test_a_healthy_model_needs_no_rescue_and_gets_no_warning(tmp_path: Path) -> None:
    """Every policy judged, whatever its speed, and nothing wrong with any."""
    script = tmp_path / "train.py"
    script.write_text(
        HEAD
        + 'model = keras.Sequential([keras.Input((8,)), layers.Dense(16, "relu"), layers.Dense(2, "softmax")])\n'
        + CLASSIFIER
    )
    found = diagnose(Settings(target=script, budget_s=40.0, out=tmp_path / "run"))
    assert set(found.policies) == {"float32", "mixed_bfloat16", "mixed_float16"}
    assert {policy.outcome for policy in found.policies.values()} == {Outcome.OK}
    assert all(policy.rescue is None for policy in found.policies.values())
    assert [finding for finding in found.findings if finding.severity in ("warning", "error")] == []
    assert all(layer.activations is not None for layer in found.layers)

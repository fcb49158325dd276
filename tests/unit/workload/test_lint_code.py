"""Checks that read the user's source: what is said, of which line and class, and what is left in peace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from autotune.workload.lint_code import check_code
from autotune.workload.place import UserCode


def found(tmp_path: Path, text: str) -> list[dict[str, Any]]:
    script = tmp_path / "train.py"
    script.write_text(text)
    return check_code(UserCode(str(script)))


LAYER = """
class Distance(Layer):
    def call(self, x):
        return ops.sqrt({expression})
"""


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("x + 1e-8", "epsilon_vanishes"),
        ("x - 1e-9", "epsilon_vanishes"),
        ("x + (1 - m) * -1e9", "constant_overflows"),
        ("x + m * 1e5", "constant_overflows"),
        ("x + 1e-6", None),
        ("x + m * -3e4", None),
        ("x + 0.0", None),
    ],
)
def test_constants_that_float16_does_not_hold(tmp_path: Path, expression: str, code: str | None) -> None:
    """2**-25 and less is 0 in float16, more than 65504 is infinite."""
    findings = found(tmp_path, LAYER.format(expression=expression))
    assert [finding["code"] for finding in findings] == ([] if code is None else [code])
    for finding in findings:
        assert (finding["class"], finding["line"], finding["policy"]) == ("Distance", "train.py:4", "mixed_float16")
        assert "Distance.call" in finding["message"]


def test_constants_outside_of_tensor_code_are_left_in_peace(tmp_path: Path) -> None:
    """Preparing data in numpy is float64 and none of our business."""
    assert found(tmp_path, "def clean(x):\n    return np.log(x + 1e-12) * 1e9\n") == []


STEP = """
class Model(keras.Model):
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x=x, y=y, y_pred=self(x))
            {scale}
        gradients = tape.gradient(loss, self.trainable_variables)
        {clip}
        self.optimizer.apply(gradients, self.trainable_variables)
"""


@pytest.mark.parametrize(
    ("scale", "clip", "codes"),
    [
        ("pass", "pass", ["loss_not_scaled"]),
        ("loss = self.optimizer.scale_loss(loss)", "pass", []),
        (
            "loss = self.optimizer.scale_loss(loss)",
            "gradients, _ = tf.clip_by_global_norm(gradients, 1.0)",
            ["clips_scaled_gradients"],
        ),
        ("loss = self.optimizer.get_scaled_loss(loss)", "pass", ["loss_scaling_call_gone"]),
    ],
)
def test_a_train_step_of_its_own(tmp_path: Path, scale: str, clip: str, codes: list[str]) -> None:
    """An unscaled loss, gradients clipped before they are unscaled, and the calls that Keras 3 dropped."""
    assert [finding["code"] for finding in found(tmp_path, STEP.format(scale=scale, clip=clip))] == codes


def test_a_train_step_without_gradients_of_its_own_is_left_in_peace(tmp_path: Path) -> None:
    """One that only wraps Keras' own needs no scaling."""
    assert (
        found(
            tmp_path,
            "class M(keras.Model):\n    def train_step(self, data):\n        return super().train_step(data)\n",
        )
        == []
    )


def test_code_inside_an_inner_class_belongs_to_that(tmp_path: Path) -> None:
    text = "class Outer:\n    class Inner(Layer):\n        def call(self, x):\n            return ops.log(x + 1e-9)\n"
    assert [finding["class"] for finding in found(tmp_path, text)] == ["Inner"]

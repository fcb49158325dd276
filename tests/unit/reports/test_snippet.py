"""The lines to copy set what was recommended, and nothing else."""

from __future__ import annotations

import ast
from dataclasses import replace

from autotune.records import Configuration, LayerInfo, LossScale
from autotune.reports.snippet import one_line, python_snippet
from tests.unit.reports.samples import BASELINE, BFLOAT16, FLOAT16, MARKUP, WORKLOAD, by_batch


def test_policy_alone_is_one_line() -> None:
    assert one_line(BFLOAT16, BASELINE) == 'keras.config.set_dtype_policy("mixed_bfloat16")'


def test_no_one_line_where_more_changes() -> None:
    assert one_line(BFLOAT16.but(batch_size=128), BASELINE) == ""
    assert one_line(BFLOAT16.but(float32_layers=("dense",)), BASELINE) == ""
    assert one_line(BASELINE.but(batch_size=128), BASELINE) == ""


def test_default_loss_scaling_needs_no_line_of_its_own() -> None:
    assert one_line(FLOAT16.but(loss_scale=LossScale()), BASELINE) == 'keras.config.set_dtype_policy("mixed_float16")'
    assert one_line(FLOAT16.but(loss_scale=LossScale(initial=1024.0)), BASELINE) == ""


def test_every_change_has_its_line() -> None:
    layer = LayerInfo(path="dense_2", type="Dense", variable_dtype="float32", compute_dtype="float32")
    text = python_snippet(by_batch().configuration, BASELINE, replace(WORKLOAD, layers=(layer,)))
    assert text.splitlines() == [
        'keras.config.set_dtype_policy("mixed_bfloat16")  # before the model is made',
        'Dense(..., name="dense_2", dtype="float32")',
        "learning_rate = 0.001 * 2",
        "model.compile(..., jit_compile=True, steps_per_execution=8)",
        "model.fit(..., batch_size=256)",
    ]


def test_a_layer_made_of_layers_is_made_under_the_policy_that_all_of_it_shall_have() -> None:
    inner = [
        LayerInfo(path=path, type=kind, variable_dtype="float32", compute_dtype="float32")
        for path, kind in (("block", "SelfAttention"), ("block/query", "Dense"))
    ]
    text = python_snippet(FLOAT16.but(float32_layers=("block",)), BASELINE, replace(WORKLOAD, layers=tuple(inner)))
    assert text.splitlines()[1:] == [
        "keras.config.set_dtype_policy(\"float32\")  # before SelfAttention 'block' is made",
        'keras.config.set_dtype_policy("mixed_float16")  # after it',
    ]


def test_a_model_that_computes_itself_keeps_its_layers_policy() -> None:
    text = python_snippet(FLOAT16.but(float32_layers=(WORKLOAD.model,)), BASELINE, WORKLOAD)
    assert text.splitlines()[1].startswith('model.dtype_policy = "float32"')


def test_an_unchanged_script_needs_no_line() -> None:
    assert python_snippet(BASELINE, BASELINE, WORKLOAD) == ""


def test_fixed_loss_scale_is_set_the_way_keras_allows() -> None:
    chosen = FLOAT16.but(loss_scale=LossScale(mode="fixed", initial=1024.0, growth_steps=None))
    text = python_snippet(chosen, BASELINE, WORKLOAD)
    assert "optimizer.loss_scale_factor = 1024" in text
    assert "model.compile(..., optimizer=optimizer, auto_scale_loss=False)" in text


def test_dynamic_loss_scale_names_start_and_growth() -> None:
    text = python_snippet(FLOAT16.but(loss_scale=LossScale(initial=256.0, growth_steps=500)), BASELINE, WORKLOAD)
    assert "LossScaleOptimizer(optimizer, initial_scale=256, dynamic_growth_steps=500)" in text


def test_batch_is_set_where_the_data_decide_it() -> None:
    chosen = BASELINE.but(batch_size=128)
    assert "rebatch(128)" in python_snippet(chosen, BASELINE, replace(WORKLOAD, data="tf.data"))
    assert "batches of 128" in python_snippet(chosen, BASELINE, replace(WORKLOAD, data="generator"))


def test_a_scheduled_learning_rate_is_told_in_words() -> None:
    chosen = BASELINE.but(learning_rate_factor=2.0)
    text = python_snippet(chosen, BASELINE, replace(WORKLOAD, schedule=True))
    assert text == "# multiply every learning rate by 2"


def test_tf32_comes_first() -> None:
    chosen = BFLOAT16.but(tf32=True)
    first = python_snippet(chosen, BASELINE.but(tf32=False), WORKLOAD).splitlines()[0]
    assert first.startswith("tf.config.experimental.enable_tensor_float_32_execution(True)")


def test_names_of_a_record_cannot_add_code() -> None:
    chosen = Configuration(policy='x")\nevil()#', batch_size=64, float32_layers=(f"{MARKUP}\nevil()",))
    tree = ast.parse(python_snippet(chosen, BASELINE, WORKLOAD))
    assert {type(node).__name__ for node in tree.body} == {"Expr"}
    assert "evil" not in {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}

"""Ceilings are measured by TensorFlow in a process of its own, in little time, and are of the right order."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from autotune.errors import HardwareError
from autotune.probe.ceilings import Measured, run_ceilings, run_measured


@pytest.fixture(scope="module")
def measured() -> Measured:
    return run_measured(timeout_s=120, budget_s=10)


@pytest.mark.tensorflow
def test_every_operation_in_every_dtype(measured: Measured) -> None:
    found = {(c.operation, c.dtype) for c in measured.ceilings}
    assert found >= {("matmul", "float32"), ("convolution", "float32"), ("copy", "float32")}
    assert found >= {("matmul", "bfloat16"), ("matmul", "float16")}
    assert all(c.per_s > 0 and c.size for c in measured.ceilings)


@pytest.mark.tensorflow
def test_tensorflow_tells_its_devices(measured: Measured) -> None:
    assert measured.devices is not None
    assert measured.devices.gpu_count >= len(measured.devices.pci_bus_ids)


@pytest.mark.tensorflow
def test_the_rate_is_that_of_another_library(measured: Measured) -> None:
    """A wrong unit or a miscounted operation is off by more than a busy machine is."""
    if measured.devices is None or measured.devices.gpu_count:
        pytest.skip("NumPy computes on the processor, TensorFlow here does not")
    n = 1024
    a, b = np.ones((n, n), np.float32), np.ones((n, n), np.float32)
    times = []
    for _ in range(10):
        start_s = time.monotonic()
        a @ b
        times.append(time.monotonic() - start_s)
    numpy_per_s = 2 * n**3 / statistics.median(times)
    rate = next(c.per_s for c in measured.ceilings if (c.operation, c.dtype) == ("matmul", "float32"))
    assert 1 / 3 < rate / numpy_per_s < 3


@pytest.mark.tensorflow
def test_only_the_dtypes_asked_for() -> None:
    ceilings = run_ceilings(timeout_s=120, budget_s=10, dtypes=("float64",))
    assert {c.dtype for c in ceilings if c.operation != "copy"} == {"float64"}


@pytest.mark.tensorflow
def test_without_a_budget_nothing_is_begun() -> None:
    measured = run_measured(timeout_s=120, budget_s=0)
    assert measured.ceilings == ()
    assert measured.devices is not None


def test_a_time_limit_is_kept_and_said() -> None:
    start_s = time.monotonic()
    with pytest.raises(HardwareError, match=r"within 0\.3 s") as raised:
        run_measured(timeout_s=0.3)
    assert time.monotonic() - start_s < 2
    assert raised.value.exit_code == 5


def test_a_tensorflow_that_does_not_start_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tensorflow.py").write_text("raise ImportError('libcudart is missing')", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(HardwareError, match="TensorFlow does not run here") as raised:
        run_measured(timeout_s=60)
    assert "libcudart is missing" in raised.value.detail


# Runs the probe's call and a training step written the usual way in alternation, so that a busy machine slows both.
_AGAINST_A_PLAIN_STEP = """
import json, statistics, time
import tensorflow as tf
from autotune.probe.operations import operations

@tf.function
def plain(inputs, weights, error):
    with tf.GradientTape() as tape:
        tape.watch([inputs, weights])
        outputs = tf.matmul(inputs, weights)
    # The outputs are returned: TensorFlow would leave out what nobody reads.
    return [outputs, *tape.gradient(outputs, [inputs, weights], output_gradients=error)]

def seconds(call):
    start = time.monotonic()
    call()
    return time.monotonic() - start

_, _, rungs = next(iter(operations(tf, ["float32"])))
rung = next(rung for rung in rungs if rung.size.startswith("512 "))
probe = rung.prepare()
inputs, weights, error = (tf.random.normal((512, 512)) for _ in range(3))
other = lambda: [tensor[0, 0].numpy() for tensor in plain(inputs, weights, error)]
for _ in range(3):
    probe(), other()
print(json.dumps(statistics.median(seconds(other) / seconds(probe) for _ in range(40))))
"""


@pytest.mark.tensorflow
def test_what_is_timed_is_what_a_training_step_costs() -> None:
    """Forward product and both gradients, no more and no less: within a fifth of a step written the usual way."""
    command = [sys.executable, "-c", _AGAINST_A_PLAIN_STEP]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert 0.8 < json.loads(done.stdout.splitlines()[-1]) < 1.25

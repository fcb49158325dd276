"""How long the probe takes, and whether its ceilings are those of a measurement that shares no code with it.

    python benchmarks/probe.py [--rounds 5]

Times `autotune probe` without and with ceilings. Then measures the ceilings and an independent loop in turn, each in a process
of its own: gradients by the tape inside one compiled function, at sizes of its own, as a plain TensorFlow program would; numpy
for the float32 product and for memory. Prints the ratio of the ceiling to it, the median over the rounds.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import defaultdict
from statistics import median

from autotune.probe.ceilings import run_ceilings

INDEPENDENT = """
import json, os, sys, time
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np

def rate(call, cost, least_s=0.25, times=4):
    call()
    best = 0.0
    for _ in range(times):
        started, calls = time.perf_counter(), 0
        while time.perf_counter() - started < least_s:
            call()
            calls += 1
        best = max(best, calls * cost / (time.perf_counter() - started))
    return best

out = {}
n = 1536
a, b = (np.random.default_rng(s).standard_normal((n, n), dtype=np.float32) for s in (0, 1))
to = np.empty_like(a)
out["numpy matmul float32"] = rate(lambda: np.matmul(a, b, out=to), 2.0 * n**3)
one, two = np.zeros(1 << 24, np.float32), np.ones(1 << 24, np.float32)
out["numpy copy float32"] = rate(lambda: np.add(one, two, out=one), 3.0 * one.nbytes)
import tensorflow as tf

def learn(forward, x, w, cost):
    @tf.function
    def step():
        with tf.GradientTape() as tape:
            tape.watch((x, w))
            y = forward(x, w)
        return [tf.reduce_max(g) for g in tape.gradient(y, (x, w), output_gradients=y)]
    return rate(lambda: [g.numpy() for g in step()], cost)

for dtype in ("float32", "bfloat16", "float16"):
    # The gradients of a convolution in float16 take a processor without float16 units fifty times as long.
    slow = dtype == "float16" and not tf.config.list_physical_devices("GPU")
    n, images, channels = 1536, 1 if slow else 32, 64
    draw = lambda *shape: tf.cast(tf.random.normal(shape), dtype)
    out[f"matmul {dtype}"] = learn(tf.matmul, draw(n, n), draw(n, n), 6.0 * n**3)
    conv = lambda x, w: tf.nn.conv2d(x, w, 1, "SAME")
    x, w = draw(images, 32, 32, channels), draw(3, 3, channels, channels)
    out[f"convolution {dtype}"] = learn(conv, x, w, 6.0 * images * 32**2 * 9 * channels**2)
print(json.dumps(out))
"""


def timed(*arguments: str) -> float:
    """Seconds that the command takes."""
    started = time.monotonic()
    command = [sys.executable, "-m", "autotune", "probe", "--format", "json", *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - started


def independent() -> dict[str, float]:
    """Operations or bytes a second, by a program that knows nothing of ours."""
    run = subprocess.run([sys.executable, "-c", INDEPENDENT], check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(run.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Times and compares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    for what, arguments, aim_s in (
        ("without ceilings", ("--no-ceilings",), 1.5),
        ("with ceilings", ("--fresh",), 10.0),
    ):
        took = [timed(*arguments) for _ in range(rounds)]
        print(f"probe {what:17} {median(took):5.2f} s, worst {max(took):5.2f} s of {aim_s:g} s", flush=True)
    ratios: dict[str, list[float]] = defaultdict(list)
    for _ in range(rounds):
        ceilings = {f"{c.operation} {c.dtype}": c.per_s for c in run_ceilings()}
        other = independent()
        for name, per_s in other.items():
            ours = ceilings.get(name.removeprefix("numpy "))
            if ours is not None:
                ratios[name].append(ours / per_s)
    for name, values in ratios.items():
        print(f"{name:22} ceiling / independent {median(values):.2f} ({min(values):.2f} to {max(values):.2f})")


if __name__ == "__main__":
    main()

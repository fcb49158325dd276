"""What our instruments cost: step time in a trial over step time in a plain ``fit``, in alternation.

    python benchmarks/instruments.py [--rounds 5]

Both sides run the same script in a process of their own. The plain side times whole epochs by a callback, the first one left
out; the trial is the one that ``autotune recommend`` makes. Prints one line for each workload: the median ratio and its range.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from autotune.judge.speed import speed
from autotune.measure.bench import Bench
from autotune.measure.launcher import LocalLauncher
from autotune.measure.spec import WorkerSpec
from autotune.records import Configuration

HEAD = """
import json, os, time, keras, numpy as np
from keras import layers
keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)

class Clock(keras.callbacks.Callback):
    times = []
    def on_epoch_begin(self, epoch, logs=None):
        self.begun = time.perf_counter()
    def on_epoch_end(self, epoch, logs=None):
        self.times.append(time.perf_counter() - self.begun)
"""
TAIL = """
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x, y, batch_size=64, epochs=6, callbacks=[Clock()] if os.environ.get("PLAIN") else [])
print(json.dumps([t / -(-len(x) // 64) for t in Clock.times[1:]]))
"""
WORKLOADS = {
    "small CNN, about 20 ms a step": """
x = rng.normal(size=(3200, 32, 32, 3)).astype("float32"); y = rng.integers(0, 10, 3200)
model = keras.Sequential([keras.Input((32, 32, 3)), layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D(),
    layers.Conv2D(64, 3, activation="relu"), layers.MaxPooling2D(), layers.Flatten(), layers.Dense(128, activation="relu"),
    layers.Dense(10, activation="softmax")])
""",
    "tiny MLP, about 1 ms a step": """
x = rng.normal(size=(38400, 16)).astype("float32"); y = rng.integers(0, 4, 38400)
model = keras.Sequential([keras.Input((16,)), layers.Dense(32, activation="relu"), layers.Dense(4, activation="softmax")])
""",
}


def plain(script: Path) -> float:
    """Median step time of the epochs of a plain run, in seconds."""
    done = subprocess.run(
        [sys.executable, str(script)], env={**os.environ, "PLAIN": "1"}, capture_output=True, text=True, check=True
    )
    return statistics.median(json.loads(done.stdout.strip().splitlines()[-1]))


def trial(script: Path, folder: Path) -> float:
    """Step time that a trial measures, in seconds."""
    launcher = LocalLauncher(folder, dict(os.environ))
    bench = Bench(launcher, WorkerSpec(script=str(script), target=str(script), log_path=""), str(folder))
    try:
        measured = bench.speed(Configuration(batch_size=64), chunk_s=0.15, limit_s=4.0, stop=lambda chunks: False)
    finally:
        bench.close()
        launcher.close()
    found = speed(measured.chunks)
    if found is None:
        raise SystemExit(f"the trial gave no chunks: {measured.reason}")
    return found.step_time_s.value


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        for name, text in WORKLOADS.items():
            script = Path(folder, "train.py")
            script.write_text(HEAD + text + TAIL)
            pairs = [(plain(script), trial(script, Path(folder))) for _ in range(rounds)]
            ratios = [theirs / ours for ours, theirs in pairs]
            ours_ms, theirs_ms = (1e3 * statistics.median(side) for side in zip(*pairs, strict=True))
            shown = f"plain {ours_ms:.3f} ms, trial {theirs_ms:.3f} ms"
            print(
                f"{name}: trial / plain {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f}); {shown}"
            )


if __name__ == "__main__":
    main()

"""What our instruments cost: step time in a trial over step time in a plain ``fit``, in alternation.

    python benchmarks/instruments.py [--pairs 200]

First what our callback adds by itself: the length of a chunk in which nothing runs, and the time of its hooks around that.
Then both sides train the same script in a process of their own, an epoch of each in turn. Prints one line for each workload: the
ratio with its interval. Above 1 the instruments cost time. Epochs are short, a few tenths of a second: the machine changes
its pace, and the closer the sides are in time, the more of that cancels. What is left does not resolve 1% here.
"""

from __future__ import annotations

import argparse
import os
import socket
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

from turns import Training, plain_script

from autotune.judge.interval import of_logs
from autotune.measure.launcher import LocalLauncher, Worker
from autotune.measure.spec import WorkerSpec
from autotune.records import Configuration
from autotune.records.codec import to_json

HEAD = """
import keras, numpy as np
from keras import layers
keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
"""
TAIL = """
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x, y, batch_size=64, epochs=6, verbose=0)
"""
# Name to the steps of an epoch and the model.
WORKLOADS = {
    "small CNN, about 20 ms a step": (
        16,
        """
x = rng.normal(size=(1024, 32, 32, 3)).astype("float32"); y = rng.integers(0, 10, 1024)
model = keras.Sequential([keras.Input((32, 32, 3)), layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D(),
    layers.Conv2D(64, 3, activation="relu"), layers.MaxPooling2D(), layers.Flatten(), layers.Dense(128, activation="relu"),
    layers.Dense(10, activation="softmax")])
""",
    ),
    "tiny MLP, about 2 ms a step": (
        200,
        """
x = rng.normal(size=(12800, 16)).astype("float32"); y = rng.integers(0, 4, 12800)
model = keras.Sequential([keras.Input((16,)), layers.Dense(32, activation="relu"), layers.Dense(4, activation="softmax")])
""",
    ),
}


class Trial:
    """A speed trial whose chunks run when told to."""

    def __init__(self, worker: Worker, chunk_s: float) -> None:
        self._worker = worker
        self._until("captured")
        worker.send(
            {
                "op": "speed",
                "configuration": to_json(Configuration(batch_size=64)),
                "chunk_s": chunk_s,
                "limit_s": 1e9,
                "on_command": True,
                "whole_epochs": True,
            }
        )
        self._until("waiting")

    def step_s(self) -> float:
        """Runs one chunk; time of a step."""
        self._worker.send({"op": "go"})
        chunk = self._until("chunk")
        self._until("waiting")
        return float(chunk["duration_s"]) / int(chunk["steps"])

    def _until(self, kind: str) -> dict:
        while (event := self._worker.receive(120.0)) is not None:
            if event["event"] == kind:
                return event
        raise SystemExit("the worker said nothing for two minutes")


def own_cost(chunks: int = 5000) -> str:
    """Median length of an empty chunk, and of all that the callback does around one."""
    from autotune.measure.channel import Channel
    from autotune.measure.speed_trial import _Chunks

    ours, theirs = socket.socketpair()
    threading.Thread(target=lambda: all(iter(lambda: theirs.recv(1 << 16), b"")), daemon=True).start()
    callback = _Chunks(Channel(ours), 10, 32.0, until=1e9)
    logs = {"loss": 0.5, "accuracy": 0.75}
    inside, around = [], []
    for number in range(chunks):
        begun = time.perf_counter()
        callback.on_epoch_begin(number)
        callback.on_epoch_end(number, logs)
        around.append(time.perf_counter() - begun)
        inside.append(callback._durations[-1])
    ours.close()
    return f"{1e6 * median(inside):.1f} us inside the timed interval, {1e6 * median(around):.0f} us around it, a chunk"


def compare(script: Path, folder: Path, steps: int, pairs: int) -> str:
    """The line of one workload."""
    launcher = LocalLauncher(folder, dict(os.environ))
    plain = Training(plain_script(str(script)))
    try:
        once = plain.epoch_s() and plain.epoch_s()
        worker = launcher.start(WorkerSpec(script=str(script), target=str(script), log_path=str(folder / "worker.log")))
        trial = Trial(worker, chunk_s=once)
        ours, theirs = [], []
        for number in range(pairs):
            turns = [lambda: ours.append(plain.epoch_s() / steps), lambda: theirs.append(trial.step_s())]
            for turn in turns if number % 2 == 0 else turns[::-1]:
                turn()
    finally:
        plain.close()
        launcher.close()
    ratio = of_logs([b / a for a, b in zip(ours, theirs, strict=True)], serial=True)
    times = f"plain {1e3 * sum(ours) / pairs:.3f} ms, trial {1e3 * sum(theirs) / pairs:.3f} ms"
    return f"trial / plain {ratio.value:.3f} ({ratio.low:.3f} to {ratio.high:.3f}); {times}"


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=200)
    pairs = parser.parse_args().pairs
    print(f"the callback itself: {own_cost()}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, (steps, text) in WORKLOADS.items():
            script = Path(folder, "train.py")
            script.write_text(HEAD + text + TAIL)
            print(f"{name}: {compare(script, Path(folder), steps, pairs)}", flush=True)


if __name__ == "__main__":
    main()

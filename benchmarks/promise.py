"""Whether a recommendation delivers: its speed-up against the one of fresh, full, plain runs of the same script.

    python benchmarks/promise.py SCRIPT RUN [--rounds 3]

Runs the script by plain Python and by ``autotune run`` in alternation, each in a process of its own, and times the training
part of every epoch (the first left out). Prints promised and delivered speed-up.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from autotune.store import read_recommendation

# The clock stops where training of an epoch ends and validation has not begun: both sides validate alike.
CLOCK = """
import json, os, sys, time, keras
times = []
class Clock(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        self.begun, self.ended = time.perf_counter(), None
    def on_test_begin(self, logs=None):
        if self.ended is None:
            self.ended = time.perf_counter()
    def on_epoch_end(self, epoch, logs=None):
        times.append((self.ended or time.perf_counter()) - self.begun)
plain = keras.Model.fit
def fit(model, *args, **kwargs):
    kwargs["callbacks"] = [*(kwargs.get("callbacks") or []), Clock()]
    history = plain(model, *args, **kwargs)
    print("\\nCLOCK", json.dumps(times))
    return history
keras.Model.fit = fit
"""


def epoch_time_s(code: str) -> float:
    """Median training time of an epoch in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", CLOCK + code], capture_output=True, text=True, check=True, env=os.environ
    )
    line = next(line for line in done.stdout.splitlines() if line.startswith("CLOCK"))
    return statistics.median(json.loads(line.removeprefix("CLOCK "))[1:])


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("script", type=Path)
    parser.add_argument("run", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    answer = read_recommendation(options.run)
    path = options.run / "recommendation.json" if options.run.is_dir() else options.run
    script = str(options.script)
    plain = f"import runpy; sys.argv = [{script!r}]; runpy.run_path({script!r}, run_name='__main__')"
    applied = f"from autotune.workload.apply_main import main; main([{str(path)!r}, {script!r}])"
    pairs = [(epoch_time_s(plain), epoch_time_s(applied)) for _ in range(options.rounds)]
    delivered = [ours / theirs for ours, theirs in pairs]
    promised = answer.speed.speedup or 1.0
    print(answer.headline)
    print(f"promised {promised:.2f}x, delivered {statistics.median(delivered):.2f}x", end=" ")
    print(f"({min(delivered):.2f} to {max(delivered):.2f}, {options.rounds} pairs of full runs)", end="; ")
    print(f"delivered / promised {statistics.median(delivered) / promised:.3f}")


if __name__ == "__main__":
    main()

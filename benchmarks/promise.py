"""Whether a recommendation delivers: its speed-up against that of the script's own training, whole epochs in alternation.

    python benchmarks/promise.py SCRIPT RUN [--epochs 40]

Trains by plain Python and by ``autotune run``, each in a process of its own, one epoch of each in turn, the first of each
left out. Prints promised and delivered speed-up: the median over pairs of epochs, for on a shared machine whole epochs are
several times slower now and then, with its distribution-free interval.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

from scipy import stats
from turns import Training, plain_script

from autotune.store import read_recommendation


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("script", type=Path)
    parser.add_argument("run", type=Path)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("-v", "--verbose", action="store_true", help="print every epoch")
    options = parser.parse_args()
    answer = read_recommendation(options.run)
    path = options.run / "recommendation.json" if options.run.is_dir() else options.run
    script = str(options.script)
    sides = (
        Training(plain_script(script)),
        Training(f"from autotune.workload.apply_main import main; main([{str(path)!r}, {script!r}])"),
    )
    try:
        for side in sides:
            side.epoch_s()
        ratios = []
        for number in range(options.epochs):
            first, second = sides if number % 2 == 0 else sides[::-1]
            times = {first: first.epoch_s(), second: second.epoch_s()}
            ratios.append(times[sides[0]] / times[sides[1]])
            if options.verbose:
                print(f"epoch {number}: plain {times[sides[0]]:.3f} s, tuned {times[sides[1]]:.3f} s", flush=True)
    finally:
        for side in sides:
            side.close()
    promised, delivered = answer.speed.speedup or 1.0, statistics.median(ratios)
    ends = stats.quantile_test(ratios, q=1.0, p=0.5).confidence_interval(0.95)
    print(answer.headline)
    print(f"promised {promised:.2f}x; delivered {delivered:.2f}x", end=" ")
    print(f"({ends.low:.2f} to {ends.high:.2f}, median of {options.epochs} pairs of epochs)", end="; ")
    print(f"delivered / promised {delivered / promised:.3f}")


if __name__ == "__main__":
    main()

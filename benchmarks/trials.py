"""What trials cost beyond tracing and their own steps, and how often a script that loads for long is run.

    python benchmarks/trials.py RUN [RUN ...]

Reads the folders of finished runs: nothing is measured here. For each timing in a worker that was already there: its wall
clock less its first call (tracing, compiling) and less the chunks of both sides. Then how many workers were started, which
is how often the script ran up to its fit, against the pairs of policy and seed that were needed.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from statistics import median

from autotune.store import read_run


def main() -> None:
    """Reads and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    for run in parser.parse_args().runs:
        record = read_run(run)
        beyond, known = [], set()
        for trial in record.measurements:
            warm = (trial.configuration.policy, trial.seed) in known
            known.add((trial.configuration.policy, trial.seed))
            if trial.purpose != "speed" or not warm or trial.wall_s is None or not trial.chunks:
                continue
            steps_s = sum(chunk.duration_s for chunk in (*trial.chunks, *trial.reference_chunks))
            beyond.append(trial.wall_s - steps_s)  # the first chunk is the one that traces
        started = [re.sub(r"^worker-\d+-", "", log.stem) for log in sorted((run / "logs").glob("worker-*.log"))]
        costs = f"median {median(beyond):.2f} s, worst {max(beyond):.2f} s" if beyond else "none"
        print(
            f"{run.name}: {len(beyond)} timings in warm workers cost beyond tracing and steps {costs};"
            f" {len(started)} workers for {len(set(started))} pairs of policy and seed"
        )


if __name__ == "__main__":
    main()

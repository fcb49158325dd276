"""Runs the shipped examples and pastes what autotune says of each into docs/examples.md.

    python benchmarks/examples.py [--budget 4m] [NAME ...]

Without names all are run, one after another; nothing else should run on the machine meanwhile. What a run prints is kept in
docs/examples/NAME.txt, and the page is made of all of these.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "docs" / "examples"
NAMES = (
    "digits_cnn", "digits_batches", "cifar_cnn", "mlp_wide", "own_train_step", "mirrored", "transformer", "lstm",
    "tfdata_augmentation",
)  # fmt: skip
# Runs of another example with options of their own, and what they show.
VARIANTS = {
    "digits_batches": (
        "digits_cnn",
        ("--batch-size", "32,128,512"),
        "The same digits at batch 32, 128 and 512: samples a second, quality after the same samples, and time to the"
        " baseline's quality, measured and predicted. The largest batch is fastest and does not learn as well for certain.",
    )
}
HEAD = """# What autotune says of the examples

Each block is what `autotune recommend examples/NAME.py` printed, pasted by `python benchmarks/examples.py`. The first line of
each names the machine. Other machines give other answers: that is why it is measured.
"""


def run(name: str, budget: str) -> None:
    """Runs one example and keeps what was printed."""
    script, options, _ = VARIANTS.get(name, (name, (), ""))
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [
                sys.executable,
                "-P",
                "-m",
                "autotune",
                "recommend",
                f"examples/{script}.py",
                *options,
                "--budget",
                budget,
                "--out",
                f"{folder}/run",
                "--fresh",
                "-q",
            ],
            cwd=ROOT,
            env={**os.environ, "COLUMNS": "100"},
            capture_output=True,
            text=True,
            check=True,
        )
    shown = [line for line in done.stdout.splitlines() if not line.startswith("  report  ")]
    text = "\n".join(shown).replace(f"{folder}/run", "RUN").rstrip() + "\n"
    KEPT.mkdir(exist_ok=True)
    (KEPT / f"{name}.txt").write_text(text)


def page() -> str:
    """The page, made of what was kept."""
    parts = [HEAD]
    for name in NAMES:
        file = KEPT / f"{name}.txt"
        if file.exists():
            script, options, about = VARIANTS.get(name, (name, (), ""))
            about = about or (ROOT / "examples" / f"{script}.py").read_text().split('"""')[1].split("\n")[0]
            parts.append(
                f"## {' '.join((f'{script}.py', *options))}\n\n{about}\n\n```\n{file.read_text().rstrip()}\n```\n"
            )
    return "\n".join(parts)


def main() -> None:
    """Runs and pastes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--budget", default="4m")
    options = parser.parse_args()
    for name in options.names:
        print(name, flush=True)
        run(name, options.budget)
    (ROOT / "docs" / "examples.md").write_text(page())


if __name__ == "__main__":
    main()

"""autotune beside Keras Tuner and plain Optuna on the same space: how long until each is, and stays, within 3% of the best.

    pip install keras-tuner tensorboard
    python benchmarks/rivals.py small_cnn [--times 6] [--rival NAME ...]

The workload needs its recorded grid (benchmarks/grids.py): its exhaustive search says how good each answer is. Everybody
searches live, one after another, with the whole machine, each rival for as many times autotune's own time as given. Rivals
run in one process, as their users run them: build, compile, train, look at the clock. They are given what a careful user
would give them: seconds of training, without compiling, until the quality that the baseline reaches, and that quality for
nothing. Where a training does not get there, its seconds count for more by what was missed. Writes docs/figures/rivals.svg.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

from replay import DATA, options_of, truth_of

from autotune.records import Configuration
from autotune.records.codec import from_json, to_json
from autotune.testing.replay import Recording

SCRIPTS = Path(__file__).parent / "workloads"
RIVALS = ("keras_tuner_random", "keras_tuner_hyperband", "optuna_tpe")
NEAR = 0.97


def say(**values: Any) -> None:
    """One line for the parent: what is best by now, after how long, with how much memory."""
    import psutil

    print("\n" + json.dumps({"rss": psutil.Process().memory_info().rss, **values}), flush=True)


def ours(name: str, recording: Recording) -> None:
    """Autotune's search on the recorded space, live."""
    from autotune.budget import Budget
    from autotune.capture import capture
    from autotune.measure.bench import Bench
    from autotune.measure.launcher import LocalLauncher
    from autotune.measure.spec import WorkerSpec
    from autotune.progress import Listener, TrialEnded
    from autotune.records import Plan
    from autotune.search import Search
    from autotune.store import RunFolder, Study
    from autotune.strategies import create

    budget = Budget(3600.0)
    script = SCRIPTS / f"{name}.py"
    with tempfile.TemporaryDirectory() as place, RunFolder(Path(place) / "run") as folder:
        launcher = LocalLauncher(folder.logs, dict(os.environ))
        spec = WorkerSpec(script=str(script), target=script.name, arguments=(), cwd=place, log_path="", metric="")
        bench = Bench(launcher, spec, str(folder.logs))
        try:
            found = capture(bench, script.name, "", None, 120.0)

            def tell(event: object) -> None:
                if isinstance(event, TrialEnded):
                    best = search.leader()
                    say(t=budget.elapsed_s, best=None if best is None else to_json(best))

            listener: Listener = tell
            search = Search(
                bench=bench,
                plan=Plan(space=recording.header.space),
                strategy=create("ladder"),
                workload=found.workload,
                options=options_of(recording),
                folder=folder,
                study=Study(folder.path),
                budget=budget,
                listener=listener,
                validation_batches=found.validation_batches,
                findings=found.findings,
            )
            search.run()
            search.close()
            best = search.answer()
            say(t=budget.elapsed_s, best=to_json(best), done=True)
        finally:
            bench.close()
            launcher.close()


class Objective:
    """Trains one configuration in this process, as a user of a tuner would.

    Args:
        name: The workload.
        recording: Its grid.
    """

    def __init__(self, name: str, recording: Recording) -> None:
        import keras

        self._keras = keras
        self._script = SCRIPTS / f"{name}.py"
        workload = recording.header.workload
        self._metric = workload.metric or "val_loss"
        self._larger = workload.metric_direction == "max"
        runs = [recording.training(recording.header.space.baseline, seed) for seed in range(recording.seeds)]
        finals = [run.curve[-1].values[self._metric] for run in runs if run is not None]
        self._target = mean(value for value in finals if value is not None)
        self._started = time.monotonic()
        self._best: tuple[float, Configuration] | None = None

    def build(self, configuration: Configuration) -> tuple[Any, dict[str, Any]]:
        """The script's model, compiled for a configuration, and what it gives to ``fit``."""
        keras, caught = self._keras, []

        class Caught(Exception):
            pass

        def fit(model: Any, *args: Any, **kwargs: Any) -> None:
            caught.append((model, args, kwargs))
            raise Caught

        plain, keras.Model.fit = keras.Model.fit, fit
        keras.config.set_dtype_policy(configuration.policy)
        try:
            exec(compile(self._script.read_text(), str(self._script), "exec"), {"__name__": "__main__"})
        except Caught:
            pass
        finally:
            keras.Model.fit = plain
        model, args, kwargs = caught[0]
        kwargs |= dict(zip(("x", "y"), args, strict=False))
        model.jit_compile, model.steps_per_execution = configuration.jit_compile, configuration.steps_per_execution
        rate = model.optimizer.learning_rate
        rate.assign(rate.numpy() * configuration.learning_rate_factor)
        if hasattr(kwargs["x"], "rebatch"):
            kwargs["x"] = kwargs["x"].rebatch(configuration.batch_size)
        else:
            kwargs["batch_size"] = configuration.batch_size
        return model, kwargs

    def seconds(
        self,
        model: Any,
        arguments: dict[str, Any],
        configuration: Configuration,
        epochs: int | None = None,
        callbacks: Sequence[Any] = (),
    ) -> float:
        """Trains until the target or the planned end; seconds for that, compiling left out, more where it falls short."""
        took: list[float] = []
        reached: list[float] = []
        clock = _clock(self._metric, took, reached, self._good)
        wanted = max(2, epochs or arguments.get("epochs", 1))
        model.fit(**{**arguments, "epochs": wanted, "callbacks": [clock, *callbacks], "verbose": 0})
        needed = next((n for n, value in enumerate(reached, 1) if self._good(value)), len(reached))
        short = 1.0 if self._good(reached[needed - 1]) else self._shortfall(reached[-1])
        score = needed * median(took[1:]) * short
        if self._best is None or score < self._best[0]:
            self._best = (score, configuration)
        say(t=time.monotonic() - self._started, best=to_json(self._best[1]))
        return score

    def _good(self, value: float) -> bool:
        return value >= self._target if self._larger else value <= self._target

    def _shortfall(self, value: float) -> float:
        ratio = self._target / value if self._larger else value / self._target
        return 2.0 * ratio if math.isfinite(ratio) and ratio > 0 else 100.0


def _clock(metric: str, took: list[float], reached: list[float], good: Callable[[float], bool]) -> Any:
    """A callback that notes the training part of each epoch and the metric, and stops where that is good."""
    import keras

    class Clock(keras.callbacks.Callback):  # type: ignore[misc]
        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            self.begun, self.ended = time.perf_counter(), 0.0

        def on_test_begin(self, logs: Any = None) -> None:
            self.ended = self.ended or time.perf_counter()

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            took.append((self.ended or time.perf_counter()) - self.begun)
            reached.append(float((logs or {})[metric]))
            self.model.stop_training = len(took) > 1 and good(reached[-1])

    return Clock()


def rival(name: str, workload: str, recording: Recording) -> None:
    """Searches until it is stopped."""
    space, objective = recording.header.space, Objective(workload, recording)

    def chosen(pick: Callable[[str, list[Any]], Any]) -> Configuration:
        batch = pick("batch_size", list(space.batch_sizes))
        rule = pick("rule", list(space.learning_rate_rules))
        factors = dict(zip(space.learning_rate_rules, space.learning_rate_factors(batch), strict=False))
        return Configuration(
            policy=pick("policy", list(space.policies)),
            batch_size=batch,
            jit_compile=bool(pick("jit_compile", list(space.jit_compile))),
            steps_per_execution=pick("steps_per_execution", list(space.steps_per_execution)),
            learning_rate_factor=factors.get(rule, 1.0),
        )

    if name == "optuna_tpe":
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)

        def play(trial: optuna.Trial) -> float:
            configuration = chosen(lambda what, values: trial.suggest_categorical(what, values))
            model, arguments = objective.build(configuration)
            return objective.seconds(model, arguments, configuration)

        optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0)).optimize(play, n_trials=100_000)
        return
    import keras_tuner

    class Model(keras_tuner.HyperModel):  # type: ignore[misc]
        def build(self, hp: Any) -> Any:
            self.configuration = chosen(lambda what, values: hp.Choice(what, values))
            model, self.arguments = objective.build(self.configuration)
            return model

        def fit(self, hp: Any, model: Any, *args: Any, **kwargs: Any) -> float:
            epochs, callbacks = kwargs.get("epochs"), kwargs.get("callbacks") or ()
            return objective.seconds(model, self.arguments, self.configuration, epochs, callbacks)

    place = tempfile.mkdtemp()
    tuner: Any
    if name == "keras_tuner_random":
        tuner = keras_tuner.RandomSearch(Model(), max_trials=100_000, seed=0, directory=place, project_name="r")
    else:
        tuner = keras_tuner.Hyperband(
            Model(),
            max_epochs=recording.header.workload.epochs,
            hyperband_iterations=100,
            seed=0,
            directory=place,
            project_name="h",
        )
    tuner.search(verbose=0)


def watch(arguments: list[str], limit_s: float) -> list[dict[str, Any]]:
    """Runs one side in a process of its own; its lines."""
    lines = []
    with subprocess.Popen(
        [sys.executable, __file__, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if not line.startswith("{"):
                continue
            lines.append(json.loads(line))
            if lines[-1]["t"] > limit_s or lines[-1].get("done"):
                break
        process.kill()
    return lines


def main() -> None:
    """Runs all sides, prints a line for each and draws their ways."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload")
    parser.add_argument("--times", type=float, default=6.0, help="time of each rival over autotune's")
    parser.add_argument("--rival", action="append", choices=RIVALS)
    parser.add_argument("--side", help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    recording = Recording.read(DATA / f"{wanted.workload}.jsonl.gz")
    if wanted.side == "autotune":
        return ours(wanted.workload, recording)
    if wanted.side:
        return rival(wanted.side, wanted.workload, recording)
    from figures import draw, line_chart

    truth = truth_of(recording)
    best, rows, own_s = max(truth.values()), [], 0.0
    print(f"{wanted.workload}: the best is {best:.2f}x, {len(recording.configurations())} configurations")
    for side in ("autotune", *(wanted.rival or RIVALS)):
        lines = watch([wanted.workload, "--side", side], 3600.0 if side == "autotune" else wanted.times * own_s)
        if not lines:
            print(f"{side:22} ended before its first trial")
            continue
        own_s = lines[-1]["t"] if side == "autotune" else own_s
        near_s: float | None = None
        for line in lines:
            share = 1.0 / best
            if line["best"] is not None:
                share = truth.get(from_json(Configuration, line["best"], what="a line"), 0.0) / best
            near_s = (near_s or line["t"]) if share >= NEAR else None
            rows.append({"seconds": line["t"], "share": share, "side": side.replace("_", " ")})
        final = None if lines[-1]["best"] is None else from_json(Configuration, lines[-1]["best"], what="a line")
        told = "never" if near_s is None else f"after {near_s:.0f} s"
        grown = lines[-1]["rss"] - lines[len(lines) // 4]["rss"]
        print(
            f"{side:22} {len(lines):4} trials in {lines[-1]['t']:5.0f} s; within 3% for good {told}; at the end"
            f" {'nothing' if final is None else final.describe(recording.header.space.baseline)}"
            f" ({rows[-1]['share']:.0%} of the best); its process grew by {grown / 2**20:.0f} MiB over the last 3/4",
            flush=True,
        )
    draw(line_chart(rows, x="seconds", y="share", by="side", titles=("seconds", "gain / best gain")), "rivals")
    return None


if __name__ == "__main__":
    main()

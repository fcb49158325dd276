"""Plays recorded grids through the real search: how far its answer is from the best, and what it costs.

    python benchmarks/replay.py [--runs 20] [--strategy ladder] [NAME ...]

The best is what an exhaustive search of the same grid would name: every configuration timed to 1% and judged over three
seeds by the same rules: the highest lower bound of the gain. Regret is the share of that bound that the bound of the
search's answer misses. Cost is time on the recorded
machine: a virtual clock goes on by what each trial took there. Needs no TensorFlow and no quiet machine.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from autotune.budget import Budget
from autotune.judge.board import Case, cases
from autotune.measure.bench import Measurer
from autotune.progress import ignore
from autotune.records import Configuration, JudgeOptions, Plan, SearchSpace, WorkloadInfo
from autotune.search import Search
from autotune.store import RunFolder, Study
from autotune.strategies import create
from autotune.testing.replay import Recording, ReplayBench
from autotune.testing.simulated import VirtualClock

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Run:
    """One replayed search.

    Attributes:
        answer: What it names; the baseline where it keeps that.
        regret: Share of the best gain that the answer misses.
        cost: Its time over the exhaustive search's.
        timing_cost: Time of its speed trials over that of timing all.
        elapsed_s: Its time.
    """

    answer: Configuration
    regret: float
    cost: float
    timing_cost: float
    elapsed_s: float


def options_of(recording: Recording) -> JudgeOptions:
    """The decision rule with as many seeds as were recorded."""
    return JudgeOptions(minimum_seeds=min(3, recording.seeds), maximum_seeds=recording.seeds)


def truth_of(recording: Recording) -> dict[Configuration, float]:
    """Gains of all configurations that the exhaustive search may recommend, the baseline's 1 among them."""
    space, workload = recording.header.space, recording.header.workload
    judged = cases(space.baseline, workload, options_of(recording), recording.judged())
    gains = {space.baseline: 1.0}
    gains |= {case.configuration: _gain(case) for case in judged if case.proof == "matches" and case.fault is None}
    return gains


def _gain(case: Case) -> float:
    """The lower bound, which is what the decision rule compares: three seeds leave some gains known to a factor of two."""
    return 1.0 if case.gain is None or case.gain.low is None else case.gain.low


def searched(
    bench: Measurer,
    clock: VirtualClock,
    space: SearchSpace,
    workload: WorkloadInfo,
    options: JudgeOptions,
    *,
    budget_s: float,
    strategy: str = "ladder",
    seed: int = 0,
) -> Configuration:
    """What a whole search on a machine with a virtual clock names; the baseline where it keeps that."""
    with tempfile.TemporaryDirectory() as place, RunFolder(Path(place)) as folder:
        search = Search(
            bench=bench,
            plan=Plan(space=space),
            strategy=create(strategy, seed=seed),
            workload=workload,
            options=options,
            folder=folder,
            study=Study(folder.path),
            budget=Budget(budget_s, clock),
            listener=ignore,
        )
        search.run()
        search.close()
        return search.answer()


def play(recording: Recording, strategy: str, seed: int, budget_s: float, truth: dict[Configuration, float]) -> Run:
    """One search on the recorded machine."""
    clock = VirtualClock()
    bench = ReplayBench(recording, clock, seed)
    header, options = recording.header, options_of(recording)
    answer = searched(
        bench, clock, header.space, header.workload, options, budget_s=budget_s, strategy=strategy, seed=seed
    )
    timing_s, training_s = bench.exhaustive_s()
    return Run(
        answer=answer,
        regret=1.0 - truth.get(answer, 1.0) / max(truth.values()),
        cost=clock() / (timing_s + training_s),
        timing_cost=bench.timing_s / timing_s,
        elapsed_s=clock(),
    )


def main() -> None:
    """Plays and prints a line for each recording, and one for all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--strategy", default="ladder")
    parser.add_argument("--budget", type=float, default=600.0)
    wanted = parser.parse_args()
    names = wanted.names or sorted(path.name.removesuffix(".jsonl.gz") for path in DATA.glob("*.jsonl.gz"))
    regrets = []
    print(f"{'workload':14} {'options':>7} {'best':>6} {'regret':>7} {'cost':>6} {'timing':>7} {'time':>6}  answer")
    for name in names:
        recording = Recording.read(DATA / f"{name}.jsonl.gz")
        truth = truth_of(recording)
        runs = [play(recording, wanted.strategy, seed, wanted.budget, truth) for seed in range(wanted.runs)]
        regrets += [run.regret for run in runs]
        answers = [run.answer.describe(recording.header.space.baseline) for run in runs]
        common = max(set(answers), key=answers.count)
        best = max(truth, key=lambda c: truth[c])
        print(
            f"{name:14} {len(recording.configurations()):7} {max(truth.values()):5.2f}x {median(r.regret for r in runs):7.1%}"
            f" {median(r.cost for r in runs):6.1%} {median(r.timing_cost for r in runs):7.1%}"
            f" {median(r.elapsed_s for r in runs):5.0f}s  {common} ({answers.count(common)} of {len(runs)});"
            f" best: {best.describe(recording.header.space.baseline)}"
        )
    print(f"regret over all runs: median {median(regrets):.1%}, worst {max(regrets):.1%}")


if __name__ == "__main__":
    main()

"""What was measured so far, stored as it comes, and where everything stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from autotune.budget import Budget
from autotune.judge.board import Case, board_of, cases
from autotune.judge.choice import choose, leading
from autotune.judge.speed import mean_step_time_s, speed
from autotune.progress import Listener, TrialEnded
from autotune.records import Board, Configuration, JudgeOptions, Measurement, Purpose, WorkloadInfo
from autotune.store import RunFolder


class Ledger:
    """All measurements of a run, the baseline's first.

    Args:
        baseline: The script as written, at float32.
        workload: The captured fit.
        options: The decision rule's settings.
        folder: Where measurements are stored.
        budget: Its clock dates the measurements.
        listener: Is told of each.
        recalled: Measurements of an earlier, interrupted run of the same thing.
    """

    def __init__(
        self,
        *,
        baseline: Configuration,
        workload: WorkloadInfo,
        options: JudgeOptions,
        folder: RunFolder,
        budget: Budget,
        listener: Listener,
        recalled: Sequence[Measurement] = (),
    ) -> None:
        self.baseline = baseline
        self.workload = workload
        self.options = options
        self._folder = folder
        self._budget = budget
        self._listener = listener
        self._recalled = list(recalled)
        self._judged: tuple[int, list[Case], Board] | None = None
        self.measurements: list[Measurement] = []

    def cases(self) -> list[Case]:
        """Every configuration with what the judge says of it."""
        return self._judgement()[0]

    def board(self) -> Board:
        """Where every configuration stands, for what chooses the next."""
        return self._judgement()[1]

    def case_of(self, configuration: Configuration) -> Case | None:
        """One configuration's case; None where it was never measured."""
        return next((case for case in self.cases() if case.configuration == configuration), None)

    def leader(self) -> Case | None:
        """The best configuration that is proven, whether it was compared in alternation or not; None without."""
        return leading(self.cases(), self.baseline, self.options)

    def answer(self) -> Case | None:
        """What would be recommended now; None to keep the baseline."""
        return choose(self.cases(), self.baseline, self.options)

    def known(self, purpose: Purpose, configuration: Configuration, seed: int = 0) -> Measurement | None:
        """The trial of this run, None where there was none."""
        wanted = (purpose, configuration, seed)
        return next((m for m in self.measurements if (m.purpose, m.configuration, m.seed) == wanted), None)

    def trained(self) -> set[tuple[str, int]]:
        """Keys of configurations and seeds whose quality runs were made, failed ones included."""
        return {(m.configuration.key, m.seed) for m in self.measurements if m.purpose == "quality"}

    def keep(self, measurement: Measurement) -> Measurement:
        """Numbers, dates and stores a new measurement."""
        dated = replace(measurement, started_s=self._budget.elapsed_s - (measurement.wall_s or 0.0))
        kept = self._number(dated)
        self._folder.append(kept)
        standing = self.board().of(kept.configuration)
        relative = None if standing is None else standing.relative_speed
        self._listener(TrialEnded(measurement=kept, relative_speed=relative))
        return kept

    def recall(
        self,
        purpose: Purpose,
        configuration: Configuration,
        seed: int,
        usable: Callable[[Measurement], bool] = lambda measurement: True,
    ) -> Measurement | None:
        """The same trial of the interrupted run, which then counts in this one; None where there was none that is usable."""
        for index, old in enumerate(self._recalled):
            if (old.purpose, old.configuration, old.seed) == (purpose, configuration, seed) and usable(old):
                kept = self._number(self._recalled.pop(index))
                self._listener(TrialEnded(measurement=kept, relative_speed=None, recalled=True))
                return kept
        return None

    def recall_duel(self, duel_id: str) -> bool:
        """Takes over both sides of a duel of the interrupted run; whether there were two."""
        sides = [old for old in self._recalled if old.duel_id == duel_id]
        if len(sides) != 2:
            return False
        for side in sides:
            self._number(side)
        return True

    @property
    def step_time_s(self) -> float:
        """Mean step time of the baseline's first trial."""
        return mean_step_time_s(self.measurements[0].chunks)

    @property
    def planned_s(self) -> float | None:
        """Length of the planned training as written; None when unknown."""
        samples, found = self.workload.planned_samples, speed(self.measurements[0].chunks)
        return None if samples is None or found is None else samples / found.samples_per_s.value

    @property
    def spent_s(self) -> float:
        """What all trials took, those of an earlier, interrupted run too."""
        return sum(m.wall_s or 0.0 for m in self.measurements)

    def _number(self, measurement: Measurement) -> Measurement:
        kept = replace(measurement, number=len(self.measurements))
        self.measurements.append(kept)
        return kept

    def _judgement(self) -> tuple[list[Case], Board]:
        """Judged once for each new measurement, though it is asked for more often."""
        count = len(self.measurements)
        if self._judged is None or self._judged[0] != count:
            judged = cases(self.baseline, self.workload, self.options, self.measurements)
            self._judged = (count, judged, board_of(self.baseline, judged))
        return self._judged[1:]

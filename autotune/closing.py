"""What an answer needs at the end: baseline and winner in alternation, and more steps of what won."""

from __future__ import annotations

from autotune.budget import REPORT_S, Budget
from autotune.judge.board import Case
from autotune.judge.choice import admissible, best_low, gain_low
from autotune.judge.speed import paired_ratio
from autotune.ledger import Ledger
from autotune.measure.bench import Measurer
from autotune.progress import Listener, StageStarted, TrialStarted
from autotune.prove import WORTH
from autotune.records import Chunk, Configuration
from autotune.timing import CHUNK_S

_FEWEST_PAIRS, _MOST_PAIRS = 12, 40
_HALF_WIDTH = 0.015
_SHORTEST_DUEL_S, _LONGEST_DUEL_S = 10.0, 20.0
# Of the time that the search took, where that is between the two.
_DUEL_SHARE = 0.15
# Between epochs Keras spends tens of milliseconds on fetching data anew. Where epochs are this short that counts, and whole
# ones are compared; of longer ones it is a few percent, the same on both sides.
_SHORT_EPOCH_S = 1.0
_MOST_DUELS = 3
# What leads trains on for this part of the time that the search took, no longer than the planned training.
_SOAK_SHARE, _SHORTEST_SOAK_S, _SOAK_START_S = 0.15, 2.0, 3.0


class Closing:
    """Duels and the soak.

    Args:
        ledger: Keeps what is measured, and names the leader.
        bench: Measures.
        budget: Time.
        listener: Is told what happens.
    """

    def __init__(self, *, ledger: Ledger, bench: Measurer, budget: Budget, listener: Listener) -> None:
        self._ledger = ledger
        self._bench = bench
        self._budget = budget
        self._listener = listener

    def close(self) -> None:
        """Duels of those that lead, and a soak of what wins; where that takes its lead away, its heir goes through the same.

        Raises:
            HardwareError: The comparison could not be made.
        """
        for _ in range(_MOST_DUELS):
            self.duels()
            answer = self._ledger.answer()
            if answer is None or not self._soak(answer.configuration):
                return
            after = self._ledger.answer()
            if after is not None and after.configuration == answer.configuration:
                return

    def duels(self) -> None:
        """Baseline and leader in alternation; where another may yet win, that too, while there is time."""
        for _ in range(_MOST_DUELS):
            heir = self._heir()
            if heir is None:
                return
            self.duel(heir.configuration)

    def duel(self, leader: Configuration) -> None:
        """Baseline and one configuration in alternation.

        Raises:
            HardwareError: The comparison could not be made.
        """
        started = self._budget.elapsed_s
        self._duel(leader)
        self._budget.spent("duel", self._budget.elapsed_s - started)

    def _duel(self, leader: Configuration) -> None:
        ledger, baseline = self._ledger, self._ledger.baseline
        what = f"{leader.describe(baseline)} against the baseline, in alternation"
        self._listener(StageStarted(stage="duel", detail=what))
        duel_id = f"{baseline.key}-{leader.key}"
        if ledger.recall_duel(duel_id):
            return
        self._listener(TrialStarted(purpose="duel", configuration=leader))
        patience_s = min(_LONGEST_DUEL_S, max(_SHORTEST_DUEL_S, _DUEL_SHARE * ledger.spent_s))
        deadline = self._budget.elapsed_s + max(2.0, min(self._budget.left_s - REPORT_S, patience_s))
        steps = ledger.workload.steps_per_epoch
        epoch_s = None if steps is None else steps * ledger.step_time_s
        for measurement in self._bench.duel(
            baseline,
            leader,
            chunk_s=CHUNK_S,
            duel_id=duel_id,
            enough=lambda ours, theirs: _settled(ours, theirs) or self._budget.elapsed_s > deadline,
            whole_epochs=epoch_s is not None and epoch_s <= _SHORT_EPOCH_S,
        ):
            ledger.keep(measurement)

    def _heir(self) -> Case | None:
        """Who is compared with the baseline next: the leader, then whoever may win by more than matters; None to end."""
        ledger = self._ledger
        if not any(m.purpose == "duel" for m in ledger.measurements):
            return ledger.leader()
        if self._budget.expected_s("duel", _LONGEST_DUEL_S) > self._budget.left_s - REPORT_S:
            return None
        answer = ledger.answer()
        known = 0.0 if answer is None else gain_low(answer)
        # In a short training's tuning a duel is dear: there an heir must be ahead as things stand.
        hope = gain_low if self._budget.presses(ledger.planned_s) else best_low
        left = [c for c in ledger.cases() if c.duel is None and admissible(c, ledger.baseline)]
        heir = max(left, key=hope, default=None)
        enough = max(WORTH * known, ledger.options.minimum_gain)
        return heir if heir is not None and hope(heir) >= enough else None

    def _soak(self, leader: Configuration) -> bool:
        """Trains on with the leader; whether that was done."""
        ledger = self._ledger
        if ledger.known("soak", leader) is not None:
            return False
        planned_s = ledger.planned_s or _SOAK_SHARE * ledger.spent_s
        limit_s = min(self._budget.left_s - REPORT_S - _SOAK_START_S, _SOAK_SHARE * ledger.spent_s, planned_s)
        if limit_s < max(_SHORTEST_SOAK_S, 20 * ledger.step_time_s):
            return False
        if ledger.recall("soak", leader, 0) is not None:
            return True
        self._listener(StageStarted(stage="soak", detail=f"more steps of {leader.describe(ledger.baseline)}"))
        self._listener(TrialStarted(purpose="soak", configuration=leader))
        ledger.keep(self._bench.soak(leader, limit_s=limit_s, capture_limit_s=max(5.0, self._budget.left_s)))
        return True


def _settled(ours: list[Chunk], theirs: list[Chunk]) -> bool:
    pairs = min(len(ours), len(theirs))
    if pairs < _FEWEST_PAIRS:
        return False
    ratio = paired_ratio(ours[:pairs], theirs[:pairs])
    half = None if ratio is None else ratio.half_log
    return pairs >= _MOST_PAIRS or (half is not None and half < _HALF_WIDTH)

"""What an answer needs at the end: baseline and winner in alternation, and more steps of what won."""

from __future__ import annotations

from autotune.budget import REPORT_S, Budget
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
        """Duel and soak of the leader; where these take the lead away, its heir goes through the same.

        Raises:
            HardwareError: The comparison could not be made.
        """
        for _ in range(_MOST_DUELS):
            self.duels()
            leader = self._ledger.leader()
            if leader is None or not self._soak(leader) or self._ledger.leader() == leader:
                return

    def duels(self) -> None:
        """Baseline and leader in alternation; where that takes the lead away, the heir too, while there is time."""
        for _ in range(_MOST_DUELS):
            leader = self._ledger.leader()
            fought = {m.configuration for m in self._ledger.measurements if m.purpose == "duel"}
            if leader is None or leader in fought or not self._worth_a_duel(leader, fought):
                return
            self.duel(leader)

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

    def _worth_a_duel(self, leader: Configuration, fought: set[Configuration]) -> bool:
        """Whether an heir promises enough, and time is left, after another configuration had its duel."""
        if not fought:
            return True
        gains = {s.configuration: s.time_to_quality or 0.0 for s in self._ledger.board().standings}
        known = max((gains.get(c, 0.0) for c in fought - {self._ledger.baseline}), default=0.0)
        enough_s = self._budget.expected_s("duel", _LONGEST_DUEL_S) <= self._budget.left_s - REPORT_S
        return enough_s and gains[leader] >= WORTH * known

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

"""Speed trials: the baseline's first, then each raced against it."""

from __future__ import annotations

import math

from autotune.baseline import baseline_failure
from autotune.budget import Budget
from autotune.errors import BudgetError, NoisyMachineError
from autotune.judge.interval import Interval
from autotune.judge.speed import beside, enough, hopeless, settled, speed
from autotune.ledger import Ledger
from autotune.measure.bench import Measurer, Stop
from autotune.progress import Listener, TrialProgress, TrialStarted
from autotune.records import Chunk, Configuration, Measurement, Outcome, Plan
from autotune.store import Study

CHUNK_S = 0.15
_LEAST_CHUNKS = 4
_LEAST_TIME_S = 3.0
# Half width of the interval of the baseline's step time beyond which no comparison can be trusted.
_TOO_NOISY = 0.6
# Where all else is compared with its trial, that goes on this many times longer until it is known well enough.
_BASELINE_PATIENCE, _BASELINE_PATIENCE_BESIDE = 5.0, 2.5
_GOOD_ENOUGH = 0.04
# A trial goes on this many times longer while it cannot be told from the fastest so far at its batch.
_CONTENDER_PATIENCE = 3.0
# Peaks of the baseline that two workers side by side may take, with a margin.
_WORKERS_BESIDE = 2.5


class Timing:
    """Times configurations, and tells the study.

    Args:
        ledger: Keeps what is measured.
        bench: Measures.
        plan: Space and hopeless policies.
        study: The Optuna study.
        budget: Time.
        listener: Is told what happens.
        room_bytes: Memory for workers. Trials are timed with the baseline beside them, for machines that others work on change
            their pace, where two workers fit; 0 where they must not be at work at once, as on a GPU.
    """

    def __init__(
        self,
        *,
        ledger: Ledger,
        bench: Measurer,
        plan: Plan,
        study: Study,
        budget: Budget,
        listener: Listener,
        room_bytes: float = math.inf,
    ) -> None:
        self._ledger = ledger
        self._bench = bench
        self._plan = plan
        self._study = study
        self._budget = budget
        self._listener = listener
        self._room_bytes = room_bytes

    def baseline(self) -> None:
        """Times the baseline, which all else is compared with.

        Raises:
            BudgetError: No time is left for it.
            WorkloadError: It fails or is not finite.
            NoisyMachineError: Its step time cannot be told.
        """
        ledger = self._ledger
        if ledger.recall("speed", ledger.baseline, 0, _tells) is not None:
            return
        if self._budget.left_s < _LEAST_TIME_S:
            raise BudgetError(
                f"the budget ran out before the baseline was measured: {self._budget.elapsed_s:.0f} s went by until fit",
                hint=f"give at least --budget {2 * self._budget.elapsed_s + 30:.0f}s",
            )
        measurement = self._measure(ledger.baseline, first=True)
        if measurement.outcome is not Outcome.OK:
            raise baseline_failure(measurement, ledger.workload.target)
        if not _tells(measurement):
            half = _half_width(measurement)
            spread = "could not be told" if half is None else f"is uncertain by {half:.0%}"
            raise NoisyMachineError(
                f"this machine is too noisy to measure on: the baseline's step time {spread}",
                hint="stop other programs, or try again later",
            )

    def time(self, configuration: Configuration) -> Measurement:
        """Times a configuration, or takes over the trial of the interrupted run."""
        return self._ledger.recall("speed", configuration, 0) or self._measure(configuration)

    def _measure(self, configuration: Configuration, *, first: bool = False) -> Measurement:
        ledger = self._ledger
        self._listener(TrialStarted(purpose="speed", configuration=configuration))
        number = self._study.ask(configuration, self._plan.space)
        started = self._budget.elapsed_s
        baseline = None if first else ledger.measurements[0]
        limit_s = min(max(self._budget.total_s / 100.0, 1.2), 2.0 if self._alternate else 3.0)
        hopeless_policy = configuration.policy in self._plan.hopeless_policies
        patience = _BASELINE_PATIENCE_BESIDE if self._alternate else _BASELINE_PATIENCE
        measurement = self._bench.speed(
            configuration,
            chunk_s=CHUNK_S,
            limit_s=patience * limit_s
            if first
            else min(limit_s, 1.0)
            if hopeless_policy
            else _CONTENDER_PATIENCE * limit_s,
            stop=self._racing(baseline, limit_s, self._fastest(configuration)),
            beside=ledger.baseline if self._alternate and not first else None,
            input_free=first,
            capture_limit_s=max(5.0, self._budget.left_s),
        )
        self._budget.spent("speed", self._budget.elapsed_s - started)
        kept = ledger.keep(measurement)
        standing = ledger.board().of(configuration)
        self._study.tell(
            number,
            None if standing is None else standing.relative_speed,
            kept.outcome,
            {
                "seed": 0,
                "key": configuration.key,
                "reason": kept.reason or "",
                "float32_layers": list(configuration.float32_layers),
            },
            infeasible=kept.outcome is not Outcome.OK,
        )
        return kept

    def _fastest(self, configuration: Configuration) -> float:
        """Relative speed of the fastest so far at the same batch; the baseline's 1 without."""
        alike = [s for s in self._ledger.board().standings if s.configuration.batch_size == configuration.batch_size]
        return max((s.relative_speed for s in alike if s.alive and s.relative_speed is not None), default=1.0)

    def _racing(self, baseline: Measurement | None, limit_s: float, fastest: float) -> Stop:
        """When a speed trial may end: its interval is narrow, or it is hopeless, or its time is up.

        The baseline's has more patience, and so has one that could be faster than the fastest so far or slower.
        """

        def stop(chunks: list[Chunk], reference: list[Chunk]) -> bool:
            timed = [c for c in chunks if not c.warmup]
            if timed:
                last = timed[-1]
                self._listener(TrialProgress(step_time_s=last.duration_s / last.steps))
            if len(timed) < _LEAST_CHUNKS:
                return False
            timed_s = sum(c.duration_s for c in timed)
            if reference:
                ratio = beside(reference, timed)
                return settled(ratio) or (timed_s >= limit_s and not _contends(ratio, fastest))
            if enough(timed):
                return True
            if baseline is not None:
                return timed_s >= limit_s or hopeless(baseline.chunks, timed)
            found = speed(timed)
            half = None if found is None else found.step_time_s.half_log
            return timed_s >= limit_s and half is not None and half <= _GOOD_ENOUGH

        return stop

    @property
    def _alternate(self) -> bool:
        """Whether two workers fit side by side, as far as the baseline's own trial tells."""
        peak = next((m.peak_memory_bytes for m in self._ledger.measurements if m.peak_memory_bytes), 0)
        return _WORKERS_BESIDE * peak < self._room_bytes


def _contends(ratio: Interval | None, fastest: float) -> bool:
    """Whether a trial cannot be told from the fastest so far, and that by more than matters."""
    if ratio is None or ratio.low is None or ratio.high is None or ratio.half_log is None:
        return False
    return ratio.low < fastest < ratio.high and ratio.half_log > _GOOD_ENOUGH


def _half_width(measurement: Measurement) -> float | None:
    """Half width of the interval of a trial's step time, of its logarithm; None where it cannot be told."""
    found = speed(measurement.chunks)
    return None if found is None else found.step_time_s.half_log


def _tells(measurement: Measurement) -> bool:
    """Whether a trial of the baseline tells its step time well enough for others to be compared with it."""
    half = _half_width(measurement)
    return measurement.outcome is Outcome.OK and half is not None and half <= _TOO_NOISY

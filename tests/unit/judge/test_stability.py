"""Updates applied, skips while the scale settles, scales that fall."""

from __future__ import annotations

from autotune.judge.stability import fault, outcome, settled_at, skipped, stability, too_many
from autotune.records import Outcome
from tests.unit.builders import FLOAT16, quality_run, speed_trial, trace


def run(applied: list[int], **more: object):
    total, updates = 0, []
    for step in applied:
        total += step
        updates.append(total)
    values = {
        "loss_scale_initial": 32768.0,
        "loss_scale_final": 1024.0,
        "trace": trace(updates=updates),
        "updates": total,
    }
    return quality_run(FLOAT16, 0, [0.9], **{**values, "steps": len(applied), **more})


def test_skips_while_the_first_scale_settles_are_healthy() -> None:
    """A dozen at the start are no fault and are not counted."""
    healthy = run([0] * 12 + [1] * 400)
    assert fault(healthy) is None
    assert skipped(healthy) == (0, 206)


def test_skips_after_settling_are_counted() -> None:
    """More than 1% after the scale has settled is a fault."""
    sick = run([1] * 100 + [0, 1, 1, 1] * 50)
    assert skipped(sick) == (37, 150)
    assert "37 of 150 updates were skipped" in (fault(sick) or "")


def test_a_scale_that_comes_down_once_an_epoch_is_healthy() -> None:
    """Recorded from a healthy small CNN: the same hard batch halves the scale, seven times over six epochs."""
    applied = [1] * 678
    for step in (132, 141, 223, 336, 449, 562, 675):
        applied[step] = 0
    assert fault(run(applied, loss_scale_final=256.0)) is None


def test_a_few_skips_in_a_short_trial_are_no_evidence_of_a_rate() -> None:
    """One of fifty is 2%, and proves nothing; twenty of a thousand do."""
    assert not too_many(1, 50)
    assert too_many(25, 1000) and not too_many(10, 1000)


def test_a_scale_below_one_is_a_fault_although_updates_count() -> None:
    """Zero gradients count as finite: the scale tells."""
    assert "loss scale fell" in (fault(run([1] * 100, loss_scale_final=2.0**-20)) or "")


def test_weights_that_do_not_move_are_a_fault() -> None:
    """Whatever the metric says."""
    assert "no weight moved" in (fault(run([1] * 100, weights_moved=False)) or "")


def test_an_outcome_other_than_ok_is_a_fault_with_its_reason() -> None:
    """The reason is kept."""
    assert fault(run([1], outcome=Outcome.NON_FINITE, reason="loss not finite")) == "loss not finite"


def test_never_settled_counts_everything() -> None:
    """A run that always skips has no settled part."""
    assert settled_at([False] * 200) is None
    assert skipped(run([0] * 200)) == (200, 200)


def test_without_a_trace_halvings_explain_skips() -> None:
    """Five skips, five halvings: nothing lost after settling."""
    trial = speed_trial(FLOAT16, steps=105, updates=100, loss_scale_initial=2.0**15, loss_scale_final=2.0**10)
    assert skipped(trial) == (0, 105)


def test_a_short_trace_may_end_before_a_long_run() -> None:
    """Twenty steps, twelve skips at the start: settled at the thirteenth. Skips up to the end: not settled."""
    assert settled_at([False] * 12 + [True] * 8) == 12
    assert fault(run([0] * 12 + [1] * 8)) is None
    assert settled_at([True] * 18 + [False, True]) is None


def test_no_update_at_all_is_a_fault_that_corrects_the_outcome() -> None:
    """Whatever the worker said: a run that applied nothing has not trained."""
    none = speed_trial(FLOAT16, updates=0, weights_moved=None)
    assert fault(none) == "no update was applied in 121 steps" and outcome(none) is Outcome.NO_UPDATES
    assert outcome(run([0] * 200, weights_moved=False)) is Outcome.NO_UPDATES
    assert outcome(speed_trial()) is Outcome.OK


def test_an_optimizer_that_does_not_count_is_no_fault() -> None:
    """A training step of the script's own may update weights without counting: that they moved is enough."""
    assert fault(speed_trial(updates=0, weights_moved=True)) is None
    assert outcome(speed_trial(outcome=Outcome.TIMEOUT, updates=0)) is Outcome.TIMEOUT


def test_evidence_adds_up_over_trials() -> None:
    """Steps of all trials; no skipped updates known is not zero skipped."""
    found = stability([speed_trial(), quality_run(FLOAT16, 0, [0.9], nonfinite_steps=0)])
    assert (found.steps, found.nonfinite_steps, found.skipped_updates) == (152, 0, 0)
    assert stability([speed_trial(updates=None)]).skipped_updates is None

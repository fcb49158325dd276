"""Each proof says what was measured, no more, and what is unknown is called so."""

from __future__ import annotations

from dataclasses import replace

from autotune.records import (
    AccuracyEvidence,
    CostEvidence,
    MemoryEvidence,
    Recommendation,
    SpeedEvidence,
    StabilityEvidence,
)
from autotune.reports.model import Proof
from autotune.reports.proofs import difference_interval, proofs, speed_interval
from tests.unit.reports.samples import by_batch, by_precision, fixed_batch, interrupted, keep_baseline, nothing_known


def told(record: Recommendation) -> dict[str, Proof]:
    """Proofs by label."""
    return {proof.label: proof for proof in proofs(record)}


def test_the_everyday_answer() -> None:
    proof = told(by_precision())
    assert list(proof) == ["faster", "stable", "accurate", "memory", "pays off"]
    assert proof["faster"].text == "19.7 -> 11.5 ms a step, measured in alternation, 24 pairs"
    assert proof["stable"].text == (
        "for 1,240 steps, nothing non-finite, no update skipped (bfloat16 needs no loss scale)"
    )
    assert proof["accurate"].text == (
        "val_accuracy 0.914 against 0.915, spread 0.004, 5 paired seeds, over 2.1% of the planned run;"
        " a drop of 0.009 would have been seen"
    )
    assert proof["pays off"].text == "after 2 of 50 epochs; saves 41 min of 1 h 38 min"
    assert {part.state for part in proof.values()} == {"good"}


def test_other_batches_are_compared_by_samples_not_by_steps() -> None:
    text = told(by_batch())["faster"].text
    assert text.startswith("3,249 -> 7,240 samples a second")
    assert "time to the baseline's quality 1.92x (1.70 to 2.10) shorter" in text


def test_an_interval_that_reaches_one_is_no_proof_of_speed() -> None:
    record = by_precision()
    record = replace(record, speed=replace(record.speed, speedup_low=0.98))
    assert told(record)["faster"].state == "open"


def test_a_kept_baseline_has_its_own_accuracy() -> None:
    kept = AccuracyEvidence(metric="val_accuracy", baseline=0.9493, baseline_spread=0.0049, reason="nothing to compare")
    proof = told(replace(keep_baseline(), accuracy=kept))["accuracy"]
    assert proof.text == "val_accuracy 0.949, spread 0.005: as written, for the baseline is kept"
    unknown = told(replace(keep_baseline(), accuracy=replace(kept, baseline=None)))["accuracy"]
    assert (unknown.state, unknown.text) == ("open", "not settled: nothing to compare")


def test_separate_trials_are_not_called_a_duel() -> None:
    record = by_precision()
    record = replace(record, speed=replace(record.speed, source="trials"))
    assert "separate trials" in told(record)["faster"].text


def test_skipped_updates_and_the_scale_are_told() -> None:
    record = replace(
        by_precision(),
        stability=StabilityEvidence(
            steps=400,
            nonfinite_steps=0,
            skipped_updates=3,
            skipped_fraction=0.0075,
            loss_scale_initial=32768.0,
            loss_scale_final=4096.0,
        ),
    )
    assert told(record)["stable"].text == (
        "for 400 steps, nothing non-finite, 3 updates skipped (0.75%), loss scale 32,768 (2^15) -> 4,096 (2^12)"
    )


def test_what_was_not_watched_is_not_called_stable() -> None:
    record = replace(by_precision(), stability=StabilityEvidence(steps=400))
    proof = told(record)["stable"]
    assert proof.state == "open"
    assert "not watched" in proof.text and "not counted" in proof.text


def test_non_finite_steps_speak_against_it() -> None:
    record = replace(by_precision(), stability=StabilityEvidence(steps=400, nonfinite_steps=2))
    assert told(record)["stable"].state == "bad"


def test_inconclusive_accuracy_gives_its_reason() -> None:
    proof = told(interrupted())["accuracy"]
    assert proof.state == "open"
    assert proof.text.startswith("inconclusive: ") and proof.text.endswith("1 seed of at least 3")


def test_worse_accuracy_speaks_against_it() -> None:
    record = by_precision()
    record = replace(record, accuracy=replace(record.accuracy, verdict="worse"))
    assert told(record)["accurate"].state == "bad"
    assert "would have been seen" not in told(record)["accurate"].text


def test_training_data_and_dependent_seeds_are_admitted() -> None:
    record = fixed_batch()
    record = replace(record, accuracy=replace(record.accuracy, independent_seeds=2, paired=False))
    text = told(record)["accurate"].text
    assert "on training data, for there is no validation" in text
    assert "5 seeds, 2 of them independent" in text
    assert "a rise of 0.0003 would have been seen" in text


def test_a_run_too_short_to_pay_is_said_to_be() -> None:
    proof = told(fixed_batch())["pays off"]
    assert proof.state == "open"
    assert proof.text.startswith("after 123 epochs, more than the 5 planned")


def test_unknown_savings_stay_unknown() -> None:
    record = replace(by_precision(), cost=CostEvidence(tuning_s=97.0))
    assert told(record)["pays off"].text == "unknown; tuning took 97 s"


def test_memory_near_its_limit_and_above_it() -> None:
    near = replace(by_precision(), memory=MemoryEvidence(peak_bytes=95 * 2**20, limit_bytes=100 * 2**20))
    assert told(near)["memory"].state == "open"
    assert "less than a tenth away" in told(near)["memory"].text
    above = replace(by_precision(), memory=MemoryEvidence(peak_bytes=101 * 2**20, limit_bytes=100 * 2**20))
    assert told(above)["memory"].state == "bad"


def test_keeping_the_baseline_claims_no_gain() -> None:
    proof = told(keep_baseline())
    assert "faster" not in proof and "pays off" not in proof
    assert proof["measured"].text == "19.7 ms a step as written, 3,249 samples a second"


def test_the_baseline_is_not_compared_with_itself() -> None:
    record = keep_baseline()
    speed = replace(record.speed, speedup=1.0, speedup_low=1.0, speedup_high=1.0)
    record = replace(record, speed=speed)
    assert told(record)["measured"].text == "19.7 ms a step as written, 3,249 samples a second"
    assert speed_interval(speed) is None


def test_nothing_known_claims_nothing() -> None:
    assert list(told(nothing_known())) == ["took"]


def test_figures_need_an_interval() -> None:
    assert speed_interval(SpeedEvidence(speedup=1.5)) is None
    assert difference_interval(AccuracyEvidence(difference=0.1)) is None
    interval = difference_interval(by_precision().accuracy)
    assert interval is not None and interval.limit == -0.00915
    assert interval.text == "-0.001 (-0.005 to +0.003)"

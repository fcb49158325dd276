"""The decision rule."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autotune.recommend import recommend
from autotune.records import Configuration, Excluded, GpuInfo, JudgeOptions, Measurement, Outcome
from autotune.records.codec import dumps, loads
from autotune.records.recommendation import Recommendation
from tests.unit.builders import BASELINE, BFLOAT16, FLOAT16, duel, hardware, quality_run, record, speed_trial, workload

GOOD = [0.80, 0.90, 0.93, 0.95]


def proven(
    configuration: Configuration, step_time_s: float, curve: list[float] | None = None, seeds: int = 3
) -> list[Measurement]:
    """A speed trial, quality runs and a duel of one configuration."""
    runs = [quality_run(configuration, s, [v + 0.001 * s for v in curve or GOOD]) for s in range(seeds)]
    return [speed_trial(configuration, step_time_s, noise_seed=3), *runs, *duel(0.010, configuration, step_time_s)]


def base() -> list[Measurement]:
    """The baseline: 10 ms a step."""
    return [speed_trial(), *(quality_run(BASELINE, s, [v + 0.001 * s for v in GOOD]) for s in range(3))]


def test_a_proven_faster_policy_is_recommended_with_the_duels_ratio() -> None:
    """The claim is the ratio of the closing duel, not of separate trials."""
    measured = proven(BFLOAT16, 0.005)
    measured[0] = speed_trial(BFLOAT16, 0.004)  # the separate trial was too kind
    answer = recommend(record([*base(), *measured]))
    assert (answer.verdict, answer.configuration) == ("recommended", BFLOAT16)
    assert answer.speed.source == "duel" and answer.speed.pairs == 20
    assert answer.speed.speedup == pytest.approx(2.0, rel=0.02)
    assert answer.speed.step_time_s == pytest.approx(0.005, rel=0.02)
    assert answer.accuracy.verdict == "matches" and answer.accuracy.seeds == 3
    low, high = f"{answer.speed.speedup_low:.2f}", f"{answer.speed.speedup_high:.2f}"
    figures = f"{answer.speed.speedup:.2f}x faster ({low} to {high})"
    assert answer.headline == f"Use mixed_bfloat16 at batch 32: {figures}, same accuracy."
    assert answer.why and low in answer.why[0]


@pytest.mark.parametrize(
    ("curve", "seeds", "why"),
    [([0.4, 0.5, 0.6, 0.7], 3, "worse"), (GOOD, 2, "open"), (GOOD, 1, "open")],
)
def test_only_a_match_over_three_seeds_is_recommended(curve: list[float], seeds: int, why: str) -> None:
    """Worse or not settled: the baseline stays, and the reason is told."""
    answer = recommend(record([*base(), *proven(BFLOAT16, 0.005, curve, seeds)]))
    assert answer.verdict == "keep_baseline" and answer.configuration == BASELINE
    assert why in " ".join((*answer.why, *(row.reason for row in answer.excluded)))
    assert answer.speed.speedup is None and answer.speed.source is None


@pytest.mark.parametrize(
    ("step_time_s", "verdict"), [(0.0099, "keep_baseline"), (0.0095, "recommended"), (0.02, "keep_baseline")]
)
def test_a_gain_below_the_smallest_keeps_the_baseline(step_time_s: float, verdict: str) -> None:
    """The lower end of the interval has to be at least 1.03."""
    assert recommend(record([*base(), *proven(BFLOAT16, step_time_s)])).verdict == verdict


@pytest.mark.parametrize(
    "fault",
    [
        {"outcome": Outcome.NON_FINITE, "reason": "loss not finite within 10 steps"},
        {"loss_scale_initial": 32768.0, "loss_scale_final": 0.5},
        {"weights_moved": False},
    ],
)
def test_unstable_configurations_are_never_recommended(fault: dict[str, object]) -> None:
    """However fast, and although its quality runs look fine."""
    measured = proven(FLOAT16, 0.002)
    measured[0] = replace(measured[0], **fault)
    answer = recommend(record([*base(), *measured]))
    assert answer.verdict == "keep_baseline"
    assert any(row.configuration == FLOAT16 and row.reason for row in answer.excluded)


def test_memory_above_the_limit_is_not_admissible() -> None:
    """The limit is the user's word; close to it is a warning."""
    big = [replace(m, peak_memory_bytes=2 * 2**30) for m in proven(BFLOAT16, 0.005)]
    assert recommend(record([*base(), *big], options=JudgeOptions(memory_limit_bytes=2**30))).verdict == "keep_baseline"
    near = recommend(record([*base(), *big], options=JudgeOptions(memory_limit_bytes=int(2.1 * 2**30))))
    assert near.verdict == "recommended" and "memory_near_limit" in {finding.code for finding in near.findings}


def test_a_reference_is_never_recommended() -> None:
    """float64 is a yardstick, even where it is fastest."""
    double = BASELINE.but(policy="float64")
    answer = recommend(record([*base(), *proven(double, 0.001)]))
    assert answer.verdict == "keep_baseline"
    assert "float64" in {row.policy for row in answer.policy_table}


def test_of_two_the_surer_gain_wins() -> None:
    """The highest lower bound, not the highest estimate."""
    other = BASELINE.but(steps_per_execution=16)
    answer = recommend(record([*base(), *proven(BFLOAT16, 0.005), *proven(other, 0.006)]))
    assert answer.configuration == BFLOAT16
    assert any("less than the recommended one" in row.reason for row in answer.excluded)


def test_a_larger_batch_wins_by_time_to_quality_only() -> None:
    """Twice the samples a second and a slower start: not twice as fast to the same quality."""
    double = BASELINE.but(batch_size=64)
    answer = recommend(record([*base(), *proven(double, 0.010, [0.55, 0.70, 0.85, 0.95])]))
    assert answer.verdict == "recommended" and answer.speed.speedup == pytest.approx(2.0, rel=0.02)
    assert answer.speed.time_to_quality_speedup is not None and answer.speed.time_to_quality_speedup < 1.9
    assert "sooner to the same quality" in answer.headline
    late = recommend(record([*base(), *proven(double, 0.010, [0.3, 0.5, 0.7, 0.8])]))
    assert late.verdict == "keep_baseline"


def test_interrupted_run_gives_the_best_proven_answer() -> None:
    """Without a duel the ratio of separate trials stands, and is called so."""
    measured = [m for m in proven(BFLOAT16, 0.005) if m.purpose != "duel"]
    answer = recommend(record([*base(), *measured], interrupted=True))
    assert (answer.verdict, answer.speed.source, answer.interrupted) == ("recommended", "trials", True)
    nothing = recommend(record([speed_trial()], interrupted=True))
    assert nothing.verdict == "keep_baseline" and "interrupted" in nothing.headline


def test_what_it_saves() -> None:
    """Planned epochs at both speeds; tuning is paid back after its time over the saving of an epoch."""
    answer = recommend(record([*base(), *proven(BFLOAT16, 0.005)], tuning_s=60.0))
    cost = answer.cost
    assert cost.baseline_run_s == pytest.approx(5 * 1000 / 3200, rel=0.02)
    assert cost.run_s == pytest.approx(cost.baseline_run_s / 2, rel=0.03)
    assert cost.break_even_epochs == pytest.approx(60.0 / ((cost.baseline_run_s - cost.run_s) / 5), rel=0.01)


def test_every_figure_survives_json() -> None:
    """The record is the same after a round trip, and what the plan left out is in it."""
    left = Excluded(configuration=BASELINE.but(batch_size=512), reason="too few updates")
    answer = recommend(record([*base(), *proven(BFLOAT16, 0.005)], excluded=(left,)))
    assert loads(Recommendation, dumps(answer)) == answer
    assert left in answer.excluded
    assert len(answer.trials) == len(base()) + len(proven(BFLOAT16, 0.005))


def test_open_questions_are_told() -> None:
    """A budget that was too short does not read as a settled answer."""
    answer = recommend(record([speed_trial()], open_questions=("batch 256 was not timed: needs about 1 more minute",)))
    assert "within the budget" in answer.headline and answer.open_questions


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"policy": "mixed_bfloat16"}, "mixed_bfloat16 at batch 32"),
        ({"policy": "mixed_bfloat16", "steps_per_execution": 4}, "mixed_bfloat16 at batch 32, 4 steps per execution"),
        ({"batch_size": 64, "learning_rate_factor": 2.0}, "float32 at batch 64, learning rate x2"),
        ({"jit_compile": True}, "float32 at batch 32, XLA"),
    ],
)
def test_the_headline_names_what_to_use(change: dict[str, object], name: str) -> None:
    """Policy and batch always, the rest where it differs."""
    assert recommend(record([*base(), *proven(BASELINE.but(**change), 0.004)])).headline.startswith(f"Use {name}: ")


def test_what_was_compared_in_alternation_is_not_outdone_by_separate_trials() -> None:
    """A promise of separate trials lies minutes away from the baseline's trial."""
    promise = BASELINE.but(jit_compile=True)
    trials_only = [m for m in proven(promise, 0.004) if m.purpose != "duel"]
    answer = recommend(record([*base(), *proven(BFLOAT16, 0.006), *trials_only]))
    assert answer.configuration == BFLOAT16 and answer.speed.source == "duel"
    disappointed = [m for m in proven(BFLOAT16, 0.006) if m.purpose != "duel"] + duel(0.010, BFLOAT16, 0.0101)
    kept = recommend(record([*base(), *disappointed, *trials_only]))
    assert kept.verdict == "keep_baseline"


def test_a_kept_baseline_shows_its_own_figures_and_no_comparison() -> None:
    """Its own speed and quality; no gain, no saving."""
    answer = recommend(record([*base(), *proven(BFLOAT16, 0.02)]))
    assert answer.speed.baseline_step_time_s == pytest.approx(0.01, rel=0.02)
    assert (answer.speed.speedup, answer.speed.source, answer.cost.break_even_epochs) == (None, None, None)
    assert answer.accuracy.baseline == pytest.approx(0.951) and answer.accuracy.candidate is None
    assert answer.accuracy.verdict == "inconclusive" and "kept" in (answer.accuracy.reason or "")
    assert answer.cost.run_s == answer.cost.baseline_run_s


def test_the_best_that_was_trained_is_named_where_nothing_changes() -> None:
    """Also where it never reached the baseline's quality, and so has no gain."""
    poor = [m for m in proven(BFLOAT16, 0.005, [0.8, 0.85, 0.88, 0.93], seeds=4) if m.purpose != "duel"]
    more = [quality_run(BASELINE, 3, [v + 0.003 for v in GOOD])]
    answer = recommend(record([*base(), *more, *poor]))
    assert answer.verdict == "keep_baseline" and "mixed_bfloat16" in answer.why[0]
    only_timed = recommend(record([*base(), speed_trial(BFLOAT16, 0.005)]))
    assert "not trained" in only_timed.why[0]
    slow = recommend(record([*base(), speed_trial(BFLOAT16, 0.0099)]))
    assert "no configuration is clearly faster" in slow.why[0]


@pytest.mark.parametrize(
    ("configuration", "step_time_s", "curve", "words"),
    [
        (FLOAT16, 0.044, None, "4.4x slower here"),
        (
            BASELINE.but(batch_size=64),
            0.0105,
            [0.2, 0.5, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95],
            "longer to the same accuracy",
        ),
        (BASELINE.but(batch_size=64), 0.005, [0.2, 0.5, 0.7, 0.8], "learns worse: val_accuracy 0.801 against 0.951"),
        (BFLOAT16.but(steps_per_execution=4), 0.0048, None, "less than the recommended one"),
    ],
)
def test_what_lost_says_why_with_its_figure(
    configuration: Configuration, step_time_s: float, curve: list[float] | None, words: str
) -> None:
    """Slower, longer to the same accuracy, worse, or simply less."""
    rival = [m for m in proven(configuration, step_time_s, curve) if m.purpose != "duel"]
    answer = recommend(record([*base(), *proven(BFLOAT16, 0.004), *rival]))
    assert answer.configuration == BFLOAT16
    assert words in next(row.reason for row in answer.excluded if row.configuration == configuration)


def test_fingerprints_name_what_it_is_not_how_it_fares() -> None:
    """Load and free memory change from run to run; card, versions and script do not."""
    idle = hardware(gpus=(GpuInfo(index=0, name="A", memory_free_bytes=8, process_count=0, sm_clock_mhz=300),))
    busy = hardware(gpus=(GpuInfo(index=0, name="A", memory_free_bytes=1, process_count=3, sm_clock_mhz=1500),))
    busy = replace(busy, cpu=replace(busy.cpu, load_1m=7.0, memory_available_bytes=5))
    other = hardware(gpus=(GpuInfo(index=0, name="B"),))
    prints = [recommend(record(base(), hardware=h)).hardware_fingerprint for h in (idle, busy, other)]
    assert prints[0] == prints[1] != prints[2]
    newer = replace(idle, software=replace(idle.software, keras="3.99"))
    moved = workload(target="elsewhere/train.py")
    changed = workload(digest="another text")
    first, keras, place, text = (
        recommend(record(base(), **more))
        for more in ({"hardware": idle}, {"hardware": newer}, {"workload": moved}, {"workload": changed})
    )
    assert first.software_fingerprint != keras.software_fingerprint
    assert first.workload_fingerprint == place.workload_fingerprint != text.workload_fingerprint


def test_outcomes_in_the_tables_are_corrected() -> None:
    """A trial that ended by itself but applied no update is not shown as a success."""
    still = speed_trial(FLOAT16, updates=0, weights_moved=False)
    row = recommend(record([*base(), still])).trials[-1]
    assert row.outcome is Outcome.NO_UPDATES and row.reason == "no update was applied in 121 steps"


@settings(max_examples=25)
@given(st.floats(0.05, 20.0), st.floats(0.2, 5.0))
def test_a_machine_of_another_speed_gets_the_same_answer(pace: float, gain: float) -> None:
    """Only ratios decide."""

    def answer(unit: float) -> Recommendation:
        runs = [quality_run(c, s, [v + 0.001 * s for v in GOOD]) for c in (BASELINE, BFLOAT16) for s in range(3)]
        sides = duel(0.010 * unit, BFLOAT16, 0.010 * unit / gain)
        return recommend(
            record([speed_trial(step_time_s=0.01 * unit), speed_trial(BFLOAT16, 0.01 * unit / gain), *runs, *sides])
        )

    one, other = answer(1.0), answer(pace)
    assert one.verdict == other.verdict
    assert one.speed.speedup_low == pytest.approx(other.speed.speedup_low)


def test_strict_float32_stands_beside_tf32() -> None:
    """Where TF32 is on as written, strict float32 has a row and a finding with both accuracies, and is never the answer."""
    written = BASELINE.but(tf32=True)
    strict = BASELINE.but(tf32=False)
    runs = [quality_run(c, s, [v + 0.001 * s for v in GOOD]) for c in (written, strict) for s in range(3)]
    found = recommend(record([speed_trial(written), speed_trial(strict, 0.02), *runs], baseline=written))
    assert found.verdict == "keep_baseline"
    assert [(row.policy, row.relative_speed) for row in found.policy_table] == [
        ("float32", 1.0),
        ("float32, no TF32", pytest.approx(0.5, rel=0.05)),
    ]
    said = next(f.message for f in found.findings if f.code == "tf32")
    assert "strict float32 is 2.0" in said and "with TensorFloat-32, over 3 seeds" in said
    assert not found.excluded


def test_a_metric_that_never_moves_is_told() -> None:
    """What learns nothing matches everything, and a reader has to know."""
    flat = [quality_run(BASELINE, seed, [0.25, 0.25, 0.25]) for seed in range(2)]
    found = recommend(record([speed_trial(), *flat])).findings
    said = next(f.message for f in found if f.code == "learns_nothing")
    assert said.startswith("val_accuracy is 0.25 at every point")
    moving = [quality_run(BASELINE, seed, [0.25, 0.25, 0.25 + 0.01 * seed]) for seed in range(2)]
    assert not [f for f in recommend(record([speed_trial(), *moving])).findings if f.code == "learns_nothing"]


def test_what_was_not_compared_in_alternation_says_so() -> None:
    """Where the duel took the lead away and no time was left for the next, that is why the next is not the answer."""
    other = BASELINE.but(steps_per_execution=4)
    runs = [quality_run(c, s, [v + 0.001 * s for v in GOOD]) for c in (BASELINE, BFLOAT16) for s in range(3)]
    timed = [speed_trial(), speed_trial(BFLOAT16, 0.005), speed_trial(other, 0.006)]
    found = recommend(record([*timed, *runs, *duel(0.010, BFLOAT16, 0.020)]))
    reasons = {e.configuration: e.reason for e in found.excluded}
    assert found.verdict == "keep_baseline"
    assert "no time was left to compare it with the baseline in alternation" in reasons[other]


def test_a_policy_whose_accuracy_is_known_with_other_knobs_says_so() -> None:
    """XLA computes a little otherwise; more steps a call do not, and need no word."""
    compiled, packed = BFLOAT16.but(jit_compile=True), BFLOAT16.but(steps_per_execution=4)

    def note(trained: Configuration) -> str | None:
        runs = [quality_run(c, s, [v + 0.001 * s for v in GOOD]) for c in (BASELINE, trained) for s in range(3)]
        timed = [speed_trial(), speed_trial(BFLOAT16, 0.009), speed_trial(compiled, 0.005), speed_trial(packed, 0.005)]
        return next(r for r in recommend(record([*timed, *runs])).policy_table if r.policy == BFLOAT16.policy).note

    assert note(compiled) == "accuracy of its runs with XLA"
    assert note(BFLOAT16) is None

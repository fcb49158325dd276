"""Records as a run would leave them, for the tests of the views. Figures are made up, consistent in themselves."""

from __future__ import annotations

from dataclasses import replace

from autotune.judge.gradients import gradient_numerics
from autotune.records import (
    AccuracyEvidence,
    CandidateRow,
    Ceiling,
    Configuration,
    CostEvidence,
    CpuInfo,
    Curve,
    CurvePoint,
    Distribution,
    Excluded,
    Finding,
    FitCall,
    HardwareProfile,
    LayerNumerics,
    LayerRoof,
    LossScale,
    MemoryEvidence,
    Numerics,
    Outcome,
    PolicyRow,
    PrecisionGain,
    Recommendation,
    Roofline,
    Severity,
    SoftwareInfo,
    SpeedEvidence,
    StabilityEvidence,
    TrialRow,
    WorkloadInfo,
)

GIB = 2**30
MARKUP = "<b onmouseover=alert(1)>[bold red]x[/] & 'y' | `z` \\ \"q\"</b>"

BASELINE = Configuration(batch_size=64)
BFLOAT16 = BASELINE.but(policy="mixed_bfloat16")
FLOAT16 = BASELINE.but(policy="mixed_float16")

SOFTWARE = SoftwareInfo(
    autotune="0.1.0",
    python="3.11.2",
    system="Linux 6.1",
    tensorflow="2.21.0",
    keras="3.15.1",
    optuna="5.0.0",
    numpy="2.3.5",
)
HARDWARE = HardwareProfile(
    device="cpu",
    cpu=CpuInfo(
        name="AMD EPYC 9R14",
        architecture="x86_64",
        logical_cores=2,
        machine_cores=96,
        memory_bytes=16 * GIB,
        memory_available_bytes=11 * GIB,
        flags=("avx512f", "avx512_bf16"),
        bfloat16_units=True,
        float16_units=False,
        load_1m=0.2,
    ),
    software=SOFTWARE,
    ceilings=(
        Ceiling(operation="matmul", dtype="float32", per_s=137e9, size="1024 x 1024"),
        Ceiling(operation="matmul", dtype="bfloat16", per_s=336e9, size="1024 x 1024"),
        Ceiling(operation="convolution", dtype="float32", per_s=209e9, size="32 x 32 x 64, 3 x 3"),
        Ceiling(operation="convolution", dtype="bfloat16", per_s=419e9, size="32 x 32 x 64, 3 x 3"),
        Ceiling(operation="convolution", dtype="float16", per_s=162e9, size="32 x 32 x 64, 3 x 3"),
        Ceiling(operation="copy", dtype="float32", per_s=21.4e9, size="256 MiB"),
    ),
)
ROOFLINE = Roofline(
    flops=1.53e9,
    bytes=185e6,
    step_s=0.0197,
    compute_s=0.0195,
    least_s=0.0149,
    flops_per_s=78.5e9,
    ceiling_per_s=137e9,
    bytes_per_s=21.4e9,
    share_of_ceiling=0.764,
    bound_by="compute",
    layers=(
        LayerRoof(
            path="conv2d_1", type="Conv2D", flops=1.2e9, bytes=36e6, least_s=0.0087, share=0.584, bound_by="compute"
        ),
        LayerRoof(path="optimizer", type=None, flops=4.7e6, bytes=30e6, least_s=0.0014, share=0.094, bound_by="memory"),
        LayerRoof(
            path="<b>pool</b>", type="MaxPooling2D", flops=0.0, bytes=0.0, least_s=0.0, share=0.0, bound_by="memory"
        ),
    ),
    gains=(
        PrecisionGain(policy="mixed_bfloat16", predicted=1.61, measured=1.713),
        PrecisionGain(policy="mixed_float16", predicted=0.24),
    ),
)
NUMERICS = Numerics(
    layers=tuple(
        LayerNumerics(
            path=path,
            type=kind,
            variable_dtype="float32",
            compute_dtype="bfloat16",
            activations=Distribution(
                count=4096,
                largest=largest,
                smallest=2.0**-20,
                exponents={-20: 12, -3: 900, 0: 3000},
                vanish={},
                overflow={},
            ),
            gradients=Distribution(
                count=864,
                largest=0.02,
                smallest=2.0**-30,
                exponents={-30: 30, -12: 700, -6: 134},
                vanish={"float16": 0.0347, "bfloat16": 0.0},
                overflow={"float16": 0.0, "bfloat16": 0.0},
            ),
        )
        for path, kind, largest in (("conv2d_1", "Conv2D", 3.4), ("<i>dense</i>", "Dense", 12.5))
    ),
    gradients=gradient_numerics(
        Distribution(
            count=1728, largest=0.02, smallest=2.0**-30, exponents={-30: 60, -12: 1400, -6: 268}, vanish={}, overflow={}
        )
    ),
)
WORKLOAD = WorkloadInfo(
    target="examples/train.py",
    arguments=("--data", "my data"),
    digest="5f2b",
    fits=(
        FitCall(index=1, location="train.py:41", model="warm_up", planned_steps=100),
        FitCall(index=2, location="train.py:57", model="cnn", planned_steps=39_100, selected=True),
    ),
    model="cnn",
    parameters=545_098,
    optimizer="Adam",
    learning_rate=0.001,
    loss="sparse_categorical_crossentropy",
    data="arrays",
    samples_per_epoch=50_000,
    steps_per_epoch=782,
    epochs=50,
    batch_size=64,
    validation="validation_split=0.1",
    metric="val_accuracy",
    metric_direction="max",
    metric_source="validation",
    callbacks_kept=("ReduceLROnPlateau",),
    callbacks_left_out=("ModelCheckpoint", "TensorBoard"),
)


def curve(side: str, seed: int, final: float, *, metric: str = "val_accuracy") -> Curve:
    """A saturating curve that ends at ``final``; each run takes its own way there."""
    way = 0.52 + 0.03 * ((seed * 7 + len(side)) % 5)
    points = tuple(
        CurvePoint(
            step=100 * n,
            samples=6400.0 * n,
            values={metric: round(final * (1 - 0.4 * (way**n - way**8)), 4), "loss": round(1 / n, 3)},
        )
        for n in range(1, 9)
    )
    return Curve(side=side, seed=seed, points=points)  # type: ignore[arg-type]


def trial(number: int, configuration: Configuration, step_time_s: float | None, **fields: object) -> TrialRow:
    """A trial row whose other speeds follow from its step time."""
    batch = configuration.batch_size or 0
    known = {
        "purpose": "speed",
        "outcome": Outcome.OK,
        "seed": 0,
        "steps": 240,
        "step_time_s": step_time_s,
        "step_time_low_s": step_time_s and step_time_s * 0.985,
        "step_time_high_s": step_time_s and step_time_s * 1.02,
        "samples_per_s": step_time_s and batch / step_time_s,
        "relative_speed": step_time_s and (batch / step_time_s) / (64 / 0.0197),
        "peak_memory_bytes": 1_300_000_000 + 400_000 * batch,
    }
    return TrialRow(number=number, configuration=configuration, **{**known, **fields})  # type: ignore[arg-type]


def by_precision() -> Recommendation:
    """Recommended for its precision alone: the everyday answer."""
    batch_128, batch_256 = BFLOAT16.but(batch_size=128), BFLOAT16.but(batch_size=256)
    quality = [
        trial(
            4 + 2 * seed + side, (BASELINE, BFLOAT16)[side], None, purpose="quality", seed=seed, steps=800, metric=value
        )
        for seed, pair in enumerate(((0.916, 0.914), (0.913, 0.915), (0.917, 0.914), (0.914, 0.913), (0.915, 0.914)))
        for side, value in enumerate(pair)
    ]
    return Recommendation(
        verdict="recommended",
        headline="Use mixed_bfloat16 at batch 64: 1.71x faster (1.66 to 1.75), same accuracy.",
        why=("mixed_bfloat16 has the highest lower bound of all configurations whose accuracy matches.",),
        configuration=BFLOAT16,
        baseline=BASELINE,
        speed=SpeedEvidence(
            baseline_samples_per_s=3248.7,
            samples_per_s=5565.2,
            speedup=1.713,
            speedup_low=1.66,
            speedup_high=1.752,
            time_to_quality_speedup=1.69,
            time_to_quality_speedup_low=1.6,
            time_to_quality_speedup_high=1.78,
            baseline_step_time_s=0.0197,
            step_time_s=0.0115,
            pairs=24,
            source="duel",
        ),
        accuracy=AccuracyEvidence(
            metric="val_accuracy",
            direction="max",
            baseline=0.915,
            candidate=0.914,
            difference=-0.001,
            difference_low=-0.0046,
            difference_high=0.0026,
            margin=0.00915,
            verdict="matches",
            seeds=5,
            independent_seeds=5,
            baseline_spread=0.004,
            samples_seen=51_200,
            source="validation",
            detectable=0.009,
            share_of_plan=0.0205,
            paired=True,
        ),
        stability=StabilityEvidence(steps=1240, nonfinite_steps=0, skipped_updates=0, skipped_fraction=0.0),
        memory=MemoryEvidence(baseline_peak_bytes=1_420_000_000, peak_bytes=1_310_000_000),
        cost=CostEvidence(
            tuning_s=97.0, planned_epochs=50, baseline_run_s=5880.0, run_s=3432.0, break_even_epochs=1.98
        ),
        hardware=HARDWARE,
        software=SOFTWARE,
        workload=WORKLOAD,
        hardware_fingerprint="h-2f61c0",
        software_fingerprint="s-9d11aa",
        workload_fingerprint="w-77b0e2",
        policy_table=(
            PolicyRow(
                policy="float32",
                outcome=Outcome.OK,
                step_time_s=0.0197,
                relative_speed=1.0,
                run_s=5880.0,
                accuracy=0.915,
                note="the script as written",
            ),
            PolicyRow(
                policy="mixed_bfloat16",
                outcome=Outcome.OK,
                step_time_s=0.0115,
                relative_speed=1.713,
                run_s=3432.0,
                accuracy=0.914,
                accuracy_verdict="matches",
            ),
            PolicyRow(
                policy="mixed_float16",
                outcome=Outcome.OK,
                step_time_s=0.087,
                relative_speed=0.2264,
                run_s=25_970.0,
                note="given up for its speed, accuracy not measured",
            ),
        ),
        candidates=(
            CandidateRow(
                configuration=BASELINE,
                samples_per_s=3248.7,
                relative_speed=1.0,
                quality=0.915,
                time_to_quality_speedup=1.0,
                peak_memory_bytes=1_420_000_000,
                outcome=Outcome.OK,
            ),
            CandidateRow(
                configuration=BFLOAT16,
                samples_per_s=5565.2,
                relative_speed=1.713,
                quality=0.914,
                accuracy_verdict="matches",
                time_to_quality_speedup=1.69,
                peak_memory_bytes=1_310_000_000,
                outcome=Outcome.OK,
            ),
            CandidateRow(
                configuration=batch_128,
                samples_per_s=6680.0,
                relative_speed=2.056,
                quality=0.902,
                accuracy_verdict="worse",
                time_to_quality_speedup=1.54,
                peak_memory_bytes=1_480_000_000,
                outcome=Outcome.OK,
            ),
            CandidateRow(
                configuration=batch_256,
                samples_per_s=7240.0,
                relative_speed=2.229,
                quality=0.881,
                accuracy_verdict="worse",
                time_to_quality_speedup=1.22,
                peak_memory_bytes=1_790_000_000,
                outcome=Outcome.OK,
            ),
        ),
        curves=tuple(
            curve(side, seed, final)
            for seed, (low, high) in enumerate(
                ((0.916, 0.914), (0.913, 0.915), (0.917, 0.914), (0.914, 0.913), (0.915, 0.914))
            )
            for side, final in (("baseline", low), ("candidate", high))
        ),
        trials=(
            trial(0, BASELINE, 0.0197),
            trial(1, BFLOAT16, 0.0115),
            trial(2, FLOAT16, 0.087, steps=24),
            trial(3, batch_128, 0.01916),
            *quality,
            trial(14, BFLOAT16, 0.0115, purpose="duel", steps=480),
        ),
        excluded=(
            Excluded(configuration=FLOAT16, reason="4.4x slower here: this processor has no float16 units"),
            Excluded(
                configuration=batch_128, reason="1.2x and 1.3x more samples a second, but longer to the same accuracy"
            ),
            Excluded(
                configuration=batch_256, reason="1.2x and 1.3x more samples a second, but longer to the same accuracy"
            ),
        ),
        findings=(
            Finding(
                code="sixteen_bit_output",
                severity=Severity.INFO,
                message="dense_2 (output) computes its softmax in 16 bits: harmless in these runs",
                layer="dense_2",
                advice='dtype="float32" there costs nothing',
                line="train.py:38",
                confirmed=False,
            ),
        ),
        roofline=ROOFLINE,
        numerics=NUMERICS,
        started_at="2025-12-01T10:04:00+00:00",
        command="autotune recommend examples/train.py --budget 10m -- --data 'my data'",
    )


def by_batch() -> Recommendation:
    """Recommended at a larger batch, with a learning-rate rule and more."""
    chosen = BFLOAT16.but(
        batch_size=256, learning_rate_factor=2.0, steps_per_execution=8, jit_compile=True, float32_layers=("dense_2",)
    )
    record = by_precision()
    return replace(
        record,
        headline="Use mixed_bfloat16 at batch 256, learning rate x2: 2.23x faster (2.15 to 2.31), same accuracy.",
        configuration=chosen,
        speed=replace(
            record.speed,
            samples_per_s=7240.0,
            speedup=2.229,
            speedup_low=2.15,
            speedup_high=2.31,
            step_time_s=0.03536,
            time_to_quality_speedup=1.92,
            time_to_quality_speedup_low=1.7,
            time_to_quality_speedup_high=2.1,
        ),
        cost=replace(record.cost, run_s=2638.0, break_even_epochs=1.5),
        candidates=(
            *record.candidates,
            replace(
                record.candidates[3],
                configuration=chosen,
                quality=0.916,
                accuracy_verdict="matches",
                time_to_quality_speedup=1.92,
            ),
        ),
        excluded=record.excluded[:1],
    )


def keep_baseline() -> Recommendation:
    """Nothing is worth a change."""
    record = by_precision()
    return replace(
        record,
        verdict="keep_baseline",
        headline="Keep the script as it is: nothing measured here is worth a change.",
        why=(
            "mixed_bfloat16 is 1.01x as fast (0.99 to 1.03); below 1.03x a change is not worth it.",
            "mixed_float16 is 4.4x slower on this processor.",
        ),
        configuration=BASELINE,
        speed=SpeedEvidence(
            baseline_samples_per_s=3248.7, baseline_step_time_s=0.0197, samples_per_s=3248.7, step_time_s=0.0197
        ),
        accuracy=AccuracyEvidence(metric="val_accuracy", direction="max", baseline=0.915, baseline_spread=0.004),
        memory=MemoryEvidence(peak_bytes=1_420_000_000),
        cost=CostEvidence(tuning_s=212.0, planned_epochs=50, baseline_run_s=5880.0, run_s=5880.0),
        policy_table=(
            record.policy_table[0],
            replace(record.policy_table[1], step_time_s=0.0195, relative_speed=1.01, run_s=5822.0),
            record.policy_table[2],
        ),
        candidates=record.candidates[:1],
        curves=(),
    )


def interrupted() -> Recommendation:
    """Stopped by the user before the accuracy was settled."""
    record = by_precision()
    return replace(
        record,
        verdict="keep_baseline",
        headline="Keep float32 at batch 64 for now: mixed_bfloat16 is 1.71x faster, its accuracy is not settled.",
        why=("mixed_bfloat16 has 1 of at least 3 paired seeds.",),
        configuration=BASELINE,
        speed=replace(record.speed, source="trials", pairs=0),
        accuracy=replace(
            record.accuracy,
            verdict="inconclusive",
            seeds=1,
            independent_seeds=1,
            difference_low=None,
            difference_high=None,
            detectable=None,
            baseline_spread=None,
            reason="1 seed of at least 3",
        ),
        curves=record.curves[:2],
        trials=record.trials[:6],
        excluded=record.excluded[:1],
        open_questions=("Whether mixed_bfloat16 is as accurate: about 2 more minutes.",),
        interrupted=True,
    )


def fixed_batch() -> Recommendation:
    """The batch is fixed and the input pipeline is the limit; no validation data."""
    record = by_precision()
    reason = "the generator yields batches of 64 whatever is asked for"
    return replace(
        record,
        headline="Use mixed_bfloat16: 1.08x faster (1.05 to 1.11), same loss.",
        speed=replace(record.speed, speedup=1.08, speedup_low=1.05, speedup_high=1.11, step_time_s=0.01824),
        accuracy=replace(
            record.accuracy,
            metric="loss",
            direction="min",
            baseline=0.0312,
            candidate=0.0311,
            difference=0.0001,
            difference_low=-0.0002,
            difference_high=0.0004,
            margin=0.0003,
            detectable=0.0003,
            baseline_spread=0.0004,
            source="training",
        ),
        cost=CostEvidence(tuning_s=140.0, planned_epochs=5, baseline_run_s=77.0, run_s=71.3, break_even_epochs=123.0),
        workload=replace(
            WORKLOAD,
            data="generator",
            batch_fixed_reason=reason,
            validation=None,
            metric="loss",
            metric_source="training",
        ),
        policy_table=tuple(replace(row, accuracy=row.accuracy and 0.0312) for row in record.policy_table),
        candidates=record.candidates[:2],
        curves=tuple(curve(side, 0, 0.03, metric="loss") for side in ("baseline", "candidate")),
        excluded=record.excluded[:1],
        findings=(
            Finding(
                code="input_bound",
                severity=Severity.WARNING,
                message="61% of each step is spent waiting for data: the input pipeline is the limit",
                advice="prefetch, or make the batches in more than one thread; a free pipeline would give 2.4x",
            ),
        ),
    )


def failed_float16() -> Recommendation:
    """float16 breaks; every name and text holds markup."""
    record = by_precision()
    broken = FLOAT16.but(float32_layers=(MARKUP,))
    return replace(
        record,
        workload=replace(WORKLOAD, target=f"runs/{MARKUP.replace('/', '')}.py", model=MARKUP, optimizer=MARKUP),
        policy_table=(
            *record.policy_table[:2],
            PolicyRow(
                policy="mixed_float16", outcome=Outcome.NON_FINITE, note=f"loss became nan at step 12 in {MARKUP}"
            ),
        ),
        trials=(
            *record.trials,
            trial(
                15,
                broken,
                None,
                outcome=Outcome.NON_FINITE,
                steps=12,
                reason=f"nan in {MARKUP}",
                peak_memory_bytes=None,
            ),
        ),
        excluded=(Excluded(configuration=broken, reason=f"non-finite at step 12: {MARKUP}"),),
        findings=(
            Finding(
                code="activation_overflow",
                severity=Severity.ERROR,
                message=f"{MARKUP} reaches 81,200, above the 65,504 of float16",
                layer=MARKUP,
                policy="mixed_float16",
                advice=f"keep {MARKUP} in float32",
                line="train.py:22",
                confirmed=True,
            ),
            *record.findings,
        ),
        open_questions=(MARKUP,),
        command=f"autotune recommend {MARKUP}",
    )


def by_batch_alone() -> Recommendation:
    """Recommended for its batch; the precision stays as written."""
    chosen = BASELINE.but(batch_size=256, learning_rate_factor=2.0)
    record = by_batch()
    return replace(
        record,
        headline="Use float32 at batch 256, learning rate x2: 1.31x sooner at the same accuracy (1.22 to 1.40).",
        why=("No 16-bit policy is faster here than float32.",),
        configuration=chosen,
        speed=replace(record.speed, speedup=1.42, speedup_low=1.37, speedup_high=1.47, step_time_s=0.0555),
        stability=replace(record.stability, headroom=None),
        policy_table=(
            record.policy_table[0],
            *(replace(row, relative_speed=0.9, step_time_s=0.0219) for row in record.policy_table[1:]),
        ),
        candidates=(record.candidates[0], replace(record.candidates[-1], configuration=chosen)),
    )


def nothing_stable() -> Recommendation:
    """Every 16-bit policy breaks; the script stays as it is."""
    record = keep_baseline()
    broken = ("mixed_bfloat16", "mixed_float16")
    return replace(
        record,
        headline="Keep the script as it is: no 16-bit policy trained stably here.",
        why=tuple(f"{policy}: the loss became nan at step {7 + n}." for n, policy in enumerate(broken)),
        policy_table=(
            record.policy_table[0],
            *(
                PolicyRow(policy=policy, outcome=Outcome.NON_FINITE, note=f"loss became nan at step {7 + n}")
                for n, policy in enumerate(broken)
            ),
        ),
        trials=(
            *record.trials[:1],
            *(
                trial(
                    n, config, None, outcome=Outcome.NON_FINITE, steps=6 + n, reason=f"loss became nan at step {6 + n}"
                )
                for n, config in enumerate((BFLOAT16, FLOAT16), 1)
            ),
        ),
        excluded=tuple(
            Excluded(configuration=config, reason=f"non-finite at step {7 + n}: loss")
            for n, config in enumerate((BFLOAT16, FLOAT16))
        ),
        roofline=None,
    )


def rescued_layers() -> Recommendation:
    """float16 holds with two layers kept in float32."""
    chosen = FLOAT16.but(float32_layers=("encoder/scores", "head"), loss_scale=LossScale(initial=2.0**12))
    record = by_precision()
    return replace(
        record,
        headline=(
            "Use mixed_float16 at batch 64, float32 in encoder/scores and head: 1.46x faster (1.40 to 1.52), same accuracy."
        ),
        why=("With encoder/scores and head in float32 every update of mixed_float16 was finite.",),
        configuration=chosen,
        speed=replace(record.speed, speedup=1.46, speedup_low=1.4, speedup_high=1.52, step_time_s=0.0135),
        stability=replace(record.stability, skipped_updates=0, loss_scale_initial=4096.0, loss_scale_final=8192.0),
        candidates=(record.candidates[0], replace(record.candidates[1], configuration=chosen, relative_speed=1.46)),
        findings=(
            Finding(
                code="activation_overflow",
                severity=Severity.WARNING,
                message="encoder/scores reaches 81,200, above the 65,504 of float16",
                layer="encoder/scores",
                policy="mixed_float16",
                advice="keep encoder/scores in float32",
                line="train.py:22",
                confirmed=True,
            ),
        ),
    )


def nothing_known() -> Recommendation:
    """As little as a record may hold."""
    return Recommendation(
        verdict="keep_baseline",
        headline="Keep the script as it is: nothing else could be measured.",
        configuration=Configuration(),
        baseline=Configuration(),
        speed=SpeedEvidence(),
        accuracy=AccuracyEvidence(),
        stability=StabilityEvidence(),
        memory=MemoryEvidence(),
        cost=CostEvidence(tuning_s=3.2),
        hardware=HardwareProfile(
            device="cpu", cpu=CpuInfo(), software=SoftwareInfo(autotune="0.1.0", python="3.11.2", system="Linux")
        ),
        software=SoftwareInfo(autotune="0.1.0", python="3.11.2", system="Linux"),
        workload=WorkloadInfo(target="train.py"),
    )


def many_trials(count: int = 500) -> Recommendation:
    """A long search."""
    record = by_precision()
    space = [
        BASELINE.but(policy=policy, batch_size=batch, steps_per_execution=steps)
        for policy in ("float32", "mixed_bfloat16")
        for batch in (32, 64, 128, 256, 512)
        for steps in (1, 4, 16)
    ]
    trials = tuple(
        trial(
            n,
            space[n % len(space)],
            0.008 + 0.00005 * ((n * 37) % 400),
            outcome=Outcome.TIMEOUT if n % 41 == 40 else Outcome.OK,
            reason="no step within 60 s" if n % 41 == 40 else None,
        )
        for n in range(count)
    )
    return replace(record, trials=trials)


SAMPLES = {
    "by_precision": by_precision,
    "by_batch": by_batch,
    "keep_baseline": keep_baseline,
    "interrupted": interrupted,
    "fixed_batch": fixed_batch,
    "failed_float16": failed_float16,
    "by_batch_alone": by_batch_alone,
    "nothing_stable": nothing_stable,
    "rescued_layers": rescued_layers,
    "nothing_known": nothing_known,
    "many_trials": many_trials,
}

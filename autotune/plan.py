"""Profile and workload become a search space; whatever is ruled out keeps its reason."""

from __future__ import annotations

from autotune.records import (
    BASELINE_POLICY,
    SIXTEEN_BIT_POLICIES,
    Configuration,
    Excluded,
    Finding,
    HardwareProfile,
    LossScale,
    Plan,
    SearchSpace,
    Severity,
    WorkloadInfo,
)
from autotune.settings import Settings

# A policy whose dtype reaches less than half of float32's speed in both products gets one short trial and no more.
_HOPELESS = 0.5
_MOST_TIMES_BATCH = 16
# Fewer updates an epoch than this, and time to quality is a matter of luck.
_FEWEST_STEPS = 8
_EXECUTIONS = (4, 16, 64)
# A scale that hardly any model is beyond, where nothing is known of its gradients.
_LOW_SCALE, _FAST_GROWTH = 2.0**10, 200
_DTYPES = {"mixed_bfloat16": "bfloat16", "mixed_float16": "float16"}


def plan(
    profile: HardwareProfile,
    workload: WorkloadInfo,
    settings: Settings,
    *,
    predicted_loss_scale: float | None = None,
) -> Plan:
    """Makes the search space.

    Batches are doubled from the written one and never halved by themselves: a smaller batch makes more updates an epoch and
    is slower at each, so it is a way to other quality and hardly one to the same quality sooner. ``--batch-size`` names any.

    Args:
        profile: What the machine is.
        workload: What is trained.
        settings: What the user asked for.
        predicted_loss_scale: What the model's gradients allow; None when unknown.
    """
    excluded: list[Excluded] = []
    findings: list[Finding] = []
    has_tf32 = profile.device == "gpu" and any(gpu.tf32_units for gpu in profile.gpus if gpu.visible is not False)
    baseline = Configuration(
        batch_size=workload.batch_size,
        jit_compile=workload.jit_compile,
        steps_per_execution=workload.steps_per_execution,
        tf32=workload.tf32 if has_tf32 else None,
    )
    policies, hopeless = _policies(profile, settings, baseline, excluded, findings)
    batches = _batches(workload, settings, baseline, excluded, findings)
    space = SearchSpace(
        baseline=baseline,
        policies=policies,
        batch_sizes=batches,
        loss_scales=_loss_scales(predicted_loss_scale),
        steps_per_execution=_executions(workload),
        jit_compile=(workload.jit_compile, not workload.jit_compile),
        learning_rate_rules=("1", "sqrt", "linear") if len(batches) > 1 else ("1",),
        tf32=(baseline.tf32, not baseline.tf32) if has_tf32 else (None,),
    )
    # TensorFlow leaves TF32 on, and that is what a training as written runs at: strict float32 is a second baseline.
    strict = (baseline.but(tf32=False),) if baseline.tf32 else ()
    return Plan(
        space=space, excluded=tuple(excluded), findings=tuple(findings), hopeless_policies=hopeless, first=strict
    )


def wants_loss_scales(profile: HardwareProfile, settings: Settings) -> bool:
    """Whether float16 has a chance here, so that its loss scale may matter."""
    named = settings.policies
    if named is not None:
        return "mixed_float16" in named
    return profile.device != "tpu" and slower_than_half(profile, "mixed_float16") is None


def slower_than_half(profile: HardwareProfile, policy: str) -> float | None:
    """Speed of a policy's dtype relative to float32 where both measured products are below half; None otherwise."""
    dtype = _DTYPES.get(policy)
    if dtype is None:
        return None
    ratios = []
    for operation in ("matmul", "convolution"):
        base, own = profile.ceiling(operation, "float32"), profile.ceiling(operation, dtype)
        if not base or own is None:
            return None
        ratios.append(own / base)
    return max(ratios) if max(ratios) < _HOPELESS else None


def _loss_scales(predicted: float | None) -> tuple[LossScale | None, ...]:
    """Keras' own first, then dynamic ones that start where the gradients allow and one that stays there.

    A dynamic scale that starts too high skips updates until it has come down; one that starts too low loses small gradients
    until it has grown, by a factor of two in 2000 steps.
    """
    start = _LOW_SCALE if predicted is None else predicted
    return (
        None,
        LossScale(initial=start),
        LossScale(initial=start, growth_steps=_FAST_GROWTH),
        LossScale(mode="fixed", initial=start, growth_steps=None),
    )


def _policies(
    profile: HardwareProfile,
    settings: Settings,
    baseline: Configuration,
    excluded: list[Excluded],
    findings: list[Finding],
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    named = settings.policies
    policies = [BASELINE_POLICY]
    hopeless = []
    for policy in SIXTEEN_BIT_POLICIES:
        point = baseline.but(policy=policy)
        if named is not None and policy not in named:
            excluded.append(Excluded(configuration=point, reason="not among the policies of --policy"))
            continue
        if policy == "mixed_float16" and profile.device == "tpu" and named is None:
            excluded.append(
                Excluded(configuration=point, reason="TPUs compute in bfloat16; float16 is not proposed there")
            )
            continue
        policies.append(policy)
        ratio = slower_than_half(profile, policy)
        if ratio is not None and named is None:
            hopeless.append(policy)
            findings.append(
                Finding(
                    code="slow_dtype",
                    severity=Severity.INFO,
                    message=f"{_DTYPES[policy]} reaches {ratio:.2f} of float32's speed here: {policy} gets one short trial",
                    policy=policy,
                )
            )
    if settings.reference is not None:
        policies.append(settings.reference)
    return tuple(policies), tuple(hopeless)


def _batches(
    workload: WorkloadInfo,
    settings: Settings,
    baseline: Configuration,
    excluded: list[Excluded],
    findings: list[Finding],
) -> tuple[int | None, ...]:
    written = workload.batch_size
    fixed = workload.batch_fixed_reason
    if written is None or fixed is not None:
        reason = fixed or "its size cannot be seen"
        findings.append(
            Finding(
                code="batch_fixed", severity=Severity.INFO, message=f"the batch stays {written or 'as it is'}: {reason}"
            )
        )
        if settings.batch_sizes is not None:
            findings.append(
                Finding(
                    code="batch_option_unused",
                    severity=Severity.WARNING,
                    message="--batch-size has no effect on this script",
                    advice=reason,
                )
            )
        return (written,)
    if settings.keep_batch_size:
        return (written,)
    samples = workload.samples_per_epoch
    if settings.batch_sizes is not None:
        sizes = [written]
        for size in dict.fromkeys(settings.batch_sizes):
            if size == written:
                continue
            if samples is not None and size > samples:
                reason = f"an epoch has only {samples} samples: such a batch is never full"
                excluded.append(Excluded(configuration=baseline.but(batch_size=size), reason=reason))
            else:
                sizes.append(size)
        return tuple(sizes)
    sizes = [written]
    for power in range(1, 64):
        size = written * 2**power
        if size > written * _MOST_TIMES_BATCH:
            break
        if samples is not None and samples / size < _FEWEST_STEPS:
            excluded.append(
                Excluded(
                    configuration=baseline.but(batch_size=size),
                    reason=f"fewer than {_FEWEST_STEPS} updates an epoch would be left; name it by --batch-size to try it",
                )
            )
            break
        sizes.append(size)
    return tuple(sizes)


def _executions(workload: WorkloadInfo) -> tuple[int, ...]:
    written = workload.steps_per_execution
    steps = workload.steps_per_epoch
    # Keras fails with several steps an execution under a strategy with more than one replica.
    others = (
        [] if workload.replicas > 1 else [n for n in _EXECUTIONS if n > written and (steps is None or 2 * n <= steps)]
    )
    return (written, *others)

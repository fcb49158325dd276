"""Turns what a worker sent into a measurement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autotune.records import (
    Chunk,
    Configuration,
    CurvePoint,
    ExampleScores,
    Finding,
    GradientNoise,
    LayerInfo,
    Measurement,
    Outcome,
    Purpose,
    ScaleLimit,
    Severity,
    StepTrace,
)

_PLAIN = (
    "reason",
    "traceback",
    "batch_size_seen",
    "trace_s",
    "input_free_step_time_s",
    "peak_memory_bytes",
    "updates",
    "nonfinite_steps",
    "first_nonfinite_step",
    "weights_moved",
    "loss_scale_initial",
    "loss_scale_final",
    "sixteen_bit_layers",
    "arithmetic_layers",
    "weights_hash",
    "data_hash",
    "wall_s",
)


def measurement_from(
    event: Mapping[str, Any],
    purpose: Purpose,
    configuration: Configuration,
    seed: int,
    chunks: Sequence[Chunk],
    points: Sequence[CurvePoint],
) -> Measurement:
    """Builds the record of a trial; its number is given later.

    Args:
        event: What the worker sent at the trial's end, or why there is none.
        purpose: What the trial was for.
        configuration: What was measured.
        seed: Index of the seed.
        chunks: Timed chunks that came.
        points: Points of the curve that came.
    """
    values: dict[str, Any] = {name: event.get(name) for name in _PLAIN}
    trace = event.get("trace") or {}
    findings = list(_findings(event, configuration))
    outcome = _outcome(event, configuration)
    values["reason"] = values["reason"] or _reason(outcome, event)
    return Measurement(
        number=0,
        purpose=purpose,
        configuration=configuration,
        seed=seed,
        outcome=outcome,
        chunks=tuple(chunks),
        curve=tuple(points),
        steps=int(event.get("steps") or sum(chunk.steps for chunk in chunks)),
        nonfinite_logs=tuple(event.get("nonfinite_logs") or ()),
        trace=StepTrace(
            loss=tuple(trace.get("loss") or ()),
            loss_scale=tuple(trace.get("loss_scale") or ()),
            updates=tuple(trace.get("updates") or ()),
            largest_activation=tuple(trace.get("largest_activation") or ()),
            largest_gradient=tuple(trace.get("largest_gradient") or ()),
        ),
        layers=tuple(LayerInfo(**layer) for layer in event.get("layers") or ()),
        findings=tuple(findings),
        noise=tuple(
            GradientNoise(**{**probe, "norms": tuple(probe["norms"]), "dots": tuple(probe["dots"])})
            for probe in event.get("noise") or ()
        ),
        largest_activations=dict(event.get("largest_activations") or {}),
        scale_limit=ScaleLimit(**limit) if (limit := event.get("scale_limit")) else None,
        examples=ExampleScores(**{**seen, "scores": tuple(seen["scores"])})
        if (seen := event.get("examples"))
        else None,
        **values,
    )


def _outcome(event: Mapping[str, Any], configuration: Configuration) -> Outcome:
    outcome = Outcome(event["outcome"])
    if outcome is not Outcome.OK:
        return outcome
    asked = configuration.float32_layers  # every layer may have been asked to stay in float32
    if "16" in configuration.policy and event.get("sixteen_bit_layers") == 0 and not asked:
        return Outcome.NOT_APPLIED
    scale = event.get("loss_scale_final")
    nothing_applied = event.get("updates") == 0 or event.get("weights_moved") is False
    if event.get("steps") and (nothing_applied or (scale is not None and scale < 1.0)):
        return Outcome.NO_UPDATES
    return outcome


def _reason(outcome: Outcome, event: Mapping[str, Any]) -> str | None:
    steps = event.get("steps")
    if outcome is Outcome.NOT_APPLIED:
        return f"0 of {event.get('arithmetic_layers')} layers compute in 16 bits: the script or its layers set their own policy"
    if outcome is Outcome.NO_UPDATES:
        scale = event.get("loss_scale_final")
        if scale is not None and scale < 1.0:
            return (
                f"updates were skipped until the loss scale fell to {scale:.3g} in {steps} steps: "
                "the gradients are not finite at any scale"
            )
        return f"no update was applied in {steps} steps"
    if outcome is Outcome.NON_FINITE:
        names = ", ".join(event.get("nonfinite_logs") or ()) or "the loss"
        place = event.get("place") or {}
        where = (
            f": {place['detail']}" + (f" (layer {place['layer']})" if place.get("layer") else "")
            if place.get("layer")
            else ""
        )
        return f"{names} not finite within {event.get('first_nonfinite_step') or steps} steps{where}"
    return None


def _findings(event: Mapping[str, Any], configuration: Configuration) -> list[Finding]:
    findings = []
    place = event.get("place")
    if place and "16" in configuration.policy:  # at float32 it is the learning rate, not the format
        layer = (
            f"layer {place['layer']} ({place['type']})"
            if place.get("type")
            else f"layer {place['layer']}"
            if place.get("layer")
            else ""
        )
        start = f"{layer}: " if layer else ""
        findings.append(
            Finding(
                code=f"non_finite_{place['where']}",
                severity=Severity.WARNING,
                message=f"{start}{place['detail']}",
                layer=place.get("layer"),
                policy=configuration.policy,
                advice='keep this layer in float32 (dtype="float32") to use this policy',
                confirmed=True,
            )
        )
    return findings

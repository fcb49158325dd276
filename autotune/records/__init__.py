"""The frozen records that flow between the stages."""

from autotune.records.board import Board, Proof, Standing
from autotune.records.configuration import (
    BASELINE_POLICY,
    POLICIES,
    REFERENCE_POLICIES,
    SIXTEEN_BIT_POLICIES,
    Configuration,
    LossScale,
)
from autotune.records.finding import Finding, Severity
from autotune.records.hardware import Ceiling, CpuInfo, GpuInfo, HardwareProfile, SoftwareInfo, TpuInfo
from autotune.records.measurement import Chunk, CurvePoint, Measurement, Outcome, Purpose
from autotune.records.noise import GradientNoise, NoiseScale
from autotune.records.numerics import Distribution, GradientNumerics, LayerNumerics, Numerics, Survival
from autotune.records.recommendation import (
    AccuracyEvidence,
    AccuracyVerdictName,
    CandidateRow,
    CostEvidence,
    Curve,
    HeadroomEvidence,
    MemoryEvidence,
    PolicyRow,
    Recommendation,
    SpeedEvidence,
    StabilityEvidence,
    TrialRow,
)
from autotune.records.roofline import Bound, LayerCost, LayerRoof, PrecisionGain, Roofline
from autotune.records.run import Excluded, JudgeOptions, RunRecord
from autotune.records.space import Plan, SearchSpace
from autotune.records.watched import ExampleScores, ScaleLimit, StepTrace
from autotune.records.workload import FitCall, LayerInfo, WorkloadInfo

__all__ = [
    "BASELINE_POLICY",
    "POLICIES",
    "REFERENCE_POLICIES",
    "SIXTEEN_BIT_POLICIES",
    "AccuracyEvidence",
    "AccuracyVerdictName",
    "Board",
    "Bound",
    "CandidateRow",
    "Ceiling",
    "Chunk",
    "Configuration",
    "CostEvidence",
    "CpuInfo",
    "Curve",
    "CurvePoint",
    "Distribution",
    "ExampleScores",
    "Excluded",
    "Finding",
    "FitCall",
    "GpuInfo",
    "GradientNoise",
    "GradientNumerics",
    "HardwareProfile",
    "HeadroomEvidence",
    "JudgeOptions",
    "LayerCost",
    "LayerInfo",
    "LayerNumerics",
    "LayerRoof",
    "LossScale",
    "Measurement",
    "MemoryEvidence",
    "NoiseScale",
    "Numerics",
    "Outcome",
    "Plan",
    "PolicyRow",
    "PrecisionGain",
    "Proof",
    "Purpose",
    "Recommendation",
    "Roofline",
    "RunRecord",
    "ScaleLimit",
    "SearchSpace",
    "Severity",
    "SoftwareInfo",
    "SpeedEvidence",
    "StabilityEvidence",
    "Standing",
    "StepTrace",
    "Survival",
    "TpuInfo",
    "TrialRow",
    "WorkloadInfo",
]

"""The probe as a whole: no failure of a part ends it, and what was not learned is unknown."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from autotune.probe import profile as module
from autotune.probe.nvidia import GpuProbe
from autotune.probe.profile import probe
from autotune.records import CpuInfo, Finding, GpuInfo, Severity
from autotune.records.codec import dumps, loads


def gpus(*found: GpuInfo, findings: tuple[Finding, ...] = ()):
    def ask(environment: object, timeout_s: float) -> GpuProbe:
        return found, findings, "550.90", "12.4"

    return ask


def broken(*arguments: object, **options: object) -> None:
    raise RuntimeError("broken")


def test_every_part_may_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("probe_cpu", "probe_tpu", "probe_gpus", "allowed_cores"):
        monkeypatch.setattr(module, name, broken)
    found = probe(tmp_path, {})
    assert (found.device, found.cpu, found.gpus, found.tpu) == ("cpu", CpuInfo(), (), None)
    assert [f.code for f in found.findings] == ["probe_failed"] * 4
    assert {f.severity for f in found.findings} == {Severity.WARNING}
    assert all("broken" in f.message for f in found.findings)


@pytest.mark.parametrize(("visible", "device"), [(True, "gpu"), (None, "gpu"), (False, "cpu")])
def test_a_card_that_cuda_may_see_is_where_training_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, visible: bool | None, device: str
) -> None:
    monkeypatch.setattr(module, "probe_gpus", gpus(GpuInfo(index=0, name="A100", visible=visible)))
    assert probe(tmp_path, {}).device == device


def test_an_address_of_a_tpu_is_where_training_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "probe_gpus", gpus())
    found = probe(tmp_path, {"TPU_NAME": "mine"})
    assert found.device == "tpu"
    assert [f.code for f in found.findings] == ["tpu_needs_strategy"]


def test_a_card_in_use_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card = GpuInfo(
        index=0,
        name="T4",
        visible=True,
        process_count=1,
        memory_total_bytes=16 << 30,
        memory_free_bytes=4 << 30,
        throttle_reasons=("power cap",),
    )
    monkeypatch.setattr(module, "probe_gpus", gpus(card))
    assert [f.code for f in probe(tmp_path, {}).findings] == ["gpu_shared", "gpu_memory_taken", "gpu_throttled"]


def test_a_hidden_card_in_use_is_nobodys_business(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "probe_gpus", gpus(GpuInfo(index=0, visible=False, process_count=3)))
    assert probe(tmp_path, {}).findings == ()


def test_this_machine_in_time_and_as_json() -> None:
    times_s = []
    for _ in range(3):
        start_s = time.monotonic()
        found = probe()
        times_s.append(time.monotonic() - start_s)
    # The best of three: other programs may disturb one.
    assert min(times_s) < 1.5
    assert found.software.nvidia_driver is None or found.gpus
    assert loads(type(found), dumps(found)) == found

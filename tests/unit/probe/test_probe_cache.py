"""Measured ceilings are found again on the same machine, and only there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from autotune.probe.cache import cache_folder, cache_key, load_measured, save_measured
from autotune.probe.ceilings import Measured
from autotune.probe.tensorflow_devices import TensorflowDevices
from autotune.records import Ceiling, CpuInfo, GpuInfo, HardwareProfile, SoftwareInfo

PROFILE = HardwareProfile(
    device="cpu",
    cpu=CpuInfo(name="AMD EPYC", logical_cores=2, load_1m=0.1, memory_available_bytes=5),
    gpus=(GpuInfo(index=0, uuid="GPU-1", memory_free_bytes=7, sm_clock_mhz=210),),
    software=SoftwareInfo(autotune="0.1", python="3.12", system="Linux", tensorflow="2.21.0"),
)
MEASURED = Measured(
    devices=TensorflowDevices(gpu_count=0),
    ceilings=(Ceiling(operation="matmul", dtype="float32", per_s=1.5e11, size="512 x 512"),),
)
DTYPES = ("float32",)


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "cache"
    assert load_measured(PROFILE, DTYPES, folder) is None
    assert save_measured(MEASURED, PROFILE, DTYPES, folder)
    assert load_measured(PROFILE, DTYPES, folder) == MEASURED
    assert [path.suffix for path in folder.iterdir()] == [".json"]


def test_what_changes_from_minute_to_minute_does_not_matter() -> None:
    cpu = replace(PROFILE.cpu, load_1m=3.0, memory_available_bytes=1)
    gpu = replace(PROFILE.gpus[0], memory_free_bytes=1, sm_clock_mhz=1400)
    assert cache_key(replace(PROFILE, cpu=cpu, gpus=(gpu,)), DTYPES, {}) == cache_key(PROFILE, DTYPES, {})


@pytest.mark.parametrize(
    "other",
    [
        replace(PROFILE, cpu=replace(PROFILE.cpu, logical_cores=1)),
        replace(PROFILE, gpus=(replace(PROFILE.gpus[0], visible=False),)),
        replace(PROFILE, gpus=(replace(PROFILE.gpus[0], uuid="GPU-2"),)),
        replace(PROFILE, software=replace(PROFILE.software, tensorflow="2.20.0")),
    ],
)
def test_another_machine_or_version_is_measured_anew(other: HardwareProfile) -> None:
    assert cache_key(other, DTYPES, {}) != cache_key(PROFILE, DTYPES, {})


def test_settings_of_the_kernels_are_part_of_the_key() -> None:
    plain = cache_key(PROFILE, DTYPES, {"HOME": "/x"})
    assert plain == cache_key(PROFILE, DTYPES, {})
    assert plain != cache_key(PROFILE, DTYPES, {"TF_ENABLE_ONEDNN_OPTS": "0"})
    assert plain != cache_key(PROFILE, ("float32", "float16"), {})


@pytest.mark.parametrize("text", ["", "{", "[]", '{"ceilings": [{"operation": "dance"}]}', '{"ceilings": []}'])
def test_a_damaged_file_is_as_good_as_none(tmp_path: Path, text: str) -> None:
    save_measured(MEASURED, PROFILE, DTYPES, tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_text(text, encoding="utf-8")
    assert load_measured(PROFILE, DTYPES, tmp_path) is None


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert save_measured(MEASURED, PROFILE, DTYPES, tmp_path / "file" / "cache") is False


def test_the_place_can_be_set(tmp_path: Path) -> None:
    assert cache_folder({"AUTOTUNE_CACHE_DIR": str(tmp_path)}) == tmp_path
    assert "autotune" in cache_folder({}).name

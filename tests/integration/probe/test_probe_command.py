"""`autotune probe`: one screen for people, the record for programs, tables for a report; measured once."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from autotune.cli.probe import register
from autotune.cli.probe_view import as_markdown, ceiling_rows, show
from autotune.errors import HardwareError
from autotune.probe import ceilings
from autotune.probe.ceilings import Measured
from autotune.probe.tensorflow_devices import TensorflowDevices
from autotune.records import (
    Ceiling,
    CpuInfo,
    Finding,
    GpuInfo,
    HardwareProfile,
    Severity,
    SoftwareInfo,
    TpuInfo,
)
from autotune.records.codec import loads

MEASURED = Measured(
    devices=TensorflowDevices(gpu_count=0),
    ceilings=(
        Ceiling(operation="matmul", dtype="float32", per_s=1.6e11, size="512 x 512"),
        Ceiling(operation="matmul", dtype="bfloat16", per_s=4e11, size="1024 x 1024"),
        Ceiling(operation="copy", dtype="float32", per_s=4.8e10, size="256 MiB"),
    ),
)


class Measurements:
    """Stands in for the measuring process and counts how often it is asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.error: HardwareError | None = None
        monkeypatch.setattr(ceilings, "run_measured", self)

    def __call__(self, *arguments: object, **options: object) -> Measured:
        self.count += 1
        if self.error is not None:
            raise self.error
        return MEASURED


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer()
    app.callback()(lambda: None)
    register(app)
    return app


@pytest.fixture
def measurements(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Measurements:
    monkeypatch.setenv("AUTOTUNE_CACHE_DIR", str(tmp_path / "cache"))
    return Measurements(monkeypatch)


def run(app: typer.Typer, *arguments: str) -> str:
    result = CliRunner().invoke(app, ["probe", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_json_is_the_record_and_nothing_else(app: typer.Typer, measurements: Measurements) -> None:
    profile = loads(HardwareProfile, run(app, "--format", "json"))
    assert profile.ceilings == MEASURED.ceilings
    assert profile.cpu.logical_cores


def test_a_machine_is_measured_once(app: typer.Typer, measurements: Measurements) -> None:
    first, second = run(app, "--format", "json"), run(app, "--format", "json")
    assert json.loads(first)["ceilings"] == json.loads(second)["ceilings"]
    assert measurements.count == 1
    run(app, "--fresh")
    assert measurements.count == 2


def test_without_ceilings_nothing_is_measured(app: typer.Typer, measurements: Measurements) -> None:
    assert json.loads(run(app, "--no-ceilings", "--format", "json"))["ceilings"] == []
    assert measurements.count == 0


def test_a_cache_that_cannot_be_written_is_no_error(
    app: typer.Typer, measurements: Measurements, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("AUTOTUNE_CACHE_DIR", str(tmp_path / "file"))
    assert json.loads(run(app, "--format", "json"))["ceilings"]


def test_a_measurement_that_fails_is_a_finding(app: typer.Typer, measurements: Measurements) -> None:
    measurements.error = HardwareError("it did not end", hint="look for other programs")
    profile = json.loads(run(app, "--format", "json"))
    assert profile["ceilings"] == []
    assert ("ceilings_failed", "it did not end") in [(f["code"], f["message"]) for f in profile["findings"]]


def test_people_read_one_screen(app: typer.Typer, measurements: Measurements) -> None:
    text = run(app)
    for words in ("processor", "16-bit units", "matrix product bfloat16", "2.50x", "48 GB/s"):
        assert words in text
    assert len(text.splitlines()) < 30


def test_markdown_has_the_same_figures(app: typer.Typer, measurements: Measurements) -> None:
    text = run(app, "--format", "markdown")
    assert text.startswith("# ")
    assert "| matrix product bfloat16 | 400 GFLOP/s | 2.50x |" in text


def test_unknown_is_said_to_be_unknown() -> None:
    profile = HardwareProfile(
        device="gpu",
        cpu=CpuInfo(),
        gpus=(GpuInfo(index=0),),
        tpu=TpuInfo(evidence=("/dev/accel0",)),
        software=SoftwareInfo(autotune="0", python="3", system="Linux"),
        findings=(Finding(code="x", severity=Severity.WARNING, message="a | b", advice="do [this]"),),
    )
    text = as_markdown(profile)
    assert "| cores | unknown |" in text
    assert "| memory | unknown, unknown free |" in text
    assert "bfloat16 unknown" in text
    assert "TensorFlow | not installed" in text
    assert " 0" not in text.replace("GPU 0", "").replace("autotune | 0", "")
    assert "do [this]" in text


def test_brackets_in_names_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    profile = HardwareProfile(
        device="cpu",
        cpu=CpuInfo(name="CPU [bold]X[/bold]"),
        software=SoftwareInfo(autotune="0", python="3", system="Linux"),
        findings=(Finding(code="x", severity=Severity.WARNING, message="see [red]", advice="do [/]"),),
    )
    show(profile)
    text = capsys.readouterr().out
    assert "CPU [bold]X[/bold]" in text
    assert "see [red]; do [/]" in text


def test_a_rate_without_a_float32_beside_it_has_no_ratio() -> None:
    profile = HardwareProfile(
        device="cpu",
        cpu=CpuInfo(),
        software=SoftwareInfo(autotune="0", python="3", system="Linux"),
        ceilings=(Ceiling(operation="matmul", dtype="float16", per_s=2.5e12, size="n"),),
    )
    assert ceiling_rows(profile) == [("matrix product float16", "2,500 GFLOP/s", "")]


def test_the_command_is_quick_and_imports_no_framework() -> None:
    code = (
        "import sys, typer; from autotune.cli.probe import register; app = typer.Typer(); app.callback()(lambda: None);"
        "register(app); app(['probe', '--no-ceilings'], standalone_mode=False);"
        "assert not {'tensorflow', 'keras', 'pynvml', 'cpuinfo'} & set(sys.modules)"
    )
    times_s = []
    for _ in range(3):
        start_s = time.monotonic()
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=60)
        times_s.append(time.monotonic() - start_s)
    # The best of three: other programs may disturb one.
    assert min(times_s) < 1.5

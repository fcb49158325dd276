"""A TPU is known by its own signs alone, and nothing is said of it that the signs do not say."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from autotune.probe.tpu import probe_tpu, tensorflow_can_use, tpu_findings
from autotune.records import TpuInfo


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def nothing_installed(name: str) -> str:
    raise PackageNotFoundError(name)


def test_a_plain_machine_has_none(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            # A network card of Google's, a group of pass-through devices and Intel's neural unit are no TPU.
            "sys/bus/pci/devices/0000:00:04.0/vendor": "0x1ae0\n",
            "sys/bus/pci/devices/0000:00:04.0/device": "0x0042\n",
            "dev/vfio/12": "",
            "dev/accel/accel0": "",
            "sys/class/accel/accel0/device/vendor": "0x8086\n",
        },
    )
    assert probe_tpu(tmp_path, {"PATH": "/bin"}) is None


def test_chips_on_the_bus_tell_kind_and_number(tmp_path: Path) -> None:
    files = {f"sys/bus/pci/devices/0000:00:0{n}.0/vendor": "0x1ae0\n" for n in (4, 5)}
    files |= {f"sys/bus/pci/devices/0000:00:0{n}.0/device": "0x0063\n" for n in (4, 5)}
    tpu = probe_tpu(write(tmp_path, {**files, "dev/vfio/0": "", "dev/vfio/vfio": ""}), {})
    assert tpu == TpuInfo(
        evidence=("PCI device 0000:00:04.0", "PCI device 0000:00:05.0", "/dev/vfio/0"), kind="v5e", chips=2
    )


def test_a_cloud_machine_names_its_kind(tmp_path: Path) -> None:
    root = write(tmp_path, {"dev/accel0": "", "dev/accel1": ""})
    environment = {"TPU_ACCELERATOR_TYPE": "v4-8", "TPU_WORKER_ID": "0", "TPU_WORKER_HOSTNAMES": "localhost"}
    tpu = probe_tpu(root, environment)
    assert tpu is not None
    assert (tpu.kind, tpu.chips, tpu.hosts) == ("v4-8", None, 1)
    assert tpu.evidence[:2] == ("/dev/accel0", "/dev/accel1")


def test_addresses_stay_out_of_the_record(tmp_path: Path) -> None:
    tpu = probe_tpu(tmp_path, {"COLAB_TPU_ADDR": "10.0.0.2:8470"})
    assert tpu is not None
    assert tpu.evidence == ("COLAB_TPU_ADDR is set",)


@pytest.mark.parametrize(
    ("environment", "files", "usable"),
    [
        ({"TPU_NAME": "mine"}, {}, True),
        ({"TPU_WORKER_ID": "0"}, {}, False),
        ({}, {"dev/accel0": ""}, False),
        ({}, {"dev/accel0": "", "lib/libtpu.so": ""}, True),
        ({"TPU_LIBRARY_PATH": "/opt/libtpu.so"}, {"dev/accel0": ""}, True),
    ],
)
def test_what_tensorflow_needs_for_it(
    tmp_path: Path, environment: dict[str, str], files: dict[str, str], usable: bool
) -> None:
    root = write(tmp_path, files)
    tpu = probe_tpu(root, environment)
    assert tpu is not None
    assert tensorflow_can_use(tpu, root, environment, nothing_installed) is usable


def test_an_installed_library_makes_local_chips_usable(tmp_path: Path) -> None:
    tpu = TpuInfo(evidence=("/dev/accel0",))
    assert tensorflow_can_use(tpu, tmp_path, {}, lambda name: "0.1")


def test_several_hosts_are_said_to_be_outside_this_version() -> None:
    codes = [f.code for f in tpu_findings(TpuInfo(evidence=(), hosts=4), usable=True)]
    assert codes == ["tpu_several_hosts", "tpu_needs_strategy"]


def test_a_tpu_without_its_library_is_said_to_be_idle() -> None:
    (finding,) = tpu_findings(TpuInfo(evidence=(), hosts=1), usable=False)
    assert finding.code == "tpu_not_usable"
    assert "training runs elsewhere" in finding.message

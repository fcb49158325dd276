"""CUDA_VISIBLE_DEVICES in all its forms names the cards that CUDA's documentation says."""

from __future__ import annotations

import pytest

from autotune.probe.visibility import Device, visible_devices

SAME = tuple(Device(uuid=f"GPU-{n}000aaaa-1111-2222-3333-44445555666{n}", model="A100") for n in range(3))
DIFFERENT = (Device(uuid="GPU-1111", model="GTX 1080"), Device(uuid="GPU-2222", model="RTX 4090"))
SPLIT = (
    Device(uuid="GPU-aaaa", model="H100", split=True),
    Device(uuid="MIG-b1", model="3g.40gb", parent_uuid="GPU-aaaa", instance_ids=(1, 0)),
    Device(uuid="MIG-b2", model="1g.10gb", parent_uuid="GPU-aaaa", instance_ids=(9, 0)),
    Device(uuid="GPU-cccc", model="H100"),
)


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        (None, [0, 1, 2]),
        ("", []),
        (" ", []),
        ("-1", []),
        ("NoDevFiles", []),
        ("0", [0]),
        ("2,0", [0, 2]),
        (" 1 , 2 ", [1, 2]),
        ("0,2,-1,1", [0, 2]),
        ("0,7,1", [0]),
        ("7,0", []),
        ("1,1,2", [1]),
        ("0,x,1", [0]),
        ("\u00b2", []),
        ("GPU-1000aaaa-1111-2222-3333-444455556661", [1]),
        ("GPU-1", [1]),
        ("GPU-2000,GPU-0", [0, 2]),
        ("GPU-", []),
        ("GPU-9,0", []),
        ("0,GPU-2", [0, 2]),
    ],
)
def test_equal_cards(value: str | None, seen: list[int]) -> None:
    environment = {} if value is None else {"CUDA_VISIBLE_DEVICES": value}
    assert [i for i, visible in enumerate(visible_devices(SAME, environment)) if visible] == seen


@pytest.mark.parametrize(
    ("environment", "visible"),
    [
        ({}, (True, True)),
        # CUDA counts from the fastest, NVML by bus: nobody can say which card 0 is.
        ({"CUDA_VISIBLE_DEVICES": "0"}, (None, None)),
        ({"CUDA_VISIBLE_DEVICES": "0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, (True, False)),
        ({"CUDA_VISIBLE_DEVICES": "1,0"}, (True, True)),
        ({"CUDA_VISIBLE_DEVICES": "GPU-2222"}, (False, True)),
        ({"CUDA_VISIBLE_DEVICES": "GPU-2222,0"}, (None, True)),
        ({"CUDA_VISIBLE_DEVICES": "-1"}, (False, False)),
    ],
)
def test_unequal_cards(environment: dict[str, str], visible: tuple[bool | None, ...]) -> None:
    assert visible_devices(DIFFERENT, environment) == visible


@pytest.mark.parametrize(
    ("value", "visible"),
    [
        # One instance at most, and beside it no other card.
        (None, (False, True, False, False)),
        ("0", (False, True, False, False)),
        ("1", (False, False, False, True)),
        ("GPU-cccc", (False, False, False, True)),
        ("MIG-b2", (False, False, True, False)),
        ("MIG-b2,MIG-b1", (False, False, True, False)),
        ("MIG-GPU-aaaa/9/0", (False, False, True, False)),
        ("MIG-GPU-aaaa/1/0", (False, True, False, False)),
        ("MIG-GPU-aaaa/5/0", (False, False, False, False)),
        ("MIG-GPU-cccc/1/0", (False, False, False, False)),
        ("MIG-b", (False, False, False, False)),
    ],
)
def test_cards_in_instances(value: str | None, visible: tuple[bool, ...]) -> None:
    environment = {} if value is None else {"CUDA_VISIBLE_DEVICES": value}
    assert visible_devices(SPLIT, environment) == visible


def test_no_card_is_no_card() -> None:
    assert visible_devices((), {"CUDA_VISIBLE_DEVICES": "0"}) == ()

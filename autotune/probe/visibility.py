"""Which cards a CUDA program will see: ``CUDA_VISIBLE_DEVICES`` in all its forms.

Source: CUDA Programming Guide, "CUDA Environment Variables"; NVIDIA Multi-Instance GPU User Guide, "CUDA Device
Enumeration". NVML itself does not look at these variables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

VISIBLE_DEVICES = "CUDA_VISIBLE_DEVICES"
DEVICE_ORDER = "CUDA_DEVICE_ORDER"


@dataclass(frozen=True, kw_only=True, slots=True)
class Device:
    """What decides whether a card, or an instance of one, can be named.

    Attributes:
        uuid: ``GPU-...`` or ``MIG-...``; None when unknown.
        model: Equal for cards of the same kind.
        parent_uuid: Card that an instance is part of; None for a whole card.
        instance_ids: GPU instance and compute instance, for the form ``MIG-GPU-.../1/0``.
        split: Whether the card is divided into instances, so that only these can be used.
    """

    uuid: str | None = None
    model: object = None
    parent_uuid: str | None = None
    instance_ids: tuple[int, int] | None = None
    split: bool = False


def visible_devices(devices: Sequence[Device], environment: Mapping[str, str]) -> tuple[bool | None, ...]:
    """For each device in NVML's order whether a CUDA program will see it; None where it cannot be told.

    An index counts whole cards. CUDA's default order puts the fastest card first, NVML goes by PCI bus: with cards of
    different kinds an index names an unknown one, unless ``CUDA_DEVICE_ORDER=PCI_BUS_ID``.
    """
    cards = [i for i, device in enumerate(devices) if device.parent_uuid is None]
    value = environment.get(VISIBLE_DEVICES)
    if value is None:
        named: list[int | None] = list(cards)
    else:
        ordered = environment.get(DEVICE_ORDER) == "PCI_BUS_ID" or len({devices[i].model for i in cards}) <= 1
        named = _named(devices, cards, value, ordered)
    if None in named:
        # Some of the cards, but nobody can say which; a card in instances is never used as a whole.
        known = {i for i in named if i is not None}
        return tuple(False if device.split else i in known or None for i, device in enumerate(devices))
    return _after_split(devices, [i for i in named if i is not None])


def _named(devices: Sequence[Device], cards: list[int], value: str, ordered: bool) -> list[int | None]:
    """Places of the devices that a list names, up to its first invalid entry; None for one of unknown place.

    What an entry named twice does is not documented; it ends the list here.
    """
    named: list[int | None] = []
    indexes: set[int] = set()
    for entry in (part.strip() for part in value.split(",")):
        if entry.isascii() and entry.isdecimal():
            index = int(entry)
            if index >= len(cards) or index in indexes:
                break
            indexes.add(index)
            named.append(cards[index] if ordered else None)
        else:
            place = _by_uuid(devices, entry)
            if place is None or place in named:
                break
            named.append(place)
    # Every card named: the order does not matter.
    return list(cards) if len(indexes) == len(cards) else named


def _by_uuid(devices: Sequence[Device], entry: str) -> int | None:
    """The one device that an identifier or the beginning of one means; None where there is none or several."""
    if entry.startswith("MIG-GPU-") and "/" in entry:
        parent, _, ids = entry.removeprefix("MIG-").partition("/")
        matches = [
            i
            for i, device in enumerate(devices)
            if device.instance_ids is not None
            and (device.parent_uuid or "").startswith(parent)
            and "/".join(map(str, device.instance_ids)) == ids
        ]
    elif entry.startswith(("GPU-", "MIG-")):
        matches = [i for i, device in enumerate(devices) if (device.uuid or "").startswith(entry)]
    else:
        return None
    return matches[0] if len(matches) == 1 else None


def _after_split(devices: Sequence[Device], named: list[int]) -> tuple[bool, ...]:
    """A program sees one instance at most, and where it sees one, no other card."""
    seen: list[int] = []
    for place in named:
        device = devices[place]
        if device.split:
            seen += [i for i, other in enumerate(devices) if other.parent_uuid == device.uuid][:1]
        else:
            seen.append(place)
    instances = [i for i in seen if devices[i].parent_uuid is not None]
    chosen = set(instances[:1]) if instances else set(seen)
    return tuple(i in chosen for i in range(len(devices)))

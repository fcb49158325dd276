"""Reads ``/proc/cpuinfo`` as the Linux kernel writes it on x86, ARM and POWER."""

from __future__ import annotations

from dataclasses import dataclass

# Implementer and part numbers of processors that train models, from ARM's and the vendors' technical reference
# manuals (MIDR_EL1); ARM kernels write no model name.
_ARM_PARTS = {
    (0x41, 0xD03): "Arm Cortex-A53",
    (0x41, 0xD08): "Arm Cortex-A72",
    (0x41, 0xD0B): "Arm Cortex-A76",
    (0x41, 0xD0C): "Arm Neoverse-N1",
    (0x41, 0xD40): "Arm Neoverse-V1",
    (0x41, 0xD42): "Arm Cortex-A78AE",
    (0x41, 0xD49): "Arm Neoverse-N2",
    (0x41, 0xD4F): "Arm Neoverse-V2",
    (0x41, 0xD8E): "Arm Neoverse-N3",
    (0x41, 0xD84): "Arm Neoverse-V3",
    (0x61, 0x000): "Apple silicon",
    (0xC0, 0xAC3): "Ampere-1",
    (0xC0, 0xAC4): "Ampere-1A",
}
_APPLE = 0x61


@dataclass(frozen=True, kw_only=True, slots=True)
class CpuFacts:
    """What one source says of the processor.

    Attributes:
        name: Model name.
        architecture: As the machine names it; None where the text does not show it.
        processors: Logical processors listed.
        flags: Every instruction-set flag; None where the text has no such line.
    """

    name: str | None = None
    architecture: str | None = None
    processors: int | None = None
    flags: frozenset[str] | None = None


def parse_cpuinfo(text: str) -> CpuFacts:
    """What the text of ``/proc/cpuinfo`` says; of unequal cores only the flags that all have."""
    processors = 0
    first: dict[str, str] = {}
    flags: frozenset[str] | None = None
    for line in text.splitlines():
        key, separator, value = (part.strip() for part in line.partition(":"))
        if not separator:
            continue
        if key == "processor" and value.isdecimal():
            processors += 1
        first.setdefault(key, value)
        if key in ("flags", "Features"):
            these = frozenset(value.split())
            flags = these if flags is None else flags & these
    name = first.get("model name") or first.get("cpu") or _arm_name(first)
    return CpuFacts(
        name=" ".join(name.split()) if name else None,
        architecture=_architecture(first, flags),
        processors=processors or None,
        flags=flags,
    )


def _arm_name(fields: dict[str, str]) -> str | None:
    try:
        implementer, part = (int(fields["CPU implementer"], 16), int(fields["CPU part"], 16))
    except (KeyError, ValueError):
        return None
    if implementer == _APPLE:
        return _ARM_PARTS[_APPLE, 0]
    return _ARM_PARTS.get((implementer, part))


def _architecture(fields: dict[str, str], flags: frozenset[str] | None) -> str | None:
    if "flags" in fields and flags:
        return "x86_64" if "lm" in flags else "i686"
    if "Features" in fields and flags:
        return "aarch64" if "asimd" in flags or fields.get("CPU architecture") == "8" else "armv7l"
    return None

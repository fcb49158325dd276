"""The text of /proc/cpuinfo is read for x86 and ARM, and what it does not say stays unknown."""

from __future__ import annotations

from autotune.probe.cpuinfo import parse_cpuinfo


def test_x86_name_flags_and_processors() -> None:
    text = "processor\t: 0\nmodel name\t: AMD  EPYC 9B14\nflags\t\t: fpu lm avx2 avx512_bf16\n\nprocessor\t: 1\nflags\t\t: fpu lm avx2\n"  # noqa: E501  a recorded line
    facts = parse_cpuinfo(text)
    assert (facts.name, facts.architecture, facts.processors) == ("AMD EPYC 9B14", "x86_64", 2)
    # Only what every core has can be used.
    assert facts.flags == {"fpu", "lm", "avx2"}


def test_arm_name_comes_from_the_part_number() -> None:
    text = (
        "processor\t: 0\nFeatures\t: fp asimd fphp asimdhp bf16\nCPU implementer\t: 0x41\n"
        "CPU architecture: 8\nCPU part\t: 0xd40\n"
    )
    facts = parse_cpuinfo(text)
    assert (facts.name, facts.architecture) == ("Arm Neoverse-V1", "aarch64")
    assert facts.flags is not None and "bf16" in facts.flags


def test_nothing_is_made_up_from_an_empty_text() -> None:
    facts = parse_cpuinfo("")
    assert (facts.name, facts.architecture, facts.processors, facts.flags) == (None, None, None, None)

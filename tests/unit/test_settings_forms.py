"""Settings as people write them: durations, sizes, batches, margins, lists."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autotune.records import POLICIES
from autotune.settings_forms import arguments, batch_sizes, duration_s, flag, policies, size_bytes, tolerance

PARSERS = (arguments, batch_sizes, duration_s, flag, policies, size_bytes, tolerance)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("10m", 600), ("1h30m", 5400), ("45", 45), ("1.5m", 90), (30, 30), ("2h", 7200), (" 5M ", 300)],
)
def test_durations(text: str, seconds: float) -> None:
    """What people write."""
    assert duration_s(text) == seconds


@given(st.integers(0, 99), st.integers(0, 59), st.integers(1, 59))
def test_durations_add_up(hours: int, minutes: int, seconds: int) -> None:
    """Hours, minutes and seconds together."""
    assert duration_s(f"{hours}h{minutes}m{seconds}s") == 3600 * hours + 60 * minutes + seconds


@pytest.mark.parametrize(
    ("text", "size"),
    [("8GiB", 8 * 2**30), ("500MB", 500_000_000), ("1024", 1024), ("1.5k", 1500), (7, 7), ("2 gib", 2**31)],
)
def test_sizes(text: str, size: int) -> None:
    """Binary and decimal units."""
    assert size_bytes(text) == size


@given(st.integers(1, 2**50), st.sampled_from(["", "k", "m", "g", "t"]), st.booleans())
def test_sizes_are_exact(number: int, unit: str, binary: bool) -> None:
    """Whole numbers of any unit keep every byte."""
    power = ["", "k", "m", "g", "t"].index(unit)
    text = f"{number}{unit}{'i' if binary else ''}B"
    assert size_bytes(text) == number * (1024 if binary else 1000) ** power


def test_batches() -> None:
    """A range doubles, a list is a list, repetitions are dropped, one is one."""
    assert batch_sizes("32:256") == (32, 64, 128, 256)
    assert batch_sizes("48:100") == (48, 96)
    assert batch_sizes("32,48, 32") == (32, 48)
    assert batch_sizes(64) == batch_sizes("64") == batch_sizes([64]) == (64,)


@given(st.integers(1, 10**6), st.integers(0, 10**6))
def test_a_range_of_batches_doubles_up_to_its_end(first: int, more: int) -> None:
    """It starts with the first, never passes the last, and one more doubling would."""
    sizes = batch_sizes(f"{first}:{first + more}")
    assert sizes[0] == first and sizes[-1] <= first + more < 2 * sizes[-1]
    assert all(after == 2 * before for before, after in pairwise(sizes))


@given(st.lists(st.integers(1, 4096), min_size=1, max_size=8))
def test_a_list_of_batches_keeps_its_order(sizes: list[int]) -> None:
    """Text and list mean the same, each size once."""
    assert batch_sizes(",".join(map(str, sizes))) == batch_sizes(sizes) == tuple(dict.fromkeys(sizes))


@pytest.mark.parametrize(
    "text", ["", "32:", ":32", "32:64:128", "64:32", "0:8", "32,x", "1.5", "-4", True, 0, [], [2.5]]
)
def test_batches_that_are_none(text: object) -> None:
    """What is wrong is shown and how to write it, in our words."""
    with pytest.raises(ValueError, match="write 32") as caught:
        batch_sizes(text)  # type: ignore[arg-type]
    assert repr(text) in str(caught.value)


def test_margins() -> None:
    """Relative by default, absolute when said."""
    assert (tolerance("1%"), tolerance("0.02"), tolerance("abs:0.005")) == ((0.01, False), (0.02, False), (0.005, True))
    assert (tolerance(0.02), tolerance(1)) == ((0.02, False), (1.0, False))


def test_flags() -> None:
    """Yes and no, as variables and files say them."""
    assert all(flag(yes) is True for yes in ("1", "true", "True", " YES ", "on", True, 1))
    assert all(flag(no) is False for no in ("0", "false", "FALSE", "no", "off", False, 0))
    for text in ("", "2", "maybe", "none"):
        with pytest.raises(ValueError, match="write 1 or 0"):
            flag(text)


def test_arguments_of_the_script() -> None:
    """One text is split as a shell does; a list stays as it is."""
    assert arguments("--epochs 3 --name 'a b'") == ("--epochs", "3", "--name", "a b")
    assert arguments(["--name", "a b", ""]) == ("--name", "a b", "")


@given(st.lists(st.sampled_from(POLICIES), min_size=1))
def test_policies(names: list[str]) -> None:
    """Text with commas and list mean the same."""
    assert policies(", ".join(names)) == policies(names) == tuple(names)


@pytest.mark.parametrize("parser", PARSERS)
@given(
    value=st.one_of(st.text(), st.none(), st.booleans(), st.integers(), st.floats(), st.lists(st.text(), max_size=3))
)
def test_nothing_else_is_ever_raised(parser: object, value: object) -> None:
    """Whatever a file or variable holds: a value, or a ValueError that resolve turns into a message."""
    try:
        parser(value)  # type: ignore[operator]
    except ValueError as error:
        assert str(error)

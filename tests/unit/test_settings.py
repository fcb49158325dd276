"""Settings: where they come from, and how a wrong one is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autotune.errors import UsageError, WorkloadError
from autotune.settings import batch_sizes, duration_s, resolve, size_bytes, tolerance


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text("print()\n")
    return path


def test_options_win_over_the_environment_and_that_over_the_file(script: Path) -> None:
    """Each source overrides the one before; what none names keeps its default."""
    (script.parent / "pyproject.toml").write_text('[tool.autotune]\nbudget = "5m"\nseeds = 4\nmetric = "val_auc"\n')
    settings = resolve(
        script, {"budget": "20s"}, {"AUTOTUNE_BUDGET": "90s", "AUTOTUNE_SEEDS": "5", "AUTOTUNE_DEBUG": "1"}
    )
    assert (settings.budget_s, settings.seeds, settings.metric, settings.strategy) == (20.0, 5, "val_auc", "ladder")


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("10m", 600), ("1h30m", 5400), ("45", 45), ("1.5m", 90), (30, 30), ("2h", 7200)]
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


def test_batches() -> None:
    """A range doubles, a list is a list, doubles are dropped."""
    assert batch_sizes("32:256") == (32, 64, 128, 256)
    assert batch_sizes("48:100") == (48, 96)
    assert batch_sizes("32,48,32") == (32, 48)


def test_margins() -> None:
    """Relative by default, absolute when said."""
    assert (tolerance("1%"), tolerance("0.02"), tolerance("abs:0.005")) == ((0.01, False), (0.02, False), (0.005, True))


@pytest.mark.parametrize(
    ("options", "environment", "said"),
    [
        ({"budget": "soon"}, {}, "--budget: 'soon' is no duration"),
        ({}, {"AUTOTUNE_BUDGET": "soon"}, "AUTOTUNE_BUDGET: 'soon' is no duration"),
        ({"batch_size": "0"}, {}, "--batch-size: '0': a batch is a whole number"),
        ({"batch_size": "64:32"}, {}, "--batch-size: '64:32' is no range"),
        ({"memory_limit": "lots"}, {}, "--memory-limit: 'lots' is no size"),
        ({"tolerance": "little"}, {}, "--tolerance"),
        ({"policy": ["int8"]}, {}, "--policy: unknown policy 'int8'; there are float32"),
        ({"strategy": "magic"}, {}, "--strategy: unknown strategy 'magic'; there are ladder"),
        ({"reference": "float8"}, {}, "--reference: unknown reference"),
        ({"seeds": 2}, {}, "--seeds"),
        ({"fit": 0}, {}, "--fit"),
        ({"keep_batch_size": True, "batch_size": "32"}, {}, "contradict"),
        ({"resume": "x", "fresh": True}, {}, "contradict"),
        ({}, {"AUTOTUNE_BUGDET": "5m"}, "there is no such setting"),
    ],
)
def test_wrong_settings_name_their_source(
    script: Path, options: dict[str, object], environment: dict[str, str], said: str
) -> None:
    """Which option or variable, what is wrong, what to do."""
    with pytest.raises(UsageError) as caught:
        resolve(script, options, environment)
    assert said in caught.value.message and caught.value.hint and caught.value.exit_code == 2


def test_a_wrong_value_in_the_file_names_the_file(script: Path) -> None:
    """The path of pyproject.toml is in the message."""
    file = script.parent / "pyproject.toml"
    file.write_text('[tool.autotune]\nbudget = "soon"\n')
    with pytest.raises(UsageError, match=r"budget \(\[tool.autotune\] in .*pyproject.toml\)"):
        resolve(script)
    file.write_text("[tool.autotune\n")
    with pytest.raises(UsageError, match=r"pyproject.toml cannot be read"):
        resolve(script)


@pytest.mark.parametrize(
    ("content", "name", "kind", "said"),
    [
        (None, "none.py", UsageError, "does not exist"),
        (b"\x7fELF\0\0", "train.py", UsageError, "is not Python source"),
        (b"# a title\n\nSome *text*.\n", "notes.md", UsageError, "is not Python source"),
        (b"import keras\nmodel = (\n", "train.py", WorkloadError, "train.py:2: syntax error"),
    ],
)
def test_targets_that_cannot_run(
    tmp_path: Path, content: bytes | None, name: str, kind: type[UsageError], said: str
) -> None:
    """Missing, binary, prose, or with a syntax error: told before anything starts."""
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(kind) as caught:
        resolve(tmp_path / name)
    assert said in caught.value.message


def test_a_folder_is_no_script(tmp_path: Path) -> None:
    """The hint says what to give instead."""
    with pytest.raises(UsageError, match="is a folder") as caught:
        resolve(tmp_path)
    assert "calls fit" in caught.value.hint

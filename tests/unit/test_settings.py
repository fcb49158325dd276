"""Settings: where they come from, and how a wrong one is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from autotune.errors import UsageError, WorkloadError
from autotune.settings import Settings, resolve


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
        (
            {"keep_batch_size": True, "batch_size": "32"},
            {},
            "--keep-batch-size and --batch-size contradict each other;",
        ),
        ({"resume": "x", "fresh": True}, {}, "--resume and --fresh contradict each other;"),
        ({"resume": "x", "out": "y"}, {}, "--resume and --out contradict each other: a run goes on in its own folder;"),
        (
            {},
            {"AUTOTUNE_KEEP_BATCH_SIZE": "yes", "AUTOTUNE_BATCH_SIZE": "32"},
            "AUTOTUNE_KEEP_BATCH_SIZE and AUTOTUNE_BATCH_SIZE contradict each other;",
        ),
        ({"bugdet": "5m"}, {}, "--bugdet: there is no such setting"),
        ({}, {"AUTOTUNE_BUGDET": "5m"}, "AUTOTUNE_BUGDET: there is no such setting"),
        ({}, {"AUTOTUNE_TARGET": "x.py"}, "AUTOTUNE_TARGET: there is no such setting"),
        ({}, {"AUTOTUNE_SEEDS": "2"}, "AUTOTUNE_SEEDS: "),
        ({}, {"AUTOTUNE_FRESH": "perhaps"}, "AUTOTUNE_FRESH: "),
        ({}, {"AUTOTUNE_POLICY": "float32,int8"}, "AUTOTUNE_POLICY: unknown policy 'int8'"),
        ({}, {"AUTOTUNE_ARGUMENTS": "'--name"}, "AUTOTUNE_ARGUMENTS: "),
    ],
)
def test_wrong_settings_name_their_source(
    script: Path, options: dict[str, object], environment: dict[str, str], said: str
) -> None:
    """Which option or variable, what is wrong, what to do."""
    with pytest.raises(UsageError) as caught:
        resolve(script, options, environment)
    assert said in caught.value.message and caught.value.hint and caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('[tool.autotune]\nbudget = "soon"\n', "budget ([tool.autotune] in FILE): 'soon' is no duration"),
        ("[tool.autotune]\nbudget = true\n", "budget ([tool.autotune] in FILE): True is no duration"),
        ("[tool.autotune]\nbudget = inf\n", "budget ([tool.autotune] in FILE): "),
        ("[tool.autotune]\nmemory-limit = 1.5\n", "memory_limit ([tool.autotune] in FILE): 1.5 is no size"),
        ("[tool.autotune]\ntolerance = [1]\n", "tolerance ([tool.autotune] in FILE): [1] is no margin"),
        ("[tool.autotune]\npolicy = 3\n", "policy ([tool.autotune] in FILE): 3 is no list"),
        ("[tool.autotune]\nseeds = 2\n", "seeds ([tool.autotune] in FILE): "),
        ("[tool.autotune]\nsedes = 4\n", "sedes ([tool.autotune] in FILE): there is no such setting"),
        ("[tool.autotune]\ntarget = 'x.py'\n", "target ([tool.autotune] in FILE): there is no such setting"),
        ("[tool]\nautotune = 3\n", "[tool.autotune] in FILE is no table"),
        ("[tool.autotune\n", "FILE cannot be read"),
    ],
)
def test_a_wrong_value_in_the_file_names_the_file(script: Path, content: str, said: str) -> None:
    """The entry, the path of pyproject.toml, and what to do; also where the value is only found out at the end."""
    file = script.parent / "pyproject.toml"
    file.write_text(content)
    with pytest.raises(UsageError) as caught:
        resolve(script)
    assert said.replace("FILE", str(file)) in caught.value.message and caught.value.hint


def test_the_last_source_is_named(script: Path) -> None:
    """A right value in the file does not take the blame for a wrong option."""
    (script.parent / "pyproject.toml").write_text("[tool.autotune]\nseeds = 4\n")
    with pytest.raises(UsageError, match=r"^--seeds: "):
        resolve(script, {"seeds": 1}, {"AUTOTUNE_SEEDS": "5"})


@pytest.mark.parametrize(
    ("weaker", "stronger", "setting", "value"),
    [
        ('batch-size = "32:64"', {"keep_batch_size": True}, "keep_batch_size", True),
        ("keep-batch-size = true", {"batch_size": "8"}, "batch_sizes", (8,)),
        ('out = "runs"', {"resume": "earlier"}, "resume", Path("earlier")),
        ("fresh = true", {"resume": "earlier"}, "resume", Path("earlier")),
    ],
)
def test_what_is_said_last_wins_over_its_opposite(
    script: Path, weaker: str, stronger: dict[str, object], setting: str, value: object
) -> None:
    """A project's file does not forbid an option that says otherwise; a variable stands between the two."""
    file = script.parent / "pyproject.toml"
    file.write_text(f"[tool.autotune]\n{weaker}\n")
    assert getattr(resolve(script, stronger), setting) == value
    variables = {f"AUTOTUNE_{name.upper()}": str(given) for name, given in stronger.items()}
    assert getattr(resolve(script, {}, variables), setting) == value


def test_what_is_not_asked_for_takes_nothing_away(script: Path) -> None:
    """A variable that says no contradicts nothing."""
    settings = resolve(script, {"batch_size": "32"}, {"AUTOTUNE_KEEP_BATCH_SIZE": "0", "AUTOTUNE_FRESH": "no"})
    assert (settings.batch_sizes, settings.keep_batch_size, settings.fresh) == ((32,), False, False)
    (script.parent / "pyproject.toml").write_text('[tool.autotune]\nbatch-size = "8"\n')
    assert resolve(script, {}, {"AUTOTUNE_KEEP_BATCH_SIZE": "off"}).batch_sizes == (8,)


def test_settings_made_directly_are_checked_too(script: Path) -> None:
    """The same rule without a source to name."""
    with pytest.raises(ValueError, match="--keep-batch-size and --batch-size contradict"):
        Settings(target=script, keep_batch_size=True, batch_sizes=(32,))


@pytest.mark.parametrize(
    ("content", "name", "kind", "said"),
    [
        (None, "none.py", UsageError, "does not exist"),
        (b"\x7fELF\0\0", "train.py", UsageError, "is not Python source"),
        (b"# a title\n\nSome *text*.\n", "notes.md", UsageError, "is not Python source"),
        (b"import keras\nmodel = (\n", "train.py", WorkloadError, "train.py:2: syntax error"),
        (b"x = " + b"-" * 200_000 + b"1\n", "train.py", WorkloadError, "train.py is nested too deeply"),
        (None, "n" * 300 + ".py", UsageError, "cannot be read: File name too long"),
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
    assert said in caught.value.message and caught.value.hint


def test_a_folder_is_no_script(tmp_path: Path) -> None:
    """The hint says what to give instead."""
    with pytest.raises(UsageError, match="is a folder") as caught:
        resolve(tmp_path)
    assert "calls fit" in caught.value.hint


def test_a_doubtful_literal_is_pythons_to_tell(script: Path) -> None:
    """Python warns where the script runs; looking at it first neither warns nor fails."""
    script.write_text(r"pattern = '\d'")
    assert resolve(script).target == script


def test_a_run_that_goes_on_is_asked_the_same_again(tmp_path: Path) -> None:
    """Options of the interrupted run count again, above the environment and below what is given anew; its budget does not."""
    script = tmp_path / "train.py"
    script.write_text("")
    run = tmp_path / "run"
    run.mkdir()
    first = resolve(
        script,
        {"tolerance": "10%", "keep_batch_size": True, "budget": "1m", "arguments": ["--rows", "5"], "out": run},
        cwd=tmp_path,
    )
    (run / "settings.json").write_text(first.kept())
    again = resolve(script, {"resume": run}, {"AUTOTUNE_TOLERANCE": "3%", "AUTOTUNE_SEEDS": "5"}, tmp_path)
    assert (again.tolerance, again.keep_batch_size, again.arguments) == (0.1, True, ("--rows", "5"))
    assert (again.budget_s, again.out, again.resume) == (None, None, run)
    other = resolve(script, {"resume": run, "tolerance": "2%", "batch_size": "32,64"}, {}, tmp_path)
    assert (other.tolerance, other.keep_batch_size, other.batch_sizes) == (0.02, False, (32, 64))
    (run / "settings.json").unlink()
    assert resolve(script, {"resume": run}, {}, tmp_path).tolerance == 0.01
    for damage in ("[", '{"out": "elsewhere"}', "[" * 100_000):
        (run / "settings.json").write_text(damage)
        with pytest.raises(UsageError, match=r"settings\.json is damaged"):
            resolve(script, {"resume": run}, {}, tmp_path)

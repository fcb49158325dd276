"""Strategies by name: ours and those of other packages, with options that are checked before anything runs."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import pytest

from autotune.errors import UsageError
from autotune.settings import resolve
from autotune.strategies import create, describe, names, parse
from autotune.strategies.registry import _OWN, _kind, options_of
from autotune.testing.strategies import check_strategy, example_plans
from tests.unit.strategies.board import empty

PLUGIN = '''
from autotune.strategies import Option


class Backwards:
    """The last point first."""

    name = "backwards"
    options = (Option(name="most", default=5, least=1, help="most points"),)

    def __init__(self, seed=0, most=5):
        self.most = most

    def propose(self, plan, board):
        if len(board.standings) > self.most:
            return None
        untried = [p for p in plan.space.configurations() if board.of(p) is None and p != board.baseline]
        return untried[-1] if untried else None
'''


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another package's strategy, installed; a second one whose module is gone."""
    (tmp_path / "backwards_of_theirs.py").write_text(PLUGIN)
    meta = tmp_path / "theirs-1.0.dist-info"
    meta.mkdir()
    (meta / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (meta / "entry_points.txt").write_text(
        "[autotune.strategies]\nbackwards = backwards_of_theirs:Backwards\ngone = no_such_module_of_theirs:Gone\n"
        "ladder = backwards_of_theirs:Backwards\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "backwards_of_theirs", raising=False)


@pytest.mark.parametrize("name", list(_OWN))
def test_the_table_and_the_constructor_agree(name: str) -> None:
    """Each option of the table is an argument with the same default, and nothing else is."""
    parameters = dict(inspect.signature(_kind(name)).parameters)
    del parameters["seed"]
    assert {n: p.default for n, p in parameters.items()} == {o.name: o.default for o in options_of(name)}
    assert _kind(name).name == name and all(o.default >= o.least and o.help for o in options_of(name))


def test_the_help_names_every_strategy_and_option() -> None:
    """From the same table."""
    told = describe()
    for name in _OWN:
        assert name in told and all(f"{o.name}={o.default}" in told for o in options_of(name))


def test_options_behind_a_colon() -> None:
    """As many as wanted, spaces aside; none without a colon."""
    assert parse("tpe:trials=7, startup=2").options == {"trials": 7, "startup": 2}
    assert (parse("tpe").name, parse("tpe").options) == ("tpe", {})


def test_options_reach_the_strategy() -> None:
    """One point and no more."""
    plan = example_plans()[0]
    for name in ("random", "tpe"):
        board = empty(plan)
        first = create(f"{name}:trials=1", seed=3).propose(plan, board)
        assert first is not None
        assert create(f"{name}:trials=1", seed=3).propose(plan, empty(plan, first)) is None
        assert create(f"{name}:trials=2", seed=3).propose(plan, empty(plan, first)) is not None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tpe:", "strategy tpe has no option ''"),
        ("tpe:speed=3", "strategy tpe has no option 'speed'"),
        ("tpe:trials", "option trials of strategy tpe: ''"),
        ("tpe:trials=0", "'0' is no whole number of at least 1"),
        ("tpe:trials=many", "'many' is no whole number"),
        ("tpe:trials=-3", "'-3' is no whole number"),
        ("tpe:trials=3,trials=4", "option trials of strategy tpe is given twice"),
        ("ladder:trials=3", "strategy ladder has no option 'trials'"),
        ("magic:trials=3", "unknown strategy 'magic'"),
        ("", "unknown strategy ''"),
    ],
)
def test_wrong_options_are_told_before_anything_runs(tmp_path: Path, text: str, said: str) -> None:
    """By the registry with a hint, and by the settings with the option's name."""
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert said in caught.value.message and caught.value.hint
    (tmp_path / "train.py").write_text("")
    if text:
        with pytest.raises(UsageError) as caught:
            resolve(tmp_path / "train.py", {"strategy": text})
        assert caught.value.message.startswith("--strategy: ") and said in caught.value.message


@pytest.mark.usefixtures("plugin")
def test_a_strategy_of_another_package() -> None:
    """Found by its entry point, with its options, and it keeps the contract; it cannot take the name of one of ours."""
    assert names()[-2:] == ("backwards", "gone") and names().count("ladder") == 1
    assert type(create("ladder")).__name__ == "Ladder"
    assert create("backwards:most=2").most == 2  # type: ignore[attr-defined]
    check_strategy(lambda seed: create("backwards", seed=seed), rounds=1)
    with pytest.raises(UsageError, match="has no option 'least'"):
        parse("backwards:least=2")


@pytest.mark.usefixtures("plugin")
def test_a_strategy_that_cannot_be_loaded() -> None:
    """Whose it is and why; not a bug of ours."""
    with pytest.raises(UsageError, match=r"'gone' \(no_such_module_of_theirs:Gone\) cannot be loaded") as caught:
        create("gone")
    assert caught.value.hint and isinstance(caught.value.__cause__, ImportError)

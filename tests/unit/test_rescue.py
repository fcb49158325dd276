"""Which layers must stay in float32: what is tried, in what order, and when the search ends."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence

import pytest

from autotune.rescue import Layers, Rescue, rescue


def model(count: int) -> list[str]:
    """Paths of a model's layers."""
    return [f"a{n}" for n in range(count)]


def play(
    count: int, needed: Collection[str] | None, suspects: Sequence[str] = (), most: int = 12
) -> tuple[Rescue, list[Layers]]:
    """Searches to the end where training works once all needed layers are in float32; None: nothing helps."""
    known: dict[Layers, bool] = {}
    while (found := rescue(model(count), suspects, known, most=most)).attempt is not None:
        assert found.attempt not in known
        known[found.attempt] = needed is not None and set(needed) <= found.attempt
    return found, list(known)


def test_a_layer_that_was_named_is_tried_first() -> None:
    """One attempt settles the ordinary case."""
    found, tried = play(20, {"a7"}, suspects=["a7"])
    assert (found.layers, found.minimal, len(tried)) == (("a7",), True, 1)


def test_without_suspects_the_output_layer_is_the_guess() -> None:
    """A softmax in 16 bits is the most frequent fault."""
    found, tried = play(20, {"a19"})
    assert (found.layers, len(tried)) == (("a19",), 1)


def test_a_wrong_suspect_costs_little() -> None:
    """The layer is found all the same, in about as many attempts as halvings."""
    found, tried = play(16, {"a5"}, suspects=["a3"])
    assert (found.layers, found.minimal) == (("a5",), True)
    assert len(tried) <= 4 + 2 * 4


def test_named_layers_are_tried_together_before_all() -> None:
    """Two faults of which each was named."""
    found, tried = play(30, {"a4", "a20"}, suspects=["a4", "a20"])
    assert (found.layers, found.minimal) == (("a4", "a20"), True)
    assert len(tried) <= 8


def test_where_not_even_all_layers_help_the_search_ends() -> None:
    """The fault is not in the layers: a loss of the user's own, say."""
    found, tried = play(10, None, suspects=["a2"])
    assert (found.layers, found.minimal, found.attempt) == (None, False, None)
    assert frozenset(f"a{n}" for n in range(10)) in tried


def test_a_search_that_ends_early_has_a_set_that_helps_and_does_not_call_it_minimal() -> None:
    """Many layers needed, few attempts: what is known is said, no more."""
    needed = {f"a{n}" for n in range(0, 40, 3)}
    found, tried = play(40, needed, most=8)
    assert len(tried) == 8
    assert found.layers is not None
    assert needed <= set(found.layers)
    assert not found.minimal


def test_a_model_without_arithmetic_has_nothing_to_rescue() -> None:
    assert rescue(model(0), [], {}) == Rescue(attempt=None, layers=None, minimal=False)


def test_a_suspect_that_is_no_layer_of_the_model_is_passed_over() -> None:
    assert rescue(model(3), ["lambda in the loss", "x"], {}).attempt == frozenset({"a2"})


@pytest.mark.parametrize("seed", range(40))
def test_what_is_called_minimal_is_minimal(seed: int) -> None:
    """For needed sets of any size: the set is found, and every layer in it is needed."""
    chance = random.Random(seed)
    count = chance.randint(1, 24)
    needed = {f"a{n}" for n in chance.sample(range(count), chance.randint(1, min(4, count)))}
    suspects = [f"a{chance.randrange(count)}" for _ in range(chance.randint(0, 3))]
    found, _ = play(count, needed, suspects, most=500)
    assert found.minimal
    assert set(found.layers or ()) == needed


def test_an_interrupted_search_goes_on_where_it_was() -> None:
    """The next attempt follows from those made, in whatever order they are known."""
    known: dict[Layers, bool] = {}
    while (found := rescue(model(12), ["a2"], known, most=50)).attempt is not None:
        assert rescue(model(12), ["a2"], dict(reversed(known.items())), most=50) == found
        known[found.attempt] = {"a3", "a9"} <= found.attempt
    assert found.layers == ("a3", "a9")

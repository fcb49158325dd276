"""What a strategy is."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    from autotune.records import Board, Configuration, Plan


class Strategy(Protocol):
    """Chooses which configuration is timed next.

    A strategy is a pure function of its arguments and its own seed: a run that is resumed goes on as it would have. It is
    asked again after each trial and each verdict. It never proposes the baseline, a point twice, or a point outside the
    space, and it ends.

    Its constructor takes ``seed``, and one argument for each of the class attribute ``options``, a tuple of ``Option``;
    a class without that attribute has no options.
    """

    name: ClassVar[str]

    def propose(self, plan: Plan, board: Board) -> Configuration | None:
        """The configuration to time next; None when there is nothing more to time as things stand.

        Args:
            plan: Space and policies without hope.
            board: What is known of each configuration tried so far.
        """

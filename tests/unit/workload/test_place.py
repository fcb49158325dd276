"""What of an error is told."""

from __future__ import annotations

from autotune.workload.place import summary


def test_the_frameworks_own_files_and_links_are_left_out() -> None:
    """They help nobody, and name folders of the machine in reports that people send around."""
    text = (
        "Trying to access resource dense/kernel/1 (defined @ /home/me/.venv/lib/python3.11/keras/core.py:43) located in"
        " device CPU:1 from device CPU:0 Cf. https://www.tensorflow.org/xla/known_issues"
    )
    assert summary(ValueError(text)) == (
        "Trying to access resource dense/kernel/1 located in device CPU:1 from device CPU:0"
    )


def test_a_long_message_is_cut() -> None:
    assert len(summary(ValueError("x" * 1000))) < 320

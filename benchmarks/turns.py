"""Real trainings that go on one epoch at a time, when told to: so that two can be timed in alternation.

Machines change their pace from second to second. Whole runs one after the other then differ by more than what is to be
measured; neighbouring epochs of two runs do not.
"""

from __future__ import annotations

import subprocess
import sys

# The clock stops where the training of an epoch ends and its validation has not begun: all sides validate alike.
_CLOCK = """
import functools, sys, time, keras

class Clock(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        print("\\nTURN", flush=True)
        if not sys.stdin.readline():
            raise SystemExit(0)
        self.begun, self.ended = time.perf_counter(), None
    def on_test_begin(self, logs=None):
        if self.ended is None:
            self.ended = time.perf_counter()
    def on_epoch_end(self, epoch, logs=None):
        print("\\nTOOK", (self.ended or time.perf_counter()) - self.begun, flush=True)

plain = keras.Model.fit

@functools.wraps(plain)
def fit(model, *args, **kwargs):
    kwargs["callbacks"] = [*(kwargs.get("callbacks") or []), Clock()]
    return plain(model, *args, **{**kwargs, "epochs": 100_000})

keras.Model.fit = fit
"""


class Training:
    """A script in a process of its own that trains an epoch when told to.

    Args:
        code: Python that runs the script; its ``fit`` is given epochs without end.
    """

    def __init__(self, code: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _CLOCK + code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._until("TURN")

    def epoch_s(self) -> float:
        """Trains one epoch; time of its training part."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        took = float(self._until("TOOK").split()[1])
        self._until("TURN")
        return took

    def close(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.wait()

    def _until(self, word: str) -> str:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(word):
                return line
        raise SystemExit(f"the training ended by itself with status {self._process.wait()}")


def plain_script(path: str) -> str:
    """Code that runs a script as Python would."""
    return f"import runpy; sys.argv = [{path!r}]; runpy.run_path({path!r}, run_name='__main__')"

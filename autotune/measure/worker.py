"""The worker process: sets the stage, runs the user's script up to its ``fit``, then serves trials inside it."""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import sys
from pathlib import Path
from typing import Any

from autotune.measure.channel import Channel
from autotune.measure.spec import WorkerSpec

# Variables that frameworks read while they are imported: a script that sets them needs a process without the imports.
_IMPORT_TIME = ("TF_", "XLA_", "KERAS_", "CUDA_", "ONEDNN_", "DNNL_", "OMP_", "MKL_", "KMP_", "NVIDIA_")
_OTHER_BACKEND = "Keras runs on the {} backend here; autotune measures the TensorFlow backend only"


class UnsupportedFramework(BaseException):
    """The script trains with something that cannot be measured here; passes the script's own ``except Exception``."""


def import_frameworks() -> None:
    """Imports what every worker needs; nothing is run, so that a fork stays safe."""
    import keras  # noqa: F401
    import tensorflow  # noqa: F401

    import autotune.measure.session
    import autotune.workload.functions  # noqa: F401


def run(spec: WorkerSpec, connection: socket.socket, *, forked: bool) -> None:
    """Runs one worker to its end; never raises for what the user's code does.

    Args:
        spec: What to do.
        connection: Socket to the parent.
        forked: Whether the frameworks were imported before this process began.
    """
    _set_stage(spec)
    channel = Channel(connection)
    channel.listen()
    before = _import_time_variables()
    if spec.ceilings:
        from autotune.probe.ceilings import measure_ceilings

        channel.send("ceilings", ceilings=measure_ceilings(spec.ceilings, budget_s=spec.ceilings_budget_s))
        return
    backend = os.environ.get("KERAS_BACKEND", "tensorflow")
    if backend != "tensorflow":  # said before anything of it is imported: it may not even be installed
        channel.send("failed", kind="framework", reason=_OTHER_BACKEND.format(backend), traceback="", line="")
        return
    from autotune.workload.place import UserCode

    user = UserCode(spec.script)
    from autotune.measure.session import Session  # brings the frameworks

    session = Session(channel, spec, user, lambda: _changed(before) if forked else {})
    try:
        _refuse_other_frameworks()
        session.run_script()
    except UnsupportedFramework as error:
        channel.send("failed", kind="framework", reason=str(error), traceback="", line="")
    finally:
        _flush()


def _set_stage(spec: WorkerSpec) -> None:
    log = os.open(spec.log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    null = os.open(os.devnull, os.O_RDONLY)
    _flush()
    os.dup2(null, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    # Binary-safe text streams of our own: a C locale or an odd console encoding must not end a script that prints.
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    sys.stdout = open(1, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False, buffering=1)
    os.chdir(spec.cwd)
    os.environ.update(spec.environment)
    with contextlib.suppress(OSError):  # the kernel is to pick a worker, not the parent
        Path("/proc/self/oom_score_adj").write_text("900")


def _import_time_variables() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith(_IMPORT_TIME)}


def _changed(before: dict[str, str]) -> dict[str, str]:
    now = _import_time_variables()
    return {name: value for name, value in now.items() if before.get(name) != value}


def _refuse_other_frameworks() -> None:
    import keras

    backend = keras.backend.backend()
    if backend != "tensorflow":
        raise UnsupportedFramework(_OTHER_BACKEND.format(backend))

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "import" and arguments[0] == "tf_keras":
            raise UnsupportedFramework("the script uses tf_keras (Keras 2); autotune measures Keras 3 only")

    sys.addaudithook(hook)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


def main() -> None:
    """Entry of a fresh worker process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fd", type=int)
    parser.add_argument("--port", type=int)
    options = parser.parse_args()
    if options.fd is not None:
        connection = socket.socket(fileno=options.fd)
    else:
        connection = socket.create_connection(("127.0.0.1", options.port))
    channel = Channel(connection)
    spec = WorkerSpec.from_message(channel.first())
    run(spec, connection, forked=False)
    _flush()
    os._exit(0)


if __name__ == "__main__":
    main()

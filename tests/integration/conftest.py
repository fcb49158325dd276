"""Real workers on tiny real models."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autotune.measure.bench import Bench
from autotune.measure.launcher import LocalLauncher
from autotune.measure.spec import WorkerSpec

SCRIPTS = Path(__file__).parent / "scripts"


@pytest.fixture(scope="session")
def forking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalLauncher]:
    """One fork server for the whole session: it costs seconds to start."""
    launcher = LocalLauncher(tmp_path_factory.mktemp("server"), dict(os.environ))
    yield launcher
    launcher.close()


@pytest.fixture
def bench_for(forking: LocalLauncher, tmp_path: Path) -> Iterator[Callable[..., tuple[Bench, Path]]]:
    """Makes a bench for a script, copied into a folder of its own; gives the bench and that folder."""
    benches: list[Bench] = []

    def make(
        name: str, *arguments: str, launcher: LocalLauncher | None = None, text: str | None = None, metric: str = ""
    ) -> tuple[Bench, Path]:
        folder = tmp_path / "project"
        folder.mkdir()
        logs = tmp_path / "logs"
        logs.mkdir()
        script = folder / name
        if text is None:
            shutil.copy(SCRIPTS / name, script)
        else:
            script.write_text(text)
        spec = WorkerSpec(
            script=str(script), target=name, arguments=arguments, cwd=str(folder), log_path="", metric=metric
        )
        bench = Bench(launcher or forking, spec, str(logs))
        benches.append(bench)
        return bench, folder

    yield make
    for bench in benches:
        bench.close()

"""The whole line through the real command: what it answers, what it leaves behind, how it ends."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

pytestmark = pytest.mark.tensorflow
SCRIPTS = Path(__file__).parent / "scripts"
COMMAND = [sys.executable, "-P", "-m", "autotune"]


def project(tmp_path: Path, name: str = "folds.py", text: str | None = None) -> Path:
    """A folder of the user's with one script, train.py."""
    folder = tmp_path / "a project, with spaces"
    folder.mkdir()
    if text is None:
        shutil.copy(SCRIPTS / name, folder / "train.py")
    else:
        (folder / "train.py").write_text(text)
    return folder


def fingerprint(folder: Path) -> dict[str, str]:
    return {str(p): hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.rglob("*") if p.is_file()}


def autotune(folder: Path, *arguments: str, limit_s: float = 240.0) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=limit_s,
        stdin=subprocess.DEVNULL,
        check=False,
    )


@pytest.fixture(scope="module")
def answered(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, Path, dict[str, str], subprocess.CompletedProcess[str]]:
    """One finished run: the project, the run folder, hashes from before, what the command said."""
    tmp_path = tmp_path_factory.mktemp("answered")
    folder, out = project(tmp_path), tmp_path / "out"
    before = fingerprint(folder)
    return (
        folder,
        out,
        before,
        autotune(folder, "recommend", "train.py", "--budget", "45s", "--out", str(out), "--format", "json"),
    )


@pytest.mark.slow
def test_a_run_answers_and_leaves_only_its_folder(
    answered: tuple[Path, Path, dict[str, str], subprocess.CompletedProcess[str]],
) -> None:
    """Exit 0, the recommendation alone on standard output, every promised file, the user's folder as it was."""
    folder, out, before, done = answered
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["schema"] == 1 and answer["verdict"] in ("recommended", "keep_baseline")
    assert answer["baseline"]["policy"] == "float32" and answer["baseline"]["batch_size"] == 32
    policies = {trial["configuration"]["policy"] for trial in answer["trials"]}
    assert {"float32", "mixed_bfloat16", "mixed_float16"} <= policies
    assert {"recommendation.json", "report.html", "report.md", "run.json", "study.log", "trials.jsonl", "logs"} <= {
        p.name for p in out.iterdir()
    }
    assert fingerprint(folder) == before
    assert json.loads((out / "recommendation.json").read_text()) == answer


@pytest.mark.slow
def test_the_stored_run_is_computed_again(
    answered: tuple[Path, Path, dict[str, str], subprocess.CompletedProcess[str]],
) -> None:
    """``autotune report`` recomputes every figure from the raw measurements and gets the same answer."""
    folder, out, _, done = answered
    again = json.loads(autotune(folder, "report", str(out), "--format", "json").stdout)
    first = json.loads(done.stdout)
    assert {k: v for k, v in again.items() if k != "run_folder"} == {
        k: v for k, v in first.items() if k != "run_folder"
    }
    assert "## " in autotune(folder, "report", str(out), "--format", "markdown").stdout


@pytest.mark.slow
def test_the_answer_is_applied_to_the_whole_script(
    answered: tuple[Path, Path, dict[str, str], subprocess.CompletedProcess[str]],
) -> None:
    """``autotune run`` runs everything, after fit too, and says what it changed."""
    folder, out, _, _ = answered
    done = autotune(folder, "run", "train.py", "--with", str(out))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().startswith("[") and "autotune:" in done.stderr


@pytest.mark.slow
def test_interrupt_keeps_what_was_measured_and_resume_goes_on(tmp_path: Path) -> None:
    """Ctrl-C: exit 130, best answer so far, no process left; --resume measures nothing twice."""
    folder, out = project(tmp_path), tmp_path / "out"
    process = subprocess.Popen(
        [*COMMAND, "recommend", "train.py", "--budget", "60s", "--out", str(out), "--format", "json"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Where the tests themselves run in the background of a shell, that signal is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler) and None,
    )
    trials = out / "trials.jsonl"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (not trials.exists() or trials.read_text().count("\n") < 3):
        time.sleep(0.2)
    children = psutil.Process(process.pid).children(recursive=True)
    os.kill(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert json.loads(stdout)["interrupted"] is True
    assert f"--resume {out}" in stderr
    _, alive = psutil.wait_procs(children, timeout=10)
    assert not alive
    kept = [json.loads(line) for line in trials.read_text().splitlines()]

    done = autotune(folder, "recommend", "train.py", "--budget", "45s", "--resume", str(out), "--format", "json")
    assert done.returncode == 0, done.stderr
    after = [json.loads(line) for line in trials.read_text().splitlines()]
    assert after[: len(kept)] == kept
    measured = [
        (t["purpose"], json.dumps(t["configuration"], sort_keys=True), t["seed"])
        for t in after
        if t["purpose"] != "duel"
    ]
    assert len(measured) == len(set(measured))


@pytest.mark.slow
def test_the_parent_never_imports_the_frameworks(tmp_path: Path) -> None:
    """After a whole run by the API no TensorFlow and no Keras is in the parent."""
    folder = project(tmp_path)
    code = (
        "import sys, autotune\n"
        f"answer = autotune.recommend('train.py', budget_s=25, out={str(tmp_path / 'out')!r})\n"
        "assert answer.verdict and not any(n.split('.')[0] in ('tensorflow', 'keras') for n in sys.modules)\n"
        f"assert autotune.load({str(tmp_path / 'out')!r}) == answer\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr


NAN = """
import keras, numpy as np
x = np.full((320, 3), 1e20, "float32")
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(1.0), "mse")
model.fit(x, x[:, :1], batch_size=32, epochs=2)
"""
RAISES_IN_FIT = """
import keras, numpy as np
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(np.zeros((64, 5), "float32"), np.zeros((64, 1), "float32"))
"""


@pytest.mark.parametrize(
    ("name", "text", "options", "code", "said"),
    [
        ("raises", "import keras\nrows = {}['temperature']\n", (), 4, ("KeyError", "train.py:2", "rows = {}")),
        ("raises in fit", RAISES_IN_FIT, (), 4, ("train.py:5", "incompatible")),
        ("no fit", "import keras\n", (), 4, ("never calls fit", "build_model")),
        ("not finite", NAN, (), 4, ("not finite", "float32")),
        ("syntax error", "import keras\nmodel = (\n", (), 4, ("train.py:2", "syntax error")),
        ("another backend", "import os\nos.environ['KERAS_BACKEND'] = 'jax'\nimport keras\n", (), 4, ("jax backend",)),
        ("sleeps", "import time\ntime.sleep(3600)\n", ("--budget", "8s"), 124, ("did not reach its fit", "--budget")),
        ("exits", "import sys\nsys.exit('no data')\n", (), 4, ("sys.exit('no data')", "behind --")),
        ("kills itself", "import os\nos.kill(os.getpid(), 11)\n", (), 4, ("SIGSEGV",)),
    ],
)
def test_scripts_that_fail(
    tmp_path: Path, name: str, text: str, options: tuple[str, ...], code: int, said: tuple[str, ...]
) -> None:
    """The user's fault in a few lines, with their own traceback and none of ours, and the right exit code."""
    folder = project(tmp_path, text=text)
    done = autotune(folder, "recommend", "train.py", "--out", str(tmp_path / "out"), "-q", *options)
    assert done.returncode == code, done.stderr
    for part in said:
        assert part in done.stderr, done.stderr
    assert done.stdout == "" and len(done.stderr.splitlines()) < 20
    assert "site-packages/autotune" not in done.stderr and "autotune/measure" not in done.stderr


def test_foreign_and_damaged_recommendations(tmp_path: Path) -> None:
    """``autotune run`` refuses what is no recommendation, before the script runs."""
    folder = project(tmp_path)
    for content, said in (
        ("{", "cannot be read"),
        ('{"answer": 42}', "no recommendation"),
        ("[]", "no recommendation"),
    ):
        (tmp_path / "rec.json").write_text(content)
        done = autotune(folder, "run", "train.py", "--with", str(tmp_path / "rec.json"))
        assert done.returncode == 2 and said in done.stderr, done.stderr

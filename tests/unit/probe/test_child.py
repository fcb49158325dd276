"""A child process costs no more than its time limit, and what it said before the end is kept."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from autotune.probe import cpu
from autotune.probe.child import ask_child


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Writes a module that a child can run, and returns its name."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    def write(text: str, name: str = "probe_child_under_test") -> str:
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        return name

    return write


def test_lines_that_are_no_json_are_passed_over(module) -> None:
    answer = ask_child(module("print('hello')\nprint('{\"a\": 1}')\nprint('{\"b\"')"), timeout_s=30)
    assert answer.lines == ({"a": 1},)
    assert (answer.timed_out, answer.returncode) == (False, 0)


def test_arguments_and_environment_arrive(module) -> None:
    text = "import json, os, sys; print(json.dumps([sys.argv[1:], os.environ['COLOUR']]))"
    answer = ask_child(module(text), "one", "two", timeout_s=30, environment={"COLOUR": "blue"})
    assert answer.lines == ([["one", "two"], "blue"],)


def test_a_hang_costs_its_limit_and_keeps_what_was_said(module) -> None:
    text = "import time; print('{\"a\": 1}', flush=True); time.sleep(600)"
    start_s = time.monotonic()
    answer = ask_child(module(text), timeout_s=1.0)
    assert time.monotonic() - start_s < 3
    assert answer.timed_out
    assert answer.lines == ({"a": 1},)


def test_what_the_child_started_ends_with_it(module, tmp_path: Path) -> None:
    text = (
        "import subprocess, sys, time, pathlib\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"pathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(child.pid))\n"
        "time.sleep(600)\n"
    )
    assert ask_child(module(text), timeout_s=2.0).timed_out
    pid = int((tmp_path / "pid").read_text())
    for _ in range(100):
        if _ended(pid):
            return
        time.sleep(0.02)
    raise AssertionError(f"process {pid} outlived the child that started it")


def test_a_crash_tells_its_last_line(module) -> None:
    answer = ask_child(module("raise RuntimeError('no driver')"), timeout_s=30)
    assert answer.returncode == 1
    assert answer.error == "RuntimeError: no driver"


def test_files_in_the_working_folder_take_no_modules_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json.py").write_text("raise RuntimeError('the wrong json')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert ask_child("autotune.probe.nvidia", timeout_s=30).returncode == 0


def test_py_cpuinfo_that_hangs_is_given_up(module, monkeypatch: pytest.MonkeyPatch) -> None:
    module("def get_cpu_info():\n    import time\n    time.sleep(600)\n", "cpuinfo")
    cpu.ask_py_cpuinfo.cache_clear()
    start_s = time.monotonic()
    facts = cpu.ask_py_cpuinfo(1.0)
    assert time.monotonic() - start_s < 3
    assert (facts.name, facts.flags) == (None, None)


def test_py_cpuinfo_that_misses_keys_leaves_them_unknown(module) -> None:
    module("def get_cpu_info():\n    print('noise')\n    return {'brand_raw': 'Some CPU'}\n", "cpuinfo")
    cpu.ask_py_cpuinfo.cache_clear()
    facts = cpu.ask_py_cpuinfo(30.0)
    assert (facts.name, facts.flags) == ("Some CPU", None)
    cpu.ask_py_cpuinfo.cache_clear()


def _ended(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    # Nobody has waited for it yet: it has ended all the same.
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[-1].split()[0] == "Z"

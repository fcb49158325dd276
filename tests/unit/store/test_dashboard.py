"""The study opens in optuna-dashboard, with every trial and its parameters."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from optuna_dashboard import wsgi

from autotune.records import Outcome
from autotune.store import Study
from tests.unit.builders import BASELINE, FLOAT16
from tests.unit.store.test_study import SPACE

pytestmark = pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")


def asked(application: Any, path: str) -> Any:
    """The JSON that the dashboard's server gives its page."""
    status: list[str] = []
    environ = {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": path,
        "QUERY_STRING": "after=0",
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.input": io.BytesIO(),
        "wsgi.errors": io.StringIO(),
        "wsgi.url_scheme": "http",
    }
    body = b"".join(application(environ, lambda line, headers, error=None: status.append(line)))
    assert status[0].startswith("200"), (status, body)
    return json.loads(body)


def test_the_dashboard_shows_the_study_and_its_trials(tmp_path: Path) -> None:
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

    study = Study(tmp_path)
    for configuration, value, outcome in ((BASELINE, 1.0, Outcome.OK), (FLOAT16, None, Outcome.NON_FINITE)):
        number = study.ask(configuration, SPACE)
        study.tell(number, value, outcome, {"seed": 0}, infeasible=outcome is not Outcome.OK)
    path = str(tmp_path / "study.log")
    application = wsgi(JournalStorage(JournalFileBackend(path, lock_obj=JournalFileOpenLock(path))))
    (summary,) = asked(application, "/api/studies")["study_summaries"]
    assert summary["study_name"] == "autotune"
    detail = asked(application, f"/api/studies/{summary['study_id']}")
    assert [trial["state"] for trial in detail["trials"]] == ["Complete", "Complete"]
    policies = [{p["name"]: p["param_external_value"] for p in trial["params"]}["policy"] for trial in detail["trials"]]
    assert policies == ["float32", "mixed_float16"]

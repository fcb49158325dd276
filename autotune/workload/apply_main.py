"""Runs the user's unmodified script, whole, with a recommendation applied: ``autotune run``."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from autotune.records import Configuration, LossScale


def main(arguments: list[str]) -> None:
    """Applies a recommendation to a script.

    Args:
        arguments: Path of recommendation.json, path of the script, then the script's own arguments.
    """
    answer = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    script = os.path.abspath(arguments[1])
    configuration, baseline = _configuration(answer["configuration"]), _configuration(answer["baseline"])
    selected = next((fit["index"] for fit in answer["workload"]["fits"] if fit["selected"]), 1)

    import keras

    from autotune.workload import functions, policy
    from autotune.workload import script as script_module
    from autotune.workload.apply import Application
    from autotune.workload.place import UserCode

    user = UserCode(script)
    application = Application(configuration, baseline, selected, user)
    application.policy_calls = policy.set_policy(configuration.policy, user)
    application.install(keras.Model)
    script_module.run_as_main(script, arguments[1], tuple(arguments[2:]))
    if not application.seen and (both := functions.offered()):
        functions.fit_from(*both)
    if application.seen < selected:
        print(
            f"autotune: the script called fit {application.seen} times; number {selected} was to be changed",
            file=sys.stderr,
        )


def _configuration(data: dict[str, Any]) -> Configuration:
    scale = data.get("loss_scale")
    return Configuration(
        **{
            **data,
            "loss_scale": None if scale is None else LossScale(**scale),
            "float32_layers": tuple(data["float32_layers"]),
        }
    )


if __name__ == "__main__":
    main(sys.argv[1:])

"""The dtype policy of a worker, and what the script does about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import keras
from keras.src.backend.common import global_state

from autotune.workload.place import UserCode


@dataclass(frozen=True, slots=True)
class PolicyCall:
    """The script set a policy itself.

    Attributes:
        name: Policy that it asked for.
        location: ``file:line``.
        replaced: Whether the worker's own policy was set instead.
    """

    name: str
    location: str
    replaced: bool


def set_policy(name: str, user: UserCode) -> list[PolicyCall]:
    """Sets the policy before the script's first line and watches the script set its own.

    A script that asks for float32 has it (it then is not mixed, whatever the label says). One that asks for 16 bits is
    measured at the worker's policy: otherwise it would have no float32 baseline.

    Returns:
        A list that fills while the script runs.
    """
    calls: list[PolicyCall] = []
    plain = global_state.set_global_attribute

    def set_global_attribute(key: str, value: Any) -> None:
        if key == "dtype_policy" and (place := user.caller()):
            asked = getattr(value, "name", str(value))
            replaced = asked != name and "16" in asked
            calls.append(PolicyCall(asked, place, replaced))
            if replaced:
                value = keras.dtype_policies.get(name)
        plain(key, value)

    keras.config.set_dtype_policy(name)
    global_state.set_global_attribute = set_global_attribute
    return calls


def sixteen_bit(dtype: str | None) -> bool:
    """Whether a dtype has 16 bits of floating point."""
    return dtype in ("float16", "bfloat16")

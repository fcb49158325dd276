"""What all unit tests share."""

from __future__ import annotations

from hypothesis import settings

# How long an example takes says nothing of the code on a busy machine.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")

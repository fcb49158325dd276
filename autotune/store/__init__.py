"""The run folder: raw measurements, record, answer, study, logs; one writer at a time."""

from autotune.store.folder import RunFolder, read_recommendation, read_run
from autotune.store.study import Study

__all__ = ["RunFolder", "Study", "read_recommendation", "read_run"]

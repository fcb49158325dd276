"""What a worker uses: peak memory of a trial."""

from __future__ import annotations

import sys
from pathlib import Path

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


def reset_peak_memory() -> None:
    """Starts a new peak, where the system can (Linux; elsewhere the peak is the process's own so far)."""
    try:
        _CLEAR.write_text("5")  # resets VmHWM, see proc(5)
    except OSError:
        return


def peak_memory_bytes() -> int | None:
    """Peak resident size of this process since the last reset; None where the system does not say."""
    try:
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024

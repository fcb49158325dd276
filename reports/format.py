"""Numbers as people read them; unknown stays unknown."""

from __future__ import annotations

import math

UNKNOWN = "unknown"
NOTHING = "-"
_MINUTE_S = 60
_HOUR_S = 3600
_DAY_S = 86400
_KIB = 1024.0


def significant(value: float | None, digits: int = 3, *, missing: str = NOTHING) -> str:
    """A number at a fixed count of significant digits, thousands separated, without an exponent where readable."""
    if value is None or not math.isfinite(value):
        return missing
    if value == 0:
        return "0"
    scientific = f"{value:.{digits - 1}e}"
    magnitude = int(scientific.partition("e")[2])
    if magnitude < -4 or magnitude >= 15:
        return scientific
    return f"{value:,.{max(digits - 1 - magnitude, 0)}f}"


def count(value: float | None, *, missing: str = NOTHING) -> str:
    """A whole number with its thousands separated."""
    return missing if value is None or not math.isfinite(value) else f"{round(value):,}"


def counted(value: int, singular: str, plural: str | None = None) -> str:
    """A count with its noun: "1 seed", "5 seeds"."""
    return f"{value:,} {singular if value == 1 else plural or singular + 's'}"


def step_time_ms(step_time_s: float | None, *, missing: str = NOTHING) -> str:
    """A step time in milliseconds, without its unit, for table columns."""
    return missing if step_time_s is None else significant(step_time_s * 1e3, missing=missing)


def step_time_unit(*step_times_s: float | None) -> tuple[str, float]:
    """The unit that suits several step times together, and how many of it a second holds."""
    largest = max((time for time in step_times_s if time is not None), default=0.0)
    if largest >= 1:
        return "s", 1.0
    return ("ms", 1e3) if largest >= 1e-3 else ("us", 1e6)


def step_time(step_time_s: float | None, *, missing: str = UNKNOWN) -> str:
    """A step time with its unit: "11.5 ms"."""
    if step_time_s is None:
        return missing
    unit, per_s = step_time_unit(step_time_s)
    return f"{significant(step_time_s * per_s)} {unit}"


def step_times(before_s: float | None, after_s: float | None) -> str:
    """Two step times in one unit: "19.7 -> 11.5 ms a step"."""
    unit, per_s = step_time_unit(before_s, after_s)
    before, after = (UNKNOWN if s is None else significant(s * per_s) for s in (before_s, after_s))
    return f"{before} -> {after} {unit} a step"


def factor(value: float | None, *, missing: str = NOTHING) -> str:
    """A ratio: "1.71x", "0.23x", "40.3x"."""
    if value is None or not math.isfinite(value):
        return missing
    if 0.0995 <= abs(value) < 9.995:
        return f"{value:.2f}x"
    return f"{significant(value, 3 if abs(value) > 1 else 2)}x"


def interval(low: float | None, high: float | None) -> str:
    """Ends of an interval of ratios, in brackets: "(1.66 to 1.75)"; empty where an end is unknown."""
    if low is None or high is None:
        return ""
    return f"({factor(low).removesuffix('x')} to {factor(high).removesuffix('x')})"


def compared(relative_speed: float | None) -> str:
    """A ratio of speeds in words: "1.71x faster", "4.42x slower", "as fast"."""
    if relative_speed is None or relative_speed <= 0:
        return "speed unknown"
    if 0.995 <= relative_speed < 1.005:
        return "as fast"
    if relative_speed > 1:
        return f"{factor(relative_speed)} faster"
    return f"{factor(1 / relative_speed)} slower"


def duration(seconds: float | None, *, missing: str = UNKNOWN) -> str:
    """A duration in at most two units: "11 s", "2 min 20 s", "41 min", "1 h 38 min", "2 d 4 h"."""
    if seconds is None or not math.isfinite(seconds):
        return missing
    if seconds < 0:
        return "-" + duration(-seconds)
    if seconds < 0.9995:
        return f"{significant(seconds * 1e3, 2)} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    if seconds < 10 * _MINUTE_S:
        whole, rest = divmod(round(seconds), _MINUTE_S)
        return f"{whole} min {rest} s" if rest else f"{whole} min"
    minutes = round(seconds / _MINUTE_S)
    if minutes < 60:
        return f"{minutes} min"
    if minutes < _DAY_S // _MINUTE_S:
        return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"
    hours = round(seconds / _HOUR_S)
    return f"{hours // 24} d {hours % 24} h" if hours % 24 else f"{hours // 24} d"


def size(size_bytes: float | None, *, missing: str = UNKNOWN) -> str:
    """Memory in binary units: "812 MiB", "1.46 GiB"."""
    if size_bytes is None:
        return missing
    value, units = float(size_bytes), ["B", "KiB", "MiB", "GiB", "TiB"]
    while abs(value) >= 999.5 and len(units) > 1:
        value, units = value / _KIB, units[1:]
    return f"{significant(value)} {units[0]}" if units[0] != "B" else f"{value:.0f} B"


def percent(share: float | None, *, missing: str = UNKNOWN) -> str:
    """A share, 0 to 1, in percent with two significant digits; small shares are not rounded to nothing, nor large ones to all."""
    if share is None:
        return missing
    if share in (0, 1):
        return f"{share * 100:.0f}%"
    if 0.995 <= share < 1:
        lacks = float(f"{100 * (1 - share):.1g}")
        return f"{100 - lacks:.10g}%"
    return f"{share * 100:.0f}%" if 0.0995 <= share < 0.995 else f"{significant(share * 100, 2)}%"


def rate(per_s: float | None, operation: str) -> str:
    """A ceiling: operations a second ("137 GFLOP/s"), or bytes a second for ``copy``."""
    if per_s is None:
        return UNKNOWN
    unit = "B/s" if operation == "copy" else "FLOP/s"
    for prefix, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if per_s >= scale * 0.9995:
            return f"{significant(per_s / scale)} {prefix}{unit}"
    return f"{significant(per_s)} {unit}"


def operations(count: float) -> str:
    """Floating-point operations: "244 MFLOP"."""
    for prefix, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if count >= scale * 0.9995:
            return f"{significant(count / scale)} {prefix}FLOP"
    return f"{count:.0f} FLOP"


def quality(value: float | None, *, digits: int | None = None, missing: str = NOTHING) -> str:
    """A metric or loss.

    Args:
        value: The figure.
        digits: Decimals; None takes three around 1, and significant digits elsewhere.
        missing: What stands for unknown.
    """
    if value is None or not math.isfinite(value):
        return missing
    if digits is not None and (value == 0 or abs(value) >= 0.5 * 10**-digits):
        return f"{value:.{digits}f}"
    if value == 0 or 0.1 <= abs(value) < 1000:
        return f"{value:.3f}"
    return significant(value)


def decimals_for(margin: float | None) -> int | None:
    """Decimals at which a difference of the margin's size can be read; None where there is no margin."""
    if margin is None or margin <= 0:
        return None
    return min(max(-math.floor(math.log10(margin)), 3), 8)


def difference(value: float, *, digits: int | None = None) -> str:
    """A difference with its sign: "-0.001"."""
    return ("+" if value >= 0 else "-") + quality(abs(value), digits=digits)


def scale(value: float | None, *, missing: str = UNKNOWN) -> str:
    """A loss scale, a power of two by name: "32,768 (2^15)", "2^-25"."""
    if value is None or value <= 0:
        return missing
    mantissa, exponent = math.frexp(value)
    if mantissa != 0.5:
        return significant(value)
    power = exponent - 1
    if 0 <= power <= 6:
        return f"{value:.0f}"
    return f"{value:,.0f} (2^{power})" if 6 < power <= 24 else f"2^{power}"

"""Figures of the reports, drawn by Altair from the view model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import altair as alt

from autotune.reports.chart_style import PAGE, Figure, Palette, finish
from autotune.reports.model import Interval, View

_BAND_HEIGHT = 34
_FIGURE_HEIGHT = 200
_FEWEST_TRIALS = 8
# Room at the edges, so that no mark stands on the frame.
_LOOSE = alt.Scale(zero=False, nice=False, padding=12)


def figures(view: View, palette: Palette = PAGE) -> Mapping[str, dict[str, Any]]:
    """Vega-Lite specifications of every figure that the view has data for, by name."""
    makers: dict[str, Callable[[View, Palette], Figure | None]] = {
        "speed": _speed,
        "difference": _difference,
        "curves": _curves,
        "batches": _batches,
        "front": _front,
        "roofline": _roofline,
        "trials": _trials,
    }
    drawn = {name: make(view, palette) for name, make in makers.items()}
    return {name: finish(chart, palette) for name, chart in drawn.items() if chart is not None}


def _speed(view: View, palette: Palette) -> Figure | None:
    if view.speed is None:
        return None
    return _interval(view.speed, palette, "times the speed of the script as written")


def _difference(view: View, palette: Palette) -> Figure | None:
    if view.difference is None:
        return None
    return _interval(view.difference, palette, f"difference in {view.metric}, below 0 is worse")


def _interval(interval: Interval, palette: Palette, title: str) -> Figure:
    """An estimate with its interval, the value of "no difference", and the limit with what lies beyond it."""
    known = [interval.low, interval.high, interval.reference, interval.value]
    known += [] if interval.limit is None else [interval.limit]
    pad = (max(known) - min(known)) * 0.12 or 0.1
    domain = [min(known) - pad, max(known) + pad]
    data = _data([{"value": interval.value, "low": interval.low, "high": interval.high, "text": interval.text}])
    scale = alt.Scale(domain=domain, nice=False, zero=False)
    x = alt.X("value:Q", title=title, scale=scale, axis=alt.Axis(tickCount=6))
    tooltip = alt.Tooltip("text:N", title=interval.name)
    layers: list[alt.Chart] = []
    if interval.limit is not None:
        beyond = _data([{"from": domain[0], "to": interval.limit}])
        layers.append(
            alt.Chart(beyond)
            .mark_rect(color=palette.bad, opacity=0.1)
            .encode(x=alt.X("from:Q", scale=scale), x2="to:Q")
        )
        layers.append(_rule(interval.limit, palette.bad, scale, dash=[3, 3]))
    layers.append(_rule(interval.reference, palette.muted, scale, dash=[1, 0]))
    base = alt.Chart(data)
    layers.append(
        base.mark_rule(strokeWidth=7, strokeCap="round", color=palette.accent, opacity=0.3).encode(
            x=alt.X("low:Q", scale=scale), x2="high:Q", tooltip=tooltip
        )
    )
    layers.append(base.mark_point(size=90, filled=True, opacity=1, color=palette.accent).encode(x=x, tooltip=tooltip))
    return alt.layer(*layers).properties(height=_BAND_HEIGHT)


def _data(rows: list[dict[str, Any]]) -> alt.Data:
    return alt.Data(values=rows)  # type: ignore[no-untyped-call]


def _rule(value: float, color: str, scale: alt.Scale, dash: list[int]) -> alt.Chart:
    data = _data([{"at": value}])
    rule = alt.Chart(data).mark_rule(color=color, strokeDash=dash, strokeWidth=1.2)
    drawn: alt.Chart = rule.encode(x=alt.X("at:Q", scale=scale))
    return drawn


def _curves(view: View, palette: Palette) -> Figure | None:
    if not view.curves:
        return None
    values = [
        {"side": line.side, "run": f"{line.side} {line.seed}", "seed": line.seed, "samples": samples, "value": value}
        for line in view.curves
        for samples, value in line.points
    ]
    chart: alt.Chart = (
        alt.Chart(_data(values))
        .mark_line(strokeWidth=1.6, opacity=0.75, point=alt.OverlayMarkDef(size=14, opacity=0.75))
        .encode(
            x=alt.X("samples:Q", title="samples seen", axis=alt.Axis(format="~s", grid=False, tickCount=6)),
            y=alt.Y("value:Q", title=None, scale=alt.Scale(zero=False)),
            color=alt.Color(
                "side:N",
                title=None,
                scale=alt.Scale(domain=["baseline", "candidate"], range=[palette.plain, palette.accent]),
            ),
            detail="run:N",
            tooltip=[
                "side:N",
                "seed:Q",
                alt.Tooltip("samples:Q", format=","),
                alt.Tooltip("value:Q", title=view.metric),
            ],
        )
        .properties(height=_FIGURE_HEIGHT)
    )
    return chart


def _batches(view: View, palette: Palette) -> Figure | None:
    measures = (("samples a second", "relative"), ("time to quality", "time_to_quality"))
    values = [
        {"batch": row.batch.value, "policy": row.policy, "name": row.name, "measure": measure, "factor": number.value}
        for row in view.candidates
        for measure, field in measures
        if row.batch.value is not None and (number := getattr(row, field)).value is not None
    ]
    if len({row["batch"] for row in values}) < 2:
        return None
    color = alt.Color(
        "measure:N",
        title=None,
        scale=alt.Scale(domain=[measure for measure, _ in measures], range=[palette.plain, palette.accent]),
    )
    base = alt.Chart(_data(values)).encode(
        x=alt.X("batch:O", title="batch size", axis=alt.Axis(labelAngle=0, grid=False)),
        color=color,
    )
    # The line of a policy goes through its best configuration at each batch.
    lines = base.mark_line(strokeWidth=1.6, opacity=0.6).encode(
        y=alt.Y("max(factor):Q", title=None, scale=_LOOSE), detail="policy:N"
    )
    points = base.mark_point(size=55, filled=True, opacity=1).encode(
        y=alt.Y("factor:Q", title=None, scale=_LOOSE),
        tooltip=["name:N", "measure:N", alt.Tooltip("factor:Q", format=".2f")],
    )
    return alt.layer(lines, points).properties(height=_FIGURE_HEIGHT)


def _front(view: View, palette: Palette) -> Figure | None:
    values = [
        {
            "samples": row.samples.value,
            "quality": row.quality.value,
            "name": row.name,
            "front": row.front,
            "kind": "recommended" if row.chosen and view.recommended else "as written" if row.baseline else "other",
        }
        for row in view.candidates
        if row.samples.value is not None and row.quality.value is not None
    ]
    if len(values) < 3:
        return None
    base = alt.Chart(_data(values)).encode(
        x=alt.X(
            "samples:Q", title="samples a second", scale=alt.Scale(zero=False), axis=alt.Axis(grid=False, tickCount=6)
        ),
        y=alt.Y("quality:Q", title=None, scale=_LOOSE),
    )
    line = base.transform_filter("datum.front").mark_line(
        color=palette.plain, opacity=0.6, strokeWidth=1.5, strokeDash=[4, 3]
    )
    points = base.mark_point(size=80, filled=True, opacity=1).encode(
        color=alt.Color(
            "kind:N",
            title=None,
            scale=alt.Scale(
                domain=["recommended", "as written", "other"], range=[palette.accent, palette.ink, palette.plain]
            ),
        ),
        tooltip=["name:N", alt.Tooltip("samples:Q", format=",.0f"), alt.Tooltip("quality:Q", title=view.metric)],
    )
    return alt.layer(line, points).properties(height=_FIGURE_HEIGHT)


def _roofline(view: View, palette: Palette) -> Figure | None:
    roof = view.roofline
    if roof is None or roof.step is None or roof.peak <= 0 or roof.bandwidth <= 0:
        return None

    def allowed(intensity: float) -> float:
        return min(roof.peak, intensity * roof.bandwidth)

    name, intensity, reached = roof.step
    parts = [
        {
            "name": part.path,
            "intensity": part.intensity,
            "rate": allowed(part.intensity),
            "share": part.share.value,
            "text": f"{part.share.text} of the shortest time, bound by {part.bound}",
        }
        for part in roof.parts
        if part.intensity
    ]
    ridge = roof.peak / roof.bandwidth
    known = [intensity, ridge, *(part.intensity for part in roof.parts if part.intensity)]
    low, high = min(known) / 2, max(known) * 2
    x = alt.X(
        "intensity:Q",
        title="operations for each byte moved",
        scale=alt.Scale(type="log", domain=[low, high], nice=False),
        axis=alt.Axis(format="~g", grid=False, tickCount=5),
    )
    y = alt.Y(
        "rate:Q",
        title="operations a second",
        scale=alt.Scale(type="log", nice=False, padding=12),
        axis=alt.Axis(format="~s", grid=False, tickCount=4),
    )
    line = alt.Chart(_data([{"intensity": at, "rate": allowed(at)} for at in (low, ridge, high)]))
    dots = alt.Chart(_data(parts)).mark_point(filled=True, opacity=0.45, color=palette.plain)
    square = alt.Chart(_data([{"name": name, "intensity": intensity, "rate": reached}]))
    return alt.layer(
        line.mark_line(color=palette.muted, strokeWidth=1.5).encode(x=x, y=y),
        dots.encode(
            x=x,
            y=y,
            size=alt.Size("share:Q", legend=None, scale=alt.Scale(domain=[0, 1], range=[20, 500])),
            tooltip=["name:N", alt.Tooltip("text:N", title="part")],
        ),
        square.mark_point(shape="square", size=90, filled=True, opacity=1, color=palette.accent).encode(
            x=x, y=y, tooltip=["name:N", alt.Tooltip("rate:Q", format=".3s", title="operations a second")]
        ),
    ).properties(height=_FIGURE_HEIGHT)


def _trials(view: View, palette: Palette) -> Figure | None:
    values = [
        {"number": row.number.value, "relative": row.relative.value, "name": row.name, "text": row.relative.text}
        for row in view.trials
        if row.purpose == "speed" and row.relative.value is not None
    ]
    if len(values) < _FEWEST_TRIALS:
        return None
    points = (
        alt.Chart(_data(values))
        .mark_point(size=28, filled=True, opacity=0.6, color=palette.accent)
        .encode(
            x=alt.X("number:Q", title="trial", axis=alt.Axis(grid=False, tickCount=8, format="d")),
            y=alt.Y("relative:Q", title=None, scale=alt.Scale(zero=False)),
            tooltip=["number:Q", "name:N", alt.Tooltip("text:N", title="speed")],
        )
    )
    one = alt.Chart(_data([{"relative": 1.0}])).mark_rule(color=palette.muted, strokeWidth=1.2)
    return alt.layer(one.encode(y="relative:Q"), points).properties(height=_FIGURE_HEIGHT)

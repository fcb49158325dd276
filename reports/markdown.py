"""The answer as Markdown: whole, or brief for a comment."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from autotune.reports.captions import captions
from autotune.reports.model import FindingLine, Number, NumericsView, RooflineView, View, Way

# Underscores inside words, such as mixed_bfloat16, mean nothing to Markdown.
_SPECIAL = re.compile(r"([\\`*\[\]<|~$&]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")
# What would begin a list, a heading, a quotation or a rule.
_LEADING = re.compile(r"^(\d*)([-+.)](?=\s|$)|#(?=[#\s]|$)|>|[-=](?=[-=]))")
_STATES = {"good": "yes", "bad": "no", "open": "open", "told": ""}
_TRIALS_SHOWN = 200
_LAYERS_SHOWN = 12


def render_markdown(view: View, brief: bool = False, figures: Mapping[str, str] | None = None) -> str:
    """The report as Markdown (GitHub's tables); names and messages stay text.

    Args:
        view: The view model.
        brief: Only the answer, its proofs, the policy table and how to use it.
        figures: Where the figures lie, by name, relative to the file; left out of a brief one.
    """
    parts = [f"{'###' if brief else '#'} {plain(view.headline)}", f"{plain(view.title)} on {plain(view.place)}"]
    if view.interrupted:
        parts.append("Stopped before it was done: this is the best answer so far.")
    parts += [_list(view.why)] if view.why else []
    parts.append(table(("", "", ""), [(f"**{p.label}**", _STATES[p.state], plain(p.text)) for p in view.proofs]))
    level = "####" if brief else "##"
    if view.policies:
        parts += [f"{level} Measured policies", _policies(view)]
    if view.ways:
        parts += [f"{level} Use it", *(_way(way) for way in view.ways)]
    if not brief:
        parts += _evidence(view, _images(view, figures or {}))
    return "\n\n".join(part for part in parts if part) + "\n"


def _images(view: View, figures: Mapping[str, str]) -> dict[str, str]:
    """Each figure as an image with its caption."""
    words = captions(view)
    return {
        name: f"![{plain(words[name].says)}]({quote(path)})\n\n{plain(words[name].reads)}"
        for name, path in figures.items()
    }


def _evidence(view: View, images: Mapping[str, str]) -> list[str]:
    parts: list[str] = []
    shown = [images[name] for name in ("speed", "difference", "curves") if name in images]
    parts += ["## Evidence", *shown] if shown else []
    if view.candidates:
        parts += ["## Configurations", *(images[name] for name in ("batches", "front") if name in images)]
        parts.append(_candidates(view))
    if view.batch_note:
        parts.append(_sentence(view.batch_note))
    if view.ruled_out:
        rows = [(plain(entry.what), plain(entry.why)) for entry in view.ruled_out]
        parts += ["## Ruled out", table(("configuration", "reason"), rows)]
    if view.numerics is not None:
        parts += _numbers_of(view.numerics)
    if view.roofline is not None:
        parts += _roofline(view.roofline, images)
    if view.open_questions or view.go_on:
        parts += ["## Open", *([_list(view.open_questions)] if view.open_questions else [])]
        parts += [_fenced(view.go_on, "shell")] if view.go_on else []
    if view.findings:
        parts += ["## Findings", "\n".join(_finding(finding) for finding in view.findings)]
    if view.trials:
        parts += ["## Trials", *(images[name] for name in ("trials",) if name in images), _trials(view)]
    facts = [(fact.label, plain(fact.value)) for fact in (*view.workload, *view.machine, *view.software)]
    parts += ["## Measured on", table(("", ""), facts)]
    if view.ceilings:
        limits = [(c.operation, c.dtype, c.rate.text, c.relative.text, plain(c.size)) for c in view.ceilings]
        parts.append(table(("operation", "dtype", "measured", "against float32", "size"), limits, right=(2, 3)))
    if view.command:
        parts += ["## Made by", _fenced(view.command, "shell")]
    return parts


def _numbers_of(numbers: NumericsView) -> list[str]:
    rows = [
        (plain(row.path), row.type, row.dtypes, *_numbers(row.largest, row.activations_lost, row.gradients_lost))
        for row in numbers.layers[:_LAYERS_SHOWN]
    ]
    head = ("layer", "type", "dtypes", "largest activation", "activations lost", "gradients lost")
    left = len(numbers.layers) - len(rows)
    parts = ["## Numbers, layer by layer", table(head, rows, right=(3, 4, 5))] if rows else []
    parts += [f"{left} more layers are in the record."] if left > 0 else []
    if numbers.keeps:
        keeps = (
            f"Of this model's gradients float16 keeps {numbers.keeps}; predicted loss scale {numbers.predicted.text}."
        )
        parts.append(keeps)
    return parts


def _roofline(roof: RooflineView, images: Mapping[str, str]) -> list[str]:
    text = roof.text[:1].upper() + roof.text[1:]
    parts = ["## Model against machine", _sentence(text), *(images[name] for name in ("roofline",) if name in images)]
    if roof.gains:
        gains = [(plain(row.policy), row.predicted.text, row.measured.text) for row in roof.gains]
        parts.append(table(("policy", "predicted gain", "measured"), gains, right=(1, 2)))
    rows = [
        (plain(row.path), *_numbers(row.flops, row.bytes, row.least, row.share), row.bound)
        for row in roof.parts[:_LAYERS_SHOWN]
    ]
    head = ("part of the step", "operations", "bytes moved", "shortest time", "share", "bound by")
    return [*parts, table(head, rows, right=(1, 2, 3, 4))]


def _policies(view: View) -> str:
    head = ("policy", "ms a step", "relative", view.epochs, plain(view.metric), "")
    rows = [
        (
            f"**{plain(row.policy)}**" if row.chosen else plain(row.policy),
            row.step_time.text,
            row.relative.text,
            row.run.text,
            row.accuracy.text,
            plain("; ".join(part for part in (row.verdict, row.note) if part)),
        )
        for row in view.policies
    ]
    return table(head, rows, right=(1, 2, 3, 4))


def _candidates(view: View) -> str:
    head = (
        "configuration",
        "samples a second",
        "relative",
        plain(view.metric),
        "time to quality",
        "predicted",
        "peak memory",
        "",
    )
    rows = [
        (
            f"**{plain(row.name)}**" if row.chosen else plain(row.name),
            *_numbers(row.samples, row.relative, row.quality, row.time_to_quality, row.predicted, row.memory),
            plain("; ".join(part for part in (row.verdict, row.note) if part)),
        )
        for row in view.candidates
    ]
    return table(head, rows, right=(1, 2, 3, 4, 5, 6))


def _trials(view: View) -> str:
    head = ("trial", "purpose", "configuration", "seed", "outcome", "ms a step", "relative", plain(view.metric), "")
    rows = [
        (
            row.number.text,
            row.purpose,
            plain(row.name),
            row.seed.text,
            row.outcome,
            *_numbers(row.step_time, row.relative, row.metric),
            plain(row.reason),
        )
        for row in view.trials[:_TRIALS_SHOWN]
    ]
    shown = table(head, rows, right=(0, 3, 5, 6, 7))
    left = len(view.trials) - len(rows)
    return shown if left <= 0 else f"{shown}\n\n{left} more are in {plain(view.record_path)}."


def _numbers(*numbers: Number) -> tuple[str, ...]:
    return tuple(number.text for number in numbers)


def _finding(finding: FindingLine) -> str:
    where = f" ({', '.join(plain(place) for place in finding.where)})" if finding.where else ""
    advice = f" {_sentence(finding.advice)}" if finding.advice else ""
    return f"- **{finding.severity}** {_sentence(finding.message)}{where}{advice}"


def _way(way: Way) -> str:
    return f"{plain(way.title)}:\n\n{_fenced(way.code, way.language)}"


def _fenced(code: str, language: str) -> str:
    """A code block whose fence is longer than any run of backticks in the code."""
    longest = max((len(run) for run in re.findall(r"`+", code)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{code}\n{fence}"


def _list(texts: Sequence[str]) -> str:
    return "\n".join(f"- {_sentence(text)}" for text in texts)


def _sentence(text: str) -> str:
    text = plain(text)
    return text if text.endswith((".", "!", "?")) else text + "."


def table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """A table of cells that are Markdown already.

    Args:
        head: Its heads.
        rows: Its cells, by row.
        right: Columns set flush right.
    """
    rule = ["---:" if column in right else "---" for column in range(len(head))]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, rule, *rows))


def plain(text: str) -> str:
    """Text that Markdown shows as it is: one line, special characters escaped."""
    return _LEADING.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", " ".join(text.split())))

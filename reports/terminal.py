"""The answer on one screen."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from autotune.reports.model import CandidateLine, FindingLine, PolicyLine, View
from autotune.reports.screen import GAP, Screen

_FINDINGS_SHOWN = 4
_RATE = "learning rate "
_RULED_OUT_SHOWN = 6
_WIDEST_NAME = 24
_NARROWEST_REMARK = 18
_STYLES = {"good": "green", "bad": "red", "open": "yellow", "told": "dim"}


def render_terminal(view: View, console: Console) -> None:
    """Writes the answer to a console, 100 columns at the most.

    Names and messages are never read as markup; lines to copy are never broken.
    """
    screen = Screen(console)
    screen.paragraph(f"{view.title} on {view.place}")
    screen.blank()
    screen.paragraph(view.headline, style="bold", indent=2)
    screen.blank()
    if not view.recommended:
        screen.rows("why", view.why)
    for proof in view.proofs:
        screen.rows(proof.label, [proof.text], style=_STYLES[proof.state])
    if view.roofline is not None:
        screen.rows("limit", [view.roofline.short], style=_STYLES["told"])
    if view.interrupted:
        screen.rows("stopped", ["before it was done: this is the best answer so far"], style="yellow")
    if view.policies:
        screen.blank()
        _policy_table(view, screen)
    batches = _batches(view)
    if len(batches) > 1:
        screen.blank()
        _batch_table(view, batches, screen)
    if view.ruled_out or view.findings or view.open_questions or view.go_on or view.batch_note:
        screen.blank()
        _ruled_out(view, screen)
        screen.rows("open", view.open_questions, style="yellow")
        if view.go_on:
            screen.line("go on", view.go_on)
        _findings(view, screen)
    if view.ways or view.report_path:
        screen.blank()
        _use(view, screen)


def _policy_table(view: View, screen: Screen) -> None:
    """The measured policy table, numbers aligned on the right."""
    head = ["policy", "ms a step", "relative", view.epochs, view.metric]
    body = [
        [row.policy, row.step_time.text, row.relative.text, row.run.text, row.accuracy.text] for row in view.policies
    ]
    widths = [max(len(line[column]) for line in (head, *body)) for column in range(len(head))]

    def aligned(cells: list[str]) -> str:
        return GAP.join([cells[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(cells[1:], widths[1:], strict=True))])

    screen.paragraph(aligned(head), style="dim", indent=2)
    for row, cells in zip(view.policies, body, strict=True):
        line, style = aligned(cells), "bold" if row.chosen and view.recommended else ""
        room = screen.width - len(line) - len(GAP) - 2
        if room >= min(len(_remark(row)), _NARROWEST_REMARK):
            screen.hanging(Text(line + GAP, style=style), _remark(row), indent=2)
        else:
            screen.paragraph(line, style=style, indent=2)
            if _remark(row):
                screen.paragraph(_remark(row), style="dim", indent=6)


def _batches(view: View) -> list[CandidateLine]:
    """The baseline, and what was trained at other batches."""
    written = next((row.batch.value for row in view.candidates if row.baseline), None)
    other = [row for row in view.candidates if row.quality.value is not None and row.batch.value != written]
    return [row for row in view.candidates if row.baseline] + sorted(other, key=lambda row: row.batch.value or 0)


def _batch_table(view: View, rows: list[CandidateLine], screen: Screen) -> None:
    """What larger batches are worth: samples a second, quality, time to the baseline's quality and its prediction."""
    head = ["batch", "samples/s", view.metric, "sooner", "predicted"]
    body = [
        [
            r.batch.text,
            r.samples.text,
            r.quality.text,
            r.time_to_quality.text if not r.baseline else "",
            r.predicted.text if not r.baseline else "",
        ]
        for r in rows
    ]
    widths = [max(len(line[column]) for line in (head, *body)) for column in range(len(head))]
    # What all of them share is said once.
    settings = [row.settings for row in rows if not row.baseline]
    shared = [part for part in settings[0] if all(part in parts for parts in settings)]

    def aligned(cells: list[str]) -> str:
        return GAP.join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))

    rates = any(part.startswith(_RATE) for parts in settings for part in parts)
    screen.hanging(Text(aligned(head) + GAP, style="dim"), ", ".join(shared), indent=2)
    for row, cells in zip(rows, body, strict=True):
        style = "bold" if row.chosen and view.recommended else ""
        own = [part.replace(_RATE, "rate ") for part in row.settings if part not in shared]
        if rates and not row.baseline and not any(part.startswith(_RATE) for part in row.settings):
            own.insert(0, "rate x1")
        own += ["as written"] if row.baseline else [row.verdict] if row.verdict else []
        screen.hanging(Text(aligned(cells) + GAP, style=style), ", ".join(own), indent=2)


def _remark(row: PolicyLine) -> str:
    return "; ".join(part for part in (row.verdict, row.note) if part)


def _ruled_out(view: View, screen: Screen) -> None:
    shown = view.ruled_out[:_RULED_OUT_SHOWN]
    width = max((len(entry.what) for entry in shown if len(entry.what) <= _WIDEST_NAME), default=0)
    label = "ruled out"
    for entry in shown:
        screen.pair(label, entry.what, entry.why, width)
        label = ""
    if len(view.ruled_out) > len(shown):
        screen.rows(label, [f"and {len(view.ruled_out) - len(shown)} more, in the report"])
    reason = view.batch_note.partition(": ")[2]
    if view.batch_note and not any(reason in entry.why for entry in view.ruled_out):
        screen.rows("batch", [view.batch_note])


def _findings(view: View, screen: Screen) -> None:
    shown = [_finding(finding) for finding in view.findings[:_FINDINGS_SHOWN]]
    if len(view.findings) > len(shown):
        shown.append(f"and {len(view.findings) - len(shown)} more, in the report")
    screen.rows("look at", shown)


def _finding(finding: FindingLine) -> str:
    places = [place for place in finding.where if place not in finding.message]
    text = finding.message.rstrip(".") + (f" ({', '.join(places)})" if places else "")
    return text + (f"; {finding.advice}" if finding.advice else "")


def _use(view: View, screen: Screen) -> None:
    label = "use it"
    for way in view.ways:
        if way.language == "shell":
            screen.line(label, way.code)
        elif way.short and "\n" in way.code:
            screen.rows(label, [f"{way.short}:"])
            for code in way.code.splitlines():
                screen.line("", "  " + code)
        elif way.short:
            screen.line(label, f"{way.short}: {way.code}")
        label = ""
    if view.report_path:
        screen.line("report", view.report_path)

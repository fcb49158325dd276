"""A diagnosis on one screen."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from autotune.records.diagnosis import Diagnosis
from autotune.records.numerics import Distribution
from autotune.reports.diagnosis_words import headline, lost
from autotune.reports.format import counted, percent, significant
from autotune.reports.headroom_words import headroom_words, limit_words

_NOTABLE = 1e-4
_MOST_ROWS = 12


def render_diagnosis(diagnosis: Diagnosis, console: Console) -> None:
    """Prints policies, layers that lose numbers in 16 bits, gradients against float16, and findings.

    Args:
        diagnosis: What was found.
        console: Where to print.
    """
    console.print(Text(f"{diagnosis.target}: numerics by policy"))
    console.print()
    console.print(Text(headline(diagnosis)), style="bold")
    console.print()
    table = Table(box=None, pad_edge=False)
    for column in ("policy", "outcome", "16-bit layers", "evidence"):
        table.add_column(column)
    for name, policy in diagnosis.policies.items():
        accuracy = f", accuracy {policy.accuracy.verdict}" if policy.accuracy is not None else ""
        layers = (
            "-" if policy.sixteen_bit_layers is None else f"{policy.sixteen_bit_layers} of {policy.arithmetic_layers}"
        )
        table.add_row(Text(name), Text(f"{policy.outcome}{accuracy}"), layers, Text(policy.evidence))
    console.print(table)
    _rescues(diagnosis, console)
    _layers(diagnosis, console)
    _gradients(diagnosis, console)
    if diagnosis.findings:
        console.print("\nlook at", style="bold")
        for finding in diagnosis.findings:
            place = f" ({finding.line})" if finding.line else ""
            advice = f"; {finding.advice}" if finding.advice else ""
            console.print(Text(f"  {finding.severity}: {finding.message}{place}{advice}"))


def _rescues(diagnosis: Diagnosis, console: Console) -> None:
    tried = [(name, policy.rescue) for name, policy in diagnosis.policies.items() if policy.rescue is not None]
    if tried:
        console.print("\nlayers in float32", style="bold")
    for name, rescue in tried:
        if not rescue.layers:
            console.print(Text(f"  {name}: {rescue.evidence}"))
            continue
        sets = counted(rescue.attempts, "set")
        fewest = "none of them can be left out" if rescue.minimal else "fewer might do"
        layers = ", ".join(rescue.layers)
        console.print(Text(f"  {name} trains with float32 in {layers} ({fewest}; {sets} tried): {rescue.evidence}"))
        for line in rescue.snippet.splitlines():
            console.print(Text(f"      {line}"))


def _layers(diagnosis: Diagnosis, console: Console) -> None:
    rows = [layer for layer in diagnosis.layers if layer.activations is not None or layer.gradients is not None]
    if not rows:
        return
    console.print("\nlayers, at float32: largest activation; share lost in float16 (vanish, overflow)", style="bold")
    table = Table(box=None, pad_edge=False)
    for column in ("layer", "type", "largest", "activations lost", "gradients lost"):
        table.add_column(column)
    for layer in sorted(rows, key=lambda item: -max(lost(item.activations), lost(item.gradients)))[:_MOST_ROWS]:
        largest = "-" if layer.activations is None else significant(layer.activations.largest)
        table.add_row(Text(layer.path), Text(layer.type), largest, _share(layer.activations), _share(layer.gradients))
    console.print(table)


def _gradients(diagnosis: Diagnosis, console: Console) -> None:
    gradients = diagnosis.gradients
    console.print("\na gradient meets float16", style="bold")
    table = Table(box=None, pad_edge=False)
    for column in ("gradient", "as float16", f"times {gradients.scale:g}"):
        table.add_column(column, justify="right")
    for row in gradients.survival:
        table.add_row(
            f"{row.gradient:.0e}",
            f"{row.as_float16:.3g}" if row.survives else "0, lost",
            f"{row.scaled_as_float16:.3g}" if row.scaled_survives else "0, lost",
        )
    console.print(table)
    shares = ", ".join(f"{percent(share)} {name}" for name, share in gradients.surviving.items() if share is not None)
    if shares:
        predicted = significant(gradients.predicted_loss_scale)
        console.print(f"of this model's gradients float16 keeps {shares}; predicted loss scale {predicted}")
    for name, policy in diagnosis.policies.items():
        for words in (limit_words(policy.loss_scale_limit), headroom_words(policy.headroom)):
            if words:
                console.print(Text(f"{name}: {words}"))


def _share(numbers: Distribution | None) -> str:
    if numbers is None:
        return "-"
    share = lost(numbers)
    return "none" if share == 0.0 else f"below {_NOTABLE:.0e}" if share < _NOTABLE else percent(share)

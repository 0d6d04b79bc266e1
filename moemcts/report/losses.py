"""The tables of losses: each network on the samples of each phase, coloured by how good it is there."""

from __future__ import annotations

from collections.abc import Sequence

from moemcts.learn.assessment import PhaseLosses
from moemcts.report.tables import Cell, Table


def loss_table(losses: Sequence[PhaseLosses], where: str, *, policy_weight: float, value_weight: float) -> Table:
    """Returns the whole loss, weighted as in training, of each network on each phase; lower is better."""
    cells = [
        [row.loss(phase, policy_weight=policy_weight, value_weight=value_weight) for phase in row.policy]
        for row in losses
    ]
    counts = ", ".join(f"{phase} {count:,.0f}" for phase, count in losses[0].counts.items()) if losses else ""
    caption = (
        f"Loss {where}: {policy_weight:g} of the policy's cross-entropy and {value_weight:g} of the value's squared "
        f"error. Samples: {counts}. The mixture asks each phase's expert, or "
        "all where the gate is soft."
    )
    return _table("loss", losses, cells, [[_text(cell, "{:.4f}") for cell in row] for row in cells], caption, -1)


def accuracy_table(losses: Sequence[PhaseLosses], where: str) -> Table:
    """Returns the share of samples whose action each network finds likeliest, in percent; higher is better."""
    cells = [list(row.accuracy.values()) for row in losses]
    shown = [[_text(cell and 100 * cell, "{:.2f}") for cell in row] for row in cells]
    return _table("policy accuracy %", losses, cells, shown, f"Policy accuracy in percent {where}.", 1)


def _table(
    title: str,
    losses: Sequence[PhaseLosses],
    cells: Sequence[Sequence[float | None]],
    shown: Sequence[Sequence[Cell]],
    caption: str,
    sign: int,
) -> Table:
    columns = list(zip(*cells, strict=True))
    tints = [[None, *(_tint(cell, column, sign) for cell, column in zip(row, columns, strict=True))] for row in cells]
    names = list(losses[0].policy) if losses else []
    rows = [[row.name, *line] for row, line in zip(losses, shown, strict=True)]
    return Table([title, *names], rows, caption, tints)


def _tint(cell: float | None, column: Sequence[float | None], sign: int) -> float | None:
    """Returns where the cell lies between the worst, 0, and the best, 1, of its column."""
    values = [value for value in column if value is not None]
    if cell is None or max(values) == min(values):
        return None
    share = (cell - min(values)) / (max(values) - min(values))
    return share if sign > 0 else 1 - share


def _text(value: float | None, pattern: str) -> str | None:
    return None if value is None else pattern.format(value)

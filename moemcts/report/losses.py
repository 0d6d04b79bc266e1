"""Tables of losses of each network on the samples of each phase, with cells coloured by quality."""

from __future__ import annotations

from collections.abc import Sequence

from moemcts.learn.assessment import MIXTURE, PhaseLosses
from moemcts.report.tables import Cell, Table, format_fixed

FULL_COLOUR = 0.2
"""Relative distance from the column's mean at which a cell has full colour, so that small differences look small."""
_COLOURS = f"Green is better than the mean of the column, orange worse; full at {100 * FULL_COLOUR:.0f} % from it."


def loss_table(losses: Sequence[PhaseLosses], where: str, *, policy_weight: float, value_weight: float) -> Table:
    """Returns the total loss, weighted as in training, of each network on each phase; lower is better."""
    cells = [
        [row.loss(phase, policy_weight=policy_weight, value_weight=value_weight) for phase in row.policy]
        for row in losses
    ]
    counts = ", ".join(f"{phase} {count:,.0f}" for phase, count in losses[0].counts.items()) if losses else ""
    caption = (
        f"Loss {where}: {policy_weight:g} of the policy's cross-entropy and {value_weight:g} of the value's squared "
        f"error. Samples: {counts}."
    )
    if any(row.name == MIXTURE for row in losses):
        caption += " The mixture asks each phase's expert, or all where the gate is soft."
    return _table("loss", losses, cells, [[format_fixed(cell) for cell in row] for row in cells], caption, -1)


def accuracy_table(losses: Sequence[PhaseLosses], where: str) -> Table:
    """Returns the policy accuracy of each network, the share of samples whose action it rates highest, in percent.

    Higher is better.
    """
    cells = [list(row.accuracy.values()) for row in losses]
    shown = [[format_fixed(cell and 100 * cell, 2) for cell in row] for row in cells]
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
    return Table([title, *names], rows, caption, tints, _COLOURS)


def _tint(cell: float | None, column: Sequence[float | None], sign: int) -> float | None:
    """Returns the quality of a cell within its column: 0.5 at the mean, 0 or 1 from a distance of `FULL_COLOUR` on."""
    values = [value for value in column if value is not None]
    mean = sum(values) / len(values) if values else 0.0
    if cell is None or not mean or min(values) == max(values):
        return None
    deviation = sign * (cell - mean) / (abs(mean) * FULL_COLOUR)
    return 0.5 + 0.5 * min(max(deviation, -1.0), 1.0)

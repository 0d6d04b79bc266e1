"""Tables of a report, as Markdown and as HTML, and those that results of the arena become."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Self

from moemcts.arena import ArmSummary, Difference, DuelResult, MatchResult, Tally
from moemcts.arena.intervals import Interval
from moemcts.arena.ranking import Ratings

Cell = str | int | float | None
SAFE_ADDRESS = r"(?:https?://[^\s)\"]+|[\w./#-]+)"
"""What a link in a report may lead to."""


@dataclass(frozen=True)
class HtmlCell:
    """A cell of a page."""

    text: str
    interval: str
    """Stands under the number, so that wide tables stay narrow; empty for none."""
    colour: str
    """From orange over none to green, see-through, so that it suits light and dark; empty for none."""

    @classmethod
    def of(cls, text: str, tint: float | None) -> Self:
        """Returns the cell of a text, `tint` as in `Table.tints`."""
        number, bracket, rest = text.partition(" [")
        has_interval = bool(bracket) and rest.endswith("]")
        colour = ""
        if tint is not None:
            hue = "0, 158, 115" if tint >= 0.5 else "213, 94, 0"
            colour = f"rgba({hue}, {0.55 * abs(2 * tint - 1):.2f})"
        return cls(number, f"[{rest}", colour) if has_interval else cls(text, "", colour)


@dataclass(frozen=True)
class Table:
    """Rows under columns; None is nothing measured."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    tints: Sequence[Sequence[float | None]] = ()
    """How good each cell is, from 0, the worst, to 1, the best: its colour on the page; None for no colour."""
    colours: str = ""
    """What the colours mean, said where they are."""

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise ValueError(f"expected {len(self.columns)} cells in row {number}, got {len(row)}")
        if self.tints and [len(row) for row in self.tints] != [len(row) for row in self.rows]:
            raise ValueError(f"expected one tint per cell or none, got {len(self.tints)} rows for {len(self.rows)}")

    def text(self) -> str:
        """Returns the table for a terminal, columns aligned, the caption below."""
        lines = [list(self.columns), *([_text(cell) for cell in row] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        rights = self.rights
        aligned = [
            "  ".join(
                cell.rjust(width) if right else cell.ljust(width)
                for cell, width, right in zip(line, widths, rights, strict=True)
            ).rstrip()
            for line in lines
        ]
        return "\n".join([*aligned, self.caption]).rstrip()

    def markdown(self) -> str:
        """Returns the table as GitHub's Markdown, numbers to the right, the caption below."""
        rights = self.rights
        lines = [
            [_markdown_cell(column) for column in self.columns],
            ["---:" if right else "---" for right in rights],
            *([_markdown_cell(_text(cell)) for cell in row] for row in self.rows),
        ]
        text = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        return f"{text}\n\n{escape_markdown(self.caption)}" if self.caption else text

    def cells(self) -> Iterator[list[HtmlCell]]:
        """Yields the rows of the table for a page."""
        for row, tints in zip(self.rows, self.tints or [[None] * len(self.columns)] * len(self.rows), strict=True):
            yield [HtmlCell.of(_text(cell), tint) for cell, tint in zip(row, tints, strict=True)]

    @property
    def told(self) -> str:
        """What stands below the table on a page."""
        return " ".join(filter(None, [self.caption, self.colours if self.tints else ""]))

    @property
    def rights(self) -> list[bool]:
        """Which columns have numbers, and are aligned to the right."""
        return [
            any(isinstance(row[i], int | float) or _looks_numeric(row[i]) for row in self.rows)
            for i in range(len(self.columns))
        ]


def arms_table(result: MatchResult) -> Table:
    """Returns wins, ties and losses of every arm with intervals, and its mean score and length."""
    return Table(
        ["arm", "games", "wins", "ties", "losses", "win rate %", "95 % interval", "score", "plies", "repeated"],
        [_arm_row(result.summary(arm)) for arm in result.arms],
        f"{result.game}: every arm on the same boards, seats and seeds. Wilson intervals of the win rate; a tie scores "
        f"{result.tie_value:g}; plies is the mean length; repeated games equal an earlier one move for move.",
    )


def differences_table(differences: Sequence[Difference]) -> Table:
    """Returns paired differences with intervals and p-values, and what they may be called."""
    return Table(
        [
            "arm",
            "baseline",
            "win rate, points",
            "95 % interval",
            "p",
            "only arm won",
            "only baseline won",
            "McNemar p",
            "verdict",
        ],
        [
            [
                one.arm,
                one.baseline,
                f"{100 * one.wins.mean:+z.1f}",
                points(one.wins.interval, signed=True),
                p_text(one.p_value),
                one.num_only_arm,
                one.num_only_baseline,
                p_text(one.mcnemar_p_value),
                one.verdict.partition(":")[0],
            ]
            for one in differences
        ],
        "Paired differences of win rates in percentage points. Interval: Student's t over boards; p: signs of whole "
        "boards flipped at random; McNemar's exact test takes all pairs of games as independent. Both p-values are "
        "two-sided and not corrected for the number of rows.",
    )


def seats_table(result: MatchResult) -> Table:
    """Returns the win rate of every arm in every seat."""
    return Table(
        ["arm", *(f"seat {seat}" for seat in range(result.num_seats))],
        [[arm, *map(_seat_cell, result.summary(arm).by_seat)] for arm in result.arms],
        "Win rate in percent by seat, with 95 % Wilson interval and number of games.",
    )


def duel_table(result: DuelResult) -> Table:
    """Returns wins, draws, losses and Elo of the agents of a duel."""
    rows: list[list[Cell]] = []
    for name in result.names:
        losses, draws, wins = result.counts(name)
        elo = str(result.elo(name)) if result.records and result.is_even else None
        rows.append([name, len(result.telling), wins, draws, losses, elo])
    return Table(
        ["agent", "games", "wins", "draws", "losses", "Elo, 95 %"],
        rows,
        f"{result.game}: every opening once per rotation of the seats. Elo over the rest, with the 95 % error that "
        "cutechess prints, which takes games as independent.",
    )


def ratings_table(ratings: Ratings) -> Table:
    """Returns the Elo of the agents of a tournament, the strongest first."""
    rows = ratings.to_json()["agents"]
    return Table(
        ["agent", "Elo", "95 %"],
        [[row["name"], f"{row['elo']:+z.1f}", f"± {row['error']:.1f}"] for row in rows],
        f"Plackett-Luce over {ratings.num_games} games; the mean of all agents is 0, the error is against that mean.",
    )


def escape_markdown(text: str) -> str:
    """Returns text on one line in which names of users are never HTML, nor links to anything but pages and files."""
    text = escape(" ".join(text.split("\n")), quote=False)
    return re.sub(r"\](?=\((?!" + SAFE_ADDRESS + r"\)))", r"\\]", text)


def points(interval: Interval, *, signed: bool = False) -> str:
    """Returns an interval of shares in percentage points."""
    sign = "+z" if signed else "z"
    return f"[{100 * interval[0]:{sign}.1f}, {100 * interval[1]:{sign}.1f}]"


def p_text(p_value: float) -> str:
    """Returns a p-value as it is printed: never 0."""
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"


def _arm_row(summary: ArmSummary) -> list[Cell]:
    tally = summary.tally
    return [
        summary.name,
        tally.num_games,
        tally.wins,
        tally.ties,
        tally.losses,
        f"{100 * tally.win_rate:.1f}",
        points(tally.win_interval),
        f"{summary.score.mean:.3f}",
        f"{summary.mean_plies:.0f}",
        summary.num_duplicates,
    ]


def _seat_cell(tally: Tally) -> Cell:
    if not tally.num_games:
        return None
    return f"{100 * tally.win_rate:.1f} {points(tally.win_interval)} of {tally.num_games}"


def _text(cell: Cell) -> str:
    if cell is None:
        return "–"
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def _markdown_cell(text: str) -> str:
    return escape_markdown(text).replace("|", "\\|")


def _looks_numeric(cell: Cell) -> bool:
    return isinstance(cell, str) and bool(cell) and not cell.strip("+-−<>.,±[]/% 0123456789")

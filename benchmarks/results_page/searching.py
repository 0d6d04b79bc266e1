"""Tables of searches: effects of options, savings, and comparisons with others."""

from __future__ import annotations

from measuring.record import latest

from results_page.markdown import around, bounds, origin, table
from results_page.matches import field_matches, field_table


def replies() -> str:
    """Returns the comparison of opponents' replies, kept or sampled."""
    rows = list(latest("replies").values())
    cells = (
        [row["name"], row["games"], f"{100 * row['value']:+z.1f} {bounds(row['interval'], 100, 1)}"] for row in rows
    )
    return "\n\n".join([table("opponents' replies | games | percent or points, 95 %", cells), origin(rows)])


def mates() -> str:
    """Returns the numbers of mates in three proven by the solver."""
    rows = list(latest("mates").values())
    cells = ([row["name"], f"{row['value']} {row['unit']}"] for row in rows)
    return "\n\n".join([table("mates in three, up to 100,000 simulations | proven", cells), origin(rows)])


def urgency() -> str:
    """Returns the results of first-play urgencies against "loss"."""
    rows = list(latest("urgency").values())
    matches = field_matches("untried moves")
    cells = [
        [row["name"], row["games"], around(row["value"], row["interval"]), row["sprt"]["decision"]] for row in rows
    ]
    how = (
        "A sequential test of 0 against 10 normalized Elo, or of what the command says: H1 stands for stronger than "
        '"loss", H0 for not. Where it was decided it has ended the match: the interval is too narrow then. They '
        "are of these networks. In Pommerman it is a match against others, and the search hears the value alone."
    )
    duels = table("equal simulations | games | Elo, 95 % | test", cells)
    return "\n\n".join([duels, how, field_table(matches), origin([*rows, *matches])])


def openspiel() -> str:
    """Returns the speed of searches in OpenSpiel's games."""
    rows = list(latest("openspiel").values())
    cells = ([f"`{row['game']}`", row["search"], f"{row['value']:,}", row["ratio"]] for row in rows)
    note = (
        "Simulations per second of processor time, each from the game's first position; the ratio is to our search "
        "with the same kind of leaf in the same run. OpenSpiel's search in C++ plays its games without Python."
    )
    return "\n\n".join([note, table("in | search | simulations/s | ratio", cells), origin(rows)])


def variants() -> str:
    """Returns the scores of variants of the search against the plain search, and their simulations per move."""
    rows = list(latest("variants").values())
    cells = (
        [row["name"], row["games"], f"{row['score']} [{row['interval'][0]}, {row['interval'][1]}]", row["simulations"]]
        for row in rows
    )
    heads = "variant | games | score %, 95 % | simulations per move"
    return "\n\n".join([table(heads, cells), origin(rows)])


def savings() -> str:
    """Returns the savings of options that do not change moves."""
    rows = list(latest("savings").values())
    cells = (
        [
            f"`{row['agent']}`",
            row["simulations"],
            row["option"],
            row["games"],
            f"{row['value']:.2f}",
            f"{row['ratio']:.2f}",
        ]
        for row in rows
    )
    note = "The same games, move by move: measured again, times differ by a tenth or two."
    heads = "agent | simulations | search | games | seconds of a core per game | times as fast"
    return "\n\n".join([table(heads, cells), note, origin(rows)])

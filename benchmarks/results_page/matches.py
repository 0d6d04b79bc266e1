"""Tables of matches: agents against engines, against each other, and against common opponents."""

from __future__ import annotations

from measuring.pooling import other_than
from measuring.record import Row, latest

from moemcts.arena.rating import elo
from results_page.markdown import around, bounds, origin, table

COUNTS = ("wins", "draws", "losses")
FEW = (2, 3)
"""Numbers of trainings that are too small to generalise: an interval for these trainings only is shown as well."""
TOPICS = ("untried moves", "learned from", "rollouts of")
"""Parts of names of matches against others that are shown elsewhere."""


def field_matches(topic: str | None = None) -> list[Row]:
    """Returns the matches against others of a topic, or those of none."""
    rows = latest("field_matches").values()
    return [row for row in rows if (topic in row["name"] if topic else not any(one in row["name"] for one in TOPICS))]


def field_table(rows: list[Row]) -> str:
    """Returns the results of agents against common opponents, and the differences to the first agent."""
    cells = (
        [
            row["name"],
            "-".join(map(str, row["counts"])),
            f"{row['value']:.1f} [{row['interval'][0]:.1f}, {row['interval'][1]:.1f}]",
            "{:+z.1f} [{:+z.1f}, {:+z.1f}]".format(*row["difference"]) if "difference" in row else "–",
        ]
        for row in rows
    )
    return table("who | won-tied-lost | % won, 95 % | points more than the first, 95 %", cells)


def levels() -> str:
    """Returns the results of chess-family agents against engines, and against each other."""
    rows = list(latest("levels").values())
    against = [row for row in rows if ", levels: " in row["name"]]
    ratings = [row for row in rows if ", rating: " in row["name"]]
    # Ratings are relative to the mean of their round robin, so those of earlier ones are left out.
    newest = {_round_robin(row): row for row in sorted(ratings, key=lambda row: str(row["date"]))}
    shown = {row["name"]: row["name"].replace(", levels", "").replace("&", " ") for row in against}
    games = [[shown[row["name"]], *(row[key] for key in COUNTS), bounds(_elo_bounds(row))] for row in against]
    means = [
        [row["name"].partition("rating: ")[2].replace("&", " "), row["games"], around(row["value"], row["interval"])]
        for row in sorted(ratings, key=lambda row: (_round_robin(row), -row["value"]))
        if all(row[key] == newest[_round_robin(row)][key] for key in ("command", "commit"))
    ]
    how = (
        "Few games: read the intervals. Levels are those of Lichess. The Antichess thesis (Tables 5.3, 5.4) rated its "
        "network at 2048 iterations 1023, random playouts at 2048 990 and random moves 346; its network beat level 2 "
        "and lost to level 3."
    )
    heads = "antichess, two round robins: equal simulations, equal time | games | Elo against its mean, 95 %"
    engines = table("against engines | wins | draws | losses | Elo, 95 %", games)
    return "\n\n".join([engines, table(heads, means), how, origin([*against, *ratings])])


def _elo_bounds(row: Row) -> tuple[float | None, float | None]:
    # Recomputed from the counts: intervals in rows were too narrow for few games that were not all won.
    difference = elo(*(row[key] for key in COUNTS))
    return difference.low, difference.high


def _round_robin(row: Row) -> str:
    return str(row["name"]).partition(", rating: ")[0]


def duels() -> str:
    """Returns matches of two agents."""
    rows = list(latest("duels").values())
    cells = (
        [
            row["name"],
            "-".join(map(str, row["counts"])),
            _elo_of(row),
            ", ".join(f"{one:+z.1f}" for one in row.get("by training", ())) or "–",
        ]
        for row in rows
    )
    heads = "who plays whom | won-tied-lost | Elo of the first, 95 % | by training"
    how = (
        "The unit of an interval is the opening; of several trainings it is the training. Where these are two or "
        "three, of which little follows for others, it is also said for these alone."
    )
    recorded = latest("duels")
    compared = [(row, other_than(row, recorded[row["than"]["name"]])) for row in rows if "than" in row]
    others = "\n".join(
        f"- {row['name']}: {other['value']:+z.1f} Elo {bounds(other['interval'], digits=1)} from {other['name']} "
        f"({', '.join(f'{one:+z.1f}' for one in other['by training'])} by training)"
        for row, other in compared
    )
    return "\n\n".join([table(heads, cells), how, *([others] if others else []), origin(rows)])


def _elo_of(row: Row) -> str:
    value = "–" if row["value"] is None else f"{row['value']:+z.1f}"
    own = row.get("own interval")
    alone = f", of these {bounds(own, digits=1)}" if own and len(row["by training"]) in FEW else ""
    return f"{value} {bounds(row['interval'], digits=1)}{alone}"

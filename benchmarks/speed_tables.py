"""The tables of `docs/guides/speed.md` and of the results: the search beside what it was, and beside others."""

from __future__ import annotations

from tabulating import Row, latest, table

SEARCH = "search, chess, {}, against before"
GOALS = {
    "chess, middlegame, 100,000 simulations": (
        SEARCH.format("middlegame, loss, 1 tree x 8 leaves, 100,000"),
        "1.7 times",
    ),
    "the same, 1,000,000 simulations": (SEARCH.format("middlegame, loss, 1 tree x 8 leaves, 1,000,000"), ""),
    "the same, 100,000, planes encoded": (
        SEARCH.format("middlegame, loss, 1 tree x 8 leaves, 100,000, encoded"),
        "",
    ),
    "chess, start, 64 trees, a leaf each": (SEARCH.format("start, loss, 64 trees x 1 leaf, 800"), "400,000/s"),
    "chess, middlegame, 64 trees, a leaf each": (
        SEARCH.format("middlegame, loss, 64 trees x 1 leaf, 800"),
        "400,000/s",
    ),
    "52 planes, batches of 64": ("52 planes of chess, batches of 64, against before", ""),
    "52 planes, batches of 16,384": ("52 planes of chess, batches of 16,384, against before", "as fast as 64"),
    "gate over a dataset": ("gate `lichess` over packed positions of chess, against before", "3,000,000/s"),
}
"""What was to be reached: its row, and the goal where there is one."""


def goals() -> str:
    """Returns the table of what was to be reached, before and now."""
    rows = latest("side_by_side")
    heads = "per second of processor time, one thread | before | now | times as fast | goal"
    lines = []
    for label, (name, goal) in GOALS.items():
        if name in rows:
            row = rows[name]
            lines.append([label, f"{row['theirs']:,}", f"{row['ours']:,}", f"{row['value']:.2f}", goal or "–"])
    return table(heads, lines)


def against_before() -> str:
    """Returns the table of the search now and before, with the ratios of one run."""
    rows = latest("side_by_side").values()
    heads = "simulations per second of processor time | now | before | times as fast | lowest to highest"
    return table(heads, ([_short(row["name"]), *_cells(row)] for row in rows))


def against_peers() -> str:
    """Returns the table of our searches and others', with the ratios of one run."""
    rows = latest("peers").values()
    heads = "simulations or playouts per second of processor time | ours | theirs | times as fast | lowest to highest"
    return table(heads, ([row["name"], *_cells(row)] for row in rows))


def memory() -> str:
    """Returns the table of the memory of trees."""
    heads = "tree of chess | bytes per node | at the peak, while it grows | processor time"
    rows = latest("memory").values()
    cells = ([_tree(row["name"]), f"{row['value']:,}", f"{row['peak']:,}", f"{row['seconds']} s"] for row in rows)
    return table(heads, cells)


def measured() -> list[Row]:
    """Returns all rows that these tables show."""
    return [row for name in ("side_by_side", "peers", "memory") for row in latest(name).values()]


def tables() -> str:
    """Returns the three tables, one after the other."""
    return "\n\n".join([against_before(), memory(), against_peers()])


def _cells(row: Row) -> list[str]:
    spread = f"{row['lowest']:.2f} to {row['highest']:.2f}"
    return [f"{row['ours']:,}", f"{row['theirs']:,}", f"{row['value']:.2f}", spread]


def _short(name: str) -> str:
    return name.removeprefix("search, ").removesuffix(", against before")


def _tree(name: str) -> str:
    return name.removeprefix("memory of a tree, chess, ")

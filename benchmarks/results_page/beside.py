"""Tables of `docs/guides/speed.md` and of the results: the search against earlier versions and other programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from measuring.record import Row, latest

from results_page.markdown import origin, table

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
"""Rows with goals, and the goals if any."""
LC0 = "puct, chess middlegame, 100000, batch {}, against lc0"
PEERS = [
    ("chess, middlegame, 100,000 simulations, against lc0, batches of 8", LC0.format("8, loss"), "2 times"),
    ("the same, with lc0's rule for untried moves", LC0.format("8"), "2 times"),
    ("the same, our planes encoded too", LC0.format("8, encoded"), "4 times"),
    ("the same, in batches of 64", LC0.format("64, encoded"), "2 times"),
    ("tic-tac-toe with playouts, against OpenSpiel", "uct, tic-tac-toe, against openspiel", "1.5 times"),
]
"""Rows of comparisons with other programs, and the goals."""


def goals() -> str:
    """Returns the table of speed goals, before and now."""
    rows = latest("side_by_side")
    heads = "per second of processor time, one thread | before | now | times as fast | goal"
    lines = []
    for label, (name, goal) in GOALS.items():
        if name in rows:
            row = rows[name]
            lines.append([label, f"{row['theirs']:,}", f"{row['ours']:,}", f"{row['value']:.2f}", goal or "–"])
    return table(heads, lines)


def others() -> str:
    """Returns the table of other goals: shares, ratios and sizes of one run each."""
    heads = "beside that | now | goal"
    return table(heads, ([comparison, result, goal] for comparison, result, goal in _others() if result))


def _others() -> Iterator[tuple[str, str, str]]:
    shares, networks, matches = latest("in_flight"), latest("inference"), latest("match_speed")
    trained, trees, peers = latest("training"), latest("memory"), latest("peers")
    speeds = latest("speed")
    # Games with rules in Python are played in one group.
    for game, groups in (
        ("chess", ", two groups in flight"),
        ("pommerman", ", two groups in flight"),
        ("tictactoe", ""),
    ):
        yield (
            f"self-play's share of the network's speed, batches of 128, {game}",
            _both(shares, f" on {game}, ", f", self-play{groups}", 100, "%"),
            "90 %",
        )
    for backend in ("torch float32", "torch bf16", "onnxruntime float32", "openvino float32", "openvino bf16"):
        yield (
            f"three experts against one network, {backend}",
            _both(networks, "three experts against one network", backend, 1, "times as long"),
            "1.05 times as long",
        )
    yield (
        "a match at once against one by one",
        _both(matches, "at once against one by one", "auto", 1, "times"),
        "4 times",
    )
    for way in ("float32, channels last", "bf16, channels last"):
        ratios = [row["ratio"] for name, row in trained.items() if name.endswith(way) and "ratio" in row]
        yield f"training in {way}, against float32", _range(ratios, "times"), "–"
    losses = latest("cross_entropy")
    for held, against in (("actions played", "actions, "), ("shares of 30", "actions, shares of 30, ")):
        for precision in ("float32", "bf16"):
            label = f"cross-entropy of 256 policies of chess and {held}, {precision}, against PyTorch's"
            yield label, _both(losses, f"256 x 4,864 {against}{precision}", "against PyTorch's", 1, "times"), "–"
    one_tree = "search, chess, middlegame, loss, 1 tree x 8 leaves, {}"
    rates = [
        speeds[one_tree.format(num)]["value"] for num in ("100,000", "1,000,000") if one_tree.format(num) in speeds
    ]
    if len(rates) == 2:
        yield (
            "a simulation out of 1,000,000 in one tree, 8 leaves, against 100,000",
            f"{rates[0] / rates[1]:.2f} times",
            "1.3 times",
        )
    small, large = (trees.get(f"memory of a tree, chess, middlegame, {num} nodes") for num in ("100,000", "1,000,000"))
    if small and large:
        ratio = large["seconds"] / small["seconds"] / 10
        yield "a node of a tree of 1,000,000, 64 leaves, against 100,000", f"{ratio:.2f} times", "1.3 times"
        yield "memory of a node, chess", f"{large['value']:,} bytes", "800 bytes"
    for label, question, goal in PEERS:
        if row := peers.get(question):
            spread = f"{row['lowest']:.2f} to {row['highest']:.2f}"
            yield label, f"{row['value']:.2f} times ({spread})", goal


def _both(rows: Mapping[str, Row], part: str, end: str, scale: float, unit: str) -> str:
    """Returns the range over all rows whose names contain `part` and end with `end`."""
    return _range([scale * row["value"] for name, row in rows.items() if part in name and name.endswith(end)], unit)


def _range(values: Sequence[float], unit: str) -> str:
    digits = 0 if unit == "%" else 2
    ends = list(dict.fromkeys(f"{value:.{digits}f}" for value in (min(values), max(values)))) if values else []
    return f"{' to '.join(ends)} {unit}" if ends else ""


def against_before() -> str:
    """Returns the table of the search now and before, with ratios within one run."""
    rows = latest("side_by_side").values()
    heads = "simulations per second of processor time | now | before | times as fast | lowest to highest"
    return table(heads, ([_short(row["name"]), *_cells(row)] for row in rows))


def against_peers() -> str:
    """Returns the table of our searches and others', with ratios within one run."""
    rows = latest("peers").values()
    heads = "simulations or playouts per second of processor time | ours | theirs | times as fast | lowest to highest"
    return table(heads, ([row["name"], *_cells(row)] for row in rows))


def memory() -> str:
    """Returns the table of the memory of trees."""
    heads = "tree of chess | bytes per node | at the peak, while it grows | processor time"
    rows = latest("memory").values()
    cells = ([_tree(row["name"]), f"{row['value']:,}", f"{row['peak']:,}", f"{row['seconds']} s"] for row in rows)
    return table(heads, cells)


def profiles() -> str:
    """Returns the table of profiles."""
    parts = ["network", "search", "rules and planes", "bindings", "Python and NumPy", "memory and system"]
    heads = " | ".join(["share of the samples, %", *parts, "most in one function"])
    lines = []
    for row in latest("profiles").values():
        name, share = next(iter(row["functions"].items()))
        function = "" if name.startswith("0x") else f"{_function(name)}: {share:.0f} %"
        lines.append([row["name"], *(f"{row[part]:.0f}" for part in parts), function])
    return table(heads, lines)


def _function(name: str) -> str:
    """Returns a function's name without its module path."""
    return f"`{name.rsplit(' (', 1)[0].rsplit('::', 1)[-1]}`"


def measured() -> list[Row]:
    """Returns all rows shown in these tables."""
    return [row for name in ("side_by_side", "peers", "memory", "profiles") for row in latest(name).values()]


def _cells(row: Row) -> list[str]:
    spread = f"{row['lowest']:.2f} to {row['highest']:.2f}"
    return [f"{row['ours']:,}", f"{row['theirs']:,}", f"{row['value']:.2f}", spread]


def _short(name: str) -> str:
    return name.removeprefix("search, ").removesuffix(", against before")


def _tree(name: str) -> str:
    return name.removeprefix("memory of a tree, chess, ")


def beside() -> str:
    """Returns the four tables, and the origin of their rows."""
    return "\n\n".join([against_before(), memory(), against_peers(), profiles(), origin(measured())])

"""Writes docs/assets/found-chess.svg and found-pommerman.svg: gains of experts by seed, from the results.

python benchmarks/pictures.py
"""

from __future__ import annotations

from collections.abc import Iterator

from matplotlib import rc_context
from measuring.record import Row, latest
from results_page.chess import comparisons, elo_range, in_words, size_of
from results_page.matches import FEW
from tables import ROOT

from moemcts.arena.rating import EloRange
from moemcts.report.plots import Whisker, differences, elo_ratings

ASSETS = ROOT / "docs" / "assets"
NETWORKS = {
    "resnet?channels=16&blocks=3&": "",
    "resnet?channels=128&blocks=10&": "large",
    "resnet?channels=8&blocks=1&": "smallest",
}
"""The networks of the chess comparisons shown, by prefix, with labels for those other than the usual one."""
SEEDS_OF_STEPS = {
    "ten seeds by all gates": "the paper's size, ten seeds by all gates",
    "five more by steps alone": "the paper's size, half of its games, five more seeds",
    "fourteen, each of own samples": "the paper's size, fourteen seeds of own samples",
    "all 29": "the paper's size, 29 seeds by steps",
}
"""The rows of Pommerman shown, by label."""


def chess() -> Iterator[Whisker]:
    """Yields `separated` over the single network by positions, the most first, with every seed of each.

    Experts that start from one trained network come after others with as many positions; below are those with other
    planes and experts by gates other than Lichess'.
    """
    bars = {}
    for rows in comparisons():
        for row in rows:
            scheme, _, gate = row["arm"].partition(" by ")
            if row["kind"] == "searched" and scheme == "separated" and row["network"].startswith(tuple(NETWORKS)):
                before = row.get("start_samples", 0)
                sort_key = (-before - row["samples_per_pass"], -before, row.get("game", ""), gate)
                bars.setdefault((*sort_key, size_of(row["network"])), row)
    shown = None
    for (samples, before, game, gate, _), row in sorted(bars.items()):
        elo = elo_range(row)
        about = "one set of networks" if row["seeds"] == 1 else f"{row['seeds']} seeds"
        note = f"{about}, {row['games']:,} games"
        label = (
            f"{in_words(-before)}, then {in_words(before - samples)}" if before else f"{in_words(-samples)} positions"
        )
        planes = game.partition("?")[2]
        if gate:
            label = f"the same, by {gate}"
        elif (samples, before) == shown:
            label = f"the same, {planes}"
        elif planes:
            # A longer note would leave no room for the figure.
            of_size = next(name for start, name in NETWORKS.items() if row["network"].startswith(start))
            note = f"{note}, {of_size or planes.partition('=')[2]}"
        shown = (samples, before)
        seeds = row["elo_by_seed"] if row["seeds"] > 1 else ()
        yield Whisker(label=label, value=elo.difference, low=elo.low, high=elo.high, note=note, parts=seeds)
        if own := row.get("own_score_interval") if row["seeds"] in FEW else None:
            alone = EloRange.of(row["score"], own)
            yield Whisker(label="of these networks", value=elo.difference, low=alone.low, high=alone.high, is_part=True)


def pommerman() -> Iterator[Whisker]:
    """Yields `steps` over the single network, by what came first and what was added, with every seed of each."""
    rows = {row["label"]: row for row in latest("strength").values() if _is_of_steps(row)}
    for name, label in SEEDS_OF_STEPS.items():
        row = rows[label]
        low, high = (100 * bound for bound in row["difference"]["interval"])
        value, games = 100 * row["difference"]["wins"], f"{row['games']:,} games"
        seeds = [100 * mean for mean in row["difference"]["seed_means"]]
        yield Whisker(label=name, value=value, low=low, high=high, note=games, parts=seeds)


def _is_of_steps(row: Row) -> bool:
    return row["arm"] == "steps" and row["kind"] == "searched" and row.get("label") in SEEDS_OF_STEPS.values()


def main() -> None:
    """Writes both figures."""
    pictures = {
        "found-chess": elo_ratings(list(chess()), title="Chess: experts over one network by positions, 95 %"),
        "found-pommerman": differences(
            list(pommerman()),
            title="Pommerman: experts by steps over one network, 95 %",
            xlabel="games won, percentage points",
        ),
    }
    # Makes the output reproducible byte by byte.
    with rc_context({"svg.hashsalt": "moemcts"}):
        for name, figure in pictures.items():
            figure.savefig(ASSETS / f"{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()

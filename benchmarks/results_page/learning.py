"""Tables of training results: losses behind gates, self-play, solved positions."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from measuring.pooling import elo_of_counts
from measuring.published import ANTICHESS_GENERATIONS, chess_loss
from measuring.record import Row, latest

from results_page import corrections
from results_page.markdown import bounds, origin, points, table
from results_page.matches import field_matches, field_table


def gates() -> str:
    """Returns statistics of gates fitted to data, and the losses of networks behind them."""
    rows = list(latest("gates").values())
    clusters = [row for row in rows if "positions" in row]
    trained = [row for row in rows if "policy loss" in row]

    def shares(row: Row) -> list[str]:
        return [" / ".join(f"{100 * x:.1f}" for x in row["shares"]), " / ".join(map(str, row["mean plies"]))]

    cells = [[row["name"], *shares(row), row["adjusted Rand index with lichess"]] for row in clusters]
    learned = [
        [row["name"], *shares(row), row["policy loss"], f"{100 * row['accuracy']:.1f}", row["value loss"]]
        for row in trained
    ]
    first = trained[0]
    how = (
        f"Clusters: {clusters[0]['positions']:,} positions of chess. Pommerman: {first['samples']:,} samples of "
        f"SimpleAgents' games, {first['held out']:,} held out for the losses, network `{first['network']}`, seed 0."
    )
    heads = "chess, clusters of input planes | phases, % of positions | mean plies | adjusted Rand index with `lichess`"
    second = "Pommerman | phases, % of positions | mean plies | policy loss | accuracy % | value loss"
    return "\n\n".join([table(heads, cells), table(second, learned), how, origin(rows)])


def selfplay() -> str:
    """Returns the results of self-play, and its speed."""
    rows = list(latest("selfplay").values())
    matches = field_matches()
    learned = [row for row in rows if "wins" in row]
    cells = (
        [row["name"], row["games"], row["samples"], f"{row['wins']}-{row['draws']}-{row['losses']}", row["value"]]
        for row in learned
    )
    fast = (
        [row["name"], row["mean_batch"], row["positions_per_second"], row["network_alone"], f"{row['value']} %"]
        for row in rows
        if "wins" not in row
    )
    return "\n\n".join(
        [
            table("generation, opponent | games until then | samples | won-tied-lost | score %", cells),
            "One process that plays, per second of processor time, beside its network alone with equal batches:",
            table("self-play | mean batch | positions/s | network alone | share", fast),
            "Before and after, on the same boards:",
            field_table(matches),
            origin([*rows, *matches]),
        ]
    )


def generations() -> str:
    """Returns the duration and the losses of each generation of a self-play, next to the Antichess thesis'."""
    rows = list(latest("generations").values())
    cells = (
        [
            row["name"],
            f"{row['samples']:,}",
            *(f"{row[part]:.0f}" for part in ("games", "training", "value")),
            *(f"{row[f'training {part}']:.3f}, {row[f'validation {part}']:.3f}" for part in ("policy", "value")),
        ]
        for row in rows
    )
    published = (
        [f"the Antichess thesis' {name}, RTX 4090", "14,000", games, training, games + training, "–", "–"]
        for name, (games, training) in ANTICHESS_GENERATIONS.items()
    )
    heads = (
        "generation | samples | games, s | training, s | both, s | policy loss: in training, held out | "
        "value loss: in training, held out"
    )
    note = (
        "Seconds by the clock, of one process on two cores with other work on both. Losses at the end of a generation."
    )
    return "\n\n".join([note, table(heads, [*cells, *published]), origin(rows)])


def chess_gates() -> str:
    """Returns the losses of experts behind each chess gate, next to the single network of the same seed."""
    rows = list(latest("chess_gates").values())
    losses = {(row["gate"], row["seed"]): chess_loss(row["policy loss"], row["value loss"]) for row in rows}
    cells = []
    for gate in dict.fromkeys(row["gate"] for row in rows):
        of = [row for row in rows if row["gate"] == gate]
        differences = (f"{losses[gate, row['seed']] - losses['none', row['seed']]:+z.4f}" for row in of)
        cells.append(
            [
                of[0]["scheme"] if gate.startswith("none") else f"{of[0]['scheme']}, `{gate}`",
                " / ".join(f"{100 * share:.0f}" for share in of[0]["shares"]),
                len(of),
                f"{statistics.fmean(losses[gate, row['seed']] for row in of):.4f}",
                "–" if gate == "none" else ", ".join(differences),
                f"{100 * statistics.fmean(row['accuracy'] for row in of):.1f}",
            ]
        )
    first = rows[0]
    note = (
        f"Loss (0.99 policy, 0.01 value) on {first['test_samples']:,} positions of May 2017, mean over seeds; "
        f"{first['samples']:,} positions for all phases together, network `{first['network']}`."
    )
    if any(row["scheme"] == "mixture" for row in rows):
        note += " With `mixture` every expert learns from all of them."
    heads = "chess | phases, % of positions | seeds | loss | more than the single network, by seed | accuracy %"
    return "\n\n".join([table(heads, cells), note, origin(rows)])


_RECIPE = ("network", "scheme", "policy_weight", "simulations")
"""Columns in which the experts of one table agree."""


def pommerman_gates() -> str:
    """Returns the losses of Pommerman's experts next to the single networks, one table per training setup."""
    recipes: dict[tuple[object, ...], list[Row]] = {}
    for row in latest("run_losses").values():
        recipes.setdefault(tuple(row[key] for key in _RECIPE), []).append(row)
    return "\n\n".join(_losses(rows) for rows in recipes.values())


def _losses(rows: Sequence[Row]) -> str:
    cells = (
        [
            f"`{row['arm']}`",
            " / ".join(f"{100 * share:.0f}" for share in row["shares"].values()),
            row["training_seeds"],
            f"{row['loss']:.4f}",
            f"{row['loss'] - row['single loss']:+z.4f}",
            f"{100 * row['accuracy']:.1f} for {100 * row['single accuracy']:.1f}",
            f"{points(row['difference'])} ({row['games']:,})" if row["difference"] else "–",
        ]
        for row in rows
    )
    first = rows[0]
    note = (
        f"Losses ({first['policy_weight']:g} policy, {1 - first['policy_weight']:g} value) on the samples that each "
        f"seed holds out, of the single network on the same; `{first['network']}`, {first['scheme']}. Games at "
        f"{first['simulations']} simulations against three SimpleAgents, intervals over training seeds and boards."
    )
    heads = (
        "Pommerman, experts by | phases, % of positions | seeds | loss | more than the single network "
        "| accuracy %, for the single network's | wins, points (games)"
    )
    runs = "\n".join(f"- `{command}`" for command in dict.fromkeys(row["run_command"] for row in rows))
    return "\n\n".join([table(heads, cells), note, runs, origin(rows)])


def solved() -> str:
    """Returns how often agents preserve the value of connect four positions."""
    rows = list(latest("connect_four").values())
    sets = list(dict.fromkeys(row["set"] for row in rows))
    agents = list(dict.fromkeys(row["name"].removesuffix(f", {row['set']}") for row in rows))
    by_name = {row["name"]: row for row in rows}
    cells = (
        [
            agent,
            *(f"{one['value']:.1f}" if (one := by_name.get(f"{agent}, {name}")) else "–" for name in sets),
            max(row["positions"] for row in rows if row["name"].startswith(f"{agent}, ")),
        ]
        for agent in agents
    )
    note = (
        "Percent of positions in which a move keeps the value that a perfect solver gives, in six sets of positions of "
        "random games, each of so many positions or a few less."
    )
    heads = " | ".join(["agent", *sets, "positions"])
    return "\n\n".join([note, table(heads, cells), origin(rows)])


def selfplay_schemes() -> str:
    """Returns the gains of experts and of settings at equal self-play."""
    rows = list(latest("selfplay_schemes").values())
    parts = [_selfplay_table("experts", [row for row in rows if "settings" not in row])]
    if variants := [row for row in rows if "settings" in row]:
        parts.append(_selfplay_table("settings, one network", variants))
        named = ((str(row["name"]).split(" over ")[0], " ".join(row["settings"])) for row in variants)
        parts.append("\n".join(f"- {name}: `{settings}`" for name, settings in named))
    shared: dict[str, list[str]] = {}
    for row in rows:
        if "shared" in row:
            name = str(row["name"]).removesuffix(", from random weights")
            shared.setdefault(" ".join(row["shared"]), []).append(name)
    if shared:
        parts.append("\n".join(f"- both of {'; '.join(of)}: `{words}`" for words, of in shared.items()))
    how = (
        "The unit of an interval is the training, and it is as wide as the games make it at least. Of connect four "
        "after two random moves no more than 98 games differ: of a match of more, so many count. Those of Pommerman, "
        "which is played with others on the same boards, have no least width."
    )
    return "\n\n".join(filter(None, [*parts, how, corrections.selfplay(), origin(rows)]))


_DISTINCT = {"connect-four": 98}
"""Number of possible distinct games in matches played before they began after four random moves: 49 openings, twice."""


def _selfplay_difference(row: Row) -> str:
    if "own interval" in row or row["unit"] != "Elo":
        return f"{row['value']:+z.1f} {bounds(row['interval'], digits=1)} {row['unit']}"
    # Rows from before intervals had a minimum width; recomputed from their counts.
    game, _, _ = row["name"].partition(",")
    return f"{elo_of_counts(row['counts'], num_distinct=_DISTINCT.get(game))} Elo"


def _selfplay_table(subject: str, rows: list[Row]) -> str:
    cells = (
        [
            row["name"].removesuffix(", from random weights"),
            row["generations"],
            _selfplay_difference(row),
            ", ".join(f"{one:+z.1f}" for one in row["by seed"]),
            row["games"],
            " / ".join(f"{one:,}" for one in row["samples"].values()) if "samples" in row else "–",
        ]
        for row in rows
    )
    heads = "generations | difference, 95 % over seeds | by seed | games | samples, its / of `single`"
    return table(f"{subject}, from random weights | {heads}", cells)


def policies() -> str:
    """Returns how confident policies are, and how much of their loss concerns legal actions."""
    rows = list(latest("policies").values())
    cells = (
        [
            row["name"],
            f"{row['loss']:.4f}",
            f"{row['loss, legal']:.4f}",
            f"{100 * row['illegal']:.1f} %",
            f"{row['entropy']:.4f}",
            f"{100 * row['likeliest']:.1f} %",
            f"{100 * row['accuracy, legal']:.1f} %",
        ]
        for row in rows
    )
    heads = "whose policy | loss | of legal actions | on illegal ones | entropy | likeliest | right"
    how = (
        f"Means over {rows[-1]['positions']:,} positions spread over the test set. Losses of trainings count all "
        "actions; a search hears of the legal ones alone, of which the other columns are: entropy in nats, the mean "
        "probability of the likeliest action, and how often that one was played."
    )
    return "\n\n".join([table(heads, cells), how, origin(rows)])


def phase_swings() -> str:
    """Returns the gains of agents in each phase of their games."""
    rows = list(latest("phase_swings").values())
    games: dict[str, list[Row]] = {}
    for row in rows:
        games.setdefault(str(row["name"]).removesuffix(f", {row['phase']}"), []).append(row)
    phases = list(dict.fromkeys(row["phase"] for row in rows))
    cells = (
        [name, *(f"{row['value']:+z.2f} {bounds(row['interval'], digits=2)}" for row in of), of[0]["games"]]
        for name, of in games.items()
    )
    note = (
        "Points of 100 per game that they gained on the single network from where a phase begins to where the next one "
        f"does, or the game ends, as {rows[0]['judge']} values these positions; intervals of these games, by openings."
    )
    return "\n\n".join([note, table(" | ".join(["games of", *phases, "games"]), cells), origin(rows)])

"""Tables of many games: suites and their leaderboard, laws, CartPole, other libraries."""

from __future__ import annotations

from pathlib import Path

from measuring.record import latest

from moemcts.report.leaderboard import leaderboard
from moemcts.store import read_toml
from results_page.markdown import bounds, origin, table

SUITES = Path(__file__).parent.parent / "suite.toml"


def suites() -> str:
    """Returns the leaderboard of suites over many games."""
    rows = list(latest("suites").values())
    cells = (
        [
            f"`{row['game']}`",
            row["gate"],
            row["scheme"],
            row["simulations"],
            row["routing"],
            row["seed"],
            row["games"],
            f"{row['points']:+z.1f} {bounds((row['low'], row['high']), 1, 1)}",
            f"{row['loss_single']:.3f}",
            f"{row['loss_mixture']:.3f}",
        ]
        for row in rows
    )
    heads = "in | gate | scheme | simulations | routing | seed | games | points over the single network | loss, single"
    hours = sum({(row["game"], row["seed"]): row["hours"] for row in rows}.values())
    note = (
        "Experts against a single network in many games, the suite's size `smoke`: it shows what a leaderboard looks "
        "like, not who is better. Points: 100 times the score over one half against the single network, or the "
        f"difference of win rates in percent where both play others. {60 * hours:.0f} minutes of one busy core. What "
        "the suite once asked stays in the first table: in tic-tac-toe `plies` is `plies?cuts=3,6`; both were asked."
    )
    suite = read_toml(SUITES)["smoke"]
    requested = {(game["name"], gate) for game in suite["games"] for gate in game.get("gates", suite["gates"])}
    today = [row for row in rows if (row["game"], row["gate"]) in requested]
    answers = [
        f"**{section.title}**\n\n{section.tables[0].markdown()}"
        for section in leaderboard(today, "suites").sections
        if section.title in ("Which gate", "Which routing", "At which cost")
    ]
    return "\n\n".join([note, table(f"{heads} | experts", cells), *answers, origin(rows)])


def laws() -> str:
    """Returns the number of OpenSpiel games that satisfy the laws."""
    rows = list(latest("openspiel_laws").values())
    held = [row for row in rows if not row["broken"]]
    cases, seconds = sum(row["cases"] for row in held), round(sum(row["seconds"] for row in rows))
    note = "One game at random each, to its end; [game by game](games/openspiel.md#variants)."
    heads = "games that keep the laws | of | cases | seconds of a core"
    return "\n\n".join([note, table(heads, [[len(held), len(rows), f"{cases:,}", seconds]]), origin(rows)])


def cartpole() -> str:
    """Returns how long a search without learning balances the pole."""
    rows = list(latest("cartpole").values())
    cells = (
        [row["name"], ", ".join(map(str, row["steps"])), ", ".join(map(str, row["cart"])), row["seconds per step"]]
        for row in rows
    )
    note = (
        "Of 500 steps. The track ends at 2.4: what ends an episode there is not the pole, but that a leaf worth "
        "nothing does not say that the end of the track is near."
    )
    heads = "search | steps by episode | where the cart was then | seconds per step"
    return "\n\n".join([note, table(heads, cells), origin(rows)])


def libraries() -> str:
    """Returns the results of an RL library on our environments."""
    rows = list(latest("sb3").values())
    cells = (
        [
            row["name"],
            row["games"],
            f"{row['before']:+z.2f} ± {row['error before']:.2f}",
            f"{row['value']:+z.2f} ± {row['error']:.2f}",
            f"{row['likeliest moves']:+z.2f} ± {row['error of likeliest moves']:.2f}",
        ]
        for row in rows
    )
    heads = "Stable-Baselines3, mean reward per game | games | before | after, drawn moves | after, likeliest moves"
    return "\n\n".join([table(heads, cells), origin(rows)])

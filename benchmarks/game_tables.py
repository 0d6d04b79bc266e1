"""The tables of what was played and learned: losses, matches, gates, suites."""

from __future__ import annotations

from pathlib import Path

import corrections
from pooling import other_than
from published import CHESS_ELO, CHESS_LOSS
from tabulating import Row, around, bounds, field_matches, field_table, latest, origin, points, table

from moemcts.arena.rating import EloRange, elo
from moemcts.arena.verdict import counted
from moemcts.references import parse_reference
from moemcts.report.leaderboard import leaderboard
from moemcts.report.tables import p_text
from moemcts.store import read_toml

FEW = (2, 3)
"""Trainings of which little follows for others: then an interval for these alone stands beside that over trainings."""
SUITES = Path(__file__).parent / "suite.toml"
ARMS = {
    "single": "single network (gate `none`)",
    "field": "SimpleAgent in our seat",
    "constant": "no network: a constant evaluator",
}


def strength_row(row: Row) -> list[str]:
    games, difference = row["games"], row["difference"]
    low, high = (100 * bound for bound in row["interval"])
    wins, ties, losses = (f"{100 * row[key] / games:.1f}" for key in ("wins", "ties", "losses"))
    how = f"{row['simulations']} simulations" if row["kind"] == "searched" else "no search"
    if row["arm"] == "field":
        how = "chance level"
    against = by_seed = "–"
    if each := row.get("wins_by_seed"):
        by_seed = "wins % " + ", ".join(f"{100 * one * len(each) / games:.1f}" for one in each)
    p_value = "–"
    if difference:
        against, p_value = points(difference), p_text(difference["p_value"])
        by_seed = ", ".join(f"{100 * mean:+z.1f}" for mean in difference.get("seed_means", ())) or "–"
    if row["kind"] == "searched" and row.get("rollout_plies"):
        how += f", rollouts of {row['rollout_plies']} plies"
    # A second network is a long word; its first option tells it apart, and the command below has it whole.
    name = ARMS.get(row["arm"]) or arm_name(row["arm"], "experts by")
    if "over" in row:
        pair = f"{name} over {arm_name(row['over'], 'experts by')}, {how}"
        return [pair, str(games), *"–––", against, by_seed, p_value]
    return [f"{name}, {how}", str(games), f"{wins} [{low:.1f}, {high:.1f}]", ties, losses, against, by_seed, p_value]


def strength() -> str:
    """Returns how often each arm won in Pommerman, run by run."""
    rows = list(latest("strength").values())
    labels = dict.fromkeys(row.get("label", "") for row in rows)
    shown = "\n\n".join(_strength_of([row for row in rows if row.get("label", "") == label]) for label in labels)
    how = (
        "Seats are rotated; every arm of a run plays the same boards with the same seeds. Win rates have 95 % Wilson "
        "intervals over the games; differences are paired, with 95 % intervals over training seeds and boards. p is of "
        "the same t as these; of one seed, and of what was pooled of several runs, of signs flipped at random."
    )
    return "\n\n".join(filter(None, [shown, how, corrections.pommerman(), origin(rows)]))


def _strength_of(rows: list[Row]) -> str:
    heads = (
        "Pommerman, free-for-all against three SimpleAgents | games | wins % | ties % | losses % "
        "| wins against the single network, points | by training seed | p"
    )
    one = rows[0]
    how = (
        f"`{one['run_command']}`, as that was at {one['commit']}: {one['samples']:,} samples of SimpleAgents' games, "
        f"network `{one['network']}`, scheme {one['scheme']}, {counted(one['training_seeds'], 'training seed')}."
    )
    label = one.get("label", "")
    heading = [f"**{label[0].upper()}{label[1:]}**"] if label else []
    return "\n\n".join([*heading, table(heads, map(strength_row, rows)), how])


COUNTS = ("wins", "draws", "losses")
PHASES = ("opening", "middlegame", "endgame", "all")
USUAL_SIZE = "3 blocks of 16 channels"
"""Of the networks of most comparisons in chess."""


def size_of(network: str) -> str:
    """Returns how large a residual network is, in words; of others their name."""
    name, options = parse_reference(network)
    if not {"blocks", "channels"} <= options.keys():
        return name
    return f"{counted(int(options['blocks']), 'block')} of {options['channels']} channels"


def comparisons() -> list[list[Row]]:
    """Returns the rows of each comparison in chess, those of most seeds and games first; of comparisons that were
    pooled, those of all of them together.
    """
    runs: dict[str, list[Row]] = {}
    for row in latest("chess").values():
        runs.setdefault(" ".join([row["command"], *row.get("pooled", ())]), []).append(row)
    parts = {command for rows in runs.values() for command in rows[0].get("pooled", ())}
    whole = [rows for command, rows in runs.items() if command not in parts]
    return sorted(whole, key=lambda rows: (-rows[0]["seeds"], -sum(row.get("games", 0) for row in rows)))


def comparison_cells(rows: list[Row]) -> dict[str, dict[str, str]]:
    """Returns what is known of the networks of a comparison by arm; the arm `single` first."""
    losses = {(row["arm"], row["row"], row["phase"]): row for row in rows if row["kind"] == "loss"}
    elos = {(row["arm"], row["kind"]): row for row in rows if row["kind"] != "loss"}
    arms = list(dict.fromkeys(arm for arm, _, _ in losses))
    cells = {}
    for arm, network in [(arms[0], "single"), *((arm, "mixture") for arm in arms)]:
        scheme = "single" if network == "single" else arm
        known = {phase: losses.get((arm, network, phase)) for phase in PHASES}
        cells[scheme] = {
            "name": "single network" if network == "single" else arm_name(arm),
            **{phase: "–" if row is None else f"{row['value']:.4f}" for phase, row in known.items()},
            "accuracy": f"{100 * losses[arm, network, 'all']['accuracy']:.1f}",
            "paper loss": f"{CHESS_LOSS[scheme][-1]:.4f}" if scheme in CHESS_LOSS else "–",
            "searched": _elo(elos.get((scheme, "searched"))),
            "by seed": _elo_by_seed(elos.get((scheme, "searched"))),
            "raw": _elo(elos.get((scheme, "raw"))),
            "paper Elo": f"{CHESS_ELO[scheme]:+z.1f}" if scheme in CHESS_ELO else "–",
        }
    return cells


def arm_name(arm: str, experts: str = "experts,") -> str:
    """Returns what an arm is called in a table; of another network the first option tells it apart."""
    scheme, _, network = arm.partition(" ")
    short = f"{scheme} {network.partition('&')[0]}".strip()
    return f"`{short}`" if arm.startswith("single") else f"{experts} `{short}`"


def _elo(row: Row | None) -> str:
    if row is None:
        return "–"
    if row["seeds"] == 1:
        found = elo_range(row)
        return f"{found.difference:+z.1f}, of these networks {found.interval_text} ({row['games']:,})"
    alone = ""
    if (own := row.get("own_score_interval")) and row["seeds"] in FEW:
        found = EloRange.of(row["score"], own)
        alone = f", of these networks {bounds((found.low, found.high), digits=1)}"
    return f"{elo_range(row)}{alone} ({row['games']:,})"


def elo_range(row: Row) -> EloRange:
    """Returns the Elo of a match in chess, with the interval of its score over training seeds and openings."""
    score = row["score"] if "score" in row else (row["wins"] + row["draws"] / 2) / row["games"]
    return EloRange.of(score, row["score_interval"])


def _elo_by_seed(row: Row | None) -> str:
    return "–" if row is None else ", ".join(f"{one:+z.1f}" for one in row["elo_by_seed"])


def comparison() -> str:
    """Returns the losses of chess experts on the test set, and their Elo against the single network, run by run."""
    runs = comparisons()
    how = (
        "Loss (0.99 policy, 0.01 value) on positions of May 2017. Elo against the single network of the same seed, "
        "games in brackets; the interval of 95 % is that of the score, over training seeds and openings."
    )
    sizes = list(latest("chess_sizes").values())
    parts = [how, *map(_comparison_of, runs), corrections.chess(), *([_sizes(sizes)] if sizes else [])]
    return "\n\n".join([*filter(None, parts), origin([*latest("chess").values(), *sizes])])


def _comparison_of(rows: list[Row]) -> str:
    heads = (
        "chess, gate `lichess` | opening | middlegame | endgame | all | accuracy % | paper: all "
        "| Elo, searching | by training seed | Elo, no search | paper: Elo"
    )
    one = next(row for row in rows if row["kind"] == "loss" and row["phase"] == "all")
    match = next(row for row in rows if row["kind"] == "searched")
    last = one["seed"] + one["seeds"] - 1
    seeds = f"Training seed {last}" if one["seeds"] == 1 else f"Training seeds {one['seed']} to {last}"
    digits = ", in bf16" if one.get("precision") == "bf16" else ""
    begun = (
        f", beginning with one network that had learned from {one['start_samples']:,}" if "start_samples" in one else ""
    )
    game = f"`{one['game']}`; " if "game" in one else ""
    how = (
        f"{seeds}; {game}{one['samples_per_pass']:,} positions per "
        f"pass{begun}, {one['test_samples']:,.0f} tested, network `{one['network']}`, trained with "
        f"{one.get('value_weight', 0.01):g} value{digits}, {match['simulations']} simulations per move."
    )
    return "\n\n".join([table(heads, (list(row.values()) for row in comparison_cells(rows).values())), how])


def _sizes(rows: list[Row]) -> str:
    heads = "chess, one network | parameters | minutes of a core | positions | policy loss | value loss | accuracy %"
    cells = (
        [
            f"`{row['network'].partition('&value')[0]}`",
            f"{row['parameters']:,}",
            f"{row['minutes']:g}",
            f"{row['samples']:,}",
            row["policy loss"],
            row["value loss"],
            f"{100 * row['accuracy']:.1f}",
        ]
        for row in rows
    )
    return table(heads, cells)


def levels() -> str:
    """Returns how agents of the chess family do against engines, and against each other."""
    rows = list(latest("levels").values())
    against = [row for row in rows if ", levels: " in row["name"]]
    ratings = [row for row in rows if ", rating: " in row["name"]]
    # Ratings are against the mean of their round robin: those of an earlier one are no part of the table.
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
    # From the counts: what rows say themselves was narrower where few games were not all won.
    found = elo(*(row[key] for key in COUNTS))
    return found.low, found.high


def _round_robin(row: Row) -> str:
    return str(row["name"]).partition(", rating: ")[0]


def gates() -> str:
    """Returns what gates found in data look like, and how networks behind them learned."""
    rows = list(latest("gates").values())
    clusters = [row for row in rows if "positions" in row]
    trained = [row for row in rows if "policy loss" in row]

    def shares(row: Row) -> list[str]:
        return [" / ".join(f"{100 * x:.1f}" for x in row["shares"]), " / ".join(map(str, row["mean plies"]))]

    found = [[row["name"], *shares(row), row["adjusted Rand index with lichess"]] for row in clusters]
    learned = [
        [row["name"], *shares(row), row["policy loss"], f"{100 * row['accuracy']:.1f}", row["value loss"]]
        for row in trained
    ]
    one = trained[0]
    how = (
        f"Clusters: {clusters[0]['positions']:,} positions of chess. Pommerman: {one['samples']:,} samples of "
        f"SimpleAgents' games, {one['held out']:,} held out for the losses, network `{one['network']}`, seed 0."
    )
    heads = "chess, clusters of input planes | phases, % of positions | mean plies | adjusted Rand index with `lichess`"
    second = "Pommerman | phases, % of positions | mean plies | policy loss | accuracy % | value loss"
    return "\n\n".join([table(heads, found), table(second, learned), how, origin(rows)])


def bishops() -> str:
    """Returns what networks say of opposite-coloured bishops."""
    rows = list(latest("bishops").values())
    cells = [[row["name"].split(", ")[1], row["value"], row["wins"]] for row in rows]
    heads = "opposite-coloured bishops | mean of \\|value\\|, 15 draws | mean value, 5 wins"
    return "\n\n".join([table(heads, cells), origin(rows)])


def chess_data() -> str:
    """Returns what there is in games between masters, by gate, and how fast they are read."""
    rows = latest("chess_data")
    gates = dict.fromkeys(name.split(",")[0] for name in rows if "share of positions" in name)
    cells, later = [], PHASES[1:3]
    for gate in gates:
        for part in ("train", "validation", "test"):
            value = {key.partition(": ")[2]: row["value"] for key, row in rows.items() if f"{gate}, {part}:" in key}
            shares = (f"{100 * value[f'share of positions, {phase}']:.1f}" for phase in PHASES[:3])
            first = ((value[f"first move of the {phase}, {what}"] for what in ("mean", "deviation")) for phase in later)
            begins = (f"{mean:.1f} ± {deviation:.1f}" for mean, deviation in first)
            back = f"{100 * value['share of games that go back']:.1f}"
            cells.append([f"`{gate}`, {part}", " / ".join(shares), *begins, back])
    heads = "gate, games | opening / middlegame / endgame, % of positions | first middlegame move | first endgame move"
    others = [row for name, row in rows.items() if name.split(",")[0] not in gates or ":" not in name]
    measured = table("chess family | measured", ([row["name"], f"{row['value']:,} {row['unit']}"] for row in others))
    return "\n\n".join([table(f"{heads} | games that go back, %", cells), measured, origin(rows.values())])


def ablations() -> str:
    """Returns what of a network makes its search stronger."""
    rows = list(latest("ablations").values())
    cells = []
    for row in rows:
        low, high = (100 * bound for bound in row["interval"])
        paired = row["difference"]
        against = (
            f"{100 * paired['wins']:+z.1f} {bounds(paired['interval'], 100, 1)} `{paired['than']}`" if paired else "–"
        )
        wins = f"{100 * row['value']:.1f} [{low:.1f}, {high:.1f}]"
        ties = f"{100 * row['ties'] / row['games']:.1f}"
        trainings = row.get("trainings", 1)
        cells.append(
            [f"{row['label']}: `{row['arm']}`", row["simulations"], trainings, row["games"], wins, ties, against]
        )
    how = (
        "`both`: policy and value; `policy`: every position is even; `value`: every action is equally good; "
        "`constant`: neither. `rollout_plies`: what is valued is so many plies further on. Each arm plays the same "
        "boards, seats and seeds against three SimpleAgents, whom it expects. Wilson intervals over games; differences "
        "are paired, over boards, and of several trainings over trainings."
    )
    heads = "network: arm | simulations | trainings | games | wins % | ties % | points more than"
    data = field_matches("learned from")
    also = "What the network learned from, its value alone heard:"
    more = "The preset's single networks, one by one, with more simulations:"
    seeds = field_matches("rollouts of")
    parts = [table(heads, cells), how, also, field_table(data), *([more, field_table(seeds)] if seeds else [])]
    return "\n\n".join([*parts, origin([*rows, *data, *seeds])])


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
    known = latest("duels")
    compared = [(row, other_than(row, known[row["than"]["name"]])) for row in rows if "than" in row]
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
    asked = {(game["name"], gate) for game in suite["games"] for gate in game.get("gates", suite["gates"])}
    today = [row for row in rows if (row["game"], row["gate"]) in asked]
    answers = [
        f"**{section.title}**\n\n{section.tables[0].markdown()}"
        for section in leaderboard(today, "suites").sections
        if section.title in ("Which gate", "Which routing", "At which cost")
    ]
    return "\n\n".join([note, table(f"{heads} | experts", cells), *answers, origin(rows)])


def laws() -> str:
    """Returns in how many games of OpenSpiel the laws hold."""
    rows = list(latest("openspiel_laws").values())
    held = [row for row in rows if not row["broken"]]
    cases, seconds = sum(row["cases"] for row in held), round(sum(row["seconds"] for row in rows))
    note = "One game at random each, to its end; [game by game](games/openspiel.md#variants)."
    heads = "games that keep the laws | of | cases | seconds of a core"
    return "\n\n".join([note, table(heads, [[len(held), len(rows), f"{cases:,}", seconds]]), origin(rows)])


def cartpole() -> str:
    """Returns how long a search alone keeps a pole up."""
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

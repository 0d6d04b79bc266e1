"""Writes docs/results.md and the README's three tables from `benchmarks/results`: no number there that has no row.

python benchmarks/tables.py           after a measurement
python benchmarks/tables.py --check   says whether that was done
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import speed_tables
from published import CHESS_ELO, CHESS_LOSS

ROOT = Path(__file__).parent.parent
README, RESULTS = ROOT / "README.md", ROOT / "docs" / "results.md"
GUIDE = ROOT / "docs" / "guides" / "speed.md"
BEGIN, END = "<!-- results -->", "<!-- /results -->"

Row = dict[str, Any]


def latest(table: str) -> dict[str, Row]:
    """Returns the last row of every name in a table of results."""
    path = ROOT / "benchmarks" / "results" / f"{table}.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {row["name"]: row for row in rows}


def table(heads: str, rows: Iterable[Iterable[Any]]) -> str:
    """Returns a table: `heads` separated by bars, those after the first above numbers."""
    columns = heads.split(" | ")
    lines = [columns, ["---", *["---:"] * (len(columns) - 1)], *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def origin(rows: Iterable[Row]) -> str:
    """Returns where rows come from, one line per command: commits, machines and days."""
    places: dict[str, dict[str, dict[str, None]]] = {}
    for row in rows:
        place = places.setdefault(row["command"], {"commit": {}, "machine": {}, "date": {}})
        for key, seen in place.items():
            seen[str(row[key])] = None
    lines = [
        f"- `{command}`: commit {', '.join(place['commit'])}; {', '.join(place['machine'])}; {', '.join(place['date'])}"
        for command, place in places.items()
    ]
    return "\n".join(lines)


def bounds(interval: Iterable[float | None], scale: float = 1, digits: int = 0) -> str:
    """Returns an interval as `[low, high]` with signs; a dot row where it is open."""
    return "[" + ", ".join("…" if end is None else f"{scale * end:+.{digits}f}" for end in interval) + "]"


def _around(value: float, interval: Iterable[float | None]) -> str:
    return f"{value:+.0f} {bounds(interval)}"


ARMS = {
    "single": "single network (gate `none`)",
    "field": "SimpleAgent in our seat",
    "constant": "no network: a constant evaluator",
}


def _strength_row(row: Row) -> list[str]:
    games, difference = row["games"], row["difference"]
    low, high = (100 * bound for bound in row["interval"])
    wins, ties, losses = (f"{100 * row[key] / games:.1f}" for key in ("wins", "ties", "losses"))
    how = f"{row['simulations']} simulations" if row["kind"] == "searched" else "no search"
    if row["arm"] == "field":
        how = "chance level"
    against = f"{100 * difference['wins']:+.1f} {bounds(difference['interval'], 100, 1)}" if difference else "–"
    name = ARMS.get(row["arm"], f"experts by `{row['arm']}`")
    return [f"{name}, {how}", str(games), f"{wins} [{low:.1f}, {high:.1f}]", ties, losses, against]


def strength() -> str:
    """Returns how often each arm won in Pommerman."""
    rows = list(latest("strength").values())
    heads = (
        "Pommerman, free-for-all against three SimpleAgents | games | wins % | ties % | losses % "
        "| wins against the single network, points"
    )
    one = rows[0]
    how = (
        f"`{one['run_command']}`: {one['samples']:,} samples of SimpleAgents' games, network `{one['network']}`, "
        f"scheme {one['scheme']}, {one['training_seeds']} training seeds. Seats are rotated; every arm plays the same "
        "boards with the same seeds. Win rates have 95 % Wilson intervals over the games; differences are paired, with "
        "95 % intervals over training seeds and boards."
    )
    return "\n\n".join([table(heads, map(_strength_row, rows)), how, origin(rows)])


def _speed_row(row: Row) -> list[str]:
    return [row["name"], f"{row['value']:,} {row['unit']}", f"{row['lowest']:,} to {row['highest']:,}"]


SPEED_HEADS = "one thread, per second of processor time | median of five | lowest to highest"


def speed() -> str:
    """Returns how fast the simulator and the search are."""
    rows, runs = list(latest("speed").values()), list(latest("runs").values())
    took = "\n".join(f"`{row['name']}` took {row['value']} {row['unit']}." for row in runs)
    return "\n\n".join([table(SPEED_HEADS, map(_speed_row, rows)), took, origin([*rows, *runs])])


PHASES = ("opening", "middlegame", "endgame", "all")


def _comparison_cells() -> dict[tuple[int, str], dict[str, str]]:
    """Returns what is known of each chess network by seed and arm; the arm `single` first."""
    rows = list(latest("chess").values())
    losses = {(row["seed"], row["arm"], row["row"], row["phase"]): row for row in rows if row["kind"] == "loss"}
    elos = {(row["seed"], row["arm"], row["kind"]): row for row in rows if row["kind"] != "loss"}
    teams = list(dict.fromkeys((seed, arm) for seed, arm, _, _ in losses))
    singles = [next(team for team in teams if team[0] == seed) for seed in dict.fromkeys(seed for seed, _ in teams)]
    cells: dict[tuple[int, str], dict[str, str]] = {}
    for (seed, arm), network in [*((team, "single") for team in singles), *((team, "mixture") for team in teams)]:
        scheme = "single" if network == "single" else arm
        cells[seed, scheme] = {
            "name": "single network" if network == "single" else f"experts, `{arm}`",
            "seed": str(seed),
            **{phase: f"{losses[seed, arm, network, phase]['value']:.4f}" for phase in PHASES},
            "accuracy": f"{100 * losses[seed, arm, network, 'all']['accuracy']:.1f}",
            "paper loss": f"{CHESS_LOSS[scheme][-1]:.4f}" if scheme in CHESS_LOSS else "–",
            "searched": _elo(elos.get((seed, scheme, "searched"))),
            "raw": _elo(elos.get((seed, scheme, "raw"))),
            "paper Elo": f"{CHESS_ELO[scheme]:+.1f}" if scheme in CHESS_ELO else "–",
        }
    return cells


def _elo(row: Row | None) -> str:
    if row is None:
        return "–"
    low, high = row["value"] - row["error"], row["value"] + row["error"]
    return f"{row['value']:+.1f} {bounds((low, high), digits=1)} ({row['games']})"


def comparison() -> str:
    """Returns the losses of chess experts on the test set, and their Elo against the single network."""
    rows = list(latest("chess").values())
    heads = (
        "chess, gate `lichess` | seed | opening | middlegame | endgame | all | accuracy % | paper: all "
        "| Elo, searching | Elo, no search | paper: Elo"
    )
    one = next(row for row in rows if row["kind"] == "loss" and row["phase"] == "all")
    match = next(row for row in rows if row["kind"] != "loss")
    how = (
        f"Loss (0.99 policy, 0.01 value) on {one['test_samples']:,.0f} positions of May 2017; "
        f"{one['samples_per_pass']:,} positions per pass, network `{one['network']}`. Elo against the single "
        f"network of the same seed with the 95 % interval of cutechess, games in brackets, {match['simulations']} "
        "simulations per move."
    )
    cells = (list(row.values()) for row in _comparison_cells().values())
    return "\n\n".join([table(heads, cells), how, origin(rows)])


def inference() -> str:
    """Returns how much faster than eager PyTorch the quickest backend of each precision is, what fewer digits cost, and
    what it costs to cut a batch.
    """
    found = latest("inference").values()
    cuts = [row for row in found if row["unit"] == "times as long"]
    rows = [row for row in found if row.get("ratio")]
    costs = [row for row in found if row["unit"] == "Elo"]
    cells = []
    for subject in dict.fromkeys(row["name"].split(",")[0] for row in rows):
        for batch in sorted({row["batch"] for row in rows}):
            of = [row for row in rows if row["name"].startswith(f"{subject},") and row["batch"] == batch]
            eager = next(row for row in of if "eager" in row["contender"])
            told = []
            for precision in ("float32", "bf16", "int8"):
                able = [row for row in of if row["contender"].endswith(precision)]
                best = max(able, key=lambda row: row["ratio"], default=None)
                told.append(
                    f"{best['value']:,} ({best['contender'].split()[0]}, {best['ratio']:.1f} times)" if best else "-"
                )
            cells.append([subject, batch, f"{eager['value']:,}", *told])
    heads = "positions/s on a CPU, one thread | batch | eager PyTorch | best float32 | best bf16 | best int8"
    played = [[row["name"], row["games"], _around(row["value"], row["interval"])] for row in costs]
    price = table("what fewer digits cost at equal simulations | games | Elo, 95 %", played)
    tables = [table(heads, cells), price]
    if cuts:
        parts = [
            [row["name"].replace(", three experts against one network", ""), f"{row['value']:.2f}"] for row in cuts
        ]
        tables.append(table("three experts, a third of a batch of 64 each | times as long as one network", parts))
    return "\n\n".join([*tables, origin([*rows, *costs, *cuts])])


def in_flight() -> str:
    """Returns how much of a network's speed is left in a search."""
    rows = list(latest("in_flight").values())
    cells = [
        [row["name"], f"{100 * row['value']:.0f}", f"{100 * row['lowest']:.0f} to {100 * row['highest']:.0f}"]
        for row in rows
    ]
    heads = "search of 256 trees, batches of 128 | % of the network's speed | turns"
    return "\n\n".join([table(heads, cells), origin(rows)])


def urgency() -> str:
    """Returns how first-play urgencies do against "loss"."""
    rows = list(latest("urgency").values())
    cells = [
        [row["name"], row["games"], _around(row["value"], row["interval"]), row["sprt"]["decision"]] for row in rows
    ]
    how = (
        "A sequential test of 0 against 10 normalized Elo, or of what the command says: H1 stands for stronger than "
        '"loss", H0 for not.'
    )
    return "\n\n".join([table("equal simulations | games | Elo, 95 % | test", cells), how, origin(rows)])


def levels() -> str:
    """Returns how agents of the chess family do against engines, and against each other."""
    rows = list(latest("levels").values())
    against = [row for row in rows if ", levels: " in row["name"]]
    ratings = [row for row in rows if ", rating: " in row["name"]]
    shown = {row["name"]: row["name"].replace(", levels", "").replace("&", " ") for row in against}
    games = [[shown[row["name"]], row["wins"], row["draws"], row["losses"], bounds(row["interval"])] for row in against]
    means = [
        [row["name"].partition("rating: ")[2].replace("&", " "), row["games"], _around(row["value"], row["interval"])]
        for row in ratings
    ]
    how = (
        "Few games: read the intervals. Levels are those of Lichess. The Antichess thesis (Tables 5.3, 5.4) rated its "
        "network at 2048 iterations 1023, random playouts at 2048 990 and random moves 346; its network beat level 2 "
        "and lost to level 3."
    )
    heads = "antichess, two round robins: equal simulations, equal time | games | Elo against its mean, 95 %"
    engines = table("against engines | wins | draws | losses | Elo, 95 %", games)
    return "\n\n".join([engines, table(heads, means), how, origin([*against, *ratings])])


def arena() -> str:
    """Returns one line per measurement of matches, and of training."""
    matches, training = latest("match_speed").values(), latest("training").values()
    lines = [f"- {row['name']}: {row['value']} {row['unit']}" for row in matches]
    for row in training:
        lines.append(f"- {row['name']}: {row['value']:,} {row['unit']}, {100 * row['waiting']:.1f} % waiting for data")
    return "\n".join(lines) + "\n\n" + origin([*matches, *training])


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


def replies() -> str:
    """Returns which opponents' replies make a search stronger, kept ones or drawn ones."""
    rows = list(latest("replies").values())
    cells = (
        [row["name"], row["games"], f"{100 * row['value']:+.1f} {bounds(row['interval'], 100, 1)}"] for row in rows
    )
    return "\n\n".join([table("opponents' replies | games | percent or points, 95 %", cells), origin(rows)])


def ablations() -> str:
    """Returns what of a network makes its search stronger."""
    rows = list(latest("ablations").values())
    cells = []
    for row in rows:
        low, high = (100 * bound for bound in row["interval"])
        paired = row["difference"]
        against = (
            f"{100 * paired['wins']:+.1f} {bounds(paired['interval'], 100, 1)} `{paired['than']}`" if paired else "–"
        )
        wins = f"{100 * row['value']:.1f} [{low:.1f}, {high:.1f}]"
        cells.append([f"{row['label']}: `{row['arm']}`", row["simulations"], row["games"], wins, against])
    how = (
        "`both`: policy and value; `policy`: every position is even; `value`: every action is equally good; "
        "`constant`: neither. Each arm plays the same boards, seats and seeds against three SimpleAgents, whom it "
        "expects. Wilson intervals over games; differences are paired, over boards."
    )
    heads = "network: arm | simulations | games | wins % | points more than"
    return "\n\n".join([table(heads, cells), how, origin(rows)])


def hours() -> str:
    """Returns how long the experiments take that are not finished."""
    rows = list(latest("estimates").values())
    cells = (
        [
            f"{row['name']}: `{row['run_command']}`",
            row["value"],
            *(row[part] for part in ("data", "training", "matches")),
        ]
        for row in rows
    )
    heads = "experiment | hours of one core, estimated | data | training | matches"
    return "\n\n".join([table(heads, cells), origin(rows)])


def selfplay() -> str:
    """Returns what self-play learned, and how fast it played."""
    rows = list(latest("selfplay").values())
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
            origin(rows),
        ]
    )


def gpu() -> str:
    """Returns what `benchmarks/gpu_plan.sh` measured."""
    rows = list(latest("gpu").values())
    cells = ([row["name"], f"{row['value']:,} {row['unit']}", row.get("device", "–")] for row in rows)
    return "\n\n".join([table("plan for a GPU | measured | on", cells), origin(rows)])


def mates() -> str:
    """Returns how many mates in three the solver proves."""
    rows = list(latest("mates").values())
    cells = ([row["name"], f"{row['value']} {row['unit']}"] for row in rows)
    return "\n\n".join([table("mates in three, up to 100,000 simulations | proven", cells), origin(rows)])


def uci() -> str:
    """Returns how the UCI engine kept to its clock."""
    rows = list(latest("uci").values())
    cells = (
        [row["name"], f"{row['value']:,} {row['unit']}", f"{row['lost on time']} of {row['games']}"] for row in rows
    )
    note = "The better runs, on busy cores; what else was seen is in the [guide](guides/uci.md#time)."
    return "\n\n".join([note, table("the engine against itself | nodes | lost on time", cells), origin(rows)])


def libraries() -> str:
    """Returns what a library for reinforcement learning makes of our environments."""
    rows = list(latest("sb3").values())
    cells = (
        [
            row["name"],
            row["games"],
            f"{row['before']:+.2f} ± {row['error before']:.2f}",
            f"{row['value']:+.2f} ± {row['error']:.2f}",
            f"{row['likeliest moves']:+.2f} ± {row['error of likeliest moves']:.2f}",
        ]
        for row in rows
    )
    heads = "Stable-Baselines3, mean reward per game | games | before | after, drawn moves | after, likeliest moves"
    return "\n\n".join([table(heads, cells), origin(rows)])


def beside() -> str:
    """Returns the tables of the search, now and before, and of others'."""
    return f"{speed_tables.tables()}\n\n{origin(speed_tables.measured())}"


def setup() -> str:
    """Returns what setting up costs."""
    rows = list(latest("setup").values())
    cells = [
        [row["name"], f"{row['value']:,} {row['unit']}", row["load"] if row["unit"] == "s" else "–"] for row in rows
    ]
    return "\n\n".join([table("setting up | measured | load of two cores", cells), origin(rows)])


def suites() -> str:
    """Returns the leaderboard of suites over many games."""
    rows = list(latest("suites").values())
    cells = (
        [
            f"`{row['game']}`",
            row["gate"],
            row["scheme"],
            row["simulations"],
            row["seed"],
            row["games"],
            f"{row['points']:+.1f} {bounds((row['low'], row['high']), 1, 1)}",
            f"{row['loss_single']:.3f}",
            f"{row['loss_mixture']:.3f}",
        ]
        for row in rows
    )
    heads = "in | gate | scheme | simulations | seed | games | points over the single network | loss, single | experts"
    hours = sum({(row["game"], row["seed"]): row["hours"] for row in rows}.values())
    note = (
        "Experts against a single network in many games, the suite's size `smoke`: it shows what a leaderboard looks "
        "like, not who is better. Points: 100 times the score over one half against the single network, or the "
        f"difference of win rates in percent where both play others. {60 * hours:.0f} minutes of one busy core."
    )
    return "\n\n".join([note, table(heads, cells), origin(rows)])


def openspiel() -> str:
    """Returns how quick searches in OpenSpiel's games are."""
    rows = list(latest("openspiel").values())
    cells = ([f"`{row['game']}`", row["search"], f"{row['value']:,}", row["ratio"]] for row in rows)
    note = (
        "Simulations per second of processor time, each from the game's first position; the ratio is to our search "
        "with the same kind of leaf in the same run. OpenSpiel's search in C++ plays its games without Python."
    )
    return "\n\n".join([note, table("in | search | simulations/s | ratio", cells), origin(rows)])


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


FOUND = """\
**Chess**, from a tenth of a pass over four million positions of master games: experts trained in stages or with
weights, which takes about three times the training, have a lower loss than the single network; experts trained on their
phase alone, at equal cost, a higher one (the papers saw more than two hundred times as many positions per pass). In
games none differs from the single network by more than chance.

**Pommerman**, the preset `laptop`: with search all three sets of experts won more often than the single network, but
from one training seed to the next they vary so much that three seeds show no difference; without search none is better,
and none is as good as SimpleAgent, whose games they learned from. And 50 simulations with these networks win no more
often than 50 simulations with a constant in their place. One of the same size that learned from 389,024 samples of more
games, half of its loss the value's, helps where the search hears its value: 59.0 % against 40.0 % of 100 games.

The presets are small; the one named `paper` has not been run yet, and nothing here has run on a GPU."""

SECTIONS = {
    "Chess: phase experts against one network": comparison,
    "Pommerman: phase experts against one network": strength,
    "Pommerman: what of a network helps its search": ablations,
    "Games against engines, and other searches": levels,
    "Gates found in data": gates,
    "Opposite-coloured bishops": bishops,
    "Speed of rules and search": speed,
    "The search beside what it was, and beside others": beside,
    "Speed of networks": inference,
    "Speed of matches and training": arena,
    "Searches and the speed of their network": in_flight,
    "First-play urgency with trained networks": urgency,
    "Games between masters, and the chess family's speed": chess_data,
    "Opponents' replies: kept or drawn": replies,
    "Mates in three": mates,
    "The UCI engine and its clock": uci,
    "The same experiment in many games": suites,
    "Searches in OpenSpiel's games": openspiel,
    "CartPole by search alone": cartpole,
    "Learning with other libraries": libraries,
    "Setting up": setup,
    "Learning from self-play": selfplay,
    "On a GPU": gpu,
    "Hours of what is not finished": hours,
}
TABLES = {
    "Pommerman: what of a network helps its search": "ablations",
    "Searches and the speed of their network": "in_flight",
    "First-play urgency with trained networks": "urgency",
    "The same experiment in many games": "suites",
    "Searches in OpenSpiel's games": "openspiel",
    "CartPole by search alone": "cartpole",
    "Learning from self-play": "selfplay",
    "On a GPU": "gpu",
    "Hours of what is not finished": "estimates",
}
"""Sections that wait for the first row of their table."""


def page() -> str:
    """Returns docs/results.md."""
    heading = (
        "# Results\n\n<!-- Written by benchmarks/tables.py: change that, or benchmarks/results. -->\n\n"
        "Small runs on two cores, as they fell. Every number has its row, with command, commit, machine, seed and day, "
        "in\n`benchmarks/results`; the commands are listed under each table, with what they were given in capitals."
    )
    shown = (title for title in SECTIONS if title not in TABLES or latest(TABLES[title]))
    sections = (f"## {title}\n\n{SECTIONS[title]()}" for title in shown)
    return "\n\n".join([heading, f"## What was found\n\n{FOUND}", *sections]) + "\n"


SHOWN_SPEEDS = (
    "pommerman forward model, copy and step",
    "search, connect four, 8 trees x 8 leaves",
    "search, pommerman, three SimpleAgents reply, 16 trees x 4 leaves",
    "search, tic-tac-toe written in Python, 8 trees x 8 leaves",
)


def summary() -> str:
    """Returns the README's three tables: chess, Pommerman, speed."""
    columns = ("name", "seed", "all", "searched", "paper Elo")
    chess = table(
        "chess, gate `lichess` | seed | loss | Elo against the single network, 95 % (games) | paper: Elo",
        ([row[column] for column in columns] for row in _comparison_cells().values()),
    )
    arms = [row for row in latest("strength").values() if row["kind"] == "searched" or row["arm"] == "field"]
    pommerman = table(
        "Pommerman against three SimpleAgents | wins %, 95 % (games) | against the single network, points, 95 %",
        # SimpleAgent's difference is from networks without search, which are not in this table.
        (
            [cells[0], f"{cells[2]} ({cells[1]})", cells[5] if row["kind"] == "searched" else "–"]
            for row, cells in zip(arms, map(_strength_row, arms), strict=True)
        ),
    )
    rows = latest("speed")
    return "\n\n".join([chess, pommerman, table(SPEED_HEADS, (_speed_row(rows[name]) for name in SHOWN_SPEEDS))])


def pages() -> dict[Path, str]:
    """Returns what the README, docs/results.md and the page about speed have to be."""
    return {README: _filled(README, summary()), RESULTS: page(), GUIDE: _filled(GUIDE, speed_tables.goals())}


def _filled(path: Path, text: str) -> str:
    """Returns a page with its results replaced."""
    before, rest = path.read_text().split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{text}\n{END}{after}"


def main() -> None:
    """Writes both pages, or with `--check` ends with 1 where one is not what it would be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a page is out of date")
    check = parser.parse_args().check
    for path, text in pages().items():
        if not check:
            path.write_text(text)
        elif path.read_text() != text:
            sys.exit(f"{path.name} is not that of benchmarks/results: run python benchmarks/tables.py")


if __name__ == "__main__":
    main()

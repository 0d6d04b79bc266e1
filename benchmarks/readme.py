"""Writes the README's tables from `benchmarks/results`, so that no number stands there that has no row.

python benchmarks/readme.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from published import CHESS_ELO, CHESS_LOSS

ROOT = Path(__file__).parent.parent
BEGIN, END = "<!-- results -->", "<!-- /results -->"


def latest(table: str) -> dict[str, dict[str, Any]]:
    """Returns the last row of every name in a table of results."""
    path = ROOT / "benchmarks" / "results" / f"{table}.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {row["name"]: row for row in rows}


def strength() -> str:
    """Returns the table of arms."""
    found = latest("strength")
    lines = [
        "| Pommerman, free-for-all against three SimpleAgents | games | wins % | ties % | losses % "
        "| wins against the single network, points |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in found.values():
        games = row["games"]
        low, high = (100 * bound for bound in row["interval"])
        shares = [f"{100 * row[key] / games:.1f}" for key in ("wins", "ties", "losses")]
        difference = row["difference"]
        against = "–"
        if difference:
            ends = [100 * end for end in difference["interval"]]
            against = f"{100 * difference['wins']:+.1f} [{ends[0]:+.1f}, {ends[1]:+.1f}]"
        names = {"single": "single network (gate `none`)", "field": "SimpleAgent in our seat"}
        names["constant"] = "no network: a constant evaluator"
        name = names.get(row["arm"], f"experts by `{row['arm']}`")
        how = f"{row['simulations']} simulations" if row["kind"] == "searched" else "no search"
        if row["arm"] == "field":
            how = "chance level"
        lines.append(
            f"| {name}, {how} | {games} | {shares[0]} [{low:.1f}, {high:.1f}] | {shares[1]} | {shares[2]} | {against} |"
        )
    if not found:
        return "Not measured yet."
    one = next(iter(found.values()))
    lines += [
        "",
        f"`{one['run_command']}`: {one['samples']:,} samples of SimpleAgents' games, network `{one['network']}`, "
        f"scheme {one['scheme']}, {one['training_seeds']} training seeds. Seats are rotated; every arm plays the same "
        "boards with the same seeds. Win rates have 95 % Wilson intervals over the games; differences are paired, with "
        "95 % intervals over training seeds and boards.",
    ]
    return "\n".join(lines)


def speed() -> str:
    """Returns the table of speeds."""
    rows = latest("speed")
    if not rows:
        return "Not measured yet."
    lines = [
        "| one thread, per second of processor time | median of five | lowest to highest |",
        "| --- | ---: | ---: |",
    ]
    lines += [
        f"| {row['name']} | {row['value']:,} {row['unit']} | {row['lowest']:,} to {row['highest']:,} |"
        for row in rows.values()
    ]
    one = next(iter(rows.values()))
    lines += ["", *(f"`{row['name']}` took {row['value']} {row['unit']}." for row in latest("runs").values())]
    lines += ["", f"`python benchmarks/speed.py`, {one['machine']}, {one['date']}."]
    return "\n".join(lines)


PHASES = ("opening", "middlegame", "endgame", "all")


def comparison() -> str:
    """Returns the table of chess experts: losses of the mixtures on the test set, and Elo."""
    rows = list(latest("chess").values())
    losses = {(row["seed"], row["arm"], row["row"], row["phase"]): row for row in rows if row["kind"] == "loss"}
    elos = {(row["seed"], row["arm"], row["kind"]): row for row in rows if row["kind"] != "loss"}
    if not losses:
        return "Not measured yet."
    teams = list(dict.fromkeys((seed, arm) for seed, arm, _, _ in losses))
    singles = [next(team for team in teams if team[0] == seed) for seed in dict.fromkeys(seed for seed, _ in teams)]
    lines = [
        "| chess, gate `lichess` | seed | opening | middlegame | endgame | all | accuracy % | paper: all "
        "| Elo, searching | Elo, no search | paper: Elo |",
        "| --- |" + " ---: |" * 10,
    ]
    for (seed, arm), network in [*((team, "single") for team in singles), *((team, "mixture") for team in teams)]:
        scheme = "single" if network == "single" else arm
        cells = [str(seed), *(f"{losses[seed, arm, network, phase]['value']:.4f}" for phase in PHASES)]
        cells.append(f"{100 * losses[seed, arm, network, 'all']['accuracy']:.1f}")
        cells.append(f"{CHESS_LOSS[scheme][-1]:.4f}" if scheme in CHESS_LOSS else "–")
        cells += [_elo(elos.get((seed, scheme, kind))) for kind in ("searched", "raw")]
        cells.append(f"{CHESS_ELO[scheme]:+.1f}" if scheme in CHESS_ELO else "–")
        name = "single network" if network == "single" else f"experts, `{arm}`"
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    one = next(row for row in losses.values() if row["phase"] == "all")
    match = next(iter(elos.values()))
    lines += [
        "",
        f"`benchmarks/chess_comparison.py`: loss (0.99 policy, 0.01 value) on {one['test_samples']:,.0f} positions of "
        f"May 2017; {one['samples_per_pass']:,} positions per pass, network `{one['network']}`. Elo against the single "
        f"network of the same seed with the 95 % error of cutechess, games in brackets, {match['simulations']} "
        "simulations per move.",
    ]
    return "\n".join(lines)


def _elo(row: dict[str, Any] | None) -> str:
    return "–" if row is None else f"{row['value']:+.1f} ± {row['error']:.1f} ({row['games']})"


def inference() -> str:
    """Returns how much faster than eager PyTorch the quickest backend of each precision is."""
    rows = [row for row in latest("inference").values() if row.get("ratio")]
    if not rows:
        return "Not measured yet."
    subjects = dict.fromkeys(row["name"].split(",")[0] for row in rows)
    lines = ["| positions/s on a CPU, one thread | batch | eager PyTorch | best float32 | best int8 |"]
    lines.append("| --- | ---: | ---: | ---: | ---: |")
    for subject in subjects:
        for batch in sorted({row["batch"] for row in rows}):
            of = [row for row in rows if row["name"].startswith(f"{subject},") and row["batch"] == batch]
            cells = []
            for precision in ("float32", "int8"):
                best = max((row for row in of if row["contender"].endswith(precision)), key=lambda row: row["ratio"])
                backend = best["contender"].split()[0]
                cells.append(f"{best['value']:,} ({backend}, {best['ratio']:.1f} times)")
            eager = next(row for row in of if "eager" in row["contender"])
            lines.append(f"| {subject} | {batch} | {eager['value']:,} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def levels() -> str:
    """Returns how agents of the chess family do against engines, and against each other."""
    rows = list(latest("levels").values())
    against = [row for row in rows if ", levels: " in row["name"] and row["game"] == "chess"]
    ratings = [row for row in rows if ", rating: " in row["name"]]
    if not rows:
        return "Not measured yet."
    lines = ["| chess, against engines | wins | draws | losses | Elo, 95 % |", "| --- | ---: | ---: | ---: | ---: |"]
    for row in against:
        low, high = ("…" if end is None else f"{end:+.0f}" for end in row["interval"])
        name = row["name"].partition(": ")[2].replace("&", " ")
        lines.append(f"| {name} | {row['wins']} | {row['draws']} | {row['losses']} | [{low}, {high}] |")
    heading = "| antichess, two round robins: equal simulations, equal time | games | Elo against its mean, 95 % |"
    lines += ["", heading, "| --- | ---: | ---: |"]
    for row in ratings:
        low, high = row["interval"]
        name = row["name"].partition("rating: ")[2].replace("&", " ")
        lines.append(f"| {name} | {row['games']} | {row['value']:+.0f} [{low:+.0f}, {high:+.0f}] |")
    lines += [
        "",
        "`benchmarks/levels.py`, few games: read the intervals. Levels are those of Lichess. The Antichess thesis "
        "(Tables 5.3, 5.4) rated its network at 2048 iterations 1023, random playouts at 2048 990 and random moves "
        "346; its network beat level 2 and lost to level 3.",
    ]
    return "\n".join(lines)


def arena() -> str:
    """Returns one line per measurement of matches, and of training."""
    lines = [f"- {row['name']}: {row['value']} {row['unit']}" for row in latest("match_speed").values()]
    for row in latest("training").values():
        lines.append(f"- {row['name']}: {row['value']:,} {row['unit']}, {100 * row['waiting']:.1f} % waiting for data")
    return "\n".join(lines)


def tables() -> str:
    """Returns all tables."""
    origin = "Every number has its row, with command, commit and machine, in `benchmarks/results`."
    return "\n\n".join(filter(None, [comparison(), strength(), speed(), inference(), levels(), arena(), origin]))


def main() -> None:
    """Puts the tables between the README's two markers."""
    path = ROOT / "README.md"
    before, rest = path.read_text().split(BEGIN)
    _, after = rest.split(END)
    path.write_text(f"{before}{BEGIN}\n{tables()}\n{END}{after}")


if __name__ == "__main__":
    main()

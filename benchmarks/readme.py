"""Writes the README's tables from `benchmarks/results`, so that no number stands there that has no row.

python benchmarks/readme.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

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


def tables() -> str:
    """Returns all tables."""
    origin = "Every number has its row, with command, commit and machine, in `benchmarks/results`."
    return f"{strength()}\n\n{speed()}\n\n{origin}"


def main() -> None:
    """Puts the tables between the README's two markers."""
    path = ROOT / "README.md"
    before, rest = path.read_text().split(BEGIN)
    _, after = rest.split(END)
    path.write_text(f"{before}{BEGIN}\n{tables()}\n{END}{after}")


if __name__ == "__main__":
    main()

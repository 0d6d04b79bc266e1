"""Tables of Pommerman: experts against one network, and ablations of networks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from measuring.published import POMMERMAN_POINTS
from measuring.record import Row, latest

from moemcts.arena.verdict import format_count
from moemcts.report.tables import format_p_value
from results_page import corrections
from results_page.markdown import arm_name, bounds, origin, points, table
from results_page.matches import field_matches, field_table

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
    if wins_by_seed := row.get("wins_by_seed"):
        by_seed = "wins % " + ", ".join(f"{100 * wins * len(wins_by_seed) / games:.1f}" for wins in wins_by_seed)
    p_value = "–"
    if difference:
        against, p_value = points(difference), format_p_value(difference["p_value"])
        by_seed = ", ".join(f"{100 * mean:+z.1f}" for mean in difference.get("seed_means", ())) or "–"
    if row["kind"] == "searched" and row.get("rollout_plies"):
        how += f", rollouts of {row['rollout_plies']} plies"
    # The full name of a second network is in the command below; its first option identifies it here.
    name = ARMS.get(row["arm"]) or arm_name(row["arm"], "experts by")
    if "over" in row:
        pair = f"{name} over {arm_name(row['over'], 'experts by')}, {how}"
        return [pair, str(games), *"–––", against, by_seed, p_value]
    return [f"{name}, {how}", str(games), f"{wins} [{low:.1f}, {high:.1f}]", ties, losses, against, by_seed, p_value]


def strength() -> str:
    """Returns the win rates of arms in Pommerman, by run."""
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
    first = rows[0]
    how = (
        f"`{first['run_command']}`, as that was at {first['commit']}: {first['samples']:,} samples of SimpleAgents' "
        f"games, network `{first['network']}`, scheme {first['scheme']}, "
        f"{format_count(first['training_seeds'], 'training seed')}."
    )
    label = first.get("label", "")
    heading = [f"**{label[0].upper()}{label[1:]}**"] if label else []
    return "\n\n".join([*heading, table(heads, map(strength_row, rows)), how])


def ablations() -> str:
    """Returns the ablations of networks in a search."""
    rows = list(latest("ablations").values())
    cells = []
    for row in rows:
        low, high = (100 * bound for bound in row["interval"])
        paired = row["difference"]
        against = (
            f"{100 * paired['wins']:+z.1f} {bounds(paired['interval'], 100, 1)} `{paired['than']}`" if paired else "–"
        )
        if paired and (by_training := paired.get("by training")):
            against += " (" + ", ".join(f"{100 * difference:+z.1f}" for difference in by_training) + ")"
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
    introduction = "The preset's single networks, one by one, with more simulations:"
    seeds = field_matches("rollouts of")
    parts = [table(heads, cells), how, also, field_table(data), *([introduction, field_table(seeds)] if seeds else [])]
    return "\n\n".join([*parts, origin([*rows, *data, *seeds])])


def summary(*, least_games: int = 0) -> str:
    """Returns the gains of experts over the single network in Pommerman by run, largest first; runs that were pooled
    are left out, and so are pools of which all runs are in another and those with fewer than `least_games` games.
    """
    runs: dict[tuple[object, ...], dict[str, Row]] = {}
    for row in latest("strength").values():
        if row["kind"] == "searched" and row["arm"] in POMMERMAN_POINTS and "over" not in row:
            run = (row.get("label", ""), row["run_command"])
            runs.setdefault(run, {})[row["arm"]] = row
    all_points = POMMERMAN_POINTS.keys()
    pooled = {(label, arm) for arms in runs.values() for arm, row in arms.items() for label in row.get("pooled", ())}
    shown = (
        arms
        for (label, _), arms in runs.items()
        if (any("pooled" in row for row in arms.values()) and not _is_within_another(arms, runs.values()))
        or (arms.keys() == all_points and any((label, arm) not in pooled for arm in arms))
    )
    sized = [(max(row["games"] for row in arms.values()), arms) for arms in shown]
    largest_first = sorted(sized, key=lambda item: -item[0])
    rows = [_run_cells(arms) for games, arms in largest_first if games >= least_games]
    gates = (f"by `{gate}`" for gate in POMMERMAN_POINTS)
    heads = " | ".join(["Pommerman, points of games won by experts over the single network, 95 %", *gates])
    return table(heads, [*rows, ["the paper", *POMMERMAN_POINTS.values()]])


def _is_within_another(arms: Mapping[str, Row], pools: Iterable[Mapping[str, Row]]) -> bool:
    """Returns whether another pool has the same arms and all runs of this one, and more."""
    return any(
        arms.keys() <= other.keys()
        and all(set(row["pooled"]) < set(other[arm].get("pooled", ())) for arm, row in arms.items())
        for other in pools
    )


def _run_cells(arms: Mapping[str, Row]) -> list[str]:
    """Returns the description of a run, and its difference for each of its gates."""
    first = next(iter(arms.values()))
    words = [f"{first['simulations']} simulations", f"`{first['network'].partition('?')[0]}`"]
    words += [
        f"{first['samples']:,} samples",
        format_count(first["training_seeds"], "seed"),
        f"{first['games']:,} games",
    ]
    if first.get("rollout_plies"):
        words.insert(1, f"rollouts of {first['rollout_plies']} plies")
    points_by_gate = (strength_row(arms[gate])[5] if gate in arms else "–" for gate in POMMERMAN_POINTS)
    return [", ".join(words), *points_by_gate]

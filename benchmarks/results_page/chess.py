"""Tables of chess: experts against one network, network sizes, gates, master games."""

from __future__ import annotations

from statistics import fmean

from measuring.published import CHESS_ELO, CHESS_HALF_DATA, CHESS_LOSS
from measuring.record import Row, latest

from moemcts.arena.rating import EloRange
from moemcts.references import parse_reference
from results_page import corrections
from results_page.markdown import arm_name, bounds, origin, table
from results_page.matches import FEW

PHASES = ("opening", "middlegame", "endgame", "all")


def size_of(network: str) -> str:
    """Returns the blocks and channels of a residual network, such as `3 x 16`, or the name of another network."""
    name, options = parse_reference(network)
    return f"{options['blocks']} x {options['channels']}" if {"blocks", "channels"} <= options.keys() else name


def comparisons() -> list[list[Row]]:
    """Returns the rows of each comparison in chess, those with the most seeds and games first; pooled comparisons
    replace their parts.
    """
    runs: dict[str, list[Row]] = {}
    for row in latest("chess").values():
        runs.setdefault(" ".join([row["command"], *row.get("pooled", ())]), []).append(row)
    parts = {command for rows in runs.values() for command in rows[0].get("pooled", ())}
    complete = [rows for command, rows in runs.items() if command not in parts]
    return sorted(complete, key=lambda rows: (-rows[0]["seeds"], -sum(row.get("games", 0) for row in rows)))


def comparison_cells(rows: list[Row]) -> dict[str, dict[str, str]]:
    """Returns the cells of a comparison by arm, `single` first."""
    losses = {(row["arm"], row["row"], row["phase"]): row for row in rows if row["kind"] == "loss"}
    elos = {(row["arm"], row["kind"]): row for row in rows if row["kind"] != "loss"}
    arms = list(dict.fromkeys(arm for arm, _, _ in losses))
    cells = {}
    for arm, network in [(arms[0], "single"), *((arm, "mixture") for arm in arms)]:
        scheme = "single" if network == "single" else arm
        losses_by_phase = {phase: losses.get((arm, network, phase)) for phase in PHASES}
        cells[scheme] = {
            "name": "single network" if network == "single" else arm_name(arm),
            **{phase: "–" if row is None else f"{row['value']:.4f}" for phase, row in losses_by_phase.items()},
            "accuracy": f"{100 * losses[arm, network, 'all']['accuracy']:.1f}",
            "paper loss": f"{CHESS_LOSS[scheme][-1]:.4f}" if scheme in CHESS_LOSS else "–",
            "searched": _elo_and_games(elos.get((scheme, "searched"))),
            "by seed": _elo_by_seed(elos.get((scheme, "searched"))),
            "raw": _elo_and_games(elos.get((scheme, "raw"))),
            "paper Elo": f"{CHESS_ELO[scheme]:+z.1f}" if scheme in CHESS_ELO else "–",
        }
    return cells


def _elo_and_games(row: Row | None) -> str:
    return "–" if row is None else f"{_elo(row)} ({row['games']:,})"


def _elo(row: Row) -> str:
    """Returns the Elo of a match with its interval, and that of these networks alone where there are few seeds."""
    if row["seeds"] == 1:
        elo = elo_range(row)
        return f"{elo.difference:+z.1f}, of these networks {elo.interval_text}"
    alone = ""
    if (own := row.get("own_score_interval")) and row["seeds"] in FEW:
        elo = EloRange.of(row["score"], own)
        alone = f", of these networks {bounds((elo.low, elo.high), digits=1)}"
    return f"{elo_range(row)}{alone}"


def elo_range(row: Row) -> EloRange:
    """Returns the Elo of a chess match, with the interval of its score over training seeds and openings."""
    score = row["score"] if "score" in row else (row["wins"] + row["draws"] / 2) / row["games"]
    return EloRange.of(score, row["score_interval"])


def _elo_by_seed(row: Row | None) -> str:
    return "–" if row is None else ", ".join(f"{elo:+z.1f}" for elo in row["elo_by_seed"])


def comparison() -> str:
    """Returns the losses of chess experts on the test set, and their Elo against the single network, by run."""
    runs = comparisons()
    how = (
        "Loss (0.99 policy, 0.01 value) on positions of May 2017. Elo against the single network of the same seed, "
        "games in brackets; the interval of 95 % is that of the score, over training seeds and openings."
    )
    sizes = list(latest("chess_sizes").values())
    alone = list(latest("chess_alone").values())
    further = [build(rows) for build, rows in ((_sizes, sizes), (_alone, alone)) if rows]
    parts = [how, *map(_comparison_of, runs), corrections.chess(), *further]
    return "\n\n".join([*filter(None, parts), origin([*latest("chess").values(), *sizes, *alone])])


def _comparison_of(rows: list[Row]) -> str:
    heads = (
        "chess, gate `lichess` | opening | middlegame | endgame | all | accuracy % | paper: all "
        "| Elo, searching | by training seed | Elo, no search | paper: Elo"
    )
    row = next(row for row in rows if row["kind"] == "loss" and row["phase"] == "all")
    match = next(row for row in rows if row["kind"] == "searched")
    last = row["seed"] + row["seeds"] - 1
    seeds = f"Training seed {last}" if row["seeds"] == 1 else f"Training seeds {row['seed']} to {last}"
    digits = ", in bf16" if row.get("precision") == "bf16" else ""
    begun = (
        f", beginning with one network that had learned from {row['start_samples']:,}" if "start_samples" in row else ""
    )
    game = f"`{row['game']}`; " if "game" in row else ""
    how = (
        f"{seeds}; {game}{row['samples_per_pass']:,} positions per "
        f"pass{begun}, {row['test_samples']:,.0f} tested, network `{row['network']}`, trained with "
        f"{row.get('value_weight', 0.01):g} value{digits}, {match['simulations']} simulations per move."
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


def _alone(rows: list[Row]) -> str:
    """Returns the losses of networks trained without experts, by planes and number of samples: the mean and the loss of
    each seed.
    """
    groups: dict[tuple[str, str, int], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.get("game", "chess"), row["network"], row["samples_per_pass"]), []).append(row)
    cells = [
        [
            f"`{game}`, `{network.partition('&value')[0]}`",
            f"{samples:,}",
            f"{fmean(row['value'] for row in group):.4f}",
            f"{100 * fmean(row['accuracy'] for row in group):.1f}",
            ", ".join(f"{row['value']:.4f}" for row in sorted(group, key=lambda row: row["seed"])),
        ]
        for (game, network, samples), group in groups.items()
    ]
    return table("chess, one network alone | positions | loss | accuracy % | loss by training seed", cells)


def bishops() -> str:
    """Returns the evaluations of opposite-coloured bishop endgames."""
    rows = list(latest("bishops").values())
    cells = [[row["name"].split(", ")[1], row["value"], row["wins"]] for row in rows]
    heads = "opposite-coloured bishops | mean of \\|value\\|, 15 draws | mean value, 5 wins"
    return "\n\n".join([table(heads, cells), origin(rows)])


def chess_data() -> str:
    """Returns statistics of master games by gate, and the speed of reading them."""
    rows = latest("chess_data")
    gates = dict.fromkeys(name.split(",")[0] for name in rows if "share of positions" in name)
    cells, later = [], PHASES[1:3]
    for gate in gates:
        for part in ("train", "validation", "test"):
            value = {key.partition(": ")[2]: row["value"] for key, row in rows.items() if f"{gate}, {part}:" in key}
            shares = (f"{100 * value[f'share of positions, {phase}']:.1f}" for phase in PHASES[:3])
            first = ((value[f"first move of the {phase}, {word}"] for word in ("mean", "deviation")) for phase in later)
            begins = (f"{mean:.1f} ± {deviation:.1f}" for mean, deviation in first)
            back = f"{100 * value['share of games that go back']:.1f}"
            cells.append([f"`{gate}`, {part}", " / ".join(shares), *begins, back])
    heads = "gate, games | opening / middlegame / endgame, % of positions | first middlegame move | first endgame move"
    others = [row for name, row in rows.items() if name.split(",")[0] not in gates or ":" not in name]
    measured = table("chess family | measured", ([row["name"], f"{row['value']:,} {row['unit']}"] for row in others))
    return "\n\n".join([table(f"{heads} | games that go back, %", cells), measured, origin(rows.values())])


def summary(*, least_seeds: int = 1) -> str:
    """Returns the gains of experts over the single network in chess, the largest numbers of positions first.

    Each scheme of runs with several seeds is shown, and those with one seed that have more than twice or less than half
    as many positions as others, or are compared with experts by another gate; `least_seeds` is the minimum number of
    seeds.
    """
    shown: dict[tuple[str, int, int, str, str], list[str]] = {}
    for rows in comparisons():
        searched = [row for row in rows if row["kind"] == "searched"]
        of_gates = any(" by " in row["arm"] for row in searched)
        for row in searched:
            scheme, game, network = row["arm"], row.get("game", ""), size_of(row["network"])
            samples, before = row["samples_per_pass"], row.get("start_samples", 0)
            others = [most + begun for other, most, begun, of, _ in shown if (other, of) == (scheme, game)]
            is_more = not any(most / 2 <= samples + before <= 2 * most for most in others)
            if row["seeds"] < least_seeds or not (row["seeds"] > 1 or of_gates or is_more):
                continue
            cells = [
                f"`{scheme.partition(' resnet?')[0]}`",
                f"{in_words(before)}, then {in_words(samples)}" if before else in_words(samples),
                network + (f", {game.partition('planes=')[2]}" if game else ""),
                str(row["seeds"]),
                f"{row['games']:,}",
                _elo(row),
                f"{CHESS_ELO[scheme]:+z.1f}" if scheme in CHESS_ELO else "–",
            ]
            shown.setdefault((scheme, samples, before, game, network), cells)
    ordered = sorted(shown.items(), key=lambda item: -item[0][1] - item[0][2])
    most: dict[str, list[str]] = {}
    for (scheme, _, before, *_), cells in ordered:
        # The paper's networks learned from more data than all of these, without a starting network; compare with the
        # largest.
        if before or cells is not most.setdefault(scheme, cells):
            cells[-1] = "–"
    half = ", ".join(f"{elo:+z.1f}" for elo in CHESS_HALF_DATA)
    paper = ["`separated`, all with half of the paper's data", *["–"] * 5, half]
    heads = "chess: scheme | positions | network | seeds | games | Elo over one network, 95 % | the paper"
    return table(heads, [*(cells for _, cells in ordered), paper])


def in_words(number: int) -> str:
    """Returns a number of positions to three digits, such as `21.8 million`."""
    return f"{number / 1e6:.3g} million" if number >= 1_000_000 else f"{number:,}"

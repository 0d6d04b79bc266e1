"""Writes docs/results.md and the tables of other pages from `benchmarks/results`: no number there that has no row.

python benchmarks/tables.py           after a measurement
python benchmarks/tables.py --check   says whether that was done
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import game_tables
import learning_tables
import search_tables
import speed_tables
from published import CHESS_HALF_DATA, POMMERMAN_POINTS
from tabulating import Row, around, latest, origin, table

from moemcts.arena.verdict import counted

ROOT = Path(__file__).parent.parent
README, RESULTS, FINDINGS = ROOT / "README.md", ROOT / "docs" / "results.md", ROOT / "docs" / "findings.md"
GUIDE = ROOT / "docs" / "guides" / "speed.md"
BEGIN, END = "<!-- results -->", "<!-- /results -->"


def _speed_row(row: Row) -> list[str]:
    return [row["name"], f"{row['value']:,} {row['unit']}", f"{row['lowest']:,} to {row['highest']:,}"]


SPEED_HEADS = "one thread, per second of processor time | median of five | lowest to highest"


def speed() -> str:
    """Returns how fast the simulator and the search are."""
    rows, runs = list(latest("speed").values()), list(latest("runs").values())
    took = "\n".join(f"`{row['name']}` took {row['value']} {row['unit']}." for row in runs)
    return "\n\n".join([table(SPEED_HEADS, map(_speed_row, rows)), took, origin([*rows, *runs])])


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
    played = [[row["name"], row["games"], around(row["value"], row["interval"])] for row in costs]
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


def arena() -> str:
    """Returns one line per measurement of matches, and of training."""
    matches, training = latest("match_speed").values(), latest("training").values()
    losses = latest("cross_entropy").values()
    lines = [f"- {row['name']}: {row['value']} {row['unit']}" for row in matches]
    for row in training:
        if "compiling" in row:
            more = f"{row['ratio']} times as fast as plain, {row['compiling']} s to compile"
        else:
            more = f"{100 * row['waiting']:.1f} % waiting for data"
        lines.append(f"- {row['name']}: {row['value']:,} {row['unit']}, {more}")
    for row in losses:
        lines.append(f"- {row['name']}: {row['value']} {row['unit']} as fast, {row['ours']} ms for {row['theirs']} ms")
    return "\n".join(lines) + "\n\n" + origin([*matches, *training, *losses])


def uci() -> str:
    """Returns how the UCI engine kept to its clock."""
    rows = list(latest("uci").values())
    cells = (
        [row["name"], f"{row['value']:,} {row['unit']}", f"{row['lost on time']} of {row['games']}"] for row in rows
    )
    note = "The last runs, on busy cores; what else was seen is in the [guide](guides/uci.md#time)."
    long = list(latest("endurance").values())
    grown = table("in one process | MiB grown", ([row["name"], row["value"]] for row in long))
    return "\n\n".join(
        [note, table("the engine against itself | nodes | lost on time", cells), grown, origin([*rows, *long])]
    )


def libraries() -> str:
    """Returns what a library for reinforcement learning makes of our environments."""
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


FOUND = """\
Intervals of differences are over training seeds; those called "of these networks", and of shares of games won, are of
games alone.

**Chess**, a small network, experts trained on their phase alone, at equal cost, need data, as the paper's do: after
400,000 positions and 1.2 million they have a higher loss than the single network, 3.0939 for 2.8510 and 2.6877 for
2.5963, and play worse, -30.9 Elo [-48.6, -13.4], or no difference is shown, -9.5 [-25.0, +6.0]; after one pass over
21.8 million a lower one in each of five seeds, 2.1785 for 2.2167, and none of the sets plays worse, +18.4 Elo [+0.4,
+36.5] of 5,000 games (+13.6, +17.0, +41.2, +19.5, +1.0): suggestive, as all but the first were trained after looking at
the others; corrected for five looks [-11.4, +48.5]. Searched otherwise they show less: at 400 simulations three of the
five play better, +7.7 [-30.3, +45.8] of 2,500 games (+23.7, +22.3, +39.8, -11.8, -35.6), with priors softened by a
temperature of 1.7, as the papers' engine has them, two, +8.1 [-22.2, +38.6] of 3,000 (+13.9, -9.8, +48.4, -10.4, -1.2).
None of these intervals is adjusted for the others. The paper's +122.2 is the mean of 55 settings of 100 to 3,200 nodes
or 100 to 1,600 ms, one training per arm, from 91 million positions seen seven times; with half of its data its experts
play -109.5 to -144.7. Which part of them gains is not shown: with the single network's policy their values play +22.6,
+43.7, +17.4, -6.4 and -16.2 Elo, +12.2 [-17.4, +41.9]; their policies, whose loss is the lower one, with its values
-27.3, -3.5, +6.4, -12.2 and +16.8, 600 games each.

**Chess, experts that start from one network** which has learned from all 21.8 million positions, each going on with its
phase, half a pass together, against that network going on for half a pass with all phases: loss 2.1353 for 2.1948,
lower in every phase, and +34.5, +40.8, +27.9, +46.1 and +52.9 Elo of 1,000 games each: +40.4 [+28.4, +52.6], corrected
for five looks [+20.4, +60.6], by the three networks that they start from +38.3 [+14.5, +62.5], not adjusted for the
other comparisons here; without search +17.1 [+10.8, +23.5] of 20,000. At 400 simulations it is suggested, +29.5 [-2.9,
+62.5] of 2,500 (+46.1, +10.4, -6.9, +50.4, +48.3), with a sixth set that went on for half as long +27.4 [+2.2, +52.8]
of 3,500, corrected for three looks [-7.2, +62.5]. Weighted experts from the same network, one training, play -16.7 Elo,
of these networks [-30.6, -2.9]. From a network that had learned from 2 million experts played -30.8 Elo, of these
networks [-46.3, -15.3]. **It is the phases, not that there are three**: in a sixth set, from a network of its own and
going on for a quarter of a pass, experts by phases have loss 2.1570 for the single network's 2.2100 and play +29.3 Elo,
of these networks [+13.7, +44.9]; a control, three experts that take turns ply by ply, 2.2104 and -22.6 [-36.9, -8.4],
1,000 games each; in a seventh, whose networks see what pieces attack, experts +30.7 [+15.0, +46.4], the control -1.7
[-17.0, +13.6].

**Chess, a large network that is not full**: 10 blocks of 128 channels, trained on a GPU, right in 46.7 % after 13.2
million positions and in 47.5 % after half as many more. Experts by phases that start from it and see as much have its
loss, 1.6209 for 1.6212, and play -24.7 Elo, of these networks [-40.7, -8.9], without search +3.6 [-3.6, +10.9]; by
turns 1.6544, -42.6 [-58.7, -26.7] and -22.2 [-29.1, -15.3]. One set. What the control loses is what a third of the
positions costs a network that has more to learn, which cost the small ones nothing. Of the small network after 1.3
million positions and half as many more, four seeds, 2,400 games: loss 2.3467 for 2.3732, +3.9 Elo [-10.2, +18.1], the
control 2.4164, -21.9 [-38.4, -5.5]. Of a smallest one, which is nearly full after 3,000,000, four seeds, 1,600 games:
loss 2.5011 for 2.5736, +18.0 Elo [-7.2, +43.5], the control 2.5920, -0.7 [-12.7, +11.4].

**What a chess network sees matters more than experts.** The same network, shown what pieces attack
(`chess?planes=attacks`), has loss 2.0599 for 2.2100 after as many positions and plays 334.1 Elo better, of these
networks [+309.2, +362.0], 1,000 games of one training each. Experts by phases lower its loss further, to 2.0098.

**Chess at about equal cost**, the same network, 400,000 positions a seed, eight seeds, 1,600 games an arm: experts
trained in stages, which takes 2.7 times the training of one network, have a lower loss than that network, 2.8246 for
2.8510, as the papers found; but one network trained three times as long has 2.5947, and plays 20.2 Elo [+13.7, +26.8]
better, every seed of the eight (+24.4, +26.1, +27.9, +20.9, +13.9, +8.7, +24.4, +15.6), where `staged` shows no
difference, -6.3 [-20.1, +7.5]; against each other, four of these seeds, 800 games, `staged` is 27.0 Elo weaker, [-50.1,
-4.1]. `separated`, which costs no more than the one network, is worse, every seed too: loss 3.0939, -30.9 Elo [-48.6,
-13.4]. Experts a third the size, `separated`, are far behind: loss 4.9083, -100.4 Elo [-206.0, -10.6] of 320 games,
four seeds. Experts trained with weights were played in 80 games of one seed of a larger network: no difference shown.
By the two gates whose experts lose least of those trained apart, six seeds of 200,000 positions, 1,200 games each: two
equal parts -41.6 [-66.9, -16.8], three clusters -53.7 [-67.1, -40.5]. By a gate that learns with its experts, which
costs three times as much, six others of 100 games: +34.9 [+10.0, +60.1] over one network, -28.4 [-58.5, +1.2] over one
trained as long, whose loss is far lower, 2.7501 for 2.9863.

**Pommerman**, with the paper's network and five epochs; a million samples, 250 simulations and a thousand games as in
the PommerLearn project, for the paper names none; our thresholds, and the reference's SimpleAgent: suggestive, not
shown. Ten seeds and 7,500 games by all gates, five of 500 games an arm, looked at after one, two and four of them, and
five of a thousand, fixed before: `steps` +2.5 points of games won [-0.8, +5.9], `mixedness` -2.4 [-6.0, +1.1], which
leaves out the paper's 5 for trainings on these samples, `opponents` -1.9 [-5.7, +1.9]; by the two sets of data [-14.2,
+9.4] and [-22.8, +18.9]. Five more seeds of `steps` alone, made after looking because its interval was wide, +6.3
[+1.6, +11.0]; all fifteen +3.8 [+1.2, +6.3], each seed counting the same (+8.4, -0.6, -2.6, +8.2, +1.2, +5.0, +2.2,
+10.2, +3.6, +10.4, -3.0, -1.7, +5.6, +8.1, +1.8), corrected for three gates [+0.5, +7.0], for seven looks at them as
well [-0.6, +8.2]; flipping the signs of seeds gives p = 0.008, uncorrected. The five of a thousand games alone +2.2
[-3.7, +8.0]. Seeds of five share their samples: as three sets of data, +2.9, +6.3 and +2.2, the interval is [-1.7,
+9.2]. The wins come out of ties: of 10,000 games they win 61.4 % for 58.0, tie 20.6 for 25.5 and lose 18.0 for 16.5.
Without search experts by all three gates win less: -3.3 [-5.8, -0.7] of 15,000 games, -5.5 [-8.4, -2.5] and -4.5 [-7.2,
-1.7] of 10,000.

**Pommerman**, stronger: the preset `laptop`, five seeds: 50 simulations with the single network win 91.8 % of 500
games, where positions are valued twenty plies further on, as the script of the other seats plays, with a constant in
the network's place 86.0 % on the same boards; on others 92.3 % of 1,000 games, 100 simulations 93.7 % of 1,000, and
1,000 simulations 95.8 % of 1,000. Over five training seeds with a thousand games an arm and seed no difference is
shown, where there are at most 9.4 points to gain: `steps` +0.7 points [-0.9, +2.2], `mixedness` +0.6 [-1.6, +2.7],
`opponents` +1.3 [-0.8, +3.5]; the single networks win 90.6 %. Ten other seeds, with 1,300 games an arm together, say
the same: -1.1 [-4.0, +1.8], +0.4 [-1.9, +2.6] and -0.8 [-3.0, +1.4]. Where positions are valued as they are, larger
networks win 67.8 % of 180 games, a constant 38.9 %, and experts fewer, by less than what three seeds differ by.
Without search nobody is as good as SimpleAgent, whose games they learned from.

At equal cost, in Pommerman, sixteen seeds, 2,560 games an arm at 50 simulations without rollouts, experts gain nothing
either. By `steps`, `separated`, which see as much as one network and have three times its parameters, no difference is
shown: +0.5 points [-3.9, +5.0] over it and +1.9 [-2.6, +6.4] over one network of three times the size. `staged` shows
none over it, -2.7 [-7.6, +2.3], and wins less than one network trained as long as three, -5.0 [-9.4, -0.6], p = 0.03,
unadjusted for six comparisons and for seeds added twice: the first ten -2.6 [-8.1, +2.8], the last six, fixed before,
-9.1 [-17.7, -0.4]. Losses say what they say in chess: of ten seeds, `staged` experts have a lower one than the network
that they are compared with, by 0.0186, and the one network trained as long a lower one still, by 0.0690; of the six
others by 0.0159 and 0.0643. With a larger network, one seed and 100 games an arm: `separated` and `staged` -4.0 points
each [-14.6, +6.6] and [-16.2, +8.2], one network trained as long +1.0 [-11.8, +13.8].

The presets are small; of the one named `paper` these fifteen seeds, ten of them with all gates, are all that has been
run yet; on a GPU one set of chess has been.
"""


SECTIONS = {
    "Chess: phase experts against one network": game_tables.comparison,
    "Pommerman: phase experts against one network": game_tables.strength,
    "Pommerman: what of a network helps its search": game_tables.ablations,
    "Games against engines, and other searches": game_tables.levels,
    "The same experts searched in other ways": game_tables.duels,
    "What policies make of legal actions": learning_tables.policies,
    "Gates found in data": game_tables.gates,
    "Gates of chess: what experts behind them learn": learning_tables.chess_gates,
    "Gates of Pommerman and their thresholds": learning_tables.pommerman_gates,
    "Where games of chess were won and lost": learning_tables.phase_swings,
    "Opposite-coloured bishops": game_tables.bishops,
    "Speed of rules and search": speed,
    "The search beside what it was, and beside others": beside,
    "Speed of networks": inference,
    "Speed of matches and training": arena,
    "Searches and the speed of their network": in_flight,
    "First-play urgency with trained networks": search_tables.urgency,
    "Variants of the search": search_tables.variants,
    "What a cache and smart pruning save": search_tables.savings,
    "Games between masters, and the chess family's speed": game_tables.chess_data,
    "Opponents' replies: kept or drawn": search_tables.replies,
    "Mates in three": search_tables.mates,
    "The UCI engine and its clock": uci,
    "The same experiment in many games": game_tables.suites,
    "Searches in OpenSpiel's games": search_tables.openspiel,
    "Laws of OpenSpiel's games": game_tables.laws,
    "CartPole by search alone": game_tables.cartpole,
    "Learning with other libraries": libraries,
    "Setting up": setup,
    "Learning from self-play": learning_tables.selfplay,
    "Generations of self-play": learning_tables.generations,
    "Connect four against a perfect solver": learning_tables.solved,
    "Experts from random weights, at equal self-play": learning_tables.selfplay_schemes,
    "On a GPU": speed_tables.gpu,
    "Hours of what is not finished": speed_tables.hours,
    "Estimates and what became of them": speed_tables.estimated_runs,
}


TABLES = {
    "Gates of chess: what experts behind them learn": "chess_gates",
    "Gates of Pommerman and their thresholds": "run_losses",
    "The same experts searched in other ways": "duels",
    "What policies make of legal actions": "policies",
    "Where games of chess were won and lost": "phase_swings",
    "Generations of self-play": "generations",
    "Connect four against a perfect solver": "connect_four",
    "Experts from random weights, at equal self-play": "selfplay_schemes",
    "Pommerman: what of a network helps its search": "ablations",
    "Searches and the speed of their network": "in_flight",
    "First-play urgency with trained networks": "urgency",
    "Variants of the search": "variants",
    "What a cache and smart pruning save": "savings",
    "The same experiment in many games": "suites",
    "Searches in OpenSpiel's games": "openspiel",
    "Laws of OpenSpiel's games": "openspiel_laws",
    "CartPole by search alone": "cartpole",
    "Learning from self-play": "selfplay",
    "On a GPU": "gpu",
    "Hours of what is not finished": "estimates",
    "Estimates and what became of them": "estimated_runs",
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


def chess_summary() -> str:
    """Returns what experts add to the single network in chess, those that learned from most first: each scheme of the
    runs of several seeds, and of those of one seed what has learned from more than twice or less than half as much, or
    is compared with experts by another gate.
    """
    shown: dict[tuple[str, int, int, str, str], list[str]] = {}
    for rows in game_tables.comparisons():
        samples, num_seeds, before = rows[0]["samples_per_pass"], rows[0]["seeds"], rows[0].get("start_samples", 0)
        game, size = rows[0].get("game", ""), game_tables.size_of(rows[0]["network"])
        arms = game_tables.comparison_cells(rows)
        of_gates = any(" by " in scheme for scheme in arms)
        for scheme, cells in arms.items():
            others = [most + begun for one, most, begun, of, _ in shown if (one, of) == (scheme, game)]
            is_more = not any(most / 2 <= samples + before <= 2 * most for most in others)
            is_new = num_seeds > 1 or of_gates or is_more
            if scheme != "single" and cells["searched"] != "–" and is_new:
                seen = f"{samples:,} positions after {before:,} by one network" if before else f"{samples:,} positions"
                planes = f", `{game.partition('?')[2]}`" if game else ""
                of_size = "" if size == game_tables.USUAL_SIZE else f", {size}"
                name = f"{cells['name']}, {seen}{planes}{of_size}, {counted(num_seeds, 'seed')}"
                shown.setdefault((scheme, samples, before, game, size), [name, cells["searched"], cells["paper Elo"]])
    ordered = sorted(shown.items(), key=lambda one: -one[0][1] - one[0][2])
    most: dict[str, list[str]] = {}
    for (scheme, _, before, *_), cells in ordered:
        # The paper learned from more than all of these, and from the beginning: its number stands beside the largest.
        if before or cells is not most.setdefault(scheme, cells):
            cells[-1] = "–"
    half = ", ".join(f"{elo:+z.1f}" for elo in CHESS_HALF_DATA)
    rows = [*(cells for _, cells in ordered), ["the paper's `separated`, all with half of its data", "–", half]]
    return table("chess, Elo over the single network, experts by `lichess`, 95 % (games) | ours | paper", rows)


def pommerman_summary() -> str:
    """Returns what experts add to the single network in Pommerman, run by run, the largest first; of runs that were
    pooled with others only what was not.
    """
    runs: dict[tuple[object, ...], dict[str, Row]] = {}
    for row in latest("strength").values():
        if row["kind"] == "searched" and row["arm"] in POMMERMAN_POINTS and "over" not in row:
            run = (row.get("label", ""), row["run_command"])
            runs.setdefault(run, {})[row["arm"]] = row
    whole = POMMERMAN_POINTS.keys()
    pooled = {(label, arm) for arms in runs.values() for arm, row in arms.items() for label in row.get("pooled", ())}
    shown = (
        arms
        for (label, _), arms in runs.items()
        if any("pooled" in row for row in arms.values())
        or (arms.keys() == whole and any((label, arm) not in pooled for arm in arms))
    )
    rows = [_run_cells(arms) for arms in sorted(shown, key=lambda arms: -max(row["games"] for row in arms.values()))]
    gates = (f"by `{gate}`" for gate in POMMERMAN_POINTS)
    heads = " | ".join(["Pommerman, points of games won by experts over the single network, 95 %", *gates])
    return table(heads, [*rows, ["the paper", *POMMERMAN_POINTS.values()]])


def _run_cells(arms: dict[str, Row]) -> list[str]:
    """Returns what a run was, and its difference by each gate that it has."""
    one = next(iter(arms.values()))
    words = [f"{one['simulations']} simulations", f"`{one['network'].partition('?')[0]}`"]
    words += [f"{one['samples']:,} samples", counted(one["training_seeds"], "seed"), f"{one['games']:,} games"]
    if one.get("rollout_plies"):
        words.insert(1, f"rollouts of {one['rollout_plies']} plies")
    found = (game_tables.strength_row(arms[gate])[5] if gate in arms else "–" for gate in POMMERMAN_POINTS)
    return [", ".join(words), *found]


def pages() -> dict[Path, str]:
    """Returns what the README, docs/results.md and the pages about findings and speed have to be."""
    return {
        README: _filled(README, f"{chess_summary()}\n\n{pommerman_summary()}"),
        FINDINGS: _filled(FINDINGS, pommerman_summary()),
        RESULTS: page(),
        GUIDE: _filled(GUIDE, f"{speed_tables.goals()}\n\n{speed_tables.others()}"),
    }


def _filled(path: Path, text: str) -> str:
    """Returns a page with its results replaced."""
    before, rest = path.read_text().split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{text}\n{END}{after}"


def main() -> None:
    """Writes these pages, or with `--check` ends with 1 where one is not what it would be."""
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

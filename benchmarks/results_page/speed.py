"""Tables of speed: rules, networks, matches, training, and durations of experiments."""

from __future__ import annotations

from measuring.record import Row, latest

from results_page.markdown import around, origin, table

SPEED_HEADS = "one thread, per second of processor time | median of five | lowest to highest"


def _speed_row(row: Row) -> list[str]:
    return [row["name"], f"{row['value']:,} {row['unit']}", f"{row['lowest']:,} to {row['highest']:,}"]


def speed() -> str:
    """Returns the speed of the simulators and the search."""
    rows, runs = list(latest("speed").values()), list(latest("runs").values())
    took = "\n".join(f"`{row['name']}` took {row['value']} {row['unit']}." for row in runs)
    return "\n\n".join([table(SPEED_HEADS, map(_speed_row, rows)), took, origin([*rows, *runs])])


def inference() -> str:
    """Returns the speed-up of the fastest backend of each precision over eager PyTorch, the cost of reduced precision,
    and the cost of splitting a batch.
    """
    all_rows = latest("inference").values()
    cuts = [row for row in all_rows if row["unit"] == "times as long"]
    rows = [row for row in all_rows if row.get("ratio")]
    costs = [row for row in all_rows if row["unit"] == "Elo"]
    cells = []
    for subject in dict.fromkeys(row["name"].split(",")[0] for row in rows):
        for batch in sorted({row["batch"] for row in rows}):
            of = [row for row in rows if row["name"].startswith(f"{subject},") and row["batch"] == batch]
            eager = next(row for row in of if "eager" in row["contender"])
            speeds = []
            for precision in ("float32", "bf16", "int8"):
                able = [row for row in of if row["contender"].endswith(precision)]
                best = max(able, key=lambda row: row["ratio"], default=None)
                speeds.append(
                    f"{best['value']:,} ({best['contender'].split()[0]}, {best['ratio']:.1f} times)" if best else "-"
                )
            cells.append([subject, batch, f"{eager['value']:,}", *speeds])
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
    """Returns the share of a network's speed achieved in a search."""
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
            note = f"{row['ratio']} times as fast as plain, {row['compiling']} s to compile"
        else:
            note = f"{100 * row['waiting']:.1f} % waiting for data"
        lines.append(f"- {row['name']}: {row['value']:,} {row['unit']}, {note}")
    for row in losses:
        lines.append(f"- {row['name']}: {row['value']} {row['unit']} as fast, {row['ours']} ms for {row['theirs']} ms")
    return "\n".join(lines) + "\n\n" + origin([*matches, *training, *losses])


def uci() -> str:
    """Returns the UCI engine's results with clocks."""
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


def setup() -> str:
    """Returns the cost of setting up."""
    rows = list(latest("setup").values())
    cells = [
        [row["name"], f"{row['value']:,} {row['unit']}", row["load"] if row["unit"] == "s" else "–"] for row in rows
    ]
    return "\n\n".join([table("setting up | measured | load of two cores", cells), origin(rows)])


def gpu() -> str:
    """Returns the measurements of `benchmarks/gpu_plan.sh`."""
    rows = list(latest("gpu").values())
    cells = ([row["name"], f"{row['value']:,} {row['unit']}", row.get("device", "–")] for row in rows)
    return "\n\n".join([table("plan for a GPU | measured | on", cells), origin(rows)])


def hours() -> str:
    """Returns the estimated durations of the unfinished experiments."""
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


def estimated_runs() -> str:
    """Returns the estimated and actual durations of small experiments."""
    rows = list(latest("estimated_runs").values())
    cells = ([f"`{row['name']}`", row["value"], row["took"], row["ratio"]] for row in rows)
    return "\n\n".join([table("experiment | estimated, s | took, s | ratio", cells), origin(rows)])

"""Records the results of a finished run: one row per arm, searched and raw.

python benchmarks/strength.py RUN [--label LABEL] [--pair ARM OTHER] [--commit COMMIT] [--record]

Runs are identified by their labels: rows replace earlier ones with the same label. For each pair, a further row has the
difference in win rate between two arms other than the single network; only pairs planned before the games were played
should be named.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from measuring.record import add_option, append
from measuring.record import named as without_paths

from moemcts.dotted import flat
from moemcts.runs.settings import ExperimentConfig, validate
from moemcts.store import MANIFEST, read_toml


def rows(run: Path, label: str) -> list[dict[str, object]]:
    """Returns the rows of a run's `report/numbers.json`."""
    numbers = json.loads((run / "report" / "numbers.json").read_text())
    # That of the report: a run may have been begun to grow since.
    config = numbers["config"]
    command = command_of(json.loads((run / "env.json").read_text())["command"][1:], config)
    new_rows: list[dict[str, object]] = []
    for kind in ("searched", "raw"):
        for arm, tally in numbers[kind].get("arms", {}).items():
            row: dict[str, object] = {"name": named(f"{config['game']}, {arm}, {kind}", label)}
            row |= {"game": config["game"], "arm": arm, "label": label}
            row |= {"kind": kind, "value": round(tally["win_rate"], 4), "unit": "share of games won"}
            row |= {"interval": tally["win_interval"], "games": tally["num_games"]}
            row |= {"wins": tally["wins"], "ties": tally["ties"], "losses": tally["losses"]}
            row |= {"wins_by_seed": [wins_of(result, arm) for result in numbers[kind]["by_seed"]]}
            row |= {"difference": numbers[kind]["differences"].get(arm), "scheme": ", ".join(config["schemes"])}
            others = (one for one in others_of(config) if arm.endswith(f" {one}"))
            network = next(others, config["network"])
            row |= {"network": network, "simulations": config["search"]["simulations"] * (kind != "raw")}
            row |= {"rollout_plies": config["search"].get("rollout_plies", 0)}
            row |= {"samples": samples_of(config), "training_seeds": config["num_seeds"]}
            row |= {"seed": config["seed"], "run_command": command}
            new_rows.append(row)
    return new_rows


def between(rows: Sequence[Mapping[str, Any]], run: Path, pair: tuple[str, str]) -> dict[str, object]:
    """Returns the row of an arm compared with another than the single network; `rows` are those of the run.

    Raises ValueError for a pair that is not in the report.
    """
    arm, other = pair
    differences = json.loads((run / "report" / "numbers.json").read_text())["searched"]["between"]
    for one in differences:
        sign = {(arm, other): 1, (other, arm): -1}.get((one["arm"], one["other"]))
        if sign is not None:
            found = dict(one, wins=sign * one["wins"], interval=sorted(sign * bound for bound in one["interval"]))
            found["seed_means"] = [sign * mean for mean in one["seed_means"]]
            (row,) = (row for row in rows if (row["arm"], row["kind"]) == (arm, "searched"))
            name = f"{row['game']}, {arm} over {other}, searched"
            return dict(row, name=named(name, row["label"]), over=other, difference=found)
    raise ValueError(
        f"expected a pair of {sorted({one[key] for one in differences for key in ('arm', 'other')})}, got {pair}"
    )


def others_of(config: Mapping[str, Any]) -> list[str]:
    """Returns the networks of a run other than the first, which are part of the names of arms."""
    return [*config.get("other_networks", ()), *config.get("single_networks", ())]


def samples_of(config: Mapping[str, Any]) -> int:
    """Returns the number of samples that the networks of a run learned from, from its own games or a dataset."""
    data = config["data"]
    return int(data["samples"] or read_toml(Path(data["folder"]) / MANIFEST)["num_samples"])


def wins_of(result: Mapping[str, Any], arm: str) -> int:
    """Returns the number of games that an arm won with the networks of one training seed."""
    return next(int(one["wins"]) for one in result["arms"] if one["name"] == arm)


def command_of(words: Sequence[str], config: Mapping[str, Any]) -> str:
    """Returns the command that reproduces a run with that configuration: the one that started it, without its folder,
    and with later changes of its `config.toml`.
    """
    words = ["moemcts", *words]
    if "--out" in words:
        del words[words.index("--out") : words.index("--out") + 2]
    called = [sys.executable, "-m", *words, "--dry-run", "--json"]
    process = subprocess.run(called, capture_output=True, text=True, check=True)
    begun = flat(json.loads(process.stdout)["config"])
    settings = flat(validate(config, ExperimentConfig).resolved_settings())
    changed = {path: value for path, value in settings.items() if value != begun.get(path)}
    for path, value in changed.items():
        setting = f"{path}={str(value).lower() if isinstance(value, bool) else value}"
        positions = [i for i, word in enumerate(words) if word.startswith(f"{path}=") and words[i - 1] == "--set"]
        if positions:
            words[positions[-1]] = setting
        else:
            words += ["--set", setting]
    return shlex.join(without_paths(words))


def named(name: str, label: str) -> str:
    """Returns a row's name with the label of its run."""
    return f"{name}, {label}" if label else name


def main() -> None:
    """Prints the rows; appends them to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="folder of a finished run")
    parser.add_argument("--label", default="", help="which run it is")
    parser.add_argument("--pair", nargs=2, action="append", default=[], metavar=("ARM", "OTHER"), help="of two arms")
    parser.add_argument("--commit", help="that played it, where it is not this checkout's")
    add_option(parser)
    options = parser.parse_args()
    new_rows = rows(options.run, options.label)
    try:
        new_rows += [between(new_rows, options.run, tuple(pair)) for pair in options.pair]
    except ValueError as error:
        parser.error(str(error))
    for row in new_rows:
        row |= {"commit": options.commit} if options.commit else {}
        print(row["name"], row["value"], row["interval"], row["games"])
    if options.record:
        append("strength", new_rows)


if __name__ == "__main__":
    main()

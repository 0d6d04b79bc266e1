"""Records the losses of the experts of a finished run, one row per arm, on held-out samples.

python benchmarks/run_losses.py RUN --label LABEL [--commit COMMIT] [--record]

Runs are identified by their labels: rows replace earlier ones with the same label. Losses are means over the run's
training seeds; those of the single network are on the same samples.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from measuring.record import add_option, append
from strength import command_of, named


def rows(run: Path, label: str) -> list[dict[str, object]]:
    """Returns the rows of a run's `report/numbers.json`."""
    numbers = json.loads((run / "report" / "numbers.json").read_text())
    config, differences = numbers["config"], numbers["searched"].get("differences", {})
    command = command_of(json.loads((run / "env.json").read_text())["command"][1:], config)
    new_rows: list[dict[str, object]] = []
    for arm, (single, *_, experts) in numbers["losses"].items():
        counts = {phase: count for phase, count in experts["counts"].items() if phase != "all"}
        row: dict[str, object] = {"name": named(f"{config['game']}, experts by {arm}", label), "label": label}
        row |= {"game": config["game"], "arm": arm, "scheme": ", ".join(config["schemes"])}
        row |= {"shares": {phase: round(count / sum(counts.values()), 3) for phase, count in counts.items()}}
        for name, networks in (("", experts), ("single ", single)):
            policy, value = networks["policy"]["all"], networks["value"]["all"]
            total_loss = config["training"]["policy_weight"] * policy + config["training"]["value_weight"] * value
            row |= {f"{name}loss": round(total_loss, 4), f"{name}accuracy": round(networks["accuracy"]["all"], 4)}
            row |= {f"{name}policy loss": round(policy, 4), f"{name}value loss": round(value, 4)}
        row |= {"policy_weight": config["training"]["policy_weight"], "network": config["network"]}
        row |= {"difference": differences.get(arm), "simulations": config["search"]["simulations"]}
        row |= {"games": config["num_seeds"] * config["match"]["games"], "training_seeds": config["num_seeds"]}
        new_rows.append(row | {"seed": config["seed"], "run_command": command})
    return new_rows


def main() -> None:
    """Prints the rows; appends them to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="folder of a finished run")
    parser.add_argument("--label", required=True, help="what tells this run from others")
    parser.add_argument("--commit", help="that of the program that made the run, where it is not this one")
    add_option(parser)
    options = parser.parse_args()
    new_rows = rows(options.run, options.label)
    for row in new_rows:
        print(row["arm"], row["shares"], row["loss"], row["single loss"], row["difference"])
    if options.record:
        append("run_losses", [row | ({"commit": options.commit} if options.commit else {}) for row in new_rows])


if __name__ == "__main__":
    main()

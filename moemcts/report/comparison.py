"""Compares several runs in one table: what was trained and played, and with which results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from moemcts.dotted import flat
from moemcts.report.page import Report, Section
from moemcts.report.tables import Cell, Table, format_fixed

COLUMNS = ("run", "of", "network", "experts", "games", "points over the single network, 95 %", "loss")


def comparison(runs: Mapping[str, Mapping[str, Any]]) -> Report:
    """Returns a report with a row per run and set of experts, made from the numbers of the runs' reports."""
    rows = [row for name, numbers in runs.items() for row in _rows(name, numbers)]
    settings = _settings_table({name: numbers["config"] for name, numbers in runs.items()})
    return Report(
        title="Runs compared",
        summary=f"{len(runs)} runs; rows with different data, sizes or limits are not comparable.",
        sections=[
            Section(
                "What came of them",
                tables=[
                    Table(
                        COLUMNS,
                        rows,
                        "Points: score in percent over one half against the single network, or the difference of win "
                        "rates where both play others, or of starts with more and with less where each plays alone. "
                        "Loss: that of all experts together on what was held out.",
                    )
                ],
            ),
            Section("Where their settings differ", tables=[settings]),
        ],
        numbers={"runs": dict(runs)},
    )


def _rows(name: str, numbers: Mapping[str, Any]) -> Iterator[list[Cell]]:
    config = numbers["config"]
    head: list[Cell] = [name, config["game"], config["network"]]
    if "generations" in numbers:
        learned = f"{config['gate']}, {config['scheme']}, generation {len(numbers['generations'])} of self-play"
        yield [*head, learned, None, None, None]
        return
    if "searched" not in numbers:
        yield [
            *head,
            f"{config['gate']}, {config['scheme']}",
            None,
            None,
            format_fixed(numbers["losses"][-1]["loss"]["all"]),
        ]
        return
    yield [*head, "single network", None, None, format_fixed(numbers["single"]["loss"]["mean"])]
    searched, losses = numbers["searched"], dict(_losses(numbers))
    for arm, points in searched["points"].items():
        yield [*head, arm, searched["arms"][arm]["num_games"], _format_points(points), format_fixed(losses[arm])]


def _losses(numbers: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yields the loss of each arm except the single network that all others are compared with."""
    training = numbers["config"]["training"]
    for arm, rows in numbers["losses"].items():
        policy, value = rows[-1]["policy"]["all"], rows[-1]["value"]["all"]
        yield arm, training["policy_weight"] * policy + training["value_weight"] * value
    for arm, single in numbers.get("other_singles", {}).items():
        yield arm, single["loss"]["mean"]


def _format_points(points: Mapping[str, float]) -> str:
    return f"{points['mean']:+z.1f} [{points['low']:+z.1f}, {points['high']:+z.1f}]"


def _settings_table(configs: Mapping[str, Mapping[str, Any]]) -> Table:
    """Returns a table of the settings that differ between runs."""
    settings = {name: flat(config) for name, config in configs.items()}
    paths = dict.fromkeys(path for run_settings in settings.values() for path in run_settings)
    rows: list[list[Cell]] = []
    for path in paths:
        values = [str(run_settings.get(path, "–")) for run_settings in settings.values()]
        if len(set(values)) > 1:
            rows.append([path, *values])
    return Table(["setting", *settings], rows)

"""Tables of how often intervals contain the truth and sequential tests err."""

from __future__ import annotations

from measuring.record import Row, latest

from results_page.markdown import origin, table


def calibration() -> str:
    """Returns the coverage of intervals and the error rates of sequential tests, in simulated matches."""
    rows = list(latest("calibration").values())
    note = (
        "Simulated matches whose true difference is known, so that 95 % is what an interval of 95 % should reach, and "
        f"5 % what a test may be wrong in. Each number comes from {_numbers(rows, 'matches')} matches or "
        f"{_numbers(rows, 'tests')} tests. In each cell of the first table the true differences are 0, 30 and 200 Elo."
    )
    return "\n\n".join([note, _intervals(rows), _tests(rows), _others(rows), origin(rows)])


def _numbers(rows: list[Row], key: str) -> str:
    numbers = sorted({row[key] for row in rows if key in row}, reverse=True)
    return " or ".join(f"{number:,}" for number in numbers)


def _intervals(rows: list[Row]) -> str:
    cells: dict[tuple[str, int], dict[str, list[str]]] = {}
    for row in rows:
        if row["kind"] == "interval":
            of_methods = cells.setdefault((row["draws"], row["pairs"]), {})
            of_methods.setdefault(row["method"], []).append(f"{row['value']:.1f}")
    methods = list(dict.fromkeys(method for of_methods in cells.values() for method in of_methods))
    lines = (
        [f"{draws}, {pairs} pairs", *(" / ".join(of_methods[method]) for method in methods)]
        for (draws, pairs), of_methods in cells.items()
    )
    return table(" | ".join(["intervals of Elo that contain the truth, %", *methods]), lines)


def _tests(rows: list[Row]) -> str:
    lines = (
        [row["name"], f"{row['value']:.1f} [{row['interval'][0]:.1f}, {row['interval'][1]:.1f}]", row["mean_pairs"]]
        for row in rows
        if row["kind"] == "test"
    )
    return table("sequential tests in normalized Elo | wrong, %, with its 95 % interval | pairs, mean", lines)


def _others(rows: list[Row]) -> str:
    lines = ([row["name"], f"{row['value']:.1f}"] for row in rows if row["kind"] in ("seeds", "ratings"))
    return table("other intervals | contain the truth, %", lines)

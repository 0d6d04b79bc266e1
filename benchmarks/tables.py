"""Writes docs/results.md and the tables of other pages from `benchmarks/results`, so that every number has a row.

python benchmarks/tables.py           after a measurement
python benchmarks/tables.py --check   checks whether they are up to date
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from measuring.record import latest
from results_page import beside, calibration, chess, learning, matches, pommerman, searching, speed, suites

ROOT = Path(__file__).parent.parent
README, RESULTS, FINDINGS = ROOT / "README.md", ROOT / "docs" / "results.md", ROOT / "docs" / "findings.md"
GUIDE = ROOT / "docs" / "guides" / "speed.md"
FOUND = ROOT / "benchmarks" / "results_page" / "found.md"
"""The text above all tables, with numbers taken from them."""
BEGIN, END = "<!-- results -->", "<!-- /results -->"


class Section(NamedTuple):
    """A part of the page of results."""

    title: str
    text: Callable[[], str]
    table: str = ""
    """The section is shown once this table has a row."""


SECTIONS = (
    Section("Chess: phase experts against one network", chess.comparison),
    Section("Pommerman: phase experts against one network", pommerman.strength),
    Section("Pommerman: what of a network helps its search", pommerman.ablations, "ablations"),
    Section("Games against engines, and other searches", matches.levels),
    Section("The same experts searched in other ways", matches.duels, "duels"),
    Section("What policies make of legal actions", learning.policies, "policies"),
    Section("Gates found in data", learning.gates),
    Section("Gates of chess: what experts behind them learn", learning.chess_gates, "chess_gates"),
    Section("Gates of Pommerman and their thresholds", learning.pommerman_gates, "run_losses"),
    Section("Where games of chess were won and lost", learning.phase_swings, "phase_swings"),
    Section("Opposite-coloured bishops", chess.bishops),
    Section("Whether intervals and tests keep their word", calibration.calibration, "calibration"),
    Section("Speed of rules and search", speed.speed),
    Section("The search beside what it was, and beside others", beside.beside),
    Section("Speed of networks", speed.inference),
    Section("Speed of matches and training", speed.arena),
    Section("Searches and the speed of their network", speed.in_flight, "in_flight"),
    Section("First-play urgency with trained networks", searching.urgency, "urgency"),
    Section("Variants of the search", searching.variants, "variants"),
    Section("What a cache and smart pruning save", searching.savings, "savings"),
    Section("Games between masters, and the chess family's speed", chess.chess_data),
    Section("Opponents' replies: kept or drawn", searching.replies),
    Section("Mates in three", searching.mates),
    Section("The UCI engine and its clock", speed.uci),
    Section("The same experiment in many games", suites.suites, "suites"),
    Section("Searches in OpenSpiel's games", searching.openspiel, "openspiel"),
    Section("Laws of OpenSpiel's games", suites.laws, "openspiel_laws"),
    Section("CartPole by search alone", suites.cartpole, "cartpole"),
    Section("Learning with other libraries", suites.libraries),
    Section("Setting up", speed.setup),
    Section("Learning from self-play", learning.selfplay, "selfplay"),
    Section("Generations of self-play", learning.generations, "generations"),
    Section("Connect four against a perfect solver", learning.solved, "connect_four"),
    Section("Experts from random weights, at equal self-play", learning.selfplay_schemes, "selfplay_schemes"),
    Section("On a GPU", speed.gpu, "gpu"),
    Section("Hours of what is not finished", speed.hours, "estimates"),
    Section("Estimates and what became of them", speed.estimated_runs, "estimated_runs"),
)


def page() -> str:
    """Returns docs/results.md."""
    heading = (
        "# Results\n\n<!-- Written by benchmarks/tables.py: change that, or benchmarks/results. -->\n\n"
        "Small runs on two cores, as they fell. Every number has its row, with command, commit, machine, seed and day, "
        "in\n`benchmarks/results`; the commands are listed under each table, with what they were given in capitals."
    )
    shown = (section for section in SECTIONS if not section.table or latest(section.table))
    sections = (f"## {section.title}\n\n{section.text()}" for section in shown)
    return "\n\n".join([heading, f"## What was found\n\n{FOUND.read_text()}", *sections]) + "\n"


def pages() -> dict[Path, str]:
    """Returns the expected text of the README, docs/results.md and the pages on findings and speed."""
    return {
        README: _filled(README, f"{chess.summary(least_seeds=5)}\n\n{pommerman.summary(least_games=1000)}"),
        FINDINGS: _filled(FINDINGS, chess.summary(), pommerman.summary()),
        RESULTS: page(),
        GUIDE: _filled(GUIDE, f"{beside.goals()}\n\n{beside.others()}"),
    }


def _filled(path: Path, *texts: str) -> str:
    """Returns a page with its results replaced, one text per pair of markers."""
    before, *rests = path.read_text().split(BEGIN)
    filled = (f"{BEGIN}\n{text}\n{END}{rest.split(END)[1]}" for text, rest in zip(texts, rests, strict=True))
    return "".join([before, *filled])


def main() -> None:
    """Writes these pages; with `--check`, exits with status 1 if one is out of date."""
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

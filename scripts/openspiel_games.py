"""Writes docs/games/openspiel.md: which games of the installed OpenSpiel can be searched, and why others cannot.

python scripts/openspiel_games.py          writes the page
python scripts/openspiel_games.py --laws   also checks the laws of every game in the table, as `moemcts check` does
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyspiel

from moemcts.testing import check_game
from moemcts_openspiel import OpenSpielGame, why_not

PAGE = Path(__file__).parent.parent / "docs" / "games" / "openspiel.md"
WITH_PARAMETERS = (
    "breakthrough(rows=6,columns=6)",
    "chinese_checkers(players=3)",
    "clobber(rows=4,columns=5)",
    "dots_and_boxes(num_rows=3,num_cols=3)",
    "goofspiel(imp_info=False,num_cards=5,points_order=descending)",
    "goofspiel(imp_info=False,num_cards=4,points_order=random,players=3)",
    "havannah(board_size=5)",
    "hex(board_size=7)",
    "maedn(players=3)",
    "mnk(m=6,n=6,k=4)",
    "nim(pile_sizes=2;4;6)",
    "oshi_zumo(coins=10,size=2)",
    "pig(players=4,winscore=20)",
    "y(board_size=7)",
)
"""Beside every game as it is without parameters."""
MOST_SECONDS = 60
"""Of processor time for the laws of one game, of which one is played to its end at random."""


def rows() -> tuple[list[Any], list[tuple[str, str]]]:
    """Returns the games that can be searched with their columns, and the others with the reason."""
    supported: list[Any] = []
    others: list[tuple[str, str]] = []
    for name in [*pyspiel.registered_names(), *WITH_PARAMETERS]:
        reason = why_not(name)
        if reason:
            others.append((name, reason))
            continue
        spec, kind = OpenSpielGame(name).spec, pyspiel.load_game(name).get_type()
        how = [
            "simultaneous" if kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS else "",
            "chance" if kind.chance_mode != pyspiel.GameType.ChanceMode.DETERMINISTIC else "",
            "rewards on the way" if kind.reward_model == pyspiel.GameType.RewardModel.REWARDS else "",
        ]
        shape = " x ".join(map(str, spec.observation_shape))
        supported.append(
            (name, spec.num_players, spec.num_actions, shape, spec.max_plies, ", ".join(filter(None, how)))
        )
    return sorted(supported), sorted(others)


def page() -> str:
    """Returns the page."""
    supported, others = rows()
    chance, simultaneous = (sum(word in row[5] for row in supported) for word in ("chance", "simultaneous"))
    many = sum(row[1] > 2 for row in supported)
    table = [
        f"| `{name}` | {players} | {actions:,} | {shape} | {plies:,} | {how} |"
        for name, players, actions, shape, plies, how in supported
    ]
    lines = [
        "# Games of OpenSpiel",
        "",
        f"Of open_spiel {version('open_spiel')}, written by `python scripts/openspiel_games.py`; `--laws` checks",
        "the laws of every game in the first table, as tests do of 26.",
        f"{len(supported)} can be searched, {chance} of them with chance, {many} of more than two players, and",
        f"{simultaneous} with simultaneous moves; {len(WITH_PARAMETERS)} are examples with parameters.",
        "",
        "| `openspiel:` | players | actions | observation | most plies | |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
        *table,
        "",
        f"## Not searched: {len(others)}",
        "",
        "| | why |",
        "| --- | --- |",
        *(f"| `{name}` | {_told(name, reason)} |" for name, reason in others),
        "",
    ]
    return "\n".join(lines)


def check(names: list[str]) -> list[str]:
    """Returns what is wrong with games, a line each; says how it goes."""
    wrong = []
    for name in names:
        started = time.monotonic()
        try:
            with _at_most(MOST_SECONDS):
                check_game(OpenSpielGame(name), num_games=1)
            found = "ok"
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
            wrong.append(f"{name}: {found}")
        print(f"{name}: {found[:200]}, {time.monotonic() - started:.1f} s", file=sys.stderr, flush=True)
    return wrong


def _told(name: str, reason: str) -> str:
    """Returns a reason as a cell, without the name that it begins with."""
    text = " ".join(reason.split()).replace("|", "\\|")
    _, _, told = text.partition(" cannot be searched here: ")
    return told or text.removeprefix(f"openspiel:{name}: ")


@contextlib.contextmanager
def _at_most(seconds: int) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError(f"not checked within {seconds} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def main() -> int:
    """Writes the page; returns 1 where a game breaks a law."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--laws", action="store_true", help="check the laws of all games first, which takes long")
    options = parser.parse_args()
    PAGE.write_text(page())
    wrong = check([row[0] for row in rows()[0]]) if options.laws else []
    for line in wrong:
        print(line)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())

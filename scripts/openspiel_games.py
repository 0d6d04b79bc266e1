"""Writes docs/games/openspiel.md: which games of the installed OpenSpiel can be searched, and why others cannot.

python scripts/openspiel_games.py                 writes the page
python scripts/openspiel_games.py --laws          first checks the laws of every game in the table, as `moemcts check`
                                                  does, and stores the results in benchmarks/results
python scripts/openspiel_games.py --laws NAME...  checks only these games, and does not write the page
"""

from __future__ import annotations

import argparse
import contextlib
import json
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

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
from measuring import record  # noqa: E402

PAGE = ROOT / "docs" / "games" / "openspiel.md"
LAWS = "openspiel_laws"
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
"""Listed in addition to every game with default parameters."""
HEAD = """\
# Games of OpenSpiel

## What it is

The plugin `plugins/moemcts-openspiel` brings the games of perfect information of
[OpenSpiel](https://github.com/google-deepmind/open_spiel): sequential or simultaneous, with or without chance, for any
number of players, with OpenSpiel's parameters. They are searched by the same native tree as every game in Python, and
a run, a match or a tournament with them is written like any other.

It is a package of its own: `pip install ./plugins/moemcts-openspiel`; with uv, `./uvw run` without `--no-dev` has it.

```
moemcts check "openspiel:breakthrough(rows=6,columns=6)"
moemcts match --game openspiel:connect_four --agent "uct?simulations=200" --agent random --games 20
moemcts run --game "openspiel:breakthrough(rows=6,columns=6)" --gate plies --preset smoke
```

The plugin registers a family of names, ending with a colon, and receives what the user writes after it
(`Registration.name`).

## Variants
"""
TAIL = """\
## Rules in short

OpenSpiel's. A game that cannot be searched says why in one line: hidden information, chance without probabilities, no
observation tensor, more than 100,000 actions, results without bounds.

- A value of 1 is `score_unit` in OpenSpiel's own numbers. Rewards on the way are paid on the way; the return is then 0.
- The start is the first position in which a player moves; the seed draws what chance does before.
- `max_plies` is OpenSpiel's own bound, which can be very large.
- OpenSpiel's antichess has no capture en passant; the game [`antichess`](chess.md) of the chess family has.

## Positions as text

The actions from the very beginning, chance included: `3 1,2 0`. A position includes its history: two ways to the same
board are two positions. Datasets hold the actions, too, and play them again for every sample that training reads: the
longer the games, the longer this takes.

## Observation planes

OpenSpiel's observation tensor of the viewing player. The network is `mlp` unless another is named.

## Actions

OpenSpiel's, by number and by name.

## Gates

Those of every game. `plies` cuts by the length of random games, where `max_plies` is far from that.

## Agents

Those of every game: `random`, `flat`, `uct`, experts. Every move goes through Python: [how quick that
is](../results.md#searches-in-openspiels-games) beside OpenSpiel's own searches in Python and C++.

## Sources

google-deepmind/open_spiel; Lanctot et al., *OpenSpiel: A Framework for Reinforcement Learning in Games*, 2019."""
MAX_SECONDS = 600
"""Processor time limit for the laws of one game, which is played once at random."""


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
    kept = _kept()
    table = [
        f"| `{name}` | {players} | {actions:,} | {shape} | {plies:,} | {how} | {_laws(kept.get(name))} |"
        for name, players, actions, shape, plies, how in supported
    ]
    checked = [name for name, *_ in supported if name in kept and not kept[name]["broken"]]
    lines = [
        *HEAD.splitlines(),
        f"Of open_spiel {version('open_spiel')}, written by `python scripts/openspiel_games.py`.",
        f"{len(supported)} can be searched, {chance} of them with chance, {many} of more than two players, and",
        f"{simultaneous} with simultaneous moves; {len(WITH_PARAMETERS)} are examples with parameters.",
        "",
        "The laws that search and training rely on, those of `moemcts check`, were checked on a game at random each of",
        f"{sum(row[0] in kept for row in supported)} of them: {len(checked)} keep them,",
        f"{_number_with(checked, supported, 'chance')} with chance,",
        f"{sum(row[1] > 2 for row in supported if row[0] in checked)} of more than two players,",
        f"{_number_with(checked, supported, 'simultaneous')} with simultaneous moves. `--laws` checks again,",
        "tests do so of 26. The last column has how many laws were checked, and on how many cases in all.",
        "",
        "| `openspiel:` | players | actions | observation | most plies | | laws (cases) |",
        "| --- | ---: | ---: | ---: | ---: | --- | ---: |",
        *table,
        "",
        *TAIL.splitlines(),
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
    """Returns the faults of games, one line each; stores the results and prints the progress."""
    wrong = []
    for name in names:
        started, laws, broken = time.process_time(), [], ""
        try:
            with _at_most(MAX_SECONDS):
                laws = check_game(OpenSpielGame(name), num_games=1)
        except Exception as error:
            broken = f"{type(error).__name__}: {error}"
            wrong.append(f"{name}: {broken}")
        seconds = round(time.process_time() - started, 1)
        print(f"{name}: {broken[:200] or 'ok'}, {seconds} s", file=sys.stderr, flush=True)
        cases = sum(law.num_cases for law in laws)
        row = {"name": name, "laws": len(laws), "cases": cases, "broken": broken, "seconds": seconds, "seed": 0}
        record.append(LAWS, [row])
    return wrong


def _kept() -> dict[str, dict[str, Any]]:
    """Returns the latest result on each game's laws."""
    file = record.RESULTS / f"{LAWS}.jsonl"
    rows = map(json.loads, file.read_text().splitlines()) if file.exists() else ()
    return {row["name"]: row for row in rows}


def _laws(found: dict[str, Any] | None) -> str:
    if found is None:
        return "–"
    return "broken" if found["broken"] else f"{found['laws']} ({found['cases']:,})"


def _number_with(names: list[str], rows: list[Any], word: str) -> int:
    return sum(word in row[5] for row in rows if row[0] in names)


def _told(name: str, reason: str) -> str:
    """Returns a reason as a table cell, without the game's name at its beginning."""
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
    """Writes the page; returns 1 if a game breaks a law."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--laws", nargs="*", help="check the laws first, of all games or of these; takes long")
    options = parser.parse_args()
    wrong = check(options.laws or [row[0] for row in rows()[0]]) if options.laws is not None else []
    if not options.laws:
        PAGE.write_text(page())
    for line in wrong:
        print(line)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())

"""Writes the tables of the games' pages in docs/games from their registrations.

python scripts/game_pages.py

A table is between `<!-- table: NAMES -->` and `<!-- /table -->`; NAMES are the names of games, separated by blanks.
"""

from __future__ import annotations

import re
from pathlib import Path

import moemcts_chess.plugin
import moemcts_classics.plugin
import moemcts_gymnasium
import moemcts_pommerman.plugin
import moemcts_tictactoe
from moemcts import builtins
from moemcts.plugins import Plugins
from moemcts.registry import Registry

PAGES = Path(__file__).parent.parent / "docs" / "games"
TABLE = re.compile(r"(<!-- table: (.+?) -->\n).*?(<!-- /table -->)", re.DOTALL)
HEAD = ("`--game`", "players", "actions", "observation", "longest game", "symmetries", "gates", "agents", "weights")
ANY = {one.name for one in [*builtins.register_gates(), *builtins.register_agents()]}
"""Entries that every game has, which are left out."""
MODULES = (
    builtins,
    moemcts_chess.plugin,
    moemcts_classics.plugin,
    moemcts_pommerman.plugin,
    moemcts_tictactoe,
    moemcts_gymnasium,
)


def table(names: list[str]) -> str:
    """Returns a row for each game."""
    # Other installed plugins are not on these pages.
    known = Plugins([(module.__name__, module) for module in MODULES])
    rows = [row(known, name) for name in names]
    lines = [HEAD, ("---", *["---:"] * 2, "---", "---:", "---:", *["---"] * 3), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def row(known: Plugins, name: str) -> tuple[str, ...]:
    """Returns the cells of a game, with the default gate and agent first."""
    game = known.game(name)
    spec = game.spec
    return (
        f"`{name}`",
        str(spec.num_players),
        f"{spec.num_actions:,}",
        " x ".join(map(str, spec.observation_shape)),
        f"{spec.max_plies:,}",
        str(len(list(game.symmetries()))) or "0",
        _names(known.gates, spec.name),
        _names(known.agents, spec.name),
        _names(known.weights, spec.name),
    )


def _names(entries: Registry, game: str) -> str:
    own = entries.for_game(game)
    order = sorted((name for name in own if name not in ANY), key=lambda name: not own[name].default)
    return ", ".join(f"`{name}`" for name in order) or "–"


def pages() -> dict[Path, str]:
    """Returns the expected text of every page with tables."""
    return {
        path: TABLE.sub(lambda found: found[1] + table(found[2].split()) + found[3], path.read_text())
        for path in sorted(PAGES.glob("*.md"))
    }


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text)

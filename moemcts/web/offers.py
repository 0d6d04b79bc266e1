"""What pages may request: games, and for each the agents that start no external program."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from moemcts import naming
from moemcts.agents import Agent
from moemcts.errors import unknown_name
from moemcts.game import Game
from moemcts.plugins import plugins
from moemcts.references import WEIGHTS, format_reference, parse_reference
from moemcts.report.style import PHASE_COLOURS, PHASE_INKS
from moemcts.web.table import RequestError, WebTable

YOU = "you"
MAX_SIMULATIONS = 100_000


class Offers:
    """Games and agents by name, each created once."""

    def __init__(
        self,
        *,
        game: str | None = None,
        agents: Sequence[str] = (),
        seat: int | None = None,
        seed: int = 0,
        simulations: int | None = None,
    ) -> None:
        """Takes the settings from the command line: pages start with these, and list them along with what is
        registered.

        `seat` is the person's seat, by default the first; from the number of players on, the person only watches.
        """
        self._named_on_start = (game, tuple(agents))
        self._start_settings = {"seat": seat or 0, "seed": seed, "simulations": simulations}
        self.game = functools.lru_cache(maxsize=32)(plugins().game)
        self._agents: dict[tuple[str, str], Agent] = {}

    def games(self) -> dict[str, Any]:
        """Returns the available games, the one to start with, and the colours of phases and of text on these."""
        first, agents = self._named_on_start
        games = [{"name": name, "summary": entry.summary} for name, entry in plugins().games.items() if name[-1] != ":"]
        if first is not None and first not in plugins().games:
            games.insert(0, {"name": first, "summary": "as you named it"})
        values = {"games": games, "game": first or games[0]["name"], "agents": list(agents)}
        return values | {"phase_colours": list(PHASE_COLOURS), "phase_inks": list(PHASE_INKS)} | self._start_settings

    def agents(self, game: str) -> dict[str, Any]:
        """Returns the seats of a game, the agents for them, and the default agent."""
        loaded_game = self._find_game(game)
        first, named_agents = self._named_on_start
        names = [
            *(named_agents if game == first else ()),
            *self._shipped_experts(loaded_game),
            *self._registered_agents(loaded_game),
        ]
        board = plugins().board(loaded_game)
        players = range(loaded_game.spec.num_players)
        return {
            "seats": list(board.seats) if board is not None else [f"player {player}" for player in players],
            "agents": list(dict.fromkeys(names)),
            "default": named_agents[0] if named_agents and game == first else naming.best_available_agent(loaded_game),
        }

    def table(self, request: Mapping[str, Any]) -> WebTable:
        """Returns a new game from a page's request: `game`, `agents` (references or `you`), `simulations`, `seed`, and
        `moves`, a list of actions per round, to restore a game that was started before the server was.

        Raises RequestError for anything that is not available.
        """
        reference, seed = request.get("game"), request.get("seed", 0)
        if not isinstance(reference, str):
            raise RequestError(400, f"expected game as text, got {reference!r}")
        if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**63:
            raise RequestError(400, f"expected seed to be an integer of at least 0, got {seed!r}")
        game = self._find_game(reference)
        names = request.get("agents")
        num_players = game.spec.num_players
        if not isinstance(names, list) or len(names) != num_players or not all(isinstance(name, str) for name in names):
            raise RequestError(400, f"expected agents as a list of {num_players} names, one per player")
        if names.count(YOU) > 1:
            raise RequestError(400, "expected one person at most")
        offered = self.agents(reference)["agents"]
        for name in names:
            if name != YOU and name not in offered:
                raise RequestError(400, str(unknown_name("agent", name, [YOU, *offered])))
        simulations = _parse_simulations(request.get("simulations"))
        agents = [None if name == YOU else self._agent(reference, game, name, simulations) for name in names]
        restore_request = {"game": reference, "agents": names, "seed": seed}
        if simulations is not None:
            restore_request["simulations"] = simulations
        board = plugins().board(game)
        gate = plugins().gate(naming.default_gate(game), game)
        table = WebTable(game, reference, agents, board=board, gate=gate, seed=seed, request=restore_request)
        table.replay(_parse_moves(request.get("moves", [])))
        return table

    def _find_game(self, game: str) -> Game:
        if game != self._named_on_start[0] and game not in plugins().games:
            raise RequestError(404, str(plugins().games.unknown(game)))
        return self.game(game)

    def _agent(self, reference: str, game: Game, name: str, simulations: int | None) -> Agent:
        if simulations is not None:
            agent_name, options = parse_reference(name)
            limits = {"simulations": simulations}
            name = format_reference(agent_name, naming.with_limits(options, name, game, limits))
        if (reference, name) not in self._agents:
            self._agents[reference, name] = naming.resolve_agent(name, game)
        return self._agents[reference, name]

    @staticmethod
    def _shipped_experts(game: Game) -> list[str]:
        return [WEIGHTS + name for name in plugins().weights.for_game(game.spec.name)]

    @staticmethod
    def _registered_agents(game: Game) -> list[str]:
        entries = plugins().agents.for_game(game.spec.name)
        return [name for name, entry in entries.items() if not entry.runs_programs]


def _parse_moves(value: object) -> list[list[int]]:
    rounds: list[Any] = value if isinstance(value, list) else [value]
    if not all(isinstance(actions, list) and all(type(action) is int for action in actions) for actions in rounds):
        raise RequestError(400, "expected moves as a list with a list of whole numbers for each round")
    return rounds


def _parse_simulations(value: object) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_SIMULATIONS:
        raise RequestError(400, f"expected simulations from 1 to {MAX_SIMULATIONS}, got {value!r}")
    return value

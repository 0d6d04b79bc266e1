"""Games that pages play: who sits where, what was played, what was thought."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from moemcts.agents import Agent, Decision, Seat
from moemcts.drawing import Board, Drawing
from moemcts.errors import MoemctsError
from moemcts.game import CHANCE, Action, Game, Player, State, Views
from moemcts.gates import PhaseGate
from moemcts.play import Step, Table, play, seats_of
from moemcts.web.insight import Watched, phase_of, plain, thought

MOST_TABLES = 64
"""Games that are kept; the one that was asked for longest ago goes first."""


class Refusal(MoemctsError):
    """What a page asked for and cannot have; `status` is HTTP's word for why."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Person:
    """Whoever sits at the page."""

    name = "you"
    choice: Action | None = None

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        if self.choice is None:
            raise Refusal(409, "expected an action: it is your move")
        return [Decision(action=self.choice)] * len(seats)


@dataclass
class Played:
    """A position, and how it was reached."""

    state: State
    moves: list[dict[str, Any]] = field(default_factory=list)
    last: dict[Player, Action] = field(default_factory=dict)


class WebTable:
    """A game that a page follows round by round; nothing is computed unless it asks."""

    def __init__(
        self,
        game: Game,
        reference: str,
        agents: Sequence[Agent | None],
        *,
        board: Board | None,
        gate: PhaseGate,
        seed: int,
    ) -> None:
        """Takes an agent per player, None for the person, and the gate that tells phases where no agent has one."""
        self.id = secrets.token_urlsafe(9)
        self.reference = reference
        self._game = game
        self._board = board
        self._seed = seed
        self._person = Person()
        self.agents: list[Watched | Person] = [self._person if agent is None else Watched(agent) for agent in agents]
        own = [agent.gate for agent in self.agents if isinstance(agent, Watched) and agent.gate is not None]
        self._gate = own[0] if own else gate
        self._history = [Played(game.initial_state(seed))]
        self._table, self._rounds = self._seated(self._history[0].state)

    @property
    def state(self) -> State:
        return self._history[-1].state

    @property
    def step(self) -> int:
        """How many rounds were played."""
        return len(self._history) - 1

    @property
    def viewer(self) -> Player:
        """Through whose eyes the page looks: the person's, else the first player's."""
        return next((player for player, agent in enumerate(self.agents) if agent is self._person), 0)

    @property
    def is_asked(self) -> bool:
        """Whether the game waits for the person."""
        return any(self.agents[player] is self._person for player in self.state.active_players if player != CHANCE)

    def advance(self, action: Action | None) -> None:
        """Plays one round, with `action` where the person moves.

        Raises Refusal where the game is over, the action is not legal or missing, MoemctsError where an agent fails.
        """
        state = self.state
        if not state.active_players:
            raise Refusal(409, "the game is over")
        if self.is_asked:
            legal = [int(legal) for legal in state.legal_actions(self.viewer)]
            if action is None:
                raise Refusal(409, "expected an action: it is your move")
            if action not in legal:
                names = ", ".join(self._game.format_action(state, self.viewer, one) for one in legal[:8])
                raise Refusal(409, f"expected a legal action, such as {names}, got {action}")
        self._person.choice = action
        (step,) = next(self._rounds)
        if step.failures:
            player, failure = next(iter(step.failures.items()))
            self._table, self._rounds = self._seated(state)
            raise MoemctsError(f"player {player} ({self.agents[player].name}), {failure.kind}: {failure.reason}")
        moves = [self._move(state, *pair) for pair in zip(step.players, step.decisions, strict=True)]
        last = {player: one.action for player, one in zip(step.players, step.decisions, strict=True)}
        self._history.append(Played(self._table.state, moves, last))

    def back(self) -> None:
        """Takes back to where the person, or without one anybody, moved last."""
        if len(self._history) == 1:
            raise Refusal(409, "there is nothing to take back")
        self._history.pop()
        while len(self._history) > 1 and self.viewer not in self.state.active_players:
            self._history.pop()
        self._table, self._rounds = self._seated(self.state)

    def snapshot(self) -> dict[str, Any]:
        """Returns all that a page shows, as JSON values."""
        state, played = self.state, self._history[-1]
        movers = [player for player in state.active_players if player != CHANCE]
        drawing = self._drawing(state)
        return {
            "id": self.id,
            "game": self.reference,
            "seed": self._seed,
            "step": self.step,
            "ply": state.ply,
            "over": not state.active_players,
            "returns": [round(float(value), 4) for value in self._table.returns()],
            "seats": [self._seat(player) for player in range(self._game.spec.num_players)],
            "zero_sum": self._game.spec.num_players == 2 and self._game.spec.utility_sum == 0,
            "active": movers,
            "viewer": self.viewer,
            "asked": self.is_asked,
            "drawing": {key: value for key, value in asdict(drawing).items() if key not in ("spots", "keys")},
            "page": self._game.spec.name if self._board is not None and self._board.page is not None else None,
            "actions": self._actions(state, drawing) if self.is_asked else [],
            "phases": {player: phase_of(self._game, self._gate, state, player) for player in movers},
            "moves": played.moves,
        }

    def _seated(self, state: State) -> tuple[Table, Iterator[list[Step[Table]]]]:
        num_players, round_number = self._game.spec.num_players, len(self._history)
        table = Table(
            state=state,
            agents=self.agents,
            seats=seats_of(num_players, self._seed, round_number),
            chance=np.random.default_rng([self._seed, num_players, round_number]),
        )
        return table, play(self._game, [table])

    def _seat(self, player: Player) -> dict[str, Any]:
        board = self._board
        name = board.seats[player] if board is not None else f"player {player}"
        colour = (
            board.colours[player] if board is not None else ("#f4f1ea", "#3a3a3a", "#4b86c6", "#c66b4b")[player % 4]
        )
        return {"name": name, "colour": colour, "agent": self.agents[player].name}

    def _drawing(self, state: State) -> Drawing:
        if self._board is not None:
            return self._board.draw(state, self.viewer)
        return Drawing(width=0, height=0, data={"text": self._game.render(state)})

    def _actions(self, state: State, drawing: Drawing) -> list[dict[str, Any]]:
        player = self.viewer
        return [
            {
                "action": int(action),
                "name": self._game.format_action(state, player, action),
                "spots": drawing.spots.get(int(action), ()),
                "key": drawing.keys.get(int(action)),
            }
            for action in state.legal_actions(player)
        ]

    def _move(self, state: State, player: Player, decision: Decision) -> dict[str, Any]:
        name = self._game.format_action(state, player, decision.action)
        move: dict[str, Any] = {"player": player, "action": int(decision.action), "name": name}
        if player == CHANCE:
            return move
        agent = self.agents[player]
        result = agent.thoughts.get(player) if isinstance(agent, Watched) else None
        drawn = self._board.draw(state, self.viewer).spots if self._board is not None else {}
        told = thought(self._game, state, player, decision, result)
        for row in told["actions"]:
            row["spots"] = drawn.get(row["action"], ())
        own = agent.gate if isinstance(agent, Watched) else None
        phase = phase_of(self._game, own or self._gate, state, player)
        return plain(move | told | {"spots": drawn.get(int(decision.action), ()), "gate": phase})


class Tables:
    """All games that pages play; one is advanced at a time, as agents' searches are shared."""

    def __init__(self) -> None:
        self._tables: OrderedDict[str, WebTable] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, table: WebTable) -> dict[str, Any]:
        """Adds a game and returns its snapshot."""
        with self._lock:
            self._tables[table.id] = table
            while len(self._tables) > MOST_TABLES:
                self._tables.popitem(last=False)
            return table.snapshot()

    def look(self, table: str) -> dict[str, Any]:
        with self._lock:
            return self._of(table).snapshot()

    def advance(self, table: str, step: int, action: Action | None) -> dict[str, Any]:
        """Plays a round of a game whose page has seen `step` of them; raises Refusal where it has gone on since."""
        with self._lock:
            found = self._of(table, step)
            found.advance(action)
            return found.snapshot()

    def back(self, table: str, step: int) -> dict[str, Any]:
        """Takes a move back; raises as `advance`."""
        with self._lock:
            found = self._of(table, step)
            found.back()
            return found.snapshot()

    def _of(self, name: str, step: int | None = None) -> WebTable:
        if name not in self._tables:
            raise Refusal(404, "no such game: the program was started anew, or it was too long ago; begin another")
        table = self._tables[name]
        self._tables.move_to_end(name)
        now = table.step
        if step is not None and step != now:
            raise Refusal(
                409, f"expected a move after {now} rounds, got one after {step}: the game has gone on elsewhere"
            )
        return table

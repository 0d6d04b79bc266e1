"""A game played on a page: seats, moves, and search results."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from moemcts.agents import Agent, Decision, Seat
from moemcts.drawing import Board, Drawing
from moemcts.errors import MoemctsError
from moemcts.game import CHANCE, Action, FloatArray, Game, Player, State, Views, first_state
from moemcts.gates import PhaseGate
from moemcts.play import Step, Table, add_rewards, chance_of, play, seats_of
from moemcts.web.insight import ObservedAgent, decision_json, gate_json, without_numpy


class RequestError(MoemctsError):
    """A request that cannot be fulfilled; `status` is the HTTP status code."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Person:
    """The person at the page."""

    name = "you"
    choice: Action | None = None

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        if self.choice is None:
            raise RequestError(409, "expected an action: it is your move")
        return [Decision(action=self.choice)] * len(seats)


@dataclass
class HistoryEntry:
    """A position, and the round that led to it."""

    state: State
    moves: list[dict[str, Any]] = field(default_factory=list)
    last: dict[Player, Action] = field(default_factory=dict)
    paid: FloatArray | None = None
    """The players' sums of rewards up to here; None in games without rewards."""

    @property
    def returns(self) -> FloatArray:
        """The players' total so far: rewards and decided returns, `[P]`."""
        returns = self.state.returns()
        return returns if self.paid is None else returns + self.paid


class WebTable:
    """A game that a page plays round by round, on request."""

    def __init__(
        self,
        game: Game,
        reference: str,
        agents: Sequence[Agent | None],
        *,
        board: Board | None,
        gate: PhaseGate,
        seed: int,
        request: Mapping[str, Any] | None = None,
    ) -> None:
        """Takes an agent per player, None for the person; the gate to show if no agent has one; and the page's request
        for this game, with which the page can restore it after a restart of the server.
        """
        self.id = secrets.token_urlsafe(9)
        self.revision = 0
        """Number of changes of the game; with takebacks, the number of rounds does not identify what a page has
        seen."""
        self.playing = threading.Lock()
        """Held while a round is played, until it is stored."""
        self.reference = reference
        self._request = dict(request or {})
        self._has_resigned = False
        self._side: Player | None = None
        self._game = game
        self._board = board
        self._seed = seed
        self._person = Person()
        self.agents: list[ObservedAgent | Person] = [
            self._person if agent is None else ObservedAgent(agent) for agent in agents
        ]
        self._gate = gate
        self._history = [HistoryEntry(first_state(game, seed))]
        self._ongoing: tuple[Table, Iterator[list[Step[Table]]]] | None = None
        """The table and its iterator of rounds, to continue from the last round; None after a failure."""

    @property
    def state(self) -> State:
        return self._history[-1].state

    @property
    def step(self) -> int:
        """The number of rounds played."""
        return len(self._history) - 1

    @property
    def viewer(self) -> Player:
        """The player whose view the page shows: the person, or else the first player."""
        return next((player for player, agent in enumerate(self.agents) if agent is self._person), 0)

    @property
    def awaits_person(self) -> bool:
        """Whether the game waits for the person."""
        return any(self.agents[player] is self._person for player in self.state.active_players if player != CHANCE)

    @property
    def side(self) -> Player:
        """The player whose side of the board is at the bottom."""
        return self.viewer if self._side is None else self._side

    @property
    def is_over(self) -> bool:
        return self._has_resigned or not self.state.active_players

    @property
    def is_duel(self) -> bool:
        """Whether it is a two-player zero-sum game."""
        return self._game.spec.num_players == 2 and self._game.spec.utility_sum == 0

    def parse_action(self, text: str) -> Action:
        """Returns the person's action given as text; raises RequestError if the text names none."""
        if not self.awaits_person:
            raise RequestError(409, "it is not your move")
        try:
            return int(self._game.parse_action(self.state, self.viewer, text))
        except ValueError as error:
            raise RequestError(409, str(error)) from None

    def play_round(self, action: Action | None) -> HistoryEntry:
        """Plays one round, with `action` for the person, and returns its result; the game is unchanged until `append`.

        The game may be read and changed meanwhile, but no other round of it may be played. Raises RequestError if the
        game is over, or if the action is illegal or missing, and MoemctsError if an agent fails.
        """
        state = self.state
        if self.is_over:
            raise RequestError(409, "the game is over")
        if self.awaits_person:
            legal = [int(legal) for legal in state.legal_actions(self.viewer)]
            if action is None:
                raise RequestError(409, "expected an action: it is your move")
            if action not in legal:
                names = ", ".join(self._game.format_action(state, self.viewer, choice) for choice in legal[:8])
                raise RequestError(409, f"expected a legal action, such as {names}, got {action}")
        self._person.choice = action
        table, rounds = self._rounds_from_last(state)
        self._ongoing = None
        (step,) = next(rounds)
        if step.failures:
            player, failure = next(iter(step.failures.items()))
            raise MoemctsError(f"player {player} ({self.agents[player].name}), {failure.kind}: {failure.reason}")
        self._ongoing = table, rounds
        moves = [self._move_json(state, *pair) for pair in zip(step.players, step.decisions, strict=True)]
        last_actions = {player: decision.action for player, decision in zip(step.players, step.decisions, strict=True)}
        return HistoryEntry(table.state, moves, last_actions, table.paid)

    def append(self, entry: HistoryEntry) -> None:
        """Appends the result of a round."""
        self.revision += 1
        self._history.append(entry)

    def replay(self, rounds: Sequence[Sequence[Action]]) -> None:
        """Replays rounds from before a restart of the server, given as one action per active player in each.

        Raises RequestError for rounds that cannot be played.
        """
        for number, actions in enumerate(rounds):
            state = self.state
            movers = state.active_players
            chosen = dict(zip(movers, actions, strict=False))
            are_legal = all(action in state.legal_actions(player) for player, action in chosen.items())
            if not movers or len(actions) != len(movers) or not are_legal:
                raise RequestError(400, f"expected moves that can be played, got {list(actions)} in round {number}")
            moves = [
                {"player": player, "action": action, "name": self._game.format_action(state, player, action)}
                for player, action in chosen.items()
            ]
            next_state = state.play(list(actions))
            paid = add_rewards(self._game.spec, next_state, self._history[-1].paid)
            self._history.append(HistoryEntry(next_state, moves, chosen, paid))

    def resign(self) -> None:
        """Resigns for the person; raises RequestError unless the person plays against a single opponent."""
        if self.is_over:
            raise RequestError(409, "the game is over")
        if not self.is_duel or self._person not in self.agents:
            raise RequestError(409, "expected a person against one other: nobody else can resign")
        self.revision += 1
        self._has_resigned = True

    def rotate(self) -> None:
        """Rotates the board, to be seen from the next player's side."""
        self._side = (self.side + 1) % self._game.spec.num_players

    def take_back(self) -> None:
        """Undoes a resignation, or else goes back to the last position in which `viewer` was to move."""
        if self._has_resigned:
            self.revision += 1
            self._has_resigned = False
            return
        if len(self._history) == 1:
            raise RequestError(409, "there is nothing to take back")
        self.revision += 1
        self._history.pop()
        while len(self._history) > 1 and self.viewer not in self.state.active_players:
            self._history.pop()

    def snapshot(self, step: int | None = None) -> dict[str, Any]:
        """Returns all that a page shows after `step` rounds, by default the latest, as JSON values."""
        step = self.step if step is None else step
        entry, is_last = self._history[step], step == self.step
        state = entry.state
        movers = [player for player in state.active_players if player != CHANCE]
        drawing = self._draw(state)
        awaits_person = is_last and self.awaits_person and not self.is_over
        is_resigned = is_last and self._has_resigned
        returns = entry.returns.tolist()
        if is_resigned:
            returns = [-1.0 if player == self.viewer else 1.0 for player in range(2)]
        return {
            "id": self.id,
            "made": self._request,
            "game": self.reference,
            "seed": self._seed,
            "step": step,
            "revision": self.revision,
            "ply": state.ply,
            "over": is_last and self.is_over,
            "resigned": is_resigned,
            "returns": [round(value, 4) for value in returns],
            "scores": [round(value * self._game.spec.score_unit, 4) for value in returns],
            "seats": [self._seat_json(player) for player in range(self._game.spec.num_players)],
            "zero_sum": self.is_duel,
            "turns": self._has_two_sides(state, drawing),
            "side": self.side,
            "active": movers,
            "viewer": self.viewer,
            "asked": awaits_person,
            "drawing": {key: value for key, value in asdict(drawing).items() if key not in ("spots", "keys", "marks")},
            "text": self._game.render(state),
            "page": self._game.spec.name if self._board is not None and self._board.page is not None else None,
            "actions": self._actions_json(state, drawing) if awaits_person else [],
            "phases": {player: self._phase_json(state, player) for player in movers},
            "moves": self._moves_json(self._history[step - 1].state, entry.moves) if step else [],
        }

    def rounds(self) -> list[dict[str, Any]]:
        """Returns the snapshots of all rounds so far."""
        return [self.snapshot(step) for step in range(len(self._history))]

    def _has_two_sides(self, state: State, drawing: Drawing) -> bool:
        """Returns whether the board looks different from the other side."""
        if self._board is None or not self.is_duel:
            return False
        other = self._board.draw(state, 1 - self.side)
        return (other.svg, other.data) != (drawing.svg, drawing.data)

    def _moves_json(self, state: State, moves: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Returns moves, and the actions considered instead of them, with their places on the board."""
        drawing = self._draw(state)

        def with_spots(row: Mapping[str, Any]) -> dict[str, Any]:
            mark = drawing.marks.get(row["action"])
            spots = drawing.spots.get(row["action"], ()) if mark is None else (mark,)
            return {**row, "spots": spots}

        rows = []
        for move in moves:
            row = with_spots(move)
            if "actions" in move:
                row["actions"] = [with_spots(action) for action in move["actions"]]
            rows.append(row)
        return rows

    def _rounds_from_last(self, state: State) -> tuple[Table, Iterator[list[Step[Table]]]]:
        """Returns the table and its rounds from a position; new ones after a failure or if they do not lead there."""
        if self._ongoing is not None and self._ongoing[0].state is state:
            return self._ongoing
        num_players, round_number = self._game.spec.num_players, len(self._history)
        table = Table(
            state=state,
            agents=self.agents,
            seats=seats_of(num_players, self._seed, round_number),
            chance=chance_of(num_players, self._seed, round_number),
        )
        table.paid = self._history[-1].paid
        return table, play(self._game, [table])

    def _seat_json(self, player: Player) -> dict[str, Any]:
        board = self._board
        name = board.seats[player] if board is not None else f"player {player}"
        colour = (
            board.colours[player] if board is not None else ("#f4f1ea", "#3a3a3a", "#4b86c6", "#c66b4b")[player % 4]
        )
        agents = self._request.get("agents", ())
        reference = agents[player] if player < len(agents) else self.agents[player].name
        return {"name": name, "colour": colour, "agent": reference, "title": self.agents[player].name}

    def _draw(self, state: State) -> Drawing:
        if self._board is not None:
            return self._board.draw(state, self.side)
        return Drawing(width=0, height=0)

    def _actions_json(self, state: State, drawing: Drawing) -> list[dict[str, Any]]:
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

    def _move_json(self, state: State, player: Player, decision: Decision) -> dict[str, Any]:
        name = self._game.format_action(state, player, decision.action)
        move: dict[str, Any] = {"player": player, "action": int(decision.action), "name": name}
        if player == CHANCE:
            return move
        agent = self.agents[player]
        result = agent.results.get(player) if isinstance(agent, ObservedAgent) else None
        values = decision_json(self._game, state, player, decision, result)
        return without_numpy(move | values | {"gate": self._phase_json(state, player, agent)})

    def _phase_json(self, state: State, player: Player, agent: ObservedAgent | Person | None = None) -> dict[str, Any]:
        """Returns the gate output for a view, from the agent's gate or else from the first agent that has one, or else
        from the game's.
        """
        views = self._game.views([(state, player)])
        for candidate in (agent, *self.agents):
            phase = candidate.phase(views) if isinstance(candidate, ObservedAgent) else None
            if phase is not None:
                return phase
        return gate_json(self._gate, views)

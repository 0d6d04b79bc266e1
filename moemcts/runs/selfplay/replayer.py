"""Replays a generation's games: one of them move by move, and the first moves of all for the most frequent openings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from moemcts.arena.records import GameRecord, key_of
from moemcts.arena.replays import Replay
from moemcts.game import CHANCE, JointAction, Player, State
from moemcts.learn.loop.games import GAME_BITS, RESIGNED, PlayedGames
from moemcts.naming import SELF
from moemcts.runs.selfplay.players import LEAGUE, Players, generation_name

OPENING_PLIES = 4
"""Plies that identify an opening."""
MAX_OPENINGS = 5
"""The number of openings recorded per generation."""


class GameReplayer:
    """Replays games of a generation from their seeds and recorded moves; the champion's experts played them."""

    def __init__(self, players: Players, generation: int, champion: int) -> None:
        self._players = players
        self._game = players.game
        self._generation = generation
        self._champion = champion

    def replay(self, played: PlayedGames, index: int = 0) -> Replay:
        """Returns a game move by move, for viewing."""
        start = self._start_position(played, index)
        moves = [joint_action for _, joint_action in _replay(start, played, index)]
        record = GameRecord(
            index=_number(played, index),
            label="",
            agents=self._agent_names(int(played.seat_learned_from[index])),
            opening="",
            start_key=key_of(start),
            focus=None,
            returns=tuple(played.returns[index].tolist()),
            outcome=None,
            plies=len(moves),
            truncated=False,
            moves=tuple(map(tuple, moves)),
            termination="resignation" if played.ending[index] == RESIGNED else "rules",
        )
        return Replay(
            game=self._game, start=start, record=record, event=f"self-play, {generation_name(self._generation)}"
        )

    def frequent_openings(self, chunks: Sequence[PlayedGames]) -> list[dict[str, Any]]:
        """Returns the most frequent first moves, each with its number of games and player 0's mean return.

        Only includes moves that begin more than one game from the same start.
        """
        returns: dict[tuple[int, str], list[float]] = defaultdict(list)
        """Player 0's returns by start position and first moves."""
        for played in chunks:
            for index in range(len(played)):
                start = self._start_position(played, index)
                moves = islice(self._format_moves(_replay(start, played, index)), OPENING_PLIES)
                returns[start.key(), " ".join(moves)].append(float(played.returns[index, 0]))
        repeated = [opening for opening in returns if len(returns[opening]) > 1]
        repeated.sort(key=lambda opening: (-len(returns[opening]), opening))
        return [
            {
                "moves": opening[1],
                "games": len(returns[opening]),
                "player 0": round(sum(returns[opening]) / len(returns[opening]), 6),
            }
            for opening in repeated[:MAX_OPENINGS]
        ]

    def _agent_names(self, seat_learned_from: Player) -> tuple[str, ...]:
        """Returns the name of the agent in each seat; -1 stands for the newest experts in every seat."""
        own, opponents = generation_name(self._champion), self._players.config.games.opponents
        seats = range(self._game.spec.num_players)
        if seat_learned_from == -1 or opponents == SELF:
            return tuple(own for _ in seats)
        opponent = "earlier generation" if opponents == LEAGUE else opponents
        return tuple(own if seat == seat_learned_from else opponent for seat in seats)

    def _start_position(self, played: PlayedGames, index: int) -> State:
        return self._players.start_position(self._generation, _number(played, index))

    def _format_moves(self, steps: Iterable[tuple[State, JointAction]]) -> Iterator[str]:
        """Yields the players' actions as text, ply by ply, without those of chance."""
        for state, joint_action in steps:
            players = state.active_players
            if players != (CHANCE,):
                texts = [
                    self._game.format_action(state, player, action)
                    for player, action in zip(players, joint_action, strict=True)
                ]
                yield "/".join(texts)


def _number(played: PlayedGames, index: int) -> int:
    """Returns the number of a game within its generation."""
    return int(played.number[index] & (2**GAME_BITS - 1))


def _replay(state: State, played: PlayedGames, index: int) -> Iterator[tuple[State, JointAction]]:
    """Yields each position of a game from its start, with the joint action taken."""
    actions = played.moves_of(index).tolist()
    while actions:
        num_active = len(state.active_players)
        joint_action, actions = actions[:num_active], actions[num_active:]
        yield state, joint_action
        state = state.play(joint_action)

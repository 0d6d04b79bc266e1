"""Presents a generation's games: one of them move by move, and the most frequent openings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from moemcts.arena.records import GameRecord, key_of
from moemcts.arena.replays import Replay
from moemcts.game import CHANCE, JointAction, State
from moemcts.learn.loop.games import GAME_BITS, RESIGNED, PlayedGames
from moemcts.naming import SELF
from moemcts.runs.selfplay.players import LEAGUE, Players, name_of

OPENING_PLIES = 4
"""Plies that identify an opening."""
MAX_OPENINGS = 5
"""The number of openings recorded per generation."""


class Showing:
    """Some games of a generation, played by the champion's experts."""

    def __init__(self, players: Players, generation: int, champion: int) -> None:
        self._players = players
        self._game = players.game
        self._generation = generation
        self._champion = champion

    def replay(self, played: PlayedGames, index: int = 0) -> Replay:
        """Returns a game for replay."""
        start = self._start(played, index)
        joints = [joint for _, joint in _course(start, played, index)]
        learned_from = int(played.seat_learned_from[index])
        opponents = self._players.config.games.opponents
        other = "earlier generation" if opponents == LEAGUE else opponents
        own = name_of(self._champion)
        seats = range(self._game.spec.num_players)
        record = GameRecord(
            index=int(played.number[index]) & (2**GAME_BITS - 1),
            label="",
            agents=tuple(own if learned_from in (-1, seat) or opponents == SELF else other for seat in seats),
            opening="",
            start_key=key_of(start),
            focus=None,
            returns=tuple(played.returns[index].tolist()),
            outcome=None,
            plies=len(joints),
            truncated=False,
            moves=tuple(map(tuple, joints)),
            termination="resignation" if played.ending[index] == RESIGNED else "rules",
        )
        return Replay(game=self._game, start=start, record=record, event=f"self-play, {name_of(self._generation)}")

    def openings(self, chunks: Sequence[PlayedGames]) -> list[dict[str, Any]]:
        """Returns the most frequent first moves, each with its number of games and player 0's mean return.

        Only includes moves that begin more than one game from the same start.
        """
        found: dict[tuple[int, str], list[float]] = defaultdict(list)
        for played in chunks:
            for index in range(len(played)):
                start = self._start(played, index)
                texts = islice(self._texts(_course(start, played, index)), OPENING_PLIES)
                found[start.key(), " ".join(texts)].append(float(played.returns[index, 0]))
        often = sorted((one for one in found.items() if len(one[1]) > 1), key=lambda one: (-len(one[1]), one[0]))
        return [
            {"moves": moves, "games": len(returns), "player 0": round(sum(returns) / len(returns), 6)}
            for (_, moves), returns in often[:MAX_OPENINGS]
        ]

    def _start(self, played: PlayedGames, index: int) -> State:
        return self._players.start_position(self._generation, int(played.number[index]) & (2**GAME_BITS - 1))

    def _texts(self, course: Iterable[tuple[State, JointAction]]) -> Iterator[str]:
        """Yields the players' actions as text, ply by ply."""
        for state, joint in course:
            players = state.active_players
            if players != (CHANCE,):
                texts = [
                    self._game.format_action(state, player, action)
                    for player, action in zip(players, joint, strict=True)
                ]
                yield "/".join(texts)


def _course(state: State, played: PlayedGames, index: int) -> Iterator[tuple[State, JointAction]]:
    """Yields each position of a game from its start, with the joint action taken."""
    actions = played.moves_of(index).tolist()
    while actions:
        count = len(state.active_players)
        joint, actions = actions[:count], actions[count:]
        yield state, joint
        state = state.play(joint)

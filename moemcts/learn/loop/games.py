"""Games to learn from, played concurrently; each depends on its number and the generation, not on other games."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from moemcts.agents import Agent
from moemcts.arena.adjudication import Adjudication, Adjudicator
from moemcts.game import CHANCE, FloatArray, Game, IntArray, Player, State, after_step, first_state, random_action
from moemcts.learn.data.records import GameLog, Records
from moemcts.learn.loop.config import GamesConfig
from moemcts.play import Step, Table, chance_of, play, seats_of
from moemcts.validation import unsigned_key

GAME_BITS = 32
"""Bits of a game number that count games within a generation."""
ENDED, RESIGNED = 0, 1
"""How games end."""
_SETUP = 1
"""Part of the seed of draws that are not a player's."""


def game_number(generation: int, number: int) -> int:
    """Returns the number of a generation's game among those of all generations."""
    return (generation << GAME_BITS) + number


def generation_of(games: IntArray) -> IntArray:
    """Returns the generation of each game, `[N]`."""
    return np.asarray(games >> GAME_BITS)


@dataclass(frozen=True, kw_only=True)
class AgentPool:
    """The agents of self-play: the newest experts, and their opponents if there are any."""

    newest: Agent
    opponents: Sequence[Agent] = ()
    """One of them plays all seats but one; without opponents, the newest experts play all seats."""
    opponent_share: float = 1.0
    """Share of the games with these opponents."""


@dataclass(frozen=True, kw_only=True)
class PlayedGames:
    """Games that were played, and their samples."""

    records: Records
    number: IntArray
    """Among those of all generations, `[G]`."""
    num_samples: IntArray
    """Samples of each game, `[G]`."""
    plies: IntArray
    """Length of each game, `[G]`."""
    returns: FloatArray
    """Returns of the players, `[G, P]`."""
    course: IntArray
    """Hash that is equal for games of the same moves from the same start, `[G]`."""
    ending: IntArray
    """`ENDED` or `RESIGNED`, `[G]`."""
    resigner: IntArray
    """Player that would have resigned in a game without resignation; -1 for none, `[G]`."""
    seat_learned_from: IntArray
    """The seat of the newest experts; -1 if they play every seat, `[G]`."""
    num_moves: IntArray
    """Number of actions of all players and of chance, `[G]`."""
    moves: IntArray
    """These actions, game by game, ordered by player within a position, `[sum of num_moves]`."""

    def __len__(self) -> int:
        return len(self.number)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Returns everything as arrays, for a file."""
        games = {key: getattr(self, name) for name, key in _PER_GAME.items()}
        return self.records.arrays() | games | {"moves": self.moves}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Returns the games from what `arrays` returned."""
        games: dict[str, Any] = {name: arrays[key] for name, key in _PER_GAME.items()}
        return cls(records=Records.of_arrays(arrays), moves=arrays["moves"], **games)

    def first(self, num_games: int) -> Self:
        """Returns the first `num_games` games."""
        if num_games >= len(self):
            return self
        games: dict[str, Any] = {name: getattr(self, name)[:num_games] for name in _PER_GAME}
        records = self.records.first(int(self.num_samples[:num_games].sum()))
        return type(self)(records=records, moves=self.moves[: int(self.num_moves[:num_games].sum())], **games)

    def moves_of(self, index: int) -> IntArray:
        """Returns the actions of a game, `[num_moves]`."""
        end = int(self.num_moves[: index + 1].sum())
        return self.moves[end - int(self.num_moves[index]) : end]


_PER_GAME = {
    "number": "game_number",
    "num_samples": "game_num_samples",
    "plies": "game_plies",
    "returns": "game_returns",
    "course": "game_course",
    "ending": "game_ending",
    "resigner": "game_resigner",
    "seat_learned_from": "game_learner",
    "num_moves": "game_num_moves",
}
"""Fields with one entry per game, and their names in files."""


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Progress of some games."""

    num_games: int = 0
    """Finished games."""
    num_samples: int = 0
    """Samples so far, including those of unfinished games."""
    num_plies: int = 0


def start_position(
    game: Game, config: GamesConfig, number: int, *, generation: int, seed: int, openings: Sequence[State] = ()
) -> State:
    """Returns the start position of game `number`, after its random moves."""
    starts = _StartPositions(game, config, (seed, generation), openings)
    return starts.state(starts.rng(number))


def play_games(
    game: Game,
    agents: AgentPool,
    config: GamesConfig,
    numbers: range,
    *,
    generation: int,
    seed: int,
    openings: Sequence[State] = (),
    on_progress: Callable[[Counts], None] = lambda counts: None,
) -> PlayedGames:
    """Returns the games of these numbers, in that order.

    A game depends on the seed, the generation, its number and its players. Decisions with a policy and several legal
    actions are samples; in games with opponents, only those of the newest experts. Raises AgentFailure if an agent
    fails.
    """
    ((_, played),) = play_chunks(
        game, agents, config, [numbers], generation=generation, seed=seed, openings=openings, on_progress=on_progress
    )
    return played


def play_chunks(
    game: Game,
    agents: AgentPool,
    config: GamesConfig,
    chunks: Sequence[range],
    *,
    generation: int,
    seed: int,
    openings: Sequence[State] = (),
    on_progress: Callable[[Counts], None] = lambda counts: None,
) -> Iterator[tuple[int, PlayedGames]]:
    """Yields the index and the games of each chunk when all of these are over; see `play_games`.

    Games of the next chunk take the places of finished ones, so that batches are full until the end of the last chunk.
    """
    factory = _GameFactory(game, agents, config, generation, seed, openings)
    tables: dict[int, _Game] = {}
    remaining = deque(enumerate(chunks))
    yielded = Counts()
    """Counts of the chunks that were yielded."""

    def open_tables() -> Iterator[_Game]:
        for numbers in chunks:
            for number in numbers:
                tables[number] = factory.open(number)
                yield tables[number]

    def is_over(numbers: range) -> bool:
        return all(number in tables and tables[number].is_over for number in numbers)

    num_plies = 0
    # Games that are over at their start have no steps; they are yielded last.
    for steps in play(game, open_tables(), max_parallel=config.parallel, in_flight=config.in_flight or 1):
        num_plies += len(steps)
        for step in steps:
            step.table.log_step(step, factory.discount)
        on_progress(
            Counts(
                num_games=yielded.num_games + sum(table.is_over for table in tables.values()),
                num_samples=yielded.num_samples + sum(table.log.num_samples for table in tables.values()),
                num_plies=num_plies,
            )
        )
        while remaining and is_over(remaining[0][1]):
            chunk, numbers = remaining.popleft()
            played = _join_games(game, [tables.pop(number) for number in numbers])
            yielded = Counts(
                num_games=yielded.num_games + len(played), num_samples=yielded.num_samples + len(played.records)
            )
            yield chunk, played
    for chunk, numbers in remaining:
        yield chunk, _join_games(game, [tables[number] for number in numbers])


@dataclass(eq=False, kw_only=True)
class _Game(Table):
    """A game in progress whose decisions are logged."""

    index: int
    log: GameLog
    seat_learned_from: Player
    """-1 if it is every seat."""
    adjudicator: Adjudicator | None
    is_played_on: bool
    course: Any = field(default_factory=lambda: hashlib.blake2b(digest_size=8))
    moves: list[int] = field(default_factory=list)
    resigner: Player = -1

    @property
    def is_over(self) -> bool:
        """Whether the game has ended, or a player has resigned."""
        return not (self.is_open and self.players)

    def log_step(self, step: Step[_Game], discount: float) -> None:
        """Logs the decisions of a step, and checks for resignation; raises AgentFailure if an agent has failed."""
        step.check()
        actions = [decision.action for decision in step.decisions]
        self.course.update(np.array(actions, dtype=np.int32).tobytes())
        self.moves += actions
        samples = [
            (player, decision)
            for player, decision, num_legal in zip(step.players, step.decisions, step.num_legal, strict=True)
            if player != CHANCE
            and self.seat_learned_from in (-1, player)
            and num_legal > 1
            and decision.policy is not None
        ]
        self.log.add(step.state, samples)
        if self.paid is not None or discount != 1:
            self.log.pay(step.state, self.state, discount)
        self._check_resignation(step)
        if self.is_over:
            # The table is kept until its chunk is over; its players' search trees need not be.
            for seat in self.seats:
                seat.memory = None

    def _check_resignation(self, step: Step[_Game]) -> None:
        # A player with a forced move has not searched the position, and may have no value.
        if self.adjudicator is None or self.resigner >= 0 or not self.players or step.num_legal == (1,):
            return
        if self.adjudicator.note(step.players, step.decisions) == "resignation":
            self.resigner = step.players[0]
            if not self.is_played_on:
                self.close()

    def outcome(self) -> FloatArray | None:
        """Returns the outcome if a player has resigned, `[P]`, else None."""
        if self.is_open:
            return None
        outcome = np.ones(len(self.seats), dtype=np.float32)
        outcome[self.resigner] = -1.0
        return outcome


class _StartPositions:
    """Start positions of games."""

    def __init__(self, game: Game, config: GamesConfig, key: tuple[int, int], openings: Sequence[State]) -> None:
        self._game = game
        self._config = config
        self._key = key
        self._openings = openings

    def rng(self, index: int) -> np.random.Generator:
        """Returns the generator for a game's setup, which draws its start first."""
        return np.random.default_rng(np.random.SeedSequence((*self._key, index, self._game.spec.num_players, _SETUP)))

    def state(self, rng: np.random.Generator) -> State:
        """Draws a start position."""
        if self._openings:
            state: State = self._openings[int(rng.integers(len(self._openings)))]
        else:
            state = first_state(self._game, int(rng.integers(2**63)))
        for _ in range(int(rng.integers(self._config.random_plies + 1))):
            players = state.active_players
            following = after_step(self._game.spec, state, [random_action(state, player, rng) for player in players])
            if not following.active_players:
                break
            state = following
        return state


class _GameFactory:
    """Creates games at their start, with agents in their seats."""

    def __init__(
        self, game: Game, agents: AgentPool, config: GamesConfig, generation: int, seed: int, openings: Sequence[State]
    ) -> None:
        self._game = game
        self._agents = agents
        self._config = config
        self._key = (seed, generation)
        self._starts = _StartPositions(game, config, self._key, openings)
        self.discount = game.spec.discount
        self._generation = generation
        self._adjudication: Adjudication | None = None
        if config.resign_value is not None:
            self._adjudication = Adjudication(
                draw_moves=0, resign_value=config.resign_value, resign_moves=config.resign_moves
            )

    def open(self, index: int) -> _Game:
        """Returns a game at its start."""
        num_players = self._game.spec.num_players
        rng = self._starts.rng(index)
        state = self._starts.state(rng)
        agents, seat = self._draw_seating(rng, num_players)
        table = _Game(
            state=state,
            agents=agents,
            seats=seats_of(num_players, *self._key, index),
            chance=chance_of(num_players, *self._key, index),
            index=index,
            log=GameLog(game_number(self._generation, index)),
            seat_learned_from=seat,
            adjudicator=None if self._adjudication is None else Adjudicator(self._adjudication),
            is_played_on=bool(rng.random() < self._config.played_on),
        )
        table.course.update(unsigned_key(state.key(), self._game.spec.name).to_bytes(8, "little"))
        return table

    def _draw_seating(self, rng: np.random.Generator, num_players: int) -> tuple[list[Agent], Player]:
        """Draws the agent of each seat, and the seat that is learned from: -1 if it is every seat."""
        agents = self._agents
        if not agents.opponents or rng.random() >= agents.opponent_share:
            return [agents.newest] * num_players, -1
        seat = int(rng.integers(num_players))
        opponent = agents.opponents[int(rng.integers(len(agents.opponents)))]
        return [agents.newest if player == seat else opponent for player in range(num_players)], seat


def _join_games(game: Game, tables: Sequence[_Game]) -> PlayedGames:
    outcomes = [table.outcome() for table in tables]
    records = [table.log.finish(game, table.state, outcome) for table, outcome in zip(tables, outcomes, strict=True)]
    returns = [table.returns() if outcome is None else outcome for table, outcome in zip(tables, outcomes, strict=True)]
    return PlayedGames(
        records=Records.join(records),
        number=np.array([table.log.number for table in tables], dtype=np.int64),
        num_samples=np.array([len(samples) for samples in records], dtype=np.int64),
        plies=np.array([table.state.ply for table in tables], dtype=np.int64),
        returns=np.array(returns, dtype=np.float32),
        course=np.array([int.from_bytes(table.course.digest(), "little", signed=True) for table in tables]),
        ending=np.array([ENDED if table.is_open else RESIGNED for table in tables], dtype=np.int64),
        resigner=np.array([table.resigner if table.is_open else -1 for table in tables], dtype=np.int64),
        seat_learned_from=np.array([table.seat_learned_from for table in tables], dtype=np.int64),
        num_moves=np.array([len(table.moves) for table in tables], dtype=np.int64),
        moves=np.array([action for table in tables for action in table.moves], dtype=np.int64),
    )

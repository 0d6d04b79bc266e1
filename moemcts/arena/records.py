"""Records of games: agents by seat, moves and results."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, Self, get_args

from moemcts.agents import Agent, Decision
from moemcts.arena.openings import convert_game_errors
from moemcts.arena.outcomes import Outcome
from moemcts.game import Action, Game, Player, State, first_state
from moemcts.validation import unsigned_key

THOUGHT_FIELDS = ("value", "simulations", "nodes", "depth", "phase", "expert")
"""Fields of a decision that files of games store, in this order."""


@dataclass(frozen=True, kw_only=True)
class Lineup:
    """A game to be played: its start position and its agents."""

    agents: Sequence[Agent]
    """One per player."""
    opening: State | int = 0
    """A start position, or the seed for one."""
    opening_name: str = ""
    seed: int = 0
    """Together with the seed of the match, determines the randomness of every seat."""
    label: str = ""
    focus: Player | None = None
    """The player that the result is about: the game stops as soon as this player's return is decided."""

    def start(self, game: Game) -> State:
        """Returns the start position; raises GameFailure if the game raises an error."""
        with convert_game_errors(game):
            return first_state(game, self.opening) if isinstance(self.opening, int) else self.opening


@dataclass(frozen=True, kw_only=True)
class GameRecord:
    """The record of a finished game."""

    index: int
    """The index of its lineup, from 0."""
    label: str
    agents: tuple[str, ...]
    """Names, by player."""
    opening: str
    start_key: int
    """The result of `key_of` for the start position, independent of how it was reached."""
    focus: Player | None
    returns: tuple[float, ...]
    """The returns when the game stopped, by player."""
    outcome: Outcome | None
    """For the focus player; None if there is none."""
    plies: int
    """Moves or simultaneous steps since the opening."""
    truncated: bool
    """Whether it ended by the limit of plies."""
    moves: tuple[tuple[int, ...], ...]
    """Joint actions, one per ply."""
    termination: str = "rules"
    """Why it ended: `rules`, `decided` (for the focus player) or `length`; by adjudication, `draw` or `resignation`; if
    an agent failed, `crash`, `timeout` or `illegal move`."""
    failure: str = ""
    """The agent that failed, and how."""
    decisions: tuple[tuple[Decision, ...], ...] = ()
    """As `moves`, with what the agents computed: values rounded to four decimals, no policies; empty if not kept, or if
    no decision has a value."""

    def to_json(self) -> dict[str, Any]:
        """Returns the record as JSON values; moves are a single string with plies separated by spaces."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        values["start_key"] = f"{self.start_key:016x}"
        values["moves"] = " ".join(",".join(map(str, joint)) for joint in self.moves)
        del values["decisions"]
        if self.decisions:
            values["thoughts"] = [[_thought_values(decision) for decision in joint] for joint in self.decisions]
        return values | {"agents": list(self.agents), "returns": list(self.returns)}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Returns the record from output of `to_json`; raises KeyError, TypeError or ValueError for anything else."""
        _check_types(values)
        kept = {
            entry.name: values[entry.name] for entry in fields(cls) if entry.default is MISSING or entry.name in values
        }
        agents, returns = tuple(values["agents"]), tuple(map(float, values["returns"]))
        is_list = isinstance(values["returns"], list)
        if not is_list or len(returns) != len(agents) or not all(map(math.isfinite, returns)):
            raise ValueError(f"expected {len(agents)} returns, one per player, got {values['returns']}")
        moves = tuple(tuple(map(int, joint.split(","))) for joint in values["moves"].split())
        parsed = {
            "start_key": int(values["start_key"], 16),
            "agents": agents,
            "returns": returns,
            "moves": moves,
            "decisions": _parse_decisions(moves, values.get("thoughts") or ()),
        }
        return cls(**kept | parsed)


def check_moves(start: State, moves: Sequence[Sequence[Action]]) -> None:
    """Raises ValueError for the first joint action that is illegal, when played from a start position."""
    state = start
    for ply, joint in enumerate(moves):
        players = state.active_players
        if len(players) != len(joint) or any(
            action not in state.legal_actions(player) for player, action in zip(players, joint, strict=True)
        ):
            raise ValueError(f"illegal actions {joint} after {ply} plies")
        state = state.play(joint)


def key_of(start: State) -> int:
    """Returns the `position_key` of a start position as an unsigned 64-bit integer."""
    return unsigned_key(start.position_key())


def num_duplicates(games: Sequence[GameRecord]) -> int:
    """Returns how many games repeat an earlier one: same agents in the same seats, same start, same moves."""
    return len(games) - len(set(map(_game_key, games)))


def informative(games: Sequence[GameRecord]) -> list[GameRecord]:
    """Returns the informative games: all, or only the first from each start between the same agents if these are
    deterministic.

    Repeated starts decide this: the agents count as deterministic unless a start was played in more than one way.
    """
    repeats = RepeatedStarts()
    distinct = [game for game in games if repeats.is_new(game)]
    return distinct if repeats.is_deterministic else list(games)


class RepeatedStarts:
    """The different ways in which each start was played by the same agents."""

    def __init__(self) -> None:
        self.is_deterministic = True
        """Whether all repeated starts seen so far were played as before."""
        self._moves: dict[Hashable, tuple[tuple[int, ...], ...]] = {}

    def is_new(self, game: GameRecord) -> bool:
        """Returns whether this start has not been played from these seats before, and compares the moves if it has."""
        start = game.agents, game.label, game.focus, game.start_key
        if start not in self._moves:
            self._moves[start] = game.moves
            return True
        self.is_deterministic &= self._moves[start] == game.moves
        return False


def boards_of(games: Sequence[GameRecord]) -> list[str]:
    """Returns the board of each game: the name of its opening, or of an earlier one with exactly the same games.

    An opening that was drawn twice is played the same way by deterministic agents, which makes it a single observation.
    """
    board_by_games: dict[Hashable, str] = {}
    boards = {
        opening: board_by_games.setdefault(distinct_games, opening)
        for opening, distinct_games in _distinct_games(games).items()
    }
    return [boards[game.opening] for game in games]


def observations_of(games: Sequence[GameRecord]) -> list[Hashable]:
    """Returns a key for each game, equal for those that are one observation: a seat on one board of `boards_of`."""
    distinct_games = _distinct_games(games)
    return [(distinct_games[game.opening], game.focus) for game in games]


def terminations(games: Sequence[GameRecord]) -> dict[str, int]:
    """Returns the number of games by termination, the most frequent first."""
    counts = Counter(game.termination for game in games)
    return {name: counts[name] for name in sorted(counts, key=lambda name: (-counts[name], name))}


def _distinct_games(games: Sequence[GameRecord]) -> dict[str, frozenset[Hashable]]:
    """Returns the keys of the distinct games that were played on each opening."""
    keys: defaultdict[str, set[Hashable]] = defaultdict(set)
    for game in games:
        keys[game.opening].add(_game_key(game))
    return {opening: frozenset(distinct) for opening, distinct in keys.items()}


def _game_key(game: GameRecord) -> Hashable:
    """Returns a key of a game, equal for games that repeat each other."""
    return game.agents, game.label, game.focus, game.start_key, game.moves


def _thought_values(decision: Decision) -> list[Any] | None:
    """Returns what is stored of a decision besides its action; None without a value."""
    if decision.value is None:
        return None
    return [getattr(decision, name) for name in THOUGHT_FIELDS]


def _check_types(values: dict[str, Any]) -> None:
    """Raises ValueError for an entry of the wrong type, KeyError for one that is missing."""
    for name in ("index", "plies"):
        if type(values[name]) is not int or values[name] < 0:
            raise ValueError(f"expected {name} as a whole number, got {values[name]!r}")
    for name in ("label", "opening", "termination", "failure"):
        if not isinstance(values.get(name, ""), str):
            raise ValueError(f"expected {name} as text, got {values[name]!r:.40}")
    if values["outcome"] is not None and values["outcome"] not in get_args(Outcome):
        raise ValueError(f"expected an outcome {', '.join(get_args(Outcome))} or none, got {values['outcome']!r:.40}")


def _parse_decisions(
    moves: Sequence[Sequence[Action]], thoughts: Sequence[Sequence[Sequence[Any] | None]]
) -> tuple[tuple[Decision, ...], ...]:
    """Returns the decisions of each ply from what is stored of them; empty if nothing is."""
    if not thoughts:
        return ()
    return tuple(
        tuple(_parse_decision(action, thought) for action, thought in zip(joint, ply_thoughts, strict=True))
        for joint, ply_thoughts in zip(moves, thoughts, strict=True)
    )


def _parse_decision(action: Action, thought: Sequence[Any] | None) -> Decision:
    if thought is None:
        return Decision(action=action)
    value, simulations, nodes, depth, phase, expert = thought
    if not math.isfinite(float(value)):
        raise ValueError(f"expected a finite value, got {value}")
    return Decision(
        action=action,
        value=float(value),
        simulations=simulations,
        nodes=nodes,
        depth=depth,
        phase=str(phase),
        expert=expert,
    )

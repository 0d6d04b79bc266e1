"""Many games at once, in lock-step: all positions that wait for one agent are one batch."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, Literal, Self

import numpy as np

from moemcts.agents import Agent, Decision, Seat
from moemcts.arena.adjudication import Adjudication, Adjudicator, check_adjudicable
from moemcts.errors import AgentFailure, Failure
from moemcts.game import Action, FloatArray, Game, Player, State

_64_BITS = 2**64 - 1
THOUGHT_FIELDS = ("value", "simulations", "nodes", "depth", "phase", "expert")
"""What files of games keep of a decision, in this order."""

Outcome = Literal["win", "tie", "loss"]
OutcomeRule = Callable[[FloatArray, Player], Outcome | None]


def last_one_standing(returns: FloatArray, player: Player) -> Outcome | None:
    """Returns what a game was for `player`, or None where nobody has a positive return.

    A win is a positive return that no other exceeds; a loss, that only others have one. None means a tie if the
    game is over, and a loss if `player` is out (its return is negative) while others play on: this is how
    `play_games` reads it. Where the last players of a free-for-all fall together, or time runs out, all returns
    are negative and the game is a tie for those who were in it until then.
    """
    if returns[player] > 0 and returns[player] >= returns.max():
        return "win"
    return "loss" if returns.max() > 0 else None


@dataclass(frozen=True, kw_only=True)
class Lineup:
    """One game to be played: where it starts and who sits where."""

    agents: Sequence[Agent]
    """One per player."""
    opening: State | int = 0
    """A start position, or the seed of one."""
    opening_name: str = ""
    seed: int = 0
    """Decides the randomness of every seat, together with the seed of `play_games`."""
    label: str = ""
    focus: Player | None = None
    """The player whom the game is about: it stops as soon as this player's return is decided."""


@dataclass(frozen=True, kw_only=True)
class GameRecord:
    """What is kept of a game."""

    index: int
    """The position of its lineup among the lineups, from 0."""
    label: str
    agents: tuple[str, ...]
    """Names, by player."""
    opening: str
    start_key: int
    """The key of the start position, not negative."""
    focus: Player | None
    returns: tuple[float, ...]
    """What was decided when the game stopped, by player."""
    outcome: Outcome | None
    """For the focus player; None without one."""
    plies: int
    """Moves or simultaneous steps played since the opening."""
    truncated: bool
    """Whether the limit of plies ended it."""
    moves: tuple[tuple[int, ...], ...]
    """Joint actions, one per ply."""
    termination: str = "rules"
    """Why it ended: `rules`, `decided` (for the focus player) or `length`; by adjudication `draw` or `resignation`;
    where an agent failed, `crash`, `timeout` or `illegal move`."""
    failure: str = ""
    """Which agent failed, and how."""
    decisions: tuple[tuple[Decision, ...], ...] = ()
    """As `moves`, with what the agents knew: values with four digits, no policies; empty where that is not kept or
    nobody has expected anything."""

    def to_json(self) -> dict[str, Any]:
        """Returns the record as JSON values; moves are one string, plies apart by spaces."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        values["start_key"] = f"{self.start_key:016x}"
        values["moves"] = " ".join(",".join(map(str, joint)) for joint in self.moves)
        del values["decisions"]
        if self.decisions:
            values["thoughts"] = [[_thought(decision) for decision in joint] for joint in self.decisions]
        return values | {"agents": list(self.agents), "returns": list(self.returns)}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Returns what `to_json` wrote; raises KeyError, TypeError or ValueError for anything else."""
        read = {
            entry.name: values[entry.name] for entry in fields(cls) if entry.default is MISSING or entry.name in values
        }
        read["start_key"] = int(values["start_key"], 16)
        read["agents"] = tuple(values["agents"])
        read["returns"] = tuple(float(value) for value in values["returns"])
        read["moves"] = tuple(tuple(map(int, joint.split(","))) for joint in values["moves"].split())
        thoughts = values.get("thoughts") or ()
        read["decisions"] = tuple(
            tuple(_decision(action, thought) for action, thought in zip(joint, known, strict=True))
            for joint, known in zip(read["moves"] if thoughts else (), thoughts, strict=True)
        )
        return cls(**read)


def _thought(decision: Decision) -> list[Any] | None:
    """Returns what is written of a decision beside its action; nothing of one without a value."""
    if decision.value is None:
        return None
    return [getattr(decision, name) for name in THOUGHT_FIELDS]


def _decision(action: Action, thought: Sequence[Any] | None) -> Decision:
    if thought is None:
        return Decision(action=action)
    value, simulations, nodes, depth, phase, expert = thought
    return Decision(
        action=action,
        value=float(value),
        simulations=simulations,
        nodes=nodes,
        depth=depth,
        phase=str(phase),
        expert=expert,
    )


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far the games are, after each round."""

    num_finished: int
    num_running: int
    """That took part in the round."""
    num_plies: int
    """Played in all games so far."""


def play_games(
    game: Game,
    lineups: Iterable[Lineup],
    *,
    seed: int = 0,
    max_parallel: int = 256,
    max_plies: int | None = None,
    rule: OutcomeRule = last_one_standing,
    adjudication: Adjudication | None = None,
    keep_thoughts: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
) -> Generator[GameRecord, None, None]:
    """Yields the record of each game when it ends; up to `max_parallel` are played side by side.

    In a round every agent is asked once, for all views that wait for it. Each (game, player) has a `Seat` of its
    own whose randomness comes from `(seed, lineup.seed, player)`, so a game is the same whatever runs beside it,
    as far as its agents keep what `Seat` asks of them. Actions are not checked for legality. A game in which an
    agent fails (AgentFailure) ends there: the seats that failed lose with -1, the others share +1.
    Raises ValueError if a lineup does not seat every player or an agent answers with another number of actions, and
    UsageError for `adjudication` in a game that cannot be adjudicated.
    """
    if adjudication is not None:
        check_adjudicable(game)
    if max_parallel < 1:
        raise ValueError(f"expected room for at least one game, got max_parallel={max_parallel}")
    limit = game.spec.max_plies if max_plies is None else max_plies
    waiting = enumerate(lineups)
    running: list[_Running] = []
    batches: dict[int, _Batch] = {}
    num_finished = num_plies = 0
    while True:
        while len(running) < max_parallel and (following := next(waiting, None)) is not None:
            one = _start(game, *following, seed, batches)
            one.adjudicator = None if adjudication is None else Adjudicator(adjudication)
            one.keeps_thoughts = keep_thoughts
            if one.goes_on(limit):
                running.append(one)
            else:
                num_finished += 1
                yield one.record(rule)
        if not running:
            return
        _play_round(game, running, batches.values())
        num_plies += len(running)
        playing: list[_Running] = []
        finished: list[_Running] = []
        for one in running:
            (playing if one.goes_on(limit) else finished).append(one)
        running = playing
        for one in finished:
            num_finished += 1
            yield one.record(rule)
        if on_progress is not None:
            on_progress(
                Progress(num_finished=num_finished, num_running=len(playing) + len(finished), num_plies=num_plies)
            )


@dataclass(slots=True)
class _Running:
    index: int
    lineup: Lineup
    state: State
    players: tuple[Player, ...]
    """Who moves now."""
    seats: list[Seat]
    start_key: int
    batches: list[_Batch]
    """Of the agent of each player."""
    moves: list[tuple[int, ...]] = field(default_factory=list)
    keeps_thoughts: bool = False
    decisions: list[tuple[Decision, ...]] = field(default_factory=list)
    failures: dict[Player, Failure] = field(default_factory=dict)
    adjudicator: Adjudicator | None = None
    adjudicated: tuple[Literal["draw", "resignation"], Player] | None = None
    """How, and after whose move."""

    def play(self, decisions: Sequence[Decision]) -> None:
        mover = self.players[0]
        joint = tuple(decision.action for decision in decisions)
        self.moves.append(joint)
        if self.keeps_thoughts:
            self.decisions.append(tuple(map(_kept, decisions)))
        self.state = self.state.play(joint)
        self.players = self.state.active_players
        # A game that the rules have ended keeps the result they gave it.
        if self.adjudicator is not None and (how := self.adjudicator.note(mover, decisions[0], self.state.ply)):
            self.adjudicated = (how, mover) if self.players else None

    def goes_on(self, limit: int) -> bool:
        if self.failures or self.adjudicated or not self.players or len(self.moves) >= limit:
            return False
        focus = self.lineup.focus
        # A decided player is never active again, so an active one need not be asked about.
        return focus is None or focus in self.players or not self.state.returns()[focus]

    def record(self, rule: OutcomeRule) -> GameRecord:
        returns = self._returns()
        focus = self.lineup.focus
        termination = self._termination()
        outcome = None if focus is None else rule(returns, focus) or ("loss" if termination == "decided" else "tie")
        return GameRecord(
            index=self.index,
            label=self.lineup.label,
            agents=tuple(agent.name for agent in self.lineup.agents),
            opening=self.lineup.opening_name,
            start_key=self.start_key,
            focus=focus,
            returns=tuple(float(value) for value in returns),
            outcome=outcome,
            plies=len(self.moves),
            truncated=termination == "length",
            moves=tuple(self.moves),
            termination=termination,
            failure="; ".join(
                f"{self.lineup.agents[player].name} in seat {player}: {failure.reason}"
                for player, failure in self.failures.items()
            ),
            decisions=tuple(self.decisions)
            if any(decision.value is not None for joint in self.decisions for decision in joint)
            else (),
        )

    def _termination(self) -> str:
        if self.failures:
            return next(iter(self.failures.values())).kind
        if self.adjudicated:
            return self.adjudicated[0]
        if not self.players:
            return "rules"
        focus = self.lineup.focus
        return "decided" if focus is not None and self.state.returns()[focus] else "length"

    def _returns(self) -> FloatArray:
        num_players = len(self.seats)
        if self.adjudicated and self.adjudicated[0] == "draw":
            return np.zeros(num_players, dtype=np.float32)
        losers = [self.adjudicated[1]] if self.adjudicated else list(self.failures)
        if not losers:
            return self.state.returns()
        returns = np.full(num_players, 1 / max(num_players - len(losers), 1), dtype=np.float32)
        returns[losers] = -1
        return returns


class _Batch:
    """What one agent is asked in one round."""

    __slots__ = ("agent", "pairs", "places", "seats")

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.clear()

    def clear(self) -> None:
        self.pairs: list[tuple[State, Player]] = []
        self.seats: list[Seat] = []
        self.places: list[int] = []
        """Of each answer among the actions of all games."""


def _start(game: Game, index: int, lineup: Lineup, seed: int, batches: dict[int, _Batch]) -> _Running:
    num_players = game.spec.num_players
    if len(lineup.agents) != num_players:
        raise ValueError(f"expected an agent for each of {num_players} players, got {len(lineup.agents)}")
    opening = lineup.opening
    state = game.initial_state(opening) if isinstance(opening, int) else opening
    seats = [
        Seat(player, np.random.default_rng(np.random.SeedSequence([seed, lineup.seed, player])))
        for player in range(num_players)
    ]
    # Batches keep their agents alive, so no two agents ever share an id.
    own = [batches.setdefault(id(agent), _Batch(agent)) for agent in lineup.agents]
    return _Running(index, lineup, state, state.active_players, seats, state.key() & _64_BITS, own)


def _play_round(game: Game, running: Sequence[_Running], batches: Iterable[_Batch]) -> None:
    place = 0
    for one in running:
        state, own, seats = one.state, one.batches, one.seats
        for player in one.players:
            batch = own[player]
            batch.pairs.append((state, player))
            batch.seats.append(seats[player])
            batch.places.append(place)
            place += 1
    answers: list[Decision] = [_NONE] * place
    failures: dict[int, Failure] = {}
    for batch in batches:
        if batch.places:
            _ask(game, batch, answers, failures)
    place = 0
    for one in running:
        places = range(place, place + len(one.players))
        place = places.stop
        if failures and any(at in failures for at in places):
            one.failures = {
                player: failures[at] for player, at in zip(one.players, places, strict=True) if at in failures
            }
            continue
        one.play(answers[places.start : places.stop])


def _ask(game: Game, batch: _Batch, answers: list[Decision], failures: dict[int, Failure]) -> None:
    try:
        decisions = batch.agent.act(game.views(batch.pairs), batch.seats)
    except AgentFailure as failure:
        decisions = failure.decisions
        failures.update((batch.places[row], fault) for row, fault in failure.failures.items())
    if len(decisions) != len(batch.places):
        raise ValueError(
            f"expected {len(batch.places)} decisions, one per view, from agent {batch.agent.name!r}, "
            f"got {len(decisions)}"
        )
    for place, decision in zip(batch.places, decisions, strict=True):
        answers[place] = decision
    batch.clear()


def _kept(decision: Decision) -> Decision:
    """Returns what records keep of a decision."""
    value = decision.value
    return replace(decision, policy=None, value=None if value is None else round(value, 4))


_NONE = Decision(action=-1)
"""Stands where an agent has failed."""

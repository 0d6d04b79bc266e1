"""Plays the games of a match to their end, to an adjudication, or until they are decided for the focus player."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from moemcts.agent_calls import check_time_limit
from moemcts.agents import Decision
from moemcts.arena.adjudication import Adjudication, Adjudicator, check_adjudicable, to_json
from moemcts.arena.outcomes import Score, last_one_standing, outcome_of
from moemcts.arena.records import GameRecord, Lineup, key_of
from moemcts.errors import Failure
from moemcts.game import FloatArray, Game, Player
from moemcts.play import Step, Table, chance_of, play, seats_of


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """The conditions under which the games of a match are played, whoever plays them."""

    seed: int = 0
    score: Score = last_one_standing
    max_parallel: int = 256
    max_plies: int | None = None
    adjudication: Adjudication | None = None
    agent_timeout: float | None = None
    """Time limit per decision in seconds; an agent that exceeds it loses the game."""
    keep_thoughts: bool = False
    in_flight: int = 1
    """Number of groups of games: while positions of one are being evaluated, another is searched. Games are the same,
    up to differences of evaluators between batch sizes."""

    def __post_init__(self) -> None:
        if self.agent_timeout is not None:
            check_time_limit(self.agent_timeout)

    def to_json(self) -> dict[str, Any]:
        """Returns the entries in the header of a match's file: all conditions that games depend on."""
        limited = {} if self.agent_timeout is None else {"agent_timeout": self.agent_timeout}
        scored = {} if self.score is last_one_standing else {"score": _name_of(self.score)}
        return {"seed": self.seed, "max_plies": self.max_plies} | to_json(self.adjudication) | limited | scored


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Progress of the games, after each round."""

    num_finished: int
    num_running: int
    """Games that took part in the round."""
    num_plies: int
    """Plies of all games so far."""


def play_games(
    game: Game,
    lineups: Sequence[Lineup],
    conditions: Conditions = Conditions(),
    *,
    indices: Sequence[int] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Generator[GameRecord, None, None]:
    """Yields the record of each game when it ends; `indices` selects the lineups to play, by default all.

    Each (game, player) has its own `Seat`, with randomness from `(seed, lineup.seed, player)`, so a game does not
    depend on others that run in parallel, provided that its agents follow the rules of `Seat`. A game in which an agent
    fails ends there: the failed seats and their team mates lose with -1, players decided before keep their returns, and
    the others share what those lost.

    Raises ValueError if a lineup does not seat every player, UsageError for `adjudication` in a game that cannot be
    adjudicated.
    """
    if conditions.adjudication is not None:
        check_adjudicable(game)
    limit = game.spec.max_plies if conditions.max_plies is None else conditions.max_plies
    finished_at_start: list[_RunningGame] = []

    def tables() -> Iterator[_RunningGame]:
        for index in range(len(lineups)) if indices is None else indices:
            running_game = _start(game, index, lineups[index], conditions)
            running_game.close_if_done(limit)
            if running_game.is_open:
                yield running_game
            else:
                finished_at_start.append(running_game)

    num_finished = num_plies = 0
    for steps in play(
        game,
        tables(),
        max_parallel=conditions.max_parallel,
        time_limit=conditions.agent_timeout,
        in_flight=conditions.in_flight,
    ):
        num_plies += len(steps)
        for step in steps:
            step.table.record_step(step)
            step.table.close_if_done(limit)
        finished = [*finished_at_start, *(step.table for step in steps if not step.table.is_open)]
        finished_at_start.clear()
        for running_game in finished:
            num_finished += 1
            yield running_game.record(conditions.score)
        if on_progress is not None:
            on_progress(Progress(num_finished=num_finished, num_running=len(steps), num_plies=num_plies))
    for running_game in finished_at_start:
        yield running_game.record(conditions.score)


@dataclass(eq=False, kw_only=True)
class _RunningGame(Table):
    """A game of a match that is being played."""

    index: int
    lineup: Lineup
    adjudicator: Adjudicator | None
    keeps_thoughts: bool
    sides: Sequence[Sequence[Player]]
    """Groups of players who win and lose together."""
    start_key: int = field(init=False)
    moves: list[tuple[int, ...]] = field(default_factory=list, init=False)
    decisions: list[tuple[Decision, ...]] = field(default_factory=list, init=False)
    failures: dict[Player, Failure] = field(default_factory=dict, init=False)
    adjudicated: tuple[Literal["draw", "resignation"], Player] | None = field(default=None, init=False)
    """How, and after whose move."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.start_key = key_of(self.state)

    def record_step(self, step: Step[_RunningGame]) -> None:
        self.failures = step.failures
        if self.failures:
            return
        self.moves.append(tuple(decision.action for decision in step.decisions))
        if self.keeps_thoughts:
            self.decisions.append(tuple(map(_without_policy, step.decisions)))
        how = self.adjudicator and self.adjudicator.note(step.players, step.decisions)
        # A game that ended by the rules keeps its result.
        if how and self.players:
            self.adjudicated = how, step.players[0]

    def close_if_done(self, limit: int) -> None:
        focus = self.lineup.focus
        # Decided players are never active, so `is_decided` need not be called for an active one.
        is_decided = focus is not None and focus not in self.players and self.state.is_decided(focus)
        if self.failures or self.adjudicated or not self.players or len(self.moves) >= limit or is_decided:
            self.close()

    def record(self, score: Score) -> GameRecord:
        returns = self._returns()
        focus = self.lineup.focus
        termination = self._termination()
        outcome = None
        if focus is not None:
            outcome = outcome_of(score(returns, focus))
            # Nobody has won yet, but the focus player no longer can.
            outcome = "loss" if outcome == "tie" and termination == "decided" else outcome
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
        return "decided" if focus is not None and self.state.is_decided(focus) else "length"

    def _returns(self) -> FloatArray:
        num_players = len(self.seats)
        if self.adjudicated and self.adjudicated[0] == "draw":
            return np.zeros(num_players, dtype=np.float32)
        failed = {self.adjudicated[1]} if self.adjudicated else set(self.failures)
        if not failed:
            return self.returns()
        returns = np.array(self.returns(), dtype=np.float32)
        losers = {player for side in self.sides if failed.intersection(side) for player in side}
        # Players decided before keep their returns: a failure of another must not turn a loss into a win.
        others = [player for player in range(num_players) if player not in losers and not self.state.is_decided(player)]
        returns[list(losers)] = -1
        returns[others] = min(1.0, len(losers) / max(len(others), 1))
        return returns


def _start(game: Game, index: int, lineup: Lineup, conditions: Conditions) -> _RunningGame:
    num_players = game.spec.num_players
    if len(lineup.agents) != num_players:
        raise ValueError(f"expected an agent for each of {num_players} players, got {len(lineup.agents)}")
    return _RunningGame(
        state=lineup.start(game),
        agents=lineup.agents,
        seats=seats_of(num_players, conditions.seed, lineup.seed),
        chance=chance_of(num_players, conditions.seed, lineup.seed),
        index=index,
        lineup=lineup,
        adjudicator=None if conditions.adjudication is None else Adjudicator(conditions.adjudication),
        keeps_thoughts=conditions.keep_thoughts,
        sides=game.spec.sides,
    )


def _name_of(score: Score) -> str:
    return f"{score.__module__}.{getattr(score, '__qualname__', type(score).__qualname__)}"


def _without_policy(decision: Decision) -> Decision:
    """Returns the part of a decision that records store."""
    value = decision.value
    return replace(decision, policy=None, value=None if value is None else round(value, 4))

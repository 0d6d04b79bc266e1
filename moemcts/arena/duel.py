"""Agents against each other: every opening is played once per rotation of the seats."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from moemcts.agents import Agent
from moemcts.arena.adjudication import Adjudication
from moemcts.arena.games import GameRecord, Lineup, OutcomeRule, Progress, last_one_standing
from moemcts.arena.match import Tally, num_duplicates, terminations
from moemcts.arena.openings import Opening, openings_from_seeds
from moemcts.arena.ranking import Ranking, fit_ratings, ranking_of
from moemcts.arena.rating import Decision, Elo, Sprt, elo, likelihood_of_superiority, normalized_elo, pentanomial_elo
from moemcts.arena.schedule import Conditions, Play, play_here, play_schedule
from moemcts.errors import UsageError, unknown_name
from moemcts.game import Game, Player


@dataclass(frozen=True)
class DuelResult:
    """The games of agents against each other."""

    game: str
    names: tuple[str, ...]
    seatings: tuple[tuple[str, ...], ...]
    """The rotations: who sits where, by player."""
    rule: OutcomeRule
    sprt: Sprt | None
    records: tuple[GameRecord, ...]
    """In the order of the schedule; with a decided test, up to the pair that decided it."""

    def tally(self, name: str, seat: Player | None = None) -> Tally:
        """Returns wins, ties and losses of one agent, in all of its seats or one."""
        if name not in self.names:
            raise unknown_name("agent", name, self.names)
        outcomes = [
            self.rule(np.array(record.returns, dtype=np.float32), player) or "tie"
            for record in self.records
            for player in self._seats(record, name)
            if seat is None or seat == player
        ]
        return Tally.of(outcomes)

    def scores(self, name: str) -> list[float]:
        """Returns the score of one agent in each game: 1 a win, 1/2 a tie, 0 a loss, the mean of its seats."""
        points = {"win": 1.0, "tie": 0.5, "loss": 0.0, None: 0.5}
        return [
            float(
                np.mean(
                    [
                        points[self.rule(np.array(record.returns, dtype=np.float32), player)]
                        for player in self._seats(record, name)
                    ]
                )
            )
            for record in self.records
        ]

    def counts(self, name: str) -> tuple[int, int, int]:
        """Returns the games in which the agent scored less than, exactly, and more than one half."""
        scores = self.scores(name)
        return sum(score < 0.5 for score in scores), scores.count(0.5), sum(score > 0.5 for score in scores)

    def pairs(self, name: str) -> tuple[int, int, int, int, int]:
        """Returns the counts of openings played in both seatings on which the agent scored 0, 1/2, 1, 3/2, 2."""
        return _pairs(self.scores(name), len(self.seatings))

    def evidence(self, sprt: Sprt) -> tuple[int, ...]:
        """Returns the counts of the first agent that a test looks at: pairs, or games for a trinomial test."""
        return self.counts(self.names[0]) if sprt.model == "trinomial" else self.pairs(self.names[0])

    def elo(self, name: str) -> Elo:
        """Returns the agent's Elo over the rest, from single games, as cutechess computes it."""
        losses, draws, wins = self.counts(name)
        return elo(wins, draws, losses)

    def rankings(self) -> list[Ranking]:
        """Returns how each game ended, for `fit_ratings`; games of other duels may be added."""
        return [ranking_of(self.seatings[record.index % len(self.seatings)], record.returns) for record in self.records]

    def to_json(self) -> dict[str, Any]:
        """Returns what the games say as JSON values, without the games."""
        return {
            "game": self.game,
            "num_games": len(self.records),
            "num_duplicates": num_duplicates(self.records),
            "num_truncated": sum(record.truncated for record in self.records),
            "terminations": terminations(self.records),
            "mean_plies": sum(record.plies for record in self.records) / max(len(self.records), 1),
            "agents": [self._agent_json(name) for name in self.names],
            "ratings": fit_ratings(self.rankings()).to_json() if self.records else None,
            "sprt": None if self.sprt is None else self._sprt_json(self.sprt),
        }

    def _agent_json(self, name: str) -> dict[str, Any]:
        losses, _, wins = self.counts(name)
        pairs = self.pairs(name)
        return {
            "name": name,
            **self.tally(name).to_json(),
            "by_seat": [self.tally(name, seat).to_json() for seat in range(len(self.seatings[0]))],
            "elo": asdict(self.elo(name)) if self.records else None,
            "likelihood_of_superiority": likelihood_of_superiority(wins, losses),
            "pairs": list(pairs),
            "pentanomial_elo": asdict(pentanomial_elo(pairs)) if any(pairs) else None,
            "normalized_elo": list(normalized_elo(pairs)) if any(pairs) else None,
        }

    def _sprt_json(self, sprt: Sprt) -> dict[str, Any]:
        counts = self.evidence(sprt)
        lower, upper = sprt.bounds
        decision: Decision = sprt.decision(counts)
        return asdict(sprt) | {"llr": sprt.llr(counts), "lower": lower, "upper": upper, "decision": decision}

    def _seats(self, record: GameRecord, name: str) -> list[Player]:
        seating = self.seatings[record.index % len(self.seatings)]
        return [player for player, other in enumerate(seating) if other == name]


def duel(
    game: Game,
    agents: Mapping[str, Agent],
    *,
    num_games: int,
    openings: Sequence[Opening] | None = None,
    seating: Sequence[str] = (),
    sprt: Sprt | None = None,
    seed: int = 0,
    rule: OutcomeRule = last_one_standing,
    max_parallel: int = 256,
    max_plies: int | None = None,
    adjudication: Adjudication | None = None,
    keep_thoughts: bool = False,
    path: Path | None = None,
    identity: Mapping[str, Any] | None = None,
    play: Play | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    on_game: Callable[[GameRecord], None] | None = None,
) -> DuelResult:
    """Plays up to `num_games` games between the agents and returns them.

    `seating` names who sits where in the first game on an opening; the next ones turn it by a seat until it comes
    round. Without it the agents take the seats in turn: A B with two players, A B A B with four.
    A test (`sprt`, two seatings only) stops the match once it decides for or against the first agent. It looks at
    pairs in the order of the schedule, not at those that happen to be finished, as short games would come first.
    `path`, `identity`, `play`, `on_game` and errors are as in `match`.
    """
    names = tuple(agents)
    seatings = duel_seatings(game, names, seating)
    if sprt is not None and len(seatings) != 2:
        raise ValueError(f"expected two seatings for a sequential test, got {len(seatings)}")
    lineups = duel_lineups(game, agents, num_games=num_games, openings=openings, seating=seating)
    conditions = Conditions(
        seed=seed,
        rule=rule,
        max_parallel=max_parallel,
        max_plies=max_plies,
        adjudication=adjudication,
        keep_thoughts=keep_thoughts,
    )
    header = {
        "format": "moemcts duel 1",
        "game": game.spec.name,
        "agents": {name: agent.name for name, agent in agents.items()},
        "seating": list(seatings[0]),
        **conditions.to_json(),
        "identity": dict(identity or {}),
    }
    played = play_schedule(
        lineups,
        play or play_here(game, lineups, conditions),
        header,
        path=path,
        on_progress=on_progress,
        on_game=on_game,
    )

    def result(records: Sequence[GameRecord]) -> DuelResult:
        return DuelResult(game.spec.name, names, seatings, rule, sprt, tuple(records))

    if sprt is None:
        return result(sorted(played, key=lambda record: record.index))
    return result(_until_decided(played, sprt, lambda records: result(records).evidence(sprt)))


def duel_seatings(game: Game, names: Sequence[str], seating: Sequence[str] = ()) -> tuple[tuple[str, ...], ...]:
    """Returns who sits where in the games on one opening; see `duel`."""
    num_players = game.spec.num_players
    first = tuple(seating) or tuple(names[player % max(len(names), 1)] for player in range(num_players if names else 0))
    _check_seating(first, names, num_players)
    return _rotations(first)


def duel_lineups(
    game: Game,
    agents: Mapping[str, Agent],
    *,
    num_games: int,
    openings: Sequence[Opening] | None = None,
    seating: Sequence[str] = (),
) -> list[Lineup]:
    """Returns the schedule of a duel; see `duel`."""
    seatings = duel_seatings(game, tuple(agents), seating)
    num_openings = -(-num_games // len(seatings))
    starts = openings_from_seeds(num_openings) if openings is None else openings
    if len(starts) < num_openings:
        raise UsageError(f"expected {num_openings} openings for {num_games} games, got {len(starts)}")
    return [
        Lineup(
            agents=[agents[name] for name in seatings[turn]],
            opening=starts[number].start,
            opening_name=starts[number].name,
            seed=number * len(seatings) + turn,
            label=" ".join(seatings[turn]),
        )
        for number, turn in (divmod(i, len(seatings)) for i in range(num_games))
    ]


def _until_decided(
    played: Generator[GameRecord], sprt: Sprt, evidence: Callable[[Sequence[GameRecord]], Sequence[int]]
) -> list[GameRecord]:
    early: dict[int, GameRecord] = {}
    records: list[GameRecord] = []
    counts = np.array(evidence([]), dtype=np.int64)
    with closing(played):
        for one in played:
            early[one.index] = one
            while len(records) in early and len(records) + 1 in early:
                records += [early.pop(len(records)), early.pop(len(records) + 1)]
                counts += evidence(records[-2:])
                if sprt.decision(counts.tolist()) != "undecided":
                    return records
    return records + [early[index] for index in sorted(early)]


def _pairs(scores: Sequence[float], num_seatings: int) -> tuple[int, int, int, int, int]:
    counts = [0] * 5
    if num_seatings == 2:
        for first, second in zip(islice(scores, 0, None, 2), islice(scores, 1, None, 2), strict=False):
            counts[round(2 * (first + second))] += 1
    return counts[0], counts[1], counts[2], counts[3], counts[4]


def _rotations(seating: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Returns the seating turned by 0, 1, ... seats, until one comes again."""
    turned = [seating[-shift:] + seating[:-shift] if shift else seating for shift in range(len(seating))]
    return tuple(dict.fromkeys(turned))


def _check_seating(seating: Sequence[str], names: Sequence[str], num_players: int) -> None:
    if len(names) < 2:
        raise ValueError(f"expected at least two agents, got {len(names)}")
    for name in seating:
        if name not in names:
            raise unknown_name("agent", name, names)
    unseated = [name for name in names if name not in seating]
    if unseated or len(seating) != num_players:
        raise ValueError(
            f"expected every one of {len(names)} agents to have one of {num_players} seats, got {' '.join(seating)}"
        )

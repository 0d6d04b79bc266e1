"""Duels: agents against each other, with every opening played once per rotation of the seats."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from statistics import fmean
from typing import Any, Self

import numpy as np

from moemcts.arena.outcomes import Score, Tally, last_one_standing, outcome_of, pairwise_score
from moemcts.arena.ranking import Ranking, fit_ratings, ranking_of
from moemcts.arena.rating import (
    Elo,
    EloRange,
    Sprt,
    SprtDecision,
    elo,
    likelihood_of_superiority,
    normalized_elo,
    pentanomial_elo,
    student_elo,
)
from moemcts.arena.records import GameRecord, RepeatedStarts, boards_of, informative, num_duplicates, terminations
from moemcts.arena.schedules import DuelSchedule
from moemcts.errors import unknown_name
from moemcts.game import Player


@dataclass(frozen=True)
class DuelResult:
    """The games of agents against each other, and their statistics."""

    game: str
    names: tuple[str, ...]
    seatings: tuple[tuple[str, ...], ...]
    """The rotations of agents over seats, each by player."""
    sides: tuple[tuple[Player, ...], ...]
    """The opposing sides, see `GameSpec.sides`: the returns of players of one side are counted once."""
    score: Score
    """Determines the winners among more than two sides; of two, the one with the higher return wins."""
    sprt: Sprt | None
    records: tuple[GameRecord, ...]
    """In the order of the schedule; up to the deciding pair if a test was decided."""

    @classmethod
    def of(
        cls,
        schedule: DuelSchedule,
        records: Sequence[GameRecord],
        *,
        score: Score = last_one_standing,
        sprt: Sprt | None = None,
    ) -> Self:
        """Returns the result for the games of a schedule."""
        return cls(schedule.game, schedule.names, schedule.seatings, schedule.sides, score, sprt, tuple(records))

    @classmethod
    def joined(cls, duels: Sequence[Self]) -> Self:
        """Returns duels of the same seatings combined into one; they may start with different ones of these."""
        first, num_seatings = duels[0], len(duels[0].seatings)
        records: list[GameRecord] = []
        for duel in duels:
            num_indices = 1 + max((record.index for record in records), default=-1)
            # Starts at a whole opening, so that the index still determines the seating.
            start = math.ceil(num_indices / num_seatings) * num_seatings
            for record in duel.records:
                opening, turn = divmod(record.index, num_seatings)
                seating = first.seatings.index(duel.seatings[turn])
                records.append(replace(record, index=start + opening * num_seatings + seating))
        return replace(first, records=tuple(sorted(records, key=lambda record: record.index)))

    @property
    def is_even(self) -> bool:
        """Whether two agents have equally many sides: only then do equal agents score one half, as Elo assumes."""
        seats = self._names(self.seatings[0])
        return len(self.names) == 2 and len({seats.count(name) for name in self.names}) == 1

    @property
    def decision(self) -> SprtDecision | None:
        """The sequential test's decision on the first agent; None without a test."""
        return None if self.sprt is None else self.sprt.decision(self.evidence(self.sprt))

    @property
    def is_stopped(self) -> bool:
        """Whether a sequential test was decided: as it stops at an extreme, intervals of such games are too narrow."""
        return self.decision not in (None, "undecided")

    @property
    def mean_returns(self) -> list[float] | None:
        """None: agents that play each other are compared by who has the higher return, not by how much."""
        return None

    def tally(self, name: str, side: int | None = None) -> Tally:
        """Returns wins, ties and losses of the sides of one agent, of all or of one, in the informative games.

        Each side is counted, but those of one game are one observation, since their results depend on each other.
        """
        if name not in self.names:
            raise unknown_name("agent", name, self.names)
        counted = [
            (outcome_of(self._side_score(record, number)), game)
            for game, record in enumerate(self.informative)
            for number, agent in enumerate(self._seating(record))
            if agent == name and side in (None, number)
        ]
        outcomes, games = [outcome for outcome, _ in counted], [game for _, game in counted]
        return Tally.of(outcomes, games if len(set(games)) < len(games) else None)

    @cached_property
    def informative(self) -> tuple[GameRecord, ...]:
        """The informative games, see `records.informative`, on which Elo, pairs, tests and ratings are based."""
        return tuple(informative(self.records))

    def scores(self, name: str, other: str | None = None) -> list[float]:
        """Returns for each informative game 1 if the agent did better than another, 0 if worse, 1/2 if neither.

        An agent's result in a game is the mean return of its sides; without `other`, it is compared with the mean of
        all other sides. The scores of two agents therefore sum to one, also in a free-for-all that only one of their
        sides can win.
        """
        for agent in (name, name if other is None else other):
            if agent not in self.names:
                raise unknown_name("agent", agent, self.names)
        return [self._score(record, name, other) for record in self.informative]

    def counts(self, name: str, other: str | None = None) -> tuple[int, int, int]:
        """Returns in how many informative games the agent did worse than, as well as and better than another."""
        scores = self.scores(name, other)
        return scores.count(0.0), scores.count(0.5), scores.count(1.0)

    def pairs(self, name: str) -> tuple[int, int, int, int, int]:
        """Returns the counts of openings, played in both seatings, on which the agent scored 0, 1/2, 1, 3/2, 2."""
        if len(self.seatings) != 2:
            return 0, 0, 0, 0, 0
        openings: defaultdict[int, list[float]] = defaultdict(list)
        for record, score in zip(self.informative, self.scores(name), strict=True):
            openings[record.index // 2].append(score)
        points = Counter(round(2 * sum(scores)) for scores in openings.values() if len(scores) == 2)
        return points[0], points[1], points[2], points[3], points[4]

    def evidence(self, sprt: Sprt) -> tuple[int, ...]:
        """Returns the first agent's counts that a test uses: of pairs, or of games for a trinomial test."""
        return self.counts(self.names[0]) if sprt.model == "trinomial" else self.pairs(self.names[0])

    def elo(self, name: str) -> Elo:
        """Returns the agent's Elo over the others, from single games, as cutechess computes it.

        It determines who is stronger only if the duel `is_even`; otherwise, use the fit of `rankings`.
        """
        losses, draws, wins = self.counts(name)
        return elo(wins, draws, losses)

    def elo_range(self, name: str) -> EloRange:
        """Returns the agent's Elo over the other, with Student's interval over boards."""
        return student_elo(self.scores(name), boards_of(self.informative))

    @property
    def is_in_pairs(self) -> bool:
        """Whether every opening was played from both sides, so that its two games are one observation."""
        return 2 * sum(self.pairs(self.names[0])) == len(self.informative)

    def rankings(self) -> list[Ranking]:
        """Returns the ranking of each game, for `fit_ratings`; may be combined with those of other duels."""
        # Boards of different duels are distinct, even if they have the same name.
        boards = [f"{' '.join(self.seatings[0])}, {board}" for board in boards_of(self.informative)]
        return [
            ranking_of(self._seating(record), self._returns(record), board)
            for record, board in zip(self.informative, boards, strict=True)
        ]

    def to_json(self) -> dict[str, Any]:
        """Returns the statistics as JSON values, without the games."""
        return {
            "game": self.game,
            "num_games": len(self.records),
            "num_counted": len(self.informative),
            "num_duplicates": num_duplicates(self.records),
            "num_truncated": sum(record.truncated for record in self.records),
            "terminations": terminations(self.records),
            "mean_plies": sum(record.plies for record in self.records) / max(len(self.records), 1),
            "agents": [self._agent_json(name) for name in self.names],
            "ratings": fit_ratings(self.rankings()).to_json() if self.records else None,
            "sprt": None if self.sprt is None else self._sprt_json(self.sprt),
            "stopped_by_test": self.is_stopped,
        }

    def _agent_json(self, name: str) -> dict[str, Any]:
        losses, _, wins = self.counts(name)
        pairs = self.pairs(name)
        return {
            "name": name,
            **self._tally_json(name),
            "by_seat": [self.tally(name, side).to_json() for side in range(len(self.sides))],
            "elo": asdict(self.elo(name)) if self.records and self.is_even else None,
            "elo_range": asdict(self.elo_range(name)) if self.records and self.is_even else None,
            "likelihood_of_superiority": likelihood_of_superiority(wins, losses) if self.is_even else None,
            "pairs": list(pairs),
            "pentanomial_elo": asdict(pentanomial_elo(pairs)) if any(pairs) else None,
            "normalized_elo": normalized_elo(pairs) if any(pairs) else None,
        }

    def _tally_json(self, name: str) -> dict[str, Any]:
        """Returns the tally of all sides of an agent; `num_seats` is their number if there are several per game."""
        tally, num_games = self.tally(name), len(self.informative)
        if tally.num_games == num_games:
            return tally.to_json()
        return {"num_games": num_games, "num_seats": tally.num_games} | {
            key: value for key, value in tally.to_json().items() if key != "num_games"
        }

    def _sprt_json(self, sprt: Sprt) -> dict[str, Any]:
        counts = self.evidence(sprt)
        lower, upper = sprt.bounds
        result = {"llr": sprt.llr(counts), "lower": lower, "upper": upper, "decision": sprt.decision(counts)}
        return asdict(sprt) | result

    def _score(self, record: GameRecord, name: str, other: str | None) -> float:
        side_results = list(zip(self._seating(record), self._returns(record), strict=True))
        ours = fmean(value for agent, value in side_results if agent == name)
        theirs = fmean(value for agent, value in side_results if (agent != name if other is None else agent == other))
        return pairwise_score(ours, theirs)

    def _side_score(self, record: GameRecord, side: int) -> float:
        returns = self._returns(record)
        if len(returns) == 2:
            return pairwise_score(returns[side], returns[1 - side])
        return self.score(np.array(returns, dtype=np.float32), side)

    def _seating(self, record: GameRecord) -> tuple[str, ...]:
        """Returns the agent of each side."""
        return self._names(self.seatings[record.index % len(self.seatings)])

    def _names(self, seating: Sequence[str]) -> tuple[str, ...]:
        return tuple(seating[side[0]] for side in self.sides)

    def _returns(self, record: GameRecord) -> tuple[float, ...]:
        """Returns the return of each side."""
        return tuple(record.returns[side[0]] for side in self.sides)


class SequentialTest:
    """Processes the games of a duel in pairs, in the order of its schedule, until a test is decided.

    Games are not used in the order in which they finish, as short ones would come first. Pairs that repeat earlier ones
    move for move count only if the agents have played a start in several ways.
    """

    def __init__(self, schedule: DuelSchedule, sprt: Sprt) -> None:
        """Raises ValueError unless openings are played in two seatings."""
        if len(schedule.seatings) != 2:
            raise ValueError(f"a sequential test needs two seatings, got {len(schedule.seatings)}")
        self._sprt = sprt
        self._result_of = partial(DuelResult.of, schedule, sprt=sprt)
        self._counts = np.array(self._result_of(()).evidence(sprt), dtype=np.int64)
        self._distinct_counts = self._counts.copy()
        """Counts without pairs that were played before."""
        self._repeats = RepeatedStarts()
        self._pair: list[GameRecord] = []

    def __call__(self, record: GameRecord) -> bool:
        """Returns whether this game, the next in order, decides the test."""
        self._pair.append(record)
        if len(self._pair) < 2:
            return False
        evidence = self._result_of(self._pair).evidence(self._sprt)
        self._counts += evidence
        first, second = (self._repeats.is_new(game) for game in self._pair)
        if first or second:
            self._distinct_counts += evidence
        self._pair.clear()
        counts = self._distinct_counts if self._repeats.is_deterministic else self._counts
        return self._sprt.decision(counts.tolist()) != "undecided"

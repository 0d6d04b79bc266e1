"""A match of arms: every arm plays the same boards, seats and seeds against the same field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from moemcts.agents import Agent
from moemcts.arena.adjudication import Adjudication
from moemcts.arena.games import (
    GameRecord,
    Lineup,
    Outcome,
    OutcomeRule,
    Progress,
    last_one_standing,
)
from moemcts.arena.intervals import (
    Estimate,
    Interval,
    SeedEstimate,
    mcnemar_test,
    mean_interval,
    seed_interval,
    sign_flip_test,
    wilson_interval,
)
from moemcts.arena.openings import Opening, openings_from_seeds
from moemcts.arena.schedule import Conditions, Play, play_here, play_schedule
from moemcts.arena.verdict import verdict
from moemcts.errors import UsageError, unknown_name
from moemcts.game import Game, Player


@dataclass(frozen=True, kw_only=True)
class Tally:
    """Wins, ties and losses, each share with its 95 % Wilson interval."""

    num_games: int
    wins: int
    ties: int
    losses: int

    @property
    def win_rate(self) -> float:
        """Wins over games; 0 without games."""
        return self.wins / self.num_games if self.num_games else 0.0

    @property
    def win_interval(self) -> Interval:
        return wilson_interval(self.wins, self.num_games)

    @property
    def tie_interval(self) -> Interval:
        return wilson_interval(self.ties, self.num_games)

    @property
    def loss_interval(self) -> Interval:
        return wilson_interval(self.losses, self.num_games)

    @classmethod
    def of(cls, outcomes: Sequence[Outcome | None]) -> Tally:
        """Counts the outcomes."""
        return cls(
            num_games=len(outcomes),
            wins=outcomes.count("win"),
            ties=outcomes.count("tie"),
            losses=outcomes.count("loss"),
        )

    def to_json(self) -> dict[str, Any]:
        """Returns counts and shares with intervals as JSON values."""
        intervals = {name: list(getattr(self, name)) for name in ("win_interval", "tie_interval", "loss_interval")}
        return asdict(self) | {"win_rate": self.win_rate} | intervals


@dataclass(frozen=True, kw_only=True)
class ArmSummary:
    """How one arm fared."""

    name: str
    tally: Tally
    score: Estimate
    """Mean score in [0, 1], a tie counting as the match says; boards are the independent unit."""
    mean_plies: float
    by_seat: tuple[Tally, ...]
    """By the seat that the arm had; seats of many games are not equal."""
    num_duplicates: int
    """Games that repeat an earlier one of this arm move for move, and so prove nothing."""
    num_truncated: int

    def to_json(self) -> dict[str, Any]:
        """Returns the summary as JSON values."""
        return {
            "name": self.name,
            **self.tally.to_json(),
            "score": asdict(self.score),
            "mean_plies": self.mean_plies,
            "by_seat": [seat.to_json() for seat in self.by_seat],
            "num_duplicates": self.num_duplicates,
            "num_truncated": self.num_truncated,
        }


@dataclass(frozen=True, kw_only=True)
class Difference:
    """What one arm did better than another on the same boards, seats and seeds."""

    arm: str
    baseline: str
    wins: Estimate
    """Difference of win rates with Student's t interval over boards."""
    score: Estimate
    """Difference of mean scores, likewise."""
    p_value: float
    """Two-sided, that the win rates are equal: signs of whole boards flipped at random."""
    num_only_arm: int
    """Pairs of games that only the arm has won."""
    num_only_baseline: int
    mcnemar_p_value: float
    """Exact, from these pairs; takes games on one board as independent."""
    win_differences: tuple[float, ...]
    """Per pair of games: 1 if only the arm has won, -1 if only the baseline, else 0."""
    boards: tuple[str, ...]
    """The board of each pair; with `win_differences` what `seed_interval` wants of each training seed."""

    @property
    def verdict(self) -> str:
        """One sentence on the win rates."""
        low, high = self.wins.interval
        return verdict(100 * self.wins.mean, (100 * low, 100 * high), self.wins.num_observations)

    def to_json(self) -> dict[str, Any]:
        """Returns the difference as JSON values, without the single pairs."""
        values = asdict(self)
        del values["win_differences"], values["boards"]
        return values | {"verdict": self.verdict}


@dataclass(frozen=True)
class MatchResult:
    """The games of a match and what they say."""

    game: str
    arms: tuple[str, ...]
    num_seats: int
    baseline: str
    tie_value: float
    records: tuple[GameRecord, ...]
    """In the order of the schedule: boards, on each the seats, in each the arms."""

    def games(self, arm: str) -> list[GameRecord]:
        """Returns the games of one arm; raises UsageError for an arm that did not play."""
        if arm not in self.arms:
            raise unknown_name("arm", arm, self.arms)
        return self._by_arm[arm]

    def summary(self, arm: str) -> ArmSummary:
        """Returns how one arm fared."""
        games = self.games(arm)
        return ArmSummary(
            name=arm,
            tally=Tally.of([game.outcome for game in games]),
            score=mean_interval(
                [self._score(game) for game in games], [game.opening for game in games], bounds=(0.0, 1.0)
            ),
            mean_plies=sum(game.plies for game in games) / max(len(games), 1),
            by_seat=tuple(
                Tally.of([game.outcome for game in games if game.focus == seat]) for seat in range(self.num_seats)
            ),
            num_duplicates=num_duplicates(games),
            num_truncated=sum(game.truncated for game in games),
        )

    def difference(self, arm: str, baseline: str | None = None) -> Difference:
        """Returns the paired difference of two arms, over the games that both have finished."""
        baseline = self.baseline if baseline is None else baseline
        theirs = {(game.opening, game.focus): game for game in self.games(baseline)}
        pairs = [(game, theirs[key]) for game in self.games(arm) if (key := (game.opening, game.focus)) in theirs]
        boards = tuple(ours.opening for ours, _ in pairs)
        wins = tuple(float(ours.outcome == "win") - float(other.outcome == "win") for ours, other in pairs)
        scores = [self._score(ours) - self._score(other) for ours, other in pairs]
        num_only_arm, num_only_baseline = wins.count(1.0), wins.count(-1.0)
        return Difference(
            arm=arm,
            baseline=baseline,
            wins=mean_interval(wins, boards),
            score=mean_interval(scores, boards),
            p_value=sign_flip_test(wins, boards),
            num_only_arm=num_only_arm,
            num_only_baseline=num_only_baseline,
            mcnemar_p_value=mcnemar_test(num_only_arm, num_only_baseline),
            win_differences=wins,
            boards=boards,
        )

    def to_json(self) -> dict[str, Any]:
        """Returns all summaries and the differences from the baseline as JSON values, without the games."""
        return {
            "game": self.game,
            "num_games": len(self.records),
            "terminations": terminations(self.records),
            "tie_value": self.tie_value,
            "baseline": self.baseline,
            "arms": [self.summary(arm).to_json() for arm in self.arms],
            "differences": [self.difference(arm).to_json() for arm in self.arms if arm != self.baseline],
        }

    @cached_property
    def _by_arm(self) -> dict[str, list[GameRecord]]:
        return {arm: [game for game in self.records if game.label == arm] for arm in self.arms}

    def _score(self, game: GameRecord) -> float:
        return {"win": 1.0, "tie": self.tie_value, "loss": 0.0, None: 0.0}[game.outcome]


def match(
    game: Game,
    arms: Mapping[str, Agent],
    field: Agent | Sequence[Agent],
    *,
    num_games: int,
    openings: Sequence[Opening] | None = None,
    seed: int = 0,
    baseline: str | None = None,
    tie_value: float = 0.5,
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
) -> MatchResult:
    """Plays `num_games` games of every arm against the field and returns all of them.

    Game `i` of every arm is on opening `i // P` with the arm in seat `i % P`: each opening is played once per
    seat, with the same randomness of every seat for every arm. `field` is the agent of all other seats, or one
    agent for each seat after the arm's, in turn. Without `openings` they come from the seeds from 0.
    With `path`, finished games are kept in that file and are not played again; `identity` is what else the file
    must agree with, such as hashes of checkpoints. The baseline is the first arm unless named.
    `play` plays the games in another way than in this process, as other processes do. `on_game` is called with
    every game, those in the file first, then as they finish.
    Raises UsageError where there are too few openings, ForeignData and DamagedFile for a file of another match.
    """
    num_players = game.spec.num_players
    others = _field(field, num_players)
    names = tuple(arms)
    if not names:
        raise ValueError("expected at least one arm, got none")
    if baseline is not None and baseline not in arms:
        raise unknown_name("arm", baseline, names)
    lineups = match_lineups(game, arms, field, num_games=num_games, openings=openings)
    conditions = Conditions(
        seed=seed,
        rule=rule,
        max_parallel=max_parallel,
        max_plies=max_plies,
        adjudication=adjudication,
        keep_thoughts=keep_thoughts,
    )
    header = {
        "format": "moemcts match 1",
        "game": game.spec.name,
        "arms": list(names),
        "field": [agent.name for agent in others],
        **conditions.to_json(),
        "identity": dict(identity or {}),
    }
    records = play_schedule(
        lineups,
        play or play_here(game, lineups, conditions),
        header,
        path=path,
        on_progress=on_progress,
        on_game=on_game,
    )
    return MatchResult(
        game.spec.name,
        names,
        num_players,
        names[0] if baseline is None else baseline,
        tie_value,
        tuple(sorted(records, key=lambda record: record.index)),
    )


def match_lineups(
    game: Game,
    arms: Mapping[str, Agent],
    field: Agent | Sequence[Agent],
    *,
    num_games: int,
    openings: Sequence[Opening] | None = None,
) -> list[Lineup]:
    """Returns the schedule of a match; see `match`."""
    num_players = game.spec.num_players
    num_boards = -(-num_games // num_players)
    boards = openings_from_seeds(num_boards) if openings is None else openings
    if len(boards) < num_boards:
        raise UsageError(
            f"expected {num_boards} openings for {num_games} games in {num_players} seats, got {len(boards)}"
        )
    others = _field(field, num_players)
    return [
        Lineup(
            agents=_seated(arms[name], others, seat),
            opening=boards[board].start,
            opening_name=boards[board].name,
            seed=board * num_players + seat,
            label=name,
            focus=seat,
        )
        for board, seat in (divmod(i, num_players) for i in range(num_games))
        for name in arms
    ]


def difference_over_seeds(differences: Sequence[Difference]) -> SeedEstimate:
    """Returns the difference of win rates over training seeds, from one paired difference per seed.

    See `seed_interval`: seeds are the independent unit, so their matches should be on different openings.
    """
    return seed_interval(
        [difference.win_differences for difference in differences], [difference.boards for difference in differences]
    )


def win_rate_over_seeds(summaries: Sequence[ArmSummary]) -> SeedEstimate:
    """Returns the win rate of an arm over training seeds, from one summary per seed; games as independent."""
    wins = [[1.0] * one.tally.wins + [0.0] * (one.tally.num_games - one.tally.wins) for one in summaries]
    return seed_interval(wins, bounds=(0.0, 1.0))


def num_duplicates(games: Sequence[GameRecord]) -> int:
    """Returns how many games repeat an earlier one: same agents in the same seats, same start, same moves."""
    return len(games) - len({(game.agents, game.label, game.focus, game.start_key, game.moves) for game in games})


def terminations(games: Sequence[GameRecord]) -> dict[str, int]:
    """Returns how many games ended in which way, the most frequent first."""
    counts = Counter(game.termination for game in games)
    return {name: counts[name] for name in sorted(counts, key=lambda name: (-counts[name], name))}


def _seated(agent: Agent, others: Sequence[Agent], seat: Player) -> list[Agent]:
    # The field goes round from the seat after the arm's.
    num_players = len(others) + 1
    return [agent if player == seat else others[(player - seat) % num_players - 1] for player in range(num_players)]


def _field(field: Agent | Sequence[Agent], num_players: int) -> Sequence[Agent]:
    if not isinstance(field, Sequence):
        return [field] * (num_players - 1)
    if len(field) != num_players - 1:
        raise ValueError(f"expected {num_players - 1} agents in the field, one per other seat, got {len(field)}")
    return field

"""How strong agents of the chess family are: against an engine at Lichess' levels, and against each other.

    python benchmarks/levels.py [levels] [search] [time] --game antichess --minutes 20 [--experts FOLDER] [--record]

levels  each agent against Fairy-Stockfish at the levels of Lichess (thesis 5.2: its network beat level 2 and lost to
        level 3), and in chess against Stockfish 1350
search  a round robin of random moves, flat search, UCT and, if given, experts at equal simulations (Antichess
        thesis, Tables 5.3 and 5.4; what it calls flat is UCT with random playouts)
time    the same at equal time per move, with games in sequence

Matches take turns, one pair of games at a time, until the time is over, so that all have equally many.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from measuring.record import add_option, append

from moemcts.agents import Agent
from moemcts.arena import (
    Conditions,
    DuelResult,
    DuelSchedule,
    GameRecord,
    Opening,
    duel_schedule,
    play_games,
)
from moemcts.arena.openings import first_board, starts
from moemcts.arena.ranking import fit_ratings
from moemcts.game import Game
from moemcts.plugins import plugins
from moemcts.runs.experiment.grid import named_agents

LEVELS = {1: (-9, 5, 50), 2: (-5, 5, 100), 3: (-1, 5, 150), 4: (3, 5, 200), 5: (7, 5, 300), 6: (11, 8, 400)}
"""Skill, depth and milliseconds of Lichess' first six levels (lichess-org/fishnet, src/api.rs)."""
PARTS = ("levels", "search", "time")
SECONDS = 0.1
SIMULATIONS = (512, 2048)
MAX_PAIRS = 10_000


@dataclass(frozen=True)
class Pairing:
    """Two agents, and the part that their match belongs to."""

    part: str
    names: tuple[str, str]

    @property
    def is_timed(self) -> bool:
        return any("seconds=" in name or "movetime=" in name for name in self.names)


def agents_of(part: str, experts: str | None) -> list[str]:
    """Returns the agents of a part."""
    if part == "levels":
        named = ["flat?playouts=2048", "uct?simulations=2048", "alpha-beta?depth=3", "alpha-beta?depth=5"]
        return [*named, *([f"{experts}?simulations=2048&leaves=8"] if experts else [])]
    if part == "search":
        named = ["random", *(f"flat?playouts={n}" for n in SIMULATIONS), *(f"uct?simulations={n}" for n in SIMULATIONS)]
        return [*named, *([f"{experts}?simulations={n}&leaves=8" for n in SIMULATIONS] if experts else [])]
    named = [f"flat?seconds={SECONDS}", f"uct?seconds={SECONDS}", f"alpha-beta?seconds={SECONDS}"]
    return [*named, *([f"{experts}?seconds={SECONDS}&leaves=8"] if experts else [])]


def engines(game: str, levels: Sequence[int]) -> list[str]:
    """Returns the engine at each level, and in chess Stockfish at its lowest Elo."""
    named = [
        f"uci:fairy-stockfish?skill={skill}&depth={depth}&movetime={milliseconds}"
        for skill, depth, milliseconds in (LEVELS[level] for level in levels)
    ]
    return [*named, *(["uci:stockfish?elo=1350&movetime=50"] if game == "chess" else [])]


def pairings(
    parts: Sequence[str], game: str, levels: Sequence[int], experts: str | None, agents: Sequence[str] = ()
) -> list[Pairing]:
    """Returns all matches, of the given agents or of those of each part."""
    matches = []
    for part in parts:
        names = agents or agents_of(part, experts)
        pairs = [(a, b) for a in names for b in engines(game, levels)] if part == "levels" else combinations(names, 2)
        matches += [Pairing(part, pair) for pair in pairs]
    return matches


def play(game: Game, matches: Sequence[Pairing], seconds: float, seed: int) -> dict[Pairing, DuelResult]:
    """Plays pairs of games of all matches in turn until the time is over; each match gets at least one pair."""
    agents = named_agents(list(dict.fromkeys(name for match in matches for name in match.names)), game)
    openings = starts(game, MAX_PAIRS if seconds > 600 else 500, seed=first_board(seed))
    played = {match: _Match(game, match, agents, openings, seed) for match in matches}
    _play_until(time.monotonic() + seconds, list(played.values()), len(openings))
    return {pairing: match.result() for pairing, match in played.items()}


def _play_until(deadline: float, matches: Sequence[_Match], num_openings: int) -> None:
    for number in range(num_openings):
        for match in matches:
            if number and time.monotonic() > deadline:
                return
            match.play(number)
        print(f"{number + 1} pairs of games, {max(0.0, deadline - time.monotonic()):,.0f} s left", flush=True)


class _Match:
    """The games of a pairing so far."""

    def __init__(
        self, game: Game, pairing: Pairing, agents: Mapping[str, Agent], openings: Sequence[Opening], seed: int
    ) -> None:
        self._game, self._openings = game, openings
        self._agents = {name: agents[name] for name in pairing.names}
        self._conditions = Conditions(seed=seed, max_parallel=1 if pairing.is_timed else 2)
        self._schedule = self._of(1)
        self._records: list[GameRecord] = []

    def play(self, number: int) -> None:
        """Plays the games on one opening, given by its number."""
        indices = range(2 * number, 2 * number + 2)
        if indices.stop > len(self._schedule.lineups):
            # Doubled, as rebuilding the schedule takes longer the longer it is.
            self._schedule = self._of(min(2 * number + 2, len(self._openings)))
        games = play_games(self._game, self._schedule.lineups, self._conditions, indices=indices)
        self._records += sorted(games, key=lambda record: record.index)

    def result(self) -> DuelResult:
        """Returns the result of the games played so far."""
        return DuelResult.of(self._schedule, self._records)

    def _of(self, num_pairs: int) -> DuelSchedule:
        return duel_schedule(self._game, self._agents, num_games=2 * num_pairs, openings=self._openings)


def rows(game: str, results: dict[Pairing, DuelResult], seed: int) -> Iterator[dict[str, object]]:
    """Yields a row per match, and a row per agent of a round robin."""
    for match, result in results.items():
        name, other = match.names
        losses, draws, wins = result.counts(name)
        elo = result.elo(name)
        row: dict[str, object] = {"name": f"{game}, {match.part}: {name} against {other}", "game": game}
        row |= {"value": round(elo.difference, 1) + 0.0, "unit": "Elo"}
        row |= {"interval": [None if end is None else round(end, 1) for end in (elo.low, elo.high)]}
        row |= {"games": len(result.informative), "wins": wins, "draws": draws, "losses": losses, "seed": seed}
        yield row | {"failures": sum(bool(record.failure) for record in result.records)}
    for part in ("search", "time"):
        rankings = [ranking for match, result in results.items() if match.part == part for ranking in result.rankings()]
        if not rankings:
            continue
        for agent in fit_ratings(rankings).to_json()["agents"]:
            row = {"name": f"{game}, {part}, rating: {agent['name']}", "game": game, "value": round(agent["elo"], 1)}
            low, high = agent["elo"] - agent["error"], agent["elo"] + agent["error"]
            row |= {"unit": "Elo against the mean", "interval": [round(low, 1), round(high, 1)], "seed": seed}
            yield row | {"games": sum(any(agent["name"] in group for group in ranking.groups) for ranking in rankings)}


def main() -> None:
    """Plays and prints; appends to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all without any")
    parser.add_argument("--game", default="antichess", help="a game of the chess family")
    parser.add_argument("--minutes", type=float, default=20.0, help="after which no further pair of games is begun")
    parser.add_argument("--levels", type=int, nargs="*", default=[1, 2, 3, 4, 5], choices=LEVELS)
    parser.add_argument("--experts", help="a folder of experts for the game")
    parser.add_argument("--label", default="experts", help="what they are called in the rows' names")
    parser.add_argument("--agent", action="append", help="who plays, in place of those named above; may be repeated")
    parser.add_argument("--seed", type=int, default=0)
    add_option(parser)
    options = parser.parse_args()
    matches = pairings(options.parts or PARTS, options.game, options.levels, options.experts, options.agent or ())
    results = play(plugins().game(options.game), matches, 60 * options.minutes, options.seed)
    table = list(rows(options.game, results, options.seed))
    if options.experts:
        # Paths on this machine are meaningless to others.
        table = [row | {"name": str(row["name"]).replace(options.experts, options.label)} for row in table]
        sys.argv = [word.replace(options.experts, "EXPERTS") for word in sys.argv]
    for row in table:
        print(json.dumps({key: row[key] for key in ("name", "value", "interval", "games")}))
    if options.record:
        append("levels", table)


if __name__ == "__main__":
    main()

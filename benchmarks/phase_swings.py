"""Phases in which an agent's games were won and lost, by a judge's values where phases begin, as rows of results.

    python benchmarks/phase_swings.py NAME MATCH --agent NAME --judge REFERENCE [--game chess] [--openings FILE]
                                      [--gate lichess] [--games 1000] [--record]

MATCH is the file of a match of two agents. For each game the judge evaluates the start and the first position of every
later phase. An agent's gain in a phase is the increase of its expected score from the beginning to the end of the
phase, in points per game, with 1 for a win and 1/2 for a draw: the gains of all phases add up to its score less the
value of the openings. Games on one opening are a cluster.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from measuring.record import add_option, append, without_places

from moemcts.agents import Agent, Seat
from moemcts.arena.intervals import mean_interval
from moemcts.arena.openings import read_openings
from moemcts.arena.records import GameRecord
from moemcts.arena.replays import Replay
from moemcts.cli.progress import ConsoleProgress
from moemcts.game import Game, State
from moemcts.gates import PhaseGate
from moemcts.plugins import plugins


def main() -> None:
    """Judges and prints; appends to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="of the rows: whose games")
    parser.add_argument("match", type=Path)
    parser.add_argument("--agent", required=True, help="its name in the file")
    parser.add_argument("--judge", required=True, help="an agent that values positions")
    parser.add_argument("--game", default="chess")
    parser.add_argument("--openings", type=Path, help="file of start positions; the game's own where none is named")
    parser.add_argument("--gate", default="lichess")
    parser.add_argument("--seed", type=int, default=0, help="of a judge that draws at random")
    parser.add_argument("--games", type=int, default=1000, help="of the first in the file's order")
    add_option(parser)
    options = parser.parse_args()
    game = plugins().game(options.game)
    gate, judge = plugins().gate(options.gate, game), plugins().agent(options.judge, game)
    suite = () if options.openings is None else read_openings(game, options.openings).openings
    starts = {opening.name: opening.start for opening in suite}
    records = read(options.match)[: options.games]
    gains, clusters = [], []
    with ConsoleProgress().task(options.name, "games") as advance:
        for number, record in enumerate(records, 1):
            start = starts[record.opening] if starts else game.initial_state()
            gains.append(gains_of(game, start, record, record.agents.index(options.agent), gate, judge, options.seed))
            clusters.append(record.opening)
            advance(number, len(records))
    rows = list(summary(options, gate, np.array(gains), clusters))
    for row in rows:
        print(*row.values())
    if options.record:
        sys.argv[1:] = without_places(sys.argv[1:], {options.match: "MATCH", options.openings: "OPENINGS"})
        append("phase_swings", rows)


def read(path: Path) -> list[GameRecord]:
    """Returns the games of a match by number; the first line of the file is a header."""
    _, *lines = path.read_text().splitlines()
    return sorted((GameRecord.from_json(json.loads(line)) for line in lines), key=lambda record: record.index)


def gains_of(
    game: Game, start: State, record: GameRecord, seat: int, gate: PhaseGate, judge: Agent, seed: int = 0
) -> list[float]:
    """Returns a player's gain in each phase, in points from -1 to 1, and 0 in phases that did not occur."""
    marks = [*beginnings(game, start, record, gate)]
    values = [valued(game, state, seat, judge, seed) for _, state in marks]
    # The last phase ends with the result.
    values.append(record.returns[seat])
    gains = [0.0] * gate.num_phases
    for (phase, _), before, after in zip(marks, values, values[1:], strict=False):
        gains[phase] += (after - before) / 2
    return gains


def beginnings(game: Game, start: State, record: GameRecord, gate: PhaseGate) -> Iterator[tuple[int, State]]:
    """Yields the start, and the first position of every later phase; returns to earlier phases are ignored."""
    played = Replay(game=game, start=start, record=record)
    going_on = [state for state, _ in played.positions() if state.active_players]
    phases = gate.weights(game.views([(state, state.active_players[0]) for state in going_on])).argmax(axis=1)
    latest = -1
    for state, phase in zip(going_on, phases, strict=True):
        if phase > latest:
            latest = int(phase)
            yield latest, state


def valued(game: Game, state: State, seat: int, judge: Agent, seed: int = 0) -> float:
    """Returns a judge's value of a position for the player in a seat, from -1 to 1; deterministic given the seed."""
    player = state.active_players[0]
    digest = hashlib.sha256(game.format_state(state).encode()).digest()
    rng = np.random.default_rng([seed, int.from_bytes(digest[:8], "little")])
    (decision,) = judge.act(game.views([(state, player)]), [Seat(player, rng)])
    if decision.value is None:
        raise SystemExit("expected a judge that values positions, got one that does not")
    return float(decision.value if player == seat else -decision.value)


def summary(
    options: argparse.Namespace, gate: PhaseGate, gains: np.ndarray, clusters: Sequence[str]
) -> Iterator[dict[str, object]]:
    """Yields a row for each phase, and one for all of them."""
    columns = {name: gains[:, number] for number, name in enumerate(gate.phase_names)} | {"all": gains.sum(axis=1)}
    for phase, column in columns.items():
        estimate = mean_interval(column, clusters)
        yield {
            "name": f"{options.name}, {phase}",
            "value": round(100 * estimate.mean, 2),
            "unit": "points of 100 per game",
            "interval": [round(100 * end, 2) for end in (estimate.low, estimate.high)],
            "games": len(column),
            "phase": phase,
            "judge": options.judge,
            "seed": options.seed,
        }


if __name__ == "__main__":
    main()

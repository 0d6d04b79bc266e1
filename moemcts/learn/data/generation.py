"""Games of scripted or searching agents become a dataset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from moemcts.agents import Agent, Decision, Seat
from moemcts.game import Game, Player, State
from moemcts.learn.data.records import GameLog, Records
from moemcts.learn.data.shards import ShardWriter
from moemcts.learn.threads import torch_threads


def generate(
    game: Game,
    agents: Sequence[Agent],
    num_samples: int,
    *,
    seed: int,
    out: Path,
    reference: str = "",
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    keep: float = 1.0,
    parallel_games: int = 64,
    games_per_shard: int = 512,
) -> Path:
    """Plays games, one agent per seat, until exactly `num_samples` decisions are on disk; returns `out`.

    All decisions of active players are logged except forced ones, or a random share `keep` of the positions: then
    as many samples come from more games, whose results are what the value is learned from. Games are played
    `parallel_games` at a time, each agent answering for all of them at once, and depend on the seed and their number
    only: how many are played at once changes nothing. Shard `i` holds the games from `i * games_per_shard`; a
    generation that was interrupted keeps its finished shards when it is called again.
    Raises ForeignData if `out` holds a dataset made otherwise, ValueError unless there is one agent per seat.
    """
    if len(agents) != game.spec.num_players:
        raise ValueError(f"expected {game.spec.num_players} agents, one per seat, got {len(agents)}")
    source = {
        "agents": [agent.name for agent in agents],
        "seed": seed,
        "num_samples": num_samples,
        "games_per_shard": games_per_shard,
    } | ({"keep": keep} if keep < 1 else {})
    writer = ShardWriter(out, game, reference=reference or game.spec.name, source=source)
    tables = _Tables(game, agents, seed, keep)
    on_progress(writer.num_samples, num_samples)
    while writer.num_samples < num_samples:
        before = writer.num_samples
        with torch_threads(1):
            records = _play_shard(
                tables,
                range(writer.num_shards * games_per_shard, (writer.num_shards + 1) * games_per_shard),
                num_samples - before,
                parallel_games,
                lambda done, before=before: on_progress(min(before + done, num_samples), num_samples),  # type: ignore[misc]
            )
        writer.append(records)
    if not writer.is_complete:
        writer.finish()
    return out


@dataclass
class _Table:
    log: GameLog
    state: State
    seats: dict[Player, Seat]
    choice: np.random.Generator
    """Decides which positions are kept."""


class _Tables:
    """Games in lock-step: every step asks each agent once about all positions in which it has to move."""

    def __init__(self, game: Game, agents: Sequence[Agent], seed: int, keep: float) -> None:
        self.game = game
        self._keep = keep
        self._agents = agents
        self._seed = seed

    def open(self, number: int) -> _Table:
        """Returns the start of a game."""
        start = np.random.SeedSequence((self._seed, number)).generate_state(1, np.uint64)[0]
        seats = {
            player: Seat(player, np.random.default_rng(np.random.SeedSequence((self._seed, number, player))))
            for player in range(self.game.spec.num_players)
        }
        choice = np.random.default_rng(np.random.SeedSequence((self._seed, number, self.game.spec.num_players)))
        return _Table(GameLog(number), self.game.initial_state(int(start >> np.uint64(1))), seats, choice)

    def step(self, tables: Sequence[_Table]) -> None:
        """Plays one move or simultaneous step in each game, all of them unfinished."""
        decisions: list[dict[Player, Decision]] = [{} for _ in tables]
        forced: list[dict[Player, bool]] = [{} for _ in tables]
        by_agent: dict[int, list[tuple[int, Player]]] = {}
        for i, table in enumerate(tables):
            for player in table.state.active_players:
                by_agent.setdefault(id(self._agents[player]), []).append((i, player))
        for rows in by_agent.values():
            agent = self._agents[rows[0][1]]
            views = self.game.views([(tables[i].state, player) for i, player in rows])
            choices = agent.act(views, [tables[i].seats[player] for i, player in rows])
            num_legal = views.legal_mask().sum(axis=1)
            for (i, player), decision, count in zip(rows, choices, num_legal, strict=True):
                decisions[i][player] = decision
                forced[i][player] = count == 1
        for i, table in enumerate(tables):
            played = [(player, decisions[i][player]) for player in sorted(decisions[i])]
            if table.choice.random() < self._keep:
                table.log.add(table.state, [(player, one) for player, one in played if not forced[i][player]])
            table.state = table.state.play([one.action for _, one in played])


def _play_shard(
    tables: _Tables, numbers: range, num_wanted: int, parallel_games: int, on_progress: Callable[[int], None]
) -> Records:
    """Returns the first `num_wanted` samples of the games `numbers`, or all if there are fewer."""
    finished: dict[int, Records] = {}
    running: dict[int, _Table] = {}
    upcoming = numbers.start
    while True:
        end = numbers.start + _num_needed(numbers, finished, running, num_wanted)
        running = {number: table for number, table in running.items() if number < end}
        while len(running) < parallel_games and upcoming < end:
            running[upcoming] = tables.open(upcoming)
            upcoming += 1
        if not running:
            break
        tables.step([table for table in running.values() if table.state.active_players])
        for number, table in list(running.items()):
            if not table.state.active_players:
                finished[number] = table.log.finish(tables.game, table.state)
                del running[number]
        on_progress(sum(map(len, finished.values())) + sum(table.log.num_samples for table in running.values()))
    return Records.join([finished[number] for number in sorted(finished)]).first(num_wanted)


def _num_needed(numbers: range, finished: dict[int, Records], running: dict[int, _Table], num_wanted: int) -> int:
    """Returns how many of the games are needed as far as is known: those that begin before enough is logged."""
    logged = 0
    for count, number in enumerate(numbers):
        if logged >= num_wanted:
            return count
        if number in finished:
            logged += len(finished[number])
        elif number in running:
            logged += running[number].log.num_samples
    return len(numbers)

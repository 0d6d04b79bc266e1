"""The players of self-play: experts of generations, and the files they need in other processes."""

from __future__ import annotations

import functools
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moemcts.agents import Agent, PolicyAgent
from moemcts.errors import UsageError
from moemcts.game import Game, State
from moemcts.learn.loop.config import GamesConfig
from moemcts.naming import SELF, names_experts, resolve_opponents
from moemcts.plugins import plugins
from moemcts.references import parse_reference
from moemcts.runs.config_file import CONFIG
from moemcts.runs.copies import GAMES, openings_file
from moemcts.runs.selfplay.generations import Generations
from moemcts.runs.selfplay.settings import SelfPlayConfig
from moemcts.search import SearchAgent, SearchConfig
from moemcts.search.opponents import Opponents
from moemcts.store import write_bytes
from moemcts.work import Report

if TYPE_CHECKING:
    from moemcts.experts import ExpertSet
    from moemcts.learn.loop.games import AgentPool
    from moemcts.learn.loop.players import Usage
    from moemcts.runs.selfplay.games import Chunk, Speed

LEAGUE = "league"
"""Instead of an agent's reference: earlier generations sit in the other seats."""


class Players:
    """The experts of all generations as agents."""

    def __init__(self, folder: Path, config: SelfPlayConfig, game: Game) -> None:
        self.folder = folder
        self.config = config
        self.game = game
        self.on_disk = Generations(folder)
        self._experts: dict[int, ExpertSet] = {}

    def experts(self, generation: int) -> ExpertSet:
        """Returns the experts of a generation, with the configured backend; loaded experts are cached."""
        from moemcts.learn.checkpoint import load_experts
        from moemcts.learn.inference.evaluators import Inference, parse_backend, parse_precision

        if generation not in self._experts:
            games = self.config.games
            inference = Inference(parse_backend(games.backend), parse_precision(games.precision or "float32"))
            # Two generations play each other, and those of a league are opponents.
            num_earlier = games.league if games.opponents == LEAGUE else 0
            while len(self._experts) >= num_earlier + 2:
                del self._experts[min(self._experts)]
            self._experts[generation] = load_experts(
                self.on_disk.experts(generation), self.game, plugins(), device=games.device, inference=inference
            )
        return self._experts[generation]

    def play_chunks(
        self, generation: int, champion: int, chunks: Sequence[int], report: Callable[[Speed | Chunk], None]
    ) -> None:
        """Plays chunks of a generation's games with the champion's experts; reports progress and each chunk."""
        from moemcts.learn.loop.games import Counts, play_chunks
        from moemcts.learn.loop.players import Usage
        from moemcts.learn.threads import torch_threads
        from moemcts.runs.selfplay.games import Chunk, chunk_bytes, game_indices, speed_of, throttle_progress

        usage, started = Usage(), time.monotonic()
        counts = Counts()
        with torch_threads(1):
            for index, played in play_chunks(
                self.game,
                self._agent_pool(champion, usage),
                self.config.games,
                [game_indices(self.config.games, chunk) for chunk in chunks],
                generation=generation,
                seed=self.config.seed,
                openings=self._game_openings,
                on_progress=throttle_progress(report, usage, started),
            ):
                counts = Counts(
                    num_games=counts.num_games + len(played),
                    num_samples=counts.num_samples + len(played.records),
                    num_plies=counts.num_plies + int(played.plies.sum()),
                )
                report(Chunk(chunks[index], chunk_bytes(played)))
        report(speed_of(counts, usage, started))

    def required_files(self, champion: int) -> dict[str, bytes]:
        """Returns the contents of the files that games of a champion need, by their path in the folder."""
        folders = [self.on_disk.experts(generation) for generation in (champion, *self.league(champion))]
        # A saved gate is stored beside its experts.
        paths = [path for folder in folders for path in sorted(folder.iterdir()) if path.is_file()]
        files = {str(path.relative_to(self.folder)): path.read_bytes() for path in (self.folder / CONFIG, *paths)}
        if (openings := openings_file(self.folder, self.config, GAMES)) is not None:
            files[str(openings.copy.relative_to(self.folder))] = openings.path.read_bytes()
        return files

    def load(self, champion: int) -> None:
        """Loads everything that games of a champion need; no file is read later."""
        for generation in (champion, *self.league(champion)):
            self.experts(generation)
        _ = self._game_openings

    def league(self, champion: int) -> range:
        """Returns the earlier generations that may be opponents."""
        games = self.config.games
        return range(max(0, champion - games.league) if games.opponents == LEAGUE else champion, champion)

    def start_position(self, generation: int, number: int) -> State:
        """Returns the start position of a game of a generation."""
        from moemcts.learn.loop.games import start_position

        return start_position(
            self.game,
            self.config.games,
            number,
            generation=generation,
            seed=self.config.seed,
            openings=self._game_openings,
        )

    @functools.cached_property
    def _game_openings(self) -> list[State]:
        openings = openings_file(self.folder, self.config, GAMES)
        suite = () if openings is None else openings.read(self.game).openings
        return [opening.start for opening in suite if not isinstance(opening.start, int)]

    def _agent_pool(self, champion: int, usage: Usage) -> AgentPool:
        from moemcts.learn.loop.games import AgentPool

        games = self.config.games
        newest = self._player(champion, usage)
        if games.opponents == SELF:
            return AgentPool(newest=newest)
        opponents: list[Agent]
        if games.opponents == LEAGUE:
            opponents = [self._player(earlier, usage) for earlier in self.league(champion)]
        else:
            opponents = [plugins().agent(games.opponents, self.game)]
        return AgentPool(newest=newest, opponents=opponents, opponent_share=games.opponent_share)

    def _player(self, generation: int, usage: Usage) -> Agent:
        from moemcts.learn.loop.players import SelfPlayAgent, TimedEvaluator

        games, evaluator = self.config.games, TimedEvaluator(self.experts(generation), usage)
        if not games.searched:
            temperature = self.config.search.temperature
            return PolicyAgent(evaluator, temperature=temperature, name=generation_name(generation))
        return SelfPlayAgent(
            self.game,
            evaluator,
            self.config.search,
            full_share=games.full_share,
            fast_simulations=games.fast_simulations,
            opponents=self.opponent_model(),
            name=generation_name(generation),
        )

    def opponent_model(self) -> Opponents:
        """Returns the opponent model of the search."""
        return resolve_opponents(opponent_reference(self.config.games), self.game)

    def contestant(self, generation: int, search: SearchConfig, simulations: int | None) -> Agent:
        """Returns the experts of a generation as an agent for evaluation; with 0 simulations, the policy alone."""
        experts = self.experts(generation)
        if simulations == 0:
            return PolicyAgent(experts, name=generation_name(generation))
        if simulations is not None:
            search = search.model_copy(update={"simulations": simulations, "nodes": None})
        return SearchAgent(
            self.game, experts, search, opponents=self.opponent_model(), name=generation_name(generation)
        )


class ChunkPlayer:
    """Plays chunks of a generation's games; pickled, it refers to the run's folder or carries its files."""

    def __init__(self, players: Players, generation: int, champion: int) -> None:
        self._players = players
        self._generation = generation
        self._champion = champion

    def __call__(self, chunks: Sequence[int], report: Report) -> None:
        self._players.play_chunks(self._generation, self._champion, chunks, report)

    def __reduce__(self) -> tuple[Any, ...]:
        players, games = self._players, (self._generation, self._champion)
        if isinstance(players.config.workers, str):
            return RemoteChunkPlayer, (players.config, players.required_files(self._champion), *games)
        return _reopen_chunk_player, (players.folder.absolute(), players.config, *games)


class RemoteChunkPlayer:
    """Plays chunks of a generation's games without access to the run's folder; it carries the files it needs."""

    def __init__(self, config: SelfPlayConfig, files: Mapping[str, bytes], generation: int, champion: int) -> None:
        self._config = config
        self._files = files
        self._generation = generation
        self._champion = champion

    def __call__(self, chunks: Sequence[int], report: Report) -> None:
        self._players.play_chunks(self._generation, self._champion, chunks, report)

    @functools.cached_property
    def _players(self) -> Players:
        # The files are deleted before games begin, so a process that is killed while playing leaves none behind.
        with tempfile.TemporaryDirectory(prefix="moemcts-") as home:
            for name, content in self._files.items():
                write_bytes(Path(home) / name, content)
            players = Players(Path(home), self._config, plugins().game(self._config.game))
            players.load(self._champion)
        self._files = {}
        return players


def _reopen_chunk_player(folder: Path, config: SelfPlayConfig, generation: int, champion: int) -> ChunkPlayer:
    """Returns what a pickled `ChunkPlayer` becomes in another process of this machine."""
    return ChunkPlayer(Players(folder, config, plugins().game(config.game)), generation, champion)


def check_opponents(games: GamesConfig, game: Game) -> None:
    """Raises UsageError if `games.opponents` is unknown, or if the game has no other seats."""
    if games.opponents != SELF and game.spec.num_players == 1:
        raise UsageError(f"expected no games.opponents, as {game.spec.name} has one player, got {games.opponents!r}")
    if games.opponents in (SELF, LEAGUE):
        return
    name, _ = parse_reference(games.opponents)
    agents = plugins().agents.for_game(game.spec.name)
    if not agents.knows(name):
        if names_experts(games.opponents):
            raise UsageError(
                f"expected games.opponents {SELF}, {LEAGUE} or an agent of the game, got the experts "
                f"{games.opponents!r}, which play only in the gauntlet: gauntlet.opponents"
            )
        raise agents.unknown(name, (SELF, LEAGUE))
    plugins().agent(games.opponents, game)


def opponent_reference(games: GamesConfig) -> str:
    """Returns the reference of the search's opponent model; `self` if it searches for every seat."""
    return games.opponent_model or (SELF if games.opponents in (SELF, LEAGUE) else games.opponents)


def generation_name(generation: int) -> str:
    """Returns the agent name of a generation."""
    return f"generation {generation}"

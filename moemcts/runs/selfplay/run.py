"""Self-play in its folder: games, training and promotion, generation by generation; every part can be resumed."""

from __future__ import annotations

import functools
import importlib.util
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from moemcts.arena.adjudication import check_adjudicable
from moemcts.arena.openings import read_openings, starts
from moemcts.arena.verdict import format_count
from moemcts.dotted import flat
from moemcts.errors import MissingExtra, UsageError
from moemcts.gates import PhaseGate
from moemcts.naming import AUTO, SELF, check_backend, contestants, experts_in, experts_of, resolve_reference
from moemcts.plugins import plugins
from moemcts.runs.copies import GAMES, GAUNTLET, copied_gate, with_absolute_paths
from moemcts.runs.environment import groups_in_flight
from moemcts.runs.hardware import device_for, inference_for
from moemcts.runs.run import Part, Run
from moemcts.runs.selfplay.generations import LEARNED, PLAYED, PROMOTED
from moemcts.runs.selfplay.learning import GenerationTrainer
from moemcts.runs.selfplay.matches import GenerationMatches, measurement_file
from moemcts.runs.selfplay.players import Players, check_opponents, opponent_reference
from moemcts.runs.selfplay.playing import Playing
from moemcts.runs.selfplay.settings import SelfPlayConfig
from moemcts.runs.selfplay.times import START, Times
from moemcts.store import manifest_digest
from moemcts.work.progress import Advance, Progress

_NOT_DECIDING = {"generations", "keep", "workers", "gauntlet", "summary"}


class SelfPlay(Run[SelfPlayConfig]):
    """Experts of one gate that learn from their own games."""

    kind = "selfplay"
    noun = "self-play run"
    config_type = SelfPlayConfig
    keeps_start = False  # Generation 0 is the copy.

    def __init__(self, folder: Path, config: SelfPlayConfig) -> None:
        """Raises UsageError if the configuration names something that does not exist or is not possible."""
        from moemcts.learn.loop.training import require_staged

        super().__init__(folder, config)
        self.gate: PhaseGate = plugins().gate(copied_gate(folder, config.gate), self.game)
        self.scheme = require_staged(plugins().scheme(config.scheme), config.scheme)
        self.scheme.check(self.gate)
        self.players = Players(folder, config, self.game)
        check_opponents(config.games, self.game)
        self.players.opponent_model()
        self.on_disk = self.players.on_disk
        self.trainer = GenerationTrainer(config, self.game, self.gate, self.scheme, self.on_disk)
        self.times = Times(self.on_disk, config.generations)
        self.playing = Playing(self.players, self.times)
        self.matches = GenerationMatches(self.players, self.measured, self.playing.match_workers)
        check_backend(config.games.backend, config.games.precision, config.games.device)
        if config.games.resign_value is not None:
            check_adjudicable(self.game)
        contestants(config.gauntlet.opponents, self.game)
        self._first_untidied = 0
        """The first generation that may still have something to remove."""
        self.on_generation: Callable[[int], None] = lambda generation: None
        """Called with each generation once it is trained and evaluated."""

    @classmethod
    def prepare(cls, folder: Path, config: SelfPlayConfig) -> Self:
        """Returns a new self-play run without writing anything.

        Raises as `Run.prepare`, `GenerationTrainer.initial_networks`, `read_openings` and `starts`, UsageError if a
        file has too few openings or `training.compile` is `auto`, and MissingExtra if Ray is needed but not installed.
        """
        run = super().prepare(folder, config)
        if isinstance(config.workers, str) and importlib.util.find_spec("ray") is None:
            raise MissingExtra("ray", "ray")
        # The initial experts are checked now: once written, the settings cannot be changed.
        run.trainer.initial_networks()
        if config.training.compile == "auto":
            raise UsageError(
                "expected training.compile true or false, got 'auto': each generation would decide anew from its "
                "own timings, and runs with the same seed would differ"
            )
        for file in run.openings:
            least = 1 if file.section == GAMES else run.matches.num_openings
            read_openings(run.game, file.named).choose(least, "sequential", 0)
        if run.measured and run.config.gauntlet.random_plies:
            starts(run.game, 1, random_plies=run.config.gauntlet.random_plies)
        return run

    @classmethod
    def resolved(cls, config: SelfPlayConfig) -> SelfPlayConfig:
        """Returns the configuration with everything that the game, experts and machine decide filled in."""
        game = plugins().game(config.game)
        if config.start:
            from moemcts.learn.checkpoint import read_manifest

            start = experts_in(Path(config.start))
            # Read first, so that experts of another game are reported before a network is created for this one.
            network = read_manifest(start, game)["network"]
            config = config.model_copy(update={"start": str(start.absolute()), "network": network})
        opponents = [resolve_reference(reference, game) for reference in config.gauntlet.opponents]
        gauntlet = config.gauntlet.model_copy(update={"opponents": opponents})
        gate = plugins().complete_gate(config.gate, game)
        config = with_absolute_paths(config.model_copy(update={"gate": gate, "gauntlet": gauntlet}))
        config = super().resolved(config)
        if config.games.in_flight is None:
            games = config.games.model_copy(update={"in_flight": groups_in_flight(game)})
            config = config.model_copy(update={"games": games})
        games, device = config.games, device_for(config.games.device)
        update: dict[str, str] = {"device": device}
        precision = games.precision or (AUTO if games.backend == AUTO else None)
        if AUTO in (games.backend, precision):
            chosen = inference_for(
                config.game, config.network, games.backend, precision, batch_size=games.parallel, device=device
            )
            update |= {"backend": chosen.backend, "precision": chosen.precision}
        return config.model_copy(update={"games": games.model_copy(update=update)})

    @classmethod
    def complete_network(cls, config: SelfPlayConfig) -> str:
        """Returns the network with the options that the game and the opponent model decide."""
        opponent = opponent_reference(config.games)
        game = plugins().game(config.game)
        return plugins().complete_network(config.network, game, faced="" if opponent == SELF else opponent)

    def with_generations(self, generations: int) -> SelfPlay:
        """Returns the run with more generations, which are only written by `keep_settings`.

        Raises UsageError for fewer generations than before.
        """
        if generations < self.config.generations:
            raise UsageError(
                f"expected at least {self.config.generations} generations, which {self.folder} was begun with, "
                f"got {generations}"
            )
        return SelfPlay(self.folder, self.config.model_copy(update={"generations": generations}))

    @property
    def gates(self) -> list[str]:
        """The gate of the experts."""
        return [self.config.gate]

    @functools.cached_property
    def measured(self) -> list[int]:
        """The generations to measure, in order: by `gauntlet.every`, without those whose experts are gone.

        Generations already measured are included even if their experts are gone.
        """
        gauntlet, last = self.config.gauntlet, self.config.generations
        if not gauntlet.games or not (gauntlet.opponents or gauntlet.previous):
            return []
        due = sorted({*range(0, last + 1, gauntlet.every), last})
        return [
            generation
            for generation in due
            if measurement_file(self.folder, generation).exists() or not self.on_disk.is_gone(generation)
        ]

    def describe(self) -> str:
        """Returns a line that describes what is learned from which games."""
        config = self.config
        phases = ", ".join(self.gate.phase_names)
        size, unit = config.games.size
        return (
            f"{config.game}: {config.network} by {config.gate} ({phases}; {config.scheme}), "
            f"{format_count(config.generations, 'generation')} of {size:,} {unit} at "
            f"{config.search.simulations or config.search.nodes} simulations, "
            f"from {config.start or 'random weights'}"
        )

    def parts(self) -> list[Part]:
        """Returns the initial experts, then the games, training, promotion and measurement of each generation."""
        gauntlet, content = self.config.gauntlet, {file.section: file.decided_by for file in self.openings}
        decided_by = self._decided_by() | content.get(GAMES, {})
        measured_by = decided_by | {
            f"gauntlet.{key}": value
            for key, value in gauntlet.model_dump(mode="json", exclude={"every", "parallel"}).items()
        }
        measured_by |= experts_of(gauntlet.opponents) | content.get(GAUNTLET, {})
        folder, on_disk = self.folder, self.on_disk
        # By kind of part: the unit of its progress, what does it, and the file with its result, by generation.
        kinds: dict[str, tuple[str, Callable[[int, Advance], None], Callable[[int], Path]]] = {
            "games": (self.config.games.size[1], self.playing.play, lambda number: on_disk.of(number) / PLAYED),
            "train": ("steps", self._train, lambda number: on_disk.of(number) / LEARNED),
            "promote": ("games", self.matches.promote, lambda number: on_disk.of(number) / PROMOTED),
            "measure": ("games", self.matches.measure, lambda number: measurement_file(folder, number)),
        }
        parts = [Part(name=START, task=START, unit="experts", do=self.trainer.start, decided_by=decided_by)]
        for name, (generation, kind) in self._part_kinds.items():
            unit, do, result_file = kinds[kind]
            parts.append(
                Part(
                    name=name,
                    task=f"generation {generation}: {_TASKS[kind]}",
                    unit=unit,
                    do=functools.partial(do, generation),
                    decided_by=measured_by if kind == "measure" else decided_by,
                    result_file=result_file(generation),
                )
            )
        return parts

    @functools.cached_property
    def _part_kinds(self) -> dict[str, tuple[int, str]]:
        """The generation and kind of each part but the first, by its name."""
        generations = range(self.config.generations + 1)
        return {f"{kind}-{number:04d}": (number, kind) for number in generations for kind in self._kinds(number)}

    def _kinds(self, generation: int) -> list[str]:
        """Returns the kinds of parts of a generation, in order."""
        kinds = []
        if generation:
            kinds += ["games", "train"]
            if self.config.promotion.rule != "none":
                kinds.append("promote")
        if generation in self.measured:
            kinds.append("measure")
        return kinds

    def work(self, progress: Progress) -> None:
        """Does all parts that are not done yet; removes what is no longer needed after each generation."""
        self.trainer.say = self.times.say = progress.say
        self._tidy(self.on_disk.last_learned())
        with self.playing.keep_workers():
            try:
                super().work(progress)
            finally:
                self.playing.stop()
        self._tidy(self.on_disk.last_learned())

    def do(self, name: str, advance: Advance) -> None:
        """Does the part with that name and records how long it takes."""
        started = time.monotonic()
        super().do(name, advance)
        self.times.append({"part": name, "seconds": round(time.monotonic() - started, 2)})
        generation, kind = self._part_kinds.get(name, (0, ""))
        if kind == "train":
            self._tidy(generation)
        if generation and kind == self._kinds(generation)[-1]:
            self.on_generation(generation)

    def _train(self, generation: int, advance: Advance) -> None:
        """Trains the experts of a generation, while the next one's games are played if these are played ahead."""
        if self.config.games.ahead and generation < self.config.generations:
            self.playing.begin(generation + 1)
        self.trainer.train(generation, advance)

    def _decided_by(self) -> dict[str, Any]:
        """Returns the settings that decide every generation, by dotted path."""
        settings = self.config.resolved_settings()
        decided_by = flat({key: value for key, value in settings.items() if key not in {*_NOT_DECIDING, "training"}})
        if self.config.start:
            decided_by["start experts"] = self._start_digest()
        return decided_by | flat({"training": self.config.training.identity()})

    def _start_digest(self) -> str:
        """Returns a digest of the initial experts as they were when generation 0 copied them."""
        record = self.read_record(START)
        # The original experts may have been removed or retrained since.
        recorded = record.get("done") and record["decided_by"].get("start experts")
        return str(recorded) if recorded else manifest_digest(Path(self.config.start))

    def _tidy(self, last: int) -> None:
        """Removes what generations after `last`, which has learned, do not need."""
        from moemcts.learn.loop.window import replay_window

        if not last:
            return
        champion = self._decided_champion(last)
        window = replay_window(last, self.on_disk.num_samples, self.config.replay)
        needed = set[int]()
        # The last generation may play later, or be an opponent, even if it was not promoted.
        for player in {last, champion, self.playing.played_by(last + 1)}:
            needed |= {player, *self.players.league(player)}
        untidied = range(self._first_untidied, last + 1)
        kept = {
            generation
            for generation in untidied
            if generation in needed or generation in self.measured or generation % self.config.keep == 0
        }
        self.on_disk.tidy(untidied, window=window, kept=kept, origins=[last, champion])
        # Later generations need nothing older: before this one, nothing is left to remove.
        self._first_untidied = min(window.start, *needed)

    def _decided_champion(self, last: int) -> int:
        """Returns the champion as far as it is decided: the last generation may not be evaluated yet."""
        is_judged = self.config.promotion.rule == "none" or self.on_disk.read_result(last, PROMOTED)
        return self.on_disk.champion(last if is_judged else last - 1)


_TASKS = {"games": "games", "train": "training", "promote": "promotion", "measure": "measurement"}

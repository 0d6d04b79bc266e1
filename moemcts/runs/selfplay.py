"""Self-play in its folder: games, training, promotion, generation by generation; every part can be resumed."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from moemcts.arena.adjudication import check_adjudicable
from moemcts.arena.openings import read_openings
from moemcts.arena.verdict import counted
from moemcts.errors import MissingExtra, UsageError
from moemcts.gates import PhaseGate
from moemcts.naming import AUTO, SELF, check_backend, contestants, experts_in, experts_of, settled
from moemcts.plugins import plugins
from moemcts.runs.environment import groups_in_flight
from moemcts.runs.generations import LEARNED, PLAYED, PROMOTED, REPLAY, manifest_digest
from moemcts.runs.kept_gates import kept_gate
from moemcts.runs.kept_openings import GAMES, GAUNTLET, with_whole_paths
from moemcts.runs.run import Part, Run
from moemcts.runs.running import device_for, inference_for
from moemcts.runs.selfplay_games import Chunk, Speed, SpeedOfShares
from moemcts.runs.selfplay_judging import Judging, measurement_of
from moemcts.runs.selfplay_learning import Teaching
from moemcts.runs.selfplay_players import PlayChunks, Players, check_opponents, faced_in
from moemcts.runs.selfplay_settings import SelfPlayConfig
from moemcts.runs.times import duration
from moemcts.store import read_toml, write_bytes
from moemcts.work import Here, Processes, Workers, num_cores, workers
from moemcts.work.beside import Beside
from moemcts.work.progress import Advance, Progress, Silence

SECONDS_BETWEEN_LINES = 60.0
START = "start"
_NOT_DECIDING = {"generations", "keep", "workers", "gauntlet", "summary"}


class SelfPlay(Run[SelfPlayConfig]):
    """Experts of one gate that learn from games that they play, in a folder."""

    kind = "selfplay"
    noun = "self-play"
    config_type = SelfPlayConfig

    def __init__(self, folder: Path, config: SelfPlayConfig) -> None:
        """Raises UsageError where the configuration names something that does not exist, or cannot be done."""
        from moemcts.learn.loop.training import staged

        super().__init__(folder, config)
        self.gate: PhaseGate = plugins().gate(kept_gate(folder, config.gate), self.game)
        self.scheme = staged(plugins().scheme(config.scheme), config.scheme)
        self.scheme.check(self.gate)
        self.players = Players(folder, config, self.game)
        check_opponents(config.games, self.game)
        self.players.opponent_model()
        self.on_disk = self.players.on_disk
        self.teaching = Teaching(config, self.game, self.gate, self.scheme, self.on_disk)
        self.judging = Judging(self.players, self.measured, self._crew)
        check_backend(config.games.backend, config.games.precision, config.games.device)
        if config.games.resign_value is not None:
            check_adjudicable(self.game)
        contestants(config.gauntlet.opponents, self.game)
        self.on_generation: Callable[[int], None] = lambda generation: None
        """Called with every generation that has learned and was measured."""
        self._ahead: Beside | None = None
        self._progress: Progress = Silence()
        self._spoken = time.monotonic()

    @classmethod
    def prepare(cls, folder: Path, config: SelfPlayConfig) -> Self:
        """Returns new self-play of which nothing is written yet; raises as `Run.prepare`, `Teaching.beginning` and
        `read_openings`, UsageError where a file has too few openings or trainings would decide by their times, and
        MissingExtra where its games are to be played by actors of Ray, which is not installed.
        """
        run = super().prepare(folder, config)
        if isinstance(config.workers, str) and importlib.util.find_spec("ray") is None:
            raise MissingExtra("ray", "ray")
        # What it begins with is looked at here: once it is written, its settings stay as they are.
        run.teaching.beginning()
        if config.training.compile == "auto":
            raise UsageError(
                "expected training.compile true or false, got 'auto': each generation would decide anew, by its times, "
                "and runs of the same seed would differ"
            )
        for file in run.openings:
            least = 1 if file.section == GAMES else run.judging.num_openings
            read_openings(run.game, file.named).choose(least, "sequential", 0)
        return run

    @classmethod
    def resolved(cls, config: SelfPlayConfig) -> SelfPlayConfig:
        """Returns the configuration with what the game, experts and this machine decide written out."""
        if config.start:
            start = experts_in(Path(config.start))
            network = str(read_toml(start / "manifest.toml").get("network", config.network))
            config = config.model_copy(update={"start": str(start.absolute()), "network": network})
        game = plugins().game(config.game)
        opponents = [settled(reference, game) for reference in config.gauntlet.opponents]
        gauntlet = config.gauntlet.model_copy(update={"opponents": opponents})
        gate = plugins().complete_gate(config.gate, game)
        config = with_whole_paths(config.model_copy(update={"gate": gate, "gauntlet": gauntlet}))
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
        """Returns the network with the options that the game and whom the search believes to face decide."""
        faced = faced_in(config.games)
        game = plugins().game(config.game)
        return plugins().complete_network(config.network, game, faced="" if faced == SELF else faced)

    def longer(self, generations: int) -> SelfPlay:
        """Returns the same for more generations, of which nothing is written before `keep_settings`; raises UsageError
        for fewer.
        """
        if generations < self.config.generations:
            raise UsageError(
                f"expected {self.config.generations} generations or more, which {self.folder} was begun with, got "
                f"{generations}"
            )
        return SelfPlay(self.folder, self.config.model_copy(update={"generations": generations}))

    @property
    def gates(self) -> list[str]:
        """The gate of the experts."""
        return [self.config.gate]

    @property
    def measured(self) -> list[int]:
        """The generations that are measured, in their order: by `gauntlet.every`, as far as their experts were kept."""
        gauntlet, last = self.config.gauntlet, self.config.generations
        if not gauntlet.games or not (gauntlet.opponents or gauntlet.previous):
            return []
        due = sorted({*range(0, last + 1, gauntlet.every), last})
        return [one for one in due if measurement_of(self.folder, one).exists() or not self.on_disk.is_gone(one)]

    def describe(self) -> str:
        """Returns one line on what is learned from what."""
        config = self.config
        phases = ", ".join(self.gate.phase_names)
        size, unit = config.games.size
        return (
            f"{config.game}: {config.network} by {config.gate} ({phases}; {config.scheme}), "
            f"{counted(config.generations, 'generation')} of {size:,} {unit} at "
            f"{config.search.simulations or config.search.nodes} simulations, "
            f"from {config.start or 'random weights'}"
        )

    def parts(self) -> list[Part]:
        """Returns what self-play begins with, and of every generation its games, training, promotion, measurement."""
        gauntlet, content = self.config.gauntlet, {file.section: file.decided_by for file in self.openings}
        decided_by = self._decided_by() | content.get(GAMES, {})
        measured_by = decided_by | {
            f"gauntlet.{key}": value
            for key, value in gauntlet.model_dump(mode="json", exclude={"every", "parallel"}).items()
        }
        measured_by |= experts_of(gauntlet.opponents) | content.get(GAUNTLET, {})
        parts = [Part(name=START, task=START, unit="experts", do=self.teaching.start, decided_by=decided_by)]
        measured = self.measured
        _, size_unit = self.config.games.size
        for generation in range(self.config.generations + 1):
            kinds = [("games", size_unit, self._play), ("train", "steps", self._train)]
            if self.config.promotion.rule != "none":
                kinds.append(("promote", "games", self.judging.promote))
            if not generation:
                kinds = []
            if generation in measured:
                kinds.append(("measure", "games", self.judging.measure))
            for kind, unit, do in kinds:
                parts.append(
                    Part(
                        name=f"{kind}-{generation:04d}",
                        task=f"generation {generation}: {_TASKS[kind]}",
                        unit=unit,
                        do=functools.partial(do, generation),
                        decided_by=measured_by if kind == "measure" else decided_by,
                    )
                )
        return parts

    def work(self, progress: Progress) -> None:
        """Does all parts that are not done yet; what is no longer needed is removed after each generation."""
        self._progress = progress
        self.teaching.say = progress.say
        self._tidy()
        # Games ahead are played by processes of a thread, which end with it.
        with contextlib.nullcontext() if self.config.games.ahead else self._processes.kept():
            try:
                super().work(progress)
            finally:
                if self._ahead is not None:
                    self._ahead.stop()
                    self._ahead = None
        self._tidy()

    def do(self, name: str, advance: Advance) -> None:
        """Does the part of that name, and writes down how long that took."""
        started = time.monotonic()
        super().do(name, advance)
        self._log({"part": name, "seconds": round(time.monotonic() - started, 2)})
        if name.startswith("train"):
            self._tidy()
        if generation := self._last_parts.get(name, 0):
            self.on_generation(generation)

    @functools.cached_property
    def _last_parts(self) -> dict[str, int]:
        """The generations by the last part of each."""
        last = {int(part.name[-4:]): part.name for part in self.parts() if part.name != START}
        return {name: generation for generation, name in last.items()}

    def _train(self, generation: int, advance: Advance) -> None:
        """Trains the experts of a generation, beside the next one's games where these are played ahead."""
        if not self.config.games.ahead or generation == self.config.generations:
            self.teaching.train(generation, advance)
            return
        self._ahead = Beside(functools.partial(self._play_games, generation + 1))
        self.teaching.train(generation, advance)

    def _play(self, generation: int, advance: Advance) -> None:
        """Plays the games of a generation, or waits for those that are played already."""
        if self._ahead is not None:
            self._ahead.wait(advance)
            self._ahead = None
        self._play_games(generation, advance)

    def _played_by(self, generation: int) -> int:
        """Returns which generation's experts play the games of a generation."""
        return self.on_disk.champion(max(0, generation - 1 - self.config.games.ahead))

    def _play_games(self, generation: int, advance: Advance) -> None:
        from moemcts.arena.replays import write_jsonl
        from moemcts.runs.selfplay_games import describe_games, done_before, join_chunks, read_chunk, waves
        from moemcts.runs.selfplay_showing import Showing

        if self.on_disk.said(generation, PLAYED):
            return
        games, champion = self.config.games, self._played_by(generation)
        speed = SpeedOfShares()
        kept = done_before(self.on_disk.chunks(generation))
        counts: dict[int, int] = {}

        def samples_of(chunk: int) -> int | None:
            path = self.on_disk.chunk(generation, chunk)
            if chunk not in counts and path.exists():
                counts[chunk] = len(read_chunk(path).records)
            return counts.get(chunk)

        def hear(shares: Sequence[Sequence[int]], number: int, found: Speed | Chunk) -> None:
            if isinstance(found, Chunk):
                write_bytes(self.on_disk.chunk(generation, found.number), found.content)
                return
            speed.note(shares[number][0], found)
            total = kept + speed.total
            expected, unit = games.size
            done = total.num_games if unit == "games" else total.num_samples
            advance(min(done, expected), expected)
            self._speak(generation, speed, done / expected)

        crew, player = self._workers(), PlayChunks(self.players, generation, champion)
        before = self.on_disk.said(generation - 1, PLAYED) if generation > 1 else None
        samples_before = before["samples"] / before["games"] * games.per_part if before else 0.0
        for wave in waves(games, crew.count, samples_of, samples_before):
            num_shares = min(crew.count, len(wave)) if games.continuous else len(wave)
            shares = [wave[start::num_shares] for start in range(num_shares)]
            crew.map(player, shares, on_report=functools.partial(hear, shares))
        chunks = [self.on_disk.chunk(generation, chunk) for chunk in range(self._num_chunks(counts))]
        num_samples, played = join_chunks(
            self.game,
            games,
            chunks,
            self.on_disk.games(generation),
            reference=self.config.game,
            source={"generation": generation, "champion": champion},
        )
        seen = Showing(self.players, generation, champion)
        write_jsonl(self.on_disk.of(generation) / REPLAY, [seen.replay(played[0])])
        said = {"samples": num_samples, "played_by": champion, **describe_games(played)}
        said |= {"openings": seen.openings(played)}
        self.on_disk.say(generation, PLAYED, said)
        self.on_disk.remove(generation, "chunks")
        self._log({"generation": generation, **speed.total.rates(speed.seconds), "seconds": round(speed.seconds, 2)})

    def _num_chunks(self, counts: Mapping[int, int]) -> int:
        """Returns how many chunks, from the first on, are needed."""
        games = self.config.games
        if games.samples is None:
            return -(-games.games // games.per_part)
        total = number = 0
        while total < games.samples:
            total += counts[number]
            number += 1
        return number

    def _decided_by(self) -> dict[str, Any]:
        """Returns the settings that decide every generation, by dotted path."""
        found: dict[str, Any] = {}
        for key, value in self.config.resolved_settings().items():
            if key in _NOT_DECIDING or key == "training":
                continue
            if isinstance(value, dict):
                found |= {f"{key}.{name}": item for name, item in value.items()}
            else:
                found[key] = value
        if self.config.start:
            found["start experts"] = self._start_digest()
        return found | {f"training.{key}": value for key, value in self.config.training.identity().items()}

    def _start_digest(self) -> str:
        """Returns a name for the experts that self-play begins with, as they were when generation 0 copied them."""
        begun = self.recorded(START)
        # Whoever made them may have removed or trained them anew since.
        known = begun.get("done") and begun["decided_by"].get("start experts")
        return str(known) if known else manifest_digest(Path(self.config.start))

    @functools.cached_property
    def _processes(self) -> Processes:
        """Those that play here; with games ahead, as this one learns meanwhile, even one."""
        count = self.config.workers
        return Processes(count if isinstance(count, int) and count else num_cores(), hint=self._hint)

    @property
    def _hint(self) -> str:
        hint = f"go on with moemcts selfplay --resume {self.folder}"
        return hint if self.config.games.ahead else f"{hint}, or set workers=1"

    def _workers(self) -> Workers:
        if isinstance(self.config.workers, str):
            return workers(self.config.workers, hint=self._hint)
        return self._processes if self._processes.count > 1 or self.config.games.ahead else Here()

    def _crew(self) -> Workers:
        """Returns who plays a match."""
        if self._ahead is not None or isinstance(self.config.workers, str) or self._processes.count == 1:
            # Every core has games already, or whoever would play has not this folder.
            return Here()
        return self._processes

    def _tidy(self) -> None:
        """Removes what later generations do not need."""
        from moemcts.learn.loop.window import window

        done = [one for one in range(1, self.config.generations + 1) if self.on_disk.said(one, LEARNED)]
        if not done:
            return
        last = done[-1]
        champion, found = self._champion(last), window(last, self.on_disk.num_samples(last), self.config.replay)
        kept = {*self.measured, *range(0, last + 1, self.config.keep)}
        # The last one may play later, or sit opposite one that does, even where it was not promoted.
        for one in {last, champion, self._played_by(last + 1)}:
            kept |= {one, *self.players.league(one)}
        self.on_disk.tidy(last, window=found, kept=sorted(kept), origins=[last, champion])

    def _champion(self, last: int) -> int:
        """Returns which generation's experts play as far as that is decided: the last one may not be judged yet."""
        is_judged = self.config.promotion.rule == "none" or self.on_disk.said(last, PROMOTED)
        return self.on_disk.champion(last if is_judged else last - 1)

    def _log(self, values: Mapping[str, Any]) -> None:
        """Adds a line to the file of times, which is another one each time."""
        from moemcts.learn.training.metrics_log import MetricsLog

        log = MetricsLog(self.folder / "timings.jsonl")
        # Half a line of a process that was killed is no beginning of this one.
        log.rewind(log.num_bytes)
        log.append(values)

    def _speak(self, generation: int, speed: SpeedOfShares, share: float) -> None:
        """Says every minute how things stand."""
        if time.monotonic() - self._spoken < SECONDS_BETWEEN_LINES:
            return
        self._spoken = time.monotonic()
        rates = speed.total.rates(speed.seconds)
        losses = self.on_disk.said(generation - 1, LEARNED).get("losses", {}) if generation > 1 else {}
        told = ", ".join(f"{name} {one['loss']:.3f}" for name, one in losses.items() if one)
        left = self._seconds_left(generation, share)
        # While the first games of a generation are played, none is finished.
        games = f"{rates['games_per_second']:.2f} games/s, " if rates["games_per_second"] else ""
        self._progress.say(
            f"generation {generation} of {self.config.generations}: {games}"
            f"{rates['positions_per_second']:,.0f} positions/s in batches of {rates['mean_batch']:.0f}, "
            f"{100 * rates['network_share']:.0f} % of the time in the network"
            + (f"; loss {told}" if told else "")
            + (f"; {left}" if left else "")
        )

    def _seconds_left(self, generation: int, share: float) -> str:
        times = [one["seconds"] for one in self.timings() if "part" in one and one["part"] != START]
        if generation < 2 or not times:
            return ""
        each = sum(times) / (generation - 1)
        return f"{duration(each * (self.config.generations - generation + 1 - min(share, 1)))} left"

    def timings(self) -> list[dict[str, Any]]:
        """Returns the lines of the file of times."""
        from moemcts.learn.training.metrics_log import read_times

        return read_times(self.folder / "timings.jsonl")


_TASKS = {"games": "games", "train": "training", "promote": "promotion", "measure": "measurement"}

"""Self-play in its folder: games, training, promotion, generation by generation; every part can be resumed."""

from __future__ import annotations

import functools
import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moemcts.agents import Agent, PolicyAgent
from moemcts.arena.adjudication import check_adjudicable
from moemcts.arena.openings import Opening, read_openings, starts
from moemcts.arena.rating import Sprt
from moemcts.errors import UsageError
from moemcts.game import State
from moemcts.gates import PhaseGate
from moemcts.naming import AUTO, check_backend, contestants, experts_in, opponents_named
from moemcts.plugins import plugins
from moemcts.runs.gauntlet import Duel, is_promoted, manifest_digest
from moemcts.runs.generations import GENERAL, LEARNED, OPTIMISERS, PLAYED, PROMOTED, TRAINING, Generations
from moemcts.runs.kept_gates import kept_gate
from moemcts.runs.run import Part, Run
from moemcts.runs.running import inference_for
from moemcts.runs.selfplay_games import Speed, SpeedOfParts
from moemcts.runs.selfplay_settings import SelfPlayConfig
from moemcts.search import SearchAgent
from moemcts.search.engine import Opponents
from moemcts.store import read_json, read_toml, write_bytes, write_json
from moemcts.work import Here, Report, Workers, num_cores, workers
from moemcts.work.progress import Advance, Progress, Silence

if TYPE_CHECKING:
    from moemcts.experts import ExpertSet
    from moemcts.learn.loop.games import Cast
    from moemcts.learn.loop.players import Usage
    from moemcts.learn.loop.training import Networks
    from moemcts.learn.training.progress import Progress as TrainingProgress

SECONDS_BETWEEN_LINES = 60.0
LEAGUE, SELF = "league", "self"
"""Words for opponents that are no agents."""
START = "start"
_NOT_DECIDING = {"generations", "keep", "workers", "gauntlet", "summary"}
_FIRST_BOARD = 1_000_000
"""Of matches, times the seed: their start positions have numbers of their own."""


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
        self.on_disk = Generations(folder)
        self.opponent_model()
        check_backend(config.games.backend, config.games.precision)
        if config.games.resign_value is not None:
            check_adjudicable(self.game)
        if config.games.opponents not in (SELF, LEAGUE):
            plugins().agent(config.games.opponents, self.game)
        contestants(config.gauntlet.opponents, self.game)
        self.on_generation: Callable[[int], None] = lambda generation: None
        """Called with every generation that has learned and was measured."""
        self._progress: Progress = Silence()
        self._experts: dict[int, ExpertSet] = {}
        self._spoken = time.monotonic()

    @classmethod
    def resolved(cls, config: SelfPlayConfig) -> SelfPlayConfig:
        """Returns the configuration with what the game, the first experts and this machine decide written out."""
        if config.start:
            start = experts_in(Path(config.start))
            network = str(read_toml(start / "manifest.toml").get("network", config.network))
            config = config.model_copy(update={"start": str(start.absolute()), "network": network})
        config = super().resolved(config)
        games = config.games
        precision = games.precision or (AUTO if games.backend == AUTO else None)
        if AUTO not in (games.backend, precision):
            return config
        chosen = inference_for(config.game, config.network, games.backend, precision, batch_size=games.parallel)
        update = {"backend": chosen.backend, "precision": chosen.precision}
        return config.model_copy(update={"games": games.model_copy(update=update)})

    @property
    def gates(self) -> list[str]:
        """The gate of the experts."""
        return [self.config.gate]

    @property
    def measured(self) -> list[int]:
        """The generations that are measured, in their order."""
        gauntlet, last = self.config.gauntlet, self.config.generations
        if not gauntlet.games or not (gauntlet.opponents or gauntlet.previous):
            return []
        return sorted({*range(0, last + 1, gauntlet.every), last})

    def describe(self) -> str:
        """Returns one line on what is learned from what."""
        config = self.config
        phases = ", ".join(self.gate.phase_names)
        size, unit = config.games.size
        return (
            f"{config.game}: {config.network} by {config.gate} ({phases}; {config.scheme}), {config.generations} "
            f"generations of {size:,} {unit} at {config.search.simulations or config.search.nodes} simulations, "
            f"from {config.start or 'random weights'}"
        )

    def parts(self) -> list[Part]:
        """Returns what self-play begins with, and of every generation its games, training, promotion, measurement."""
        decided_by = self._decided_by()
        measured_by = decided_by | {
            f"gauntlet.{key}": value
            for key, value in self.config.gauntlet.model_dump(mode="json", exclude={"every", "parallel"}).items()
        }
        parts = [Part(name=START, task=START, unit="experts", do=self._start, decided_by=decided_by)]
        measured = self.measured
        _, unit = self.config.games.size
        for generation in range(self.config.generations + 1):
            kinds = [("games", unit, self._play), ("train", "steps", self._train)]
            if self.config.promotion.rule != "none":
                kinds.append(("promote", "games", self._promote))
            if not generation:
                kinds = []
            if generation in measured:
                kinds.append(("measure", "games", self._measure))
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
        self._tidy()
        super().work(progress)
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

    def experts(self, generation: int) -> ExpertSet:
        """Opens the experts of a generation, run as the settings say."""
        from moemcts.learn.checkpoint import load_experts
        from moemcts.learn.inference.evaluators import Inference, named_backend, named_precision

        if generation not in self._experts:
            games = self.config.games
            inference = Inference(named_backend(games.backend), named_precision(games.precision or "float32"))
            while len(self._experts) >= self.config.games.league + 2:
                del self._experts[min(self._experts)]
            self._experts[generation] = load_experts(
                self.on_disk.experts(generation), self.game, plugins(), inference=inference
            )
        return self._experts[generation]

    def play_part(self, generation: int, champion: int, chunk: int, report: Report) -> bytes:
        """Plays some games of a generation by the experts of another; returns the content of their file."""
        from moemcts.learn.loop.games import Counts, play_games
        from moemcts.learn.loop.players import Usage
        from moemcts.learn.threads import torch_threads
        from moemcts.runs.selfplay_games import chunk_bytes, numbers_of, speed_of, throttled

        usage, started = Usage(), time.monotonic()
        with torch_threads(1):
            played = play_games(
                self.game,
                self._cast(champion, usage),
                self.config.games,
                numbers_of(self.config.games, chunk),
                generation=generation,
                seed=self.config.seed,
                openings=self._game_openings,
                on_progress=throttled(report, usage, started),
            )
        counts = Counts(num_games=len(played), num_samples=len(played.records), num_plies=int(played.plies.sum()))
        report(speed_of(counts, usage, started))
        return chunk_bytes(played)

    def needed(self, champion: int) -> dict[str, bytes]:
        """Returns the files that games by the experts of a generation need, by their place in the folder."""
        experts = [self.on_disk.experts(one) for one in (champion, *self._league(champion))]
        folders = [self.folder / "gates", *experts]
        files = [path for folder in folders if folder.is_dir() for path in sorted(folder.iterdir()) if path.is_file()]
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in files}

    def _league(self, champion: int) -> range:
        """Returns the earlier generations that may sit opposite."""
        games = self.config.games
        return range(max(0, champion - games.league) if games.opponents == LEAGUE else champion, champion)

    @functools.cached_property
    def _game_openings(self) -> list[State]:
        if not self.config.games.openings:
            return []
        suite = read_openings(self.game, Path(self.config.games.openings))
        return [one.start for one in suite.openings if not isinstance(one.start, int)]

    def _cast(self, champion: int, usage: Usage) -> Cast:
        from moemcts.learn.loop.games import Cast

        games = self.config.games
        learner = self._learner(champion, usage)
        if games.opponents == SELF:
            return Cast(learner=learner)
        others: list[Agent]
        if games.opponents == LEAGUE:
            others = [self._learner(one, usage) for one in self._league(champion)]
        else:
            others = [plugins().agent(games.opponents, self.game)]
        return Cast(learner=learner, others=others, other_share=games.opponent_share)

    def _learner(self, generation: int, usage: Usage) -> Agent:
        from moemcts.learn.loop.players import Learner, Metered

        games, evaluator = self.config.games, Metered(self.experts(generation), usage)
        if not games.searched:
            temperature = self.config.search.temperature
            return PolicyAgent(evaluator, temperature=temperature, name=_name(generation))
        return Learner(
            self.game,
            evaluator,
            self.config.search,
            full_share=games.full_share,
            fast_simulations=games.fast_simulations,
            opponents=self.opponent_model(),
            name=_name(generation),
        )

    def opponent_model(self) -> Opponents:
        """Returns who the search believes to face."""
        games = self.config.games
        known = SELF if games.opponents in (SELF, LEAGUE) else games.opponents
        return opponents_named(games.opponent_model or known, self.game)

    def _start(self, advance: Advance) -> None:
        """Writes the experts of generation 0."""
        networks = self._first_networks()
        self._save(0, networks, data="", measurements=[])
        advance(len(networks), len(networks))

    def _first_networks(self) -> list[Any]:
        import torch

        from moemcts.learn.checkpoint import load_networks
        from moemcts.learn.fingerprint import gate_fingerprint

        num_phases = self.gate.num_phases
        if not self.config.start:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(self.config.seed)
                spec = self.game.spec
                return [plugins().network(self.config.network, spec.observation_shape, spec.num_actions)] * num_phases
        loaded = load_networks(Path(self.config.start), self.game, plugins())
        if len(loaded.networks) == 1:
            return list(loaded.networks) * num_phases
        if gate_fingerprint(loaded.gate, self.game) != gate_fingerprint(self.gate, self.game):
            raise UsageError(
                f"{self.config.start} has experts of gate {loaded.gate.name!r}, not of {self.config.gate!r}; "
                f"expected experts of the same gate, or a single network"
            )
        return list(loaded.networks)

    def _play(self, generation: int, advance: Advance) -> None:
        """Plays the games of a generation."""
        from moemcts.runs.selfplay_games import join_chunks, read_chunk, waves

        if self.on_disk.said(generation, PLAYED):
            return
        games, champion = self.config.games, self.on_disk.champion(generation - 1)
        speed = SpeedOfParts()
        counts: dict[int, int] = {}

        def samples_of(chunk: int) -> int | None:
            path = self.on_disk.chunk(generation, chunk)
            if chunk not in counts and path.exists():
                counts[chunk] = len(read_chunk(path).records)
            return counts.get(chunk)

        def hear(number: int, found: Speed) -> None:
            speed.note(number, found)
            total = speed.total
            expected, unit = games.size
            done = total.num_games if unit == "games" else total.num_samples
            advance(done, expected)
            self._speak(generation, speed, done / expected)

        crew, player = self._workers(), _PlayPart(self, generation, champion)
        for wave in waves(games, crew.count, samples_of):

            def keep(number: int, content: bytes, wave: Sequence[int] = wave) -> None:
                write_bytes(self.on_disk.chunk(generation, wave[number]), content)

            crew.map(player, wave, on_report=hear, on_done=keep)
        chunks = [self.on_disk.chunk(generation, chunk) for chunk in range(self._num_chunks(counts))]
        said = join_chunks(
            self.game,
            games,
            chunks,
            self.on_disk.games(generation),
            reference=self.config.game,
            source={"generation": generation, "champion": champion},
        )
        self.on_disk.say(generation, PLAYED, said)
        self.on_disk.remove(generation, "chunks")
        self._log({"generation": generation, **speed.total.rates(speed.seconds), "seconds": round(speed.seconds, 2)})

    def _num_chunks(self, counts: Mapping[int, int]) -> int:
        """Returns how many parts, from the first on, are needed."""
        games = self.config.games
        if games.samples is None:
            return -(-games.games // games.per_part)
        total = number = 0
        while total < games.samples:
            total += counts[number]
            number += 1
        return number

    def _train(self, generation: int, advance: Advance) -> None:
        """Makes the experts of a generation from those before it."""
        from moemcts.learn.loop.training import configured, go_on
        from moemcts.learn.training.trainer import Optimisers, Trainer

        if self.on_disk.said(generation, LEARNED):
            return
        config = self.config
        samples, found = self._samples(generation)
        settings = configured(
            config.training,
            config.learning,
            generation=generation,
            seed=config.seed,
            num_samples=len(samples.training),
        )

        def follow(state: TrainingProgress) -> None:
            advance(state.step, state.num_steps)

        trainer = Trainer(
            settings,
            on_progress=follow,
            references={"network": config.network, "gate": config.gate, "scheme": config.scheme},
        )
        origin = self._origin(generation)
        optimisers = None
        if config.learning.optimiser == "kept":
            optimisers = Optimisers(self.on_disk.of(origin) / OPTIMISERS, self.on_disk.of(generation) / OPTIMISERS)
        taught = go_on(
            trainer,
            self.scheme,
            self._networks(origin),
            samples,
            self.gate,
            self.on_disk.of(generation) / TRAINING,
            optimisers=optimisers,
        )
        for note in taught.notes:
            self._progress.say(f"generation {generation}: {note}")
        if taught.networks.general is not None:
            self._save_general(generation, taught.networks.general)
        self._save(generation, taught.networks.experts, data=samples.training.id, measurements=taught.measurements)
        self.on_disk.say(
            generation,
            LEARNED,
            {
                "samples": len(samples.training),
                "validation": len(samples.validation),
                "window": [found.start, found.stop - 1],
                "phases": samples.training.phase_counts(self.gate),
                "learning_rate": settings.learning_rate,
                "losses": {
                    name: _losses(one) for name, one in zip(self.gate.phase_names, taught.measurements, strict=True)
                },
                "notes": list(taught.notes),
            },
        )

    def _samples(self, generation: int) -> tuple[Any, range]:
        from moemcts.learn.data.shards import dataset_id, read_shards
        from moemcts.learn.loop.window import open_window, window
        from moemcts.store import digest

        config = self.config
        found = window(generation, self.on_disk.num_samples(generation), config.replay)
        opened = [read_shards(self.on_disk.games(one), self.game) for one in found]
        samples = open_window(
            self.game,
            [shard for _, shards in opened for shard in shards],
            digest(" ".join(dataset_id(manifest) for manifest, _ in opened).encode())[:16],
            config.replay,
            config.targets,
            held_out=config.training.validation_fraction,
            seed=config.seed,
            newest=generation,
        )
        return samples, found

    def _origin(self, generation: int) -> int:
        """Returns which experts a generation goes on from."""
        goes_on = self.config.promotion.goes_on
        return generation - 1 if goes_on == "newest" else self.on_disk.champion(generation - 1)

    def _networks(self, generation: int) -> Networks:
        from moemcts.learn.checkpoint import load_networks
        from moemcts.learn.loop.training import Networks
        from moemcts.learn.weights import load_state, read_state

        loaded = load_networks(self.on_disk.experts(generation), self.game, plugins())
        path = self.on_disk.of(generation) / GENERAL
        general = None
        if path.exists():
            spec = self.game.spec
            general = plugins().network(self.config.network, spec.observation_shape, spec.num_actions)
            load_state(general, read_state(path)[0], str(path))
        return Networks(experts=loaded.networks, general=general)

    def _save_general(self, generation: int, network: Any) -> None:
        from moemcts.learn.weights import network_state, write_state

        write_state(self.on_disk.of(generation) / GENERAL, network_state(network), {"generation": generation})

    def _save(
        self, generation: int, networks: Sequence[Any], *, data: str, measurements: Sequence[Mapping[str, Any]]
    ) -> None:
        from moemcts.learn.checkpoint import save_experts

        save_experts(
            self.on_disk.experts(generation),
            networks,
            game=self.game,
            game_reference=self.config.game,
            gate=self.gate,
            gate_reference=self.config.gate,
            network_reference=self.config.network,
            scheme=self.config.scheme,
            seed=self.config.seed,
            data=data,
            measurements=measurements,
        )

    def _promote(self, generation: int, advance: Advance) -> None:
        """Lets the newest experts play those that have played, and says whether they play the next games."""
        rule, champion = self.config.promotion, self.on_disk.champion(generation - 1)
        search = self.config.search.model_copy(
            update={"temperature": rule.temperature, "noise_fraction": 0.0, "gumbel_noise": 0.0}
        )
        sprt = Sprt(elo0=rule.elo0, elo1=rule.elo1, model="logistic") if rule.rule == "sprt" else None
        newest = _name(generation)
        result = Duel(
            game=self.game,
            agents={
                name: self._judged(one, search, rule.simulations)
                for name, one in ((newest, generation), (_name(champion), champion))
            },
            openings=self._openings(rule.games, generation),
            num_games=rule.games,
            seed=self._board(generation),
            parallel=self.config.games.parallel,
            identity=self._identity([generation, champion], search.model_dump(mode="json"), rule.simulations),
            journal=self.folder / "matches" / f"promote-{generation:04d}.jsonl",
            sprt=sprt,
        ).play(Here(), advance)
        self.on_disk.say(
            generation,
            PROMOTED,
            {
                "promoted": is_promoted(result, newest, score=rule.score, sprt=sprt),
                "champion": champion,
                "games": len(result.records),
                "counts": list(result.counts(newest)),
            },
        )

    def _measure(self, generation: int, advance: Advance) -> None:
        """Plays a generation against the opponents that stay the same, and the one that was measured before it."""
        gauntlet = self.config.gauntlet
        search = self.config.search.model_copy(update={"temperature": 0.0, "noise_fraction": 0.0, "gumbel_noise": 0.0})
        known = contestants(gauntlet.opponents, self.game)
        others: dict[str, Agent] = {name: one.agent for name, one in known.items()}
        before = [one for one in self.measured if one < generation][-1:]
        if gauntlet.previous:
            others |= {_name(one): self._judged(one, search, gauntlet.simulations) for one in before}
        found = []
        for number, (name, agent) in enumerate(others.items()):
            own = [generation, *(before if name == _name(before[-1] if before else -1) else [])]
            result = Duel(
                game=self.game,
                agents={_name(generation): self._judged(generation, search, gauntlet.simulations), name: agent},
                openings=self._gauntlet_openings,
                num_games=gauntlet.games,
                seed=self._board(0) + number,
                parallel=gauntlet.parallel,
                identity=self._identity(own, search.model_dump(mode="json"), gauntlet.simulations),
                journal=self.folder / "matches" / f"measure-{generation:04d}-{number}.jsonl",
            ).play(Here(), lambda done, total, n=number: advance(n * total + done, len(others) * total))  # type: ignore[misc]
            tally = result.tally(_name(generation))
            found.append(
                {
                    "agent": _name(generation),
                    "other": name,
                    "counts": list(result.counts(_name(generation))),
                    "tally": tally.to_json(),
                    "rankings": [[list(map(list, one.groups)), list(one.unranked)] for one in result.rankings()],
                }
            )
        write_json(self.folder / "matches" / f"measure-{generation:04d}.json", found)

    def measurements(self) -> list[dict[str, Any]]:
        """Returns the matches of all generations that were measured."""
        paths = [self.folder / "matches" / f"measure-{generation:04d}.json" for generation in self.measured]
        return [one for path in paths if path.exists() for one in read_json(path)]

    def _judged(self, generation: int, search: Any, simulations: int | None) -> Agent:
        experts = self.experts(generation)
        if simulations == 0:
            return PolicyAgent(experts, name=_name(generation))
        if simulations is not None:
            search = search.model_copy(update={"simulations": simulations, "nodes": None})
        return SearchAgent(self.game, experts, search, opponents=self.opponent_model(), name=_name(generation))

    @functools.cached_property
    def _gauntlet_openings(self) -> list[Opening]:
        gauntlet = self.config.gauntlet
        return starts(
            self.game,
            -(-gauntlet.games // self.game.spec.num_players),
            path=Path(gauntlet.openings) if gauntlet.openings else None,
            random_plies=gauntlet.random_plies,
            seed=self._board(0),
        )

    def _openings(self, num_games: int, generation: int) -> list[Opening]:
        return starts(self.game, -(-num_games // self.game.spec.num_players), seed=self._board(generation))

    def _board(self, generation: int) -> int:
        return (self.config.seed + 1) * _FIRST_BOARD + generation * 10_000

    def _identity(
        self, generations: Sequence[int], search: Mapping[str, Any], simulations: int | None
    ) -> dict[str, Any]:
        return {
            "experts": [manifest_digest(self.on_disk.experts(one)) for one in generations],
            "search": dict(search),
            "simulations": simulations,
            "backend": self.config.games.backend,
        }

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
        if found.get("games.precision") is None:
            # Parts from before there was a choice are gone on with.
            found.pop("games.precision", None)
        if self.config.start:
            found["start experts"] = manifest_digest(Path(self.config.start))
        return found | {f"training.{key}": value for key, value in self.config.training.identity().items()}

    def _workers(self) -> Workers:
        return workers(
            self.config.workers or num_cores(),
            hint=f"go on with moemcts selfplay --resume {self.folder}, or set workers=1",
        )

    def _tidy(self) -> None:
        """Removes what later generations do not need."""
        from moemcts.learn.loop.window import window

        done = [one for one in range(1, self.config.generations + 1) if self.on_disk.said(one, LEARNED)]
        if not done:
            return
        last, champion = done[-1], self.on_disk.champion(done[-1])
        found = window(last, self.on_disk.num_samples(last), self.config.replay)
        measured = self.measured
        kept = {last, champion, *measured, *range(0, last + 1, self.config.keep)}
        kept |= set(self._league(champion))
        self.on_disk.tidy(last, window=found, kept=sorted(kept), origins=[last, champion])

    def _log(self, values: Mapping[str, Any]) -> None:
        """Adds a line to the file of times, which is another one each time."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / "timings.jsonl", "a") as file:
            file.write(json.dumps(dict(values)) + "\n")

    def _speak(self, generation: int, speed: SpeedOfParts, share: float) -> None:
        """Says every minute how things stand."""
        if time.monotonic() - self._spoken < SECONDS_BETWEEN_LINES:
            return
        self._spoken = time.monotonic()
        rates = speed.total.rates(speed.seconds)
        losses = self.on_disk.said(generation - 1, LEARNED).get("losses", {}) if generation > 1 else {}
        told = ", ".join(f"{name} {one['loss']:.3f}" for name, one in losses.items() if one)
        left = self._seconds_left(generation, share)
        self._progress.say(
            f"generation {generation} of {self.config.generations}: {rates['games_per_second']:.2f} games/s, "
            f"{rates['positions_per_second']:,.0f} positions/s in batches of {rates['mean_batch']:.0f}, "
            f"{100 * rates['network_share']:.0f} % of the time in the network"
            + (f"; loss {told}" if told else "")
            + (f"; {left}" if left else "")
        )

    def _seconds_left(self, generation: int, share: float) -> str:
        from moemcts.runs.estimate import duration

        times = [one["seconds"] for one in self.timings() if "part" in one and one["part"] != START]
        if generation < 2 or not times:
            return ""
        each = sum(times) / (generation - 1)
        return f"{duration(each * (self.config.generations - generation + 1 - min(share, 1)))} left"

    def timings(self) -> list[dict[str, Any]]:
        """Returns the lines of the file of times."""
        from moemcts.learn.training.metrics_log import read_log

        return read_log(self.folder / "timings.jsonl")


_TASKS = {"games": "games", "train": "training", "promote": "promotion", "measure": "measurement"}


def _name(generation: int) -> str:
    return f"generation {generation}"


def _losses(measurement: Mapping[str, Any]) -> dict[str, float]:
    """Returns the losses of an expert on the held-out samples of its stage; none where there were none."""
    held_out = measurement.get("validation") or {}
    return {name: round(value, 6) for name, value in held_out.items()}


class _PlayPart:
    """Plays parts of a generation's games; where it is sent to, it has all that this needs with it."""

    def __init__(self, run: SelfPlay, generation: int, champion: int, home: Any = None) -> None:
        self._run = run
        self._generation = generation
        self._champion = champion
        self._home = home
        """Kept for as long as the run is."""

    def __call__(self, chunk: int, report: Report) -> bytes:
        return self._run.play_part(self._generation, self._champion, chunk, report)

    def __reduce__(self) -> tuple[Any, ...]:
        run = self._run
        return _part_player, (run.config, run.needed(self._champion), self._generation, self._champion)


def _part_player(config: SelfPlayConfig, files: Mapping[str, bytes], generation: int, champion: int) -> _PlayPart:
    home = tempfile.TemporaryDirectory(prefix="moemcts-")
    for name, content in files.items():
        write_bytes(Path(home.name) / name, content)
    return _PlayPart(SelfPlay(Path(home.name), config), generation, champion, home)

"""Trains a generation of self-play on the replay window, continuing from earlier experts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moemcts.game import Game
from moemcts.gates import PhaseGate
from moemcts.learn.schemes.scheme import StagedScheme
from moemcts.plugins import plugins
from moemcts.runs.initial_experts import load_start_networks
from moemcts.runs.selfplay.generations import GENERAL, LEARNED, OPTIMISERS, TRAINING, Generations
from moemcts.runs.selfplay.settings import SelfPlayConfig
from moemcts.work.progress import Advance

if TYPE_CHECKING:
    from moemcts.learn.loop.training import Networks
    from moemcts.learn.loop.window import Samples
    from moemcts.learn.training.progress import Progress as TrainingProgress


class GenerationTrainer:
    """Makes the initial experts and trains those of each generation."""

    def __init__(
        self, config: SelfPlayConfig, game: Game, gate: PhaseGate, scheme: StagedScheme, on_disk: Generations
    ) -> None:
        self.config = config
        self.game = game
        self.gate = gate
        self.scheme = scheme
        self.on_disk = on_disk
        self.say: Callable[[str], None] = lambda text: None
        """Called with warnings, such as about phases with few samples."""

    def start(self, advance: Advance) -> None:
        """Writes the experts of generation 0; raises as `initial_networks`."""
        first = self.initial_networks()
        if first.general is not None:
            self._save_general(0, first.general)
        self._save(0, first.experts, data="", measurements=[])
        advance(len(first.experts), len(first.experts))

    def initial_networks(self) -> Networks:
        """Returns the networks of generation 0.

        Raises UsageError if the gate or the scheme cannot start from them, and as `load_networks`.
        """
        from moemcts.learn.loop.training import Networks, check_initial_networks

        general = Path(self.config.start).parent / GENERAL if self.config.start else None
        first = Networks(
            experts=self._initial_experts(), general=self._network(general) if general and general.exists() else None
        )
        check_initial_networks(self.scheme, first)
        return first

    def _initial_experts(self) -> list[Any]:
        import torch

        num_phases = self.gate.num_phases
        if not self.config.start:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(self.config.seed)
                spec = self.game.spec
                return [plugins().network(self.config.network, spec.observation_shape, spec.num_actions)] * num_phases
        return load_start_networks(Path(self.config.start), self.game, self.config.gate, self.gate)

    def train(self, generation: int, advance: Advance) -> None:
        """Trains the experts of a generation, continuing from earlier ones."""
        from moemcts.learn.loop.training import generation_config, train_generation
        from moemcts.learn.training.trainer import Optimisers, Trainer

        if self.on_disk.read_result(generation, LEARNED):
            return
        config = self.config
        samples, window = self._open_window(generation)
        settings = generation_config(
            config.training,
            config.learning,
            generation=generation,
            seed=config.seed,
            num_samples=len(samples.training),
        )

        def on_progress(state: TrainingProgress) -> None:
            advance(state.step, state.num_steps)

        trainer = Trainer(
            settings,
            on_progress=on_progress,
            references={"network": config.network, "gate": config.gate, "scheme": config.scheme},
        )
        previous = self._continued_from(generation)
        optimisers = None
        if config.learning.optimiser == "kept":
            optimisers = Optimisers(self.on_disk.of(previous) / OPTIMISERS, self.on_disk.of(generation) / OPTIMISERS)
        result = train_generation(
            trainer,
            self.scheme,
            self._networks(previous),
            samples,
            self.gate,
            self.on_disk.of(generation) / TRAINING,
            optimisers=optimisers,
        )
        for note in result.notes:
            self.say(f"generation {generation}: {note}")
        if result.networks.general is not None:
            self._save_general(generation, result.networks.general)
        self._save(generation, result.networks.experts, data=samples.training.id, measurements=result.measurements)
        self.on_disk.write_result(
            generation,
            LEARNED,
            {
                "samples": len(samples.training),
                "validation": len(samples.validation),
                "window": [window.start, window.stop - 1],
                "phases": samples.training.phase_counts(self.gate),
                "learning_rate": settings.learning_rate,
                "losses": {
                    phase: _losses(measurement)
                    for phase, measurement in zip(self.gate.phase_names, result.measurements, strict=True)
                },
                "notes": list(result.notes),
            },
        )

    def _open_window(self, generation: int) -> tuple[Samples, range]:
        """Returns the samples that a generation learns from, and the generations that they are of."""
        from moemcts.learn.data.shards import dataset_id, read_shards
        from moemcts.learn.loop.window import open_window, replay_window
        from moemcts.store import digest

        config = self.config
        window = replay_window(generation, self.on_disk.num_samples, config.replay)
        datasets = [read_shards(self.on_disk.games(number), self.game) for number in window]
        samples = open_window(
            self.game,
            [shard for _, shards in datasets for shard in shards],
            digest(" ".join(dataset_id(manifest) for manifest, _ in datasets).encode())[:16],
            config.replay,
            config.targets,
            held_out=config.training.validation_fraction,
            seed=config.seed,
            newest=generation,
        )
        return samples, window

    def _continued_from(self, generation: int) -> int:
        """Returns the generation whose experts a generation continues from."""
        goes_on = self.config.promotion.goes_on
        return generation - 1 if goes_on == "newest" else self.on_disk.champion(generation - 1)

    def _networks(self, generation: int) -> Networks:
        from moemcts.learn.checkpoint import load_networks
        from moemcts.learn.loop.training import Networks

        loaded = load_networks(self.on_disk.experts(generation), self.game, plugins())
        path = self.on_disk.of(generation) / GENERAL
        return Networks(experts=loaded.networks, general=self._network(path) if path.exists() else None)

    def _network(self, path: Path) -> Any:
        from moemcts.learn.weights import load_state, read_state

        spec = self.game.spec
        network = plugins().network(self.config.network, spec.observation_shape, spec.num_actions)
        load_state(network, read_state(path)[0], str(path))
        return network

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


def _losses(measurement: Mapping[str, Any]) -> dict[str, float]:
    """Returns an expert's losses on the held-out samples of its stage; empty if there were none."""
    held_out = measurement.get("validation") or {}
    return {name: round(value, 6) for name, value in held_out.items()}

"""The measurements of `gpu_plan.py`: whether networks agree with the CPU, and how fast they infer, learn and play."""

from __future__ import annotations

import functools
import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from measuring.probing import probe_training
from torch import nn

from moemcts.arena import Conditions, Lineup, openings_from_seeds, play_games
from moemcts.evaluation import Evaluation, Evaluator
from moemcts.experts import ROUTINGS, ExpertSet
from moemcts.game import FloatArray, Game
from moemcts.gates import SinglePhase
from moemcts.learn.checkpoint import load_networks
from moemcts.learn.data.dataset import Dataset
from moemcts.learn.inference.backends import Precision
from moemcts.learn.inference.shared_body import stacked_experts, torch_experts
from moemcts.learn.inference.stacked import StackedExperts
from moemcts.learn.inference.torch_evaluator import TorchEvaluator
from moemcts.learn.planes import random_planes
from moemcts.learn.training.config import TrainerConfig
from moemcts.learn.training.speed import COMPUTE_MODES, ComputeMode, with_mode
from moemcts.plugins import plugins
from moemcts.runs.settings import LearningConfig
from moemcts.runs.sources import Sources
from moemcts.search import SearchAgent, SearchConfig

Row = dict[str, Any]
Measurement = tuple[str, Callable[[], Row]]
"""A row's name, and a function that measures the rest of it."""

NETWORKS = {"rise": "rise-v3.3?value_head=wdlp", "resnet": "resnet?channels=128&blocks=10&value_head=wdlp"}
TINY = "resnet?channels=4&blocks=1&value_head=wdlp"
PRECISIONS: tuple[Precision, ...] = ("float32", "bf16")
TOLERANCES = {"float32": 0.0005, "bf16": 0.05}
"""Largest deviation of logits from the CPU's, relative to the largest: bfloat16 keeps 8 bits of a number, and
TensorFloat-32, which is not float32, keeps 11.
"""
VALUE_TOLERANCE = 0.02
USUAL = ComputeMode("bf16", channels_last=True)
"""The default way of training without measurements, which suits tensor cores."""


@dataclass(frozen=True, kw_only=True)
class Scale:
    """The amount of work of each measurement."""

    device: str = "cuda"
    is_quick: bool = False
    networks: Mapping[str, str]
    batch_size: int = 2048
    """Batch size of trainings."""
    steps: int = 160
    """Number of steps in which a training's speed is measured, after `warm_up`."""
    warm_up: int = 48
    checked_steps: int = 100
    """Number of steps of the training that is killed."""
    encoders: Sequence[int]
    ways: Sequence[ComputeMode] = COMPUTE_MODES
    """Ways of training."""
    precisions: Sequence[Precision] = PRECISIONS
    checked_batches: Sequence[int] = (1, 3, 64, 512, 513)
    batches: Sequence[int] = (1, 8, 64, 256, 1024, 4096)
    seconds: float = 1.0
    """Duration of each measurement of inference."""
    games: int = 256
    """Number of concurrent games of self-play."""
    simulations: int = 200
    plies: int = 6

    @classmethod
    def of(cls, device: str, *, is_dry: bool, is_quick: bool = False) -> Scale:
        """Returns the amounts for a GPU, a third of them limited to bf16 with `is_quick`, or nearly nothing for a dry
        run.
        """
        if not is_dry:
            most = max(1, min(14, (os.cpu_count() or 2) - 2))
            scale = cls(device=device, networks=NETWORKS, encoders=sorted({min(n, most) for n in (2, 8, 14)}))
            if not is_quick:
                return scale
            return replace(
                scale,
                is_quick=True,
                networks=dict(sorted(NETWORKS.items())),
                encoders=[most],
                ways=[way for way in COMPUTE_MODES if way.precision == "bf16"],
                precisions=("bf16",),
                checked_batches=(1, 3, 513),
                batches=(1, 64, 512, 4096),
                seconds=0.3,
                plies=3,
            )
        return cls(
            device="cpu",
            networks=dict.fromkeys(NETWORKS, TINY),
            batch_size=16,
            steps=16,
            warm_up=16,
            checked_steps=4,
            encoders=(1, 2),
            checked_batches=(1, 3),
            batches=(1, 8),
            seconds=0.02,
            games=2,
            simulations=4,
            plies=1,
        )

    def training(self, way: ComputeMode, encoders: int) -> TrainerConfig:
        """Returns the papers' settings for large networks."""
        settings = TrainerConfig(
            batch_size=self.batch_size,
            optimiser="nag",
            schedule="one_cycle",
            learning_rate=0.14,
            momentum=0.95,
            policy_weight=0.988,
            value_weight=0.01,
            device=self.device,
            augment=False,
            encoders=encoders,
            # Enough that no encoder thread has to wait for a batch to be consumed.
            prefetch=encoders + 4,
            validation_interval=500,
            measured_samples=8000,
            save_interval=200,
        )
        return with_mode(settings, way)


class Measures:
    """The measurements on one device; networks have random weights unless others are given."""

    def __init__(self, scale: Scale, game: Game) -> None:
        self.scale = scale
        self.game = game
        self.networks = {size: plugins().complete_network(name, game) for size, name in scale.networks.items()}

    def about(self, size: str) -> Row:
        """Returns the columns common to all rows of a network."""
        return {"network": self.networks[size], "seed": 0} | self.device()

    def device(self) -> Row:
        """Returns the columns for the device."""
        is_gpu = self.scale.device.startswith("cuda")
        name = torch.cuda.get_device_name(self.scale.device) if is_gpu else "cpu"
        return {"device": name, "torch": torch.__version__}

    def checks(self) -> Iterator[Measurement]:
        """Yields checks that outputs match the CPU's; rows of failed checks have `failed`."""
        cores = {"value": os.cpu_count(), "unit": "cores", "seed": 0, "python": platform.python_version()}
        yield "cores beside it", lambda: cores | self.device()
        for size in self.networks:
            for precision in self.scale.precisions:
                for subject, compared in (("answers", self._answers), ("answers of stacked experts", self._stacked)):
                    yield (
                        f"{size}, {precision}, {subject}, error",
                        lambda size=size, precision=precision, compared=compared: compared(size, precision),
                    )

    def speeds(self, dataset: Dataset) -> Iterator[Measurement]:
        """Yields the training speed of each network in every way and with fewer encoders, and the inference speed by
        batch.
        """
        training, validation = dataset.split(0.05, 0)
        sources = Sources(training, validation)
        most = self.scale.encoders[-1]
        for size in self.networks:
            for way, encoders in [
                *((way, most) for way in self.scale.ways),
                *((USUAL, few) for few in self.scale.encoders[:-1]),
            ]:
                yield (
                    f"{size}, {way}, learning, {encoders} encoders",
                    lambda size=size, way=way, encoders=encoders: self.learning(size, way, encoders, sources),
                )
        for size in self.networks:
            for precision in self.scale.precisions:
                evaluator = TorchEvaluator(self._network(size), self.scale.device, precision)
                for batch in self.scale.batches:
                    yield (
                        f"{size}, {precision}, inference, batch {batch}",
                        lambda evaluator=evaluator, batch=batch, size=size: self._inference(evaluator, batch, size),
                    )
            yield from self._routings(size)

    def self_play(self, size: str, experts: Path | None) -> Iterator[Measurement]:
        """Yields the evaluation speed in concurrent games, and its share of the network's own speed."""
        network = load_networks(experts, self.game, plugins()).networks[0] if experts else self._network(size)
        description = {"weights": "trained" if experts else "random"}
        for precision in self.scale.precisions:
            evaluator = TorchEvaluator(network, self.scale.device, precision)
            for groups in (1, 2):
                in_flight = "" if groups == 1 else f", {groups} groups in flight"
                yield (
                    f"{size}, {precision}, self-play{in_flight}",
                    lambda evaluator=evaluator, groups=groups: self._playing(evaluator, groups, size) | description,
                )

    def learning(self, size: str, way: ComputeMode, encoders: int, sources: Sources) -> Row:
        """Returns a row with the speed of a training."""
        config = LearningConfig(game="chess", network=self.networks[size], training=self.scale.training(way, encoders))
        probe = probe_training(config, self.game, sources, num_steps=self.scale.steps, warm_up=self.scale.warm_up)
        row = {"value": round(probe.rate), "unit": "positions/s", "waiting": round(probe.waiting, 4), "way": str(way)}
        return row | {"size": size, "batch_size": self.scale.batch_size} | self.about(size)

    def _network(self, size: str, seed: int = 0) -> nn.Module:
        torch.manual_seed(seed)
        spec = self.game.spec
        network: nn.Module = plugins().network(self.networks[size], spec.observation_shape, spec.num_actions)
        return network

    def _answers(self, size: str, precision: Precision) -> Row:
        on_device = TorchEvaluator(self._network(size), self.scale.device, precision)
        return self._compared(size, precision, 1, on_device.evaluate_planes)

    def _stacked(self, size: str, precision: Precision) -> Row:
        together = StackedExperts([self._network(size, seed) for seed in range(3)], self.scale.device, precision)

        def answer(planes: FloatArray) -> Evaluation:
            return together.evaluate_planes_by(np.arange(len(planes)) % 3, planes)

        return self._compared(size, precision, 3, answer)

    def _compared(
        self, size: str, precision: Precision, num_networks: int, evaluate: Callable[[FloatArray], Evaluation]
    ) -> Row:
        """Returns the deviation of outputs from the CPU's, alternating between two inputs per batch size."""
        errors: dict[int, float] = {}
        of_values = 0.0
        for batch in self.scale.checked_batches:
            inputs = [random_planes(self.game.spec.observation_shape, batch, seed) for seed in (0, 1)]
            for seed in (0, 1, 0):
                answer, right = evaluate(inputs[seed]), self._right(size, num_networks, batch, seed)
                error = np.abs(answer.logits - right.logits).max() / np.abs(right.logits).max()
                # NaN counts as an infinite error.
                errors[batch] = max(errors.get(batch, 0.0), float(np.nan_to_num(error, nan=np.inf)))
                off = np.abs(answer.value - right.value).max()
                of_values = max(of_values, float(np.nan_to_num(off, nan=np.inf)))
        worst = max(errors.values())
        row = {"value": round(100 * worst, 3), "unit": "% of the largest logit"}
        row |= {"by_batch": {str(batch): round(100 * error, 3) for batch, error in errors.items()}}
        row |= {"of_values": round(of_values, 5)} | self.about(size)
        if worst > TOLERANCES[precision] or of_values > VALUE_TOLERANCE:
            row["failed"] = f"expected at most {100 * TOLERANCES[precision]:g} %, and {VALUE_TOLERANCE} of values"
        return row

    @functools.cache  # noqa: B019
    def _right(self, size: str, num_networks: int, batch: int, seed: int) -> Evaluation:
        """Returns the CPU's float32 outputs; row `i` is by network `i` modulo their number."""
        planes = random_planes(self.game.spec.observation_shape, batch, seed)
        networks = [TorchEvaluator(self._network(size, number)) for number in range(min(num_networks, batch))]
        parts = [network.evaluate_planes(planes[number::num_networks]) for number, network in enumerate(networks)]
        places = np.argsort(np.concatenate([np.arange(batch)[number::num_networks] for number in range(len(parts))]))
        evaluation = Evaluation.joined(parts)
        return Evaluation(evaluation.logits[places], evaluation.value[places])

    def _inference(self, evaluator: TorchEvaluator, batch: int, size: str) -> Row:
        """Returns evaluations per second of planes prepared in advance."""
        planes = random_planes(self.game.spec.observation_shape, batch)
        rate = self._calls_per_second(lambda: evaluator.evaluate_planes(planes))
        return {"value": round(batch * rate), "unit": "positions/s"} | self.about(size)

    def _routings(self, size: str) -> Iterator[Measurement]:
        """Yields the speed of three experts in sequence and stacked, each with a third of the batch."""
        networks = [self._network(size, seed) for seed in range(3)]
        for name, opened in (("each", torch_experts), ("stacked", stacked_experts)):
            team = opened(networks, self.scale.device, "bf16")
            for batch in self.scale.batches:
                yield (
                    f"{size}, bf16, {name}, batch {batch}",
                    lambda name=name, team=team, batch=batch: self._routed(name, team, batch, size),
                )

    def _routed(self, name: str, team: Sequence[Evaluator], batch: int, size: str) -> Row:
        views = self.game.views([(self.game.initial_state(number), 0) for number in range(batch)])
        shares = np.eye(3, dtype=np.float32)[np.arange(batch) % 3]
        rate = self._calls_per_second(lambda: ROUTINGS[name].route(views, shares, team))
        return {"value": round(batch * rate), "unit": "positions/s"} | self.about(size)

    def _calls_per_second(self, call: Callable[[], object]) -> float:
        for _ in range(3):
            call()
        calls, started = 0, time.perf_counter()
        while time.perf_counter() - started < self.scale.seconds:
            call()
            calls += 1
        return calls / (time.perf_counter() - started)

    def _playing(self, evaluator: TorchEvaluator, groups: int, size: str) -> Row:
        """Returns evaluations per second in concurrent games, compared with the network alone in such batches."""
        config = SearchConfig(simulations=self.scale.simulations, leaves_per_tree=8, noise_fraction=0.25)
        agent = SearchAgent(self.game, ExpertSet(SinglePhase(), [evaluator]), config)
        boards = openings_from_seeds(self.scale.games)
        lineups = [
            Lineup(agents=[agent, agent], opening=board.start, opening_name=board.name, seed=number)
            for number, board in enumerate(boards)
        ]
        conditions = Conditions(max_parallel=self.scale.games, max_plies=self.scale.plies, in_flight=groups)
        started = time.perf_counter()
        for _ in play_games(self.game, lineups, conditions):
            pass
        rate = agent.num_evaluations / (time.perf_counter() - started)
        batch = max(1, round(agent.num_evaluations / agent.num_batches))
        alone = self._inference(evaluator, batch, size)["value"]
        row = {"value": round(rate), "unit": "positions/s", "mean_batch": batch}
        return row | {"share_of_inference": round(rate / alone, 4)} | self.about(size)

"""Runs the stages of a training plan one after another, each in a folder of its own."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from moemcts.learn.identity import check_same
from moemcts.learn.networks.shared_body import freeze_body
from moemcts.learn.training.config import TrainerConfig
from moemcts.learn.training.learner import TrainingContext
from moemcts.learn.training.metrics_log import MetricsLog
from moemcts.learn.training.optimisers import Optimisers
from moemcts.learn.training.progress import Meter
from moemcts.learn.training.stage import GOOD, OPTIMISER, RESULT, RESUME, StageRun, TrainingData, read_stage
from moemcts.learn.training.stages import PlanStep
from moemcts.learn.weights import Weights, load_state
from moemcts.store import json_round_trip


@dataclass(frozen=True, kw_only=True)
class Trained:
    """A network after its stages."""

    network: nn.Module
    """On the CPU, in evaluation mode."""
    path: Path
    """The file with its weights."""
    measurement: Mapping[str, Any]
    """Losses of these weights on held-out games, as in the log."""


class PlanRun:
    """Runs the stages of a plan one after another, and holds their results."""

    def __init__(
        self,
        config: TrainerConfig,
        context: TrainingContext,
        initial: Sequence[Weights],
        data: TrainingData,
        identity: Mapping[str, Any],
        folder: Path,
        meter: Meter,
        optimisers: Optimisers | None,
    ) -> None:
        self._config = config
        self._context = context
        self._initial = initial
        self._data = data
        self._identity = identity
        self._folder = folder
        self._meter = meter
        self._optimisers = optimisers
        self._log = MetricsLog(folder / "metrics.jsonl")
        self._timings = MetricsLog(folder / "timings.jsonl")
        self._num_bytes = 0
        self._results: list[tuple[Weights, Mapping[str, Any]]] = []

    def run(self, step: PlanStep) -> None:
        """Trains the next stage of the plan, resumes it, or finds it done."""
        folder = self._stage_folder(len(self._results))
        stages = [asdict(stage) for stage in step.chain]
        identity = json_round_trip({**self._identity, "stages": stages})
        for name in (RESULT, RESUME, GOOD):
            if (folder / name).exists():
                check_same(folder, identity, read_stage(folder / name)[1]["identity"])
        run = self._stage_run(step, folder, identity)
        if (folder / RESULT).exists():
            # Left over if a kill came after the result was written.
            run.remove_states()
        else:
            run.run(
                lambda done, size, seconds, waited: self._meter.step(run.name, done, size, seconds, waited, run.loss)
            )
        state, content = read_stage(folder / RESULT)
        self._results.append((state, content["measurement"]))
        self._num_bytes = content["metrics_bytes"]
        if self._optimisers is not None:
            self._optimisers.keep(step, folder / OPTIMISER)
        self._meter.end_stage(run.num_steps)

    def trained(self, number: int, expert: int) -> Trained:
        """Returns the result of a stage; number -1 stands for an expert's initial weights."""
        state, measurement, path = self._initial[expert % len(self._initial)], dict[str, Any](), self._folder
        if number >= 0:
            state, measurement = self._results[number][0], dict(self._results[number][1])
            path = self._stage_folder(number) / RESULT
        network = copy.deepcopy(self._context.network).eval()
        load_state(network, state, str(path))
        freeze_body(network, False)
        return Trained(network=network, path=path, measurement=measurement)

    def _stage_run(self, step: PlanStep, folder: Path, identity: Mapping[str, Any]) -> StageRun:
        before = self._initial[step.origin] if step.parent is None else self._results[step.parent][0]
        load_state(self._context.network, before, "the stage before")
        return StageRun(
            self._config,
            self._context,
            self._data,
            step.stage,
            seed=int(np.random.SeedSequence((self._config.seed, len(step.chain))).generate_state(1)[0]),
            folder=folder,
            identity=identity,
            head={"experts": [self._data.phase_names[expert] for expert in step.experts]},
            log=self._log,
            timings=self._timings,
            num_bytes=self._num_bytes,
            optimiser=None if self._optimisers is None else self._optimisers.of(step),
            keeps_optimiser=self._optimisers is not None,
        )

    def _stage_folder(self, number: int) -> Path:
        return self._folder / "stages" / f"{number:02d}"

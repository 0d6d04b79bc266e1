"""One stage of training: steps, measurements, and states from which it resumes exactly."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moemcts.errors import DamagedFile, MoemctsError
from moemcts.game import FloatArray, IntArray
from moemcts.learn.data.dataset import Dataset, num_batches
from moemcts.learn.networks.shared_body import freeze_body
from moemcts.learn.training.config import TrainerConfig
from moemcts.learn.training.interrupts import deferred_interrupts
from moemcts.learn.training.learner import Learner, TrainingContext
from moemcts.learn.training.loader import LoadedBatch, Loader, seed_of
from moemcts.learn.training.measurement import by_phase, measure, summary
from moemcts.learn.training.metrics_log import MetricsLog
from moemcts.learn.training.sample_weights import sample_weights
from moemcts.learn.training.schedule import schedule_values
from moemcts.learn.training.stage_state import Speed, StageState, Sums
from moemcts.learn.training.stages import Stage
from moemcts.learn.weights import Weights, load_state, network_state, read_state, write_state

CHECK_INTERVAL = 16
"""Steps between checks of the loss, so that a GPU is not synchronised at each."""


@dataclass(frozen=True, kw_only=True)
class TrainingData:
    """The datasets and phase weights of a stage."""

    training: Dataset
    held_out: Dataset
    measured: IntArray
    """The rows of `held_out` that are measured; it is kept whole, as a sample's weight may depend on its whole game."""
    validation: Dataset
    """The measured rows of `held_out`."""
    test: Dataset | None
    """Measured like the validation set, but without influence."""
    training_phases: FloatArray
    """Phase weights of the training samples, `[N, K]`."""
    held_out_phases: FloatArray
    test_phases: FloatArray | None
    phase_names: tuple[str, ...]


class _Diverged(Exception):
    """The loss or a weight is not finite, or the held-out loss has spiked.

    The reason, the step, and how many steps had changed the weights by then.
    """


class StageRun:
    """Trains a network through one stage, in a folder from which a killed run resumes exactly."""

    def __init__(
        self,
        config: TrainerConfig,
        context: TrainingContext,
        data: TrainingData,
        stage: Stage,
        *,
        seed: int,
        folder: Path,
        identity: Mapping[str, Any],
        head: Mapping[str, Any],
        log: MetricsLog,
        timings: MetricsLog,
        num_bytes: int,
        optimiser: Weights | None = None,
        keeps_optimiser: bool = False,
    ) -> None:
        """`head` begins every line of the log, and `identity` is stored with each state.

        The first `num_bytes` of the log are of the stages before. `timings` receives the speed of the steps, separately
        from the measurements, which do not depend on interruptions. `optimiser` is the optimiser state to continue
        from; with `keeps_optimiser` the state that belongs to the final weights is kept in `OPTIMISER`.
        """
        self.config = config
        self.name = stage.describe(data.phase_names)
        self._context = context
        self._network = context.network
        self._ranks = context.ranks
        freeze_body(context.network, stage.trains == "heads")
        self._data = data
        self._stage = stage
        self._seed = seed
        self._folder = folder
        self._identity = dict(identity)
        self._head = dict(head)
        self._log = log
        self._timings = timings
        weights = sample_weights(stage, data.training, data.training_phases)
        self._loader = Loader(config, data.training, weights, seed=seed, device=context.device, ranks=context.ranks)
        held_out = sample_weights(stage, data.held_out, data.held_out_phases)
        self._held_out_weights = held_out[data.measured]
        self.num_steps = stage_steps(config, stage, weights)
        self._learner = Learner(config, context, optimiser or {})
        self._keeps_optimiser = keeps_optimiser
        self._state = StageState(metrics_bytes=num_bytes)
        self._speed = Speed()
        self.loss = math.nan

    def run(self, on_step: Callable[[int, int, float, float], None]) -> dict[str, Any]:
        """Trains to the end of the stage; returns the measurement of the weights that it ends with.

        `on_step` is called after every step with its number, its samples, the seconds it took, and those of them spent
        waiting for data. Raises MoemctsError if the loss spikes or stops being finite and going back does not help,
        KeyboardInterrupt after saving the state.
        """
        self._resume()
        with deferred_interrupts() as is_interrupted:
            while not self._is_over():
                monitor = self._state.monitor
                batches = self._loader.batches(self._state.step, self.num_steps, monitor.returns)
                try:
                    with contextlib.closing(batches):
                        for loaded in batches:
                            self._do_step(loaded, on_step, is_interrupted)
                            if self._is_over():
                                break
                except _Diverged as divergence:
                    self._roll_back(*divergence.args)
        return self._finish()

    def _is_over(self) -> bool:
        return self._state.step >= self.num_steps or self._state.monitor.is_over

    def _do_step(
        self, loaded: LoadedBatch, on_step: Callable[[int, int, float, float], None], is_interrupted: Callable[[], bool]
    ) -> None:
        began = time.perf_counter()
        self._learn(loaded)
        is_due, is_saved = self._is_measurement_due(self._state.step), self._state.step % self.config.save_interval == 0
        if is_due or is_saved:
            # Pending work of a GPU belongs to its steps, not to the measurement or the writing that would wait for it.
            self._check_losses()
        seconds = loaded.waited + time.perf_counter() - began
        self._speed.add(loaded.num_samples, seconds, loaded.waited)
        step = self._state.step
        if is_due:
            self._measure()
            self._save(GOOD)
            self._keep_best()
            self._remove(RESUME)
        elif is_saved:
            self._save(RESUME)
        try:
            on_step(step, loaded.num_samples, seconds, loaded.waited)
            if is_interrupted():
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            # With several ranks each may be interrupted at another step: only states that all have reached are kept.
            if self._ranks.size == 1:
                # Weights that have diverged are not saved: a resumed run diverges again, from the last state.
                with contextlib.suppress(_Diverged):
                    self._save(RESUME)
            raise

    def _learn(self, loaded: LoadedBatch) -> None:
        config, step, monitor = self.config, self._state.step, self._state.monitor
        values = schedule_values(
            config.schedule,
            step,
            self.num_steps,
            learning_rate=config.learning_rate * self._stage.learning_rate * monitor.learning_rate(config),
            momentum=config.momentum,
            min_momentum=config.min_momentum,
        )
        # A network's random draws in a step depend on the step alone, so that no generator state has to be stored.
        self._learner.learn(loaded, values, seed_of(self._seed, step, len(monitor.returns), self._ranks.rank))
        self._state.step += 1
        if self._learner.num_pending == CHECK_INTERVAL:
            self._check_losses()

    def _check_losses(self) -> None:
        """Adds the losses of the last steps to the sums; raises _Diverged if one is not finite."""
        first = self._state.step - self._learner.num_pending
        for i, numbers in enumerate(self._learner.pop_losses(), 1):
            if not math.isfinite(numbers["loss"]):
                raise _Diverged(f"the loss is {numbers['loss']}", first + i, first + i - 1)
            self._state.sums.add(numbers)
            self.loss = numbers["loss"] / numbers["weight"]

    def _check_weights(self) -> None:
        self._check_losses()
        if not all(bool(parameter.isfinite().all()) for parameter in self._network.parameters()):
            raise _Diverged("a weight is not a number", self._state.step, self._state.step)

    def _is_measurement_due(self, step: int) -> bool:
        return step % (self.config.validation_interval or self._loader.per_epoch) == 0 or step == self.num_steps

    def _measure(self) -> None:
        """Measures the held-out loss, by the stage's sample weights and in every phase.

        Raises _Diverged if the loss has spiked.
        """
        self._check_weights()
        self._ranks.share_buffers(self._network)
        entry = self._measurement()
        held_out = entry["validation"]
        before = self._state.monitor.accepted
        trend = self._state.monitor.judge(self.config, held_out and held_out["loss"])
        self._write_log({**entry, "spike": True} if trend == "spike" else entry)
        if trend == "spike":
            loss, spike = held_out["loss"], self.config.spike
            is_jump = before and spike and math.isfinite(loss)
            jump = f", more than {spike:g} times the {before:.4g} before," if is_jump else ""
            raise _Diverged(f"the held-out loss is {loss:.4g}{jump}", self._state.step, self._state.step)
        self._state.sums = Sums()
        best = self._state.best and self._state.best["validation"]
        if self.config.keep == "last" or not best or (held_out and held_out["loss"] < best["loss"]):
            self._state.best = entry

    def _keep_best(self) -> None:
        """Writes the weights if they are the best so far, and the optimiser state that belongs to them.

        Called after the state that records them is saved, from which they can be written again: a stage that was killed
        in between would otherwise resume with weights that its state does not know.
        """
        if self._state.best and self._state.best["step"] == self._state.step:
            self._write(BEST, network_state(self._network), {"step": self._state.step})
            self._keep_optimiser()

    def _keep_optimiser(self) -> None:
        if self._keeps_optimiser:
            self._write(OPTIMISER, self._learner.optimiser_state(), {"step": self._state.step})

    def _measurement(self) -> dict[str, Any]:
        data, state, factors = self._data, self._state, self.config.shares()
        per_sample = measure(data.validation, self._learner.losses, self._ranks, batch_size=self.config.batch_size)
        phases = data.held_out_phases[data.measured]
        entry = {
            **self._head,
            "stage": self.name,
            "step": state.step,
            "num_steps": self.num_steps,
            "epoch": state.step / self._loader.per_epoch,
            "training": state.sums.means(),
            "validation": summary(per_sample, self._held_out_weights, factors),
            "phases": by_phase(per_sample, phases, data.phase_names, factors),
        }
        if data.test is not None and data.test_phases is not None:
            test_losses = measure(data.test, self._learner.losses, self._ranks, batch_size=self.config.batch_size)
            entry["test"] = by_phase(test_losses, data.test_phases, data.phase_names, factors)
        return entry

    def _write_log(self, entry: Mapping[str, Any]) -> None:
        if self._ranks.is_first:
            self._log.append(entry)
            head = {**self._head, "stage": self.name}
            self._timings.append({**head, "step": self._state.step, **self._speed.rates()})
        self._speed = Speed()

    def _roll_back(self, reason: str, step: int, num_changes: int) -> None:
        """Restores the state of the last good measurement; the batches after it come in another order.

        Raises MoemctsError if there is none, or if this has happened too often.
        """
        num_returns = len(self._state.monitor.returns)
        if not (self._folder / GOOD).exists() or num_returns >= self.config.max_spikes or not self.config.spike:
            often = f" after going back {num_returns} times" if num_returns else ""
            raise MoemctsError(
                f"{reason} at step {step} of {self.num_steps} of stage {self.name!r}{often}; "
                f"{self._advice(num_changes)}; what was learned until the last saved state is kept in {self._folder}"
            )
        returns = self._state.monitor.returns
        self._restore(GOOD)
        # Log lines on the way to the spike are kept; only what comes after it is written again.
        self._state.monitor.returns = [*returns, self._state.step]
        self._save(RESUME)

    def _advice(self, num_changes: int) -> str:
        """Returns advice for a loss that is not finite after so many changes of the weights."""
        if num_changes == 0:
            return (
                "no step had changed the weights: what the network sees, or what it begins with, is no number; "
                "`moemcts check` looks at the game's observations"
            )
        return f"lower the learning rate, now {self.config.learning_rate}, or set clip"

    def _save(self, name: str) -> None:
        self._check_weights()
        self._ranks.share_buffers(self._network)
        self._state.metrics_bytes = self._log.num_bytes
        tensors: Weights = {f"network.{key}": tensor for key, tensor in network_state(self._network).items()}
        tensors |= {f"optimiser.{key}": tensor for key, tensor in self._learner.optimiser_state().items()}
        self._write(name, tensors, {"identity": self._identity, "position": self._state.to_json()})

    def _resume(self) -> None:
        found = [name for name in (GOOD, RESUME) if (self._folder / name).exists()]
        if not found:
            self._rewind_log()
            return
        self._restore(max(found, key=self._progress_of))
        self._rewind_log()
        # All ranks have to read the files before any of them writes.
        self._ranks.wait()
        self._keep_best()

    def _rewind_log(self) -> None:
        if self._ranks.is_first:
            self._log.rewind(self._state.metrics_bytes)
            self._timings.rewind(self._timings.num_bytes)

    def _progress_of(self, name: str) -> tuple[int, int]:
        """Returns how far a state is; one with more resets is further."""
        state = StageState.of(read_stage(self._folder / name)[1]["position"])
        return len(state.monitor.returns), state.step

    def _restore(self, name: str) -> None:
        tensors, content = read_stage(self._folder / name)
        self._state = StageState.of(content["position"])
        load_state(self._network, _without_prefix(tensors, "network."), str(self._folder / name))
        self._learner = Learner(self.config, self._context, _without_prefix(tensors, "optimiser."))

    def _write(self, name: str, tensors: Weights, content: Mapping[str, Any]) -> None:
        if self._ranks.is_first:
            write_state(self._folder / name, tensors, content)
        self._ranks.wait()

    def _remove(self, name: str) -> None:
        if self._ranks.is_first:
            (self._folder / name).unlink(missing_ok=True)
        self._ranks.wait()

    def _finish(self) -> dict[str, Any]:
        state, _ = read_stage(self._folder / BEST)
        load_state(self._network, state, str(self._folder / BEST))
        if not (self._folder / OPTIMISER).exists():
            # For stages that were begun when it was only kept at the end.
            self._keep_optimiser()
        best = self._state.best or {}
        content = {"identity": self._identity, "measurement": best, "metrics_bytes": self._log.num_bytes}
        self._write(RESULT, state, content)
        self.remove_states()
        return best

    def remove_states(self) -> None:
        """Removes the states from which a stage that has its result need not resume."""
        for name in (RESUME, GOOD, BEST):
            self._remove(name)


RESUME, GOOD = "resume.safetensors", "good.safetensors"
"""States between measurements, and at the last measurement whose loss was not a spike."""
BEST, RESULT = "best.safetensors", "result.safetensors"
OPTIMISER = "optimiser.safetensors"
"""State of the optimiser, for a stage that continues from this one."""


def read_stage(path: Path) -> tuple[Weights, dict[str, Any]]:
    """Returns tensors and content of a stage's file; raises DamagedFile, with advice, if it is damaged."""
    try:
        return read_state(path)
    except DamagedFile as error:
        raise DamagedFile(
            f"{error}; delete {path.parent} and the folders of later stages beside it: they are trained again"
        ) from error


def stage_steps(config: TrainerConfig, stage: Stage, weights: FloatArray) -> int:
    """Returns the maximum number of steps of a stage, given the sample weights; 0 if no sample has weight."""
    per_epoch = num_batches(weights, config.batch_size)
    return max(round(config.epochs * stage.epochs * per_epoch), 1) if per_epoch else 0


def _without_prefix(tensors: Weights, prefix: str) -> Weights:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}

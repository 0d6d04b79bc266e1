"""Settings of a training."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from moemcts.errors import UsageError
from moemcts.sections import LATER, Idle, Section

_NO_PLATEAU = ("constant", "one_cycle", "cosine")
MAX_THREADS = 1024
"""Per process: more are never faster, and bring a machine to a halt."""


class TrainerConfig(Section):
    """How a network is trained.

    The defaults are PommerLearn's supervised ones. The M2CTS papers' large networks use 7 epochs, batch 2048, optimiser
    nag, schedule one_cycle, learning rate 0.14, momentum 0.95 to 0.8, weight decay 0.0001; policy weight 0.988, value
    weight 0.01, wdl weight 0.01, plies weight 0.002.
    """

    model_config = ConfigDict(allow_inf_nan=False)

    epochs: float = Field(default=5.0, gt=0)
    """Passes of a stage over its samples."""
    batch_size: int = Field(default=128, ge=2)
    """Maximum number of samples per step; the batches of an epoch differ in size by one at most."""
    optimiser: Literal["adamw", "sgd", "nag"] = "adamw"
    """adamw, sgd with momentum, or nag: sgd with Nesterov momentum."""
    learning_rate: float = Field(default=1e-3, gt=0)
    """Maximum learning rate."""
    momentum: float = Field(default=0.9, ge=0, lt=1)
    """Maximum momentum; the first beta of adamw."""
    min_momentum: Annotated[float, Idle(schedule=("constant", "plateau"))] = Field(default=0.8, ge=0, lt=1)
    """Momentum at the maximum learning rate of schedules one_cycle and cosine; `momentum` if that is less."""
    weight_decay: float = Field(default=1e-4, ge=0)
    """Weight decay of all parameters, batch norms included."""
    schedule: Literal["constant", "one_cycle", "cosine", "plateau"] = "constant"
    """constant; one_cycle and cosine: learning rate up and down once per stage, momentum opposite; plateau: reduced
    when the held-out loss stops falling."""
    plateau_patience: Annotated[int, Idle(schedule=_NO_PLATEAU)] = Field(default=5, ge=1)
    """Measurements without a better held-out loss after which schedule plateau reduces the learning rate."""
    plateau_factor: Annotated[float, Idle(schedule=_NO_PLATEAU)] = Field(default=0.1, gt=0, lt=1)
    """Factor of the learning rate at each reduction of schedule plateau."""
    tolerance: Annotated[float, Idle(patience=(None,), schedule=_NO_PLATEAU)] = Field(default=0.0, ge=0)
    """How much lower a held-out loss has to be to count as better, for patience and schedule plateau."""
    patience: int | None = Field(default=None, ge=1)
    """Measurements without a better held-out loss after which a stage ends early (early stopping); off if not given."""
    spike: float | None = Field(default=1.5, gt=1)
    """A held-out loss more than this many times the one before, or a loss that is not finite, resets weights, optimiser
    and schedule to the measurement before."""
    max_spikes: Annotated[int, Idle(spike=(None,))] = Field(default=5, ge=0)
    """How often a stage is reset before the training fails; CrazyAra uses 20."""
    policy_weight: float = Field(default=0.9, ge=0)
    """Weight of the policy's cross-entropy in the loss."""
    value_weight: float = Field(default=0.1, ge=0)
    """Weight of the value's squared error in the loss."""
    wdl_weight: float = Field(default=0.01, ge=0)
    """Weight of the cross-entropy of win, draw and loss, for networks with `value_head=wdlp`."""
    plies_weight: float = Field(default=0.002, ge=0)
    """Weight of the squared error of the plies to the end, for networks with `value_head=wdlp`."""
    clip: float | None = Field(default=None, gt=0)
    """Maximum gradient norm; larger gradients are clipped to it."""
    augment: bool = True
    """Whether samples are transformed by random symmetries of the game."""
    validation_fraction: float = Field(default=0.05, gt=0, lt=1)
    """Share of the games that are held out to measure the loss."""
    validation_interval: int | None = Field(default=None, ge=1)
    """Steps between measurements; defaults to one epoch."""
    measured_samples: int | None = Field(default=None, ge=1)
    """Number of validation samples, and of test samples, that are drawn once and measured during training; all if not
    given."""
    keep: Literal["best", "last"] = "best"
    """Which weights a stage ends with: those of the lowest held-out loss, or the last."""
    save_interval: int = Field(default=500, ge=1)
    """Steps between saved states, from which an interrupted training resumes."""
    seed: int = Field(default=0, ge=0)
    """Determines initial weights, held-out games, order of samples and augmentation. In a run, its own `seed` is used
    instead."""
    precision: Literal["float32", "bf16", "auto"] = "float32"
    """bf16 computes the network in bfloat16 where torch considers it safe; weights, losses and optimiser stay float32.
    auto tries what is fastest for the network, and records it together with channels_last."""
    channels_last: Annotated[bool | None, LATER, Idle(precision=("auto",))] = None
    """Whether planes are in channels-last layout: often faster on a CPU, differs in the last bits; off by default."""
    compile: bool | Literal["auto"] = False
    """Whether torch compiles the network: slower to start, faster afterwards, differs in the last bits; auto tries it
    if a training takes ten minutes or more, and uses it if the whole is faster."""
    encoders: int = Field(default=2, ge=1, le=MAX_THREADS)
    """Threads that encode batches."""
    prefetch: int = Field(default=4, ge=1)
    """Batches that are encoded ahead."""
    threads: int | None = Field(default=None, ge=1, le=MAX_THREADS)
    """CPU threads of the network; defaults to one. More threads sum in another order: results differ in the last
    bits."""
    device: str = "auto"
    """cpu, cuda, cuda:1, ... or auto: cuda if available."""

    def check_layout(self, observation_shape: Sequence[int]) -> None:
        """Raises UsageError for channels last if observations are not planes of a board, `[C, H, W]`."""
        if self.channels_last and len(observation_shape) != 3:
            raise UsageError(
                "expected no channels_last: it lays out planes of a board, [C, H, W], and observations here are "
                f"{list(observation_shape)}"
            )

    def check_terms(self, lacking: Collection[str]) -> None:
        """Raises UsageError if a term of the loss that no network has an output for has a weight of its own."""
        usual = TrainerConfig().shares()
        for term in lacking:
            if (weight := self.shares()[term]) != usual[term]:
                raise UsageError(
                    f"training.{term}_weight has no effect, got {weight:g}: no trained network has this output; "
                    "leave it out, or use a network with value_head=wdlp"
                )

    def shares(self) -> dict[str, float]:
        """Returns the weight of each term of the loss, by the term's name."""
        return {
            "policy": self.policy_weight,
            "value": self.value_weight,
            "wdl": self.wdl_weight,
            "plies": self.plies_weight,
        }

    def identity(self) -> dict[str, object]:
        """Returns the settings that have to be equal for an interrupted training to resume."""
        idle = {"save_interval", "encoders", "prefetch", "threads", "device"}
        # Settings that were added later are left out if they have no effect, so that older trainings can resume.
        idle |= set() if self.channels_last else {"channels_last"}
        dump = self.model_dump(mode="json", exclude=idle)
        return dump | ({"threads": self.threads} if (self.threads or 1) > 1 else {})

"""The state of a training stage, except for its tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from moemcts.learn.training.loss_monitor import LossMonitor


@dataclass(kw_only=True)
class Sums:
    """Weighted sums over the samples since the last measurement, added in the order of the steps."""

    totals: dict[str, float] = field(default_factory=dict)
    """By name: loss, each of its terms, accuracy, and `weight`, the sum of the sample weights."""

    def add(self, numbers: Mapping[str, float]) -> None:
        """Adds the numbers of one step."""
        for name, number in numbers.items():
            self.totals[name] = self.totals.get(name, 0.0) + number

    def means(self) -> dict[str, float]:
        return {name: total / self.totals["weight"] for name, total in self.totals.items() if name != "weight"}


@dataclass(kw_only=True)
class StageState:
    """The state that is stored beside the tensors, as JSON values."""

    step: int = 0
    metrics_bytes: int = 0
    best: dict[str, Any] | None = None
    """The measurement with the lowest held-out loss so far, or the last one with keep `last`."""
    sums: Sums = field(default_factory=Sums)
    monitor: LossMonitor = field(default_factory=LossMonitor)

    def to_json(self) -> dict[str, Any]:
        values = {**vars(self), "sums": vars(self.sums), "course": self.monitor.to_json()}
        del values["monitor"]
        return values

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> StageState:
        values = dict(values)
        monitor, sums = LossMonitor(**values.pop("course")), values.pop("sums")
        # States from before samples were weighted here count every step alike.
        totals = {"weight": float(sums.get("steps", 0)), **sums["totals"]}
        return cls(**values, sums=Sums(totals=totals), monitor=monitor)


@dataclass
class Speed:
    """Speed of the steps since the last measurement."""

    num_samples: int = 0
    seconds: float = 0.0
    waited: float = 0.0

    def add(self, num_samples: int, seconds: float, waited: float) -> None:
        self.num_samples += num_samples
        self.seconds += seconds
        self.waited += waited

    def rates(self) -> dict[str, float]:
        seconds = max(self.seconds, 1e-9)
        return {
            "positions_per_second": round(self.num_samples / seconds, 1),
            "waiting": round(self.waited / seconds, 4),
            "seconds": round(self.seconds, 3),
        }

"""Decides from a stage's measurements whether it continues, goes back, reduces the learning rate, or stops early."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

from moemcts.learn.training.config import TrainerConfig

Trend = Literal["better", "no better", "spike"]


@dataclass(kw_only=True)
class LossMonitor:
    """History of a stage's held-out losses; all of it JSON values."""

    accepted: float | None = None
    """The last loss that was not a spike."""
    lowest: float | None = None
    """The best loss so far; each was lower than the one before by more than the tolerance."""
    stale: int = 0
    """Measurements since the best one."""
    slow: int = 0
    """Measurements since the best one, or since the learning rate was last reduced."""
    num_reductions: int = 0
    """Number of reductions of the learning rate."""
    returns: list[int] = field(default_factory=list)
    """Steps to which the stage was reset, in the order in which that happened."""
    is_over: bool = False
    """Whether the stage ends here, before its last step."""

    def judge(self, config: TrainerConfig, loss: float | None) -> Trend:
        """Judges a held-out loss, None if there is nothing to measure; records it unless it is a spike."""
        if loss is None:
            return "better"
        if not math.isfinite(loss) or (config.spike and self.accepted and loss > config.spike * self.accepted):
            return "spike"
        self.accepted = loss
        is_better = self.lowest is None or loss < self.lowest - config.tolerance
        if is_better:
            self.lowest, self.stale, self.slow = loss, 0, 0
        else:
            self.stale, self.slow = self.stale + 1, self.slow + 1
        if config.schedule == "plateau" and self.slow >= config.plateau_patience:
            self.num_reductions, self.slow = self.num_reductions + 1, 0
        self.is_over = config.patience is not None and self.stale >= config.patience
        return "better" if is_better else "no better"

    def learning_rate(self, config: TrainerConfig) -> float:
        """Returns the factor of the learning rate after all reductions."""
        return float(config.plateau_factor**self.num_reductions)

    def to_json(self) -> dict[str, Any]:
        """Returns the arguments of `LossMonitor(**values)`."""
        return {**vars(self), "returns": list(self.returns)}

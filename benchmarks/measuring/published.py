"""Published results of the papers, for comparison with ours."""

from __future__ import annotations

CHESS_LOSS = {
    "single": [0.9269, 1.5043, 1.3523, 1.2897],
    "separated": [0.9169, 1.4371, 1.2594, 1.2245],
    "staged": [0.8786, 1.4437, 1.2774, 1.2218],
    "weighted?a=4": [0.8636, 1.5055, 1.2864, 1.2433],
    "weighted?a=10": [0.8887, 1.4834, 1.3036, 1.2483],
}
"""Loss of the mixture in opening, middlegame, endgame and all (M2CTS paper, Table XIV)."""
VALUE_WEIGHT = 0.01
"""Weight of the value in the papers' chess loss, which is used for all comparisons, whatever the training's weight."""
CHESS_ELO = {"separated": 122.2, "staged": 121.11, "weighted?a=4": 23.18, "weighted?a=10": 55.84}
"""Against the single network, mean over batch sizes (M2CTS paper, Table I)."""
CHESS_HALF_DATA = (-109.5, -144.7, -139.0)
"""Of `separated` with half of the data for all, by architecture, at 800 nodes (M2CTS paper, Table IV)."""
POMMERMAN_POINTS = {"steps": "5 to 11 %", "mixedness": "5 to 11 %", "opponents": "inconsistent"}
"""The paper's gain in win rate over the single network against three simple agents, given jointly for the first two
gates (M2CTS paper, III D and Figure 9).
"""

ANTICHESS_GENERATIONS = {
    "ResNet-4": (410, 504),
    "ResNet-8": (662, 838),
    "ResNet-16": (1273, 1533),
    "DenseNet-4": (1894, 1479),
}
"""Seconds of self-play and of training for 14,000 positions at 64 simulations and 15 epochs, on an RTX 4090 (the
Antichess thesis, Table 5.2)."""


def chess_loss(policy: float, value: float) -> float:
    """Returns the papers' chess loss for losses of policy and value."""
    return (1 - VALUE_WEIGHT) * policy + VALUE_WEIGHT * value

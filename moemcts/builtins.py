"""The built-in plugin: what every game can use."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from moemcts.agents import RandomAgent
from moemcts.game import Game
from moemcts.gates import PlyGate, SinglePhase
from moemcts.hookspecs import Registration, hookimpl
from moemcts.learn import curriculum
from moemcts.learn.networks import catalogue


@hookimpl
def register_gates() -> Sequence[Registration]:
    return [
        Registration("none", _single_phase, "one phase: a single network, the baseline"),
        Registration("plies", _plies, "cuts by plies played; three equal parts of the longest game by default"),
    ]


@hookimpl
def register_agents() -> Sequence[Registration]:
    return [Registration("random", _random, "plays legal actions with equal probability")]


@hookimpl
def register_networks() -> Sequence[Registration]:
    return [
        Registration("rise-tiny", catalogue.rise_tiny, "the M2CTS paper's smallest: 1 channel, 2 mobile blocks"),
        Registration("rise-small", catalogue.rise_small, "64 channels, 4 mobile blocks"),
        Registration("rise", catalogue.rise, "mobile bottleneck blocks of any size, kernels and attention"),
        Registration("rise-v3.3", catalogue.rise_v33, "the M2CTS papers' large network: 15 mobile blocks, attention"),
        Registration("alphavile", catalogue.alphavile, "mobile and transformer blocks; size tiny to large"),
        Registration("resnet", catalogue.resnet, "AlphaZero's residual network; 64 channels, 4 blocks by default"),
        Registration("alphazero", _alphazero, "AlphaZero's own size: 256 channels, 19 residual blocks"),
        *(_antichess_resnet(blocks) for blocks in (4, 8, 16)),
        Registration("densenet", catalogue.densenet, "the Antichess thesis' DenseNet: 4 blocks of 4 dense layers"),
        Registration("nextvit", catalogue.nextvit, "convolution blocks and a transformer block, 256 channels"),
        Registration("levit", catalogue.levit, "residual stem and attention with learned distances, 256 channels"),
        Registration("vit", catalogue.vit, "Vision Transformer; the board is one patch, patch=1 makes cells tokens"),
        Registration("cnn", catalogue.cnn, "the Prague thesis' five plain convolutions with dense heads"),
    ]


@hookimpl
def register_curricula() -> Sequence[Registration]:
    return [
        Registration("separated", curriculum.separated, "each expert on its own phase", default=True),
        Registration("single", curriculum.single, "one network on everything, for all phases"),
        Registration("staged", curriculum.staged, "each expert on one phase after the other, its own last"),
        Registration("weighted", curriculum.weighted, "each expert on everything, its own phase counting a times"),
        Registration("general_first", curriculum.general_first, "one network on everything, then each its phase"),
    ]


_alphazero = functools.partial(catalogue.resnet, channels=256, blocks=19, value_channels=4)


def _antichess_resnet(blocks: int) -> Registration:
    make = functools.partial(catalogue.resnet, channels=256, blocks=blocks)
    return Registration(f"resnet-{blocks}", make, f"the Antichess thesis' residual network of {blocks} blocks")


def _single_phase(game: Game) -> SinglePhase:
    return SinglePhase()


def _plies(game: Game, *, cuts: Sequence[int] = ()) -> PlyGate:
    longest = game.spec.max_plies
    return PlyGate(cuts or (longest // 3, 2 * longest // 3), ())


def _random(game: Game) -> RandomAgent:
    return RandomAgent()

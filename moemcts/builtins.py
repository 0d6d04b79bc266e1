"""The built-in plugin: gates, agents, networks, formats and schemes for every game."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from moemcts.errors import UsageError
from moemcts.hookspecs import Registration, hookimpl
from moemcts.learn.networks import catalogue
from moemcts.learn.schemes import catalogue as schemes
from moemcts.learn.schemes.mixture import Mixture
from moemcts.references import format_reference

if TYPE_CHECKING:
    from moemcts.agents import RandomAgent
    from moemcts.arena.replays import WriteReplays
    from moemcts.game import Game
    from moemcts.gates import PhaseGate, PlyGate, RoundRobinGate, SinglePhase
    from moemcts.search.playouts import PlayoutAgent

DEFAULT_PLAYOUTS = 512
"""The smaller of the two iteration counts in the Antichess thesis."""
_RANDOM_GAMES = 8
"""Random games from which the usual length of a game is estimated."""
_ENDLESS = 5000
"""Plies after which a random game is abandoned."""


@hookimpl
def register_gates() -> Sequence[Registration]:
    return [
        Registration("none", _single_phase, "one phase: a single network, the baseline"),
        Registration(
            "plies", _plies, "cuts by plies played; three equal parts of a long game by default", found=("cuts",)
        ),
        Registration("round-robin", _round_robin, "each ply another phase, in turn: a control, for it means nothing"),
        Registration("kmeans", _kmeans, "clusters of positions; `moemcts gate fit` makes its file", is_learned=True),
        Registration("learned", _learned, "a network trained with its experts, scheme mixture", is_learned=True),
    ]


@hookimpl
def register_agents() -> Sequence[Registration]:
    return [
        Registration("random", _random, "plays legal actions with equal probability"),
        Registration("flat", _flat, "equally many random playouts per action: flat?playouts=512, or seconds=0.1"),
        Registration("uct", _uct, "UCT with random playouts, no network: uct?simulations=512&c=1.4, or seconds=0.1"),
    ]


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
        *(_resnet_of(blocks) for blocks in (4, 8, 16)),
        Registration("densenet", catalogue.densenet, "DenseNet: 4 blocks of 4 dense layers"),
        Registration("nextvit", catalogue.nextvit, "convolution blocks and a transformer block, 256 channels"),
        Registration("levit", catalogue.levit, "residual stem and attention with learned distances, 256 channels"),
        Registration("vit", catalogue.vit, "Vision Transformer; the board is one patch, patch=1 makes cells tokens"),
        Registration("mlp", catalogue.mlp, "dense layers, for observations of any shape; 3 layers of 256"),
        Registration("cnn", catalogue.cnn, "the Prague thesis' five plain convolutions with dense heads"),
    ]


@hookimpl
def register_replay_formats() -> Sequence[Registration]:
    return [Registration("jsonl", _jsonl, "one game per line: positions, moves and what the agents thought")]


@hookimpl
def register_schemes() -> Sequence[Registration]:
    return [
        Registration("separated", schemes.Separated, "each expert on its own phase", default=True),
        Registration("single", schemes.Single, "one network on everything, for all phases"),
        Registration("staged", schemes.Staged, "each expert on one phase after the other, its own last"),
        Registration("weighted", schemes.Weighted, "each expert on everything, its own phase counting a times"),
        Registration("distance", schemes.Distance, "each expert on its phase and, less, on what is plies away"),
        Registration("general_first", schemes.GeneralFirst, "one network on everything, then each its phase"),
        Registration("mixture", Mixture, "experts and gate `learned` together, a mixture of experts"),
        Registration("shared_stem", schemes.SharedStem, "one body from everything, heads from each phase"),
    ]


_alphazero = functools.partial(catalogue.resnet, channels=256, blocks=19, value_channels=4)


def _resnet_of(blocks: int) -> Registration:
    make = functools.partial(catalogue.resnet, channels=256, blocks=blocks)
    return Registration(f"resnet-{blocks}", make, f"AlphaZero's residual network: 256 channels, {blocks} blocks")


def _single_phase(game: Game) -> SinglePhase:
    from moemcts.gates import SinglePhase

    return SinglePhase()


def _plies(game: Game, *, cuts: Sequence[int] = ()) -> PlyGate:
    from moemcts.gates import PlyGate

    longest = game.spec.max_plies
    if late := [cut for cut in cuts if cut >= longest]:
        raise ValueError(f"expected cuts below {longest}, the most plies in a game of {game.spec.name}, got {late[0]}")
    return PlyGate(cuts or _thirds(game), ())


def _round_robin(game: Game, *, phases: int = 3) -> RoundRobinGate:
    from moemcts.gates import RoundRobinGate

    return RoundRobinGate(phases)


def _thirds(game: Game) -> tuple[int, int]:
    """Returns cuts into thirds of the longest possible game or, if no random game gets to its last third (or to
    `_ENDLESS` plies), of the random games' mean length.
    """
    import numpy as np

    from moemcts.game import after_step, first_state, random_action

    longest = game.spec.max_plies
    late = min(2 * longest // 3, _ENDLESS)
    lengths = []
    for seed in range(_RANDOM_GAMES):
        state, rng = first_state(game, seed), np.random.default_rng(seed)
        while state.active_players and state.ply < late:
            joint = [random_action(state, player, rng) for player in state.active_players]
            state = after_step(game.spec, state, joint)
        if state.ply >= late:
            return longest // 3, 2 * longest // 3
        lengths.append(state.ply)
    mean = sum(lengths) // len(lengths)
    return max(mean // 3, 1), max(2 * mean // 3, 2)


def _jsonl(game: Game) -> WriteReplays:
    from moemcts.arena.replays import write_jsonl

    return write_jsonl


def _kmeans(game: Game, *, phases: int = 3) -> PhaseGate:
    raise UsageError(
        f"gate 'kmeans' has to be fitted to data first: moemcts gate fit --game {game.spec.name} --data FOLDER "
        f"--phases {phases} --out FILE.safetensors; then give that file as the gate"
    )


def _learned(game: Game, *, phases: int = 3, channels: int = 32) -> PhaseGate:
    from moemcts.learn.gates.network_gate import NetworkGate

    return NetworkGate.untrained(game, phases, channels)


def _random(game: Game) -> RandomAgent:
    from moemcts.agents import RandomAgent

    return RandomAgent()


def _flat(
    game: Game, *, playouts: int | None = None, seconds: float | None = None, c: float | None = None
) -> PlayoutAgent:
    from moemcts.search.playouts import PlayoutAgent

    if playouts is None and seconds is None:
        playouts = DEFAULT_PLAYOUTS
    name = format_reference("flat", _given(playouts=playouts, seconds=seconds, c=c))
    return PlayoutAgent(game, playouts=playouts, seconds=seconds, exploration=c, depth=1, name=name)


def _uct(
    game: Game,
    *,
    simulations: int | None = None,
    seconds: float | None = None,
    c: float = 1.4,
    depth: int | None = None,
) -> PlayoutAgent:
    from moemcts.search.playouts import PlayoutAgent

    if simulations is None and seconds is None:
        simulations = DEFAULT_PLAYOUTS
    name = format_reference("uct", _given(simulations=simulations, seconds=seconds, c=c, depth=depth))
    return PlayoutAgent(game, playouts=simulations, seconds=seconds, exploration=c, depth=depth, name=name)


def _given(**options: float | None) -> dict[str, float]:
    return {option: value for option, value in options.items() if value is not None}

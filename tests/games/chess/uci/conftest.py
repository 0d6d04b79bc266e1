"""Experts with random weights, and an engine to talk to."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from moemcts.learn.checkpoint import save_experts
from moemcts.learn.networks import catalogue
from moemcts.plugins import plugins
from moemcts_chess.uci import loading
from moemcts_chess.uci.session import Session

Talk = Callable[..., list[str]]


@pytest.fixture(scope="session")
def experts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder of three chess experts with random weights."""
    game = plugins().game("chess")
    torch.manual_seed(0)
    networks = [
        catalogue.resnet(game.spec.observation_shape, game.spec.num_actions, channels=4, blocks=1) for _ in range(3)
    ]
    return save_experts(
        tmp_path_factory.mktemp("team") / "experts",
        networks,
        game=game,
        game_reference="chess",
        gate=plugins().gate("lichess", game),
        gate_reference="lichess",
        network_reference="resnet?channels=4&blocks=1",
        scheme="separated",
        seed=0,
    )


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the simple evaluation the default for chess, too, as it needs no loading."""
    monkeypatch.setattr(loading, "GAMES_WITH_EXPERTS", ())


@pytest.fixture
def talk() -> Talk:
    """Returns a function that returns an engine's output for some lines of input."""

    def talk(*lines: str) -> list[str]:
        out = io.StringIO()
        session = Session(out, gates=["lichess", "movecount", "none"])
        for line in lines:
            assert session.handle_line(line)
            if session._perft:
                session._perft.wait()
            if line.startswith("go") and "infinite" not in line and "ponder" not in line and session._search_thread:
                session._search_thread.wait()
        session.close()
        return out.getvalue().splitlines()

    return talk

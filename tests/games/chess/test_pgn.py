"""Games of a match are written so that python-chess and people can read them."""

from __future__ import annotations

import io
from pathlib import Path

import chess.pgn
import pytest

from moemcts.agents import RandomAgent
from moemcts.arena import Conditions, Lineup, play_games
from moemcts.arena.adjudication import Adjudication
from moemcts.arena.replays import Replay, replays_of
from moemcts.evaluation import UniformEvaluator
from moemcts.experts import ExpertSet
from moemcts.gates import PlyGate
from moemcts.plugins import plugins
from moemcts.search import SearchAgent, SearchConfig


def replays(variant: str, *, num_games: int = 3, adjudication: Adjudication | None = None) -> list[Replay]:
    game = plugins().game(variant)
    experts = ExpertSet(PlyGate([4, 9], ["opening", "middle game", "endgame"]), [UniformEvaluator(game.spec)] * 3)
    agents = [SearchAgent(game, experts, SearchConfig(simulations=8), name="runs/experts?simulations=8"), RandomAgent()]
    lineups = [Lineup(agents=agents, opening=seed, opening_name=f"seed {seed}", seed=seed) for seed in range(num_games)]
    records = play_games(game, lineups, Conditions(max_plies=120, adjudication=adjudication, keep_thoughts=True))
    return replays_of(game, lineups, records, "a match")


def words(board: chess.Board, variant: str) -> list[str]:
    """Returns what a FEN says; a dropped pawn sets the clock back in shakmaty, and not in python-chess."""
    found = board.fen().split()
    return [word for i, word in enumerate(found) if i != 4 or variant != "crazyhouse"]


@pytest.mark.parametrize("variant", ["chess", "chess960", "antichess", "crazyhouse", "threecheck", "atomic"])
def test_python_chess_reads_every_game(variant: str, tmp_path: Path) -> None:
    played = replays(variant)
    plugins().replay_format("pgn", plugins().game(variant))(tmp_path / "games.pgn", played)
    with (tmp_path / "games.pgn").open() as file:
        for replay in played:
            game = chess.pgn.read_game(file)
            assert game is not None
            assert not game.errors
            *_, (last, _) = replay.positions()
            assert words(game.end().board(), variant) == words(last.board(), variant)  # type: ignore[attr-defined]
            assert [move.uci() for move in game.mainline_moves()] == [
                move.text for _, moves in replay.positions() for move in moves
            ]
            assert game.headers["White"] == "runs/experts?simulations=8"
            assert game.headers["Round"] == str(replay.record.index + 1)
            assert game.headers["PlyCount"] == str(replay.record.plies)
            assert game.headers["Result"] == {1: "1-0", 0: "1/2-1/2", -1: "0-1"}[int(replay.record.returns[0])]
            assert (game.headers["Termination"] == "normal") == (replay.record.termination == "rules")
        assert chess.pgn.read_game(file) is None


def test_comments_say_what_was_thought_and_by_which_expert(tmp_path: Path) -> None:
    played = replays("chess", num_games=1)
    plugins().replay_format("pgn", played[0].game)(tmp_path / "games.pgn", played)
    game = chess.pgn.read_game(io.StringIO((tmp_path / "games.pgn").read_text()))
    assert game is not None
    nodes = list(game.mainline())
    routes = ["phase=opening expert=0"] * 2 + ["phase=middle_game expert=1"] * 3 + ["phase=endgame expert=2"]
    for node, route in zip(nodes[:12:2], routes, strict=True):
        assert route in node.comment
        assert "simulations=8" in node.comment
        assert node.eval() is not None
        assert node.eval_depth()
    assert not any(node.comment for node in nodes[1:12:2])


def test_how_a_game_ended_is_said(tmp_path: Path) -> None:
    played = replays("antichess", adjudication=Adjudication(resign_value=0.0, resign_moves=1, draw_moves=0))
    plugins().replay_format("pgn", played[0].game)(tmp_path / "games.pgn", played)
    game = chess.pgn.read_game(io.StringIO((tmp_path / "games.pgn").read_text()))
    assert game is not None
    assert game.headers["Termination"] == "adjudication"
    assert game.headers["Variant"] == "Antichess"
    assert game.headers["Result"] == "0-1"
    assert game.end().comment.endswith("resigned")

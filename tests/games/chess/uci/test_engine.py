"""The engine as its users meet it: a process, python-chess as the interface, Stockfish as the opponent."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import chess
import chess.engine
import chess.variant
import pytest

from moemcts.agents import Seat
from moemcts.plugins import plugins
from moemcts_chess.engine import GAMES_FOLDER

COMMAND = [str(Path(sys.executable).parent / "moemcts"), "uci"]
STOCKFISH = shutil.which("stockfish") or shutil.which("stockfish", path=GAMES_FOLDER)
PATIENCE = 60


@contextmanager
def engine(*arguments: str) -> Iterator[chess.engine.SimpleEngine]:
    with chess.engine.SimpleEngine.popen_uci([*COMMAND, *arguments], timeout=PATIENCE) as running:
        yield running


@pytest.fixture(scope="module")
def running() -> Iterator[chess.engine.SimpleEngine]:
    with engine() as running:
        yield running


def test_it_analyses_several_lines(running: chess.engine.SimpleEngine) -> None:
    board = chess.Board("r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3")
    found = running.analyse(board, chess.engine.Limit(nodes=600), multipv=3)
    assert [line["multipv"] for line in found] == [1, 2, 3]
    for line in found:
        assert line["score"].pov(chess.WHITE).score() is not None
        assert line["pv"]
        assert line["pv"][0] in board.legal_moves


def test_an_endless_analysis_is_watched_and_stopped(running: chess.engine.SimpleEngine) -> None:
    with running.analysis(chess.Board()) as analysis:
        for info in analysis:
            if info.get("time", 0) > 1 and "pv" in info:
                break
    began = time.monotonic()
    best = analysis.wait()
    assert time.monotonic() - began < 30
    assert best.move in chess.Board().legal_moves


def test_it_plays_with_clocks_and_keeps_to_them(running: chess.engine.SimpleEngine) -> None:
    board, clock = chess.Board(), 20.0
    for _ in range(12):
        began = time.monotonic()
        limit = chess.engine.Limit(white_clock=clock, black_clock=clock, white_inc=0.1, black_inc=0.1)
        result = running.play(board, limit, game="clocks")
        if board.turn:
            clock += 0.1 - (time.monotonic() - began)
        assert clock > 0
        assert result.move is not None
        board.push(result.move)


def test_it_ponders(running: chess.engine.SimpleEngine) -> None:
    board = chess.Board()
    for _ in range(4):
        result = running.play(board, chess.engine.Limit(time=0.2), ponder=True, game="ponder")
        assert result.move is not None
        board.push(result.move)
        # Sometimes what it ponders on, sometimes not.
        board.push(result.ponder if result.ponder and board.ply() % 4 == 1 else next(iter(board.legal_moves)))


@pytest.mark.parametrize(
    "board",
    [
        chess.Board.from_chess960_pos(77),
        chess.variant.AntichessBoard(),
        chess.variant.AtomicBoard(),
        chess.variant.CrazyhouseBoard(),
        chess.variant.KingOfTheHillBoard(),
        chess.variant.ThreeCheckBoard(),
        chess.variant.HordeBoard(),
        chess.variant.RacingKingsBoard(),
    ],
    ids=lambda board: "chess960" if board.chess960 else board.uci_variant,
)
def test_it_plays_variants_by_their_rules(running: chess.engine.SimpleEngine, board: chess.Board) -> None:
    for _ in range(30):
        if board.is_game_over():
            break
        result = running.play(board, chess.engine.Limit(nodes=60), game=board.uci_variant)
        assert result.move is not None
        board.push(result.move)


def test_experts_are_loaded_from_the_command_line(experts: Path) -> None:
    with engine("--experts", str(experts), "--set", "Batch_Size=8") as running:
        info = running.analyse(chess.Board(), chess.engine.Limit(nodes=100), info=chess.engine.INFO_ALL)
        assert info["nodes"] >= 100


def test_experts_that_come_with_it_are_those_of_the_game_that_is_played() -> None:
    said = "setoption name UCI_Variant value atomic\nisready\nquit\n"
    words = [*COMMAND, "--experts", "weights"]
    done = subprocess.run(words, input=said, capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert done.stdout.splitlines()[0] == "info string no experts come with atomic"


@pytest.mark.parametrize(("arguments", "is_by_experts"), [((), True), (("--experts", "none"), False)])
def test_chess_is_played_by_the_experts_that_come_with_it(arguments: Sequence[str], is_by_experts: bool) -> None:
    said = "go nodes 20\nsetoption name UCI_Variant value atomic\ngo nodes 20\nquit\n"
    done = subprocess.run([*COMMAND, *arguments], input=said, capture_output=True, text=True, timeout=PATIENCE)
    lines = done.stdout.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("bestmove"))
    assert ("info string phase=opening expert=0" in lines[:first]) == is_by_experts
    assert "info string expert=none" in lines[first:]


def test_options_of_the_command_line_do_what_setoption_does(tmp_path: Path) -> None:
    log = tmp_path / "session.log"
    words = [*COMMAND, "--set", f"Log_File={log}"]
    subprocess.run(words, input="isready\nquit\n", capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert log.read_text().splitlines()[0] == "> isready"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--experts", "/no/such"], 2, "expected a folder of experts, got /no/such"),
        (["--set", "MultiPV=0"], 2, "expected 1 to 500 for MultiPV"),
        (["--set", "MultiPV"], 2, "expected --set OPTION=VALUE"),
        (["--set", "Log_File=/no/such/folder/log"], 2, "--set Log_File=/no/such/folder/log: "),
    ],
)
def test_misuse_is_one_line_and_an_exit_code(arguments: list[str], code: int, message: str) -> None:
    done = subprocess.run([*COMMAND, *arguments], input="quit\n", capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == code
    assert message in done.stderr
    (said,) = done.stdout.splitlines()
    assert said.startswith("info string error: ")
    assert message in said
    assert "Traceback" not in done.stderr


def test_standard_output_is_the_protocol_alone(experts: Path) -> None:
    lines = f"uci\nisready\nsetoption name Model_Directory value {experts}\ngo nodes 50\nisready\n"
    done = subprocess.run(COMMAND, input=lines, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0
    words = {line.split()[0] for line in done.stdout.splitlines()}
    assert words <= {"id", "option", "uciok", "readyok", "info", "bestmove"}
    assert done.stdout.count("bestmove") == 1
    assert done.stderr == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, None], ids=["SIGTERM", "end of input"])
def test_it_leaves_in_the_middle_of_a_search(number: signal.Signals | None) -> None:
    process = subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("go infinite\n")
    process.stdin.flush()
    while not process.stdout.readline().startswith("info depth"):
        assert process.poll() is None
    if number is not None:
        os.kill(process.pid, number)
    rest, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert rest.splitlines()[-1].startswith("bestmove")
    assert errors == ""


def test_a_signal_ends_a_perft_that_goes_on_for_hours() -> None:
    fen = "k2B1QK1/nn1Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/3Q4/1Q4Q1[PNBRQ] w - - 0 1"
    process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"setoption name UCI_Variant value crazyhouse\nposition fen {fen}\ngo perft 6\nisready\n")
    process.stdin.flush()
    while process.stdout.readline() != "readyok\n":
        assert process.poll() is None
    os.kill(process.pid, signal.SIGTERM)
    rest, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    # Moves that mate are counted at once.
    assert rest.splitlines()[-1] == "info string perft was stopped before its end"


def test_it_is_an_agent_of_our_own_arena(tmp_path: Path) -> None:
    import numpy as np

    wrapper = tmp_path / "engine"
    wrapper.write_text(f"#!/bin/sh\nexec {COMMAND[0]} uci\n")
    wrapper.chmod(0o755)
    game = plugins().game("atomic")
    agent = plugins().agent(f"uci?path={wrapper}&nodes=40", game)
    state = game.initial_state()
    (decision,) = agent.act(game.views([(state, 0)]), [Seat(0, np.random.default_rng(0))])
    assert decision.action in state.legal_actions(0)


@pytest.mark.skipif(STOCKFISH is None, reason="Stockfish is not installed; apt-get install stockfish")
def test_it_plays_a_match_against_stockfish(experts: Path) -> None:
    assert STOCKFISH is not None
    limit = chess.engine.Limit(nodes=200)
    with engine("--experts", str(experts)) as ours, chess.engine.SimpleEngine.popen_uci(STOCKFISH) as stockfish:
        for number in range(2):
            board = chess.Board()
            players = (ours, stockfish) if number == 0 else (stockfish, ours)
            while not board.is_game_over(claim_draw=True) and board.ply() < 120:
                result = players[board.ply() % 2].play(board, limit, game=number)
                assert result.move is not None
                board.push(result.move)
            # Random weights lose; what is tested is that every game is played to its end.
            assert board.is_game_over(claim_draw=True) or board.ply() == 120


@pytest.mark.parametrize(
    ("position", "move"),
    [("7k/8/8/8/8/8/1q6/2K5 w - - 0 1", "c1b2"), ("6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1", "a1a8")],
)
def test_a_best_line_that_ends_the_game_has_any_depth(talk: Callable[..., list[str]], position: str, move: str) -> None:
    lines = talk("setoption name MCTS_Solver value false", f"position fen {position}", "go depth 2")
    assert lines[-1].split()[:2] == ["bestmove", move]

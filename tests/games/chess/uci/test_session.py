"""The engine answers what it is asked, and survives what it is not."""

from __future__ import annotations

import io
import random
import re
import shutil
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import chess
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moemcts.evaluation import UniformEvaluator
from moemcts.search import SearchConfig
from moemcts_chess.game import ChessGame
from moemcts_chess.uci.loading import Resources
from moemcts_chess.uci.options import VARIANTS, Options
from moemcts_chess.uci.report import Reporter
from moemcts_chess.uci.search_thread import Limits, SearchTask, SearchThread
from moemcts_chess.uci.session import Session

Talk = Callable[..., list[str]]
CROWDED_FEN = "k2B1QK1/nn1Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/3Q4/1Q4Q1[PNBRQ] w - - 0 1"
TABLES = Path(__file__).parent.parent / "syzygy"


def answer(lines: list[str]) -> str:
    (move,) = [line.split()[1] for line in lines if line.startswith("bestmove")]
    return move


def remarks(lines: list[str]) -> str:
    return "\n".join(line for line in lines if line.startswith("info string"))


def test_uci_names_the_engine_and_its_options(talk: Talk) -> None:
    lines = talk("uci")
    assert lines[0].startswith("id name moemcts")
    assert lines[-1] == "uciok"
    assert "option name UCI_Variant type combo default chess var chess var antichess var atomic" in "\n".join(lines)
    names = {line.split()[2] for line in lines if line.startswith("option")}
    # What the papers' match script and their engine's users set.
    assert names >= {"Batch_Size", "Fixed_Movetime", "Nodes", "Simulations", "Search_Type", "Model_Directory"}
    assert names >= {"Game_Phase_Definition", "Timeout_MS", "Centi_CPuct_Init", "SyzygyPath", "MultiPV", "Threads"}


def test_without_experts_it_says_so_and_moves_all_the_same(talk: Talk) -> None:
    lines = talk("isready", "position startpos", "go nodes 50")
    assert "no experts: thinks of material, squares and the variant's aim" in remarks(lines)
    assert chess.Move.from_uci(answer(lines)) in chess.Board().legal_moves


@pytest.mark.parametrize(("variant", "has_some"), [("antichess", True), ("atomic", False)])
def test_it_says_where_experts_come_with_a_game_that_is_played_without(
    talk: Talk, variant: str, has_some: bool
) -> None:
    told = remarks(talk(f"setoption name UCI_Variant value {variant}", "isready"))
    assert (f"or to weights for those that come with {variant}" in told) is has_some


def test_a_position_with_castling_rights_that_cannot_be_is_played(talk: Talk) -> None:
    lines = talk("position fen 4k3/8/8/3q4/8/2N5/8/4K3 w KQkq - 0 1 moves c3b5 e8e7", "go nodes 20")
    assert chess.Move.from_uci(answer(lines)) in chess.Board("8/4k3/8/1N1q4/8/8/8/4K3 w - - 2 2").legal_moves


def test_material_is_enough_to_take_a_queen(talk: Talk) -> None:
    lines = talk("position fen 4k3/8/8/3q4/8/2N5/8/4K3 w - - 0 1", "go nodes 300")
    assert answer(lines) == "c3d5"


def test_experts_are_told_with_their_phase(talk: Talk, experts: Path) -> None:
    setup = f"setoption name Model_Directory value {experts}"
    lines = talk(setup, "position startpos moves e2e4", "go nodes 60")
    assert "info string phase=opening expert=0" in lines
    lines = talk(setup, "position fen 4k3/8/8/3q4/8/2N5/8/4K3 w - - 0 1", "go nodes 60")
    assert "info string phase=endgame expert=2" in lines


def test_another_gate_can_choose_among_the_experts(talk: Talk, experts: Path) -> None:
    setup = f"setoption name Model_Directory value {experts}"
    lines = talk(setup, "setoption name Game_Phase_Definition value movecount", "position startpos", "go nodes 20")
    assert "trained behind gate lichess, movecount chooses" in remarks(lines)
    lines = talk(setup, "setoption name Game_Phase_Definition value none", "position startpos", "go nodes 20")
    assert "gate none has 1 phases, there are 3 experts" in remarks(lines)


@pytest.mark.parametrize("gate", ["kmeans", "learned"])
def test_a_gate_that_is_learned_first_is_no_choice(talk: Talk, experts: Path, gate: str) -> None:
    lines = talk("uci")
    (choices,) = (line for line in lines if line.startswith("option name Game_Phase_Definition"))
    assert f"var {gate}" not in choices
    setup = f"setoption name Model_Directory value {experts}"
    lines = talk(setup, f"setoption name Game_Phase_Definition value {gate}", "isready", "go nodes 20")
    assert f"got {gate!r}" in remarks(lines) or f"got {gate}" in remarks(lines)
    assert "readyok" in lines
    assert answer(lines)


@pytest.mark.parametrize(
    ("seconds", "is_root", "is_kept"),
    [(None, False, True), (1.0, False, True), (0.1, False, False), (0.1, True, True)],
)
def test_a_tree_that_takes_too_long_to_go_on_with_is_left(seconds: float | None, is_root: bool, is_kept: bool) -> None:
    """In the time that a copy of half a million nodes takes, a quick move is lost on time."""
    game = ChessGame("chess")
    task = SearchTask(
        resources=Resources(game=game, evaluator=UniformEvaluator(game.spec)),
        state=game.initial_state(),
        config=SearchConfig(),
        limits=Limits(nodes=100, simulations=100, seconds=seconds),
        tree=SimpleNamespace(num_nodes=60_000, root_key=game.initial_state().key() if is_root else 0),
    )
    thinking = SearchThread(task, Reporter(task.resources, print, num_lines=1, shows_wdl=False, max_nodes=100), print)
    assert thinking.affordable_tree() == (task.tree if is_kept else None)


@pytest.mark.parametrize(
    ("folder", "message"),
    [("/no/such/folder", "expected a folder of experts, got /no/such/folder"), (".", "expected a folder of experts")],
)
def test_experts_that_cannot_be_had_are_one_remark(talk: Talk, folder: str, message: str) -> None:
    lines = talk(f"setoption name Model_Directory value {folder}", "isready", "go nodes 10")
    assert message in remarks(lines)
    assert answer(lines)


def test_what_an_untried_move_is_worth_can_be_said() -> None:
    options, game = Options(), {"first_play_urgency": "draw"}
    assert options.search_config(9, 9, game).first_play_urgency == "draw"
    options.set("First_Play_Urgency", "loss")
    assert options.search_config(9, 9, game).first_play_urgency == "loss"


def test_experts_are_let_go_of_once_others_are_named(experts: Path) -> None:
    session = Session(io.StringIO())
    for line in (f"setoption name Model_Directory value {experts}", "go nodes 10"):
        session.handle_line(line)
    assert session._resources is not None
    named = weakref.ref(session._resources.evaluator)
    session.handle_line("setoption name Expert_Routing value mixture")
    assert named() is None


def test_the_folder_of_a_training_means_its_experts(talk: Talk, experts: Path, tmp_path: Path) -> None:
    shutil.copytree(experts, tmp_path / "training" / "experts")
    lines = talk(f"setoption name Model_Directory value {tmp_path / 'training'}", "isready", "go nodes 10")
    assert "error" not in remarks(lines)
    assert answer(lines)


def test_experts_of_another_game_are_refused_by_name(talk: Talk, experts: Path) -> None:
    lines = talk(
        f"setoption name Model_Directory value {experts}", "setoption name UCI_Variant value atomic", "isready"
    )
    assert f"error: {experts} holds experts for chess, but the game is atomic" in remarks(lines)


def test_networks_can_be_run_by_what_is_named(talk: Talk, experts: Path) -> None:
    pytest.importorskip("onnxruntime")
    setup = f"setoption name Model_Directory value {experts}"
    exact = "setoption name Precision value float32"
    found = [
        talk(setup, exact, f"setoption name Backend value {backend}", "position startpos", "go nodes 30")[-1]
        for backend in ("torch", "onnxruntime")
    ]
    assert found[0] == found[1]
    lines = talk(setup, "setoption name Precision value int8", "position startpos", "go nodes 30")
    assert "error:" in remarks(lines), "nobody has quantised these experts"


def test_equal_searches_give_equal_reports(talk: Talk, experts: Path) -> None:
    lines = [f"setoption name Model_Directory value {experts}", "position startpos moves d2d4", "go nodes 200"]
    without_time = [
        [re.sub(r"(nps|time) \d+", "", line) for line in talk(*lines) if "pv" in line][-1] for _ in range(2)
    ]
    assert without_time[0] == without_time[1]


def test_nodes_are_a_limit(talk: Talk) -> None:
    lines = talk("position startpos", "go nodes 100")
    *_, nodes = (int(re.findall(r" nodes (\d+)", line)[0]) for line in lines if " pv " in line)
    assert 100 <= nodes <= 116  # the last batch of 16 may pass it
    by_option = talk("setoption name Nodes value 100", "position startpos", "go")
    assert f" nodes {nodes} " in by_option[-2]


def test_memory_is_a_limit_where_nodes_are_not(talk: Talk) -> None:
    setup = ("setoption name Hash value 1", "position startpos")
    for line, most in (("go movetime 2000", 528), ("go nodes 1000", 1016)):
        nodes = max(int(re.findall(r" nodes (\d+)", told)[0]) for told in talk(*setup, line) if " pv " in told)
        assert most - 16 <= nodes <= most


def test_the_papers_match_script_is_understood(talk: Talk, experts: Path) -> None:
    options = {"Batch_Size": 64, "Fixed_Movetime": 0, "Nodes": 100, "Simulations": 200, "Search_Type": "mcts"}
    lines = talk(
        "uci",
        f"setoption name Model_Directory value {experts}",
        *(f"setoption name {name} value {value}" for name, value in options.items()),
        "isready",
        "ucinewgame",
        "position fen rnbqkbnr/pppppppp/8/8/3P4/2N2N2/PPP1PPPP/R1BQKB1R b KQkq - 0 1",
        "go wtime 6000000 btime 6000000 winc 100 binc 100",
    )
    warm, phase = remarks(lines).splitlines()
    assert warm.startswith("info string 3 experts are warm for batches of 1 to 64 positions after ")
    assert phase == "info string phase=opening expert=0"
    *_, nodes = (int(re.findall(r" nodes (\d+)", line)[0]) for line in lines if " pv " in line)
    assert 100 <= nodes <= 164
    assert answer(lines)


def test_lines_are_as_many_as_asked_for_and_legal(talk: Talk) -> None:
    lines = talk("setoption name MultiPV value 4", "position startpos", "go nodes 500")
    found = [line for line in lines if " pv " in line][-4:]
    assert [int(re.findall(r"multipv (\d)", line)[0]) for line in found] == [1, 2, 3, 4]
    for line in found:
        board = chess.Board()
        for move in line.partition(" pv ")[2].split():
            board.push_uci(move)
    assert len({line.partition(" pv ")[2].split()[0] for line in found}) == 4


def test_moves_that_were_not_tried_are_no_lines(talk: Talk) -> None:
    # The queen mates, and that ends the search before all other moves were tried.
    lines = talk("setoption name MultiPV value 99", "position startpos moves f2f3 e7e5 g2g4", "go nodes 500")
    *_, first = (i for i, line in enumerate(lines) if "multipv 1 " in line)
    found = [line for line in lines[first:] if " pv " in line]
    assert " score mate 1 " in found[0]
    assert 1 < len(found) < 30
    assert not any(" score cp 9999 " in line for line in found)


def test_searchmoves_are_the_only_ones_searched(talk: Talk) -> None:
    lines = talk("position startpos", "go nodes 100 searchmoves a2a3 h2h4 e2e5")
    assert answer(lines) in ("a2a3", "h2h4")
    assert "searchmoves 'e2e5' is not legal here" in remarks(lines)


@pytest.mark.parametrize(("chess960", "move"), [("false", "e1g1"), ("true", "e1h1")])
@pytest.mark.parametrize("written", ["e1g1", "e1h1"])
def test_castling_is_understood_in_both_notations(talk: Talk, chess960: str, move: str, written: str) -> None:
    fen = "4k3/8/8/8/8/8/8/4K2R w K - 0 1"
    setup = f"setoption name UCI_Chess960 value {chess960}"
    assert answer(talk(setup, f"position fen {fen}", f"go nodes 20 searchmoves {written}")) == move
    assert "4k3/8/8/8/8/8/8/5RK1 b - - 1 1" in talk(setup, f"position fen {fen} moves {written}", "d")


@pytest.mark.parametrize(
    ("variant", "fen", "score", "move"),
    [
        ("chess", "6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1", "mate 1", "a1a8"),
        ("chess", "7k/8/8/8/8/8/R7/1R2K3 w - - 0 1", "mate 2", ""),
        ("chess", "7k/R7/8/8/8/8/1R6/4K3 b - - 0 1", "mate -1", "h8g8"),
        ("kingofthehill", "7k/8/8/8/8/4K3/8/8 w - - 0 1", "mate 1", ""),
        ("antichess", "8/8/8/8/8/2p5/1P6/8 w - - 0 1", "mate -1", "b2c3"),
    ],
)
def test_forced_ends_are_mates(talk: Talk, variant: str, fen: str, score: str, move: str) -> None:
    lines = talk(f"setoption name UCI_Variant value {variant}", f"position fen {fen}", "go nodes 20000")
    assert f"score {score}" in lines[-2]
    assert not move or answer(lines).startswith(move)


@pytest.mark.parametrize("asked", [1, 2])
def test_a_mate_is_looked_for_until_one_is_found_whatever_its_length(talk: Talk, asked: int) -> None:
    lines = talk("position fen 7k/8/8/8/8/8/R7/1R2K3 w - - 0 1", f"go mate {asked}")
    assert "score mate 2" in lines[-2]
    assert "MCTS_Solver" not in remarks(lines)


def test_a_mate_that_cannot_be_proven_is_looked_for_until_the_tree_is_full(talk: Talk) -> None:
    fen = "7k/8/8/8/8/8/R7/1R2K3 w - - 0 1"
    setup = ("setoption name MCTS_Solver value false", "setoption name Nodes_Limit value 100")
    lines = talk(*setup, f"position fen {fen}", "go mate 2")
    assert "go mate: nothing is proven without MCTS_Solver; another limit or a full tree ends the search" in remarks(
        lines
    )
    assert "score cp" in lines[-2]


def test_without_the_solver_nothing_is_proven(talk: Talk) -> None:
    fen = "6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1"
    lines = talk("setoption name MCTS_Solver value false", f"position fen {fen}", "go nodes 200")
    assert "score cp" in lines[-2]
    assert answer(lines) == "a1a8"


def test_chances_are_shown_on_request(talk: Talk) -> None:
    lines = talk("setoption name UCI_ShowWDL value true", "position startpos", "go nodes 100")
    (wdl,) = re.findall(r" wdl (\d+) (\d+) (\d+) ", [line for line in lines if " pv " in line][-1])
    assert sum(map(int, wdl)) == 1000


def test_a_single_legal_move_is_played_at_once(talk: Talk) -> None:
    board = chess.Board("7k/8/8/8/8/8/5r2/7K w - - 0 1")
    assert board.legal_moves.count() == 1
    lines = talk(f"position fen {board.fen()}", "go wtime 3600000 btime 3600000")
    assert answer(lines) == next(iter(board.legal_moves)).uci()
    assert all(int(re.findall(r"time (\d+)", line)[0]) < 5000 for line in lines if " pv " in line)


def test_it_answers_with_no_time_left(talk: Talk) -> None:
    assert answer(talk("position startpos", "go wtime 1 btime 1 movestogo 1"))
    assert answer(talk("position startpos", "go wtime -5 btime 0"))


def test_a_session_can_be_logged(talk: Talk, tmp_path: Path) -> None:
    log = tmp_path / "session.log"
    talk(f"setoption name Log_File value {log}", "isready")
    assert log.read_text().splitlines()[0] == "> isready"
    assert log.read_text().splitlines()[-1] == "< readyok"
    told = remarks(talk(f"setoption name Log_File value {tmp_path}"))
    assert f"error: expected a file to write the log to, got {tmp_path}: Is a directory" in told


@pytest.mark.parametrize(
    ("variant", "fen", "score"),
    [
        ("chess", "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "cp 0"),
        ("chess", "7k/6Q1/6K1/8/8/8/8/8 b - - 0 1", "mate 0"),
        # Whoever has nothing to move has won, and nothing left.
        ("antichess", "8/8/8/8/8/p7/P7/8 w - - 0 1", "cp 9999"),
        ("antichess", "8/8/8/8/8/8/P7/8 b - - 0 1", "cp 9999"),
    ],
)
def test_where_the_game_is_over_there_is_no_move(talk: Talk, variant: str, fen: str, score: str) -> None:
    lines = talk(f"setoption name UCI_Variant value {variant}", f"position fen {fen}", "go nodes 10")
    assert "info string the game is over by " in remarks(lines)
    assert lines[-2:] == [f"info depth 0 score {score}", "bestmove (none)"]


@pytest.mark.parametrize("position", ["fen 7k/6Q1/6K1/8/8/8/8/8 b - - 0 1", "startpos moves e2e5"])
@pytest.mark.parametrize(("go", "end"), [("go infinite", "stop"), ("go ponder", "ponderhit"), ("go ponder", "stop")])
def test_an_endless_go_without_a_move_waits_for_its_end(talk: Talk, position: str, go: str, end: str) -> None:
    lines = talk(f"position {position}", go, "isready", end, "stop", "isready")
    first, second = [number for number, line in enumerate(lines) if line == "readyok"]
    assert [number for number, line in enumerate(lines) if line == "bestmove (none)"] == [first + 1]
    assert second == first + 2


def test_an_endless_go_without_a_move_is_answered_before_the_next(talk: Talk) -> None:
    lines = talk("position fen 7k/6Q1/6K1/8/8/8/8/8 b - - 0 1", "go ponder", "position startpos", "go nodes 20")
    moves = [line.split()[1] for line in lines if line.startswith("bestmove")]
    assert moves[0] == "(none)"
    assert len(moves) == 2


def test_draws_that_nobody_claims_are_played_on(talk: Talk) -> None:
    there_and_back = "g1f3 g8f6 f3g1 f6g8 " * 3
    lines = talk(f"position startpos moves {there_and_back}", "go nodes 20")
    assert chess.Move.from_uci(answer(lines)) in chess.Board().legal_moves
    lines = talk(f"position startpos moves {there_and_back} e2e4", "go nodes 20")
    board = chess.Board()
    board.push_uci("e2e4")
    assert chess.Move.from_uci(answer(lines)) in board.legal_moves
    for fen in ("4k3/8/8/8/8/8/4P3/4K3 w - - 120 90", "4k3/8/8/8/8/8/8/4K2N w - - 3 90"):
        lines = talk(f"position fen {fen}", "go nodes 20")
        assert chess.Move.from_uci(answer(lines)) in chess.Board(fen).legal_moves


def test_a_repetition_is_seen_where_it_would_be_a_draw(talk: Talk) -> None:
    # A queen up: going back to where the game was twice before is a draw, anything else is not.
    moves = "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1"
    fen = "rnb1kbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
    lines = talk(f"position fen {fen} moves {moves}", "go nodes 400")
    assert answer(lines) == "f6g8"


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_is_played(talk: Talk, variant: str) -> None:
    lines = talk(f"setoption name UCI_Variant value {variant}", "position startpos", "go nodes 40")
    assert re.fullmatch(r"[a-h][1-8][a-h][1-8]", answer(lines))


def test_chess960_castles_as_king_takes_rook(talk: Talk) -> None:
    fen = "4k3/8/8/8/8/8/5PPP/5K1R w H - 0 1"
    lines = talk("setoption name UCI_Chess960 value true", f"position fen {fen}", "go nodes 30 searchmoves f1h1")
    assert answer(lines) == "f1h1"


def test_a_variant_without_other_starts_says_so(talk: Talk) -> None:
    lines = talk("setoption name UCI_Chess960 value true", "setoption name UCI_Variant value atomic", "isready")
    assert "UCI_Chess960 changes nothing in atomic" in remarks(lines)


def test_tables_choose_at_the_root_and_are_counted_below_it(talk: Talk) -> None:
    setup = f"setoption name SyzygyPath value {TABLES}"
    lines = talk(setup, "position fen 8/8/8/8/3k4/8/8/KQ6 w - - 0 1", "go nodes 50")
    assert "score cp 9999" in lines[-2]
    lines = talk(setup, "position fen 8/2P5/8/4k3/8/8/1r6/K7 w - - 0 1", "go nodes 50")
    assert answer(lines) == "a1b2"
    assert int(re.findall(r"tbhits (\d+)", lines[-2])[0]) > 0


def test_a_draw_by_the_tables_is_told_as_one_whatever_the_search_hopes_for(talk: Talk) -> None:
    setup = [f"setoption name SyzygyPath value {TABLES}", "setoption name UCI_ShowWDL value true"]
    position = "position fen 4k3/8/8/8/4P3/4K3/8/8 w - - 0 1"
    lines = talk(*setup, "setoption name MultiPV value 9", position, "go nodes 100")
    told = [line for line in lines if " multipv " in line]
    assert {re.findall(r"score (cp -?\d+ wdl \d+ \d+ \d+)", line)[0] for line in told} == {"cp 0 wdl 0 1000 0"}
    assert len(told) > 3


def test_the_policy_alone_chooses_among_moves_that_keep_a_draw(talk: Talk) -> None:
    raw, tables = "setoption name Use_Raw_Network value true", f"setoption name SyzygyPath value {TABLES}"
    only_e1_draws = "position fen 8/8/8/8/3k4/4p3/4K3/8 w - - 0 1"
    assert answer(talk(raw, only_e1_draws, "go nodes 1")) == "e2f3"
    assert answer(talk(raw, tables, only_e1_draws, "go nodes 1")) == "e2e1"


def test_missing_tables_are_one_remark_that_names_the_folder(talk: Talk) -> None:
    lines = talk("setoption name SyzygyPath value /no/tables", "isready")
    assert "error: cannot read Syzygy tables from /no/tables" in remarks(lines)


def test_perft_is_counted(talk: Talk) -> None:
    lines = talk("position startpos", "go perft 3")
    assert "e2e4: 600" in lines
    assert lines[-1] == "Nodes searched: 8902"


def test_a_perft_of_no_position_is_one_remark(talk: Talk) -> None:
    lines = talk("position startpos moves e2e5", "go perft 2")
    assert lines[-1].startswith("info string error: expected one of a2a3")


CROWDED = (b"setoption name UCI_Variant value crazyhouse", f"position fen {CROWDED_FEN}".encode())
"""A position of which `go perft 6` goes on for hours."""


@pytest.mark.parametrize("end", [[b"isready", b"stop", b"isready"], [b"isready", b"quit"]], ids=["stop", "quit"])
def test_a_perft_that_goes_on_for_hours_is_ended(end: list[bytes]) -> None:
    out = io.StringIO()
    Session(out).run([*CROWDED, b"go perft 6", *end])
    lines = out.getvalue().splitlines()
    assert "readyok" in lines
    assert lines.count("info string perft was stopped before its end") == 1
    assert "Nodes searched" not in out.getvalue()


def test_a_perft_that_goes_on_for_hours_is_left() -> None:
    out = io.StringIO()
    session = Session(out)

    def lines() -> Iterator[bytes]:
        yield from (*CROWDED, b"go perft 6")
        # As the handler of a signal does.
        threading.Timer(0.1, session.request_quit).start()
        # Needs another position, and so waits for the count.
        yield b"position startpos"
        yield b"go perft 3"

    session.run(lines())
    assert "perft was stopped before its end" in out.getvalue()
    assert "Nodes searched" not in out.getvalue()


def test_perfts_that_are_piped_are_all_counted() -> None:
    out = io.StringIO()
    lines = [b"position startpos", b"go perft 2", b"position startpos moves e2e4", b"go perft 2"]
    Session(out).run(lines)
    totals = [line for line in out.getvalue().splitlines() if line.startswith("Nodes")]
    assert totals == ["Nodes searched: 400", "Nodes searched: 600"]


def test_the_raw_network_moves_without_a_search(talk: Talk, experts: Path) -> None:
    setup = f"setoption name Model_Directory value {experts}"
    lines = talk(setup, "setoption name Use_Raw_Network value true", "position startpos", "go movetime 100000")
    assert "nodes 1 " in lines[-2]


def test_an_infinite_search_answers_when_it_is_stopped(talk: Talk) -> None:
    lines = talk("position startpos", "go infinite", "isready", "stop")
    assert lines.index("readyok") < next(i for i, line in enumerate(lines) if line.startswith("bestmove"))


def test_pondering_answers_after_the_move_was_played(talk: Talk) -> None:
    lines = talk("position startpos moves e2e4 e7e5", "go ponder wtime 3000 btime 3000", "isready", "ponderhit", "stop")
    assert answer(lines)


def test_only_who_ponders_gets_time_at_ponderhit() -> None:
    session = Session(io.StringIO())
    session.handle_line("go movetime 100000")
    thinking = session._search_thread
    assert thinking is not None
    before = thinking._seconds_left()
    session.handle_line("ponderhit")
    after = thinking._seconds_left()
    session.close()
    assert before is not None
    assert after is not None
    assert after < before


@pytest.mark.parametrize(("reuse", "is_kept"), [("true", True), ("false", False)])
def test_the_tree_is_kept_for_the_next_move(talk: Talk, reuse: str, is_kept: bool) -> None:
    setup = f"setoption name Reuse_Tree value {reuse}"
    _, best, _, reply = talk(setup, "position startpos", "go nodes 3000")[-1].split()
    again = f"position startpos moves {best} {reply}"
    lines = talk(setup, "position startpos", "go nodes 3000", again, "go nodes 1")
    nodes = int(re.findall(r" nodes (\d+)", lines[-2])[0])
    assert (nodes > 1) is is_kept


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("position fen nonsense", "expected a FEN"),
        ("position startpos moves e2e5", "expected one of a2a3"),
        ("position", "expected position"),
        ("position fen 8/8/8/8/8/8/8/8 w - - 0 1", "no chess position"),
        ("setoption name Nodes value many", "expected 0 to"),
        ("setoption", "expected setoption name"),
        ("go nodes", "'nodes' means nothing"),
        ("go wtime soon btime 1000", "'wtime soon' means nothing"),
        ("go perft deep", "expected a number after perft"),
        ("go movetime 1 sideways", "'sideways' means nothing"),
        ("hello there", "no command in 'hello there'; expected uci, "),
        ("IsRedy now", "no command in 'IsRedy now'; did you mean isready? expected uci, "),
        ("go perft 30", "up to 6"),
    ],
)
def test_a_line_that_is_wrong_is_one_remark(talk: Talk, line: str, message: str) -> None:
    lines = talk(line, "isready")
    assert message in remarks(lines)
    assert lines[-1] == "readyok" or lines[-1].startswith("bestmove")


@pytest.mark.parametrize("words", ["startpos moves e2e4 e2e4", "", "start moves e2e4", "fen", "4k3/8/8/8/8/8/P7/4K3 w"])
def test_an_illegal_position_is_not_answered_with_the_one_before(words: str, talk: Talk) -> None:
    lines = talk("position startpos", f"position {words}", "go nodes 10")
    assert lines[-1] == "bestmove (none)"
    assert answer(talk(f"position {words}", "position startpos moves e2e4", "go nodes 10")) != "(none)"


def test_words_before_a_command_are_skipped(talk: Talk) -> None:
    assert talk("well then isready")[-1] == "readyok"


def test_a_byte_order_mark_hides_no_command() -> None:
    out = io.StringIO()
    Session(out).run([b"\xef\xbb\xbfuci\n"])
    assert out.getvalue().splitlines()[-1] == "uciok"


WORDS = re.findall(
    r"\S+",
    """
    uci isready ucinewgame position startpos fen moves go nodes depth movetime wtime btime winc binc movestogo
    searchmoves infinite ponder mate stop ponderhit setoption name value MultiPV Nodes UCI_Variant UCI_Chess960
    antichess 3check true false root d debug register e2e4 e7e5 e1g1 a7a8q P@e4 0000 -1 0 7 1e9 nan
    rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR 8/8/8/8/8/8/8/8 w b KQkq - ; last seen SyzygyPath Model_Directory . /
""",
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.binary(max_size=60)
        | st.lists(st.sampled_from(WORDS), max_size=12).map(lambda words: " ".join(words).encode())
        | st.lists(st.sampled_from(WORDS), max_size=5).map(lambda words: ("go movetime 1 " + " ".join(words)).encode())
        | st.lists(st.sampled_from(WORDS), max_size=6).map(lambda words: ("position " + " ".join(words)).encode()),
        max_size=8,
    )
)
def test_no_line_crashes_it(lines: list[bytes]) -> None:
    out = io.StringIO()
    session = Session(out)
    # A search begun by what comes out of the dice must end, so that the test does.
    session.options.set("Nodes_Limit", "40")
    session.options.set("Fixed_Movetime", "50")
    fuzzed = [line for line in lines if b"quit" not in line]
    session.run([*fuzzed, b"stop", b"isready"])
    said = out.getvalue().splitlines()
    assert said[-1].startswith(("readyok", "bestmove"))
    assert "readyok" in said
    assert all(line.isprintable() for line in said)
    assert "Traceback" not in out.getvalue()


def test_truncated_games_never_crash_it() -> None:
    rng = random.Random(0)
    board = chess.Board()
    while not board.is_game_over():
        board.push(rng.choice(list(board.legal_moves)))
    line = f"position startpos moves {' '.join(move.uci() for move in board.move_stack)}".encode()
    out = io.StringIO()
    cuts = [line[: rng.randrange(len(line))] for _ in range(100)]
    Session(out).run([part for cut in cuts for part in (cut, b"go nodes 2")])
    assert out.getvalue().count("bestmove") == 100

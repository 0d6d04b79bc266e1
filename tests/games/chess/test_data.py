"""PGN becomes datasets that training can read; bad files leave nothing behind."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import chess
import chess.pgn
import numpy as np
import pytest
import zstandard
from chess_oracle import measures, pgn, random_pgn
from matplotlib.colors import to_rgb

from moemcts.errors import ForeignData, MoemctsError, UsageError
from moemcts.learn.data.dataset import Dataset
from moemcts.report.style import phase_colour
from moemcts_chess.game import ChessGame
from moemcts_chess.gates import LichessGate, MaterialGate
from moemcts_chess.imports import Filter, ImportReport, MonthSplit, RandomSplit, import_pgn
from moemcts_chess.statistics import collect, dataset_folders, read_datasets

COMPRESSIONS = (bytes, gzip.compress, bz2.compress, zstandard.ZstdCompressor().compress)
COMPRESSION_NAMES = ("plain", "gz", "bz2", "zst")


def imported(tmp_path: Path, text: str | bytes, game: str = "chess", **options: object) -> ImportReport:
    path = tmp_path / "games.pgn"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return import_pgn([path], ChessGame(game), tmp_path / "out", reference=game, **options)  # type: ignore[arg-type]


def test_an_imported_game_is_what_python_chess_reads(tmp_path: Path) -> None:
    text = random_pgn(30)
    report = imported(tmp_path, text)
    game = ChessGame("chess")
    dataset = Dataset.open(tmp_path / "out" / "train", game)
    assert report.num_positions == len(dataset)
    rows = np.arange(len(dataset))
    views, actions, returns = dataset.views(rows), dataset.actions(rows), dataset.returns(rows)
    plies_to_end, numbers = dataset.plies_to_end(), dataset.games()
    row = 0
    stream = io.StringIO(text)
    while (read := chess.pgn.read_game(stream)) is not None:
        board = read.board()
        length = len(list(read.mainline_moves()))
        result = {"1-0": 1, "0-1": -1}.get(read.headers["Result"], 0)
        for ply, move in enumerate(read.mainline_moves()):
            state, player = views[row]
            assert state.fen() == board.fen()
            assert game.format_action(state, player, int(actions[row])) == move.uci()
            assert (player == 0) == board.turn
            assert returns[row].tolist() == [result, -result] if board.turn else [-result, result]
            assert plies_to_end[row] == length - ply
            assert numbers[row] == numbers[row - ply]
            board.push(move)
            row += 1
    assert row == len(dataset)


def test_planes_from_disk_are_those_of_the_game(tmp_path: Path) -> None:
    moves = "1. Nf3 Nf6 2. Ng1 Ng8 3. Nf3 Nf6 4. d4 e5 1/2-1/2"
    imported(tmp_path, pgn(moves))
    game = ChessGame("chess")
    views = Dataset.open(tmp_path / "out" / "train", game).views(np.arange(8))
    state = game.initial_state()
    for row, move in enumerate(["Nf3", "Nf6", "Ng1", "Ng8", "Nf3", "Nf6", "d4", "e5"]):
        player = state.active_players[0]
        assert np.array_equal(views.observations()[row], state.observation(player)), move
        state = state.play([game.parse_action(state, player, move)])


@pytest.mark.parametrize("compress", COMPRESSIONS, ids=COMPRESSION_NAMES)
def test_compressed_files_are_read_and_truncated_ones_leave_nothing(compress: object, tmp_path: Path) -> None:
    data = compress(random_pgn(20).encode())  # type: ignore[operator]
    assert imported(tmp_path, data).num_games == 20
    (tmp_path / "bad").mkdir()
    if compress is bytes:
        return
    with pytest.raises(MoemctsError, match=r"cannot read .*games\.pgn"):
        imported(tmp_path / "bad", data[: len(data) // 2])
    assert [path.name for path in (tmp_path / "bad").iterdir()] == ["games.pgn"]


@pytest.mark.parametrize(
    ("text", "game", "message"),
    [
        ("", "chess", "found no game at all"),
        ("\x00\x01\x02" * 50, "chess", "expected text in UTF-8, got UTF-16 or binary data in .*games.pgn; save it"),
        (pgn().encode("utf-16"), "chess", "expected text in UTF-8, got UTF-16 or binary data in .*games.pgn; save it"),
        (pgn("1-0"), "chess", "found 1 without moves"),
        (pgn(Variant="Antichess"), "chess", "found 1 left out by variant"),
        (pgn(), "antichess", "found 1 left out by variant"),
        (pgn("1. e4 e5 *"), "chess", r"found 1 left out by result \(unfinished, or none of those wanted\)"),
        (pgn("1. e4 e5 2. Qh6 1-0"), "chess", "1 damaged, the first at .*line 1: illegal move 2. Qh6"),
        (pgn(FEN="8/8 w - - 0 1"), "chess", "1 damaged, the first at .*line 1: expected a FEN"),
        (pgn("1. e4 e5 {\u2658f3} 2. \u2658f3 1-0"), "chess", "letters in .*games.pgn, .* found \u2658f3; save"),
        (pgn()[:-6], "chess", "line 1: the moves end without a result"),
    ],
)
def test_a_file_without_games_leaves_nothing(text: str | bytes, game: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(MoemctsError, match=message) as raised:
        imported(tmp_path, text, game)
    assert "\n" not in str(raised.value)
    assert [path.name for path in tmp_path.iterdir()] == ["games.pgn"]


def test_figurines_in_comments_are_no_moves(tmp_path: Path) -> None:
    assert imported(tmp_path, pgn("1. e4 {not \u2658f3} e5 1-0")).num_damaged == 0


@pytest.mark.parametrize("move", ["\u2658f3", "Sf3", "Lxb5", "Td1d8", "Sgf3", "\u041af3"])
@pytest.mark.parametrize("compress", COMPRESSIONS, ids=COMPRESSION_NAMES)
def test_pieces_that_are_no_english_letters_are_refused(
    compress: Callable[[bytes], bytes], move: str, tmp_path: Path
) -> None:
    text = pgn("1. e4 e5 1-0") * 3 + pgn(f"1. e4 e5 2. {move} 1-0", White="Dd1")
    with pytest.raises(UsageError, match=rf"as English letters in .*games.pgn, such as N in Nf3, found {move}; save"):
        imported(tmp_path, compress(text.encode()))


def test_words_and_tags_that_look_like_foreign_moves_are_none(tmp_path: Path) -> None:
    moves = "1. e4 {Sf3} TN e5 ; Lb5\n% Dd1\n2. Nf3 Nc6 3. Bb5 a6 4. O-O Pd6 1-0"
    assert imported(tmp_path, pgn(moves, White="Sf3")).num_games == 1


def test_damaged_games_are_skipped_and_named_with_their_line(tmp_path: Path) -> None:
    report = imported(tmp_path, pgn() + pgn("1. e4 e4 0-1") + pgn())
    assert (report.num_games, report.num_positions, report.num_damaged) == (2, 14, 1)
    assert report.damaged[0].endswith("games.pgn, line 9: illegal move 1... e4")


def test_missing_files_and_existing_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MoemctsError, match=r"cannot read .*nothing\.pgn: No such file"):
        import_pgn([tmp_path / "nothing.pgn"], ChessGame("chess"), tmp_path / "out", reference="chess")
    (tmp_path / "out").mkdir()
    with pytest.raises(UsageError, match="expected a new folder"):
        imported(tmp_path, pgn())


def test_an_unclosed_comment_costs_its_own_game_alone(tmp_path: Path) -> None:
    text = pgn() + pgn("1. e4 {never closed e5 1-0") + pgn() * 28
    report = imported(tmp_path, text)
    assert (report.num_games, report.num_damaged) == (29, 1)
    assert report.damaged[0].endswith("line 9: a comment has no end")


def test_what_killed_imports_have_left_is_cleared(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    left, other, alive = (
        tmp_path / name for name in (f".out.{gone.pid}.part", f".other.{gone.pid}.part", f".out.{os.getppid()}.part")
    )
    for folder in (left, other, alive):
        (folder / "train").mkdir(parents=True)
    imported(tmp_path, pgn())
    assert not left.exists()
    assert other.exists()
    assert alive.exists()


@pytest.mark.skipif(not hasattr(signal, "SIGINT") or os.name == "nt", reason="no SIGINT to send")
def test_an_import_that_is_interrupted_or_killed_leaves_nothing_for_the_next(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    path.write_text(random_pgn(50) * 400)
    command = [
        str(Path(sys.executable).parent / "moemcts"),
        "data",
        "import",
        str(path),
        "--out",
        str(tmp_path / "out"),
    ]
    for number in (signal.SIGINT, signal.SIGKILL):
        process = subprocess.Popen([*command, "--threads", "1"], stderr=subprocess.PIPE, text=True)
        while not list(tmp_path.glob(".out.*.part")):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
        assert "Traceback" not in said
        if number == signal.SIGINT:
            assert process.returncode == 130
            assert not list(tmp_path.glob(".out.*.part"))
    assert len(list(tmp_path.glob(".out.*.part"))) == 1
    path.write_text(pgn())
    assert subprocess.run(command, capture_output=True, timeout=60).returncode == 0
    assert not list(tmp_path.glob(".out.*.part"))


def test_filters_choose_games(tmp_path: Path) -> None:
    text = pgn() + pgn(WhiteElo="2100") + pgn(BlackElo="?") + pgn(Date="2012.09.01") + pgn("1. e4 e5 1/2-1/2")
    wanted = Filter(min_elo=2200, min_plies=5, results=(1,), since=20170000)
    report = imported(tmp_path, text, wanted=wanted)
    assert report.num_games == 1
    assert report.rejected == {"variant": 0, "elo": 2, "length": 0, "result": 1, "date": 1}


def test_splits_are_by_month_or_by_game(tmp_path: Path) -> None:
    text = random_pgn(48)
    (tmp_path / "months").mkdir()
    report = imported(tmp_path / "months", text, split=MonthSplit([201209, 201210], [201201]))
    assert {name: split["games"] for name, split in report.splits.items()} == {"train": 36, "validation": 8, "test": 4}
    table = np.load(tmp_path / "months" / "out" / "validation" / "games-00000.npz")
    assert set(table["date"] // 100) == {201209, 201210}
    assert (table["length"] == np.bincount(_numbers(tmp_path / "months" / "out" / "validation"))[table["number"]]).all()
    numbers = np.arange(100_000)
    split = RandomSplit(0.1, 0.2, seed=1)
    shares = np.bincount(split(numbers, numbers), minlength=3) / len(numbers)
    # 5 sigma of a binomial share of 100,000 games.
    assert np.allclose(shares, [0.7, 0.1, 0.2], atol=0.0075)
    assert (split(numbers[:50], numbers[:50]) == split(numbers, numbers)[:50]).all()
    assert (RandomSplit(0.1, 0.2, seed=2)(numbers, numbers) != split(numbers, numbers)).any()


def _numbers(folder: Path) -> np.ndarray:
    return Dataset.open(folder, ChessGame("chess")).games()


def test_another_game_cannot_read_a_dataset(tmp_path: Path) -> None:
    imported(tmp_path, pgn())
    with pytest.raises(ForeignData, match="was made for chess"):
        Dataset.open(tmp_path / "out" / "train", ChessGame("chess", planes="v1"))


@pytest.mark.parametrize(("variant", "moves"), [
    ("chess960", "1. O-O O-O 1/2-1/2"),
    ("crazyhouse", "1. e4 d5 2. exd5 Qxd5 3. Nc3 Qa5 4. P@d4 P@e4 1-0"),
    ("threecheck", "1. e4 f5 2. Qh5+ g6 3. Qxg6+ hxg6 0-1"),
])  # fmt: skip
def test_variants_are_imported_by_their_tag(variant: str, moves: str, tmp_path: Path) -> None:
    names = {"chess960": "Chess960", "crazyhouse": "Crazyhouse", "threecheck": "Three-check"}
    tags = {"Variant": names[variant]}
    if variant == "chess960":
        tags |= {"SetUp": "1", "FEN": "bnqnbrkr/pppppppp/8/8/8/8/PPPPPPPP/BNQNBRKR w KQkq - 0 1"}
        moves = "1. g3 g6 2. h3 h6 1/2-1/2"
    report = imported(tmp_path, pgn(moves, **tags), variant)
    assert report.num_games == 1
    assert report.num_positions == len([word for word in moves.split() if "." not in word]) - 1


def test_statistics_count_phases_and_returns(tmp_path: Path) -> None:
    imported(tmp_path, random_pgn(60), split=RandomSplit(0.2))
    game = ChessGame("chess")
    statistics = collect(read_datasets(dataset_folders(tmp_path / "out"), game), game, LichessGate())
    summary = statistics.summary()
    assert summary["games"] == 60
    assert sum(summary["share of positions"].values()) == pytest.approx(1, abs=1e-3)
    assert summary["share of games"]["opening"] == 1
    assert summary["first move"]["opening"] == [1, 0]
    assert statistics.results[0].sum() == 60
    expected = _independent(random_pgn(60))
    assert summary["positions"] == expected["positions"]
    assert statistics.positions.sum(axis=1).tolist() == expected["phases"]
    assert sorted(statistics.returns.tolist()) == sorted(expected["returns"])
    other = ChessGame("chess", planes="v1")
    assert collect(read_datasets(dataset_folders(tmp_path / "out"), other), other, LichessGate()).summary() == summary
    with pytest.raises(MoemctsError, match="expected a dataset"):
        dataset_folders(tmp_path)


def _independent(text: str) -> dict[str, object]:
    stream = io.StringIO(text)
    phases, returns = [0, 0, 0], []
    while (game := chess.pgn.read_game(stream)) is not None:
        board, last, back = game.board(), 0, 0
        for move in game.mainline_moves():
            phase = measures(board, 32)["lichess"]
            phases[phase] += 1
            back += phase < last
            last = phase
            board.push(move)
        returns.append(back)
    return {"positions": sum(phases), "phases": phases, "returns": returns}


def test_figures_are_drawn(tmp_path: Path) -> None:
    from moemcts_chess.plots import plot

    imported(tmp_path, random_pgn(5))
    game = ChessGame("chess")
    statistics = collect(read_datasets(dataset_folders(tmp_path / "out"), game), game, LichessGate())
    files = plot(statistics, tmp_path / "figures")
    assert len(files) == 8
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in files)


def test_all_phases_are_drawn_in_their_colours(tmp_path: Path) -> None:
    from moemcts_chess.plots import draw_figure

    imported(tmp_path, random_pgn(5))
    game = ChessGame("chess")
    gate = MaterialGate((60, 64, 68, 72, 74, 76))
    statistics = collect(read_datasets(dataset_folders(tmp_path / "out"), game), game, gate)
    (axes,) = draw_figure(statistics, "first moves").axes
    assert axes.get_title(loc="left") == f"First moves, {statistics.num_games} games"
    assert all(tick.is_integer() for tick in axes.get_yticks()), "games are counted"
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == list(gate.phase_names[1:])
    means = {text.get_text() for text in axes.texts}
    reached = zip(gate.phase_names[1:], statistics.first_moves[1:], strict=True)
    assert means == {f"{name}: mean {moves.mean():.1f}" for name, moves in reached if len(moves)}
    assert axes.patches[0].get_facecolor()[:3] == to_rgb(phase_colour(1))
    (line, *_) = draw_figure(statistics, "pieces by move").axes[0].lines
    is_played = statistics.positions.sum(axis=0)[1:81] > 0
    assert (np.isfinite(np.asarray(line.get_ydata(), dtype=float)) == is_played).all(), "no game has no pieces"
    stack = draw_figure(statistics, "phases by move").axes[0].collections
    assert [tuple(one.get_facecolor()[0][:3]) for one in stack] == [to_rgb(phase_colour(i)) for i in range(7)]

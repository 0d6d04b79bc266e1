"""`moemcts analyze` and `moemcts data`, as users call them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from chess_oracle import pgn, random_pgn
from commands_for_tests import moemcts
from trained_for_tests import save_team

from moemcts_chess.engine import GAMES_FOLDER


def engine(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path=GAMES_FOLDER)
    if found is None:
        pytest.skip(f"{name} is not installed: apt-get install {name}")
    return found


def test_analyze_shows_phases_features_and_moves(tmp_path: Path) -> None:
    done = moemcts("analyze", "--fen", "startpos; moves e4 e5", "--svg", tmp_path / "board.svg", "--json")
    found = json.loads(done.stdout)
    assert found["phases"]["lichess"] == "opening"
    assert found["features"]["majors and minors"] == 14
    assert len(found["legal moves"]) == 29
    assert (tmp_path / "board.svg").read_text().startswith("<svg")
    text = moemcts("analyze", "--game", "antichess", "--fen", "8/8/8/8/7p/7P/8/8 w - - 0 40").stdout
    assert "over by stalemate: White +1, Black -1" in text
    assert "lichess gate" in text


def test_bishops_are_asked_about_of_the_experts_of_a_training(tmp_path: Path) -> None:
    save_team(tmp_path / "run" / "experts", game="chess", gate="none")
    done = moemcts("bishops", "--experts", tmp_path / "run", "--json")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)[str(tmp_path / "run")]["rows"]) == 20


def test_an_import_says_why_games_were_left_out(tmp_path: Path) -> None:
    (tmp_path / "games.pgn").write_text(pgn() + pgn("1. e4 e5 *"))
    done = moemcts("data", "import", tmp_path / "games.pgn", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "left out by result: 1 game (unfinished, or none of those wanted)" in done.stdout + done.stderr


def test_brackets_of_folders_are_shown(tmp_path: Path) -> None:
    save_team(tmp_path / "run[red]" / "experts", game="chess", gate="none")
    done = moemcts("bishops", "--experts", tmp_path / "run[red]")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("run[red]") == 2, "in the table and below it"


def test_figures_are_not_written_among_other_things(tmp_path: Path) -> None:
    (tmp_path / "results.png").write_text("mine")
    done = moemcts("data", "figures", "--data", tmp_path / "none", "--out", tmp_path)
    assert done.returncode == 2
    assert "holds other things, such as results.png" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("analyze", "--fen", "nonsense"), 2, "expected a FEN, got"),
        (("analyze", "--game", "tictactoe_"), 2, "no game named"),
        (("analyze", "--game", "pommerman"), 2, "expected a game of the chess family"),
        (("annotate", "no.pgn", "--game", "pommerman", "--out", "OUT"), 2, "expected a game of the chess family"),
        (("analyze", "--game", "chess?planes=v7"), 2, "no plane set named"),
        (("analyze", "--svg", "."), 1, "cannot write .: "),
        (("data", "import", "no.pgn", "--out", "OUT"), 2, "cannot read no.pgn: No such file"),
        (("data", "import", "tests", "--out", "OUT"), 2, "cannot read tests: Is a directory"),
        (("data", "import", "no.pgn", "--out", "OUT", "--result", "2-0"), 2, "expected a result 1-0"),
        (("data", "import", "no.pgn", "--out", "OUT", "--since", "May"), 2, "expected a date like"),
        (("data", "import", "no.pgn", "--out", "OUT", "--since", "²017"), 2, "expected a date like"),
        (
            ("data", "import", "no.pgn", "--out", "OUT", "--since", "2018", "--until", "2017-05"),
            2,
            "expected a first date not after the last, got 2018 and 2017-05",
        ),
        (
            ("data", "import", "no.pgn", "--out", "OUT", "--min-plies", "40", "--max-plies", "20"),
            2,
            "expected a minimum length not above the maximum, got 40 and 20 plies",
        ),
        (("data", "import", "no.pgn", "--out", "OUT", "--test", "2"), 2, "expected a share from 0 to 1"),
        (("data", "import", "no.pgn", "--out", "OUT", "--test", "-0.1"), 2, "expected a share from 0 to 1"),
        # A share, and no month.
        (("data", "import", "no.pgn", "--out", "OUT", "--test", "1e-3"), 2, "cannot read no.pgn: No such file"),
        (("data", "import", "no.pgn", "--out", "OUT", "--test", "0.1", "--validation", "2012-09"), 2, "for both"),
        (("data", "figures", "--data", "no-folder"), 2, "expected a dataset in no-folder"),
        (
            ("data", "generate", "--game", "chess", "--agent", "uci:shredder", "--out", "OUT"),
            2,
            "no agent named 'uci:shredder'",
        ),
        (
            ("data", "generate", "--game", "chess", "--agent", "uci?path=shredder", "--out", "OUT"),
            2,
            "no engine 'shredder' found on PATH",
        ),
    ],
)
def test_a_mistake_is_one_line_and_an_exit_code(
    arguments: tuple[str, ...], code: int, message: str, tmp_path: Path
) -> None:
    done = moemcts(*(str(tmp_path / "out") if word == "OUT" else word for word in arguments))
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_data_import_and_figures_speak_json(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    path.write_text(random_pgn(20) + "\n" + pgn("1. e4 e4 0-1"))
    done = moemcts("data", "import", path, "--out", tmp_path / "out", "--validation", "0.3", "--json")
    report = json.loads(done.stdout)
    assert (report["num_games"], report["num_damaged"]) == (20, 1)
    assert set(report["splits"]) == {"train", "validation"}
    stats = moemcts(
        "data",
        "figures",
        "--data",
        tmp_path / "out",
        "--gate",
        "movecount?phases=2",
        "--out",
        tmp_path / "figures",
        "--json",
    )
    assert json.loads(stats.stdout)["positions"] == report["num_positions"]
    assert len(list((tmp_path / "figures").glob("*.png"))) == 8
    text = moemcts("data", "figures", "--data", tmp_path / "out").stdout
    assert "share of positions" in text
    assert "paper" in text


def test_a_split_that_no_game_belongs_to_is_named(tmp_path: Path) -> None:
    path, out = tmp_path / "games.pgn", tmp_path / "out"
    path.write_text(pgn(Date="2013.01.05"))
    done = moemcts("data", "import", path, "--out", out, "--validation", "2013-02")
    assert done.returncode == 0, done.stderr
    assert f"  validation: no games, so there is no {out / 'validation'}\n" in done.stdout
    assert "test:" not in done.stdout


def test_figures_are_of_the_game_of_their_dataset(tmp_path: Path) -> None:
    (tmp_path / "games.pgn").write_text(pgn("1. e4 e5 1-0", Variant="Crazyhouse"))
    data = tmp_path / "out"
    done = moemcts("data", "import", tmp_path / "games.pgn", "--game", "crazyhouse", "--out", data)
    assert done.returncode == 0, done.stderr
    summary = json.loads(moemcts("data", "figures", "--data", data, "--json").stdout)
    assert summary["results"] == {"opening": [1, 0, 0], "middlegame": [], "endgame": []}
    text = moemcts("data", "figures", "--data", data).stdout
    assert "paper" not in text, "it has no numbers of this game"
    assert next(line for line in text.splitlines() if line.startswith("results")).split() == [
        "results", "1", "/", "0", "/", "0", "–", "–",
    ]  # fmt: skip
    mistaken = moemcts("data", "figures", "--data", data, "--game", "chess")
    assert mistaken.returncode != 0
    assert "was made for crazyhouse" in mistaken.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--validation", "2012-13"), "expected a month from 01 to 12"),
        (("--validation", "2012-00"), "expected a month from 01 to 12"),
        (("--validation", "2012-09-31"), "expected a month like 2012-09, got '2012-09-31'"),
        (("--test", "2012-09,201-10"), "expected a date like 2017-05-31, 2017-05 or 2017, got '201-10'"),
        (("--validation", "2012-09,2012-10", "--test", "2012-10"), "got 2012-10 for both"),
        (("--since", "2012-14-01"), "expected a month from 01 to 12 and a day from 01 to 31"),
        (("--seed", "3"), "--seed has no effect without a share for --validation or --test"),
        (("--validation", "2012-09", "--seed", "0"), "--seed has no effect without a share"),
        (("--test", "0.3", "--seed", 2**64 - 1), "Invalid value for '--seed': Input should be less than"),
        (("--threads", 100_000), "Invalid value for '--threads': Input should be less than or equal to 1024"),
        (("--max-plies", 5_000_000_000), "Invalid value for '--max-plies': Input should be less than"),
        (("--min-plies", 4_294_967_295, "--max-plies", 5), "got 4294967295 and 5 plies"),
    ],
)
def test_splits_and_numbers_that_there_are_not_fail(options: tuple[str, ...], message: str, tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    path.write_text(pgn())
    done = moemcts("data", "import", path, "--out", tmp_path / "out", *options)
    assert done.returncode == 2, done.stderr
    assert message in " ".join(done.stderr.split())
    assert not (tmp_path / "out").exists()


def test_generate_writes_games_of_engines(tmp_path: Path) -> None:
    engine("fairy-stockfish")
    agent = "uci:fairy-stockfish?nodes=20"
    out = tmp_path / "out"
    command = ["data", "generate", "--game", "antichess", "--agent", agent, "--random-plies", 8, "--samples", 60]
    done = moemcts(*command, "--out", out)
    assert done.returncode == 0, done.stderr
    stats = json.loads(moemcts("data", "figures", "--data", out, "--game", "antichess", "--json").stdout)
    assert stats["positions"] == 60

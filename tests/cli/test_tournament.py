"""`moemcts tournament` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from moemcts import report
from moemcts.cli.main import main
from moemcts.report import tournaments


def run(text: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr("sys.argv", ["moemcts", *text.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def test_agents_are_rated_and_the_folder_is_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = "tournament --game tictactoe --agent random --agent flat?playouts=40 --agent uct?simulations=40"
    command += f" --games 4 --out {tmp_path}"
    assert run(command, monkeypatch) == 0
    text = capsys.readouterr().out
    for words in ("uct?simulations=40", "tictactoe, round-robin, 12 games", "is first", "report.html"):
        assert words in text
    assert len(list((tmp_path / "games").iterdir())) == 3
    assert "<svg" in (tmp_path / "report" / "report.html").read_text()
    assert run(f"{command} --agent flat?playouts=9 --json", monkeypatch) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert numbers["num_games"] == 24
    assert len(list((tmp_path / "games").iterdir())) == 6
    assert {row["name"] for row in numbers["ratings"]["agents"]} == {
        "random", "flat?playouts=40", "uct?simulations=40", "flat?playouts=9"
    }  # fmt: skip


def test_tournaments_of_other_seeds_begin_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    openings = []
    for seed in (0, 1):
        command = f"tournament --game tictactoe --agent random --agent flat?playouts=1 --games 6 --seed {seed}"
        assert run(f"{command} --out {tmp_path / str(seed)}", monkeypatch) == 0
        (file,) = (tmp_path / str(seed) / "games").glob("*.jsonl")
        openings.append({json.loads(line)["opening"] for line in file.read_text().splitlines()[1:]})
    assert [len(one) for one in openings] == [3, 3]
    assert not openings[0] & openings[1]


@pytest.mark.parametrize(
    ("options", "words", "numbers"),
    [
        ("", "games begin after 4 random plies and are counted from there", {"openings": "seeds", "random_plies": 4}),
        ("--random-plies 0", "games begin in the game's own start positions", {"openings": "seeds", "random_plies": 0}),
        ("--openings starts.txt", "games begin in positions of starts.txt", {"openings": "starts.txt"}),
    ],
)
def test_a_tournament_says_how_its_games_begin(
    options: str,
    words: str,
    numbers: dict[str, object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "starts.txt").write_text("X...O....\n")
    assert run(f"{AGENTS} {options} --out out", monkeypatch) == 0
    assert words in capsys.readouterr().out
    for page in ("report.html", "report.md"):
        assert words in (tmp_path / "out" / "report" / page).read_text().replace("&#39;", "'")
    assert numbers.items() <= json.loads((tmp_path / "out" / "report" / "numbers.json").read_text()).items()


def test_games_by_other_rules_are_not_taken_for_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for max_plies, code in ((8, 0), (8, 0), (9, 2)):
        game = f"antichess?max_plies={max_plies} --agent random --agent flat?playouts=1"
        assert run(f"tournament --game {game} --games 2 --out {tmp_path / 'out'}", monkeypatch) == code
    told = capsys.readouterr().err
    assert "with game antichess?max_plies=8 in place of antichess?max_plies=9;" in told
    assert told.rstrip().count("antichess?max_plies=9") == 1


def test_bad_lines_of_openings_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "openings.txt").write_text("X...O....\nnonsense\nX...O....\n")
    command = f"--game tictactoe --openings {tmp_path / 'openings.txt'}"
    assert run(f"tournament {command} --agent random --agent flat?playouts=1 --games 2", monkeypatch) == 0
    told = "openings.txt has 1 bad entry: line 2: "
    assert told in capsys.readouterr().err
    run_options = f"run {command.partition(' --openings')[0]} --preset smoke --out {tmp_path / 'run'}"
    settings = f"--set match.openings={tmp_path / 'openings.txt'} --set match.games=2 --set match.raw_games=0"
    assert run(f"{run_options} --gate plies?cuts=3 {settings} --set data.samples=200", monkeypatch) == 0
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("--game tictactoe --agent random", "expected --agent twice or more, got 1"),
        ("--game tictactoe --agent random --agent random", "expected different agents, got random, random"),
        ("--game tictactoe --agent random --agent flatt", "no agent named 'flatt'; did you mean 'flat'?"),
        ("--game tictactoe --agent random --agent flat --kind swis", "no kind of tournament named 'swis'"),
        ("--game tictactoe --preset gird", "no preset named 'gird'; did you mean 'grid'?"),
        ("--game tictactoe --preset grid --experts x", "expected --experts and --baseline with --preset grid"),
        ("--game tictactoe --preset grid --agent x", "expected --experts and --baseline with --preset, got --agent"),
        ("--game tictactoe --agent random --agent flat --nodes 3", "expected --preset with --nodes"),
        (
            "--game tictactoe --preset grid --experts x --baseline y --nodes few",
            "expected --nodes as whole numbers separated by commas, got 'few'",
        ),
        ("--game tictactoe --preset grid --experts x --baseline y --nodes 0", "expected nodes or milliseconds above 0"),
        ("--game tictactoe --preset impact --experts x --baseline y --nodes 9", "expected a folder of experts, got x"),
        ("--game tictactoe --agent random --agent flat --openings nowhere", "nowhere"),
        (
            "--game tictactoe --agent random --agent flat --openings a --random-plies 2",
            "--random-plies has no effect with --openings, games begin in the file's positions; leave it out",
        ),
        ("--game tictactoe --agent random --agent flat --rounds 3", "--rounds has no effect without --kind ladder"),
        (
            "--game tictactoe --preset grid --experts x --baseline y --kind swis",
            "--kind has no effect with --preset grid, which says who meets whom; leave it out",
        ),
        ("--game tictactoe --preset grid --experts x --baseline y --rounds 3", "--rounds has no effect with --preset"),
    ],
)
def test_mistakes_get_one_line(
    arguments: str, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(f"tournament {arguments}", monkeypatch) in (1, 2)
    error = capsys.readouterr().err
    assert line in error
    assert error.count("\n") == 1


def test_a_game_of_one_player_is_no_tournament(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("moemcts_gymnasium")
    command = "tournament --game gymnasium:CartPole-v1 --agent random --agent flat?playouts=1"
    assert run(command, monkeypatch) == 2
    error = capsys.readouterr().err
    assert "expected a game of two players or more, in which agents meet, got 'gymnasium:CartPole-v1'" in error
    assert error.count("\n") == 1


AGENTS = "tournament --game tictactoe --agent random --agent flat?playouts=1 --games 2"


def test_nothing_is_drawn_where_no_folder_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tournaments, "ratings_figure", lambda result: pytest.fail("this is seen by nobody"))
    assert run(AGENTS, monkeypatch) == 0
    assert "is first" in capsys.readouterr().out


def test_the_result_is_printed_before_anything_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(folder: Path, report: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(report, "write_report", interrupt)
    assert run(f"{AGENTS} --out {tmp_path}", monkeypatch) == 130
    shown = capsys.readouterr()
    assert "is first" in shown.out
    assert f"interrupted; finished games are kept in {tmp_path}, the same command resumes" in shown.err

"""`moemcts match` from the command line: modes, openings, files, resuming, several processes."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import chess.pgn
import pytest
from commands_for_tests import moemcts as in_this_process

from moemcts.agents import PolicyAgent
from moemcts.cli.main import main
from moemcts.cli.match import parse_sprt
from moemcts.errors import UsageError
from moemcts.learn.checkpoint import save_experts
from moemcts.naming import check_limits, contestants, resolve_agent
from moemcts.plugins import plugins
from moemcts.runs import match as matches
from moemcts.runs.match import Match, MatchPlan
from moemcts.search import SearchAgent

BIN = Path(sys.executable).parent
OPENINGS = """\
rnbqkbnr/p1pppppp/8/1p6/8/4P3/PPPP1PPP/RNBQKBNR w KQkq - 0 2
rnbqkbnr/ppppp1pp/5p2/8/8/N7/PPPPPPPP/R1BQKBNR w KQkq - 0 2
rnbqkbnr/pppp1ppp/4p3/8/8/7N/PPPPPPPP/RNBQKB1R w KQkq - 0 2
"""


def run(*arguments: object, folder: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = in_this_process("match", *arguments, folder=folder)
    assert done.returncode == code, done.stderr
    return done


def start(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a match in a process of its own."""
    command = [str(BIN / "moemcts"), "match", *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sets of untrained experts for antichess, and openings."""
    import torch

    folder = tmp_path_factory.mktemp("match")
    game = plugins().game("antichess")
    network = "resnet?channels=4&blocks=1"
    for name, gate_name in (("experts", "lichess"), ("single", "none")):
        torch.manual_seed(3)
        gate = plugins().gate(gate_name, game)
        networks = [
            plugins().network(network, game.spec.observation_shape, game.spec.num_actions)
            for _ in range(gate.num_phases)
        ]
        save_experts(
            folder / name,
            networks,
            game=game,
            game_reference="antichess",
            gate=gate,
            gate_reference=gate_name,
            network_reference=network,
            scheme="separated",
            seed=3,
        )
    (folder / "openings.epd").write_text(OPENINGS)
    return folder


DUEL = [
    "--game", "antichess", "--agent", "experts?simulations=6", "--agent", "single", "--simulations", 6,
    "--openings", "openings.epd", "--pairs", 3, "--max-plies", 40, "--json",
]  # fmt: skip


def test_two_checkpoints_play_each_other_and_the_games_are_written_down(folder: Path) -> None:
    done = start(*DUEL, "--pgn", "games.pgn", "--replays", "games.jsonl", "--adjudicate", "papers", folder=folder)
    result = json.loads(done.stdout)
    assert [agent["name"] for agent in result["agents"]] == ["experts?simulations=6", "single"]
    assert result["num_games"] == 6
    assert [seat["num_games"] for seat in result["agents"][0]["by_seat"]] == [3, 3]
    assert sum(result["terminations"].values()) == 6
    assert sum(result["agents"][0]["pairs"]) == 3
    file = io.StringIO((folder / "games.pgn").read_text())
    games = [game for game in iter(lambda: chess.pgn.read_game(file), None) if game is not None]
    assert [game.headers["White"] for game in games] == ["experts?simulations=6", "single"] * 3
    assert all(game.headers["Opening"].startswith("line ") for game in games)
    assert "phase=opening expert=0 " in (folder / "games.pgn").read_text()
    assert len((folder / "games.jsonl").read_text().splitlines()) == 6


def test_a_match_that_was_stopped_ends_as_if_it_had_not_been(folder: Path, tmp_path: Path) -> None:
    # Fewer digits may depend, in the last of them, on which games are evaluated at once.
    duel = [f"{word}&precision=float32" if word == "experts?simulations=6" else word for word in DUEL]
    duel = ["single?precision=float32" if word == "single" else word for word in duel]
    whole = run(*duel, "--out", tmp_path / "whole.jsonl", "--pgn", tmp_path / "whole.pgn", folder=folder)
    lines = (tmp_path / "whole.jsonl").read_bytes().splitlines(keepends=True)
    # The header, two of six games, and one that was being written.
    (tmp_path / "part.jsonl").write_bytes(b"".join(lines[:3]) + lines[3][:20])
    again = run(*duel, "--out", tmp_path / "part.jsonl", "--pgn", tmp_path / "part.pgn", folder=folder)
    assert again.stdout == whole.stdout
    assert (tmp_path / "part.pgn").read_bytes() == (tmp_path / "whole.pgn").read_bytes()
    assert sorted((tmp_path / "part.jsonl").read_bytes().splitlines()) == sorted(line.strip() for line in lines)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupted_match_says_how_to_go_on(folder: Path, tmp_path: Path, workers: int) -> None:
    arguments = ["--game", "antichess", "--agent", "experts?simulations=6", "--agent", "random", "--games", "120"]
    arguments += ["--out", str(tmp_path / "games.jsonl"), "--parallel", "4", "--workers", str(workers), "--json"]
    process = subprocess.Popen(
        [str(BIN / "moemcts"), "match", *arguments], cwd=folder, stderr=subprocess.PIPE, start_new_session=True
    )
    deadline = time.monotonic() + 400
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
        if (tmp_path / "games.jsonl").exists() and (tmp_path / "games.jsonl").read_bytes().count(b"\n") > 5:
            os.killpg(process.pid, signal.SIGINT)
            break
    _, error = process.communicate(timeout=200)
    assert process.returncode == 130
    assert "finished games are in" in error.decode()
    assert "Traceback" not in error.decode()
    num_finished = (tmp_path / "games.jsonl").read_bytes().count(b"\n") - 1
    assert 5 <= num_finished < 120
    assert json.loads(run(*arguments, folder=folder).stdout)["num_games"] == 120


@pytest.fixture(scope="module")
def duel(folder: Path) -> str:
    """What is said of the duel where nothing else is asked for."""
    return run(*DUEL, folder=folder).stdout


@pytest.mark.parametrize("options", [["--workers", 0], ["--parallel", 1], ["--workers", 3, "--parallel", 4]])
def test_games_do_not_depend_on_who_plays_them_when(
    folder: Path, duel: str, options: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matches, "num_cores", lambda: 2)
    assert run(*DUEL, *options, folder=folder).stdout == duel


def test_a_match_of_others_is_not_gone_on_with(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    run(*DUEL, "--out", path, folder=folder)
    copy = tmp_path / "openings.epd"
    copy.write_text("\n".join(reversed(OPENINGS.splitlines())))
    for change in (["--seed", 1], ["--adjudicate", "papers"], ["--openings", copy], ["--simulations", 7]):
        done = run(*DUEL, "--out", path, *change, folder=folder, code=2)
        assert "holds the games of another match" in done.stderr


def test_a_match_is_made_longer_by_the_same_command_with_more_games(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    for against in ([], ["--against", "random"]):
        command = ["--game", "connect-four", "--agent", "uct?simulations=4", "--agent", "uct?simulations=2", *against]
        run(*command, "--games", 4, "--out", path, folder=folder)
        played = path.read_bytes()
        extend_experiment = run(*command, "--games", 10, "--out", path, "--json", folder=folder)
        assert path.read_bytes().startswith(played)
        assert json.loads(extend_experiment.stdout) == json.loads(
            run(*command, "--games", 10, "--json", folder=folder).stdout
        )
        path.unlink()


def test_each_agent_plays_the_same_games_against_the_same_others(folder: Path) -> None:
    done = run(
        "--game", "pommerman", "--agent", "random", "--agent", "simple", "--against", "simple", "--games", 8, "--json",
        "--seed", 5, folder=folder,
    )  # fmt: skip
    result = json.loads(done.stdout)
    assert result["seed"] == 5
    assert [arm["name"] for arm in result["arms"]] == ["random", "simple"]
    assert [arm["num_games"] for arm in result["arms"]] == [8, 8]
    assert len(result["differences"]) == 1


def test_players_of_a_free_for_all_get_win_rates_and_ratings(folder: Path) -> None:
    arguments = ["--game", "pommerman", "--agent", "random", "--agent", "simple", "--games", 8]
    result = json.loads(run(*arguments, "--json", folder=folder).stdout)
    assert [(agent["num_games"], agent["num_seats"]) for agent in result["agents"]] == [(8, 16), (8, 16)]
    assert result["ratings"]["agents"][0]["name"] == "simple"
    table = run(*arguments, "--sprt", "0,10", folder=folder).stdout
    assert "seat 3" in table
    assert "sequential test of 0 against 10 Elo (normalized): LLR " in table
    assert "8 games, mean length" in table


def test_the_table_says_all_there_is(folder: Path) -> None:
    arguments = [argument for argument in DUEL if argument != "--json"]
    done = run(*arguments, "--sprt", "0,10", folder=folder)
    for part in ("Elo", "LOS", "pairs with 0, 1/2, 1, 3/2, 2 points", "LLR", "6 games, mean length", "ended by"):
        assert part in done.stdout
    assert not {"nan", "inf"} & set(done.stdout.replace(",", " ").split())
    assert done.stderr.splitlines()[-1].startswith("match: 6 games in ")


def test_games_that_repeat_others_are_counted(folder: Path) -> None:
    done = run("--game", "antichess", "--agent", "experts?simulations=6", "--agent", "single?simulations=6",
               "--games", 8, "--max-plies", 20, "--random-plies", 0, folder=folder)  # fmt: skip
    assert "6 of these games repeat an earlier one move for move" in done.stdout


def test_a_sequential_test_stops_the_match(folder: Path) -> None:
    arguments = ["--game", "tictactoe", "--agent", "flat?playouts=1", "--agent", "random", "--games", 4000, "--json"]
    result = json.loads(run(*arguments, "--sprt", "-800,-600,model=trinomial", folder=folder).stdout)
    assert result["sprt"]["decision"] == "H1"
    assert result["num_games"] < 200
    workers = run(*arguments, "--sprt", "-800,-600,model=trinomial", "--workers", 2, folder=folder)
    assert json.loads(workers.stdout) == result


def test_bad_openings_are_reported_and_the_others_played(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "some.epd"
    path.write_text("nonsense\n" + OPENINGS)
    done = run(*DUEL, "--openings", path, folder=folder)
    assert "warning: " in done.stderr
    assert "some.epd has 1 bad entry: line 1: expected an EPD, got 'nonsense'" in done.stderr
    assert json.loads(done.stdout)["num_games"] == 6


BROKEN = """
from moemcts.agents import Decision
from moemcts.hookspecs import Registration, hookimpl

class Broken:
    name = "broken"
    def act(self, views, seats):
        if any(view.state.ply > 3 for view in (views[row] for row in range(len(seats)))):
            raise RuntimeError("out of\\norder")
        seen = (views[row] for row in range(len(seats)))
        return [Decision(action=view.state.legal_actions(view.player)[0]) for view in seen]

@hookimpl
def register_agents():
    return [Registration("broken", lambda game: Broken(), "breaks")]
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_an_agent_that_breaks_loses_and_the_match_goes_on(tmp_path: Path, workers: int) -> None:
    (tmp_path / "broken_agent.py").write_text(BROKEN)
    info = tmp_path / "broken_agent-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-agent\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[moemcts]\nbroken_agent = broken_agent\n")
    arguments = ["match", "--game", "antichess", "--agent", "broken", "--agent", "random", "--games", "8"]
    done = subprocess.run(
        [str(BIN / "moemcts"), *arguments, "--workers", str(workers)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "ended by crash 8" in done.stdout
    assert "game 1, crash: broken in seat 0: RuntimeError: out of order" in done.stdout
    assert "and 3 more games in which an agent failed" in done.stdout
    assert "game 1 lost by crash: broken in seat 0: RuntimeError: out of order" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("--agent random --agent random", "expected different agents"),
        (
            "--agent uct?simulations=20 --agent uct?simulations=20&c=1.4",
            "got 'uct?simulations=20' and 'uct?simulations=20&c=1.4', which are both 'uct?simulations=20&c=1.4'",
        ),
        ("--agent random --agent flat --agent flat?playouts=1", "expected 2 agents that play each other"),
        ("--agent random --agent flat --games 4 --pairs 2", "expected --games or --pairs, got both"),
        ("--agent random --agent flat --sprt 5", "expected --sprt elo0,elo1[,alpha,beta][,model=...], got '5'"),
        ("--agent random --agent flat --sprt 5,0", "expected elo0 < elo1, got 5.0 and 0.0"),
        ("--agent random --agent flat --sprt 0,2e4", "expected differences between -2000 and 2000 Elo, got 20000.0"),
        ("--agent random --agent flat --sprt 0,5,model=norm", "did you mean 'normalized'?"),
        (
            "--agent random --against random --sprt 0,5",
            "expected no --against with a sequential test, which needs agents that play",
        ),
        ("--agent random --agent flat --adjudicate paper", "did you mean 'papers'?"),
        ("--agent random --agent flat --openings-order up", "expected --openings-order random or sequential"),
        ("--agent random --agent flat --openings-order random", "no effect without --openings FILE; leave it out"),
        ("--agent random --agent flat --openings-plies 2", "--openings-plies has no effect without --openings FILE"),
        ("--agent random --agent flat --openings a --random-plies 0", "--random-plies has no effect with --open"),
        (
            "--agent random --agent uct?simulations=5 --simulations 9",
            "--simulations has no effect here: every agent",
        ),
        ("--agent random --agent uct --nodes 9", "--nodes has no effect here: every agent"),
        ("--agent random --agent flat?playouts=1 --seconds 0.1", "--seconds has no effect here"),
        ("--agent random --agent flat --openings none.epd", "cannot read the openings none.epd"),
        ("--agent random --agent flat --replays a.pgn", "no replay format named 'pgn'"),
        ("--agent random --agent flat --pgn a.pgn", "tictactoe has no PGN; --replays FILE.jsonl keeps its games"),
        ("--agent random --agent flat --random-plies 9", "use fewer --random-plies"),
        ("--agent random --agent flat --out a.jsonl --replays a.jsonl", "expected different files to write to"),
        ("--agent random --agent flat --replays /proc/x.jsonl", "cannot write /proc/x.jsonl"),
        ("--agent random --agent uct?simulations=1.5", "agent 'uct': expected simulations as whole number, got 1.5"),
        ("--agent random --agent uct?c=high", "agent 'uct': expected c as number, got 'high'"),
        ("--agent random --agent uct?c=1&c=2", "expected option 'c' once in 'uct?c=1&c=2', got it twice"),
        ("--agent random --agent no/such/folder?nodes=9", "no agent or folder of experts named 'no/such/folder'"),
        ("--agent random --agent flat --agent-timeout inf", "at most 86400 seconds per decision, got inf"),
        ("--agent random --agent flat --openings /dev/zero", "a file of openings, but /dev/zero is not a file"),
    ],
)
def test_mistakes_get_one_line(
    arguments: str,
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["moemcts", "match", "--game", "tictactoe", *arguments.split()])
    with pytest.raises(SystemExit) as left:
        main()
    error = capsys.readouterr().err
    assert left.value.code in (1, 2)
    assert line in error
    assert len(error.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_a_checkpoint_of_another_game_is_refused(folder: Path) -> None:
    done = run("--game", "chess", "--agent", "experts", "--agent", "random", "--games", 2, folder=folder, code=2)
    assert len(done.stderr.splitlines()) == 1
    assert "antichess" in done.stderr


def test_limits_are_those_of_agents_that_take_them_and_name_none() -> None:
    game = plugins().game("tictactoe")
    references = ["uct", "uct?simulations=4", "uct?seconds=0.1", "flat", "random"]
    found = contestants(references, game, {"simulations": 8})
    # What was taken stands in the journal of a match, so that games with other limits are not gone on with.
    assert [one.resolved for one in found.values()] == [
        "uct?simulations=8&c=1.4", "uct?simulations=4&c=1.4", "uct?seconds=0.1&c=1.4", "flat?playouts=512", "random"
    ]  # fmt: skip
    check_limits(["random", "uct"], game, {"simulations": 8})
    with pytest.raises(UsageError, match="--simulations has no effect here: every agent"):
        check_limits(["random", "uct?seconds=0.1"], game, {"simulations": 8})


def test_limits_are_those_of_experts_that_name_none(folder: Path) -> None:
    game = plugins().game("antichess")
    limited = resolve_agent(str(folder / "experts"), game, {"nodes": 5})
    assert isinstance(limited, SearchAgent)
    assert (limited.config.nodes, limited.config.simulations) == (5, None)
    own = resolve_agent(f"{folder / 'experts'}?simulations=7", game, {"nodes": 5})
    assert isinstance(own, SearchAgent)
    assert (own.config.nodes, own.config.simulations) == (None, 7)
    assert isinstance(resolve_agent(str(folder / "experts"), game, {"simulations": 0}), PolicyAgent)


@pytest.mark.parametrize(
    ("agents", "limits", "max_parallel"),
    [
        (("random", "flat?playouts=1"), {}, 256),
        (("random", "flat?playouts=1"), {"seconds": 0.1}, 1),
        (("random", "uct?seconds=1"), {}, 1),
    ],
)
def test_games_with_a_clock_are_played_one_by_one(
    agents: tuple[str, ...], limits: dict[str, float], max_parallel: int
) -> None:
    plan = MatchPlan(game="tictactoe", agents=agents, limits=limits)
    match = Match(plan)
    assert match.conditions.max_parallel == max_parallel
    assert match.is_timed == (max_parallel == 1)


def test_a_clock_leaves_one_process(moemcts) -> None:  # type: ignore[no-untyped-def]
    agents = ("--agent", "random", "--agent", "uct?seconds=0.01")
    code, _, error = moemcts("match", "--game", "tictactoe", *agents, "--games", "2", "--workers", "2")
    assert code == 0
    assert "played one after the other, not in --workers" in error


@pytest.mark.parametrize("game", ["connect-four", "pommerman"])
def test_another_seed_is_more_games(game: str) -> None:
    plan = MatchPlan(game=game, agents=("random", "uct"), num_games=40)
    boards = [Match(replace(plan, seed=seed)).openings for seed in (0, 1, 2)]
    assert [one.name for one in boards[0]][:2] == ["seed 0", "seed 1"]
    assert len({one.name for of_one in boards for one in of_one}) == sum(map(len, boards))


def test_tests_are_written_as_users_know_them() -> None:
    assert parse_sprt("0,5").model == "normalized"
    assert parse_sprt("0,5,model=pentanomial").model == "logistic"
    found = parse_sprt("-1.5,2,0.1,0.2,model=trinomial")
    assert (found.elo0, found.elo1, found.alpha, found.beta, found.model) == (-1.5, 2, 0.1, 0.2, "trinomial")
    with pytest.raises(UsageError, match="got 3 numbers"):
        parse_sprt("0,5,0.05")


def test_the_thousand_games_of_a_match_survive_its_being_stopped(tmp_path: Path) -> None:
    """The statement about 1,000 games, with quick ones."""
    arguments = ["--game", "tictactoe", "--agent", "flat?playouts=1", "--agent", "random", "--games", 1000, "--json"]
    whole = run(*arguments, "--out", "whole.jsonl", folder=tmp_path)
    shutil.copy(tmp_path / "whole.jsonl", tmp_path / "part.jsonl")
    with (tmp_path / "part.jsonl").open("r+b") as file:
        file.truncate(file.seek(0, io.SEEK_END) // 3)
    again = run(*arguments, "--out", "part.jsonl", folder=tmp_path)
    assert again.stdout == whole.stdout
    assert json.loads(again.stdout)["num_games"] == 1000


MATCH = ["--game", "tictactoe", "--agent", "random", "--agent", "uct?simulations=8", "--games", "4"]


@pytest.mark.parametrize("option", ["--out", "--replays"])
def test_what_is_not_ours_is_never_overwritten(tmp_path: Path, option: str) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text("one line")
    done = run(*MATCH, option, path, folder=tmp_path, code=2)
    assert "is not a file of" in done.stderr
    assert path.read_text() == "one line"
    path.unlink()
    for _ in range(2):
        run(*MATCH, option, path, folder=tmp_path)


def test_the_result_is_printed_whatever_becomes_of_the_files(tmp_path: Path) -> None:
    """The folder of the replays goes while games are played."""
    (tmp_path / "gone").mkdir()
    (tmp_path / "slow_agent.py").write_text(SLOW)
    info = tmp_path / "slow_agent-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: slow-agent\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[moemcts]\nslow_agent = slow_agent\n")
    command = [str(BIN / "moemcts"), "match", "--game", "antichess", "--agent", "slow", "--agent", "random"]
    done = subprocess.run(
        [*command, "--games", "2", "--max-plies", "4", "--replays", "gone/games.jsonl"],
        cwd=tmp_path,
        env={"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "2 games, mean length 4.0 plies" in done.stdout
    assert "cannot write gone/games.jsonl" in done.stderr
    assert "Traceback" not in done.stderr


SLOW = """
import pathlib
from moemcts.agents import RandomAgent
from moemcts.hookspecs import Registration, hookimpl

class Slow(RandomAgent):
    name = "slow"
    def act(self, views, seats):
        folder = pathlib.Path("gone")
        if folder.is_dir():
            folder.rmdir()
            folder.write_text("in the way")
        return super().act(views, seats)

@hookimpl
def register_agents():
    return [Registration("slow", lambda game: Slow(), "takes the folder away")]
"""


def test_progress_is_silent_where_standard_error_is_closed(tmp_path: Path) -> None:
    command = " ".join([str(BIN / "moemcts"), "match", *MATCH, "--json", "2>&-"])
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert json.loads(done.stdout)["num_games"] == 4


def test_an_agent_that_hangs_loses_by_its_time(tmp_path: Path) -> None:
    arguments = ["--game", "tictactoe", "--agent", "random", "--agent", "uct?seconds=600", "--games", "2"]
    started = time.monotonic()
    done = start(*arguments, "--agent-timeout", "0.2", "--json", folder=tmp_path)
    assert json.loads(done.stdout)["terminations"] == {"timeout": 2}
    assert time.monotonic() - started < 300


def test_one_game_is_one_game(tmp_path: Path) -> None:
    done = run(*MATCH[:-1], "1", folder=tmp_path)
    assert "1 game, mean length" in done.stdout
    assert done.stderr.startswith("match: 1 game in ")

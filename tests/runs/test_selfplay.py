"""Self-play from the first game to the report: resumed to the same bytes, the same whoever plays."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from selfplay_for_tests import Deadly, Killed, assert_same, contents, selfplay, work
from trained_for_tests import save_team, with_gpus

from moemcts.agents import RandomAgent
from moemcts.arena.replays import read_jsonl
from moemcts.cli.main import main
from moemcts.errors import DamagedFile, ForeignData, MoemctsError, UsageError
from moemcts.learn import checkpoint
from moemcts.learn.loop.config import GamesConfig
from moemcts.learn.loop.games import AgentPool, play_games
from moemcts.learn.weights import load_state, read_state, state_digest
from moemcts.report.comparison import comparison
from moemcts.runs.finishing import finish, rewrite
from moemcts.runs.selfplay.games import Speed, SpeedMeter, chunks_to_play
from moemcts.runs.selfplay.generations import PLAYED
from moemcts.runs.selfplay.players import Players
from moemcts.runs.selfplay.playing import Playing
from moemcts.runs.selfplay.replayer import OPENING_PLIES, GameReplayer
from moemcts.runs.selfplay.run import SelfPlay
from moemcts.runs.selfplay.settings import SelfPlayConfig
from moemcts.runs.settings import validate
from moemcts.store import read_json, read_toml, write_toml
from moemcts.work.progress import Advance, NoProgress, ignore_progress


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("selfplay") / "run"
    finish(selfplay(folder), NoProgress())
    return folder


@pytest.mark.parametrize(
    ("task", "count"),
    [
        ("generation 1: games", 1),
        ("generation 2: games", 2),
        ("generation 2: training", 3),
        ("generation 2: training", 8),
        ("generation 2: promotion", 2),
        ("generation 3: measurement", 3),
    ],
)
def test_a_run_that_was_killed_ends_in_the_same_bytes(finished: Path, tmp_path: Path, task: str, count: int) -> None:
    with pytest.raises(Killed):
        work(selfplay(tmp_path / "run"), Deadly(task, count))
    work(SelfPlay.load(tmp_path / "run"))
    assert_same(tmp_path / "run", finished)


def test_processes_play_the_same_games(finished: Path, tmp_path: Path) -> None:
    unmatched = {"gauntlet": {"games": 0}, "promotion": {"rule": "none"}}
    work(selfplay(tmp_path / "run", generations=1, workers=2, **unmatched))
    # The manifest names the samples by their hash, and the experts.
    manifest = "generations/0001/experts/manifest.toml"
    assert (tmp_path / "run" / manifest).read_bytes() == (finished / manifest).read_bytes()


def test_games_without_a_pause_between_chunks_go_on_after_a_kill(finished: Path, tmp_path: Path) -> None:
    with pytest.raises(Killed):
        work(selfplay(tmp_path / "run", games={"continuous": True}), Deadly("generation 2: games", 2))
    ended = work(SelfPlay.load(tmp_path / "run"))
    assert contents(tmp_path / "run").keys() == contents(finished).keys()
    assert [ended.on_disk.read_result(one, PLAYED)["games"] for one in (1, 2, 3)] == [12, 12, 12]


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is an extra")
def test_actors_of_ray_play_the_same_games(finished: Path, tmp_path: Path) -> None:
    try:
        work(selfplay(tmp_path / "run", generations=1, workers="ray", gauntlet={"games": 0}))
    finally:
        # Whoever imports it before the run does has its actors build this package anew under `uv run`.
        import ray

        ray.shutdown()
    manifest = "generations/0001/experts/manifest.toml"
    assert (tmp_path / "run" / manifest).read_bytes() == (finished / manifest).read_bytes()


def test_more_generations_go_on_where_the_run_ended(finished: Path, tmp_path: Path) -> None:
    work(selfplay(tmp_path / "run", generations=2, gauntlet={"games": 0}))
    values = read_toml(tmp_path / "run" / "config.toml")
    write_toml(tmp_path / "run" / "config.toml", values | {"generations": 3})
    work(SelfPlay.load(tmp_path / "run"))
    experts = "generations/0003/experts/expert-0.safetensors"
    assert (tmp_path / "run" / experts).read_bytes() == (finished / experts).read_bytes()


def test_generations_whose_experts_are_gone_are_not_measured_later(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    measured = {"games": 2, "opponents": [], "every": 2}
    work(selfplay(folder, generations=2, keep=9, gauntlet=measured, promotion={"rule": "none"}))
    assert not (folder / "generations" / "0001" / "experts").exists()
    values = read_toml(folder / "config.toml")
    values["gauntlet"]["every"] = 1
    write_toml(folder / "config.toml", values | {"generations": 3})
    work(SelfPlay.load(folder))
    names = sorted(path.name for path in (folder / "matches").glob("measure-????.json"))
    assert names == ["measure-0000.json", "measure-0002.json", "measure-0003.json"]
    assert json.loads((folder / "matches" / "measure-0003.json").read_text())[0]["other"] == "generation 2"


def test_settings_that_decide_games_cannot_change_on_the_way(tmp_path: Path) -> None:
    run = selfplay(tmp_path / "run", generations=1, gauntlet={"games": 0})
    work(run)
    values = read_toml(tmp_path / "run" / "config.toml")
    values["search"]["simulations"] = 5
    write_toml(tmp_path / "run" / "config.toml", values)
    with pytest.raises(ForeignData, match=r"search\.simulations was 4 and is 5"):
        work(SelfPlay.load(tmp_path / "run"))


def test_games_outside_the_window_are_removed(finished: Path) -> None:
    assert not (finished / "generations" / "0001" / "games").exists()
    assert (finished / "generations" / "0001" / "played.json").exists()
    assert (finished / "generations" / "0002" / "games").exists()
    assert not list(finished.rglob("stages"))
    assert not list(finished.rglob("chunks"))


def test_experts_are_kept_by_rule(tmp_path: Path) -> None:
    work(selfplay(tmp_path / "run", keep=2, gauntlet={"games": 0}, promotion={"rule": "none"}))
    kept = [path.parent.name for path in sorted((tmp_path / "run").glob("generations/*/experts"))]
    assert kept == ["0000", "0002", "0003"]


def test_the_report_tells_strength_losses_and_games(finished: Path) -> None:
    numbers = json.loads((finished / "report" / "numbers.json").read_text())
    assert {one["name"] for one in numbers["strength"]} == {"generation 0", "generation 3", "random"}
    assert [one["generation"] for one in numbers["generations"]] == [1, 2, 3]
    for one in numbers["generations"]:
        assert one["games"] == 12
        assert one["promoted"]["games"] == 4
        assert set(one["learned"]["losses"]) == {"phase 0", "phase 1", "phase 2"}
    assert numbers["generations"][2]["learned"]["window"] == [2, 3]
    page = (finished / "report" / "report.md").read_text()
    begin = "- where generations are measured, games begin after 4 random plies and are counted from there\n"
    for word in ("Strength", "Generations", "repeated %", "window", begin):
        assert word in page


def test_a_generation_may_be_a_number_of_samples(tmp_path: Path) -> None:
    run = selfplay(tmp_path / "run", generations=1, games={"samples": 50}, gauntlet={"games": 0})
    work(run)
    assert run.on_disk.read_result(1, "played.json")["samples"] == 50
    assert read_toml(run.on_disk.games(1) / "manifest.toml")["num_samples"] == 50
    assert read_toml(run.on_disk.games(1) / "manifest.toml")["source"] == {"generation": 1, "champion": 0}


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"scheme": "mixture", "gate": "learned"}, "cannot continue from where they are"),
        ({"games": {"opponents": "nobody"}}, "no agent named 'nobody'"),
        ({"games": {"opponents": "leage"}}, "no agent named 'leage'; did you mean 'league'?"),
        (
            {"games": {"opponents": "weights:connect-four"}},
            r"got the experts 'weights:connect-four', which play only in the ga",
        ),
        ({"games": {"opponent_model": "selv"}}, "no agent named 'selv'; did you mean 'self'?"),
        (
            {"gauntlet": {"opponents": "random"}},
            r'gauntlet.opponents: expected a list such as \["random"\], got .random',
        ),
        (
            {"workers": "rays"},
            "workers: expected a number of processes, at least 0, or ray or ray://HEAD:PORT, got 'rays'",
        ),
        ({"workers": -3}, "expected a number of processes, at least 0"),
        ({"games": {"device": "gpu"}}, "expected a device such as cpu, cuda or cuda:1, got 'gpu'"),
        ({"games": {"precision": "int8"}}, r"expected games.precision float32, bf16 or auto, got 'int8': its models"),
        ({"training": {"compile": "auto"}}, "expected training.compile true or false, got 'auto': each generation"),
        ({"search": {"seconds": 1.0}}, "limit search by simulations, not seconds"),
        (
            {"search": {"smart_pruning": True, "temperature": 0.0, "temperature_plies": 0}},
            "expected visits to learn from",
        ),
        (
            {"search": {"simulations": None, "nodes": 9}, "games": {"full_share": 0.5}},
            r"expected games.fast_simulations or search.simulations with games.full_share=0\.5, got neither",
        ),
        (
            {"search": {"simulations": 9}, "games": {"full_share": 0.5, "fast_simulations": 10}},
            "expected games.fast_simulations of at most search.simulations, 9, got 10",
        ),
        (
            {"games": {"opponents": "uct?seconds=0.01"}},
            "limit games.opponents by simulations, not by the clock, got 'uct",
        ),
        (
            {"games": {"opponent_model": "flat?seconds=1"}},
            "limit games.opponent_model by simulations, not by the clock",
        ),
        ({"gauntlet": {"random_plies": 20}}, "expected games of tictactoe that go on after 20 random plies"),
        ({"targets": {"steps": 2, "td_lambda": 0.5}}, "expected steps or td_lambda"),
        ({"promotion": {"rule": "sprt", "elo0": 100.0}}, "promotion in tictactoe: expected elo0 < elo1"),
    ],
)
def test_what_cannot_be_done_is_said_before_it_begins(tmp_path: Path, changes: Any, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        selfplay(tmp_path / "run", **changes)


def test_sections_that_are_given_keep_what_self_play_has_of_its_own() -> None:
    def made(**sections: Any) -> SelfPlayConfig:
        return validate({"game": "tictactoe", **sections}, SelfPlayConfig)

    search = made(search={"simulations": 200}).search
    assert (search.simulations, search.noise_fraction, search.temperature, search.temperature_plies) == (
        200,
        0.25,
        1,
        10,
    )
    assert made(search={"noise_fraction": 0.0}).search.noise_fraction == 0
    # The Gumbel root has noise of its own.
    assert made(search={"root": "gumbel"}).search.noise_fraction == 0
    assert made(search={"root": "gumbel"}).search.temperature_plies == 10
    assert (made(training={"epochs": 2}).training.keep, made(training={"keep": "best"}).training.keep) == (
        "last",
        "best",
    )
    for config in (made(), made(search={"root": "gumbel"}), made(search={"temperature": 0.0})):
        assert validate(config.resolved_settings(), SelfPlayConfig) == config


@pytest.mark.parametrize(
    ("games", "num_values"),
    [
        ({}, "&num_values=4"),
        ({"opponents": "league"}, "&num_values=4"),
        ({"opponents": "simple"}, ""),
        ({"opponent_model": "simple"}, ""),
        ({"opponents": "simple", "opponent_model": "self"}, "&num_values=4"),
    ],
)
def test_networks_value_all_whom_the_search_plays_for(tmp_path: Path, games: dict[str, str], num_values: str) -> None:
    run = selfplay(tmp_path / "run", game="pommerman?max_steps=20", gate="none", games=games, generations=1)
    assert run.config.network == f"mlp?width=8&layers=1{num_values}"
    assert read_toml(tmp_path / "run" / "config.toml")["network"] == run.config.network


def test_experts_play_on_the_device_that_is_named(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "device" not in read_toml(finished / "config.toml")["games"]
    seen = with_gpus(monkeypatch)
    run = selfplay(tmp_path / "run", games={"device": "cuda:1"})
    assert read_toml(tmp_path / "run" / "config.toml")["games"]["device"] == "cuda:1"
    Players(finished, run.config, run.game).experts(3)
    assert seen == ["cuda:1"]


@pytest.mark.parametrize("opponents", ["league", "random"])
def test_others_may_sit_opposite(tmp_path: Path, opponents: str) -> None:
    changes = {"opponents": opponents, "opponent_share": 0.5, "opponent_model": "self"}
    run = selfplay(tmp_path / "run", generations=2, games=changes, gauntlet={"games": 0}, promotion={"rule": "none"})
    work(run)
    played = run.on_disk.read_result(2, "played.json")
    assert 0 < played["against_others"] < played["games"]
    assert played["won_against_others"] is not None


@pytest.mark.parametrize("scheme", ["single", "staged", "weighted?a=4", "general_first", "distance"])
def test_every_scheme_of_stages_goes_on(tmp_path: Path, scheme: str) -> None:
    run = selfplay(tmp_path / "run", scheme=scheme, generations=2, gauntlet={"games": 0}, promotion={"rule": "none"})
    work(run)
    manifest = read_toml(run.on_disk.experts(2) / "manifest.toml")
    assert (len({one["sha256"] for one in manifest["experts"]}) == 1) == (scheme == "single")


def test_self_play_goes_on_from_experts_that_are_there(finished: Path, tmp_path: Path) -> None:
    start = finished / "generations" / "0003" / "experts"
    run = selfplay(tmp_path / "run", start=str(start), generations=1, gauntlet={"games": 0})
    work(run)
    for phase in range(3):
        name = f"expert-{phase}.safetensors"
        assert (run.on_disk.experts(0) / name).read_bytes() == (start / name).read_bytes()
    with pytest.raises(UsageError, match="has experts of gate 'plies', not of"):
        work(selfplay(tmp_path / "other", start=str(start), gate="plies?cuts=2", generations=1))


def command(*arguments: object, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["moemcts", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        main()
    return int(left.value.code or 0)


def test_the_command_ends_with_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    options = ["--game", "tictactoe", "--gate", "plies", "--preset", "smoke", "--generations", 1, "--out", folder]
    sizes = ["--set", "games.games=8", "--set", "gauntlet.games=2", "--set", "training.epochs=1"]
    sizes += ["--set", "promotion.rule=score", "--set", "promotion.score=0.999", "--set", "promotion.games=2"]
    assert command("selfplay", *options, *sizes, monkeypatch=monkeypatch) == 0
    told = capsys.readouterr()
    assert "1 generation of 8 games" in told.out
    assert "report.html" in told.out
    first = SelfPlay.load(folder).on_disk.experts(0)
    assert f"experts: {first} (of generation 0, the last that was promoted)" in told.out
    assert (first / "manifest.toml").exists()
    assert "generation 1: games" in told.err
    assert command("selfplay", *options, *sizes, monkeypatch=monkeypatch) == 2
    assert "moemcts selfplay --resume" in capsys.readouterr().err
    assert command("selfplay", "--resume", folder, "--json", monkeypatch=monkeypatch) == 0
    told = capsys.readouterr()
    numbers = json.loads(told.out)
    assert (numbers["folder"], numbers["generations"][0]["games"]) == (str(folder), 8)
    assert "\nestimate of the whole run: " in told.err
    longer = ("selfplay", "--resume", folder, "--generations")
    assert command(*longer, 2, "--seed", 4, monkeypatch=monkeypatch) == 2
    assert "expected --resume alone or with --generations: self-play goes on with the" in capsys.readouterr().err
    assert command(*longer, 2, "--dry-run", monkeypatch=monkeypatch) == 0
    assert SelfPlay.load(folder).config.generations == 1
    assert command(*longer, 2, monkeypatch=monkeypatch) == 0
    assert SelfPlay.load(folder).on_disk.experts(2).exists()
    assert command(*longer, 1, monkeypatch=monkeypatch) == 2
    assert f"expected at least 2 generations, which {folder} was begun with, got 1" in capsys.readouterr().err


def test_a_run_goes_on_where_what_it_began_with_is_gone(finished: Path, tmp_path: Path) -> None:
    start = Path(shutil.copytree(finished / "generations" / "0003" / "experts", tmp_path / "start"))
    run = selfplay(tmp_path / "run", start=str(start), generations=1, gauntlet={"games": 0})
    gone = start.rename(tmp_path / "gone")
    with pytest.raises(DamagedFile, match=r"cannot read .*start/manifest.toml"):
        work(SelfPlay.load(tmp_path / "run"))
    gone.rename(start)
    run.do("start", ignore_progress)
    shutil.rmtree(start)
    assert not work(SelfPlay.load(tmp_path / "run")).pending_parts()


def test_the_network_of_what_is_begun_with_is_not_chosen(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    start = finished / "generations" / "0003" / "experts"
    options = ["--game", "tictactoe", "--gate", "plies", "--start", start, "--out", tmp_path / "run", "--dry-run"]
    assert command("selfplay", *options, "--network", "resnet", monkeypatch=monkeypatch) == 2
    assert f"expected --start without --network: the network is that of {start}" in capsys.readouterr().err
    loads: list[str] = []

    def load(network: Any, state: Any, where: str) -> None:
        loads.append(where)
        load_state(network, state, where)

    monkeypatch.setattr(checkpoint, "load_state", load)
    assert command("selfplay", *options, "--preset", "smoke", monkeypatch=monkeypatch) == 0
    assert loads
    assert len(loads) == len(set(loads)), "the weights of each phase are read once"
    assert f'network = "{read_toml(start / "manifest.toml")["network"]}"' in capsys.readouterr().out


def test_a_game_of_each_generation_can_be_gone_through(finished: Path) -> None:
    run = SelfPlay.load(finished)
    for generation in (1, 2, 3):
        (replay,) = read_jsonl(finished / "generations" / f"{generation:04d}" / "game.jsonl", run.game)
        *_, (last, moves) = replay.positions()
        assert not last.active_players
        assert not moves
        assert tuple(last.returns().tolist()) == replay.record.returns
        assert replay.record.agents == (f"generation {run.on_disk.champion(generation - 1)}",) * 2


def test_experts_among_the_opponents_stay_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_team(tmp_path / "team")
    monkeypatch.chdir(tmp_path)
    gauntlet = {"opponents": ["team?simulations=2"], "games": 2, "previous": False}
    run = work(selfplay(tmp_path / "run", generations=1, gauntlet=gauntlet, promotion={"rule": "none"}))
    monkeypatch.chdir("/")
    # What was chosen here stands in the settings.
    assert run.config.gauntlet.opponents[0].startswith(f"{tmp_path}/team?simulations=2&backend=")
    assert not work(SelfPlay.load(tmp_path / "run")).pending_parts()
    save_team(tmp_path / "team", seed=4)
    with pytest.raises(ForeignData, match=r"part measure-0000 was made with other settings: experts of .*team"):
        work(SelfPlay.load(tmp_path / "run"))
    for part in (tmp_path / "run" / "parts").glob("measure-*.json"):
        part.unlink()
    with pytest.raises(ForeignData, match=r"measure-0000-0\.jsonl"):
        work(SelfPlay.load(tmp_path / "run"))


def test_openings_are_counted(tmp_path: Path) -> None:
    # Without noise and draws all games of a generation are the same.
    alike = {"noise_fraction": 0.0, "temperature": 0.0}
    run = selfplay(tmp_path, generations=1, search=alike, promotion={"rule": "none"}, gauntlet={"games": 0})
    finish(run, NoProgress())
    (replay,) = read_jsonl(run.on_disk.of(1) / "game.jsonl", run.game)
    texts = [moves[0].text for _, moves in list(replay.positions())[:4]]
    opening = {"moves": " ".join(texts), "games": 12, "player 0": replay.record.returns[0]}
    assert run.on_disk.read_result(1, PLAYED)["openings"] == [opening]
    page = (tmp_path / "report" / "report.md").read_text()
    assert page.count("What was played") == 1
    assert opening["moves"] in page


def test_no_more_moves_are_written_out_than_tell_an_opening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = work(selfplay(tmp_path, generations=1, promotion={"rule": "none"}, gauntlet={"games": 0}))
    written: list[int] = []
    text_of = type(run.game).format_action
    monkeypatch.setattr(
        type(run.game), "format_action", lambda game, *which: written.append(1) or text_of(game, *which)
    )
    games = play_games(run.game, AgentPool(newest=RandomAgent()), run.config.games, range(3), generation=1, seed=0)
    GameReplayer(run.players, 1, 0).frequent_openings([games])
    assert len(written) == 3 * OPENING_PLIES


@pytest.fixture(scope="module")
def ahead(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ahead") / "run"
    finish(selfplay(folder, games={"ahead": True}), NoProgress())
    return folder


def test_games_ahead_are_played_by_older_weights_and_said_so(ahead: Path) -> None:
    run = SelfPlay.load(ahead)
    played_by = [run.on_disk.read_result(one, "played.json")["played_by"] for one in (1, 2, 3)]
    assert played_by == [run.on_disk.champion(one) for one in (0, 0, 1)]
    assert "| 3 | " + str(played_by[2]) in (ahead / "report" / "report.md").read_text()


def test_what_is_killed_while_games_are_played_ahead_ends_as_the_unbroken_run(ahead: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with pytest.raises(Killed):
        work(selfplay(folder, games={"ahead": True}, workers=2), Deadly("generation 1: training", 3))
    finish(SelfPlay.load(folder), NoProgress())
    ours, theirs = contents(ahead), contents(folder)
    assert ours.keys() == theirs.keys()
    assert [name for name in ours if name != "config.toml" and ours[name] != theirs[name]] == []


def test_nothing_is_played_ahead_any_more_where_a_run_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play = Playing.play_all

    def played(playing: Playing, generation: int, advance: Advance) -> None:
        while generation == 2:
            advance(0, 1)
            time.sleep(0.01)
        play(playing, generation, advance)

    monkeypatch.setattr(Playing, "play_all", played)
    run = selfplay(tmp_path / "run", games={"ahead": True})
    with pytest.raises(Killed):
        work(run, Deadly("generation 1: promotion", 1))
    assert "beside" not in {thread.name for thread in threading.enumerate()}


@pytest.mark.parametrize("size", [{"games": 12}, {"samples": 60}])
def test_games_of_an_earlier_start_count_as_done(tmp_path: Path, size: dict[str, int]) -> None:
    (expected,) = size.values()
    changes = {"generations": 1, "games": size, "gauntlet": {"games": 0}, "promotion": {"rule": "none"}}
    run = selfplay(tmp_path, **changes)
    run.do("start", ignore_progress)

    def killed(done: int, total: int) -> None:
        if run.on_disk.chunks(1):
            raise Killed

    with pytest.raises(Killed):
        run.do("games-0001", killed)
    seen: list[int] = []
    SelfPlay.load(tmp_path).do("games-0001", lambda done, total: seen.append(done))
    # Half the games are there.
    assert seen[0] >= expected // 2
    assert seen[-1] == expected


@pytest.mark.parametrize("size", [{"games": 12}, {"samples": 60}])
@pytest.mark.parametrize("left", [0, 100, -100])
def test_games_of_which_a_copy_has_a_part_are_played_again(tmp_path: Path, size: dict[str, int], left: int) -> None:
    changes = {"generations": 1, "games": size, "gauntlet": {"games": 0}, "promotion": {"rule": "none"}}
    whole = selfplay(tmp_path / "whole", **changes)
    run = selfplay(tmp_path / "copy", **changes)

    def killed(done: int, total: int) -> None:
        if run.on_disk.chunks(1):
            raise Killed

    for one in (run, whole):
        one.do("start", ignore_progress)
    with pytest.raises(Killed):
        run.do("games-0001", killed)
    (chunk,) = run.on_disk.chunks(1)
    chunk.write_bytes(chunk.read_bytes()[:left])
    for one in (run, whole):
        one.do("games-0001", ignore_progress)
    assert contents(run.on_disk.games(1)) == contents(whole.on_disk.games(1))


def test_the_speed_of_shares_is_that_of_their_last_reports() -> None:
    speed = SpeedMeter()
    for share, num_games in ((0, 1), (3, 2), (0, 4)):
        speed.update(share, Speed(num_games=num_games, seconds=float(num_games)))
    assert speed.total == Speed(num_games=6, seconds=6.0)


def test_a_generation_counts_what_its_size_is_given_in(tmp_path: Path) -> None:
    run = selfplay(tmp_path / "run", games={"samples": 20})
    assert {part.unit for part in run.parts() if part.name.startswith("games")} == {"samples"}


def test_a_start_of_experts_that_differ_needs_the_network_they_go_out_from(tmp_path: Path) -> None:
    first = work(selfplay(tmp_path / "first", generations=1, scheme="general_first", gauntlet={"games": 0}))
    generation = first.on_disk.of(1)
    further = selfplay(tmp_path / "second", start=str(generation / "experts"), scheme="general_first")
    further.do("start", lambda done, total: None)
    general = "general.safetensors"
    assert state_of(further.on_disk.of(0) / general) == state_of(generation / general)
    shutil.copytree(generation / "experts", tmp_path / "experts")
    with pytest.raises(UsageError, match="expected one network to start all experts from"):
        selfplay(tmp_path / "third", start=str(tmp_path / "experts"), scheme="general_first")
    assert not (tmp_path / "third").exists()


def state_of(path: Path) -> str:
    return state_digest(read_state(path)[0])


def test_half_a_line_of_times_stops_nothing(tmp_path: Path) -> None:
    run = selfplay(tmp_path / "run")
    run.do("start", lambda done, total: None)
    (line,) = run.times.read()
    path = run.folder / "timings.jsonl"
    path.write_text(path.read_text() + '{"part": "ga{"part": "x"}\n{"part": "gam')
    assert run.times.read() == [line]
    run.times.append({"part": "train-0001", "seconds": 1.0})
    assert run.times.read() == [line, {"part": "train-0001", "seconds": 1.0}]


def test_games_without_a_sample_come_to_an_end() -> None:
    config = GamesConfig(samples=10, per_part=250)
    found: dict[int, int] = {}

    def play(config: GamesConfig, samples_of: Callable[[int], int]) -> None:
        for chunks in chunks_to_play(config, 2, found.get):
            found.update({chunk: samples_of(chunk) for chunk in chunks})

    with pytest.raises(MoemctsError, match=r"no sample from 1,000 games: .*; choose a smaller games.random_plies"):
        play(config, lambda chunk: 0)
    assert len(found) == 4
    found.clear()
    # Where few moves are searched in full, more games may have none.
    play(config.model_copy(update={"full_share": 0.1}), lambda chunk: int(chunk >= 30))
    assert sum(found.values()) >= 10


def test_the_report_of_a_finished_run_is_written_anew_and_stands_beside_others(finished: Path, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(finished, copy)
    numbers = read_json(copy / "report" / "numbers.json")
    shutil.rmtree(copy / "report")
    rewritten = rewrite(copy)
    assert read_json(copy / "report" / "numbers.json") == numbers
    row = comparison({"one": rewritten.numbers, "two": rewritten.numbers}).sections[0].tables[0].rows[1]
    assert row[0] == "two"
    assert row[3].endswith("generation 3 of self-play")

"""What is wrong with a command is said before anything is written."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from trained_for_tests import save_team

from moemcts.agents import RandomAgent
from moemcts.hookspecs import Registration
from moemcts.learn.data.generation import generate
from moemcts.plugins import plugins

SELFPLAY = "selfplay --game tictactoe --preset smoke --gate plies?cuts=3,6 --out out"


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            "--workers many",
            "error: workers: expected a number of processes, at least 0, or ray or ray://HEAD:PORT, got 'many'",
        ),
        ("--workers -3", "ray or ray://HEAD:PORT, got '-3'"),
        ("--set promotion.score=0.6", "promotion.score has no effect with promotion.rule=none"),
        ("--set games.league=3", "games.league has no effect with games.opponents=self"),
        ("--set games.searched=false --set games.full_share=0.5", "games.full_share has no effect with games.searched"),
        ("--set training.spike=null --set training.max_spikes=9", "max_spikes has no effect without training.spike;"),
        ("--set learning.steps=9 --set training.epochs=2", "training.epochs has no effect with learning.steps=9"),
        (
            "--set search.temperature_plies=0 --set search.temperature=2",
            "has no effect with search.temperature_plies=0",
        ),
        ("--set gauntlet.games=0 --set gauntlet.every=3", "gauntlet.every has no effect with gauntlet.games=0"),
        ("--start nowhere", "expected a folder of experts, got nowhere; there is no such folder"),
        ("--start chess", "was made for chess with planes"),
        ("--start weights:antichess", "was made for antichess?planes=multi-attacks with planes"),
        ("--start other", "has experts of gate 'plies', not of 'plies?cuts=3,6'"),
    ],
)
def test_self_play_looks_at_what_it_begins_with(moemcts, tmp_path: Path, options: str, line: str) -> None:  # type: ignore[no-untyped-def]
    save_team(tmp_path / "chess", game="chess", gate="none")
    save_team(tmp_path / "other", gate="plies?cuts=2,4")
    code, _, error = moemcts(*SELFPLAY.split(), *options.split())
    assert code
    assert line in error
    assert len([told for told in error.splitlines() if told.startswith("error")]) == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (["export", "weights:chess", "--precision", "auto"], "expected --precision float32 or int8, got 'auto'"),
        (["export", "weights:chess", "--precision", "int9"], "did you mean 'int8'?"),
        (["play", "--game", "tictactoe", "--against", ""], "expected an agent, a folder of experts or weights:NAME"),
        (["match", "--game", "openspiel:", "--agent", "random"], "expected a name after 'openspiel:'"),
        (["networks", "resnet", "--game", "tictactoe", "--measure", "mlp"], "resnet has no effect with --measure"),
        # Before anything is checked: of chess that takes a while.
        (
            ["selfplay", "--game", "gymnasium:CartPole-v1", "--set", "games.opponents=random", "--out", "x"],
            "expected no games.opponents, as gymnasium:CartPole-v1 has one player, got 'random'",
        ),
        (
            ["match", "--game", "tictactoe", "--agent", "random", "--replays", "games"],
            "expected --replays with an ending that names the format, such as .jsonl, got games",
        ),
        (["check", "chess", "--network", "nope"], "no network named 'nope'"),
        (["check", "chess", "--network", "mlp?width=0"], "width"),
        (["data", "stats", "--data", "games.pgn"], "expected a dataset in games.pgn, found none: it is a file"),
        (["reproduce", "selfplay", "--data", "games.pgn"], "--data has no effect in selfplay"),
    ],
)
def test_names_that_are_none_are_told_in_a_line(  # type: ignore[no-untyped-def]
    moemcts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("games.pgn").touch()
    code, _, error = moemcts(*command)
    assert code
    assert line in error
    assert len(error.splitlines()) == 1


def test_a_row_of_a_list_is_a_line_for_who_reads_it_by_a_program(moemcts) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = moemcts("weights")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()[1:]] == [
        "weights:chess",
        "weights:antichess",
        "weights:connect-four",
        "weights:pommerman",
    ]


@pytest.mark.parametrize(
    ("command", "options"),
    [
        (("gates", "plies"), ["cuts"]),
        (("schemes", "weighted"), ["a", "epochs"]),
        (("networks", "resnet"), ["channels", "blocks", "value_head"]),
        (("agents", "uct"), ["simulations", "c"]),
        (("agents", "uci:stockfish"), ["nodes", "skill", "processes", "any"]),
        (("agents", "experts"), ["simulations", "routing", "solver", "root", "else"]),
    ],
)
def test_the_options_of_a_name_are_listed(moemcts, command: tuple[str, str], options: list[str]) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = moemcts(*command)
    assert code == 0
    listed = [line.split()[0] for line in out.splitlines()[1:]]
    assert set(options) <= set(listed)
    code, out, _ = moemcts(*command, "--json")
    assert [row["option"] for row in json.loads(out)] == listed


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ("--data nowhere.pgn", "expected --data to be a dataset's folder or a file of games, found neither at nowhere"),
        ("--set data.games=nowhere.pgn", "expected a file of games at"),
        ("--set data.folder=nowhere", "nowhere, found none: there is no such folder"),
        ("--set data.folder=connect-four", "was made for connect-four with planes"),
        ("--set data.validation=connect-four", "was made for connect-four with planes"),
        ("--set data.validation=own --set data.test=own", "expected different samples to learn from and to measure on"),
    ],
)
@pytest.mark.parametrize("command", ["run", "train"])
def test_games_to_learn_from_are_looked_at_before_a_run_is_told_of(  # type: ignore[no-untyped-def]
    moemcts, tmp_path: Path, command: str, options: str, line: str
) -> None:
    for folder, game in (("connect-four", "connect-four"), ("own", "antichess")):
        generate(plugins().game(game), [RandomAgent()] * 2, 100, out=tmp_path / folder, seed=1, reference=game)
    code, _, error = moemcts(command, "--game", "antichess", "--preset", "smoke", *options.split())
    assert (code, len(error.splitlines())) == (2, 1)
    assert line in error


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("run --game tictactoe --workers 1 --set workers=2", "expected workers once, got 1 and, with --set, 2"),
        ("train --game tictactoe --seed 4 --set seed=3", "expected seed once, got 4 and, with --set, 3"),
        ("run --game tictactoe --gate plies --set gates=none,", "expected gates once, got ['plies'] and, with --set"),
    ],
)
def test_of_two_values_for_one_setting_none_is_lost(moemcts, command: str, line: str) -> None:  # type: ignore[no-untyped-def]
    code, _, error = moemcts(*command.split())
    assert code == 2
    assert line in error


def test_what_may_be_given_several_times_or_means_the_same_twice_is_taken(moemcts) -> None:  # type: ignore[no-untyped-def]
    words = "run --game tictactoe --preset smoke --gate plies --gate none --seed 3 --set seed=3 --dry-run --json --json"
    words += " --set num_seeds=3 --set num_seeds=2"
    code, out, error = moemcts(*words.split())
    assert code == 0, error
    config = json.loads(out)["config"]
    assert config["gates"] == ["plies?cuts=3,6", "none"]
    assert config["num_seeds"] == 2, "of two values of one setting the last counts"


def test_a_name_without_options_to_list_is_told(moemcts) -> None:  # type: ignore[no-untyped-def]
    code, _, error = moemcts("networks", "resnit")
    assert code
    assert "no network named 'resnit'; did you mean 'resnet'?" in error


def test_experts_are_searched_with_any_setting(moemcts, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    save_team(tmp_path / "team")
    agent = f"{tmp_path / 'team'}?simulations=8&backend=torch"
    game = ("match", "--game", "tictactoe", "--games", "2", "--agent", "random", "--agent")
    for settings in (
        "solver=true&reuse=true",
        "root=gumbel&gumbel_noise=0&leaves=1",
        "temperature=1&temperature_plies=4",
    ):
        code, out, error = moemcts(*game, f"{agent}&{settings}")
        assert code == 0, error
        assert "2 games" in out
    code, _, error = moemcts(*game, f"{agent}&root=gumbol")
    assert code
    assert "as puct or gumbel, got" in error


@pytest.mark.parametrize(
    ("registered", "line"),
    [
        (
            {"search": {"simulatoins": 3}},
            "search: no setting of search named 'simulatoins'; did you mean",
        ),
        ({"settings": {"netwrok": "mlp"}}, "settings: no setting named 'netwrok'; did you mean 'network'?"),
        ({"settings": {"training.epochs": "many"}}, "settings: training.epochs: "),
        ({"presets": {"smok": {}}}, "no preset named 'smok'; did you mean 'smoke'?"),
        (
            {"presets": {"smoke": {"data": {"sample": 3}}}},
            "presets.smoke: no setting of data named 'sample'; did you mean",
        ),
        (
            {"presets": {"selfplay": {"own": {"game": 3, "generation": 2}}}},
            "presets.selfplay.own: no setting named 'gen",
        ),
    ],
)
def test_check_reads_what_is_registered_with_a_game(
    moemcts,  # type: ignore[no-untyped-def]
    monkeypatch: pytest.MonkeyPatch,
    registered: dict[str, Any],
    line: str,
) -> None:
    games = plugins().games
    monkeypatch.setitem(games, "tictactoe", replace(games["tictactoe"], **registered))
    code, out, error = moemcts("check", "tictactoe", "--games", "1")
    assert code == 1
    assert f"game tictactoe is registered with something that does not exist: {line}" in error
    assert "board tictactoe\n  ok  every player has a name" in out


def test_check_goes_on_with_what_does_not_play_a_game_that_breaks_a_law(  # type: ignore[no-untyped-def]
    moemcts, monkeypatch: pytest.MonkeyPatch
) -> None:
    games = plugins().games
    wrong = {"search": {"simulatoins": 3}}
    monkeypatch.setitem(games, "tictactoe", replace(games["tictactoe"], **wrong))
    monkeypatch.setattr(type(plugins().game("tictactoe")), "format_state", lambda *_: "nowhere")
    code, out, error = moemcts("check", "tictactoe", "--games", "1")
    assert code == 1
    assert "game tictactoe " in error
    assert "; game tictactoe is registered with something that does not exist: search: no setting" in error
    assert out.startswith("game tictactoe\ngate none\n  not checked: fix the game first\n")
    assert "ok" not in out


def test_check_says_that_a_gate_calls_itself_otherwise(  # type: ignore[no-untyped-def]
    moemcts, monkeypatch: pytest.MonkeyPatch
) -> None:
    gates = plugins().gates
    monkeypatch.setitem(gates, "cuts", replace(gates["plies"], name="cuts"))
    code, _, error = moemcts("check", "tictactoe", "--games", "1")
    assert code == 1
    assert "gate 'cuts' calls itself 'plies'; expected the name that it is registered under" in error


def test_samples_keep_their_folder(moemcts, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    save_team(tmp_path / "team")
    code, _, error = moemcts(
        "run", "--game", "tictactoe", "--gate", "plies", "--preset", "smoke", "--out", str(tmp_path / "team")
    )
    assert code
    assert "holds samples or experts" in error
    assert not (tmp_path / "team" / "config.toml").exists()


def test_check_looks_at_schemes_that_are_named(moemcts) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = moemcts("check", "tictactoe", "--games", "1", "--scheme", "staged", "--scheme", "mixture")
    assert code == 0
    first, second = out.partition("scheme staged\n")[2].split("scheme mixture\n")
    assert "ok  stages are the same whenever they are asked for (" in first
    assert second == "  ok  the cost is a number of passes above zero (1 case)\n"
    code, out, error = moemcts("check", "tictactoe", "--games", "1", "--scheme", "stagd")
    assert (code, out) == (2, "")
    assert "no scheme named 'stagd'; did you mean 'staged'?" in error


@pytest.mark.parametrize("command", ["run", "train", "selfplay"])
def test_a_device_that_there_is_not_is_told_before_a_run_begins(moemcts, command: str) -> None:  # type: ignore[no-untyped-def]
    words = ("--game", "tictactoe", "--preset", "smoke", "--set", "training.device=abacus", "--dry-run")
    code, _, error = moemcts(command, *words)
    assert (code, error) == (2, "error: expected a device such as cpu, cuda or cuda:1, got 'abacus'\n")


def test_games_that_end_before_the_plies_at_random_are_told_before_a_run_begins(moemcts) -> None:  # type: ignore[no-untyped-def]
    words = ("--game", "tictactoe", "--preset", "smoke", "--set", "match.random_plies=30", "--dry-run")
    code, _, error = moemcts("run", *words)
    assert (code, len(error.splitlines())) == (2, 1)
    assert "expected games of tictactoe that go on after 30 random plies" in error


@pytest.mark.parametrize("command", ["run", "train", "selfplay"])
def test_a_network_that_is_none_for_the_game_is_told_before_a_run_begins(  # type: ignore[no-untyped-def]
    moemcts, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    from torch import Tensor, nn

    class Column(nn.Module):
        """Forgets that values are `[N]`."""

        def __init__(self, observation_shape: Sequence[int], num_actions: int) -> None:
            super().__init__()
            self.policy = nn.Linear(math.prod(observation_shape), num_actions)
            self.value = nn.Linear(math.prod(observation_shape), 1)

        def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
            return self.policy(planes.flatten(1)), self.value(planes.flatten(1)).tanh()

    monkeypatch.setitem(plugins().networks, "column", Registration("column", Column, "values in a column"))
    code, _, error = moemcts(command, "--game", "tictactoe", "--network", "column", "--preset", "smoke", "--dry-run")
    line = "error: network Column is invalid: expected value [2] or [2, 2] for observations [2, 2, 3, 3] of tictactoe"
    assert (code, error) == (1, f"{line}, got [2, 1]\n")

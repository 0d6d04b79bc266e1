"""Benchmarks that nobody watches while they run measure what they say, and go on where they stopped."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest

from moemcts.game import Game
from moemcts.gates import SinglePhase
from moemcts.learn.checkpoint import save_experts
from moemcts.plugins import plugins

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
sys.path.insert(0, str(Path(__file__).parent / "games" / "chess"))


@pytest.fixture(scope="module")
def game() -> Game:
    return plugins().game("tictactoe")


@pytest.fixture(scope="module")
def experts(game: Game, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("experts")
    network = plugins().complete_network("mlp?width=8&layers=1", game)
    save_experts(
        folder,
        [plugins().network(network, game.spec.observation_shape, game.spec.num_actions)],
        game=game,
        game_reference="tictactoe",
        gate=SinglePhase(),
        gate_reference="none",
        network_reference=network,
        scheme="single",
        seed=0,
    )
    return folder


def test_the_arms_of_an_ablation_hear_what_they_say(game: Game, experts: Path) -> None:
    from ablations import Ablation

    ablation = Ablation(game, experts, simulations=8)
    views = game.views([(game.initial_state(), 0)])
    both, policy, value, constant = (
        ablation.evaluator(part).evaluate(views) for part in ("both", "policy", "value", "constant")
    )
    assert both.logits.any()
    assert both.value.any()
    assert np.array_equal(policy.logits, both.logits)
    assert not policy.value.any()
    assert np.array_equal(value.value, both.value)
    assert not constant.logits.any()
    assert ablation.agent("value").config.uniform_share == 1
    assert ablation.agent("both?uniform_share=0.5&c_init=1.25").config.c_init == 1.25
    with pytest.raises(SystemExit, match="expected an arm that begins with both"):
        ablation.agent("nobody")


def test_an_ablation_is_paired_and_goes_on(game: Game, experts: Path, tmp_path: Path) -> None:
    from ablations import Ablation

    ablation = Ablation(game, experts, simulations=8, seed=3)
    games = {arm: ablation.play(arm, 4, tmp_path) for arm in ("both", "value")}
    assert len(list(tmp_path.iterdir())) == 2
    longer = ablation.play("both", 8, tmp_path)
    assert [record.moves for record in longer[:4]] == [record.moves for record in games["both"]]
    result = ablation.result(games)
    assert ablation.row(result, "both", "tiny")["difference"] is None
    row = ablation.row(result, "value", "tiny")
    wins = [sum(record.outcome == "win" for record in games[arm]) / 4 for arm in ("value", "both")]
    assert row["value"] == wins[0]
    assert row["difference"]["wins"] == wins[0] - wins[1]
    assert (row["games"], row["simulations"], row["seed"]) == (4, 8, 3)


def test_a_match_against_a_field_is_a_row_per_agent_and_one_of_all(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    import field_match

    options = ["--game", "tictactoe", "--against", "random", "--games", "4", "--out", str(tmp_path / "games.jsonl")]
    options += ["--agent", "uct?simulations=30", "--agent", "random?seed=1", "--seed", "5"]
    monkeypatch.setattr(sys, "argv", ["field_match.py", "mine", "--label", "a", "--together", "--", *options])
    with pytest.raises(SystemExit, match="expected a --label for each of 2 agents, got 1"):
        field_match.main()
    assert not list(tmp_path.iterdir())
    sys.argv[2:2] = ["--label", "b"]
    with pytest.raises(SystemExit) as refused:
        field_match.main()
    assert refused.value.code == 2
    assert "no option of agent 'random' named 'seed'; there is none" in capfd.readouterr().err
    sys.argv[sys.argv.index("random?seed=1")] = "random"
    field_match.main()
    names = [line.partition(" ")[0:3:2] for line in capfd.readouterr().out.splitlines()]
    assert [name for name, _ in names] == ["mine:"] * 3
    assert [rest.split()[0] for _, rest in names] == ["b", "a", "all"]


def test_a_match_of_two_is_a_row(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    import duel_match

    options = ["--game", "tictactoe", "--games", "20", "--seed", "5", "--out", str(tmp_path / "games.jsonl")]
    agents = ["--agent", "uct?simulations=30", "--agent", "random"]
    monkeypatch.setattr(sys, "argv", ["duel_match.py", "mine", "--", *options, *agents[:2]])
    with pytest.raises(SystemExit, match="expected two agents that play each other, got 1"):
        duel_match.main()
    sys.argv += agents[2:]
    duel_match.main()
    assert capfd.readouterr().out.startswith("mine ")
    won = {"wins": 9, "ties": 1, "losses": 0, "num_games": 10}
    for elo, value, interval in (
        ({"difference": 338.04, "error": None, "low": 144.67, "high": None}, None, [144.7, None]),
        ({"difference": 338.04, "error": 50.0, "low": 288.04, "high": 388.04}, 338.0, [288.0, 388.0]),
    ):
        told = {"agents": [{**won, "pentanomial_elo": elo}], "num_duplicates": 0, "seed": 5}
        row = duel_match.read("mine", told)
        assert (row["value"], row["interval"], row["counts"], row["games"]) == (value, interval, [9, 1, 0], 10)


def test_a_row_of_all_agents_counts_all_games() -> None:
    from field_match import together

    rows = [{"counts": counts, "value": 25.0 * counts[0], "seed": 5} for counts in ([3, 0, 1], [1, 1, 2])]
    found = together("mine", rows)
    assert found["name"] == "mine: all 2 together"
    assert (found["value"], found["counts"], found["games"]) == (50.0, [4, 1, 3], 8)
    assert found["by agent"] == [75.0, 25.0]


def test_the_command_of_a_run_says_what_was_changed_since_it_was_begun() -> None:
    from strength import command_of

    text = "moemcts run --game tictactoe --gate 'plies?cuts=4' --preset smoke --network 'mlp?width=8&layers=1' --seed 3"
    begun = shlex.split(text)[1:]
    dry = subprocess.run(["moemcts", *begun, "--dry-run", "--json"], capture_output=True, text=True, check=True)
    config = json.loads(dry.stdout)["config"]
    assert command_of(begun, config) == text
    config["num_seeds"], config["match"]["games"] = 7, 300
    command = command_of([*begun, "--out", "folder"], config)
    assert command == f"{text} --set num_seeds=7 --set match.games=300"
    fewer = ["--set", "num_seeds=1", "--out", "folder"]
    assert command_of([*begun, *fewer], config) == command
    again = subprocess.run([*shlex.split(command), "--dry-run", "--json"], capture_output=True, text=True, check=True)
    assert json.loads(again.stdout)["config"] == config


def test_the_plan_for_a_gpu_runs_dry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import gpu_plan
    from chess_oracle import random_pgn

    from moemcts.cli import main as cli

    games, out = tmp_path / "games", tmp_path / "out"
    games.mkdir()
    (games / "train.pgn").write_text(random_pgn(24))

    # In processes of their own the commands would take half a minute to start.
    def here(*words: str) -> None:
        monkeypatch.setattr(sys, "argv", ["moemcts", *words])
        status: object = 0
        try:
            cli.main()
        except SystemExit as ended:
            status = ended.code
        assert not status

    monkeypatch.setattr(gpu_plan, "run", here)
    # Games at random do not come to an endgame.
    monkeypatch.setattr(gpu_plan, "GATE", "plies?cuts=15,30")
    monkeypatch.setattr(gpu_plan, "SPLIT", ("--validation", "2012-09", "--test", "2012-05"))
    plan = gpu_plan.Plan(games, out, gpu_plan.Scale.of("cpu", is_dry=True), 0.0)
    for piece in ("import", "resnet-single", "resnet-separated", "speed"):
        plan.do(piece)
    seen = [json.loads((out / f"{piece}.json").read_text()) for piece in ("resnet-single", "speed")]
    assert seen[0][0]["timings"][0]["positions_per_second"] > 0
    names = [row["name"] for row in seen[1]]
    whats = ("inference, batch 1", "inference, batch 8", "self-play", "self-play, 2 groups in flight")
    alone = [f"gpu plan, resnet{precision}, {what}" for precision in ("", ", bf16") for what in whats]
    routed = [f"gpu plan, resnet, bf16, {name}, batch {batch}" for batch in (1, 8) for name in ("each", "stacked")]
    assert names == alone + routed
    assert all(row["share_of_inference"] > 0 for row in seen[1] if "self-play" in row["name"])
    epochs = [gpu_plan.epochs_of(out / f"resnet-{scheme}") for scheme in ("single", "separated")]
    assert epochs[0] == epochs[1] > 0
    with tarfile.open(out / "parcels" / "resnet-separated.tar.gz.00") as parcel:
        inside = parcel.getnames()
    assert {"resnet-separated/rows.json", "resnet-separated/experts/manifest.toml"} <= set(inside)
    assert not any("/stages/" in name for name in inside)
    before = (out / "resnet-single" / "experts" / "manifest.toml").read_bytes()
    plan.do("resnet-single")
    assert (out / "resnet-single" / "experts" / "manifest.toml").read_bytes() == before


@pytest.mark.skipif(os.name == "nt", reason="a script for bash")
def test_the_plan_for_a_gpu_fits_forty_minutes_and_says_how_it_is_called(tmp_path: Path) -> None:
    import gpu_plan

    assert sum(gpu_plan.MINUTES.values()) + 7 <= 40
    assert max(gpu_plan.MINUTES.values()) < 10
    script = str(BENCHMARKS / "gpu_plan.sh")
    done = subprocess.run([script, "only one"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "benchmarks/gpu_plan.sh GAMES OUT" in done.stderr
    # What it would call, without calling it.
    fake = tmp_path / "python"
    fake.write_text('#!/bin/sh\ncase "$*" in *--list) echo one; echo two;; *) echo "$@";; esac\n')
    fake.chmod(0o755)
    environment = os.environ | {"PYTHON": str(fake)}
    done = subprocess.run(
        [script, "--dry-run", "GAMES", "OUT"], capture_output=True, text=True, check=True, env=environment
    )
    plan = BENCHMARKS / "gpu_plan.py"
    assert done.stdout.splitlines() == [f"{plan} GAMES OUT --piece {piece} --dry-run" for piece in ("one", "two")]

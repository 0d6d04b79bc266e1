"""`moemcts explain` for games of one's own, chess and Pommerman."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from games_for_tests import Heaps
from trained_for_tests import shipped

from moemcts.hookspecs import Registration
from moemcts.learn.checkpoint import save_experts
from moemcts.learn.data.generation import generate
from moemcts.plugins import plugins
from moemcts.runs.explanation import file_names

GATES = {"heap": "plies?cuts=2,4", "tictactoe": "plies", "chess": "lichess", "pommerman": "steps"}


# Leaky units: four channels with random weights may all be dead otherwise.
NETWORK = "rise?channels=8&expanded=16&blocks=1"


def make_team(folder: Path, name: str, *, same: bool = False, reference: str = NETWORK, **changes: Any) -> Path:
    """Saves three random networks, or thrice the same one, as the experts of a game."""
    game = plugins().game(name)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        spec = game.spec
        networks = [plugins().network(reference, spec.observation_shape, spec.num_actions) for _ in range(3)]
    if same:
        networks = networks[:1] * 3
    gate = GATES[name]
    return save_experts(
        folder,
        networks,
        game=game,
        game_reference=name,
        gate=plugins().gate(gate, game),
        gate_reference=gate,
        network_reference=reference,
        scheme="separated",
        seed=0,
        **changes,
    )


def make_data(folder: Path, name: str, num_samples: int) -> Path:
    game = plugins().game(name)
    agents = [plugins().agent("random", game)] * game.spec.num_players
    generate(game, agents, num_samples, seed=1, out=folder, reference=name)
    return folder


def test_observations_without_a_board_are_explained_number_by_number(  # type: ignore[no-untyped-def]
    moemcts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(plugins().games, "heap", Registration("heap", Heaps, "observed as a vector"))
    team, data = make_team(tmp_path / "team", "heap", reference="mlp?width=8"), make_data(tmp_path / "data", "heap", 40)
    options = ("--position", Heaps().format_state(Heaps().initial_state()), "--data", data, "--baseline", "mean")
    code, out, error = moemcts("explain", "--game", "heap", "--experts", team, *options, "--out", tmp_path / "why")
    assert code == 0, error
    (size,) = Heaps.spec.observation_shape
    (expert, *_) = json.loads((tmp_path / "why" / "position.json").read_text())["experts"]
    assert list(expert["policy"]["planes"]) == [f"plane {i}" for i in range(size)]
    assert "plane 9 " in out


def test_a_device_that_is_not_there_is_one_line(moemcts, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    team = make_team(tmp_path / "team", "tictactoe")
    command = ["explain", "--game", "tictactoe", "--experts", team, "--position", ".........", "--out", "why"]
    code, _, errors = moemcts(*command, "--device", "cuda:7")
    assert code == 2
    assert "no GPU for device 'cuda:7'" in errors


def test_averages_and_a_position_are_explained(moemcts, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    team, data = make_team(tmp_path / "team", "tictactoe"), make_data(tmp_path / "data", "tictactoe", 300)
    command = ["explain", "--game", "tictactoe", "--experts", team, "--data", data, "--position", "X.O......"]
    code, out, err = moemcts(*command, "--positions", 8, "--steps", 16, "--out", "why", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert len(found["averages"]) == 3 * 3 * 2
    for row in found["averages"]:
        assert row["positions"] == 8
        assert set(row["mean"]) == set(row["magnitude"]) == {"own marks", "opponent's marks"}
        assert all(row["magnitude"][name] >= abs(row["mean"][name]) - 2e-6 for name in row["mean"])
        assert row["relative gap"] < 0.2
    for expert in found["position"]["experts"]:
        for answer in ("policy", "value"):
            one = expert[answer]
            cells = np.array(one["cells"])
            assert cells.shape == (3, 3)
            # Empty cells are zeros as in the baseline: nothing comes from them.
            assert set(zip(*np.nonzero(cells), strict=True)) <= {(0, 0), (0, 2)}
            assert sum(one["planes"].values()) == pytest.approx(cells.sum(), abs=1e-5)
            assert cells.sum() == pytest.approx(one["answer"] - one["baseline"], abs=one["gap"] + 1e-5)
    assert [expert["weight"] for expert in found["position"]["experts"]] == [1, 0, 0]
    files = {path.name for path in (tmp_path / "why").iterdir()}
    figures = {f"planes-phase-{i}.png" for i in range(3)} | {f"position-planes-phase-{i}.png" for i in range(3)}
    assert files == figures | {"planes.png", "cells.png", "position-cells.png", "averages.json", "position.json"}
    assert all((tmp_path / "why" / name).stat().st_size > 5000 for name in figures)
    code, out, _ = moemcts(*command, "--positions", 8, "--steps", 16, "--out", "again", "--baseline", "mean")
    assert code == 0
    assert "own marks" in out
    assert (tmp_path / "again" / "averages.json").read_text() != (tmp_path / "why" / "averages.json").read_text()


def test_one_network_of_all_phases_is_told_once(moemcts, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    team, data = make_team(tmp_path / "team", "tictactoe", same=True), make_data(tmp_path / "data", "tictactoe", 300)
    command = ["explain", "--game", "tictactoe", "--experts", team, "--data", data, "--position", "X.O......"]
    code, out, err = moemcts(*command, "--positions", 4, "--steps", 4, "--out", "why", "--json")
    assert code == 0, err
    found = json.loads(out)
    phases = [f"phase {number}" for number in range(3)]
    asked = [(row["expert"], row["phase"]) for row in found["averages"] if row["answer"] == "value"]
    assert asked == list(zip(phases, phases, strict=True))
    assert [(one["expert"], one["weight"]) for one in found["position"]["experts"]] == [(", ".join(phases), 1)]


def test_a_folder_of_other_things_is_left_alone(moemcts, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "why").mkdir()
    (tmp_path / "why" / "planes.png").write_text("mine")
    command = ["explain", "--game", "tictactoe", "--experts", "team", "--position", ".........", "--out", "why"]
    code, _, errors = moemcts(*command)
    assert code == 2
    assert "but why holds other things, such as planes.png" in errors
    assert (tmp_path / "why" / "planes.png").read_text() == "mine"


def test_phases_have_files_of_their_own() -> None:
    assert file_names(["late game", "early"]) == ["late-game", "early"]
    for phases in (["a b", "a-b"], ["End", "end"], ["1-a", "a", "a"]):
        labels = {label.casefold() for label in file_names(phases)}
        assert len(labels) == len(phases)


def test_experts_are_named_as_elsewhere(moemcts, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    make_team(tmp_path / "training" / "experts", "tictactoe")
    command = ["explain", "--game", "tictactoe", "--position", ".........", "--steps", 2, "--json"]
    with shipped(tmp_path / "training" / "experts"):
        outputs = [moemcts(*command, "--experts", name, "--out", "why") for name in ("training", "weights:noughts")]
    assert [code for code, _, _ in outputs] == [0, 0]
    first, second = (json.loads(out)["position"] for _, out, _ in outputs)
    assert first == second


def test_a_chess_position_is_explained_square_by_square(moemcts, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    team = make_team(tmp_path / "team", "chess")
    fen = "8/8/4b1p1/2Bp3p/5P1P/1pK1Pk2/8/8 b - - 0 56"
    code, out, err = moemcts(
        "explain", "--game", "chess", "--experts", team, "--position", fen, "--steps", 8, "--out", "why", "--json"
    )
    assert code == 0, err
    found = json.loads(out)["position"]
    assert found["player"] == 1
    assert [expert["weight"] for expert in found["experts"]] == [0, 0, 1]
    planes = found["experts"][2]["policy"]["planes"]
    assert len(planes) == 52
    # There are no knights to come from; there are pawns.
    assert planes["own knights"] == 0
    assert planes["own pawns"] != 0


def test_pommerman_is_explained_too(moemcts, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    team, data = make_team(tmp_path / "team", "pommerman"), make_data(tmp_path / "data", "pommerman", 400)
    command = ["explain", "--game", "pommerman", "--experts", team, "--data", data, "--out", "why"]
    code, out, err = moemcts(*command, "--positions", 4, "--steps", 8, "--json")
    assert code == 0, err
    rows = json.loads(out)["averages"]
    assert {row["expert"] for row in rows} == {"opening", "middlegame", "endgame"}
    # Random agents die early: phases that never come are left out.
    assert {row["phase"] for row in rows} == {"opening"}
    assert rows[0]["magnitude"]["wood"] > 0


def test_the_twenty_bishops(moemcts, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    teams = [make_team(tmp_path / name, "chess") for name in ("a", "b")]
    code, out, err = moemcts("bishops", "--experts", teams[0], "--experts", teams[1], "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found[str(teams[0])]["rows"] == found[str(teams[1])]["rows"]
    rows = found[str(teams[0])]["rows"]
    assert [row["truth"] for row in rows].count("draw") == 15
    assert {row["phase"] for row in rows} == {"endgame"}
    draws = [abs(row["value"]) for row in rows if row["truth"] == "draw"]
    assert found[str(teams[0])]["draws"] == pytest.approx(np.mean(draws))
    code, out, err = moemcts("bishops", "--experts", teams[0])
    assert code == 0, err
    assert "paper, 39 planes: mean |value| of draws 0.4472, towards the winner in wins 0.5192" in out


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        ("explain --game tictactoe --experts TEAM --out o", 2, "expected --data, --position or both"),
        ("explain --game tictactoe --experts TEAM --position XXO --out o", 2, "expected nine of '.XO', got 'XXO'"),
        ("explain --game tictactoe --experts TEAM --position XXX.OO... --out o", 2, "in 'XXX.OO...' the game is over"),
        (
            "explain --game tictactoe --experts TEAM --position ......... --player 1 --out o",
            2,
            "in which player 1 moves",
        ),
        ("explain --game tictactoe --experts TEAM --position ......... --baseline no --out o", 2, "one of zero, mean"),
        ("explain --game tictactoe --experts TEAM --position ......... --baseline mean --out o", 2, "expected --data"),
        ("explain --game chess --experts TEAM --position startpos --out o", 2, "was made for tictactoe"),
        (
            "explain --game tictactoe --experts none --position ......... --out o",
            2,
            "expected a folder of experts, got none; there is no such folder",
        ),
        (
            "explain --game tictactoe --experts TEAM?simulations=3 --position ......... --out o",
            2,
            "without options, got",
        ),
        ("explain --game tictactoe --experts TEAM --data DATA --position XX --out o", 2, "expected nine of '.XO'"),
        (
            "explain --game tictactoe --experts TEAM --data DATA --device cuda:7 --out o",
            2,
            "no GPU for device 'cuda:7'",
        ),
        ("explain --game tictactoe --experts TEAM --data DATA --player 0 --out o", 2, "--player has no effect without"),
        (
            "explain --game tictactoe --experts TEAM --position X........ --positions 5 --out o",
            2,
            "--positions has no effect without --data",
        ),
        (
            "explain --game tictactoe --experts TEAM --position X........ --seed 0 --out o",
            2,
            "--seed has no effect without --data",
        ),
        ("explain --game tictactoe --experts TEAM --data DATA --out file", 2, "but file is a file; give another --out"),
        ("bishops --experts TEAM --game antichess", 2, "expected chess or chess960"),
    ],
)
def test_mistakes_get_one_line(moemcts, tmp_path: Path, arguments: str, code: int, line: str) -> None:  # type: ignore[no-untyped-def]
    team, data = make_team(tmp_path / "team", "tictactoe"), make_data(tmp_path / "data", "tictactoe", 60)
    (tmp_path / "file").write_text("mine")
    left, _, error = moemcts(*arguments.replace("TEAM", str(team)).replace("DATA", str(data)).split())
    assert left == code
    assert line in error
    assert len(error.splitlines()) == 1
    assert not (tmp_path / "o").exists()


def test_no_more_steps_are_taken_than_memory_has_room_for(moemcts, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    left, _, error = moemcts(*f"explain --game tictactoe --experts {tmp_path} --steps 1001 --out o".split())
    assert left == 2
    assert "--steps" in error
    assert "1000" in error

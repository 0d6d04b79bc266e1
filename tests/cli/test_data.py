"""Datasets from the command line, for every game."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from games_for_tests import Savings

from moemcts.agents import Decision, RandomAgent, Seat
from moemcts.cli.data import _describe, _statistics
from moemcts.game import Views
from moemcts.learn.data.dataset import Dataset
from moemcts.learn.data.generation import generate as play_games
from moemcts.plugins import plugins


def test_generated_data_is_counted(moemcts, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    generate = ["data", "generate", "--game", "tictactoe", "--samples", 200, "--seed", 3, "--out", "made"]
    code, out, _ = moemcts(*generate, "--agent", "uct?simulations=30", "--agent", "random")
    assert (code, out) == (0, "made\n")
    code, out, _ = moemcts("data", "stats", "--data", "made", "--gate", "plies", "--gate", "none", "--json")
    assert code == 0
    found = json.loads(out)["training"]
    assert found["num_samples"] == 200
    assert 5 <= found["lengths"]["shortest"] <= found["lengths"]["mean"] <= found["lengths"]["longest"] <= 9
    first, second = found["results"]
    assert first["won"] == second["lost"] > first["lost"]
    assert sum(first[key] for key in ("won", "tied", "lost")) == pytest.approx(1)
    # Every second decision is of the agent that searches; every game has the same start.
    assert 0.4 < found["searched"] < 0.6
    assert found["repeated"] > 0.05
    assert [len(gate["phases"]) for gate in found["gates"].values()] == [3, 1]
    code, out, _ = moemcts("data", "stats", "--data", "made", "--gate", "plies")
    assert out.startswith("200 samples of ")
    assert "phase of plies" in out


def test_a_player_alone_wins_nothing(tmp_path: Path) -> None:
    game = Savings()
    play_games(game, [RandomAgent()], 80, seed=0, out=tmp_path / "made")
    numbers = _statistics(Dataset.open(tmp_path / "made", game), game, [])
    (found,) = numbers["results"]
    assert found.keys() == {"lowest", "mean", "highest"}
    # Each of four steps pays from 1 to 4 in the game's own score.
    assert 4 <= 20 * found["lowest"] < 20 * found["mean"] < 20 * found["highest"] <= 16
    told = _describe("training", numbers, False, game.spec.score_unit)
    assert "won" not in told
    assert f"{20 * found['mean']:.2f}" in told


def test_one_sample_of_one_game_is_written_as_one(tmp_path: Path) -> None:
    game = Savings()
    play_games(game, [RandomAgent()], 1, seed=0, out=tmp_path / "made")
    numbers = _statistics(Dataset.open(tmp_path / "made", game), game, [])
    assert _describe("training", numbers, False, game.spec.score_unit).startswith("1 sample of 1 game of ")


def test_datasets_are_joined(moemcts, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    for seed in (1, 2):
        generate = ["data", "generate", "--game", "tictactoe", "--samples", 40, "--seed", seed, "--out", f"made{seed}"]
        assert moemcts(*generate)[0] == 0
    join = ["data", "join", "--data", "made1", "--data", "made2", "--out", "all", "--json"]
    code, out, _ = moemcts(*join)
    assert (code, json.loads(out)) == (0, {"data": "all", "samples": 80})
    assert moemcts(*join) == (code, out, "")
    code, out, _ = moemcts("data", "stats", "--data", "all", "--json")
    assert json.loads(out)["training"]["num_samples"] == 80
    code, _, err = moemcts("data", "join", "--data", "made1", "--data", "made2", "--data", "made1", "--out", "twice")
    assert code != 0
    assert "got the same ones in made1 and made1" in err


def test_the_same_command_goes_on_and_another_one_is_refused(moemcts, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    generate = ["data", "generate", "--game", "tictactoe", "--samples", 50, "--out", "made"]
    assert moemcts(*generate)[0] == 0
    assert moemcts(*generate)[0] == 0
    code, _, err = moemcts(*generate, "--seed", 1)
    assert code == 2
    assert "was begun with source.seed 0, not 1" in err


def test_what_was_interrupted_ends_with_fewer_samples(moemcts, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    generate = ["data", "generate", "--game", "tictactoe", "--agent", "random", "--out", "made"]
    with pytest.raises(KeyboardInterrupt):
        play_games(plugins().game("tictactoe"), [Fleeting()] * 2, 100_000, seed=0, out=tmp_path / "made")
    code, _, err = moemcts("data", "stats", "--data", "made")
    assert code == 1
    assert "generate it again with the same settings to complete it, or with another number of samples" in err
    code, _, err = moemcts(*generate, "--samples", 1)
    assert code == 2
    least = int(err.partition("expected at least ")[2].split()[0])
    assert moemcts(*generate, "--samples", least)[0] == 0
    assert f"{least} samples" in moemcts("data", "stats", "--data", "made")[1]


class Fleeting(RandomAgent):
    """Is interrupted when it has played a hundred games or so."""

    def __init__(self) -> None:
        self._num_calls = 0

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        self._num_calls += 1
        if self._num_calls > 20:
            raise KeyboardInterrupt
        return super().act(views, seats)


def test_random_plies_make_games_of_a_fixed_agent_differ(moemcts, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    generate = ["data", "generate", "--game", "tictactoe", "--agent", "uct?simulations=20", "--samples", 60]
    assert moemcts(*generate, "--random-plies", 3, "--out", "made")[0] == 0
    game = plugins().game("tictactoe")
    data = Dataset.open(tmp_path / "made", game)
    assert len(data) == 60


def test_one_agent_against_others_is_learned_from_alone(moemcts, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    generate = ["data", "generate", "--game", "tictactoe", "--agent", "uct?simulations=30", "--against", "random"]
    assert moemcts(*generate, "--samples", 100, "--out", "made")[0] == 0
    code, out, _ = moemcts("data", "stats", "--data", "made", "--json")
    assert code == 0
    # Nothing that was decided at random was written.
    assert json.loads(out)["training"]["searched"] == 1


def test_a_folder_with_samples_below_it_names_them(moemcts, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    made = ("data", "generate", "--game", "tictactoe", "--samples", "20", "--out", "run/data")
    assert moemcts(*made)[0] == 0
    found, _, err = moemcts("data", "stats", "--data", "run")
    assert (found, err) == (2, "error: expected a dataset in run, found none; did you mean run/data?\n")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("generate", "--game", "tictacto", "--out", "made"), 2, "no game named 'tictacto'; did you mean 'tictactoe'?"),
        (("generate", "--game", "tictactoe", "--out", "made", "--keep", "0"), 2, "expected a share to keep above 0"),
        (
            ("generate", "--game", "tictactoe", "--out", "made", *("--agent", "random") * 3),
            2,
            "expected --agent once, or once for each of 2 seats, got it 3 times",
        ),
        (
            ("generate", "--game", "tictactoe", "--out", "made", *("--agent", "random") * 2, "--against", "random"),
            2,
            "expected --agent once with --against, got it 2 times",
        ),
        (("stats", "--data", "nowhere"), 2, "expected a dataset in nowhere, found none: there is no such folder"),
        (("stats", "--data", "nowhere", "--game", "tictactoe"), 2, "expected a dataset in nowhere, found none"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(  # type: ignore[no-untyped-def]
    moemcts, arguments: tuple[str, ...], code: int, message: str, tmp_path: Path
) -> None:
    found, _, err = moemcts("data", *arguments)
    assert found == code
    assert message in err
    assert not list(tmp_path.iterdir())

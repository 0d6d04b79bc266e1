"""Presets say what fits a game, data that are given are honoured, and estimates know what a training costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from moemcts.cli.settings import RunArguments, read_settings
from moemcts.errors import MoemctsError, UsageError
from moemcts.learn.data.generation import generate
from moemcts.plugins import plugins
from moemcts.runs import Experiment, ExperimentConfig
from moemcts.runs.experiment.estimate import estimate
from moemcts.runs.learning import play_games
from moemcts.runs.learning_cost import learning_cost
from moemcts.runs.presets import preset_names
from moemcts.runs.selfplay.run import SelfPlay
from moemcts.runs.selfplay.settings import SelfPlayConfig, load_preset
from moemcts.runs.selfplay.settings import preset_names as selfplay_presets
from moemcts.runs.settings import DataConfig, validate
from moemcts.runs.sources import open_sources
from moemcts_chess.plugin import VARIANTS

GAMES = """[Event "A"]
[Result "{}"]

1. f3 e5 2. g4 Qh4# {}

"""


def settings(preset: str, game: str = "chess", **options: Any) -> ExperimentConfig:
    return read_settings(RunArguments(options={"game": game, **options}, preset=preset), ExperimentConfig)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    game, out = plugins().game("tictactoe"), tmp_path_factory.mktemp("data") / "games"
    generate(game, [plugins().agent("random", game)] * 2, 600, seed=0, out=out, reference="tictactoe")
    return out


@pytest.mark.parametrize("preset", preset_names())
def test_every_preset_of_every_game_is_a_valid_experiment(preset: str) -> None:
    for name in plugins().games:
        if name.endswith(":"):
            continue
        given = {"data.folder": "games"} if plugins().game_preset(name, preset).get("needs") else {}
        assert settings(preset, name, **given).summary


def test_the_tutorial_says_how_large_smoke_is_in_every_game() -> None:
    page = " ".join((Path(__file__).parents[2] / "docs" / "tutorials" / "first-run.md").read_text().split())
    assert "| samples to learn from | 20,000 |" in page
    assert "| games per arm and seed | 8 |" in page
    assert "the chess family has 8,000 samples and 4 games, `tic-tac-toe` 4,000 and 40, other board games 8,000" in page
    expected = {"tic-tac-toe": (4_000, 40), "tictactoe": (20_000, 8)}
    expected |= {name: (20_000, 8) for name in plugins().games if name.startswith("pommerman")}
    expected |= dict.fromkeys(VARIANTS, (8000, 4))
    for name in plugins().games:
        if not name.endswith(":"):
            found = settings("smoke", name)
            assert (found.data.samples, found.match.games) == expected.get(name, (8_000, 20)), name


def test_a_preset_that_needs_games_is_refused_without_them(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"preset paper of chess expects data\.folder or data\.games: .* --data"):
        settings("paper")
    config = settings("paper", **{"data.games": str(tmp_path / "x.pgn")})
    assert (config.training.optimiser, config.training.batch_size, config.training.epochs) == ("nag", 2048, 7)
    assert "validation=2012-09" in config.data.reader
    assert settings("paper", "antichess", **{"data.folder": "x"}).resolved_settings()["data"].get("reader") is None


def test_a_file_of_games_is_imported_by_its_reader(tmp_path: Path) -> None:
    file = tmp_path / "games.pgn"
    file.write_text("".join(GAMES.format("0-1", "0-1") for _ in range(40)))
    config = settings("smoke", **{"data.games": str(file), "data.reader": "pgn?validation=0.3&test=0.3"})
    run = Experiment.create(tmp_path / "run", config)
    assert "data.games" in run.parts()[0].decided_by
    run.do("data", lambda done, total: None)
    sources = run.sources()
    assert sources.validation is not None
    assert sources.test is not None
    assert len(sources.training) + len(sources.validation) + len(sources.test) == 160
    run.do("data", lambda done, total: None)
    assert Experiment.load(tmp_path / "run").config_text() == run.config_text()


def test_games_that_were_imported_are_counted_where_their_file_is_gone(tmp_path: Path) -> None:
    file = tmp_path / "games.pgn"
    file.write_text("".join(GAMES.format("0-1", "0-1") for _ in range(40)))
    options: dict[str, Any] = {
        "data.games": str(file),
        "network": "resnet?channels=4&blocks=1",
        "num_seeds": 1,
        "gates": ["none"],
    }
    run = Experiment.create(tmp_path / "run", settings("smoke", **options))
    run.do("data", lambda done, total: None)
    file.unlink()
    assert estimate(Experiment.load(tmp_path / "run")).num_bytes > 0
    run.do("data", lambda done, total: None)
    with pytest.raises(MoemctsError, match="expected a file of games at"):
        estimate(Experiment.prepare(tmp_path / "new", settings("smoke", **options)))


def test_samples_of_a_dataset_are_whole_games_drawn_at_random(dataset: Path) -> None:
    game = plugins().game("tictactoe")
    whole = open_sources(DataConfig(folder=str(dataset)), dataset, game).training
    half, quarter = (
        open_sources(DataConfig(folder=str(dataset), samples=n), dataset, game).training for n in (300, 150)
    )
    assert len(whole) == 600
    assert 300 <= len(half) < 310
    assert {*half.games()} >= {*quarter.games()}
    for name in set(half.games()):
        assert (half.games() == name).sum() == (whole.games() == name).sum()
    assert len({whole.id, half.id, quarter.id}) == 3
    assert open_sources(DataConfig(folder=str(dataset), samples=900), dataset, game).training.id == whole.id


def test_a_preset_says_how_many_games_are_played_not_how_many_are_looked_at(dataset: Path) -> None:
    config = settings("smoke", "tictactoe", **{"data.folder": str(dataset)})
    assert config.data.samples is None
    assert "samples" not in config.resolved_settings()["data"]
    assert settings("smoke", "tictactoe").resolved_settings()["data"]["samples"] == 20000


@pytest.mark.parametrize(
    ("game", "preset", "expected"),
    [("chess", "laptop", "draw"), ("chess960", "smoke", "draw"), ("antichess", "laptop", "loss")],
)
def test_games_say_what_untried_moves_are_worth(game: str, preset: str, expected: str) -> None:
    assert settings(preset, game).search.first_play_urgency == expected
    chosen = settings(preset, game, **{"search.first_play_urgency": "reduction"})
    assert chosen.search.first_play_urgency == "reduction"


@pytest.mark.parametrize(("preset", "expected"), [("m2cts", "loss"), ("values", "loss"), ("laptop", "parent")])
def test_presets_come_before_what_games_say(preset: str, expected: str) -> None:
    given = RunArguments(options={"game": "chess"}, preset=preset)
    assert read_settings(given, SelfPlayConfig, load_preset).search.first_play_urgency == expected


def test_self_play_can_begin_with_every_preset(tmp_path: Path) -> None:
    begun = []
    for game in (name for name in plugins().games if not name.endswith(":")):
        for preset in selfplay_presets(game):
            if (values := load_preset(game, preset)) in begun:
                continue
            # A backend that is named need not be measured.
            given = RunArguments(options={"game": game, "games.backend": "torch"}, preset=preset)
            SelfPlay.prepare(tmp_path / "run", read_settings(given, SelfPlayConfig, load_preset))
            begun.append(values)
    assert begun


def test_games_may_begin_at_random(tmp_path: Path) -> None:
    game = plugins().game("chess")
    values = {"game": "chess", "data": {"samples": 100, "agent": "alpha-beta?depth=1", "random_plies": 6}}
    config = validate(values, ExperimentConfig)
    play_games(config, game, tmp_path / "data", lambda done, total: None)
    assert config.resolved_settings()["data"]["random_plies"] == 6
    assert "random_plies" not in validate({"game": "chess"}, ExperimentConfig).resolved_settings()["data"]


def test_the_cost_of_a_scheme_is_that_of_the_phases_there_are() -> None:
    game = plugins().game("tictactoe")
    state, states = game.initial_state(), []
    for action in (0, 1, 3, 4, 6):
        states.append(state)
        state = state.play([action])
    gate = plugins().gate("plies?cuts=1", game)
    cost = {
        name: learning_cost(plugins().scheme(name), gate, game, [states], 2.0)
        for name in ("separated", "staged", "single", "distance?half_life=0.1", "distance")
    }
    assert cost["separated"].passes == pytest.approx(2.0)
    assert cost["staged"].passes == pytest.approx(4.0)
    assert cost["single"].passes == pytest.approx(2.0)
    # One ply away counts 1/1024 with a half-life of a tenth: too little.
    assert cost["distance?half_life=0.1"].passes == pytest.approx(2.0)
    assert cost["distance"].passes == pytest.approx(4.0)
    assert [cost[name].measurements for name in ("separated", "staged", "single")] == [4, 8, 2]


def test_measurements_are_counted_by_their_interval() -> None:
    game = plugins().game("tictactoe")
    states, gate = [[game.initial_state(0)]], plugins().gate("none", game)
    single = plugins().scheme("single")
    assert learning_cost(single, gate, game, states, 2.0).measurements == 2
    assert learning_cost(single, gate, game, states, 2.0, interval=0.3).measurements == 7
    assert learning_cost(single, gate, game, states, 2.0, interval=5.0).measurements == 1

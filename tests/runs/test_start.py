"""Trainings that begin with a network that has learned already."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from runs_for_tests import SMALL, command, experiment
from trained_for_tests import save_team

from moemcts.errors import ForeignData, MoemctsError, UsageError
from moemcts.learn.checkpoint import load_networks
from moemcts.learn.weights import network_state, state_digest
from moemcts.plugins import plugins
from moemcts.runs import Experiment, Training, TrainingConfig
from moemcts.runs.experiment.growth import extend_experiment, save_extension
from moemcts.runs.finishing import finish
from moemcts.runs.settings import validate
from moemcts.store import read_toml, write_toml
from moemcts.work.progress import NoProgress

OTHER = "resnet?channels=8&blocks=1"


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with a single network."""
    return save_team(tmp_path_factory.mktemp("start") / "single", gate="none")


def first_weights(folder: Path) -> str:
    """Returns the digest of the weights that a training began with."""
    return str(json.loads((folder / "identity.json").read_text())["initial_weights"])


def digest_of(experts: Path) -> str:
    (network,) = load_networks(experts, plugins().game("tictactoe"), plugins()).networks
    return state_digest(network_state(network))


def test_every_training_of_a_run_begins_with_the_network(start: Path, tmp_path: Path) -> None:
    beginning = tmp_path / "single"
    shutil.copytree(start, beginning)
    run = experiment(tmp_path / "run", start=str(beginning), network=OTHER, gates=["plies"])
    assert run.config.network.startswith("resnet?channels=4&blocks=1")
    numbers = finish(run, NoProgress()).numbers
    trainings = [tmp_path / "run" / "training" / name for name in ("single-0", "plies-0")]
    assert {first_weights(folder) for folder in trainings} == {digest_of(start)}
    assert digest_of(tmp_path / "run" / "experts" / "single-0") != digest_of(start)
    with pytest.raises(UsageError, match=r"expected only the network of .*, got also resnet"):
        extend_experiment(Experiment.load(tmp_path / "run"), networks=[OTHER])
    # What is finished is there without what it began with.
    shutil.rmtree(beginning)
    assert finish(Experiment.load(tmp_path / "run"), NoProgress()).numbers == numbers


def test_a_training_goes_on_with_no_other_network_than_it_began_with(start: Path, tmp_path: Path) -> None:
    training = Training.create(tmp_path / "run", validate({**SMALL, "start": str(start)}, TrainingConfig))
    with training.locked():
        training.work(NoProgress())
    assert first_weights(tmp_path / "run" / "training") == digest_of(start)
    moved = save_team(tmp_path / "other", gate="none", seed=4)
    begun = Training.create(tmp_path / "begun", validate({**SMALL, "start": str(moved)}, TrainingConfig))
    shutil.copytree(tmp_path / "run" / "training", tmp_path / "begun" / "training")
    with pytest.raises(ForeignData, match="initial_weights"), begun.locked():
        begun.work(NoProgress())


def test_what_trainings_cannot_begin_with_is_said(start: Path, tmp_path: Path) -> None:
    team = save_team(tmp_path / "team")
    for changes, error, line in (
        ({"start": str(team)}, UsageError, "has experts of gate 'plies', not of 'none'; expected experts of"),
        (
            {"start": str(start), "schemes": ["mixture"]},
            UsageError,
            "'mixture' trains its gate together with its experts",
        ),
        ({"start": str(tmp_path / "nowhere")}, MoemctsError, "expected a folder of experts.*no such folder"),
        ({"start": str(start), "game": "connect-four"}, ForeignData, "tictactoe"),
        (
            {"start": str(start), "other_networks": [OTHER]},
            UsageError,
            "expected only the network of .*, got also r",
        ),
    ):
        with pytest.raises(error, match=line):
            experiment(tmp_path / "run", **changes)
        assert not (tmp_path / "run").exists()


def test_experts_go_on_each_from_itself(tmp_path: Path) -> None:
    team = save_team(tmp_path / "team")
    settings = {**SMALL, "gate": "plies?cuts=3,6", "start": str(team)}
    training = Training.create(tmp_path / "run", validate(settings, TrainingConfig))
    with training.locked():
        training.work(NoProgress())
    begun = json.loads((tmp_path / "run" / "training" / "identity.json").read_text())["initial_weights"]
    networks = load_networks(team, plugins().game("tictactoe"), plugins()).networks
    assert begun == [state_digest(network_state(network)) for network in networks]
    for scheme in ("general_first", "shared_stem", "single"):
        with pytest.raises(UsageError, match="expected one network to start all experts from"):
            Training.create(tmp_path / "other", validate({**settings, "scheme": scheme}, TrainingConfig))


def test_the_command_line_takes_it_in_place_of_a_network(
    start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--game", "tictactoe", "--preset", "smoke", "--start", start, "--out", tmp_path / "run"]
    for name in ("run", "train"):
        assert command(name, *words, "--network", OTHER, monkeypatch=monkeypatch) == 2
        assert "expected --start without --network: the network is that of " in capsys.readouterr().err
    assert command("run", *words, "--dry-run", monkeypatch=monkeypatch) == 0
    assert f'start = "{start}"' in capsys.readouterr().out
    assert command("run", *words, monkeypatch=monkeypatch) == 0
    assert command("run", "--resume", tmp_path / "run", "--start", start, monkeypatch=monkeypatch) == 2
    assert "a run goes on with the settings in its config.toml" in capsys.readouterr().err


def test_a_run_that_grows_begins_with_the_network_that_it_was_begun_with(start: Path, tmp_path: Path) -> None:
    beginning = Path(shutil.copytree(start, tmp_path / "single"))
    run = experiment(tmp_path / "run", start=str(beginning), gates=["plies"], match={"games": 2, "raw_games": 0})
    finish(run, NoProgress())
    shutil.rmtree(beginning)
    # Another one of the same name.
    save_team(beginning, gate="none", seed=4)
    larger = extend_experiment(Experiment.load(tmp_path / "run"), schemes=["staged"], changes={"num_seeds": 2})
    save_extension(larger)
    finish(larger, NoProgress())
    begun = {first_weights(folder) for folder in (tmp_path / "run" / "training").iterdir() if folder.is_dir()}
    assert begun == {digest_of(start)}


def test_a_start_that_has_learned_from_what_is_held_out_is_said_to(tmp_path: Path) -> None:
    first = Training.create(tmp_path / "first", validate(SMALL, TrainingConfig))
    finish(first, NoProgress())
    words = "learned from the same data with seed 0, not 1: other games were held out from it"
    given = {"data": {"folder": str(tmp_path / "first" / "data")}, "start": str(tmp_path / "first" / "experts")}
    for seed in (0, 1):
        settings = validate({**SMALL, **given, "seed": seed}, TrainingConfig)
        training = Training.create(tmp_path / f"next-{seed}", settings)
        told = finish(training, NoProgress()).summary
        assert (f"What the training began with {words}" in told) == (seed == 1)
    run = experiment(tmp_path / "run", **given, num_seeds=2, match={"games": 2, "raw_games": 0})
    assert f"Of training seed 1: What the trainings began with {words}" in finish(run, NoProgress()).summary


def test_experts_that_do_not_say_what_they_learned_from_are_begun_with(start: Path, tmp_path: Path) -> None:
    beginning = Path(shutil.copytree(start, tmp_path / "silent"))
    manifest = read_toml(beginning / "manifest.toml")
    write_toml(beginning / "manifest.toml", {key: manifest[key] for key in manifest if key not in ("data", "seed")})
    training = Training.create(tmp_path / "next", validate({**SMALL, "start": str(beginning)}, TrainingConfig))
    assert "learned from the same data" not in finish(training, NoProgress()).summary

"""What a gate finds by playing is found once, when a run begins, and written down in its settings and its experts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from trained_for_tests import save_team

from moemcts import builtins
from moemcts.cli.main import main
from moemcts.errors import MoemctsError, UsageError
from moemcts.gates import PlyGate
from moemcts.hookspecs import Registration
from moemcts.learn.checkpoint import load_networks
from moemcts.learn.fingerprint import gate_fingerprint
from moemcts.plugins import plugins
from moemcts.runs import Experiment, ExperimentConfig, Training, TrainingConfig
from moemcts.runs.finishing import finish
from moemcts.runs.selfplay.run import SelfPlay
from moemcts.runs.selfplay.settings import SelfPlayConfig
from moemcts.runs.settings import validate
from moemcts.store import read_json, read_toml
from moemcts.work.progress import NoProgress

EXACT = "plies?cuts=3,6"
SMALL: dict[str, Any] = {"game": "tictactoe", "network": "mlp?width=8&layers=1"}
LEARNING: dict[str, Any] = {
    **SMALL,
    "data": {"samples": 300},
    "training": {"epochs": 1.0, "batch_size": 64},
}
EXPERIMENT: dict[str, Any] = {
    **LEARNING,
    "gates": ["plies"],
    "num_seeds": 1,
    "workers": 1,
    "search": {"simulations": 2},
    "match": {"games": 2},
}


def settings(**changes: Any) -> ExperimentConfig:
    return validate({**EXPERIMENT, **changes}, ExperimentConfig)


def as_it_was(folder: Path) -> Experiment:
    """Starts a run as versions did that wrote gates down as users named them."""
    run = Experiment(folder, settings())
    run.write()
    return run


def finds_nothing(*_: Any) -> Any:
    raise AssertionError("games were played to find cuts")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    finish(Experiment.create(folder, settings()), NoProgress())
    return folder


def test_a_run_writes_down_the_cuts_that_were_found_and_is_called_as_before(finished: Path) -> None:
    written = read_toml(finished / "config.toml")
    assert (written["gates"], written["gate_names"]) == ([EXACT], ["plies"])
    (arm,) = Experiment.load(finished).teams
    assert (arm.name, arm.gate, arm.gate_name, arm.label) == ("plies", EXACT, "plies", "plies")
    assert read_toml(finished / "experts" / "plies-0" / "manifest.toml")["gate"]["reference"] == EXACT
    assert read_json(finished / "parts" / "train-plies-0.json")["decided_by"]["gate"] == EXACT
    report = (finished / "report" / "report.md").read_text()
    assert report.startswith("# tictactoe: plies\n")
    assert "## The phases of plies\n" in report
    assert f"- gate `plies` is `{EXACT}` here\n" in report


def test_trainings_and_self_play_write_down_the_cuts_that_were_found(tmp_path: Path) -> None:
    training = Training.create(tmp_path / "training", validate({**LEARNING, "gate": "plies"}, TrainingConfig))
    play = SelfPlay.create(tmp_path / "selfplay", validate({**SMALL, "gate": "plies"}, SelfPlayConfig))
    for run in (training, play):
        assert read_toml(run.folder / "config.toml")["gate"] == run.config.gate == EXACT
        assert run.gate.parameters == {"cuts": [3, 6]}


def test_a_run_that_goes_on_and_experts_that_are_loaded_find_nothing_again(
    finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builtins, "_thirds", finds_nothing)
    run = Experiment.load(finished)
    assert run.pending_parts() == []
    assert run.trainings.experts(run.teams[0], 0).gate.parameters == {"cuts": [3, 6]}


def test_an_old_run_goes_on_as_it_was_begun(tmp_path: Path, finished: Path) -> None:
    old = as_it_was(tmp_path / "old")
    written = (old.folder / "config.toml").read_text()
    assert read_toml(old.folder / "config.toml")["gates"] == ["plies"]
    assert "gate_names" not in written
    with old.locked():
        old.do("data", lambda done, total: None)
        old.do("train-plies-0", lambda done, total: None)
    finish(Experiment.load(old.folder), NoProgress())
    assert Experiment.load(old.folder).pending_parts() == []
    assert (old.folder / "config.toml").read_text() == written
    before, now = (read_toml(one / "experts" / "plies-0" / "manifest.toml") for one in (old.folder, finished))
    assert before["gate"].pop("reference") == "plies"
    assert now["gate"].pop("reference") == EXACT
    assert before == now, "with the same cuts experts are the same, with the same fingerprint"


def test_old_experts_are_loaded_and_have_the_same_gate(tmp_path: Path) -> None:
    game = plugins().game("tictactoe")
    prints = set()
    for gate in ("plies", EXACT):
        loaded = load_networks(save_team(tmp_path / gate.replace("?", "-"), gate=gate), game, plugins())
        prints |= {loaded.manifest["gate"]["fingerprint"], gate_fingerprint(loaded.gate, game)}
    assert len(prints) == 1


def test_gates_that_are_the_same_once_their_cuts_are_found_are_refused(tmp_path: Path) -> None:
    line = f"expected different gates, got 'plies' and '{EXACT}', which are both '{EXACT}' here"
    with pytest.raises(UsageError, match=line.replace("?", r"\?")):
        Experiment.create(tmp_path / "run", settings(gates=["none", "plies", EXACT]))
    assert not (tmp_path / "run").exists()


def test_gates_that_say_all_stay_as_they_are_written(tmp_path: Path) -> None:
    gates = ["plies?cuts=5", "none"]
    run = Experiment.create(tmp_path / "run", settings(gates=gates, gate_names=["another run's"]))
    written = read_toml(run.folder / "config.toml")
    assert written["gates"] == gates
    assert "gate_names" not in written
    assert [arm.label for arm in run.teams] == ["plies-cuts-5"]
    names = [arm.name for arm in Experiment.create(tmp_path / "two", settings(gates=[*gates, "plies"])).teams]
    assert names == ["plies?cuts=5", "plies"]


def test_a_dry_run_shows_what_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (["run"], ["selfplay"]):
        words += ["--game", "tictactoe", "--gate", "plies", "--preset", "smoke", "--out", str(tmp_path / "run")]
        monkeypatch.setattr(sys, "argv", ["moemcts", *words, "--network", SMALL["network"], "--dry-run"])
        with pytest.raises(SystemExit) as left:
            main()
        assert not left.value.code
        assert f'"{EXACT}"' in capsys.readouterr().out
    assert not (tmp_path / "run").exists()


def half(game: Any, *, at: int = 0, soft: bool = False) -> PlyGate:
    """Returns a gate that cuts where it was told, or where it found that it should."""

    class Half(PlyGate):
        name = "half"

        @property
        def parameters(self) -> dict[str, Any]:
            return {"at": self.cuts[0], "soft": soft}

    return Half([at or 4])


@pytest.mark.parametrize(
    ("written", "exact"),
    [("half", "half?at=4"), ("half?soft=true", "half?soft=true&at=4"), ("half?at=7", "half?at=7"), ("none", "none")],
)
def test_a_gate_says_which_of_its_options_are_found(written: str, exact: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(plugins().gates, "half", Registration("half", half, "two halves", found=("at",)))
    game = plugins().game("tictactoe")
    assert plugins().complete_gate(written, game) == exact
    assert plugins().gate(written, game).parameters == plugins().gate(exact, game).parameters


def test_a_gate_that_does_not_tell_what_it_found_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(plugins().gates, "half", Registration("half", half, "two halves", found=("cuts",)))
    with pytest.raises(MoemctsError, match="gate 'half': expected cuts among its parameters, got at, soft"):
        plugins().complete_gate("half", plugins().game("tictactoe"))

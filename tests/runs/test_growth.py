"""A finished run gains gates, networks, games and seeds: it ends as one that was begun with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from runs_for_tests import command, experiment

from moemcts.errors import ForeignData, MoemctsError, UsageError
from moemcts.learn.gates.fitting import fit_clusters
from moemcts.learn.gates.saved import save_gate
from moemcts.plugins import plugins
from moemcts.runs import Experiment
from moemcts.runs.experiment.growth import extend_experiment, save_extension
from moemcts.runs.finishing import finish
from moemcts.runs.sources import open_sources
from moemcts.store import read_toml
from moemcts.work.progress import NoProgress

LARGER = "resnet?channels=8&blocks=1"
LATE = "plies?cuts=7"


def made(folder: Path) -> dict[Path, bytes]:
    """Returns the experts and the games of a run."""
    paths = [path for part in ("experts", "matches") for path in (folder / part).rglob("*") if path.is_file()]
    return {path.relative_to(folder): path.read_bytes() for path in paths}


@pytest.mark.parametrize(
    ("added", "settings"),
    [
        ({"gates": [LATE]}, {"gates": ["plies", LATE]}),
        ({"networks": [LARGER]}, {"other_networks": [LARGER]}),
        ({"single_networks": [LARGER]}, {"single_networks": [LARGER]}),
        ({"changes": {"num_seeds": 2, "match.games": 6}}, {"num_seeds": 2, "match": {"games": 6, "raw_games": 2}}),
    ],
    ids=["gates", "networks", "single networks", "seeds and games"],
)
def test_a_run_that_has_grown_is_one_that_was_begun_so(
    added: dict[str, Any], settings: dict[str, Any], copy: Path, tmp_path: Path
) -> None:
    before = made(copy)
    larger = extend_experiment(Experiment.load(copy), **added)
    save_extension(larger)
    report = finish(Experiment.load(copy), NoProgress())
    after = made(copy)
    assert after.keys() > before.keys()
    assert all(after[path].startswith(data) for path, data in before.items())
    whole = experiment(tmp_path / "whole", **settings)
    assert larger.config == whole.config
    assert finish(whole, NoProgress()).numbers == report.numbers
    alike = [{path: sorted(data.splitlines()) for path, data in one.items()} for one in (made(whole.folder), after)]
    assert alike[0] == alike[1]


def test_schemes_are_gained_where_arms_are_called_by_them(tmp_path: Path) -> None:
    run = experiment(tmp_path / "run", schemes=["separated", "staged"])
    (first, *_) = names = [arm.name for arm in extend_experiment(run, schemes=["weighted"]).arms]
    assert (first, names[1:]) == ("single", ["separated", "staged", "weighted"])


def test_arms_keep_their_names_beside_those_of_other_schemes(copy: Path) -> None:
    before = made(copy)
    save_extension(extend_experiment(Experiment.load(copy), schemes=["staged"]))
    larger = Experiment.load(copy)
    assert [(arm.name, arm.gate, arm.scheme) for arm in larger.teams] == [
        ("plies", "plies?cuts=3,6", "separated"),
        ("plies staged", "plies?cuts=3,6", "staged"),
    ]
    arms = finish(larger, NoProgress()).numbers["searched"]["arms"]
    assert list(arms) == ["plies", "plies staged"]
    after = made(copy)
    assert all(after[path].startswith(data) for path, data in before.items())
    save_extension(extend_experiment(larger, gates=[LATE]))
    later = Experiment.load(copy)
    names = ["plies", "plies staged", f"{LATE} separated", f"{LATE} staged"]
    assert [arm.name for arm in later.teams] == names
    assert read_toml(copy / "config.toml")["begun_with"] == {"gates": 1, "schemes": 1}


def test_files_that_would_be_called_otherwise_stay(copy: Path, tmp_path: Path) -> None:
    data = open_sources(Experiment.load(copy).config.data, copy / "data", plugins().game("tictactoe")).training
    files = [str(tmp_path / f"a{sign}1.safetensors") for sign in "-+="]
    for file in files:
        save_gate(Path(file), fit_clusters(data, 2, seed=0).gate)
    for file in files[:2]:
        save_extension(extend_experiment(Experiment.load(copy), gates=[file]))
    with pytest.raises(UsageError, match=r"the files of .*a\+1.* would have to be renamed .*--data .*data"):
        extend_experiment(Experiment.load(copy), gates=files[2:])


@pytest.mark.parametrize(
    ("added", "line"),
    [
        (
            {"schemes": ["separated"]},
            "expected something that .* does not have yet, got --scheme 'separated'; leave that out",
        ),
        ({"gates": ["plies"]}, r"got --gate 'plies', which it has as 'plies\?cuts=3,6'; leave that out"),
        ({"gates": ["plies?cuts=3,6"]}, r"got --gate 'plies\?cuts=3,6'; leave that out"),
        ({"single_networks": ["resnet?channels=4&blocks=1"]}, "does not have yet, got --single-network 'resnet.*'"),
        ({"gates": ["plys"]}, "no gate named 'plys'.*did you mean 'plies'"),
        ({"changes": {"match.game": 3}}, r"no setting of match named 'game'; did you mean 'games'"),
        ({"changes": {"match.games": 2}}, r"expected match\.games of at least 4, which .* was begun with, got 2"),
        ({"changes": {"match.raw_games": 0}}, r"expected match\.raw_games of at least 2"),
    ],
)
def test_what_cannot_be_gained_is_said_and_changes_nothing(added: dict[str, Any], line: str, copy: Path) -> None:
    before = (copy / "config.toml").read_bytes()
    with pytest.raises(UsageError, match=line):
        extend_experiment(Experiment.load(copy), **added)
    assert (copy / "config.toml").read_bytes() == before


def test_what_decided_what_was_made_is_not_changed(copy: Path) -> None:
    before = (copy / "config.toml").read_bytes()
    with pytest.raises(ForeignData, match=r"part searched-plies-0.*search\.simulations was 4 and is 9; leave that out"):
        extend_experiment(Experiment.load(copy), changes={"search.simulations": 9})
    assert (copy / "config.toml").read_bytes() == before


def test_the_command_line_makes_a_run_grow(
    copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (copy / "config.toml").read_bytes()
    growth = ["--resume", copy, "--gate", LATE, "--set", "match.games=6"]
    assert command("run", *growth, "--dry-run", monkeypatch=monkeypatch) == 0
    assert (copy / "config.toml").read_bytes() == before
    assert "\nestimate of the whole run: " in capsys.readouterr().err
    assert command("run", *growth, "--json", monkeypatch=monkeypatch) == 0
    arms = json.loads(capsys.readouterr().out)["searched"]["arms"]
    assert {name: arm["num_games"] for name, arm in arms.items()} == {"plies": 6, LATE: 6}
    settings = read_toml(copy / "config.toml")
    assert settings["gate_names"] == ["plies", LATE]
    assert len(settings["gates"]) == 2

    for words in (["--game", "tictactoe"], ["--seed", 3], ["--preset", "smoke"], ["--data", copy / "data"]):
        assert command("run", "--resume", copy, *words, monkeypatch=monkeypatch) == 2
        assert (
            "expected --resume with at most --gate, --scheme, --network, --single-network, --workers and --set"
            in capsys.readouterr().err
        )


def test_a_saved_gate_is_copied_when_it_is_gained_and_not_again(copy: Path, tmp_path: Path) -> None:
    data = open_sources(Experiment.load(copy).config.data, copy / "data", plugins().game("tictactoe")).training
    first, second = (str(tmp_path / f"{name}.safetensors") for name in ("one", "two"))
    for file, seed in ((first, 0), (second, 1)):
        save_gate(Path(file), fit_clusters(data, 2, seed=seed).gate)
    save_extension(extend_experiment(Experiment.load(copy), gates=[first]))
    (kept,) = (copy / "gates").iterdir()
    content = kept.read_bytes()
    Path(first).write_bytes(Path(second).read_bytes())
    save_extension(extend_experiment(Experiment.load(copy), gates=[second]))
    assert kept.read_bytes() == content
    assert len(list((copy / "gates").iterdir())) == 2


def test_of_two_growths_at_once_the_second_is_told_to_begin_again(copy: Path) -> None:
    first, second = (
        extend_experiment(Experiment.load(copy), gates=[LATE]),
        extend_experiment(Experiment.load(copy), schemes=["staged"]),
    )
    save_extension(first)
    with pytest.raises(MoemctsError, match=r"has gained plies\?cuts=7 from another command in the meantime; run"):
        save_extension(second)
    assert Experiment.load(copy).config == first.config
    save_extension(extend_experiment(Experiment.load(copy), schemes=["staged"]))

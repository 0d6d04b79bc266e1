"""A run is a folder: written under its lock, gone on with only as it was begun, and readable whatever was lost."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from runs_for_tests import EXPERIMENT, NETWORK, SMALL, edit, experiment
from trained_for_tests import with_gpus

from moemcts.errors import DamagedFile, ForeignData, MoemctsError, UsageError
from moemcts.game import GameSpec
from moemcts.learn.networks import contract
from moemcts.learn.networks.outputs import Outputs
from moemcts.report.comparison import comparison
from moemcts.runs import Experiment, ExperimentConfig, Training, TrainingConfig
from moemcts.runs.arms import file_label, make_arms
from moemcts.runs.copies import copied_gate, copy_gate
from moemcts.runs.environment import as_typed
from moemcts.runs.experiment.estimate import estimate
from moemcts.runs.experiment.growth import extend_experiment
from moemcts.runs.experiment.trainings import ArmTrainings
from moemcts.runs.finishing import finish, rewrite
from moemcts.runs.learning import read_measurements
from moemcts.runs.settings import validate
from moemcts.runs.times import Timed, describe_times, starts
from moemcts.store import exclusive, read_toml, write_text, write_toml
from moemcts.work import InProcess
from moemcts.work.progress import Advance, NoProgress

BIN = Path(sys.executable).parent


def test_a_finished_run_has_its_parts_and_nothing_left_to_do(finished: Path) -> None:
    run = Experiment.load(finished)
    arms = ["single-0", "plies-0"]
    names = [
        "data",
        *(f"{task}-{arm}" for task in ("train", "losses") for arm in arms),
        "raw-plies-0",
        "searched-plies-0",
    ]
    assert [part.name for part in run.parts()] == names
    assert run.pending_parts() == []
    assert sorted(path.stem for path in (finished / "parts").iterdir()) == sorted(names)


def test_who_shares_a_match_plays_as_many_games_at_once_as_one_alone(finished: Path) -> None:
    class Two(InProcess):
        count = 2

        def map(self, task: Any, items: Any, **hear: Any) -> Any:
            parallel.append(task.conditions.max_parallel)
            return super().map(task, items, **hear)

    parallel: list[int] = []
    run = Experiment.load(finished)
    schedule = run.matches.games_of("searched", 0, "plies")
    run.matches.boards.play(schedule, 0, label="shared", workers=Two())
    (finished / "matches" / "shared.jsonl").unlink()
    assert parallel == [run.config.match.parallel]


def test_a_match_that_fills_all_workers_is_shared_by_them(finished: Path, tmp_path: Path) -> None:
    def unplayed(workers: int) -> Experiment:
        folder = Path(shutil.copytree(finished, tmp_path / str(workers)))
        (folder / "parts" / "searched-plies-0.json").unlink()
        (folder / "matches" / "searched-plies-0.jsonl").unlink()
        edit(folder, lambda values: values["match"].update(games=8, parallel=4))
        edit(folder, lambda values: values.update(workers=workers))
        return Experiment.load(folder)

    alone, shared = unplayed(1), unplayed(2)
    assert [part.name for part in shared.parts() if part.share is not None] == ["searched-plies-0"]
    for run in (alone, shared):
        assert [part.name for part in run.pending_parts()] == ["searched-plies-0"]
        with run.locked():
            run.work(NoProgress())
        assert run.pending_parts() == []
    kept, found = (
        (run.folder / "matches" / "searched-plies-0.jsonl").read_text().splitlines() for run in (alone, shared)
    )
    assert len(found) == 9
    assert found[0] == kept[0]
    assert sorted(found[1:]) == sorted(kept[1:])


def test_a_shared_match_before_one_that_is_not_counts_as_many_games_as_it_has(copy: Path) -> None:
    class Heard(NoProgress):
        @contextlib.contextmanager
        def task(self, name: str, unit: str) -> Iterator[Advance]:
            yield lambda done, total: totals.append(total)

    totals: list[int] = []
    edit(copy, lambda values: values["match"].update(raw_games=8, games=6, parallel=8))
    run = Experiment.load(copy)
    assert [part.share is None for part in run.pending_parts()] == [False, True]
    with run.locked():
        run.work(Heard())
    assert set(totals) == {14}


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["/usr/bin/moemcts", "run", "--network", "resnet?a=4&b=1"], "moemcts run --network 'resnet?a=4&b=1'"),
        (["/lib/moemcts/__main__.py", "run"], "moemcts run"),
        (["benchmarks/speed.py", "a b"], "python speed.py 'a b'"),
    ],
)
def test_a_command_is_told_as_a_shell_takes_it(command: list[str], expected: str) -> None:
    assert as_typed(command) == expected


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda v: v.update(network="resnet?channels=8&blocks=1"), "part train-single-0.*network was 'resnet"),
        (lambda v: v.update(schemes=["staged"]), "part train-plies-0.*scheme was 'separated' and is 'staged'"),
        (lambda v: v["training"].update(epochs=7.0), "part train-single-0.*training.epochs was 1.0 and is 7.0"),
        (lambda v: v["data"].update(samples=300), "part data was made.*data.samples was 200 and is 300"),
        (lambda v: v["data"].update(keep=0.5), "part data was made.*data.keep was 1.0 and is 0.5"),
        (lambda v: v.update(seed=3), "part data was made with other settings: seed was 0 and is 3"),
        (lambda v: v["search"].update(simulations=9), "part searched-plies-0.*search.simulations was 4 and is 9"),
        (lambda v: v["match"].update(random_plies=2), "part raw-plies-0.*match.random_plies was None and is 2"),
        (lambda v: v["match"].update(field="random"), "part raw-plies-0.*match.field was '' and is 'random'"),
    ],
)
def test_settings_that_were_edited_after_they_decided_a_part_are_refused(
    copy: Path, change: Callable[[dict[str, Any]], object], line: str
) -> None:
    edit(copy, change)
    with pytest.raises(ForeignData, match=line):
        finish(Experiment.load(copy), NoProgress())


def test_games_and_losses_are_evaluated_where_the_settings_say(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "device" not in read_toml(copy / "config.toml")["match"]
    seen = with_gpus(monkeypatch)
    edit(copy, lambda values: values["match"].update(device="cuda:1"))
    with pytest.raises(ForeignData, match=r"match\.device was None and is 'cuda:1'"):
        finish(Experiment.load(copy), NoProgress())
    for path in [*(copy / "parts").glob("searched-*"), *(copy / "parts").glob("raw-*"), *(copy / "matches").iterdir()]:
        path.unlink()
    edit(copy, lambda values: values["training"].update(device="cuda"))
    run = Experiment.load(copy)
    with run.locked():
        run.work(NoProgress())
    assert set(seen) == {"cuda:1"}
    seen.clear()
    run.outcomes()
    assert set(seen) == {"cuda"}, "losses are found where the training was, games are read without anybody"
    seen = with_gpus(monkeypatch, 0)
    Experiment.load(copy).outcomes()
    assert set(seen) == {"cpu"}, "a report needs no GPU"


def test_games_that_are_lost_are_played_again_for_the_report(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Experiment.load(copy)
    opened: list[str] = []
    experts = ArmTrainings.experts
    monkeypatch.setattr(
        ArmTrainings, "experts", lambda of, arm, *rest, **how: opened.append(arm.name) or experts(of, arm, *rest, **how)
    )
    outcomes = run.outcomes()
    assert opened == ["plies"], "who has played is not opened to read the games"
    path = copy / "matches" / "searched-plies-0.jsonl"
    header, *games = path.read_text().splitlines(keepends=True)
    path.write_text("".join([header, *games[1:]]))
    assert run.outcomes().searched.results == outcomes.searched.results
    assert sorted(path.read_text().splitlines(keepends=True)) == sorted([header, *games])


@pytest.mark.parametrize(
    ("match", "line"),
    [
        ({"device": "gpu"}, "expected a device such as cpu, cuda or cuda:1, got 'gpu'"),
        ({"device": "cuda:7"}, "no GPU for device 'cuda:7'"),
        ({"device": "cuda", "backend": "openvino"}, "openvino runs networks only on the CPU here, not on cuda"),
    ],
)
def test_a_run_on_a_device_that_cannot_be_does_not_begin(
    match: dict[str, Any], line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_gpus(monkeypatch)
    with pytest.raises(UsageError, match=line):
        experiment(tmp_path / "run", match=match)
    assert not (tmp_path / "run").exists()
    made = experiment(tmp_path / "run", match={"device": "auto"})
    assert made.config.match.device == read_toml(tmp_path / "run" / "config.toml")["match"]["device"] == "cuda"


def test_a_training_whose_epochs_were_edited_is_refused(trained: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(trained, tmp_path / "copy"))
    edit(folder, lambda values: values["training"].update(epochs=2.0))
    with pytest.raises(ForeignData, match=r"part train was made.*training\.epochs was 1\.0 and is 2\.0"):
        finish(Training.load(folder), NoProgress())


def test_what_decides_nothing_may_be_edited_and_more_games_go_on(copy: Path) -> None:
    played = (copy / "matches" / "searched-plies-0.jsonl").read_bytes()
    edit(copy, lambda values: values["match"].update(games=6, parallel=3))
    report = finish(Experiment.load(copy), NoProgress())
    assert report.numbers["searched"]["arms"]["plies"]["num_games"] == 6
    assert (copy / "matches" / "searched-plies-0.jsonl").read_bytes().startswith(played)


def test_more_training_seeds_go_on_with_what_was_made(copy: Path, tmp_path: Path) -> None:
    kept = [copy / "matches" / "searched-plies-0.jsonl", copy / "experts" / "plies-0" / "expert-0.safetensors"]
    before = [path.read_bytes() for path in kept]
    edit(copy, lambda values: values.update(num_seeds=2))
    report = finish(Experiment.load(copy), NoProgress())
    assert [path.read_bytes() for path in kept] == before
    whole = finish(experiment(tmp_path / "whole", num_seeds=2), NoProgress())
    assert report.numbers == whole.numbers


def test_a_training_is_called_by_its_seed_wherever_it_is_named(tmp_path: Path) -> None:
    run = experiment(tmp_path / "run", seed=4, num_seeds=2)
    report = finish(run, NoProgress())
    assert sorted(path.name for path in (run.folder / "experts").iterdir()) == [
        "plies-4",
        "plies-5",
        "single-4",
        "single-5",
    ]
    assert [path.name for path in sorted((run.folder / "matches").iterdir())][-2:] == [
        "searched-plies-4.jsonl",
        "searched-plies-5.jsonl",
    ]
    assert report.numbers["searched"]["seeds"] == [4, 5]
    text = (run.folder / "report" / "report.md").read_text()
    assert "| seed 4 |" in text
    assert "| seed 5 |" in text
    assert "The first game of seed 4" in text
    assert "Made with cuts " in text
    single = text[text.index("What the single") :]
    assert single.splitlines()[2].endswith("| policy accuracy % |")
    (measured,) = {line.split(" | ")[-1] for line in single.splitlines()[:5] if "seed 4" in line}
    assert 1 < float(measured.removesuffix(" |")) < 100
    assert "\n- games begin after 4 random plies and are counted from there\n" in text
    assert "seed 0" not in text


def test_networks_of_several_sizes_are_arms_beside_the_first(copy: Path, tmp_path: Path) -> None:
    larger = "resnet?channels=8&blocks=1"
    alone = "resnet?channels=2&blocks=1"
    changes = {"other_networks": [larger], "schemes": ["separated", "single?epochs=3"], "single_networks": [alone]}
    run = experiment(tmp_path / "sizes", **changes, match={"games": 4, "raw_games": 0, "field": "random"})
    assert [arm.name for arm in run.arms] == [
        "single",
        "separated",
        "single?epochs=3",
        f"single {larger}",
        f"separated {larger}",
        f"single?epochs=3 {larger}",
        f"single {alone}",
    ]
    report = finish(run, NoProgress())
    manifests = [read_toml(run.folder / "experts" / f"{arm.label}-0" / "manifest.toml") for arm in run.arms]
    assert [manifest["network"] for manifest in manifests] == [NETWORK] * 3 + [larger] * 3 + [alone]
    steps = [read_measurements(run.folder / "training" / f"{arm.label}-0")[-1]["step"] for arm in run.arms]
    assert steps[2] == 3 * steps[0] == 3 * steps[3] == steps[5]
    assert set(report.numbers["searched"]["differences"]) == {arm.name for arm in run.arms[1:]}
    assert list(report.numbers["other_singles"]) == [f"single {larger}", f"single {alone}"]
    assert f"The single {larger} wins" in report.summary
    assert "The single?epochs=3 wins" in report.summary
    assert "Experts by separated win" in report.summary
    titles = {section.title for section in report.sections}
    assert {"What the experts by separated learned", "What single?epochs=3 learned"} <= titles
    assert {f"What the single {larger} learned", f"What the single {alone} learned"} <= titles
    assert {"separated", f"single {alone}"} in [
        {one["arm"], one["other"]} for one in report.numbers["searched"]["between"]
    ]
    rows = comparison({"sizes": report.numbers}).sections[0].tables[0].rows
    assert [(row[3], row[4]) for row in rows] == [("single network", None), *((arm.name, 4) for arm in run.arms[1:])]
    found = report.numbers["searched"]["differences"]["separated"]
    points = [f"{100 * one:+z.1f}" for one in (found["wins"], *found["interval"])]
    assert rows[1][5] == f"{points[0]} [{points[1]}, {points[2]}]"
    assert not {"other_networks", "single_networks"} & read_toml(copy / "config.toml").keys()


def test_the_single_network_of_a_game_of_four_is_an_arm_too(tmp_path: Path) -> None:
    """One seat in four wins a quarter of even games: against one half every arm would be far worse than its equals."""
    run = experiment(
        tmp_path / "run",
        game="pommerman?max_steps=20",
        gates=["steps?cuts=5,12"],
        search={"simulations": 2},
        match={"games": 4, "field": "single"},
    )
    report = finish(run, NoProgress())
    assert [arm.name for arm in run.matches.contestants()] == ["single", "steps?cuts=5,12"]
    differences = report.numbers["searched"]["differences"]
    assert list(differences) == ["steps?cuts=5,12"]
    assert "Elo" not in report.summary
    assert (
        "against the single network of the same training seed in all other seats"
        in (tmp_path / "run" / "report" / "report.md").read_text()
    )


def test_an_old_folder_without_parts_goes_on(copy: Path) -> None:
    numbers = (copy / "report" / "numbers.json").read_bytes()
    shutil.rmtree(copy / "parts")
    finish(Experiment.load(copy), NoProgress())
    assert (copy / "report" / "numbers.json").read_bytes() == numbers


def test_a_damaged_part_is_named(copy: Path) -> None:
    write_text(copy / "parts" / "data.json", "[]")
    with pytest.raises(DamagedFile, match=r"data\.json does not say what decided this part; delete it"):
        finish(Experiment.load(copy), NoProgress())


@pytest.mark.parametrize("content", [None, "", "[1]", "{}"], ids=["missing", "empty", "foreign", "bare"])
def test_a_lost_environment_costs_its_lines_of_the_report_only(copy: Path, content: str | None) -> None:
    if content is None:
        (copy / "env.json").unlink()
    else:
        (copy / "env.json").write_text(content)
    finish(Experiment.load(copy), NoProgress())
    assert "versions unknown" in (copy / "report" / "report.md").read_text()


def test_a_run_says_how_long_it_took_in_all_its_starts(copy: Path) -> None:
    (first,) = starts(copy)
    assert list(first) == ["games to learn from", "training", "losses", "matches"]
    assert all(seconds >= 0 for seconds in first.values())

    edit(copy, lambda values: values["match"].update(games=8))
    finish(Experiment.load(copy), NoProgress())
    assert starts(copy)[0] == first
    assert list(starts(copy)[1]) == ["matches"]
    words = describe_times(copy)
    assert " in 2 starts: games to learn from " in words
    assert words in (copy / "report" / "report.md").read_text()


def test_a_run_that_goes_on_is_not_done_before_it_is(tmp_path: Path) -> None:
    run = experiment(tmp_path / "run")
    done = run.folder / "done.json"
    done.write_text("{}")
    with pytest.raises(KeyboardInterrupt), run.timed():
        raise KeyboardInterrupt
    assert not done.exists()


def test_an_interrupted_start_counts_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    minutes = itertools.count(0, 70)
    monkeypatch.setattr("moemcts.runs.times.time", SimpleNamespace(monotonic=lambda: next(minutes)))

    def train() -> None:
        with Timed(NoProgress(), tmp_path).task("training", "steps") as advance:
            assert starts(tmp_path) == [{"training": 70}], "from its first task on"
            advance(1, 2)
            assert starts(tmp_path) == [{"training": 210}], "while it goes on"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train()
    assert starts(tmp_path) == [{"training": 280}]


@pytest.mark.parametrize("content", ["", "[]", '{"starts": 3}', '{"starts": [{"training": "long"}]}'])
def test_lost_times_cost_their_line_of_the_report_only(content: str, copy: Path) -> None:
    (copy / "times.json").write_text(content)
    finish(Experiment.load(copy), NoProgress())
    assert "- took" not in (copy / "report" / "report.md").read_text()


def test_a_folder_is_a_run_from_its_last_file_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(path: Path, text: str) -> None:
        assert path.name == "config.toml", "nothing is written after it"
        raise KeyboardInterrupt

    monkeypatch.setattr("moemcts.runs.run.write_text", killed)
    with pytest.raises(KeyboardInterrupt):
        experiment(tmp_path / "run")
    monkeypatch.undo()
    with pytest.raises(MoemctsError, match=r"expected a run with a config\.toml"):
        Experiment.load(tmp_path / "run")
    assert experiment(tmp_path / "run").pending_parts()


@pytest.mark.parametrize("kind", ["validation", "test"])
def test_samples_to_measure_on_that_were_replaced_are_refused(kind: str, trained: Path, tmp_path: Path) -> None:
    samples = Path(shutil.copytree(trained / "data", tmp_path / "samples"))
    config = validate({**SMALL, "data": {"samples": 150, kind: str(samples)}, "seed": 1}, TrainingConfig)
    training = Training.create(tmp_path / "training", config)
    training.work(NoProgress())
    assert Training.load(training.folder).pending_parts() == []
    shutil.rmtree(samples)
    other = Training.create(tmp_path / "other", validate({**SMALL, "seed": 2}, TrainingConfig))
    other.do("data", lambda done, total: None)
    shutil.copytree(other.folder / "data", samples)
    with pytest.raises(ForeignData, match=rf"part data was made with other settings: {kind} data was"):
        finish(Training.load(training.folder), NoProgress())


@pytest.mark.parametrize(
    "changes",
    [
        {"search": {"nodes": 8, "simulations": None}, "training": {**SMALL["training"], "spike": None}},
        {"match": {**EXPERIMENT["match"], "random_plies": 4, "openings": "openings.txt"}},
        {"match": {**EXPERIMENT["match"], "random_plies": None, "precision": None}},
    ],
    ids=["without values", "without effect", "without values by default"],
)
def test_whoever_opens_a_run_has_the_settings_of_who_created_it(
    changes: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "openings.txt").write_text("X...O....\nO...X....\n")
    run = experiment(tmp_path / "run", **changes)
    opened = Experiment.load(tmp_path / "run")
    assert opened.config == run.config
    assert [part.decided_by for part in opened.parts()] == [part.decided_by for part in run.parts()]
    if "search" in changes:
        assert (opened.config.search.simulations, opened.config.training.spike) == (None, None)


def test_who_comes_second_overwrites_nothing(tmp_path: Path) -> None:
    config = validate(EXPERIMENT, ExperimentConfig)
    first, second = (Experiment.prepare(tmp_path / "run", config.model_copy(update={"seed": seed})) for seed in (1, 2))
    first.write()
    written = (tmp_path / "run" / "config.toml").read_bytes()
    with pytest.raises(UsageError, match=r"already holds a run; resume it: .*, or begin another in another folder"):
        second.write()
    with exclusive(tmp_path / "other"), pytest.raises(MoemctsError, match="is in use by process"):
        experiment(tmp_path / "other")
    assert (tmp_path / "run" / "config.toml").read_bytes() == written
    assert not (tmp_path / "other" / "config.toml").exists()


def test_a_run_of_another_kind_is_named(finished: Path, trained: Path) -> None:
    with pytest.raises(UsageError, match="is not a training; resume it: moemcts run --resume"):
        Training.load(finished)
    with pytest.raises(UsageError, match="is not a run; resume it: moemcts train --resume"):
        Experiment.load(trained)


def test_arms_whose_names_differ_in_signs_only_have_folders_of_their_own() -> None:
    arms = make_arms(["resnet"], ["plies?cuts=3,6", "plies?cuts=3.6", "steps"], ["separated"])
    assert len({arm.label for arm in arms}) == 4
    assert arms[3].label == "steps"


def test_a_gate_has_no_arm_by_the_name_of_the_single_network() -> None:
    with pytest.raises(
        UsageError, match="expected arms with different names, got two named 'single'; give one of the gates another"
    ):
        make_arms(["resnet"], ["single"], ["separated"])
    assert [arm.name for arm in make_arms(["resnet"], ["single"], ["separated"], ["mine"])] == ["single", "mine"]


def test_a_scheme_of_one_network_is_one_arm_whatever_the_gates() -> None:
    arms = make_arms(["resnet"], ["plies", "steps"], ["separated", "single?epochs=3", "single"])
    assert [arm.name for arm in arms] == ["single", "plies separated", "single?epochs=3", "steps separated"]
    assert [arm.name for arm in make_arms(["resnet"], ["plies"], ["single?epochs=3"])] == ["single", "single?epochs=3"]
    extend_experiment = make_arms(["resnet"], ["plies"], ["separated", "single?epochs=3"], begun=(1, 1))
    assert [arm.name for arm in extend_experiment] == ["single", "plies", "single?epochs=3"]


def test_saved_gates_whose_names_differ_in_signs_only_have_copies_of_their_own(tmp_path: Path) -> None:
    one, other = (str(tmp_path / f"gates/k{sign}3.safetensors") for sign in "_-")
    for folder in ("run", "old"):
        write_toml(tmp_path / folder / "config.toml", {"gates": [one, other]})
    for gate in (one, other):
        write_text(Path(gate), gate)
        copy_gate(tmp_path / "run", gate)
    copies = [copied_gate(tmp_path / "run", gate, [one, other]) for gate in (one, other)]
    assert [Path(copy).read_text() for copy in copies] == [one, other]
    # A folder from before, whose copy may be of either.
    old = tmp_path / "old" / "gates" / f"{file_label(one)}.safetensors"
    write_text(old, other)
    assert copied_gate(tmp_path / "old", one, [one]) == str(old)
    assert copied_gate(tmp_path / "old", one, [one, other]) == one


@pytest.mark.skipif(sys.platform == "win32", reason="processes are looked up in /proc")
def test_workers_end_with_the_run_that_was_killed_and_it_goes_on_as_if_it_had_not_been(tmp_path: Path) -> None:
    words = ["run", "--game", "tictactoe", "--gate", "plies", "--preset", "smoke", "--network", NETWORK]
    words += ["--set", "workers=2", "--set", "data.samples=1000", "--set", "training.epochs=8"]
    words += ["--set", "match.games=4", "--set", "match.raw_games=0", "--out", str(tmp_path / "killed")]
    words += ["--set", "training.save_interval=5"]
    killed = subprocess.Popen([str(BIN / "moemcts"), *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 300
    while not list((tmp_path / "killed").rglob("stages/*/*.safetensors")) and time.monotonic() < deadline:
        assert killed.poll() is None, killed.communicate()
        time.sleep(0.01)
    workers = _children(killed.pid)
    assert len(workers) >= 2
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    deadline = time.monotonic() + 300
    while (alive := [worker for worker in workers if _is_alive(worker)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive
    resumed = Experiment.load(tmp_path / "killed")
    finish(resumed, NoProgress())
    # An arm is called by its gate as it was given.
    alone = resumed.config.model_copy(update={"workers": 1, "gates": ["plies"]})
    finish(Experiment.create(tmp_path / "whole", alone), NoProgress())
    files = [
        *(tmp_path / "whole").glob("experts/*/*.safetensors"),
        *(tmp_path / "whole").glob("training/*/metrics.jsonl"),
    ]
    assert files
    for file in files:
        assert (tmp_path / "killed" / file.relative_to(tmp_path / "whole")).read_bytes() == file.read_bytes(), file
    numbers = [json.loads((tmp_path / name / "report" / "numbers.json").read_text()) for name in ("killed", "whole")]
    assert [one["config"].pop("workers") for one in numbers] == [2, 1]
    assert numbers[0] == numbers[1]


def _children(parent: int) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def _is_alive(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    try:
        return status.read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(("game", "gate"), [("tictactoe", "plies"), ("chess", "lichess"), ("pommerman", "steps")])
def test_without_a_gate_a_run_has_the_one_of_its_game(game: str, gate: str, tmp_path: Path) -> None:
    run = Experiment.prepare(tmp_path / "run", validate({"game": game, "network": NETWORK}, ExperimentConfig))
    assert run.config.gates[0].partition("?")[0] == gate
    assert [arm.gate.partition("?")[0] for arm in run.teams] == [gate]


def test_a_single_network_without_experts_does_not_play_itself(tmp_path: Path) -> None:
    run = experiment(tmp_path / "run", gates=["none"])
    assert "no gate: no experts" in run.describe()
    assert "no games" in run.describe()
    assert estimate(run).matches == 0
    report = finish(run, NoProgress())
    assert report.summary == "No gate: no experts, and the single network does not play itself."
    assert report.numbers["searched"]["arms"] == {}
    assert not (run.folder / "matches").exists()
    again = Experiment.load(run.folder)
    assert again.config.gates == ["none"], "what is written means what it meant"
    assert not again.pending_parts()
    assert [row[3] for row in comparison({"run": report.numbers}).sections[0].tables[0].rows] == ["single network"]


def test_a_single_network_alone_still_plays_an_agent(tmp_path: Path) -> None:
    run = experiment(tmp_path / "run", gates=["none"], match={"games": 4, "field": "random"})
    assert [arm.name for arm in run.matches.contestants()] == ["single"]
    assert "4 games per arm" in run.describe()


def test_networks_are_asked_before_a_run_goes_on_and_not_for_its_report(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    answered = contract.check_network

    def ask(network: object, spec: GameSpec) -> Outputs:
        asked.append(network)
        return answered(network, spec)

    monkeypatch.setattr(contract, "check_network", ask)
    rewrite(copy)
    assert not asked
    run = Experiment.load(copy)
    assert len(asked) == 1
    extend_experiment(run, networks=["mlp?width=4&layers=1"])
    assert len(asked) == 3
    Experiment.prepare(copy.parent / "new", run.config)
    assert len(asked) == 4

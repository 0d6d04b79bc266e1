"""What a user gives a run is honoured or refused: settings, programs, samples, experts."""

from __future__ import annotations

import re
import shutil
import types
from pathlib import Path
from typing import Any

import pytest
from runs_for_tests import NETWORK, SMALL, command, edit, experiment

from moemcts.cli.settings import RunArguments, read_settings
from moemcts.errors import ForeignData, MoemctsError, UsageError
from moemcts.hookspecs import Registration
from moemcts.learn.data.generation import generate
from moemcts.learn.data.joining import join
from moemcts.naming import resolve_agent
from moemcts.plugins import plugins
from moemcts.runs import Experiment, ExperimentConfig, Training, TrainingConfig
from moemcts.runs.finishing import finish, rewrite
from moemcts.runs.programs import program_agent
from moemcts.runs.settings import DataConfig, validate
from moemcts.runs.sources import Sources, open_sources
from moemcts.store import read_toml, write_text, write_toml
from moemcts.work import workers
from moemcts.work.progress import NoProgress


@pytest.mark.parametrize("setting", ["data.agent", "match.field", "match.opponent_model"])
@pytest.mark.parametrize("agent", ["uci?path=/bin/false", "uci:stockfish", "flat?a=uci:stockfish"])
def test_a_file_starts_no_program_unless_it_is_allowed(
    setting: str, agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    section, key = setting.split(".")
    foreign = {"game": "chess", "network": NETWORK, "gates": ["none"], section: {key: agent}}
    write_toml(tmp_path / "foreign.toml", foreign)
    write_toml(tmp_path / "run" / "config.toml", foreign)
    for arguments in (["--config", tmp_path / "foreign.toml", "--dry-run"], ["--resume", tmp_path / "run"]):
        assert command("run", *arguments, monkeypatch=monkeypatch) == 2
        error = capsys.readouterr().err
        assert f"{setting} = {agent!r} runs a program on this machine" in error
        assert "--allow-programs" in error


def test_a_program_of_any_family_of_agents_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    engines = Registration("gtp:", lambda program, game: None, "an engine", runs_programs=True)
    monkeypatch.setitem(plugins().agents, "gtp:", engines)
    assert program_agent("gtp:/bin/sh") == "gtp:/bin/sh"
    assert program_agent("flat?a=gtp:/bin/sh") == "gtp:/bin/sh"
    assert program_agent("flat") == program_agent("gtp") == ""


def test_allowed_programs_are_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    program.chmod(0o755)
    write_toml(tmp_path / "my.toml", {"game": "chess", "network": NETWORK, "data": {"agent": f"uci?path={program}"}})
    command("run", "--config", tmp_path / "my.toml", "--dry-run", monkeypatch=monkeypatch)
    assert not (tmp_path / "started").exists()
    command("run", "--config", tmp_path / "my.toml", "--dry-run", "--allow-programs", monkeypatch=monkeypatch)
    assert (tmp_path / "started").exists()


def test_a_run_learns_from_the_searches_of_experts_wherever_it_goes_on(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(trained / "experts", tmp_path / "experts")
    monkeypatch.chdir(tmp_path)
    words = ["--game", "tictactoe", "--network", NETWORK, "--preset", "smoke", "--set", "data.samples=150"]
    words += ["--set", "data.agent=experts?simulations=8", "--set", "data.against=random", "--out", "run"]
    assert command("train", *words, monkeypatch=monkeypatch) == 0
    monkeypatch.chdir("/")
    config = read_toml(tmp_path / "run" / "config.toml")["data"]
    # What was chosen here stands in the settings, so that it is the same agent on another machine.
    assert config["agent"].startswith(f"{tmp_path}/experts?simulations=8&backend=")
    assert config["against"] == "random"
    samples = Training.load(tmp_path / "run").sources().training
    assert samples.are_searched(samples.rows).all()
    manifest = tmp_path / "experts" / "manifest.toml"
    manifest.write_text(manifest.read_text().replace('scheme = "separated"', 'scheme = "staged"'))
    with pytest.raises(ForeignData, match=r"part data was made with other settings: experts of .*"):
        finish(Training.load(tmp_path / "run"), NoProgress())


def test_the_arms_of_a_run_play_experts_that_were_trained_before(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(trained / "experts", tmp_path / "experts")
    monkeypatch.chdir(tmp_path)
    words = ["--game", "tictactoe", "--network", NETWORK, "--preset", "smoke", "--gate", "none"]
    words += ["--set", "data.samples=150", "--set", "match.field=experts?simulations=8", "--out", "run"]
    assert command("run", *words, monkeypatch=monkeypatch) == 0
    assert f"against the agent {tmp_path}/experts?simulations=8" in (tmp_path / "run/report/report.md").read_text()
    monkeypatch.chdir("/")
    run = Experiment.load(tmp_path / "run")
    assert run.matches.field.name.startswith(f"{tmp_path}/experts?simulations=8&backend=")
    assert run.matches.opponent_model() is None
    manifest = tmp_path / "experts" / "manifest.toml"
    manifest.write_text(manifest.read_text().replace('scheme = "separated"', 'scheme = "staged"'))
    with pytest.raises(ForeignData, match=r"was made with other settings: experts of .*"):
        finish(Experiment.load(tmp_path / "run"), NoProgress())
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    words[-3:] = ["match.field=expert", "--set", "match.opponent_model=self", "--dry-run"]
    assert command("run", *words, monkeypatch=monkeypatch) == 2
    assert "no agent named 'expert'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("--data {data} --set data.keep=0.5", "data.keep has no effect if data.folder is given"),
        ("--set data.reader=pgn", "data.reader has no effect without data.games"),
        ("--data {data}/manifest.toml", "tictactoe reads no games from"),
        ("--data {data} --set data.agent=flat", "data.agent has no effect if data.folder is given"),
        ("--data {data} --validation {data} --set training.validation_fraction=0.2", "has no effect if data.valid"),
        ("--set training.seed=5", "training.seed has no effect in a run, got 5; use seed"),
        (
            "--set training.schedule=constant --set training.plateau_patience=2",
            "training.plateau_patience has no effect with training.schedule=constant",
        ),
        (
            "--set training.schedule=constant --set training.tolerance=0.1",
            "training.tolerance has no effect without training.patience and with training.schedule=constant",
        ),
        ("--set training.wdl_weight=0.1", "wdl_weight has no effect, got 0.1: no trained network has this output"),
        (
            "--network mlp --set training.plies_weight=0",
            "plies_weight has no effect, got 0: no trained network",
        ),
        ("--set seed=1e400", "seed: expected a number up to 1e+15, got inf"),
        ("--set training.epochs=inf", "training.epochs: Input should be a finite number, got 'inf'"),
        ("--set training.epochs=NaN", "training.epochs: expected a number up to 1e+15, got nan"),
        ("--set seed=99999999999", "seed: Input should be less than or equal to 4294967295, got 99999999999"),
        ("--set seed=" + "9" * 5000, "seed: "),
        ("--gate plies?cuts=" + "[" * 20000, "gate 'plies': expected cuts as"),
    ],
)
def test_settings_without_effect_or_sense_are_one_line(
    arguments: str,
    line: str,
    trained: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = arguments.format(data=trained / "data").split()
    folder = tmp_path / "out"
    assert command("train", "--game", "tictactoe", *words, "--out", folder, monkeypatch=monkeypatch) == 2
    error = capsys.readouterr().err
    assert line in error
    assert len(error.splitlines()) == 1
    assert not folder.exists()


def test_the_weight_of_a_term_has_an_effect_where_one_of_the_networks_has_the_head(tmp_path: Path) -> None:
    config = ExperimentConfig(
        game="tictactoe", network="mlp", other_networks=["resnet?value_head=wdlp"], training={"wdl_weight": 0.1}
    )
    assert Experiment.prepare(tmp_path / "run", config).config.training.wdl_weight == 0.1
    with pytest.raises(UsageError, match="wdl_weight has no effect"):
        Experiment.prepare(tmp_path / "run", config.model_copy(update={"other_networks": []}))


def test_a_dataset_is_learned_from_as_a_whole_and_its_size_is_no_setting(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["--game", "tictactoe", "--network", NETWORK, "--data", trained / "data", "--preset", "smoke"]
    assert command("train", *arguments, "--out", tmp_path / "out", monkeypatch=monkeypatch) == 0
    assert "samples" not in read_toml(tmp_path / "out" / "config.toml")["data"]
    assert Training.load(tmp_path / "out").pending_parts() == []


@pytest.mark.parametrize("kind", ["run", "train", "selfplay"])
def test_a_preset_beside_a_file_that_says_all_of_it_is_refused(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--game", "tictactoe", "--network", NETWORK, "--preset", "smoke", "--dry-run"]
    assert command(kind, *words, monkeypatch=monkeypatch) == 0
    (tmp_path / "config.toml").write_text(capsys.readouterr().out)
    for words in (["--preset", "smoke"], ["--preset", "laptop", "--set", "training.epochs=2"]):
        assert command(kind, "--config", "config.toml", *words, "--dry-run", monkeypatch=monkeypatch) == 2
        error = capsys.readouterr().err
        assert (
            f"--preset {words[1]} has no effect beside --config config.toml, which sets everything that the pre"
            in error
        )
        assert len(error.splitlines()) == 1


@pytest.mark.parametrize("kind", ["run", "train", "selfplay"])
def test_the_file_of_a_run_makes_the_same_run(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--game", "tictactoe", "--network", NETWORK, "--gate", "plies?cuts=3", "--preset", "smoke", "--dry-run"]
    assert command(kind, *words, monkeypatch=monkeypatch) == 0
    (tmp_path / "config.toml").write_text(text := capsys.readouterr().out)
    # What has no value is left out of it, and is not that of the default preset then.
    assert command(kind, "--config", "config.toml", "--dry-run", monkeypatch=monkeypatch) == 0
    assert capsys.readouterr().out == text


def test_a_file_lies_over_the_preset_and_options_over_both(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text('game = "tictactoe"\nnum_seeds = 2\n[search]\nsimulations = 3\n')
    given = RunArguments(config=tmp_path / "own.toml", preset="smoke", changes=["num_seeds=4"])
    found = read_settings(given, ExperimentConfig)
    assert (found.search.simulations, found.num_seeds, found.data.samples) == (3, 4, 20_000)


def test_samples_that_a_file_leaves_to_a_preset_are_none_where_games_are_given(trained: Path, tmp_path: Path) -> None:
    values = read_toml(trained / "config.toml")
    values |= {"summary": "", "data": {"folder": str(trained / "data")}}
    write_toml(tmp_path / "own.toml", values)
    with pytest.raises(UsageError, match="--preset smoke has no effect beside --config"):
        read_settings(RunArguments(config=tmp_path / "own.toml", preset="smoke"), TrainingConfig)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["--game", "tictactoe"], "tictactoe-plies-laptop"),
        (["--game", "tictactoe", "--preset", "smoke"], "tictactoe-plies-smoke"),
        (["--config", "my sizes.toml"], "tictactoe-plies-my-sizes"),
        (["--config", "my sizes.toml", "--preset", "smoke"], "tictactoe-plies-smoke-my-sizes"),
    ],
)
def test_a_new_folder_is_called_by_what_says_how_large_the_run_is(
    words: list[str],
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my sizes.toml").write_text('game = "tictactoe"\n')
    words = [*words, "--network", NETWORK, "--dry-run"]
    assert command("run", *words, monkeypatch=monkeypatch) == 0
    assert capsys.readouterr().err.partition(":")[0].endswith(f"_{name}")


@pytest.mark.parametrize("name", ["x" * 300, "\udcff"], ids=["too long", "no UTF-8"])
@pytest.mark.parametrize("kind", ["run", "train"])
def test_a_folder_that_cannot_be_is_refused_before_any_work(
    kind: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command(kind, "--game", "tictactoe", "--out", name, monkeypatch=monkeypatch) == 2
    assert "choose another name" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_same_gate_twice_is_named_and_no_table_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gates = ["--gate", "plies", "--gate", "plies"]
    assert command("run", "--game", "tictactoe", *gates, monkeypatch=monkeypatch) == 2
    assert capsys.readouterr().err == "error: expected different gates, got 'plies' twice\n"


def test_a_file_with_defaults_that_have_no_effect_is_read(trained: Path) -> None:
    values = read_toml(trained / "config.toml")
    assert (values["training"]["plateau_patience"], values["training"]["seed"]) == (5, 0)
    found = read_settings(RunArguments(config=trained / "config.toml"), TrainingConfig)
    assert found.training.plateau_patience == 5


def test_samples_that_begin_with_those_that_are_learned_from_are_refused(trained: Path, tmp_path: Path) -> None:
    game = plugins().game("tictactoe")
    agents = [resolve_agent("random", game)] * 2
    for name, seed, num_samples, keep in (("a", 1, 300, 1.0), ("b", 1, 200, 1.0), ("c", 1, 300, 0.5), ("d", 2, 300, 1)):
        generate(game, agents, num_samples, seed=seed, out=tmp_path / name, reference="tictactoe", keep=keep)
    # The same game by another name that users may give it.
    generate(game, agents, 200, seed=1, out=tmp_path / "e", reference="tictactoe?")

    join([tmp_path / "d", tmp_path / "b"], game, out=tmp_path / "joined")

    def opened(kind: str, name: str) -> Sources:
        data = DataConfig(folder=str(tmp_path / "a"), **{kind: str(tmp_path / name)})
        return open_sources(data, tmp_path / "own", game)

    for kind in ("validation", "test"):
        for name in ("b", "c", "e"):
            with pytest.raises(UsageError, match="expected different games to learn from and to measure on"):
                opened(kind, name)
        assert len(opened(kind, "d").training) == 300
        # One that was joined of several has the games of each.
        with pytest.raises(UsageError, match=r"got those of .* with seed 1 as training .* and as \w+ .*joined"):
            opened(kind, "joined")


@pytest.mark.parametrize("part", ["", "experts"])
def test_how_a_baseline_learned_is_found_by_its_training_and_by_its_experts(
    part: str, trained: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(trained, tmp_path / "run"))
    edit(folder, lambda values: values.update(baseline=str(trained / part)))
    outcomes = Training.load(folder).outcomes()
    assert outcomes.metrics
    assert outcomes.baseline_metrics == outcomes.metrics


def test_a_baseline_that_may_have_learned_from_what_is_held_out_is_said_so(trained: Path, tmp_path: Path) -> None:
    game = plugins().game("tictactoe")
    agents = [resolve_agent("random", game)] * 2
    for name, seed in (("data", 1), ("other", 2)):
        generate(game, agents, 300, seed=seed, out=tmp_path / name, reference="tictactoe")

    def made(name: str, *, data: dict[str, Any] | None = None, **changes: Any) -> Training:
        settings = {**SMALL, "data": {"folder": str(tmp_path / "data"), **(data or {})}, **changes}
        training = Training.create(tmp_path / name, validate(settings, TrainingConfig))
        with training.locked():
            training.work(NoProgress())
        return training

    baselines = {
        "alike": made("alike"),
        "with seed 1, not 0": made("seed", seed=1),
        "and measured on": made("apart", data={"validation": str(tmp_path / "other")}),
        "with validation_fraction 0.3, not 0.05": made(
            "more", training={**SMALL["training"], "validation_fraction": 0.3}
        ),
        "of which it saw": made("part", data={"samples": 150}),
        "an unknown split": made("lost"),
    }
    (tmp_path / "lost" / "training" / "identity.json").unlink()
    for words, baseline in baselines.items():
        warning = made(f"to {baseline.folder.name}", baseline=str(baseline.folder)).outcomes().warning
        assert (words in warning) if words != "alike" else not warning
    whole = made("tested", data={"test": str(tmp_path / "other")}, baseline=str(tmp_path / "alike"))
    assert not whole.outcomes().warning
    seen = made(
        "seen",
        data={"folder": str(tmp_path / "other"), "test": str(tmp_path / "data")},
        baseline=str(tmp_path / "alike"),
    )
    assert "learned from the test samples themselves" in seen.outcomes().warning
    # Of several that were joined each is known again.
    join([tmp_path / "data", tmp_path / "other"], game, out=tmp_path / "both")
    both = made("both runs", data={"folder": str(tmp_path / "both")})
    assert "of which it saw" in made("one of both", baseline=str(both.folder)).outcomes().warning
    one_of_both = made("both again", data={"folder": str(tmp_path / "both")}, baseline=str(tmp_path / "alike"))
    assert "of which it saw" in one_of_both.outcomes().warning


def test_the_same_games_seen_by_other_planes_are_no_others(tmp_path: Path) -> None:
    for name, reference, count in (("plain", "chess", 30), ("attacks", "chess?planes=attacks", 20)):
        game = plugins().game(reference)
        generate(game, [resolve_agent("random", game)] * 2, count, seed=1, out=tmp_path / name, reference=reference)
    data = DataConfig(folder=str(tmp_path / "plain"), validation=str(tmp_path / "attacks"))
    with pytest.raises(UsageError, match="expected different games to learn from and to measure on"):
        open_sources(data, tmp_path / "own", plugins().game("chess"))


@pytest.mark.parametrize("changes", [{"search": {"seconds": 0.1}}, {"match": {"games": 4, "field": "uct?seconds=0.1"}}])
def test_games_of_agents_that_time_limits_are_played_one_after_the_other(
    changes: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from moemcts.runs.experiment import boards

    run = experiment(tmp_path / "timed", **changes)
    played: list[Any] = []

    def play(game: Any, schedule: Any, conditions: Any, **options: Any) -> Any:
        played.append((conditions.max_parallel, options["workers"]))
        raise InterruptedError

    monkeypatch.setattr(boards, "play_match", play)
    schedule = types.SimpleNamespace(lineups=())
    with pytest.raises(InterruptedError):
        run.matches.boards.play(schedule, 0, label="x", workers=workers(2))  # type: ignore[arg-type]
    assert played == [(1, None)]


def test_an_export_finds_the_imported_games_of_its_run(tmp_path: Path) -> None:
    from moemcts.cli.export import _own_dataset

    game = plugins().game("tictactoe")
    for name, seed in (("train", 1), ("validation", 2)):
        players = [resolve_agent("random", game)] * 2
        generate(game, players, 40, seed=seed, out=tmp_path / "data" / name, reference="tictactoe")
    whole = open_sources(DataConfig(folder=str(tmp_path / "data")), tmp_path, game).training.id
    for data, is_found in ((whole, True), (f"{whole}, 20 samples", True), ("another", False)):
        found = _own_dataset(tmp_path / "experts", {"data": data}, game)
        assert (found is not None and found.id == whole) == is_found


def test_the_command_that_resumes_a_run_can_be_pasted_into_a_shell(tmp_path: Path) -> None:
    folder = tmp_path / "two words; ä"
    run = experiment(folder)
    assert run.resume_command == f"moemcts run --resume '{folder}'"
    told = re.escape(f"resume it: {run.resume_command}")
    with pytest.raises(MoemctsError, match=told):
        experiment(folder)
    with pytest.raises(MoemctsError, match=told):
        rewrite(folder)


def test_an_error_in_the_settings_of_a_run_names_their_file(tmp_path: Path) -> None:
    folder = experiment(tmp_path / "run").folder
    write_text(folder / "config.toml", "")
    with pytest.raises(UsageError, match=re.escape(f"{folder / 'config.toml'}: game is missing")):
        Experiment.read(folder)

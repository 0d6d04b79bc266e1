"""Every experiment of the papers starts by one command, and its numbers stand beside the published ones."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pytest
import typer

from moemcts.arena.rating import elo
from moemcts.cli.app import make_app
from moemcts.cli.main import main
from moemcts.cli.reproduce import run_command
from moemcts.errors import UsageError
from moemcts.plugins import plugins
from moemcts.runs.papers import join, value_at
from moemcts.runs.reproduction import Reproduction, format_value, has_program

PAPERS = join(plugins().papers)
COMMANDS = list(typer.main.get_command(make_app()).commands)  # type: ignore[attr-defined]


def missing(name: str) -> str:
    """Returns what this machine or version lacks for an experiment."""
    run = Reproduction(PAPERS, PAPERS.find(name), PAPERS.size("smoke", []), Path("nowhere"))
    programs = [program for program in run.experiment.programs if not has_program(program)]
    commands = [run.command(step)[0] for step in run.steps if run.command(step)[0] not in COMMANDS]
    return ", ".join([*programs, *commands])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("papers")


@pytest.mark.parametrize("name", [one.name for one in PAPERS.experiment])
def test_every_experiment_starts_at_smoke_size(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if missing(name):
        pytest.skip(f"needs {missing(name)}")
    words = ["reproduce", name, "--preset", "smoke", "--out", str(folder), "--json"]
    monkeypatch.setattr(sys, "argv", ["moemcts", *words])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 0, capsys.readouterr().err
    numbers = json.loads(capsys.readouterr().out)["numbers"]
    wanted = {one.what for one in PAPERS.find(name).numbers if one.ours}
    assert wanted == {one["what"] for one in numbers if format_value(one["ours"]) is not None}
    assert (folder / name / "report" / "report.html").exists()


def test_there_are_the_papers_24_experiments() -> None:
    assert len(PAPERS.experiment) == 24
    assert all(one.sources and one.numbers for one in PAPERS.experiment)


@pytest.mark.parametrize("preset", ["smoke", "laptop", "paper"])
def test_every_step_of_every_preset_is_a_command_whose_names_stand_for_something(preset: str, tmp_path: Path) -> None:
    for one in PAPERS.experiment:
        run = Reproduction(PAPERS, one, PAPERS.size(preset, []), tmp_path, tmp_path / "games.pgn")
        for step in run.steps:
            assert run.command(step)
        for number in one.numbers:
            assert not number.ours or number.ours.partition(":")[0] in run.steps


def test_what_papers_took_from_games_of_people_is_not_played_here() -> None:
    with pytest.raises(Exception, match=r"preset paper needs real games for 'games': give .* --data"):
        PAPERS.with_dependencies(["single"], is_given=False, preset="paper")


def test_a_step_that_was_interrupted_goes_on_only_as_it_was_begun(tmp_path: Path) -> None:
    one = next(one for one in PAPERS.experiment if len(one.steps) > 1 and not one.programs)
    run, other = (Reproduction(PAPERS, one, PAPERS.size("smoke", [f"samples={n}"]), tmp_path) for n in (400, 600))
    first = next(step for step in run.steps if run.command(step) != other.command(step))
    done: list[str] = []

    def do(words: Sequence[str]) -> str:
        done.append(step := run.steps[len(done)])
        if step == first:
            (tmp_path / "made" / step).mkdir(parents=True)
            raise KeyboardInterrupt
        return "{}"

    with pytest.raises(KeyboardInterrupt):
        run.work(do, print)
    with pytest.raises(UsageError, match=f"{first} was made by another command, .*; give another --out"):
        other.work(lambda words: "{}", print)
    told: list[str] = []
    run.work(lambda words: "{}", told.append)
    assert f"step {len(done)} of" in told[0]
    run.work(lambda words: pytest.fail("all is done"), print)


PGN = """[Event "A game"]
[White "A"]
[Black "B"]
[Date "2016.01.05"]
[Result "1-0"]

1. e4 e5 2. Nf3 Nc6 3. Bc4 Nf6 4. Ng5 d5 5. exd5 Nxd5 6. Nxf7 Kxf7 1-0
"""


def test_an_import_that_was_done_before_a_kill_is_not_done_again(tmp_path: Path) -> None:
    games = tmp_path / "games.pgn"
    games.write_text(PGN)
    size = PAPERS.size("smoke", [])
    first, *others = (Reproduction(PAPERS, PAPERS.find("phases"), size, tmp_path, games) for _ in range(2))
    assert first.steps[0] == "games"
    done: list[Sequence[str]] = []

    def killed(words: Sequence[str]) -> str:
        run_command(typer.main.get_command(make_app()), words)
        raise KeyboardInterrupt

    def note(words: Sequence[str]) -> str:
        done.append(words)
        return "{}"

    with pytest.raises(KeyboardInterrupt):
        first.work(killed, lambda text: None)
    for run in others:
        run.work(note, lambda text: None)
    assert [words[:2] for words in done] == [["data", "figures"]]
    answer = json.loads((tmp_path / "made" / "games.json").read_text())["answer"]
    assert (answer["num_games"], answer["splits"]) == (1, {"train": {"games": 1, "positions": 12}})


def test_a_path_finds_keys_with_points_items_and_all_items() -> None:
    value = {"a": [{"b": 1}, {"b": 2}], "x.y": {"z": 3}}
    assert value_at(value, "a.-1.b") == 2
    assert value_at(value, "a.*.b") == [1, 2]
    assert value_at(value, "x.y.z") == 3
    assert value_at(value, "a.5.b") is None
    assert value_at(value, "nothing") is None
    assert format_value({"difference": 12.34, "error": None}) == "+12.3"


def test_a_bound_is_shown_as_one() -> None:
    assert format_value(asdict(elo(10, 0, 0))) == "> +182.7"
    assert format_value([asdict(elo(0, 0, 10)), asdict(elo(5, 5, 5))]) == f"< -182.7 / {elo(5, 5, 5)}"


def test_the_page_of_the_documents_is_written_from_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(__file__).parent.parent.parent
    monkeypatch.syspath_prepend(str(root / "scripts"))
    import papers_page

    assert papers_page.PAGE.read_text() == papers_page.page(), "run python scripts/papers_page.py"

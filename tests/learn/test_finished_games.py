"""A generation that is killed loses no game that was over: it goes on with them and ends in the same bytes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from learning_games import GreedyAgent

from moemcts.agents import Agent, Decision, RandomAgent, Seat
from moemcts.errors import ForeignData
from moemcts.evaluation import UniformEvaluator
from moemcts.game import Views
from moemcts.learn.data import finished_games
from moemcts.learn.data.dataset import Dataset
from moemcts.learn.data.finished_games import FinishedGames
from moemcts.learn.data.generation import generate
from moemcts.learn.data.records import Records
from moemcts.learn.data.varied import seat_agents
from moemcts.plugins import plugins
from moemcts.runs import ExperimentConfig
from moemcts.runs.learning import play_games
from moemcts.runs.settings import validate
from moemcts.search import SearchAgent, SearchConfig
from moemcts.store import clear_leftovers, read_toml

NATIVE = plugins().game("tictactoe")
SEARCH = SearchConfig(simulations=8, noise_fraction=0.25, temperature=1.0, temperature_plies=9, reuse=True)


def searching() -> Agent:
    """Returns an agent that draws noise and moves, and takes its trees from move to move."""
    return SearchAgent(NATIVE, UniformEvaluator(NATIVE.spec), SEARCH)


SETTINGS: dict[str, tuple[Callable[[], Sequence[Agent]], dict[str, Any]]] = {
    "searching": (lambda: [searching()] * 2, {}),
    "a share of the positions": (lambda: [searching()] * 2, {"keep": 0.2, "num_samples": 40}),
    "the first agent alone": (lambda: [searching(), RandomAgent()], {"only_first": True, "num_samples": 100}),
    "random plies": (lambda: seat_agents([searching()], 2, random_plies=3), {}),
    "all of these": (
        lambda: seat_agents([searching()], 2, against=RandomAgent(), random_plies=2),
        {"keep": 0.5, "only_first": True, "num_samples": 50},
    ),
}


def play(out: Path, agents: Sequence[Agent], *, num_samples: int = 200, **options: Any) -> Path:
    options = {"seed": 3, "games_per_shard": 12, "parallel_games": 4, **options}
    return generate(NATIVE, agents, num_samples, out=out, **options)


def contents(folder: Path) -> dict[str, bytes]:
    """Returns all that a user sees of a folder."""
    paths = [path for path in folder.rglob("*") if not path.name.startswith(".")]
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"" for path in paths}


def files_of_games(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.games/*.safetensors"))


class Cancelled(Exception):
    """Ends a generation somewhere."""


def stop_after(num_calls: int) -> Callable[[int, int], None]:
    """Returns what hears of progress and raises at a call."""
    calls = iter(range(num_calls))

    def hear(done: int, total: int) -> None:
        if next(calls, None) is None:
            raise Cancelled

    return hear


def is_played(out: Path, agents: Sequence[Agent], **options: Any) -> bool:
    """Returns whether games were played to their end."""
    try:
        play(out, agents, **options)
    except Cancelled:
        return False
    return True


@pytest.mark.parametrize("name", SETTINGS)
def test_a_generation_that_is_broken_off_again_and_again_ends_in_the_same_bytes(tmp_path: Path, name: str) -> None:
    agents, options = SETTINGS[name]
    whole = contents(play(tmp_path / "whole", agents(), **options))
    num_stops = 0
    # A game takes nine rounds at most, so that every start brings some to their end.
    while not is_played(tmp_path / "broken", agents(), on_progress=stop_after(11 + num_stops % 5), **options):
        num_stops += 1
        assert num_stops < 100
    assert num_stops > 3
    assert contents(tmp_path / "broken") == whole
    ids = [Dataset.open(tmp_path / folder, NATIVE).id for folder in ("whole", "broken")]
    assert ids[0] == ids[1]


def test_no_finished_game_is_played_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    over: list[int] = []
    add = FinishedGames.add

    def noted(self: FinishedGames, number: int, records: Records) -> None:
        over.append(number)
        add(self, number, records)

    monkeypatch.setattr(FinishedGames, "add", noted)
    play(tmp_path / "whole", [RandomAgent()] * 2)
    needed = sorted(over)
    over.clear()
    for num_calls in (12, 15, 20):
        with pytest.raises(Cancelled):
            play(tmp_path / "broken", [RandomAgent()] * 2, on_progress=stop_after(num_calls))
    num_before = len(over)
    play(tmp_path / "broken", [RandomAgent()] * 2)
    assert 0 < num_before < len(over)
    assert sorted(over) == needed


def test_progress_goes_on_with_the_samples_of_finished_games(tmp_path: Path) -> None:
    with pytest.raises(Cancelled):
        play(tmp_path, [RandomAgent()] * 2, on_progress=stop_after(12))
    seen: list[int] = []
    play(tmp_path, [RandomAgent()] * 2, on_progress=lambda done, total: seen.append(done))
    assert seen[0] >= 12
    assert seen == sorted(seen)
    assert seen[-1] == 200


def test_a_run_goes_on_with_the_games_that_were_over(tmp_path: Path) -> None:
    data = {"samples": 150, "agent": "uct?simulations=20", "against": "random", "random_plies": 1}
    config = validate({"game": "tictactoe", "seed": 2, "data": data}, ExperimentConfig)
    play_games(config, NATIVE, tmp_path / "whole", lambda done, total: None)
    with pytest.raises(Cancelled):
        # All games are under way at once, so that the shorter ones are over before the others.
        play_games(config, NATIVE, tmp_path / "broken", stop_after(7))
    assert files_of_games(tmp_path / "broken")
    seen: list[int] = []
    play_games(config, NATIVE, tmp_path / "broken", lambda done, total: seen.append(done))
    assert seen[0] > 0
    assert contents(tmp_path / "broken") == contents(tmp_path / "whole")


KILLED = """
import sys
import time
sys.path[:0] = {paths}
from pathlib import Path
from test_finished_games import play, searching
from moemcts.learn.data import finished_games
finished_games.SECONDS_UNWRITTEN = 0
def tell(done, total):
    print(done, flush=True)
    time.sleep(0.05)
play(Path({out!r}), [searching()] * 2, games_per_shard=100, on_progress=tell)
"""


def test_a_killed_generation_loses_no_finished_game(tmp_path: Path) -> None:
    whole = contents(play(tmp_path / "whole", [searching()] * 2, games_per_shard=100))
    paths = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]
    code = KILLED.format(paths=paths, out=str(tmp_path / "killed"))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in process.stdout:
            if files_of_games(tmp_path / "killed"):
                os.kill(process.pid, signal.SIGKILL)
                break
        process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert files_of_games(tmp_path / "killed")
    seen: list[int] = []
    play(
        tmp_path / "killed",
        [searching()] * 2,
        games_per_shard=100,
        on_progress=lambda done, total: seen.append(done),
    )
    assert seen[0] > 0
    assert contents(tmp_path / "killed") == whole


@pytest.fixture
def broken_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns a generation whose first shard has several files of games."""
    monkeypatch.setattr(finished_games, "SECONDS_UNWRITTEN", 0)
    with pytest.raises(Cancelled):
        play(tmp_path / "broken", [RandomAgent()] * 2, on_progress=stop_after(13))
    assert len(files_of_games(tmp_path / "broken")) > 1
    return tmp_path / "broken"


@pytest.mark.parametrize(
    "tear",
    [
        lambda content: b"",
        lambda content: content[:-5],
        lambda content: content + b"\0",
        lambda content: content[:-1] + bytes([content[-1] ^ 1]),
    ],
)
def test_games_of_a_file_that_is_not_whole_are_played_again(
    broken_off: Path, tmp_path: Path, tear: Callable[[bytes], bytes]
) -> None:
    torn = files_of_games(broken_off)[0]
    torn.write_bytes(tear(torn.read_bytes()))
    # What a writer that was killed leaves beside it; process 0 is nobody.
    (torn.parent / f".{torn.name}.0-1.part").write_bytes(b"half")
    clear_leftovers(broken_off)
    assert contents(play(broken_off, [RandomAgent()] * 2)) == contents(play(tmp_path / "whole", [RandomAgent()] * 2))
    assert not list(broken_off.glob("*.games"))


def test_finished_games_of_another_dataset_are_refused(broken_off: Path, tmp_path: Path) -> None:
    with pytest.raises(ForeignData, match=r"source.seed 3, not 4"):
        play(broken_off, [RandomAgent()] * 2, seed=4)
    # Nor are they taken where the manifest is another's.
    (tmp_path / "other").mkdir()
    next(broken_off.glob("*.games")).rename(tmp_path / "other" / "shard-00000.games")
    before = contents(tmp_path / "other")
    with pytest.raises(ForeignData, match=r"\.games/.*source.seed 3, not 4; use the same settings to continue it"):
        play(tmp_path / "other", [RandomAgent()] * 2, seed=4)
    with pytest.raises(ForeignData, match=r"source.agents \['random', 'random'\], not \['greedy', 'greedy'\]"):
        play(tmp_path / "other", [GreedyAgent()] * 2, seed=4)
    assert before.items() <= contents(tmp_path / "other").items()


def test_what_a_kill_leaves_beside_a_shard_that_is_written_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = contents(play(tmp_path / "whole", [RandomAgent()] * 2))
    monkeypatch.setattr(finished_games, "SECONDS_UNWRITTEN", 0)

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(FinishedGames, "__exit__", killed)
    with pytest.raises(KeyboardInterrupt):
        play(tmp_path / "killed", [RandomAgent()] * 2)
    monkeypatch.undo()
    assert len(read_toml(tmp_path / "killed" / "manifest.toml")["shards"]) == 1
    assert files_of_games(tmp_path / "killed")
    assert contents(play(tmp_path / "killed", [RandomAgent()] * 2)) == whole


def test_games_that_are_quickly_over_are_written_with_their_shard_alone(tmp_path: Path) -> None:
    def hear(done: int, total: int) -> None:
        assert not list(tmp_path.glob("*.games"))

    play(tmp_path, [RandomAgent()] * 2, on_progress=hear)


class Slow(RandomAgent):
    """An agent that takes some seconds of a clock for each round."""

    def __init__(self, clock: list[float], seconds: float) -> None:
        self.clock = clock
        self.seconds = seconds

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        self.clock[0] += self.seconds
        return super().act(views, seats)


@pytest.mark.parametrize("seconds", [0.5, 4.0, 60.0])
def test_no_finished_game_waits_longer_than_a_round_and_some_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    clock = [0.0]
    monkeypatch.setattr(finished_games, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    over: dict[int, float] = {}
    waited: list[float] = []
    add, save = FinishedGames.add, FinishedGames.save

    def noted_add(self: FinishedGames, number: int, records: Records) -> None:
        over[number] = clock[0]
        add(self, number, records)

    def noted_save(self: FinishedGames) -> None:
        waited.extend(clock[0] - began for began in over.values())
        over.clear()
        save(self)

    monkeypatch.setattr(FinishedGames, "add", noted_add)
    monkeypatch.setattr(FinishedGames, "save", noted_save)
    play(tmp_path, [Slow(clock, seconds)] * 2, games_per_shard=100)
    assert waited
    assert max(waited) <= finished_games.SECONDS_UNWRITTEN
    if seconds > finished_games.SECONDS_UNWRITTEN:
        assert max(waited) == 0

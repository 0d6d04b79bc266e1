"""Who is promoted plays the next games, and who may be needed is kept."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from selfplay_for_tests import selfplay, work

from moemcts.arena.rating import Sprt
from moemcts.errors import DamagedFile
from moemcts.learn.loop.config import PromotionConfig
from moemcts.runs.selfplay import matches, playing
from moemcts.runs.selfplay.duels import in_turn
from moemcts.runs.selfplay.generations import LEARNED, PLAYED, PROMOTED, Generations
from moemcts.runs.selfplay.learning import GenerationTrainer
from moemcts.runs.selfplay.run import SelfPlay
from moemcts.store import read_json, read_toml, write_json, write_toml
from moemcts.work import InProcess
from moemcts.work.progress import Advance, ignore_progress


class Alone(InProcess):
    """This process in place of others."""

    count = 1

    def keep_idle(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()


def test_a_sequential_test_is_decided_within_its_games() -> None:
    rule = PromotionConfig()
    sprt = Sprt(elo0=rule.elo0, elo1=rule.elo1, model="logistic")
    # Pairs with 0, 1/2, 1, 3/2 and 2 points: 70 % of all points, and half of them.
    stronger, equal = (4, 0, 22, 0, 24), (12, 0, 26, 0, 12)
    assert 2 * sum(stronger) == 2 * sum(equal) == rule.games
    assert (sprt.decision(stronger), sprt.decision(equal)) == ("H1", "H0")
    # A fifth of that difference could not be told from none, even if all games were won.
    assert Sprt(elo0=0, elo1=20, model="logistic").decision((0, 0, 0, 0, rule.games // 2)) == "undecided"


def test_who_is_not_promoted_does_not_play(tmp_path: Path) -> None:
    run = selfplay(tmp_path / "run", generations=2, promotion={"score": 0.999}, gauntlet={"games": 0})
    work(run)
    assert [run.on_disk.champion(one) for one in (0, 1, 2)] == [0, 0, 0]
    assert read_toml(run.on_disk.games(2) / "manifest.toml")["source"]["champion"] == 0


@pytest.mark.parametrize("rule", [{"rule": "score", "score": 0.4}, {"rule": "sprt", "elo0": 0.0, "elo1": 400.0}])
def test_equals_of_a_game_of_four_have_as_many_seats_where_one_is_to_be_promoted(
    tmp_path: Path, rule: dict[str, Any]
) -> None:
    changes = {"game": "pommerman?max_steps=20", "gate": "none", "generations": 1, "gauntlet": {"games": 0}}
    run = work(selfplay(tmp_path / "run", **changes, promotion={"games": 4, **rule}, search={"simulations": 2}))
    records = [json.loads(line) for line in (tmp_path / "run/matches/promote-0001.jsonl").read_text().splitlines()]
    seats = {tuple(record["agents"]) for record in records if "moves" in record}
    assert seats == {("generation 1", "generation 0") * 2, ("generation 0", "generation 1") * 2}
    _, drawn, won = counts = run.on_disk.read_result(1, PROMOTED)["counts"]
    assert sum(counts) == 4
    # Four games are too few for a sequential test between 0 and 400 Elo.
    assert run.on_disk.champion(1) == int(rule["rule"] == "score" and won + drawn / 2 > 0.4 * 4)


def test_nobody_is_promoted_where_two_agents_cannot_have_as_many_seats() -> None:
    three: Any = SimpleNamespace(spec=SimpleNamespace(num_players=3, sides=((0,), (1,), (2,))))
    with pytest.raises(ValueError, match="as many each, got 3"):
        in_turn(three, "newest", "champion")


def promoting(monkeypatch: pytest.MonkeyPatch, *generations: int) -> None:
    """Lets promotion matches end so that these generations are promoted, and no others."""
    names = {f"generation {one}" for one in generations}
    monkeypatch.setattr(matches, "is_promoted", lambda result, name, **rule: name in names)


@pytest.mark.parametrize("ahead", [False, True])
def test_who_plays_is_kept_until_the_next_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ahead: bool
) -> None:
    promoting(monkeypatch, 1)
    monkeypatch.setattr(playing, "Processes", lambda count, hint: Alone())
    learning, promotion = {"optimiser": "kept"}, {"goes_on": "champion"}
    changes = {"keep": 2, "gauntlet": {"games": 0}, "learning": learning, "promotion": promotion}
    run = work(selfplay(tmp_path / "run", generations=4, games={"ahead": ahead}, **changes))
    assert [run.on_disk.champion(one) for one in range(5)] == [0, 1, 1, 1, 1]
    kept = [path.parent.name for path in sorted((tmp_path / "run").glob("generations/*/experts"))]
    assert kept == ["0000", "0001", "0002", "0004"]
    # A generation learns on from the champion, with what its optimisers have gathered.
    gathered = [path.parent.name for path in sorted((tmp_path / "run").glob("generations/*/optimisers"))]
    assert gathered == ["0001", "0004"]


def test_who_may_sit_opposite_a_later_champion_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    promoting(monkeypatch, 1, 4)
    games = {"opponents": "league", "league": 2}
    work(selfplay(tmp_path / "run", generations=3, keep=9, games=games, gauntlet={"games": 0}))
    values = read_toml(tmp_path / "run" / "config.toml")
    write_toml(tmp_path / "run" / "config.toml", values | {"generations": 5})
    run = work(SelfPlay.load(tmp_path / "run"))
    # The fifth generation's games are those of the fourth against the second, which was not promoted, and the third.
    assert run.on_disk.read_result(5, PLAYED)["played_by"] == 4


@pytest.mark.parametrize("samples", [None, 35])
def test_no_more_generations_are_looked_at_than_were_needed_and_all_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, samples: int | None
) -> None:
    looks: list[int] = []

    def counted(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: Generations, generation: int, *given: str) -> Any:
            looks.append(generation)
            return method(self, generation, *given)

        return call

    def learn(teaching: GenerationTrainer, generation: int, advance: Advance) -> None:
        # Makes all that a run has of the generations that are not there yet; every third one is promoted.
        for one in range(1, generation + 1):
            folder = teaching.on_disk.of(one)
            if not folder.exists():
                for name in ("games", "experts", "optimisers", "training/stages"):
                    (folder / name).mkdir(parents=True)
                teaching.on_disk.write_result(one, PLAYED, {"samples": 10})
                teaching.on_disk.write_result(one, LEARNED, {"samples": 10})
            if one < generation:
                teaching.on_disk.write_result(one, PROMOTED, {"promoted": one % 3 == 0})
        looks.clear()

    monkeypatch.setattr(GenerationTrainer, "train", learn)
    monkeypatch.setattr(Generations, "read_result", counted(Generations.read_result))
    monkeypatch.setattr(Generations, "remove", counted(Generations.remove))
    changes = {"generations": 30, "keep": 7, "gauntlet": {"games": 0}, "replay": {"generations": 9, "samples": samples}}
    changes |= {"games": {"opponents": "league", "league": 2}}
    run = selfplay(tmp_path / "each", **changes)
    for generation in range(1, 31):
        run.do(f"train-{generation:04d}", ignore_progress)
        assert set(looks) <= set(range(max(0, generation - 9), generation + 1))
    selfplay(tmp_path / "once", **changes).do("train-0030", ignore_progress)
    left = [
        sorted(str(one.relative_to(place)) for one in place.glob("generations/*/*") if one.is_dir())
        for place in (tmp_path / "each", tmp_path / "once")
    ]
    assert left[0] == left[1]
    assert sum(name.endswith("optimisers") for name in left[0]) == 2


def test_a_promotion_that_was_said_but_not_noted_is_not_judged_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    promoting(monkeypatch, 1, 2)
    run = work(selfplay(tmp_path / "run", generations=2, keep=9, gauntlet={"games": 0}))
    note = tmp_path / "run" / "parts" / "promote-0002.json"
    write_json(note, read_json(note) | {"done": False})
    # The generation that was beaten is gone.
    assert not run.on_disk.experts(1).exists()
    assert not work(SelfPlay.load(tmp_path / "run")).pending_parts()


@pytest.mark.parametrize("lost", ["generations/0001/promoted.json", "generations/0002/played.json"])
def test_a_run_of_which_it_is_lost_who_plays_or_has_played_does_not_go_on(tmp_path: Path, lost: str) -> None:
    changes = {"promotion": {"score": 0.999}, "gauntlet": {"games": 0}}
    work(selfplay(tmp_path / "run", generations=2, **changes))
    path = tmp_path / "run" / lost
    said = path.read_bytes()
    path.unlink()
    with pytest.raises(DamagedFile, match=f"{path.name} is missing, the result of part .*; put it back"):
        work(SelfPlay.load(tmp_path / "run").with_generations(3))
    path.write_text("{}\n")
    with pytest.raises(DamagedFile, match="expected a table of the generation"):
        work(SelfPlay.load(tmp_path / "run").with_generations(3))
    path.write_bytes(said.replace(b'"promoted": false', b'"promoted": true').replace(b'"samples": ', b'"samples": 1'))
    with pytest.raises(DamagedFile, match=rf"{path.name} is damaged: expected SHA-256 \w+, got "):
        work(SelfPlay.load(tmp_path / "run").with_generations(3))
    path.write_bytes(said)
    assert work(SelfPlay.load(tmp_path / "run").with_generations(3)).on_disk.champion(3) == 0

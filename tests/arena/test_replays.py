"""Replays are read back as they were written, and nothing else is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from games_for_tests import HashedTree, TreeGame
from games_of_the_arena import LeavesAt, StayOrLeave

from moemcts.agents import RandomAgent
from moemcts.arena import Conditions, Lineup, play_games
from moemcts.arena.replays import Replay, read_jsonl, replays_of, write_jsonl
from moemcts.errors import DamagedFile, ForeignData, MoemctsError
from moemcts.evaluation import UniformEvaluator
from moemcts.game import Game
from moemcts.search import SearchAgent, SearchConfig


def played(game: Game, agents: list[object], count: int = 4) -> list[Replay]:
    lineups = [Lineup(agents=agents, opening=i, opening_name=f"seed {i}", seed=i) for i in range(count)]  # type: ignore[arg-type]
    return replays_of(game, lineups, play_games(game, lineups, Conditions(keep_thoughts=True)), "a match")


@pytest.mark.parametrize("simultaneous", [False, True])
def test_games_survive_their_file(simultaneous: bool, tmp_path: Path) -> None:
    game = HashedTree(TreeGame(5, 3, 3, 12, simultaneous))
    searching = SearchAgent(game, UniformEvaluator(game.spec), SearchConfig(simulations=5))
    replays = played(game, [searching, RandomAgent(), searching])
    write_jsonl(tmp_path / "games.jsonl", replays)
    again = read_jsonl(tmp_path / "games.jsonl", game)
    assert [replay.record for replay in again] == [replay.record for replay in replays]
    for one, other in zip(again, replays, strict=True):
        positions, others = list(one.positions()), list(other.positions())
        assert [state.key() for state, _ in positions] == [state.key() for state, _ in others]
        assert [moves for _, moves in positions] == [moves for _, moves in others]
        assert positions[-1][1] == []
        assert any(move.decision.value is not None for _, moves in positions for move in moves)


def test_a_line_says_who_moved_where_and_what_was_thought(tmp_path: Path) -> None:
    game = StayOrLeave(2, length=6)
    write_jsonl(tmp_path / "games.jsonl", played(game, [LeavesAt(1), LeavesAt(3)], 1))
    (line,) = (tmp_path / "games.jsonl").read_text().splitlines()
    values = json.loads(line)
    assert values["record"]["agents"] == ["leaves at 1", "leaves at 3"]
    assert values["record"]["returns"] == [-1, 1]
    assert values["positions"][1] == {
        "position": "5 0 1",
        "moves": [{"player": 0, "action": 1, "text": "1"}, {"player": 1, "action": 0, "text": "0"}],
    }
    assert [entry["moves"] for entry in values["positions"]][-1] == []


def test_other_files_are_named_by_line(tmp_path: Path) -> None:
    game = StayOrLeave(2, length=6)
    path = tmp_path / "games.jsonl"
    write_jsonl(path, played(game, [LeavesAt(1), LeavesAt(3)], 2))
    with pytest.raises(ForeignData, match="line 1: expected a game of hashed-tree, got stay-or-leave"):
        read_jsonl(path, HashedTree(TreeGame(5, 2, 3, 12, False)))
    first, second = path.read_text().splitlines()
    empty = json.dumps(json.loads(second) | {"positions": []})
    illegal, foreign = second.replace('"action": 1', '"action": 7'), second.replace("replay 1", "x")
    for damage in (second[:-9], "[]", "[" * 100_000, empty, illegal, foreign):
        path.write_text(f"{first}\n{damage}\n")
        with pytest.raises(DamagedFile, match="line 2: expected a game of a match"):
            read_jsonl(path, game)
    with pytest.raises(MoemctsError, match="cannot read the replays"):
        read_jsonl(tmp_path / "none.jsonl", game)

"""Generation depends on the seed and on nothing else, and an interrupted one goes on."""

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from games_of_chance import Grid
from learning_games import GreedyAgent, RandomAgent, TicTacToe, crowd

from moemcts.agents import Decision, Policy, Seat
from moemcts.errors import AgentFailure, DamagedFile, ForeignData, MoemctsError, UsageError
from moemcts.game import Views
from moemcts.learn.data.dataset import Dataset
from moemcts.learn.data.generation import generate
from moemcts.learn.data.records import Records
from moemcts.learn.data.shards import read_shards
from moemcts.learn.data.varied import RandomStartAgent, seat_agents
from moemcts.search.playouts import PlayoutAgent
from moemcts.store import read_toml, write_toml


def hashes(folder: Path) -> list[str]:
    return [shard["sha256"] for shard in read_toml(folder / "manifest.toml")["shards"]]


def random_games(folder: Path, num_samples: int = 200, seed: int = 3, **options: int) -> Path:
    agent = RandomAgent()
    return generate(
        TicTacToe(), [agent, agent], num_samples, seed=seed, out=folder, **{"games_per_shard": 10, **options}
    )


def test_there_are_exactly_as_many_samples_as_asked_for(tmp_path: Path) -> None:
    for num_samples in (1, 57, 200):
        random_games(tmp_path / str(num_samples), num_samples)
        assert len(Dataset.open(tmp_path / str(num_samples), TicTacToe())) == num_samples


def test_how_many_games_are_played_at_once_changes_nothing(tmp_path: Path) -> None:
    results = [hashes(random_games(tmp_path / str(n), parallel_games=n)) for n in (1, 3, 64)]
    assert results[0] == results[1] == results[2]


def test_another_seed_gives_other_games(tmp_path: Path) -> None:
    assert hashes(random_games(tmp_path / "a", seed=1)) != hashes(random_games(tmp_path / "b", seed=2))


def test_fewer_samples_are_the_beginning_of_more(tmp_path: Path) -> None:
    few = Dataset.open(random_games(tmp_path / "few", 60), TicTacToe())
    many = Dataset.open(random_games(tmp_path / "many", 200), TicTacToe())
    rows = np.arange(60)
    assert (few.actions(rows) == many.actions(rows)).all()
    assert (few.returns(rows) == many.returns(rows)).all()


class Failing:
    name = "runs/broken"

    def act(self, views: Views, seats: Sequence[Seat]) -> list[Decision]:
        raise ValueError("no answer")


def test_an_agent_that_fails_is_named(tmp_path: Path) -> None:
    with pytest.raises(AgentFailure, match=r"^runs/broken: crash: ValueError: no answer") as raised:
        generate(TicTacToe(), [RandomAgent(), Failing()], 20, seed=3, out=tmp_path)
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def visited(actions: Sequence[int], shares: Sequence[float]) -> dict[str, Policy]:
    return {"policy": Policy(np.array(actions), np.array(shares, np.float32))}


@pytest.mark.parametrize(
    ("decided", "told"),
    [
        ({"value": 7.0}, "expected values from -1 to 1, got 7 to 7"),
        (
            {"policy": Policy(np.array([0, 1]), np.array([0.9, 0.9], np.float32))},
            "expected the shares of visits to be positive and to sum to one",
        ),
        (visited([0, 77], [0.5, 0.5]), "expected visited actions below 9"),
    ],
)
def test_what_could_not_be_read_again_is_not_written(decided: dict[str, Any], told: str, tmp_path: Path) -> None:
    class Odd:
        name = "odd"

        def act(self, views: Views, seats: Sequence[Seat]) -> list[Decision]:
            return [Decision(action=view.state.legal_actions(view.player)[0], **decided) for view in views]

    with pytest.raises(MoemctsError, match=f"games of tictactoe gave an invalid sample: {told}"):
        generate(TicTacToe(), [Odd(), Odd()], 20, seed=3, out=tmp_path)
    assert not list(tmp_path.glob("*.safetensors"))


def test_forced_moves_are_no_samples(tmp_path: Path) -> None:
    dataset = Dataset.open(random_games(tmp_path), TicTacToe())
    assert dataset.views(np.arange(len(dataset))).legal_mask().sum(axis=1).min() == 2


def test_samples_replay_to_the_returns_they_store(tmp_path: Path) -> None:
    dataset = Dataset.open(random_games(tmp_path), TicTacToe())
    views = dataset.views(np.arange(len(dataset)))
    for row in np.flatnonzero(dataset.plies_to_end() == 1):
        state, player = views[row]
        final = state.play([dataset.actions(np.array([row]))[0]])
        assert not final.active_players
        assert dataset.returns(np.array([row]))[0].tolist() == np.roll(final.returns(), -player).tolist()


def test_samples_of_a_game_that_pays_on_the_way_store_what_was_still_to_come(tmp_path: Path) -> None:
    game = Grid(size=3, discount=0.9)
    generate(game, [RandomAgent()], 60, seed=1, out=tmp_path)
    dataset = Dataset.open(tmp_path, game)
    rows = np.arange(len(dataset))
    views, returns = dataset.views(rows), dataset.returns(rows)[:, 0]
    num_checked = 0
    for row in rows[:-1]:
        after = views[row].state.play([int(dataset.actions(np.array([row]))[0])])
        if dataset.plies_to_end()[row] == 1 or views[row + 1].state != after:
            continue
        assert returns[row] == pytest.approx(float(after.rewards()[0]) + 0.9 * returns[row + 1], abs=1e-6)
        num_checked += 1
    assert num_checked > 30
    assert returns[dataset.plies_to_end() == 1].any()


def test_one_position_serves_all_players_who_move_at_once(tmp_path: Path) -> None:
    game, agent = crowd(), RandomAgent()
    generate(game, [agent] * 3, 300, seed=1, out=tmp_path)
    manifest, dataset = read_toml(tmp_path / "manifest.toml"), Dataset.open(tmp_path, game)
    assert manifest["num_positions"] < manifest["num_samples"] == 300
    assert set(dataset.views(np.arange(300)).players().tolist()) == {0, 1, 2}
    assert dataset.returns(np.arange(300)).shape == (300, 3)


class Mortal:
    """An agent that an interrupt reaches after some calls."""

    name = "random"

    def __init__(self, num_calls: int) -> None:
        self.num_calls = num_calls

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        self.num_calls -= 1
        if self.num_calls < 0:
            raise KeyboardInterrupt
        return RandomAgent().act(views, seats)


def test_an_interrupted_generation_keeps_its_finished_shards(tmp_path: Path) -> None:
    whole = hashes(random_games(tmp_path / "whole"))
    out = tmp_path / "killed"
    with pytest.raises(KeyboardInterrupt):
        generate(TicTacToe(), [Mortal(25)] * 2, 200, seed=3, out=out, games_per_shard=10)
    kept = hashes(out)
    assert 0 < len(kept) < len(whole)
    written = (out / "shard-00000.safetensors").stat().st_mtime_ns
    assert hashes(random_games(out)) == whole
    assert (out / "shard-00000.safetensors").stat().st_mtime_ns == written


def test_a_shard_that_was_cut_short_is_made_again(tmp_path: Path) -> None:
    whole = hashes(random_games(tmp_path))
    shard = tmp_path / "shard-00001.safetensors"
    shard.write_bytes(shard.read_bytes()[:-5])
    assert hashes(random_games(tmp_path)) == whole
    assert len(Dataset.open(tmp_path, TicTacToe())) == 200


def test_a_dataset_that_is_being_repaired_is_unfinished(tmp_path: Path) -> None:
    whole = hashes(random_games(tmp_path))
    (tmp_path / "shard-00000.safetensors").unlink()
    with pytest.raises(KeyboardInterrupt):
        generate(TicTacToe(), [Mortal(25)] * 2, 200, seed=3, out=tmp_path, games_per_shard=10)
    assert 0 < len(hashes(tmp_path)) < len(whole)
    with pytest.raises(DamagedFile, match="is unfinished"):
        read_shards(tmp_path, TicTacToe())
    assert hashes(random_games(tmp_path)) == whole
    assert len(Dataset.open(tmp_path, TicTacToe())) == 200


def interrupted(folder: Path, num_samples: int) -> Path:
    """Returns an unfinished dataset of 71 samples in a shard and some of games behind it."""
    with pytest.raises(KeyboardInterrupt):
        generate(TicTacToe(), [Mortal(20)] * 2, num_samples, seed=3, out=folder, games_per_shard=10, parallel_games=9)
    assert not read_toml(folder / "manifest.toml")["complete"]
    assert len(hashes(folder)) == 1
    assert list(folder.glob("shard-00001.games/*"))
    return folder


@pytest.mark.parametrize("num_samples", [130, 200, 310])
def test_an_interrupted_generation_ends_with_fewer_samples_or_more_as_if_it_was_asked_for_these(
    tmp_path: Path, num_samples: int
) -> None:
    out = interrupted(tmp_path / "killed", 200)
    first = (out / "shard-00000.safetensors").stat().st_mtime_ns
    random_games(out, num_samples)
    random_games(tmp_path / "at once", num_samples)
    assert (out / "shard-00000.safetensors").stat().st_mtime_ns == first
    assert (out / "manifest.toml").read_bytes() == (tmp_path / "at once" / "manifest.toml").read_bytes()
    assert sorted(path.name for path in out.iterdir()) == sorted(path.name for path in (tmp_path / "at once").iterdir())


def test_an_interrupted_generation_is_not_ended_with_fewer_samples_than_there_are(tmp_path: Path) -> None:
    out = interrupted(tmp_path, 200)
    before = (out / "manifest.toml").read_bytes()
    with pytest.raises(UsageError, match=r"expected at least \d+ samples, which .* already has, got 20$") as told:
        random_games(out, 20)
    assert (out / "manifest.toml").read_bytes() == before
    least = int(str(told.value).split()[3])
    assert least >= read_toml(out / "manifest.toml")["num_samples"]
    # With just these no game is played any more.
    generate(TicTacToe(), [Mortal(0)] * 2, least, seed=3, out=out, games_per_shard=10)
    assert len(Dataset.open(out, TicTacToe())) == least


def test_what_was_played_for_more_samples_is_not_lost_to_fewer(tmp_path: Path) -> None:
    random_games(tmp_path / "few", 60)
    out = tmp_path / "grown"
    with pytest.raises(KeyboardInterrupt):
        generate(TicTacToe(), [Mortal(0)] * 2, 60, seed=3, out=out, games_per_shard=10)
    interrupted(out, 200)
    with pytest.raises(UsageError, match=r"expected at least \d+ samples, which .* already has, got 60$"):
        random_games(out, 60)


def test_a_complete_dataset_stays_as_it_is(tmp_path: Path) -> None:
    random_games(tmp_path)
    before = (tmp_path / "manifest.toml").read_bytes()
    for num_samples in (100, 300):
        with pytest.raises(ForeignData, match=rf"source.num_samples 200, not {num_samples}"):
            random_games(tmp_path, num_samples)
    assert (tmp_path / "manifest.toml").read_bytes() == before


def test_a_folder_with_other_games_is_not_overwritten(tmp_path: Path) -> None:
    random_games(tmp_path)
    with pytest.raises(ForeignData, match=r"source.seed 3, not 4"):
        random_games(tmp_path, seed=4)
    with pytest.raises(ForeignData, match=r"source.agents \['random', 'random'\], not \['greedy', 'greedy'\]"):
        generate(TicTacToe(), [GreedyAgent()] * 2, 200, seed=3, out=tmp_path, games_per_shard=10)


@pytest.mark.parametrize("setting", [{"keep": 0.5}, {"only_first": True}])
def test_what_is_left_to_its_default_counts_as_another_setting(tmp_path: Path, setting: dict[str, Any]) -> None:
    generate(TicTacToe(), [RandomAgent()] * 2, 60, seed=3, out=tmp_path, **setting)
    ((name, value),) = setting.items()
    with pytest.raises(ForeignData, match=rf"source.{name} {value}, not None"):
        generate(TicTacToe(), [RandomAgent()] * 2, 60, seed=3, out=tmp_path)


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"shards": [{}]}, "shards.0.file is missing"),
        ({"shards": [1]}, "shards.0: Input should be a table, got 1"),
        ({"shards": None}, "shards is missing"),
        ({"complete": "no"}, "complete: Input should be a valid boolean, got 'no'"),
    ],
)
def test_a_manifest_that_is_none_is_neither_read_nor_gone_on_with(
    tmp_path: Path, wrong: dict[str, Any], what: str
) -> None:
    random_games(tmp_path)
    write_toml(tmp_path / "manifest.toml", read_toml(tmp_path / "manifest.toml") | wrong)
    for use in (random_games, lambda folder: Dataset.open(folder, TicTacToe())):
        with pytest.raises(DamagedFile, match=f"is not a valid manifest of a dataset: {what}$"):
            use(tmp_path)


def test_progress_ends_with_all_samples_done(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    agent = RandomAgent()
    generate(TicTacToe(), [agent, agent], 100, seed=0, out=tmp_path, on_progress=lambda *done: seen.append(done))
    assert seen[-1] == (100, 100)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_every_seat_needs_an_agent(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected 2 agents, one per seat, got 1"):
        generate(TicTacToe(), [RandomAgent()], 10, seed=0, out=tmp_path)


def test_data_has_the_visits_of_agents_that_search_and_none_of_others(tmp_path: Path) -> None:
    game = TicTacToe()
    searching = PlayoutAgent(game, playouts=30, exploration=1.4)
    out = generate(game, [searching, RandomAgent()], 60, seed=1, out=tmp_path)
    _, shards = read_shards(out, game)
    records = Records.join(shards)
    assert records.visits is not None
    sizes = np.diff(records.visits.offsets)
    assert (sizes[records.player == 0] > 1).any()
    assert (sizes[records.player == 1] == 0).all()


def test_the_decisions_of_one_agent_alone_in_every_seat(tmp_path: Path) -> None:
    game, agents = TicTacToe(), [GreedyAgent(), RandomAgent()]
    out = generate(game, agents, 200, seed=3, out=tmp_path, games_per_shard=100, only_first=True)
    records = Records.join(read_shards(out, game)[1])
    players = [set(records.player[records.game == number].tolist()) for number in range(4)]
    assert players == [{0}, {1}, {0}, {1}]
    # Who takes winning cells wins more than it loses, wherever it sits.
    for player in (0, 1):
        assert records.returns[records.player == player][:, 0].mean() > 0.1


def after_random_plies(folder: Path, num_samples: int = 60, **options: Any) -> Path:
    agents = seat_agents([GreedyAgent()], 2, random_plies=3)
    return generate(TicTacToe(), agents, num_samples, seed=3, out=folder, games_per_shard=10, **options)


@pytest.mark.parametrize("options", [{}, {"keep": 0.5}, {"only_first": True}])
def test_plies_at_random_are_no_samples(tmp_path: Path, options: dict[str, Any]) -> None:
    dataset = Dataset.open(after_random_plies(tmp_path, **options), TicTacToe())
    plies = dataset.views(np.arange(60)).plies()
    assert len(dataset) == 60
    assert plies.min() == 3
    assert (dataset.plies_to_end() + plies <= 9).all()
    assert read_toml(tmp_path / "manifest.toml")["source"]["samples_from_ply"] == [3, 3]


def test_games_that_begin_at_random_are_played_as_if_that_was_learned_from_too(tmp_path: Path) -> None:
    class Whole(GreedyAgent):
        """Draws what `RandomStartAgent` draws, and is learned from throughout."""

        name = "greedy after 3 random plies"

        def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
            return RandomStartAgent(GreedyAgent(), 3).act(views, seats)

    generate(TicTacToe(), [Whole()] * 2, 200, seed=3, out=tmp_path / "whole", games_per_shard=10)
    whole = Dataset.open(tmp_path / "whole", TicTacToe())
    part = Dataset.open(after_random_plies(tmp_path / "part"), TicTacToe())
    rows = np.flatnonzero(whole.views(np.arange(200)).plies() >= 3)[:60]
    assert (whole.actions(rows) == part.actions(np.arange(60))).all()
    assert (whole.returns(rows) == part.returns(np.arange(60))).all()


@pytest.mark.parametrize("is_complete", [True, False])
def test_a_dataset_whose_plies_at_random_are_samples_is_read_but_not_gone_on_with(
    tmp_path: Path, is_complete: bool
) -> None:
    after_random_plies(tmp_path)
    manifest = read_toml(tmp_path / "manifest.toml")
    del manifest["source"]["samples_from_ply"]
    write_toml(tmp_path / "manifest.toml", manifest | {"complete": is_complete})
    before = (tmp_path / "manifest.toml").read_bytes()
    with pytest.raises(
        ForeignData, match=r"was begun by a version in which random plies were samples too.*into another folder"
    ):
        after_random_plies(tmp_path)
    assert (tmp_path / "manifest.toml").read_bytes() == before
    if is_complete:
        assert len(Dataset.open(tmp_path, TicTacToe())) == 60


def test_games_without_a_sample_come_to_an_end(tmp_path: Path) -> None:
    agents = seat_agents([RandomAgent()], 2, random_plies=9)
    with pytest.raises(MoemctsError, match=r"no sample from 1,000 games of tictactoe: .* after 9 random plies; use"):
        generate(TicTacToe(), agents, 10, seed=3, out=tmp_path / "none", games_per_shard=250)
    # As is said: with fewer random plies the same folder serves.
    agents = seat_agents([RandomAgent()], 2, random_plies=2)
    generate(TicTacToe(), agents, 10, seed=3, out=tmp_path / "none", games_per_shard=250)
    assert len(Dataset.open(tmp_path / "none", TicTacToe())) == 10
    # A small share of the positions is another matter: a sample comes in the end.
    generate(TicTacToe(), [RandomAgent()] * 2, 1, seed=3, out=tmp_path / "few", games_per_shard=1, keep=0.01)
    assert len(hashes(tmp_path / "few")) > 2


def test_a_shard_that_is_missing_or_damaged_says_what_helps(tmp_path: Path) -> None:
    whole = hashes(random_games(tmp_path))
    shard = tmp_path / "shard-00001.safetensors"
    content = shard.read_bytes()
    shard.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(DamagedFile, match=r"00001.*; remove it and generate the dataset again with the same settings$"):
        Dataset.open(tmp_path, TicTacToe())
    shard.unlink()
    with pytest.raises(DamagedFile, match=r"00001.*; generate the dataset again with the same settings$"):
        Dataset.open(tmp_path, TicTacToe())
    assert hashes(random_games(tmp_path)) == whole


@pytest.mark.parametrize("file", ["../shard", "/etc/passwd", "a\0b", ""])
def test_a_manifest_names_files_beside_it(tmp_path: Path, file: str) -> None:
    random_games(tmp_path)
    manifest = read_toml(tmp_path / "manifest.toml")
    manifest["shards"][0]["file"] = file
    write_toml(tmp_path / "manifest.toml", manifest)
    for use in (random_games, lambda folder: Dataset.open(folder, TicTacToe())):
        with pytest.raises(DamagedFile, match=r"shards.0.file: Input should be the name of a file in the same folder"):
            use(tmp_path)

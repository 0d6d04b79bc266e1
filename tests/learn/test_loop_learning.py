"""What is learned from games of self-play: targets, the window, experts that go on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from moemcts.errors import MoemctsError, UsageError
from moemcts.evaluation import UniformEvaluator
from moemcts.game import GameSpec, Packed
from moemcts.gates import PlyGate, SinglePhase
from moemcts.learn.data.dataset import Dataset
from moemcts.learn.data.records import Records, Visits
from moemcts.learn.loop.config import GamesConfig, ReplayConfig, TargetsConfig
from moemcts.learn.loop.games import AgentPool, PlayedGames, play_games
from moemcts.learn.loop.players import SelfPlayAgent
from moemcts.learn.loop.targets import value_targets
from moemcts.learn.loop.training import Networks, train_generation
from moemcts.learn.loop.window import Samples, draw_rows, held_out_games, open_window, replay_window
from moemcts.learn.schemes.catalogue import GeneralFirst, Separated, Single, Staged, Weighted
from moemcts.learn.schemes.scheme import StagedScheme
from moemcts.learn.training.config import TrainerConfig
from moemcts.learn.training.stages import Stage
from moemcts.learn.training.trainer import Optimisers, Trainer
from moemcts.learn.weights import read_state
from moemcts.plugins import plugins
from moemcts.search import SearchConfig
from moemcts.splitmix import uniform_of

TICTACTOE = plugins().game("tictactoe")


@pytest.fixture(scope="module")
def games() -> PlayedGames:
    search = SearchConfig(simulations=8, noise_fraction=0.25, temperature=1.0, temperature_plies=9)
    agents = AgentPool(newest=SelfPlayAgent(TICTACTOE, UniformEvaluator(TICTACTOE.spec), search))
    return play_games(TICTACTOE, agents, GamesConfig(games=12, parallel=4), range(12), generation=1, seed=3)


def records_of(games: Sequence[Sequence[tuple[int, float, float]]], *, num_players: int = 2) -> Records:
    """Returns samples, each as (player, return of that player, value); one position after the other, one ply apart."""
    rows = [(number, ply, len(one), *sample) for number, one in enumerate(games) for ply, sample in enumerate(one)]
    returns = np.array([[result] + [-result / (num_players - 1)] * (num_players - 1) for *_, result, _ in rows])
    return Records(
        positions=Packed.of([b""] * len(rows)),
        position=np.arange(len(rows)),
        player=np.array([row[3] for row in rows]),
        action=np.zeros(len(rows), dtype=np.int64),
        returns=returns.astype(np.float32),
        plies_to_end=np.array([size - ply for _, ply, size, *_ in rows]),
        game=np.array([row[0] for row in rows]),
        values=np.array([row[5] for row in rows], dtype=np.float32),
    )


def spec(**changes: Any) -> GameSpec:
    return GameSpec(
        **{"name": "x", "num_players": 2, "num_actions": 1, "observation_shape": (1,), "max_plies": 9} | changes
    )


GAMES = [
    [(0, 1.0, 0.5), (1, -1.0, 0.25), (0, 1.0, -0.5), (1, -1.0, 0.0), (0, 1.0, 0.875)],
    [(0, -1.0, 0.125), (1, 1.0, -0.25)],
]


def by_recursion(games: Any, decay: float, discount: float) -> list[float]:
    found = []
    for one in games:
        # From player 0's point of view, whose return at the end is known.
        end = one[-1][1] * (1 if one[-1][0] == 0 else -1) / discount
        target, value, targets = end, end, []
        for number, (player, _, expected) in enumerate(reversed(one)):
            target = discount * ((1 - decay) * value + decay * target) if number else discount * end
            value = expected if player == 0 else -expected
            targets.append(target if player == 0 else -target)
        found += reversed(targets)
    return found


@pytest.mark.parametrize("decay", [0.0, 0.5, 0.9])
def test_targets_are_those_of_the_recursion(decay: float) -> None:
    found = value_targets(records_of(GAMES), TargetsConfig(td_lambda=decay), spec())
    np.testing.assert_allclose(found[:, 0], by_recursion(GAMES, decay, 1.0), atol=1e-6)
    np.testing.assert_allclose(found[:, 1], -found[:, 0])


def test_targets_are_discounted_like_values() -> None:
    discounted = [[(p, r * 0.5 ** (len(one) - 1 - n), v) for n, (p, r, v) in enumerate(one)] for one in GAMES]
    found = value_targets(records_of(discounted), TargetsConfig(td_lambda=0.5), spec(discount=0.5))
    expected = []
    for one in discounted:
        target = value = None
        rows = []
        for player, result, seen in reversed(one):
            sign = 1 if player == 0 else -1
            target = sign * result if target is None else 0.5 * (0.5 * value + 0.5 * target)
            value = sign * seen
            rows.append(sign * target)
        expected += reversed(rows)
    np.testing.assert_allclose(found[:, 0], expected, atol=1e-6)


def test_targets_may_lie_a_number_of_decisions_ahead() -> None:
    found = value_targets(records_of(GAMES), TargetsConfig(steps=2), spec())
    np.testing.assert_allclose(found[:, 0], [-0.5, 0.0, 0.875, -1.0, 1.0, -1.0, 1.0], atol=1e-6)


def test_targets_may_have_a_share_of_the_search() -> None:
    found = value_targets(records_of(GAMES), TargetsConfig(search_share=0.25), spec())
    np.testing.assert_allclose(found[:2, 0], [0.75 + 0.125, -0.75 + 0.0625])


def test_results_alone_are_the_returns() -> None:
    records = records_of(GAMES)
    assert value_targets(records, TargetsConfig(), spec()) is records.returns


def test_with_three_players_each_is_led_by_its_own_decisions() -> None:
    games = [[(0, 1.0, 0.5), (1, -0.5, 0.25), (2, -0.5, 0.0), (0, 1.0, -0.5)]]
    found = value_targets(records_of(games, num_players=3), TargetsConfig(td_lambda=0.0), spec(num_players=3))
    np.testing.assert_allclose(found[:, 0], [-0.5, -0.5, -0.5, 1.0])


# Windows


def test_the_window_is_the_newest_generations() -> None:
    counts = dict.fromkeys(range(1, 21), 100).__getitem__
    assert replay_window(3, counts, ReplayConfig(generations=5)) == range(1, 4)
    assert replay_window(20, counts, ReplayConfig(generations=5)) == range(16, 21)
    assert replay_window(10, counts, ReplayConfig(generations=20, growth=0.5)) == range(6, 11)
    # A share of generations is rounded up, and 7 % of 100 are 7.
    assert replay_window(3, counts, ReplayConfig(growth=0.5)) == range(2, 4)
    assert len(replay_window(100, counts, ReplayConfig(generations=100, growth=0.07))) == 7
    assert replay_window(1, counts, ReplayConfig(generations=20, growth=0.1)) == range(1, 2)
    assert replay_window(20, counts, ReplayConfig(samples=250)) == range(18, 21)


def test_what_has_left_the_window_never_comes_back() -> None:
    counts = {one: 50 + 37 * (one % 5) for one in range(1, 60)}.__getitem__
    config = ReplayConfig(generations=9, growth=0.4, samples=700)
    starts = [replay_window(one, counts, config).start for one in range(1, 60)]
    assert starts == sorted(starts)


def test_a_game_is_held_out_in_every_window_or_in_none() -> None:
    all_games = np.repeat(np.arange(5000), 3)
    whole = held_out_games(all_games, 0.1, seed=4)
    assert abs(whole.mean() - 0.1) < 0.02
    part = held_out_games(all_games[3000:9000], 0.1, seed=4)
    assert np.array_equal(part, whole[3000:9000])
    assert not np.array_equal(held_out_games(all_games, 0.1, seed=5), whole)


def test_so_many_games_are_held_out_that_there_are_two_samples_on_both_sides() -> None:
    for seed in range(200):
        # With playout caps a game may have a single sample.
        games = np.array([0, 1, 2, 3, 4, 4, 4])
        out = held_out_games(games, 0.01, seed)
        assert 2 <= out.sum() <= 5
        assert {*games[out]}.isdisjoint(games[~out])
        assert held_out_games(games, 0.99, seed).sum() <= 5
        # Where there is room the games below the share are held out and no others.
        many = np.arange(300)
        assert held_out_games(many, 0.1, seed).sum() == (uniform_of(many, seed) < 0.1).sum()
    assert held_out_games(np.array([0, 1]), 0.5, seed=1).sum() == 1


def test_the_newest_generation_has_its_share() -> None:
    rows, is_new = np.arange(1000), np.arange(1000) >= 900
    found = draw_rows(rows, is_new, ReplayConfig(newest=0.25), (1, 2))
    assert (found >= 900).sum() == 100
    assert len(found) == 400
    some = draw_rows(rows, is_new, ReplayConfig(newest=0.25, drawn=200), (1, 2))
    assert len(some) == 200
    assert (some >= 900).sum() == 50
    assert len(draw_rows(rows, is_new, ReplayConfig(drawn=300), (1, 2))) == 300
    assert np.array_equal(draw_rows(rows, is_new, ReplayConfig(), (1, 2)), rows)


def test_an_empty_window_is_one_clear_line(games: PlayedGames) -> None:
    with pytest.raises(MoemctsError, match=r"expected samples to learn from and to measure on, got .* of 1 games"):
        open_window(
            TICTACTOE,
            [games.first(1).records],
            "x",
            ReplayConfig(),
            TargetsConfig(),
            held_out=0.1,
            seed=0,
            newest=1,
        )


# Training


@pytest.fixture
def samples(games: PlayedGames) -> Samples:
    return open_window(
        TICTACTOE, [games.records], "x", ReplayConfig(), TargetsConfig(search_share=0.5), held_out=0.1, seed=0, newest=1
    )


def network(seed: int) -> torch.nn.Module:
    torch.manual_seed(seed)
    made: torch.nn.Module = plugins().network("mlp?width=8&layers=1", TICTACTOE.spec.observation_shape, 9)
    return made


def same(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one.state_dict().values(), other.state_dict().values(), strict=True))


CONFIG = TrainerConfig(epochs=1, batch_size=16, keep="last", learning_rate=0.01)


def test_values_are_learned_from_their_targets(samples: Samples) -> None:
    batch = samples.training.batch(np.arange(8), np.ones(len(samples.training), dtype=np.float32))
    expected = 0.5 * batch.returns[:, 0] + 0.5 * samples.training.values(np.arange(8))
    assert batch.values is not None
    np.testing.assert_allclose(batch.values[:, 0], expected, atol=1e-6)


def test_each_expert_goes_on_from_itself(samples: Samples, tmp_path: Path) -> None:
    gate = PlyGate((3, 6), ())
    before = Networks(experts=[network(seed) for seed in range(3)])
    slow = CONFIG.model_copy(update={"learning_rate": 1e-9, "weight_decay": 0.0})
    for scheme in (Separated(), Staged(), Weighted()):
        folder = tmp_path / type(scheme).__name__
        made = train_generation(Trainer(slow), scheme, before, samples, gate, folder).networks
        for own, start in zip(made.experts, before.experts, strict=True):
            for name, tensor in own.state_dict().items():
                torch.testing.assert_close(tensor, start.state_dict()[name], atol=1e-5, rtol=0)


def test_experts_of_general_first_go_out_from_the_general_one_which_goes_on(samples: Samples, tmp_path: Path) -> None:
    gate, scheme = PlyGate((3, 6), ()), GeneralFirst()
    first = train_generation(
        Trainer(CONFIG), scheme, Networks(experts=[network(0)] * 3), samples, gate, tmp_path / "1"
    ).networks
    assert first.general is not None
    assert not same(first.general, network(0))
    slow = CONFIG.model_copy(update={"learning_rate": 1e-9, "weight_decay": 0.0})
    second = train_generation(Trainer(slow), scheme, first, samples, gate, tmp_path / "2").networks
    for expert in second.experts:
        for name, tensor in expert.state_dict().items():
            torch.testing.assert_close(tensor, first.general.state_dict()[name], atol=1e-5, rtol=0)


def test_a_phase_without_samples_keeps_its_expert_and_is_named(samples: Samples, tmp_path: Path) -> None:
    before = Networks(experts=[network(seed) for seed in range(3)])
    made = train_generation(Trainer(CONFIG), Separated(), before, samples, PlyGate((3, 40), ()), tmp_path)
    assert same(made.networks.experts[2], before.experts[2])
    assert not same(made.networks.experts[0], before.experts[0])
    assert made.notes == ["no game came to 'phase 2': its expert stays as it is where it learns from that alone"]
    few = train_generation(Trainer(CONFIG), Separated(), before, samples, PlyGate((1, 40), ()), tmp_path / "few")
    assert any("less than a batch of 16" in note for note in few.notes)


def test_visits_are_those_of_the_samples(samples: Samples, games: PlayedGames) -> None:
    assert isinstance(games.records.visits, Visits)
    assert isinstance(samples.training, Dataset)
    assert samples.training.are_searched(np.arange(len(samples.training))).all()


def test_optimisers_go_on_with_what_they_have_gathered(samples: Samples, tmp_path: Path) -> None:
    gate, scheme, before = PlyGate((3, 6), ()), Staged(), Networks(experts=[network(0)] * 3)
    kept = Optimisers(tmp_path / "none", tmp_path / "kept")
    first = train_generation(Trainer(CONFIG), scheme, before, samples, gate, tmp_path / "1", optimisers=kept).networks
    assert len(list(kept.after.iterdir())) == 9
    further = Optimisers(kept.after, tmp_path / "further")
    warm = train_generation(Trainer(CONFIG), scheme, first, samples, gate, tmp_path / "2", optimisers=further).networks
    cold = train_generation(Trainer(CONFIG), scheme, first, samples, gate, tmp_path / "3").networks
    assert not any(same(one, other) for one, other in zip(warm.experts, cold.experts, strict=True))
    steps = [int(read_state(folder / "1-2.safetensors")[0]["0.step"]) for folder in (kept.after, further.after)]
    assert steps[1] == 2 * steps[0]


def test_what_is_gathered_is_that_of_the_weights_a_stage_ends_with(samples: Samples, tmp_path: Path) -> None:
    # So quick that the held-out loss is at its best before the end.
    config = CONFIG.model_copy(
        update={"keep": "best", "epochs": 8.0, "learning_rate": 0.3, "spike": None, "validation_interval": 2}
    )
    kept = Optimisers(tmp_path / "none", tmp_path / "kept")
    before = Networks(experts=[network(0)])
    made = train_generation(Trainer(config), Single(), before, samples, SinglePhase(), tmp_path / "1", optimisers=kept)
    best = made.measurements[0]
    assert best["step"] < best["num_steps"]
    assert int(read_state(kept.after / "0-0.safetensors")[0]["0.step"]) == best["step"]


def test_what_a_stage_without_samples_has_gathered_is_kept_for_it(samples: Samples, tmp_path: Path) -> None:
    before = Networks(experts=[network(0)] * 3)
    kept = Optimisers(tmp_path / "none", tmp_path / "kept")
    train_generation(Trainer(CONFIG), Staged(), before, samples, PlyGate((3, 6), ()), tmp_path / "1", optimisers=kept)
    further = Optimisers(kept.after, tmp_path / "further")
    # No game comes to the middle phase: expert 0 learns 2-0 in place of 2-1-0.
    train_generation(
        Trainer(CONFIG), Staged(), before, samples, PlyGate((40, 41), ()), tmp_path / "2", optimisers=further
    )

    def gathered(folder: Path) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    old, new = gathered(kept.after), gathered(further.after)
    assert old.keys() == new.keys()
    # Phase 0 alone has samples; it is the last stage of expert 0 and the first of the others.
    assert {name for name in old if old[name] != new[name]} == {"0-2.safetensors", "1-0.safetensors", "2-0.safetensors"}


def test_experts_that_differ_are_no_network_for_all_to_go_out_from(samples: Samples, tmp_path: Path) -> None:
    experts, gate = [network(seed) for seed in range(3)], PlyGate((3, 6), ())
    with pytest.raises(UsageError, match="expected one network to start all experts from, got 3"):
        train_generation(Trainer(CONFIG), GeneralFirst(), Networks(experts=experts), samples, gate, tmp_path / "1")
    with pytest.raises(UsageError, match="expected one network to start all experts from, got 3"):
        Single().fit_from(Trainer(CONFIG), experts, samples.training, gate, tmp_path / "1")
    general = network(3)
    train_generation(
        Trainer(CONFIG), GeneralFirst(), Networks(experts=experts, general=general), samples, gate, tmp_path / "2"
    )


def test_a_network_for_all_that_nobody_trains_stays_as_it_is(samples: Samples, tmp_path: Path) -> None:
    class LateFirst(StagedScheme):
        """All experts begin with the last phase."""

        def stages(self, phase: int, num_phases: int) -> list[Stage]:
            late, own = ([float(other == one) for other in range(num_phases)] for one in (num_phases - 1, phase))
            return [Stage(weights=tuple(late)), Stage(weights=tuple(own))]

    before = Networks(experts=[network(0)] * 3, general=network(0))
    # No game comes to the last phase: what is trained first is of one expert.
    made = train_generation(Trainer(CONFIG), LateFirst(), before, samples, PlyGate((3, 40), ()), tmp_path).networks
    assert made.general is not None
    assert same(made.general, network(0))
    assert not same(made.experts[0], network(0))

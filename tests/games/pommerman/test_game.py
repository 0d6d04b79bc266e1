"""Pommerman obeys the laws of games, and its players play like the reference's."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from moemcts.agents import Seat
from moemcts.errors import UsageError
from moemcts.evaluation import UniformEvaluator
from moemcts.learn.data.generation import generate
from moemcts.learn.data.records import Records
from moemcts.learn.data.shards import read_shards
from moemcts.plugins import Plugins
from moemcts.search import Search, SearchAgent, SearchConfig
from moemcts.testing import check_agent, check_game, check_gate
from moemcts_pommerman import native, plugin, variant, variant_ids
from moemcts_pommerman.agents import ScriptedAgent

GAMES = [
    "pommerman",
    "pommerman?collapse=true&corners=shuffled",
    "pommerman?first_collapse=10&max_steps=50",
    "pommerman?max_steps=40&timeout=loss",
    "pommerman-team",
    "pommerman-team?fog=true&collapse=true",
    "pommerman-team?env=PommeTeamCompetition-v1&first_collapse=10&max_steps=60",
    "pommerman-radio",
    "pommerman-1v1",
]
DUEL = "pommerman-1v1"


@pytest.fixture(scope="module")
def registered() -> Plugins:
    return Plugins([("pommerman", plugin)])


@pytest.mark.parametrize("name", GAMES)
def test_the_laws_of_games_hold(registered: Plugins, name: str) -> None:
    check_game(registered.game(name), num_games=5)


@pytest.mark.parametrize("name", GAMES)
def test_gates_and_agents_keep_their_contracts(registered: Plugins, name: str) -> None:
    game = registered.game(name)
    for gate in registered.gates.for_game(game.spec.name):
        check_gate(registered.gate(gate, game), game, num_games=3)
    for agent in registered.agents.for_game(game.spec.name):
        # The contract is the same however far it plans.
        reference = "planner?simulations=4" if agent == "planner" else agent
        check_agent(registered.agent(reference, game), game, num_games=2)
    assert registered.default_agent(game) == "simple"


def test_every_environment_of_the_reference_can_be_played() -> None:
    assert len(variant_ids()) == 12
    for env in variant_ids():
        game = variant(env)
        assert game.spec.max_plies == 800
        assert game.spec.observation_shape == (23, 8, 8) if "OneVsOne" in env else (23, 11, 11)
        assert game.rules.blast_cap == (4 if game.rules.view else 10)
    assert variant("PommeTeamCompetition-v1").rules.first_collapse == 500


def test_wrong_names_and_numbers_say_what_was_expected(registered: Plugins) -> None:
    with pytest.raises(UsageError, match="did you mean 'PommeFFA-v1'"):
        variant("PommeFFA-v7")
    with pytest.raises(UsageError, match="but 'PommeTeam-v0' is for 'pommerman-team'"):
        registered.game("pommerman?env=PommeTeam-v0")
    with pytest.raises(UsageError, match="expected corners"):
        registered.game("pommerman?corners=round")
    with pytest.raises(UsageError, match="expected first_collapse at least 4 steps before"):
        registered.game("pommerman?first_collapse=900")
    with pytest.raises(UsageError, match="no gate named 'opponents'"):
        registered.gate("opponents", registered.game(DUEL))
    game = variant("OneVsOne-v0")
    text = game.format_state(game.initial_state())
    for wrong in ("", "%%%", "AAAA", text[:-8], f"!!{text}%%"):
        with pytest.raises(ValueError, match="expected"):
            game.parse_state(wrong)
    with pytest.raises(ValueError, match=r"of pommerman with its rules, got one with game_type . instead of .*board_s"):
        variant("PommeFFACompetition-v0").parse_state(text)
    with pytest.raises(ValueError, match="got one with max_steps 800 instead of 30"):
        variant("OneVsOne-v0", max_steps=30).parse_state(text)
    for options in ("max_steps=-3", "max_steps=100000", "first_collapse=-1", f"first_collapse={10**30}"):
        with pytest.raises(UsageError, match=r"expected .* from [01] to 9999, got"):
            registered.game(f"pommerman?{options}")
    for joint in ([-1, 0], [300, 0], [2**40, 0]):
        with pytest.raises(ValueError, match="expected"):
            game.initial_state().play(joint)
    with pytest.raises(ValueError, match="expected a player below 2, got -2"):
        game.initial_state().observation(-2)


def test_options_that_say_the_opposite_are_refused(registered: Plugins) -> None:
    with pytest.raises(UsageError, match="'PommeTeam-v0' is played in the open, which contradicts fog=True"):
        registered.game("pommerman-team?env=PommeTeam-v0&fog=true")
    with pytest.raises(UsageError, match="collapse=True contradicts first_collapse=0"):
        registered.game("pommerman?collapse=true&first_collapse=0")
    assert registered.game("pommerman?env=PommeFFA-v1&collapse=false").rules.first_collapse == 0  # type: ignore[attr-defined]
    assert registered.game("pommerman?collapse=true").rules.first_collapse == 500  # type: ignore[attr-defined]


def test_parts_that_do_not_fit_together_are_refused() -> None:
    state = variant("OneVsOne-v0").initial_state(1)
    parts: dict[str, Any] = state.arrays()  # type: ignore[attr-defined]
    step = parts.pop("step")
    names = ("board", "items", "agents", "bombs", "flames")

    def changed(**others: Any) -> Any:
        return native.State.from_arrays(state.rules, step, *({**parts, **others}[name] for name in names))

    assert changed() == state
    assert pickle.loads(pickle.dumps(state)) == state
    bomb = np.array([[3, 3, 0, 5, 2, 0]], np.int8)
    for wrong in (
        {"board": parts["board"].astype(np.int64)},
        {"board": parts["board"][:4]},
        {"agents": parts["agents"][:1]},
        {"agents": np.repeat(parts["agents"], 2, axis=0)},
        {"board": np.repeat(parts["board"], 2, axis=0)},
        {"items": np.repeat(parts["items"], 2, axis=0)},
        {"bombs": bomb[:, :4]},
        {"agents": parts["agents"] + np.array([0, 9, 0, 0, 0, 0], np.int8)},
        {"bombs": np.repeat(bomb, 2, axis=0)},
        {"bombs": bomb * np.array([[1, 1, 1, 0, 1, 1]], np.int8)},
        {"flames": np.array([[1, 1, 0]], np.int8)},
        # Nothing could ever show an item within a wall, and no record could hold it.
        {"items": np.where(parts["board"] == 1, 8, parts["items"]).astype(np.uint8)},
    ):
        with pytest.raises(ValueError, match="expected"):
            changed(**wrong)
    with pytest.raises(ValueError, match="expected a step of at least 0, got -1"):
        native.State.from_arrays(state.rules, -1, *(parts[name] for name in names))  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match=r"expected 2 actions of 0\.\.=5"):
        state.step([1, 6])  # type: ignore[attr-defined]


def test_packed_positions_of_other_rules_are_refused() -> None:
    duel, short = variant("OneVsOne-v0"), variant("OneVsOne-v0", max_steps=30)
    ffa = variant("PommeFFACompetition-v0")
    player = np.zeros(1, np.int64)
    for other in (short, ffa):
        packed = other.pack([other.initial_state(0)])
        assert len(other.unpack(packed, player)) == 1
        with pytest.raises(ValueError, match=r"row 0: expected positions with Rules .*, got one with Rules "):
            duel.unpack(packed, player)
    packed = duel.pack([duel.initial_state(0)])
    for wrong in (2, -1):
        with pytest.raises(ValueError, match=f"row 0: expected a player below 2, got {wrong}"):
            duel.unpack(packed, player + wrong)
    with pytest.raises(ValueError, match="expected ascending offsets"):
        duel.unpack(type(packed)(packed.data, packed.offsets[::-1]), player)
    with pytest.raises(ValueError, match="expected 1 players, got 2"):
        duel.unpack(packed, np.zeros(2, np.int64))


def test_planes_of_no_board_are_refused() -> None:
    for size in (0, 5, 12):
        with pytest.raises(ValueError, match="n = 8 or 11"):
            native.transform(1, np.zeros((2, len(native.planes()), size, size), np.float32))


def test_strength_stops_at_the_cap_of_the_fog() -> None:
    for env, cap in (("PommeTeamCompetition-v0", 4), ("PommeTeam-v0", 10)):
        board = np.zeros((11, 11), np.uint8)
        board[0, 1:4] = 7
        agents = np.array([[0, 0, 1, 3, 0, 1], [10, 0, 1, 2, 0, 1], [10, 10, 1, 2, 0, 1], [10, 5, 1, 2, 0, 1]], np.int8)
        board[agents[:, 0], agents[:, 1]] = [10, 11, 12, 13]
        nothing = np.zeros((11, 11), np.uint8), agents, np.zeros((0, 6), np.int8), np.zeros((0, 3), np.int8)
        state = native.State.from_arrays(native.Rules(env), 0, board, *nothing)
        for _ in range(3):
            state = state.step([4, 0, 0, 0])[0]
        assert state.arrays()["agents"][0, 3] == min(6, cap)


def test_planes_hide_the_fog_and_what_is_under_wood() -> None:
    game = variant("PommeTeamCompetition-v0")
    state = game.initial_state(3)
    planes = state.observation(0)
    # The player in the corner (1, 1) sees rows and columns 0..5.
    assert planes[:14, 6:].any() == planes[:14, :, 6:].any() == np.False_
    assert planes[2:5].sum() == 0
    assert planes[1, :6, :6].sum() > 0
    assert planes[18:22].min() == 1
    assert planes[22].max() == 0
    known = game.determinize(state, 0)
    assert np.array_equal(known.observation(0), planes)
    assert not known.arrays()["items"].any()  # type: ignore[attr-defined]


def test_gates_cut_where_they_say(registered: Plugins) -> None:
    game = registered.game("pommerman")
    state = game.initial_state(0)
    assert registered.gate("steps", game).phase_names == ("opening", "middlegame", "endgame")
    # At the start all are 8 cells from the next player.
    for cuts, phase in (("5,8", 2), ("9,10", 0)):
        gate = registered.gate(f"mixedness?cuts={cuts}", game)
        assert gate.weights(game.views([(state, player) for player in range(4)])).argmax(axis=1).tolist() == [phase] * 4
    opponents = registered.gate("opponents", game)
    while len(state.active_players) == 4:
        state = state.play(np.random.default_rng(state.ply).integers(6, size=4).tolist())
    if state.active_players:
        dead = 4 - len(state.active_players)
        weights = opponents.weights(game.views([(state, player) for player in state.active_players]))
        assert (weights.argmax(axis=1) == dead).all()
    assert registered.gate("opponents", registered.game("pommerman-team")).num_phases == 2


def test_three_scripted_opponents_reply_within_the_search() -> None:
    game = variant("PommeFFACompetition-v0")
    roots = game.views([(game.determinize(game.initial_state(seed), 0), 0) for seed in range(4)])
    search = Search(game, SearchConfig(simulations=200), opponents=ScriptedAgent("simple"))
    visits = []
    for _ in range(2):
        search.reset(roots, [1, 2, 3, 4])
        visits.append([result.visits.tolist() for result in search.run(UniformEvaluator(game.spec))])
        assert all(sum(row) == 200 for row in visits[-1])
    assert visits[0] == visits[1]


@pytest.mark.parametrize("env", ["PommeFFACompetition-v0", "OneVsOne-v0"])
def test_survivors_of_the_last_step_have_tied_or_lost(env: str) -> None:
    ends = {}
    for timeout in ("tie", "loss"):
        game = variant(env, max_steps=5, timeout=timeout)
        state = game.initial_state(1)
        while players := state.active_players:
            state = state.play([0] * len(players))
        assert game.parse_state(game.format_state(state)).returns().tolist() == state.returns().tolist()
        ends[timeout] = state
    assert set(ends["tie"].returns().tolist()) == {0}
    assert set(ends["loss"].returns().tolist()) == {-1}
    assert ends["tie"].key() != ends["loss"].key()


@pytest.mark.parametrize("env", ["PommeFFA-v1", "PommeTeam-v0"])
def test_a_winner_whom_walls_bury_with_the_last_step_has_won(env: str) -> None:
    game = variant(env, first_collapse=500)
    board, nothing = np.zeros((11, 11), np.uint8), np.zeros((11, 11), np.uint8)
    # Player 0 stands in the outermost ring, player 1 beside a bomb that goes off; the others are dead.
    agents = np.array([[0, 0, 1, 2, 0, 1], [5, 5, 1, 2, 0, 1], [6, 4, 1, 2, 0, 0], [7, 3, 1, 2, 0, 0]], np.int8)
    board[0, 0], board[5, 5] = 10, 11
    bombs, flames = np.array([[5, 6, 0, 1, 2, 0]], np.int8), np.zeros((0, 3), np.int8)
    state = native.State.from_arrays(game.rules, 499, board, nothing, agents, bombs, flames)
    after, rewards, is_done, _ = state.step([0] * 4)
    assert (is_done, after.is_over, after.living) == (True, True, ())
    expected = [1, -1, 1, -1] if "Team" in env else [1, -1, -1, -1]
    assert list(rewards) == after.returns().tolist() == expected
    for same in (pickle.loads(pickle.dumps(after)), game.parse_state(game.format_state(after))):
        assert same == after
        assert same.returns().tolist() == expected


def test_a_winner_at_the_last_step_has_won_whatever_a_timeout_is() -> None:
    game = variant("OneVsOne-v0", max_steps=30, timeout="loss")
    found = set()
    for seed in range(200):
        state, agents = game.initial_state(seed), ScriptedAgent("random")
        seats = [Seat(player, np.random.default_rng([seed, player])) for player in range(2)]
        while players := state.active_players:
            views = game.views([(state, player) for player in players])
            state = state.play([one.action for one in agents.act(views, [seats[player] for player in players])])
        found.add((tuple(sorted(state.returns().tolist())), state.ply == 30))
    assert ((-1.0, 1.0), True) in found
    assert ((-1.0, -1.0), True) in found
    assert not any(0.0 in returns for returns, _ in found)


def test_with_a_discount_data_says_how_soon_it_is_decided(tmp_path: Path) -> None:
    """A result is worth `discount` less with every step, up to where it is decided: for the dead where they die."""
    game = variant("PommeFFACompetition-v0", discount=0.9)
    out = generate(game, [ScriptedAgent("simple")] * 4, 3000, seed=2, out=tmp_path)
    records = Records.join(read_shards(out, game)[1])
    # Of the last game there are only the first samples.
    whole = sorted(set(records.game.tolist()))[:-1]
    of_player = [(number, player) for number in whole for player in range(4)]
    signs = set()
    for number, player in of_player:
        rows = np.flatnonzero((records.game == number) & (records.player == player))
        results = records.returns[rows, 0]
        if not len(rows) or not results[-1]:
            continue
        signs.add(float(np.sign(results[-1])))
        # The last decision of a player is one step from where it has won, or lost.
        steps = records.plies_to_end[rows] - records.plies_to_end[rows[-1]] + 1
        assert results == pytest.approx(np.sign(results[-1]) * 0.9**steps, abs=1e-5)
    assert signs == {-1.0, 1.0}


def test_a_timeout_is_no_loss_where_teams_play() -> None:
    with pytest.raises(ValueError, match="expected a tie at the limit of steps where teams play"):
        variant("PommeTeam-v0", timeout="loss")
    with pytest.raises(ValueError, match="expected timeout 'tie' or 'loss', got 'win'"):
        variant("PommeFFACompetition-v0", timeout="win")  # type: ignore[arg-type]


def test_a_search_in_fog_plays_whole_games_from_what_its_player_knows() -> None:
    game = variant("PommeTeamCompetition-v1", max_steps=40, first_collapse=20)
    searcher = SearchAgent(
        game, UniformEvaluator(game.spec), SearchConfig(simulations=30), opponents=ScriptedAgent("simple")
    )
    others = ScriptedAgent("simple")
    state = game.initial_state(1)
    seats = [Seat(player, np.random.default_rng(player)) for player in range(4)]
    is_hidden = []
    while players := state.active_players:
        views = game.views([(state, player) for player in players])
        actions = [decision.action for decision in others.act(views, seats)]
        if 0 in state.living:  # type: ignore[attr-defined]
            known, twin = game.determinize(state, 0), Seat(0, copy.deepcopy(seats[0].rng))
            is_hidden.append(known.key() != state.key())
            (decided,), (from_known,) = (
                searcher.act(views.take([0]), seats[:1]),
                searcher.act(game.views([(known, 0)]), [twin]),
            )
            assert (decided.value, decided.depth, decided) == (from_known.value, from_known.depth, from_known)
            actions[0] = decided.action
        state = state.play(actions)
    assert any(is_hidden)


def test_a_seat_plays_the_same_whatever_shares_its_batch() -> None:
    game, agent = variant("PommeFFACompetition-v0"), ScriptedAgent("simple")

    def play(extra: int) -> list[int]:
        state, other = game.initial_state(0), game.initial_state(9)
        seats = [Seat(0, np.random.default_rng(5)), *(Seat(1, np.random.default_rng(i)) for i in range(extra))]
        actions = []
        for _ in range(40):
            views = game.views([(state, 0), *[(other, 1)] * extra])
            actions.append(agent.act(views, seats)[0].action)
            state = state.play([actions[-1], 0, 0, 0][: len(state.active_players)])
            if 0 not in state.active_players:
                break
        return actions

    assert play(0) == play(3)


def test_four_simple_agents_play_like_those_of_the_reference() -> None:
    """2,000 games at fixed seeds against the reference's 2,300 (300 traces and 2,000 more).

    Each number must lie within 3.5 standard errors of the difference of both samples.
    """
    ours, theirs = 2000, 2300
    lengths, living, deaths = native.games(
        native.Rules("PommeFFACompetition-v0"), ["simple"] * 4, list(range(ours)), False
    )
    size = 1 / ours + 1 / theirs
    survivors = living.sum(axis=1)
    decided = survivors == 1

    def check_share(found: float, expected: float) -> None:
        assert abs(found - expected) < 3.5 * np.sqrt(expected * (1 - expected) * size), (found, expected)

    assert abs(lengths.mean() - 379.4) < 3.5 * 234 * np.sqrt(size)
    check_share(decided.mean(), 0.770)
    check_share((~decided & (lengths == 800)).mean(), 0.123)
    check_share((survivors == 0).mean(), 0.107)
    for seat, share in enumerate((0.234, 0.162, 0.223, 0.151)):
        check_share((living[:, seat] & decided).mean(), share)
    # Mean steps of the first, second and third death, of 2,000 games; survivors count as 800.
    order = np.sort(np.where(living, 800, deaths), axis=1)
    for place, mean in enumerate((82, 154, 379)):
        assert abs(order[:, place].mean() - mean) < 3.5 * order[:, place].std() * np.sqrt(2 / ours)
    first = deaths == deaths.min(axis=1, keepdims=True)
    assert (first & ~living).mean(axis=0)[[1, 3]].min() > (first & ~living).mean(axis=0)[[0, 2]].max()

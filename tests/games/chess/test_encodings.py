"""Planes and policy maps agree with an independent encoder, position by position."""

from __future__ import annotations

import pickle
from pathlib import Path

import chess
import numpy as np
import pytest
from chess_oracle import action, planes, random_games
from hypothesis import given, settings
from hypothesis import strategies as st

from moemcts.evaluation import UniformEvaluator
from moemcts.native import core
from moemcts.plugins import plugins
from moemcts.runs.settings import TrainingConfig
from moemcts.runs.training import Training
from moemcts.search import Search, SearchConfig
from moemcts_chess.board import board as make_board
from moemcts_chess.game import VARIANTS, ChessGame

NUM_POSITIONS = 300


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", ["v1", "v2", "multi", "multi-attacks"])
def test_planes_agree_with_an_encoder_on_python_chess(variant: str, name: str) -> None:
    game = ChessGame(variant, planes=name)
    # What pieces attack is asked square by square.
    num_positions = NUM_POSITIONS // 10 if name == "multi-attacks" else NUM_POSITIONS
    for state, board in random_games(game, num_positions, seed=1):
        if not state.active_players:
            continue
        made = state.observation(state.active_players[0])
        expected = planes(board, variant, name)
        if variant == "crazyhouse":
            # python-chess counts on over pawn drops, which nothing in crazyhouse depends on.
            halfmoves = game.planes().index("halfmoves")
            made[halfmoves] = expected[halfmoves]
        assert made.shape == expected.shape
        wrong = np.unique(np.nonzero(np.abs(made - expected) > 1e-6)[0])
        assert not len(wrong), (state, [game.planes()[plane] for plane in wrong])


@pytest.mark.parametrize("variant", VARIANTS)
def test_actions_agree_with_the_published_formula(variant: str) -> None:
    for state, board in random_games(ChessGame(variant), NUM_POSITIONS, seed=2):
        if state.active_players:
            expected = sorted(action(board, move, variant) for move in board.legal_moves)
            assert expected == state.legal_actions(state.active_players[0]), state


@pytest.mark.parametrize("variant", VARIANTS)
@given(choices=st.lists(st.integers(0, 2**31), max_size=120), seed=st.integers(0, 959))
@settings(max_examples=15, deadline=None)
def test_every_legal_move_has_exactly_one_index_and_back(variant: str, choices: list[int], seed: int) -> None:
    for policy in (None, "multi"):
        game = ChessGame(variant, policy=policy)
        state = game.initial_state(seed)
        for choice in choices:
            if not state.active_players:
                break
            player = state.active_players[0]
            legal = state.legal_actions(player)
            names = [game.format_action(state, player, index) for index in legal]
            moves = {move.uci() for move in state.board().legal_moves}
            assert len(set(legal)) == len(legal) == len(moves)
            assert set(names) == moves
            assert [game.parse_action(state, player, name) for name in names] == legal
            assert max(legal) < game.spec.num_actions
            state = state.play([legal[choice % len(legal)]])


def test_the_joint_policy_map_has_no_collision() -> None:
    promotion = ChessGame("antichess", policy="multi").parse_state("8/P7/8/8/8/8/7p/8 w - - 0 1")
    drop = ChessGame("crazyhouse", policy="multi").parse_state("4k3/8/8/8/8/8/8/4K3[PNBRQ] w - - 0 1")
    kings = {promotion.action(f"a7a8{piece}") for piece in "nbrqk"}
    drops = {index for index in drop.legal_actions(0) if "@" in drop.uci(index)}
    assert len(kings) == 5
    assert len(drops) == 4 * 62 + 48
    assert not kings & drops


def test_policy_maps_have_their_sizes() -> None:
    sizes = {variant: ChessGame(variant).spec.num_actions // 64 for variant in VARIANTS}
    assert sizes == dict.fromkeys(VARIANTS, 76) | {"antichess": 79, "crazyhouse": 81}
    assert ChessGame("chess", policy="multi").spec.num_actions == 84 * 64


def test_both_sides_see_the_board_from_their_first_rank() -> None:
    game = ChessGame("chess")
    white = game.parse_state("4k3/8/8/8/8/2n5/1P6/R3K3 w Q - 3 20")
    black = game.parse_state("r3k3/1p6/2N5/8/8/8/8/4K3 b q - 3 20")
    assert np.array_equal(white.observation(0), black.observation(1))
    assert white.legal_actions(0) == black.legal_actions(1)


def test_castling_is_the_same_in_the_policy_and_in_the_last_moves() -> None:
    squares = {"chess": ("e1g1", 6), "chess960": ("e1h1", 7)}
    for variant, (name, target) in squares.items():
        game = ChessGame(variant)
        state = game.parse_state("4k3/8/8/8/8/8/8/4K2R w K - 0 1")
        index = game.parse_action(state, 0, "O-O")
        assert game.format_action(state, 0, index) == name
        assert index == action(state.board(), chess.Move.from_uci(name), variant)
        after = state.play([index])
        planes_after = after.observation(1)
        first = game.planes().index("last moves")
        assert np.argwhere(planes_after[first]).tolist() == [[7, 4]]
        assert np.argwhere(planes_after[first + 1]).tolist() == [[7, target]]


def test_states_survive_text_bytes_and_boards() -> None:
    for variant in VARIANTS:
        game = ChessGame(variant)
        states = [state for state, _ in random_games(game, 200, seed=3)]
        views = game.unpack(game.pack(states), np.zeros(len(states), dtype=np.int64))
        for row, state in enumerate(states):
            assert views[row].state.key() == state.key() == game.parse_state(state.format()).key()
            board = state.board()
            assert type(board) is type(make_board(variant, state.fen()))
            assert board.fen() == make_board(variant, state.fen()).fen()


@pytest.mark.parametrize("variant", VARIANTS)
def test_packed_views_say_what_views_of_whole_states_say(variant: str) -> None:
    game = ChessGame(variant)
    states = [state for state, _ in random_games(game, 150, seed=5)]
    players = np.arange(len(states)) % 2
    packed = game.unpack(game.pack(states), players)
    whole = game.views(list(zip(states, map(int, players), strict=True)))
    rows = [7, 3, 7, len(states) - 1]
    again = pickle.loads(pickle.dumps(packed))
    for ours, theirs in ((packed, whole), (packed.take(rows), whole.take(rows)), (again, whole)):
        assert len(ours) == len(theirs)
        for name in ("observations", "players", "plies", "legal_mask", "glance"):
            assert np.array_equal(getattr(ours, name)(), getattr(theirs, name)()), name
        for name in core.chess_measures():
            assert np.array_equal(ours.measure(name), theirs.measure(name)), name
        assert np.array_equal(ours.playouts(1, 3), theirs.playouts(1, 3))
        assert [(view.state.key(), view.player) for view in ours] == [
            (view.state.key(), view.player) for view in theirs
        ]


def test_packed_views_are_searched_and_end_where_they_end() -> None:
    game = ChessGame("chess")
    state = game.initial_state()
    packed = game.unpack(game.pack([state]), np.zeros(1, dtype=np.int64))
    results = []
    for roots in (packed, game.views([(state, 0)])):
        search = Search(game, SearchConfig(simulations=50))
        search.reset(roots, [0])
        results.append(search.run(UniformEvaluator(game.spec))[0].visits.tolist())
    assert results[0] == results[1]
    with pytest.raises(IndexError, match="expected a row of at least 0 and below 1, got 1"):
        packed[1]
    with pytest.raises(IndexError, match="expected a row of at least 0 and below 1, got 3"):
        packed.take([3])


def test_a_position_that_can_not_be_is_found_where_a_state_is_asked_for() -> None:
    game = ChessGame("chess")
    packed = game.pack([game.initial_state()])
    data = packed.data.copy()
    data[24:32] = 0  # no piece is White's
    views = game.unpack(type(packed)(data, packed.offsets), np.zeros(1, dtype=np.int64))
    with pytest.raises(ValueError, match="row 0: "):
        views[0]
    with pytest.raises(ValueError, match="row 0: "):
        views.legal_mask()


def test_foreign_bytes_are_refused() -> None:
    packed = ChessGame("chess").pack([ChessGame("chess").initial_state()])
    with pytest.raises(ValueError, match="row 0: expected positions of antichess, got chess"):
        ChessGame("antichess").unpack(packed, np.zeros(1, dtype=np.int64))
    with pytest.raises(ValueError, match="expected 1 players, got 2"):
        ChessGame("chess").unpack(packed, np.zeros(2, dtype=np.int64))
    with pytest.raises(ValueError, match="row 0: expected 80 bytes and eight for each position before, got 83"):
        ChessGame("chess").unpack(type(packed).of([packed.data.tobytes() + b"abc"]), np.zeros(1, dtype=np.int64))
    with pytest.raises(ValueError, match="row 0: expected at most 0 positions before that can be repeated"):
        ChessGame("chess").unpack(type(packed).of([packed.data.tobytes() + bytes(8)]), np.zeros(1, dtype=np.int64))
    with pytest.raises(ValueError, match="expected 80 bytes and eight for each position before, got 83"):
        core.ChessState.unpack(ChessGame("chess").rules, packed.data.tobytes() + b"abc")
    with pytest.raises(ValueError, match="at least 80 bytes"):
        ChessGame("chess").unpack(type(packed).of([b"short"]), np.zeros(1, dtype=np.int64))
    with pytest.raises(ValueError, match="row 0: expected positions of chess, got no known game"):
        ChessGame("chess").unpack(type(packed).of([bytes([255] * 80)]), np.zeros(1, dtype=np.int64))
    broken = packed.data.copy()
    broken[:24] = 255
    with pytest.raises(ValueError, match="row 0: "):
        ChessGame("chess").unpack(type(packed)(broken, packed.offsets), np.zeros(1, dtype=np.int64))


def test_a_long_past_is_forgotten_without_a_deep_stack() -> None:
    game = ChessGame("crazyhouse", max_plies=1_000_000)
    start = game.parse_state(f"{chess.STARTING_FEN[:-1]}400000")
    record = game.pack([start]).data.tobytes()
    state = core.ChessState.unpack(game.rules, record + bytes(8 * 799_998))
    assert pickle.loads(pickle.dumps(state)).key() == state.key() != start.key()


def test_counters_beyond_two_bytes_survive_pickling() -> None:
    state = ChessGame("chess", max_plies=1_000_000).parse_state("4k3/8/8/8/8/8/8/4K2R w - - 12 70000")
    again = pickle.loads(pickle.dumps(state))
    assert (again.fen(), again.key(), again.ply) == (state.fen(), state.key(), 139_998)


@given(data=st.data(), variant=st.sampled_from(VARIANTS), seed=st.integers(0, 100))
@settings(max_examples=150, deadline=None)
def test_no_bytes_make_the_core_panic(data: st.DataObject, variant: str, seed: int) -> None:
    game = ChessGame(variant)
    state = list(random_games(game, 1 + seed, seed=seed))[-1][0]
    packed = game.pack([state])
    noise = packed.data.copy()
    for place in data.draw(st.lists(st.integers(0, len(noise) - 1), min_size=1, max_size=4)):
        noise[place] = data.draw(st.integers(0, 255))
    try:
        views = game.unpack(type(packed)(noise, packed.offsets), np.zeros(1, dtype=np.int64))
    except ValueError:
        return
    views.observations()
    for name in ("lichess", "mixedness", "lost material"):
        views.measure(name)
    try:
        after = views[0].state
    except ValueError:
        return
    for _ in range(3):
        if not after.active_players:
            break
        after = after.play([after.legal_actions(after.active_players[0])[-1]])
        after.format()


def test_drawings_show_the_board() -> None:
    game = ChessGame("chess")
    state = game.parse_state("startpos; moves e2e4 e7e5 d1h5 b8c6 f1c4 g8f6 h5f7")
    assert "5 . . . . p . . .\n4 . . B . P . . .\n" in game.render(state)
    from moemcts_chess.board import svg_board

    drawing = svg_board(state)
    assert drawing.startswith("<svg")
    assert "check" in drawing


@pytest.mark.parametrize("variant", VARIANTS)
def test_networks_end_in_planes_of_moves_without_being_told(variant: str) -> None:
    game = ChessGame(variant)
    planes = game.spec.num_actions // 64
    assert plugins().complete_network("rise-v3.3", game) == f"rise-v3.3?policy_planes={planes}"
    assert plugins().complete_network("cnn", game) == "cnn"  # its policy is one dense layer
    named = "resnet?blocks=2&policy_planes=0"
    assert plugins().complete_network(named, game) == named
    reference = plugins().complete_network("resnet?channels=8&blocks=1", game)
    network = plugins().network(reference, game.spec.observation_shape, game.spec.num_actions)
    assert network.policy[-2].out_channels == planes


def test_a_training_writes_down_what_its_network_resolves_to(tmp_path: Path) -> None:
    config = TrainingConfig(game="antichess", gate="lichess", network="resnet?blocks=1")
    training = Training.create(tmp_path / "training", config)
    assert training.config.network == "resnet?blocks=1&policy_planes=79"
    assert Training.load(tmp_path / "training").config == training.config


@pytest.mark.parametrize("variant", ["crazyhouse", "atomic"])
def test_the_plain_planes_are_the_first_of_all(variant: str) -> None:
    whole, plain = ChessGame(variant), ChessGame(variant, planes="multi-plain")
    state, other = whole.initial_state(), plain.initial_state()
    for _ in range(20):
        action = state.legal_actions(state.active_players[0])[0]
        state, other = state.play([action]), other.play([action])
    assert plain.spec.observation_shape == (62, 8, 8)
    assert (state.observation(0)[:62] == other.observation(0)).all()

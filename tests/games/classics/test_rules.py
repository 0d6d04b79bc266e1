"""Classic games are OpenSpiel's, move for move, and keep the laws."""

from __future__ import annotations

import re

import numpy as np
import pytest

from moemcts.agents import Seat
from moemcts.errors import UsageError
from moemcts.evaluation import Evaluation, UniformEvaluator
from moemcts.game import Game, Views
from moemcts.plugins import Plugins
from moemcts.search import Search, SearchConfig
from moemcts.testing import check_agent, check_game, check_gate

GAMES = [
    "connect-four",
    "othello",
    "othello-6x6",
    "breakthrough",
    "breakthrough?rows=6&columns=5",
    "breakthrough?rows=5&columns=2",
    "hex",
    "hex?size=4",
    "tic-tac-toe",
]
SPIEL = {
    "connect-four": "connect_four",
    "othello": "othello",
    "breakthrough": "breakthrough",
    "breakthrough?rows=6&columns=5": "breakthrough(rows=6,columns=5)",
    "breakthrough?rows=5&columns=3": "breakthrough(rows=5,columns=3)",
    "hex": "hex",
    "hex?size=4": "hex(board_size=4)",
    "tic-tac-toe": "tic_tac_toe",
}


@pytest.mark.parametrize("name", GAMES)
def test_a_game_keeps_the_laws(name: str, found: Plugins) -> None:
    game = found.game(name)
    assert check_game(game, num_games=2)
    gate = "captures" if name.startswith("breakthrough") else "stones"
    assert check_gate(found.gate(gate, game), game, num_games=3)
    assert check_agent(found.agent("careful", game), game, num_games=2)


@pytest.mark.parametrize("name", SPIEL)
def test_random_games_are_those_of_openspiel_move_for_move(name: str, found: Plugins) -> None:
    pyspiel = pytest.importorskip("pyspiel")
    game, spiel = found.game(name), pyspiel.load_game(SPIEL[name])
    rng = np.random.default_rng(0)
    for _ in range(20):
        ours, theirs = game.initial_state(), spiel.new_initial_state()
        while not theirs.is_terminal():
            assert ours.active_players == (theirs.current_player(),)
            (player,) = ours.active_players
            rows = game.spec.observation_shape[1]
            moves = {translated(name, theirs.action_to_string(player, a), rows): a for a in theirs.legal_actions()}
            legal = {game.format_action(ours, player, action): action for action in ours.legal_actions(player)}
            assert sorted(legal) == sorted(moves)
            assert not ours.returns().any()
            move = sorted(moves)[rng.integers(len(moves))]
            assert game.parse_action(ours, player, move) == legal[move]
            ours = ours.play([legal[move]])
            theirs.apply_action(moves[move])
        assert not ours.active_players
        assert ours.returns().tolist() == theirs.returns()


def translated(name: str, move: str, rows: int) -> str:
    """Returns OpenSpiel's move in our notation: it draws tic-tac-toe from above, Breakthrough from the other side."""
    if name == "connect-four":
        return str(int(move[1:]) + 1)
    if name == "tic-tac-toe":
        row, column = map(int, re.findall(r"\d", move))
        return f"{'abc'[column]}{3 - row}"
    if name.startswith("breakthrough"):
        return re.sub(r"\d", lambda digit: str(rows + 1 - int(digit[0])), move)
    return move


def test_a_search_visits_in_connect_four_what_it_visits_in_openspiels(found: Plugins) -> None:
    openspiel = pytest.importorskip("moemcts_openspiel")
    ours, theirs = found.game("connect-four"), openspiel.OpenSpielGame("connect_four")
    opening = [3, 3, 2, 4, 4]
    assert grown(ours, opening) == grown(theirs, opening)


def grown(game: Game, opening: list[int]) -> tuple[object, ...]:
    """Returns what a search after an opening found: all that its tree decides, evaluated by what has been played."""
    state = game.initial_state()
    for action in opening:
        state = state.play([action])
    search = Search(game, SearchConfig(simulations=600, leaves_per_tree=4))
    search.reset(game.views([(state, state.active_players[0])]), [0])
    while views := search.select():
        search.backup(evaluated(views))
    (result,) = search.results()
    line = [tuple(actions) for actions in result.principal_variation]
    return result.actions.tolist(), result.visits.tolist(), result.values.tolist(), result.num_nodes, line


def evaluated(views: Views) -> Evaluation:
    """Evaluates positions of connect four by their own stones, which both games show, OpenSpiel by player."""
    logits, values = np.empty((len(views), 7), dtype=np.float32), np.empty(len(views), dtype=np.float32)
    for row in range(len(views)):
        state, player = views[row]
        text = str(state.spiel_state) if hasattr(state, "spiel_state") else "\n".join(state.drawn())
        rng = np.random.default_rng([*"".join(text.split()).encode(), player])
        logits[row], values[row] = rng.normal(size=7), rng.uniform(-1, 1)
    return Evaluation(logits, values)


@pytest.mark.parametrize(
    ("name", "line", "board"),
    [
        ("connect-four", "4453", "......./......./......./......./...o.../..oxx.. x 4"),
        ("connect-four", "startpos; moves 4 4", "......./......./......./......./...o.../...x... x 2"),
        ("othello", "f5d6c3", "......../......../..x...../...xx.../...oxx../...o..../......../........"),
        ("breakthrough", "b2b3 c7c6", "bbbbbbbb/bb.bbbbb/..b...../......../......../.w....../w.wwwwww/wwwwwwww w 2"),
        ("hex?size=4", "b1 a2", ".x../o.../..../.... x 2"),
        ("tic-tac-toe", "b2a3", "o../.x./... x 2"),
    ],
)
def test_lines_of_moves_are_read(name: str, line: str, board: str, found: Plugins) -> None:
    game = found.game(name)
    assert game.format_state(game.parse_state(line)).startswith(board)


def test_boards_are_read_as_others_write_them(found: Plugins) -> None:
    othello = found.game("othello")
    ffo_40 = "O--OOOOX-OOOOOOXOOXXOOOXOOXOOOXXOOOOOOXX---OOOOX----O--X-------- X"
    state = othello.parse_state(ffo_40)
    legal = [othello.format_action(state, 0, action) for action in state.legal_actions(0)]
    assert "a2" in legal
    hex_game = found.game("hex?size=4")
    second = hex_game.parse_state("c1")
    assert hex_game.parse_action(second, 1, "d2") == 3 * 4 + 1


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("connect-four", "44444444", "expected one of 1, 2, 3, 5, 6, 7, got '4'"),
        ("connect-four", "12121212", "expected no move after the end of the game, got '2'"),
        ("connect-four", "startpos; moves e4", "expected moves like '1', got 'e4'"),
        (
            "connect-four",
            "......./x",
            'expected 6 rows of 7 cells, each x, o or ., got "......./x"; or moves from the start',
        ),
        ("connect-four", "44e", "cells, each x, o or ., got \"44e\"; or moves from the start, like '1'"),
        ("tic-tac-toe", "x../.../... x 1", "expected o to move after 1 plies, got 'x../.../... x 1'; or moves"),
        ("othello", "a1", "expected one of d3, c4, f5, e6, got 'a1'"),
        ("othello", "-" * 64, "expected x or o to move"),
        ("breakthrough?rows=3&columns=2", "wb/../wb w", "expected the game not to have ended before the last move"),
        ("breakthrough?rows=3&columns=2", "w./bb/.. w", "expected the game not to have ended before the last move"),
        ("tic-tac-toe", "xxx/oo./o.. x", "expected the game not to have ended before the last move"),
        ("connect-four", "......./......./......./......./ooo..../xxxx... x", "expected players to have moved"),
        (
            "connect-four",
            "......./......./......./......./oooo.../xxxx... x",
            "expected the game not to have ended before",
        ),
        ("hex?size=2", "xx/x. o", "expected players to have moved in turn 3 times, got 3 and 0 stones"),
    ],
)
def test_what_is_no_position_says_what_was_expected(name: str, text: str, expected: str, found: Plugins) -> None:
    with pytest.raises(ValueError, match=re.escape(expected)):
        found.game(name).parse_state(text)


@pytest.mark.parametrize("name", ["hex?size=12", "hex?size=1", "breakthrough?rows=9", "breakthrough?columns=-1"])
def test_boards_of_other_sizes_are_refused(name: str, found: Plugins) -> None:
    with pytest.raises(UsageError, match=r"expected .* (2 to|size of at least 1)"):
        found.game(name)


def test_a_search_plays_both_sides_where_nobody_is_named(found: Plugins) -> None:
    assert not any(found.default_agent(found.game(name)) for name in found.games)


def test_damaged_records_are_refused(found: Plugins) -> None:
    game = found.game("connect-four")
    state = game.parse_state("4453")
    record = state.pack()
    assert type(state).unpack(record) == state
    for damaged in (record[:-1], b"\7" + record[1:], record[:4] + b"\xff" * 16, record[:2] + b"\5" + record[3:]):
        with pytest.raises(ValueError, match="expected"):
            type(state).unpack(damaged)


def test_packed_positions_on_another_board_are_refused(found: Plugins) -> None:
    large, small = found.game("hex"), found.game("hex?size=5")
    packed, player = small.pack([small.initial_state()]), np.zeros(1, np.int64)
    assert len(small.unpack(packed, player)) == 1
    with pytest.raises(ValueError, match=r"row 0: expected .* 11 rows and 11 columns, got one of 5 rows and 5 col"):
        large.unpack(packed, player)
    with pytest.raises(ValueError, match="row 0: expected a player below 2, got 2"):
        small.unpack(packed, player + 2)


def test_a_ply_that_no_game_comes_to_is_refused(found: Plugins) -> None:
    game = found.game("othello")
    text = game.format_state(game.initial_state())
    with pytest.raises(ValueError, match="expected at most 9999 plies, got 65534"):
        game.parse_state(text.rsplit(" ", 1)[0] + " 65534")


def test_the_careful_agent_beats_the_random_one_as_in_a_search_so_in_a_seat(found: Plugins) -> None:
    """40 games: 33 points are as far from the 20 of equals as four standard deviations."""
    game = found.game("connect-four")
    agents = [found.agent("careful", game), found.agent("random", game)]
    points = 0.0
    for seed in range(40):
        seats = [Seat(player, np.random.default_rng([seed, player])) for player in range(2)]
        state, first = game.initial_state(), seed % 2
        while state.active_players:
            (player,) = state.active_players
            (decision,) = agents[(player + first) % 2].act(game.views([(state, player)]), [seats[player]])
            state = state.play([decision.action])
        points += (1 + state.returns()[first]) / 2
    assert points >= 33
    search = Search(game, SearchConfig(simulations=50), opponents=agents[0])
    search.reset(game.views([(game.parse_state("112233"), 0)]), [0])
    (result,) = search.run(UniformEvaluator(game.spec))
    assert game.format_action(game.parse_state("112233"), 0, result.best_action) == "4"


def test_drawn_boards_have_their_coordinates(found: Plugins) -> None:
    game = found.game("hex?size=2")
    assert game.render(game.parse_state("b1")) == "   a b\n 1 . x\n  2 . .\no to move"
    game = found.game("tic-tac-toe")
    assert game.render(game.parse_state("a3b2c3a1b3")) == " 3 x x x\n 2 . o .\n 1 o . .\n   a b c"

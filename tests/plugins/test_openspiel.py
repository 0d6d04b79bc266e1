"""Games of OpenSpiel keep the laws, are searched as ours are, and say why they cannot be where they cannot."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from moemcts.errors import UsageError
from moemcts.evaluation import UniformEvaluator
from moemcts.game import CHANCE, Game, Packed, Player, State
from moemcts.plugins import Plugins
from moemcts.search import Search, SearchConfig
from moemcts.search.playouts import PlayoutAgent
from moemcts.testing import check_game

pytest.importorskip("pyspiel", reason="open_spiel is not installed: pip install ./plugins/moemcts-openspiel")
moemcts_openspiel = pytest.importorskip("moemcts_openspiel")

GAMES = [
    "breakthrough(rows=4,columns=4)",
    "catch",
    "clobber(rows=3,columns=4)",
    "cliff_walking",
    "connect_four",
    "dots_and_boxes(num_rows=1,num_cols=2)",
    "goofspiel(imp_info=False,num_cards=4,points_order=descending)",
    "goofspiel(imp_info=False,num_cards=4,points_order=random,players=3)",
    "havannah(board_size=3)",
    "hex(board_size=4)",
    "lines_of_action",
    "maedn(players=3)",
    "mancala",
    "markov_soccer",
    "mnk(m=4,n=4,k=3)",
    "nim(pile_sizes=1;3;5)",
    "nine_mens_morris",
    "oshi_zumo(coins=6,size=2)",
    "othello",
    "oware",
    "pathfinding",
    "pig(players=4,winscore=15)",
    "snake",
    "tic_tac_toe",
    "ultimate_tic_tac_toe",
    "y(board_size=4)",
]


def make(name: str) -> Game[State]:
    game: Game[State] = moemcts_openspiel.OpenSpielGame(name)
    return game


@pytest.mark.parametrize("name", GAMES)
def test_a_game_of_openspiel_keeps_the_laws(name: str) -> None:
    assert check_game(make(name), num_games=1)


def test_one_player_has_no_sum_to_keep() -> None:
    game = Plugins([("openspiel", moemcts_openspiel)]).game("openspiel:pig(players=1)")
    assert game.spec.utility_sum is None
    check_game(game)


def test_a_family_of_games_is_named_with_what_openspiel_calls_its_member() -> None:
    found = Plugins([("openspiel", moemcts_openspiel)])
    game = found.game("openspiel:breakthrough(rows=6,columns=6)")
    assert game.spec.name == "openspiel:breakthrough(columns=6,rows=6)"
    assert game.spec.observation_shape == (3, 6, 6)
    assert found.game_settings("openspiel:tic_tac_toe") == {"network": "mlp"}
    with pytest.raises(UsageError, match="no game named 'openspeil:hex'; did you mean 'openspiel:'"):
        found.game("openspeil:hex")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("kuhn_poker", "it hides information from players"),
        ("breaktrough", "OpenSpiel has no game named 'breaktrough'; did you mean 'breakthrough'"),
        ("breakthrough(rows=6,clumns=6)", "no parameter of breakthrough named 'clumns'; did you mean 'columns'"),
        ("breakthrough(rows=x)", "expected rows as a whole number, got 'x'"),
        ("breakthrough(rows=1)", "OpenSpiel cannot make it: .*rows_ > 1"),
        ("breakthrough(rows=6", r"expected parameters in brackets, as in openspiel:breakthrough\(columns=8\)"),
        ("go(komi=7)", "expected komi as a number such as 2.0, got 7"),
        ("go(board_size=100)", "OpenSpiel cannot make it: .*up to 19"),
        ("goofspiel(num_cards=-4)", "expected num_cards of at least 0, got -4"),
        ("hex(board_size=0)", "expected a larger board"),
        ("misere(game=foo())", "OpenSpiel has no game named 'foo'"),
        ("nfg_game", "it needs parameters, of which one is missing"),
        ("stones_and_gems", "its chance is sampled inside"),
    ],
)
def test_what_cannot_be_searched_says_why(name: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason) as raised:
        make(name)
    assert "\n" not in str(raised.value)
    assert moemcts_openspiel.why_not(name) == str(raised.value)


def test_more_players_than_the_search_holds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    # No game of perfect information has as many as 32: here 4 are too many.
    monkeypatch.setattr("moemcts.game.MAX_PLAYERS", 3)
    reason = r"openspiel:pig\(players=4\) cannot be searched here: expected num_players to be at most 3, got 4"
    with pytest.raises(UsageError, match=reason):
        make("pig(players=4)")
    assert moemcts_openspiel.why_not("pig(players=4)").count("\n") == 0
    assert make("pig(players=3)").spec.num_players == 3


def test_a_matrix_game_says_how_it_can_be_searched() -> None:
    with pytest.raises(UsageError, match="it is over after one move of all") as raised:
        make("matrix_rps")
    _, _, named = str(raised.value).partition("goes on: openspiel:")
    assert check_game(make(named), num_games=1)


def test_parameters_are_written_in_brackets() -> None:
    found = Plugins([("openspiel", moemcts_openspiel)])
    with pytest.raises(UsageError, match=r"in brackets, openspiel:hex\(board_size=4\), got \?board_size=4"):
        found.game("openspiel:hex?board_size=4")


def visits(game: Game[State], simulations: int) -> dict[str, int]:
    state = game.initial_state()
    search = Search(game, SearchConfig(simulations=simulations, leaves_per_tree=4))
    search.reset(game.views([(state, 0)]), [0])
    (result,) = search.run(UniformEvaluator(game.spec))
    return {str(int(action)): int(count) for action, count in zip(result.actions, result.visits, strict=True)}


def test_a_search_visits_in_openspiels_tic_tac_toe_what_it_visits_in_ours() -> None:
    moemcts_tictactoe = pytest.importorskip("moemcts_tictactoe")
    assert visits(make("tic_tac_toe"), 500) == visits(moemcts_tictactoe.TicTacToe(), 500)


def test_dice_are_rolled_by_chance_and_never_at_the_start() -> None:
    game = make("backgammon")
    states = [game.initial_state(seed) for seed in range(8)]
    assert all(state.active_players in ((0,), (1,)) for state in states)
    assert len({state.key() for state in states}) > 4
    after = states[0].play([int(states[0].legal_actions(states[0].active_players[0])[0])])
    assert after.active_players == (CHANCE,)
    assert len(after.chances()) == 36
    assert after.chances().sum() == pytest.approx(1, abs=1e-6)


def test_rewards_on_the_way_add_up_to_openspiels_returns() -> None:
    game = make("cliff_walking")
    rng = np.random.default_rng(0)
    state, paid = game.initial_state(), 0.0
    while state.active_players:
        state = state.play([int(rng.choice(state.legal_actions(0)))])
        paid += float(state.rewards()[0])
    assert paid * game.spec.score_unit == pytest.approx(state.spiel_state.returns()[0], abs=1e-3)  # type: ignore[attr-defined]
    assert not state.returns().any()


def test_games_and_positions_are_pickled() -> None:
    game = make("goofspiel(imp_info=False,num_cards=4,points_order=descending)")
    state = game.initial_state().play([0, 1])
    again = pickle.loads(pickle.dumps(game))
    assert again.parse_state(game.format_state(state)).key() == state.key()
    assert pickle.loads(pickle.dumps(state)) == state


def test_positions_are_equal_that_the_same_actions_led_to() -> None:
    state, other = (make(name).parse_state("0 3 1 4") for name in ("tic_tac_toe", "tic_tac_toe()"))
    assert state == other
    assert len({state, other, state.play([2]), state.play([5])}) == 3
    assert state != make("misere(game=tic_tac_toe())").parse_state("0 3 1 4")


@pytest.mark.parametrize(
    "name", ["catch", "goofspiel(imp_info=False,num_cards=4,points_order=random)", "oshi_zumo", "pig"]
)
def test_what_was_packed_is_what_was_played(name: str) -> None:
    game, rng = make(name), np.random.default_rng(0)
    states = [game.initial_state()]
    while states[-1].active_players:
        state = states[-1]
        states.append(state.play([int(rng.choice(state.legal_actions(player))) for player in state.active_players]))
    for state, view in zip(states, game.unpack(game.pack(states), np.zeros(len(states), np.int64)), strict=True):
        assert (view.state.ply, view.state.key()) == (state.ply, state.key())
        assert np.array_equal(view.state.rewards(), state.rewards())
        assert np.array_equal(view.state.returns(), state.returns())


def test_a_packed_game_with_an_illegal_action_is_refused() -> None:
    game = make("tic_tac_toe")
    with pytest.raises(
        ValueError,
        match=r"expected legal actions of openspiel:tic_tac_toe.*, got \[4, 4\]; the one at step 1 is illegal",
    ):
        game.unpack(Packed.of([np.array([4, 4], dtype="<i4").tobytes()]), np.zeros(1, np.int64))


def test_a_playout_search_finds_the_winning_move() -> None:
    game = make("tic_tac_toe")
    state = game.parse_state("0 3 1 4")
    agent = PlayoutAgent(game, playouts=400, exploration=1.4)
    assert decided(agent, game, state, 0) == 2


def decided(agent: PlayoutAgent, game: Game[State], state: State, player: Player) -> int:
    from moemcts.agents import Seat

    (decision,) = agent.act(game.views([(state, player)]), [Seat(player, np.random.default_rng(0))])
    return decision.action

"""What a game gives that is not what it has to be is told as that game's fault, in one line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from games_for_tests import HashedTree, Heap, TreeGame, TreeState

from moemcts.agents import Agent, PolicyAgent, RandomAgent
from moemcts.arena import Conditions, Lineup, play_games
from moemcts.arena.adjudication import check_adjudicable
from moemcts.arena.openings import read_openings, starts
from moemcts.arena.records import key_of
from moemcts.errors import UnlawfulGame
from moemcts.evaluation import UniformEvaluator
from moemcts.game import CHANCE, Action, Game, Player
from moemcts.gates import SinglePhase
from moemcts.learn.fingerprint import encoding_fingerprint
from moemcts.learn.inference.positions import positions_of_play
from moemcts.play import Table, chance_of, play, seats_of
from moemcts.plugins import plugins
from moemcts.search import SearchAgent, SearchConfig
from moemcts.testing import check_agent
from moemcts.validation import check_players

RULES = TreeGame(seed=11, num_players=2, branching=3, depth=6, simultaneous=True, has_chance=True, has_rewards=True)


def giving(method: str, given: object, *, from_ply: int = 1) -> HashedTree:
    """Returns a game one of whose methods gives something else from a ply on."""
    own: Any = getattr(TreeState, method)

    def answer(state: TreeState, *arguments: Any) -> Any:
        if len(state.path) >= from_ply:
            return given
        return own.fget(state) if isinstance(own, property) else own(state, *arguments)

    class Giving(HashedTree):
        def initial_state(self, seed: int = 0) -> TreeState:
            member = property(answer) if isinstance(own, property) else answer
            return type("Position", (TreeState,), {method: member})(self.rules)

    return Giving(RULES)


AGENTS: dict[str, Callable[[HashedTree], Agent]] = {
    "random": lambda game: RandomAgent(),
    "policy": lambda game: PolicyAgent(UniformEvaluator(game.spec)),
    "cached": lambda game: searching(game, cache_size=100),
    "rollouts": lambda game: searching(game, rollout_plies=3),
    "against random": lambda game: SearchAgent(
        game, UniformEvaluator(game.spec), SearchConfig(simulations=10), opponents=RandomAgent()
    ),
}


def searching(game: HashedTree, **options: int) -> SearchAgent:
    return SearchAgent(game, UniformEvaluator(game.spec), SearchConfig(simulations=10, **options))


def played(game: HashedTree, agent: Agent) -> None:
    table = Table(state=game.initial_state(), agents=[agent] * 2, seats=seats_of(2, 1), chance=chance_of(2, 1))
    for steps in play(game, [table]):
        for step in steps:
            step.check()


@pytest.mark.parametrize(
    ("method", "given", "told"),
    [
        ("ply", None, "expected a ply, an integer of at least 0, the game gave None"),
        ("ply", 1.5, "expected a ply, an integer of at least 0, the game gave 1.5"),
        ("legal_actions", None, "integers of at least 0, the game gave None"),
        ("legal_actions", (0.5,), "integers of at least 0, the game gave"),
        ("legal_actions", [], "expected a legal action for active player"),
        ("rewards", None, "expected rewards of 2 players, all finite numbers, the game gave None"),
        ("rewards", [], r"expected rewards of 2 players, all finite numbers, the game gave \[\]"),
        ("returns", "x", "expected returns of 2 players, all finite numbers, the game gave 'x'"),
        ("active_players", None, "expected active.players.*, the game gave None"),
    ],
)
@pytest.mark.parametrize("agent", AGENTS)
def test_what_is_no_answer_of_a_position_is_the_games_fault_whoever_plays(
    method: str, given: object, told: str, agent: str
) -> None:
    game = giving(method, given)
    with pytest.raises(UnlawfulGame, match=told) as raised:
        played(game, AGENTS[agent](game))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("given", [[float("nan"), 0.0], [0.0, float("-inf")], [Decimal(0)] * 2, [1j, 0]])
@pytest.mark.parametrize("method", ["rewards", "returns"])
def test_what_is_no_finite_number_is_neither_paid_nor_won(method: str, given: list[Any]) -> None:
    with pytest.raises(UnlawfulGame, match=f"expected {method} of 2 players, all finite numbers, the game gave"):
        played(giving(method, given), RandomAgent())


@pytest.mark.parametrize("given", [(0.0,), (np.float64(1),), (2,), (-1, 0), [0], ("x",)])
def test_who_moves_is_a_tuple_of_whole_numbers(given: Any) -> None:
    with pytest.raises(
        UnlawfulGame, match=r"expected active_players to be a tuple of players from 0 to 1, the game gave"
    ):
        check_players(HashedTree(RULES).spec, given)


@pytest.mark.parametrize("given", [(), (0,), (0, 1), (np.int64(1),), (CHANCE,)])
def test_whole_numbers_of_any_type_name_who_moves(given: tuple[Player, ...]) -> None:
    check_players(HashedTree(RULES).spec, given)


@pytest.mark.parametrize("given", [None, 1.5, "x", np.array([1, 2]), 2**64, -(2**63) - 1])
@pytest.mark.parametrize("agent", ["cached", "rollouts"])
def test_a_key_that_is_no_whole_number_is_the_games_fault(given: object, agent: str) -> None:
    game = giving("key", given)
    with pytest.raises(UnlawfulGame, match="expected a 64-bit integer as key, the game gave"):
        played(game, AGENTS[agent](game))


def test_a_start_whose_key_is_no_whole_number_is_the_games_fault() -> None:
    with pytest.raises(UnlawfulGame, match=r"expected a 64-bit integer as key, the game gave 1\.5"):
        key_of(giving("key", 1.5, from_ply=0).initial_state())


@pytest.mark.parametrize("agent", ["cached", "rollouts"])
def test_a_key_below_zero_has_64_bits_too(agent: str) -> None:
    game = giving("key", -7)
    played(game, AGENTS[agent](game))


@pytest.mark.parametrize("given", [None, [], [0.5] * 9, [float("nan")], "x"])
def test_chances_that_are_no_distribution_are_the_games_fault(given: object) -> None:
    with pytest.raises(
        UnlawfulGame, match=r"expected the chances of \d outcomes, non-negative and summing to one, the game"
    ):
        played(giving("chances", given), RandomAgent())


@pytest.mark.parametrize("agent", AGENTS)
def test_a_step_that_leads_to_no_position_is_the_games_fault(agent: str) -> None:
    game = giving("play", None, from_ply=0)
    with pytest.raises(
        UnlawfulGame, match=r"hashed-tree .*: expected a position( derived from moemcts.State)?, the game gave None"
    ):
        played(game, AGENTS[agent](game))


@pytest.mark.parametrize("agent", AGENTS)
def test_a_step_that_changes_its_own_position_is_the_games_fault(agent: str) -> None:
    class Changing(TreeState):
        def play(self, actions: Sequence[Action]) -> TreeState:
            object.__setattr__(self, "path", (*self.path, tuple(actions)))
            return self

    class InPlace(HashedTree):
        def initial_state(self, seed: int = 0) -> TreeState:
            return Changing(self.rules)

    game = InPlace(RULES)
    told = (
        r"hashed-tree .*: expected play to return a new position and to leave its own unchanged, the game gave its own"
    )
    with pytest.raises(UnlawfulGame, match=told):
        played(game, AGENTS[agent](game))


@pytest.mark.parametrize("given", [None, 7, "\ud800"])
def test_a_position_that_is_not_written_as_text_is_the_games_fault(given: Any) -> None:
    class Silent(HashedTree):
        def format_state(self, state: TreeState) -> str:
            return given

    game = Silent(RULES)
    with pytest.raises(UnlawfulGame, match=r"hashed-tree .*: expected a position written as text, the game gave"):
        game.pack([game.initial_state()])


@pytest.mark.parametrize("given", [None, 1.0, []])
def test_a_position_is_not_decided_by_what_is_no_number_per_player(given: Any) -> None:
    class Unclear(Heap):
        def returns(self) -> Any:
            return given

    with pytest.raises(UnlawfulGame, match="expected returns, one number per player, the game gave"):
        Unclear().is_decided(0)


def test_a_rollout_ends_with_the_game_though_nobody_is_decided_there() -> None:
    class Position(TreeState):
        def is_decided(self, player: Player) -> bool:
            return False

    class Undecided(HashedTree):
        def initial_state(self, seed: int = 0) -> TreeState:
            return Position(self.rules)

    game = Undecided(RULES)
    (result,) = searching(game, rollout_plies=20).act(game.views([(game.initial_state(), 0)]), seats_of(2, 1)[:1])
    assert result.simulations == 10


class Loose:
    """A position with all that one has, which is not derived from `State`."""

    ply, active_players = 0, (0,)

    def legal_actions(self, player: Player) -> list[int]:
        return [0, 1]

    def key(self) -> int:
        return 1


BEGINNING: dict[str, Callable[[Game, Path], object]] = {
    "openings at random": lambda game, folder: starts(game, 2),
    "openings of seeds": lambda game, folder: play_games(
        game, [Lineup(agents=[RandomAgent()] * 2)], Conditions(seed=1)
    ),
    "openings of a file": lambda game, folder: read_openings(game, folder / "lines.txt"),
    "adjudication": lambda game, folder: check_adjudicable(game),
    "gate of plies": lambda game, folder: plugins().gate("plies", game),
    "fingerprint": lambda game, folder: encoding_fingerprint(game),
    "positions of play": lambda game, folder: positions_of_play(game, SinglePhase(), [RandomAgent()]),
    "an agent's laws": lambda game, folder: check_agent(RandomAgent(), game),
}


@pytest.mark.parametrize("beginning", BEGINNING)
def test_positions_that_are_not_derived_from_state_are_the_games_fault(beginning: str, tmp_path: Path) -> None:
    class Strange(HashedTree):
        def initial_state(self, seed: int = 0) -> Any:
            return Loose()

        def parse_state(self, text: str) -> Any:
            return Loose()

    (tmp_path / "lines.txt").write_text("0\n")
    with pytest.raises(UnlawfulGame, match=r"expected a position derived from moemcts.State, the game gave"):
        # What is begun with may be drawn one by one.
        list(cast(Iterable[object], BEGINNING[beginning](Strange(RULES), tmp_path)))

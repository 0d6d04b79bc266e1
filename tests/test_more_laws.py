"""What a lone course of a game does not show is found too, and where a law is broken is told."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from games_for_tests import Heap, Heaps
from games_of_chance import Pig, PigState

from moemcts.agents import Agent, Decision, RandomAgent, Seat
from moemcts.errors import MoemctsError
from moemcts.game import CHANCE, Action, Game, GameSpec, Packed, Player, State, Symmetry, Views
from moemcts.gates import PhaseGate, PlyGate
from moemcts.learn.schemes.catalogue import Single
from moemcts.testing import BrokenLaw, check_agent, check_game, check_gate, check_scheme

NAMES = {"0": 0, "1": 1, "2": 2}


def heaps(*, game: dict[str, Any] | None = None, **methods: Any) -> Heaps:
    """Returns the game with some methods of its own and of its positions replaced."""
    made = type("Replaced", (Heaps,), game or {})()
    made.state_type = type("ReplacedHeap", (Heap,), methods)
    return made  # type: ignore[no-any-return]


def test_what_is_legal_but_seldom_played_is_found_to_be_unplayable() -> None:
    def play(self: Heap, actions: Sequence[int]) -> Any:
        if self.ply == 0 and actions[0] == 2:
            raise IndexError("no stones left")
        return Heap.play(self, actions)

    for seed in range(3):
        with pytest.raises(IndexError, match="no stones left") as raised:
            check_game(heaps(play=play), num_games=1, seed=seed)
        assert raised.value.__notes__ == ["at ply 0 of game 0, in '9,0', where [2] is played"]


def test_where_a_law_is_broken_is_told() -> None:
    late = heaps(returns=lambda self: np.zeros(2 if self.stones else 3, np.float32))
    with pytest.raises(
        BrokenLaw, match=r"one per player: expected \(2,\), got \(3,\); at ply \d of game 0, in '0,\d'$"
    ):
        check_game(late)
    with pytest.raises(BrokenLaw, match=r"plies count up: \[\d\] leads from ply 0 to 2; at ply 0 .*, where \[\d\] is"):
        check_game(heaps(play=lambda self, actions: replace(Heap.play(self, actions), ply=self.ply + 2)))
    uneven = heaps(
        returns=lambda self: np.array([0.5, 0], np.float32) * (not self.stones),
        is_decided=lambda self, player: not self.stones,
    )
    with pytest.raises(BrokenLaw, match=r"final returns sum to utility_sum: .*; at the end of game 0, in '0,\d'$"):
        check_game(uneven)


def test_arrays_that_are_written_over_are_found() -> None:
    planes, paid = np.zeros(10, np.float32), np.zeros(2, np.float32)

    def observation(self: Heap, player: int) -> Any:
        planes[:] = Heap.observation(self, player)
        return planes

    def returns(self: Heap) -> Any:
        paid[:] = Heap.returns(self)
        return paid

    law = r"arrays stay as they were returned: what {} returned has changed since"
    with pytest.raises(BrokenLaw, match=law.format(r"observation\(0\), observation\(1\)")):
        check_game(heaps(observation=observation))
    with pytest.raises(BrokenLaw, match=law.format(r"returns\(\)")):
        check_game(heaps(returns=returns))


def test_a_start_that_is_none_is_found() -> None:
    with pytest.raises(
        BrokenLaw, match=r"a player moves first: nobody moves in the first position; in initial_state\(0"
    ):
        check_game(heaps(game={"initial_state": lambda self, seed=0: self.state_type(0)}))


def test_seeds_that_are_too_large_for_a_game_are_found() -> None:
    def initial_state(self: Heaps, seed: int = 0) -> Any:
        return self.state_type(9 - int(np.random.RandomState(seed).randint(2)))

    with pytest.raises(ValueError, match="Seed must be between 0") as raised:
        check_game(heaps(game={"initial_state": initial_state}))
    assert raised.value.__notes__ == ["in initial_state(9223372036854775807)"]


@pytest.mark.parametrize(
    ("methods", "law"),
    [
        (
            {"parse_state": lambda self, text: Heap(*map(int, text.split(",", 1))) if text else NAMES[""]},
            "parse_state of ''",
        ),
        ({"parse_action": lambda self, state, player, text: NAMES[text]}, "parse_action of ''"),
    ],
)
def test_texts_that_are_refused_by_another_error_are_found(methods: dict[str, Any], law: str) -> None:
    with pytest.raises(BrokenLaw, match=f"text that cannot be read raises a ValueError: {law} raised KeyError"):
        check_game(heaps(game=methods))


def test_records_that_mix_up_positions_are_found() -> None:
    def unpack(self: Heaps, packed: Packed, players: Any) -> Any:
        first = packed.take(np.zeros(len(packed), np.int64))
        return Heaps.unpack(self, first, players)

    with pytest.raises(
        BrokenLaw, match=r"unpack\(pack\(x\)\): the same plies as the state's: got \[0 0 .*; at the end of game 0"
    ):
        check_game(heaps(game={"unpack": unpack}))


def test_what_is_perceived_by_chance_or_cannot_be_played_on_is_found() -> None:
    count = itertools.count()

    def at_random(self: Heaps, state: Heap, player: int, seed: int = 0) -> Any:
        return type("Believed", (self.state_type,), {"key": lambda own: next(count)})(state.stones, state.ply)

    with pytest.raises(
        BrokenLaw, match="equal seeds give equal perceived positions: player 0 perceives two for the seed"
    ):
        check_game(heaps(game={"determinize": at_random}))

    def play(self: Heap, actions: Sequence[int]) -> Any:
        raise LookupError("whose card is it?")

    def stuck(self: Heaps, state: Heap, player: int, seed: int = 0) -> Any:
        return type("Stuck", (self.state_type,), {"play": play} if state.ply else {})(state.stones, state.ply)

    with pytest.raises(LookupError, match="whose card") as raised:
        check_game(heaps(game={"determinize": stuck}))
    assert raised.value.__notes__[0].startswith("in a search from ")


def wide(num_actions: int, name: Callable[[int], str] = str) -> Heaps:
    """Returns a game in which each stone is taken in one of so many ways."""
    return heaps(
        game={
            "spec": GameSpec(name="wide", num_players=2, num_actions=num_actions, observation_shape=(10,), max_plies=9),
            "format_action": lambda self, state, player, action: name(action),
        },
        legal_actions=lambda self, player: range(num_actions),
        play=lambda self, actions: Heap.play(self, [0]),
        taken=(),
    )


def test_games_of_very_many_actions_are_checked_soon() -> None:
    laws = {law.name: law.num_cases for law in check_game(wide(5_000), num_games=1)}
    # Nine positions: of each, a thousand are written, and the names of two are looked for among all.
    assert laws["no two actions are written the same way"] == 9_000
    assert laws["actions survive parse(format(x))"] == 18
    with pytest.raises(BrokenLaw, match="no two actions are written the same way: 0 and 100 are both '0'"):
        check_game(wide(5_000, lambda action: str(action % 100)), num_games=1)


@dataclass(frozen=True)
class Marks(State):
    """Six cells that two players mark in turn; whoever has the first one wins."""

    owners: tuple[int, ...] = (0,) * 6

    @property
    def ply(self) -> int:
        return sum(owner != 0 for owner in self.owners)

    @property
    def active_players(self) -> tuple[int, ...]:
        return (self.ply % 2,) if self.ply < 6 else ()

    def legal_actions(self, player: int) -> Sequence[int]:
        return [cell for cell, owner in enumerate(self.owners) if not owner]

    def play(self, actions: Sequence[int]) -> Marks:
        owners = list(self.owners)
        owners[actions[0]] = 1 + self.ply % 2
        return Marks(tuple(owners))

    def returns(self) -> Any:
        first = 0 if self.active_players else 3 - 2 * self.owners[0]
        return np.array([first, -first], np.float32)

    def observation(self, player: int) -> Any:
        return np.array(self.owners, np.float32).reshape(1, 1, 6)

    def key(self) -> int:
        return int("".join(map(str, self.owners)), 3)


class Marking(Game[Marks]):
    spec = GameSpec(name="marks", num_players=2, num_actions=6, observation_shape=(1, 1, 6), max_plies=6)

    def initial_state(self, seed: int = 0) -> Marks:
        return Marks()

    def parse_state(self, text: str) -> Marks:
        if len(text) != 6 or set(text) - set("012"):
            raise ValueError(f"expected six of 012, got {text!r}")
        return Marks(tuple(map(int, text)))

    def format_state(self, state: Marks) -> str:
        return "".join(map(str, state.owners))

    def symmetries(self) -> Sequence[Symmetry]:
        return [Symmetry("mirror", lambda planes: planes[..., ::-1], np.arange(6)[::-1])]


def test_a_symmetry_that_changes_who_wins_is_found() -> None:
    with pytest.raises(
        BrokenLaw, match=r"symmetries keep who moves, what is paid and who wins: mirror at [12]{6}: nobody"
    ):
        check_game(Marking())
    check_game(type("Plain", (Marking,), {"symmetries": lambda self: []})())


def test_what_is_nearly_a_position_is_refused_as_a_mistake() -> None:
    class Loose(Heaps):
        def parse_state(self, text: str) -> Heap:
            words = text.split(",")
            return Heap(int(words[0]), int(words[1]))

    with pytest.raises(
        BrokenLaw, match="text that cannot be read raises a ValueError: parse_state of '9' raised IndexError"
    ):
        check_game(Loose())


def test_weights_of_a_gate_that_are_no_floating_numbers_are_found() -> None:
    class Early(PhaseGate):
        name, phase_names = "early", ("early", "late")

        def weights(self, views: Views) -> Any:
            return np.stack([views.plies() < 5, views.plies() >= 5], axis=1)

    with pytest.raises(BrokenLaw, match="weights are floating-point numbers: got bool"):
        check_gate(Early(), Heaps())


@pytest.mark.parametrize("draw", [np.random.random, random.random])
def test_agents_that_draw_from_what_all_share_are_found(draw: Callable[[], float]) -> None:
    class Shared:
        name = "shared"

        def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
            return [Decision(action=list(s.legal_actions(p))[int(2 * draw()) % 1]) for s, p in views]

    with pytest.raises(BrokenLaw, match="agents draw from their seats' generators alone"):
        check_agent(Shared(), Heaps())
    check_agent(RandomAgent(), Heaps())


def test_an_agent_that_remembers_in_itself_is_noted() -> None:
    class Forgetful:
        name = "forgetful"

        def __init__(self) -> None:
            self.asked = 0

        def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
            self.asked += 1
            return [
                Decision(action=0 if self.asked <= 5 else state.legal_actions(player)[-1]) for state, player in views
            ]

    def noted(agent: Agent) -> list[str]:
        return [law.not_checked for law in check_agent(agent, Heaps(), num_games=1) if law.not_checked]

    assert noted(Forgetful()) == [
        "one went differently when it was played again: it depends on a clock, or on what is not in seat.memory"
    ]
    assert not noted(RandomAgent())


def test_what_is_no_game_gate_or_agent_is_told_from_one_that_breaks_a_law() -> None:
    for game in (Heaps, "heaps"):
        with pytest.raises(TypeError, match=r"expected a game, an object with a method initial_state, got .*eaps"):
            check_game(game)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"expected a gate, an object with a method weights, got <class .*PlyGate"):
        check_gate(PlyGate, Heaps())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected an agent, an object with a method act, got 'random'"):
        check_agent("random", Heaps())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"expected a scheme, an object with a method fit, got <class .*Single"):
        check_scheme(Single, [])  # type: ignore[arg-type]


def test_agents_and_gates_without_a_name_are_found() -> None:
    class Nobody:
        act = RandomAgent.act

    class Early(PhaseGate):
        name, phase_names = "early", ["early", "late"]  # type: ignore[assignment]

        def weights(self, views: Views) -> Any:
            raise AssertionError

    with pytest.raises(MoemctsError, match="agent 'Nobody' is invalid: expected its name to be a string, got None"):
        check_agent(Nobody(), Heaps())  # type: ignore[arg-type]
    with pytest.raises(
        MoemctsError, match="gate 'Early' is invalid: expected a name and phase_names, a tuple of strings"
    ):
        check_gate(Early(), Heaps())


def test_a_gate_without_weights_cannot_be_made() -> None:
    class Misspelt(PhaseGate):
        name, phase_names = "misspelt", ("early", "late")

        def weight(self, views: Views) -> Any:
            raise AssertionError

    with pytest.raises(TypeError, match=r"Misspelt.* weights"):
        Misspelt()  # type: ignore[abstract]


def test_outcomes_of_chance_are_written_too() -> None:
    class Sided(Pig):
        def format_action(self, state: PigState, player: Player, action: Action) -> str:
            return ("roll", "hold")[action]

    class Silent(Pig):
        def format_action(self, state: PigState, player: Player, action: Action) -> str:
            return "" if player == CHANCE else str(action)

    with pytest.raises(IndexError, match="tuple index out of range") as raised:
        check_game(Sided(10, 3), num_games=1)
    assert raised.value.__notes__ == ["at ply 1 of game 0, in '0 0 0 0 1 1'"]
    with pytest.raises(BrokenLaw, match="actions are written on one line, without spaces around them: 1 became ''"):
        check_game(Silent(10, 3), num_games=1)


def test_numbers_too_large_to_learn_from_break_no_law_and_are_noted_once() -> None:
    def noted(factor: float) -> list[str]:
        game = heaps(observation=lambda self, player: Heap.observation(self, player) * np.float32(factor))
        return [law.not_checked for law in check_game(game, num_games=2) if law.name.startswith("networks can learn")]

    assert noted(1e4) == []
    (note,) = noted(1e30)
    assert note.startswith("some numbers are beyond 10,000")

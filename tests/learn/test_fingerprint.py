"""A fingerprint changes exactly when what it stands for does."""

import numpy as np
import pytest
from games_of_chance import Pig
from learning_games import ShuffledTicTacToe, TicTacToe, crowd, thirds

from moemcts.errors import MoemctsError
from moemcts.game import CHANCE, Action, Player, State
from moemcts.gates import PlyGate, SinglePhase
from moemcts.learn.fingerprint import _sample_views, encoding_fingerprint, gate_fingerprint


class RenamedTicTacToe(TicTacToe):
    def format_action(self, state: State, player: Player, action: Action) -> str:
        return str(8 - action)


def test_equal_games_have_equal_fingerprints() -> None:
    assert encoding_fingerprint(TicTacToe()) == encoding_fingerprint(TicTacToe())
    assert encoding_fingerprint(crowd()) == encoding_fingerprint(crowd())


def test_other_planes_change_only_the_fingerprint_of_the_planes() -> None:
    one, other = encoding_fingerprint(TicTacToe()), encoding_fingerprint(ShuffledTicTacToe())
    assert one["planes"] != other["planes"]
    assert one["actions"] == other["actions"]


def test_actions_of_another_meaning_change_only_the_fingerprint_of_the_actions() -> None:
    one, other = encoding_fingerprint(TicTacToe()), encoding_fingerprint(RenamedTicTacToe())
    assert one["planes"] == other["planes"]
    assert one["actions"] != other["actions"]


def test_gates_differ_by_cuts_names_and_weights() -> None:
    game = TicTacToe()
    gates = [thirds(), PlyGate([3, 7], thirds().phase_names), PlyGate([3, 6]), SinglePhase()]
    prints = [gate_fingerprint(gate, game) for gate in gates]
    assert len(set(prints)) == len(gates)
    assert gate_fingerprint(thirds(), game) == prints[0]


class LateGate(PlyGate):
    """Claims the name and parameters of another gate and decides otherwise."""

    def numbers(self, views):  # type: ignore[no-untyped-def]
        return views.plies() + 1


def test_a_gate_that_decides_otherwise_is_another_gate() -> None:
    other = LateGate([3, 6], thirds().phase_names)
    assert gate_fingerprint(other, TicTacToe()) != gate_fingerprint(thirds(), TicTacToe())


def test_chance_sees_nothing_that_a_fingerprint_could_be_of() -> None:
    game = Pig(10, 4)
    assert all(player != CHANCE for _, player in _sample_views(game))
    assert encoding_fingerprint(game) == encoding_fingerprint(Pig(10, 4))
    assert gate_fingerprint(PlyGate([3]), game) != gate_fingerprint(PlyGate([4]), game)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_weights_of_any_width_tell_gates_apart(kind: type) -> None:
    class Swapped(PlyGate):
        def weights(self, views):  # type: ignore[no-untyped-def,misc]
            return super().weights(views)[:, ::-1].astype(kind)

    class Plain(PlyGate):
        def weights(self, views):  # type: ignore[no-untyped-def,misc]
            return super().weights(views).astype(kind)

    game = TicTacToe()
    assert gate_fingerprint(Plain([3]), game) == gate_fingerprint(PlyGate([3]), game)
    assert gate_fingerprint(Swapped([3]), game) != gate_fingerprint(PlyGate([3]), game)


def test_what_answers_otherwise_when_it_is_asked_again_has_no_fingerprint() -> None:
    class Fickle(PlyGate):
        num_asked = 0

        def weights(self, views):  # type: ignore[no-untyped-def,misc]
            self.num_asked += 1
            return np.roll(super().weights(views), self.num_asked, axis=1)

    class Restless(TicTacToe):
        num_begun = 0

        def views(self, pairs):  # type: ignore[no-untyped-def]
            self.num_begun += 1
            return super().views(pairs if self.num_begun % 2 else pairs[::-1])

    with pytest.raises(MoemctsError, match="gate 'plies' gives different phases when it is asked about the same"):
        gate_fingerprint(Fickle([3]), TicTacToe())
    with pytest.raises(MoemctsError, match="tictactoe shows other planes when the same games are played again"):
        encoding_fingerprint(Restless())

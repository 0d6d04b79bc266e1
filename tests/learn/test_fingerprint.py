"""A fingerprint changes exactly when what it stands for does."""

from games_of_chance import Pig
from learning_games import ShuffledTicTacToe, TicTacToe, crowd, thirds

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

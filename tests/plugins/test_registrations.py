"""What plugins register is found by name, for the games it belongs to, with the options that its makers take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from games_for_tests import NativeConnectFour, NativeTicTacToe

from moemcts import builtins
from moemcts.errors import MoemctsError, UsageError
from moemcts.game import Game
from moemcts.gates import PlyGate
from moemcts.hookspecs import Registration, hookimpl
from moemcts.plugins import Plugins


def module(**registered: Sequence[Registration]) -> SimpleNamespace:
    """Returns a plugin that registers entries under hooks such as `gates`."""

    def hook(name: str, entries: Sequence[Registration]) -> Callable[[], Sequence[Registration]]:
        def register() -> Sequence[Registration]:
            return entries

        register.__name__ = f"register_{name}"
        return hookimpl(register)  # type: ignore[no-any-return]

    return SimpleNamespace(**{f"register_{name}": hook(name, entries) for name, entries in registered.items()})


def gate(*games: str, cut: int = 3, name: str = "material") -> Registration:
    def make(game: Game) -> PlyGate:
        return PlyGate([cut])

    return Registration(name, make, "cuts", games)


def found(*modules: Any) -> Plugins:
    return Plugins([("builtins", builtins), *((f"plugin {i}", one) for i, one in enumerate(modules))])


def test_gates_of_two_games_may_have_one_name() -> None:
    of_one, of_other = gate("native-tictactoe", cut=3), gate("native-connectfour", cut=20)
    for plugins in (found(module(gates=[of_one]), module(gates=[of_other])), found(module(gates=[of_other, of_one]))):
        assert [plugins.gate("material", game()).parameters for game in (NativeTicTacToe, NativeConnectFour)] == [
            {"cuts": [3]},
            {"cuts": [20]},
        ]
        assert [entry.name for entry in plugins.gates.values()].count("material") == 2
        with pytest.raises(UsageError, match=r"no gate named 'materiel'; did you mean 'material'\?"):
            plugins.gate("materiel", NativeTicTacToe())


def test_gates_that_a_game_could_not_tell_apart_are_refused() -> None:
    with pytest.raises(UsageError, match="two plugins register a gate named 'material' for chess"):
        found(module(gates=[gate("go", "chess")]), module(gates=[gate("chess", "shogi")]))
    with pytest.raises(UsageError, match="two plugins register a gate named 'plies' for all"):
        found(module(gates=[gate("go", name="plies")]))
    with pytest.raises(UsageError, match="two plugins register a agent named 'material'"):
        found(module(agents=[gate("go")]), module(agents=[gate("chess")]))


def test_a_game_whose_spec_has_another_name_says_what_would_not_be_found() -> None:
    class Renamed(NativeTicTacToe):
        spec = replace(NativeTicTacToe.spec, name="noughts")

    games = [Registration("crosses", Renamed, "a game")]
    with pytest.raises(MoemctsError, match="game 'crosses' has the name 'noughts' in its spec, under which material"):
        found(module(games=games, gates=[gate("crosses")])).game("crosses")
    assert found(module(games=games)).game("crosses").spec.name == "noughts"
    named = [Registration("noughts", Renamed, "a game")]
    plugins = found(module(games=named, gates=[gate("noughts")]))
    assert plugins.gate("material", plugins.game("noughts"))


def test_what_has_a_default_is_an_option_unless_it_is_given_by_position() -> None:
    def make(game: Game | None = None, cuts: Sequence[int] = (3,), *, names: Sequence[str] = ()) -> PlyGate:
        return PlyGate(cuts, names)

    plugins = found(module(gates=[Registration("two", make, "cuts")]))
    game = NativeTicTacToe()
    assert plugins.gate("two?cuts=4", game).parameters == {"cuts": [4]}
    with pytest.raises(UsageError, match=r"no option of gate 'two' named 'game'; .* \(cuts, names\)"):
        plugins.gate("two?game=4", game)
    with pytest.raises(UsageError, match=r"gate 'two': expected cuts as .*, got 'x'"):
        plugins.gate("two?cuts=x", game)
    with pytest.raises(UsageError, match=r"expected option=value in 'two\?3', got '3'"):
        plugins.gate("two?3", game)

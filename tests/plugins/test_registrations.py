"""What plugins register is found by name, for the games it belongs to, with the options that its makers take."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from games_for_tests import NativeConnectFour, NativeTicTacToe

from moemcts import builtins
from moemcts.errors import MoemctsError, UsageError
from moemcts.game import Game
from moemcts.gates import PlyGate, SinglePhase
from moemcts.hooks import format_counts
from moemcts.hookspecs import Registration, hookimpl
from moemcts.plugins import GROUP, Plugins, plugins


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
    for both in (found(module(gates=[of_one]), module(gates=[of_other])), found(module(gates=[of_other, of_one]))):
        assert [both.gate("material", game()).parameters for game in (NativeTicTacToe, NativeConnectFour)] == [
            {"cuts": [3]},
            {"cuts": [20]},
        ]
        assert [entry.name for entry in both.gates.values()].count("material") == 2
        with pytest.raises(UsageError, match=r"no gate named 'materiel'; did you mean 'material'\?"):
            both.gate("materiel", NativeTicTacToe())


def test_a_name_of_other_games_comes_with_these_games() -> None:
    plugins = found(module(gates=[gate("chess", "shogi")]))
    for name, said in (
        ("material", "'material' for this game, only for chess, shogi; expected one of none, plies"),
        ("materiel", "'materiel'; expected one of none, plies"),
    ):
        with pytest.raises(UsageError, match=f"no gate named {said}"):
            plugins.gate(name, NativeTicTacToe())


def test_gates_that_a_game_could_not_tell_apart_are_refused() -> None:
    with pytest.raises(UsageError, match="two plugins register the gate 'material' for chess"):
        found(module(gates=[gate("go", "chess")]), module(gates=[gate("chess", "shogi")]))
    with pytest.raises(UsageError, match="two plugins register the gate 'plies' for go"):
        found(module(gates=[gate("go", name="plies")]))
    with pytest.raises(UsageError, match="two plugins register the agent 'material'"):
        found(module(agents=[gate("go")]), module(agents=[gate("chess")]))


def test_a_gate_whose_name_would_be_read_as_a_file_is_refused() -> None:
    line = r"plugin 'plugin 0': expected a name other than 'x.safetensors' for a gate: names that end with .safetensors"
    with pytest.raises(UsageError, match=line):
        found(module(gates=[gate(name="x.safetensors")]))


@pytest.mark.parametrize("name", ["experts:x", "weights:x", "weights:", "hf:me/x", "https://me.example/x"])
def test_an_agent_whose_name_would_be_read_as_that_of_experts_is_refused(name: str) -> None:
    line = f"plugin 'plugin 0': expected a name other than '{name}' for an agent: names that begin with .*: are read"
    with pytest.raises(UsageError, match=line):
        found(module(agents=[gate(name=name)]))
    found(module(agents=[gate(name=name.replace(":", "-"))]))


def test_a_game_has_one_default_of_a_kind() -> None:
    first, second = (replace(gate("go", "chess", name=name), default=True) for name in ("stones", "captures"))
    with pytest.raises(UsageError, match="expected one default gate for go, chess, got 'stones' and 'captures'"):
        found(module(gates=[first]), module(gates=[second]))
    found(module(gates=[first]), module(gates=[replace(second, games=("shogi",))]))
    for kind in ("agents", "weights"):
        with pytest.raises(UsageError, match=r"expected one default .* for chess, got 'stones' and 'captures'"):
            found(module(**{kind: [replace(first, games=("chess",))]}), module(**{kind: [second]}))


def test_a_plugin_takes_no_name_from_what_comes_with_the_framework(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "taking", module(games=[Registration("hex", NativeTicTacToe, "mine")]))
    points = [*importlib.metadata.entry_points(group=GROUP), EntryPoint("aaa", "taking", GROUP)]
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: points)
    infos = {info.name: info.error for info in plugins.__wrapped__().infos}
    assert infos.pop("aaa") == "two plugins register the game 'hex'"
    assert set(infos.values()) == {None}


def test_an_agent_without_a_name_is_told_by_what_it_lacks() -> None:
    def act(views: object, seats: object) -> list[object]:
        return []

    for agent, line in [
        (SimpleNamespace(act=act), "expected its name to be a string, got None$"),
        (SimpleNamespace(name="mine"), "expected a method act, got None$"),
    ]:
        plugins = found(module(agents=[Registration("mine", lambda game, agent=agent: agent, "an agent")]))
        with pytest.raises(MoemctsError, match=f"agent 'mine' is invalid: {line}"):
            plugins.agent("mine", NativeTicTacToe())


def test_a_folder_without_code_is_told_by_its_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "empty_folder").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    points = [*importlib.metadata.entry_points(group=GROUP), EntryPoint("mine", "empty_folder", GROUP)]
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: points)
    (info,) = (info for info in plugins.__wrapped__().infos if info.name == "mine")
    assert (info.error, info.note) == (None, f"nothing is marked with @hookimpl in {tmp_path / 'empty_folder'}")


def test_an_unknown_name_of_any_kind_says_what_did_not_load(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [*importlib.metadata.entry_points(group=GROUP), EntryPoint("mine", "no_such_module", GROUP)]
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: points)
    loaded, game = plugins.__wrapped__(), NativeTicTacToe()
    why = "plugin 'mine' failed to load: ModuleNotFoundError: No module named 'no_such_module'"
    for make in (
        lambda: loaded.game("mine"),
        lambda: loaded.gate("mine", game),
        lambda: loaded.agent("mine", game),
        lambda: loaded.scheme("mine"),
        lambda: loaded.network("mine", (1, 3, 3), 9),
    ):
        with pytest.raises(UsageError, match=f"named 'mine'; .*; {why}"):
            make()


def test_a_game_whose_spec_has_another_name_says_what_would_not_be_found() -> None:
    class Renamed(NativeTicTacToe):
        spec = replace(NativeTicTacToe.spec, name="noughts")

    games = [Registration("crosses", Renamed, "a game")]
    with pytest.raises(
        MoemctsError, match="game 'crosses' has the name 'noughts' in its spec, under which it and material would not"
    ):
        found(module(games=games, gates=[gate("crosses")])).game("crosses")
    searched = [Registration("crosses", Renamed, "a game", search={"c_init": 0.1}, settings={"network": "mlp"})]
    with pytest.raises(MoemctsError, match="it and settings and search would not be found; in its plugin, name"):
        found(module(games=searched)).game("crosses")
    with pytest.raises(MoemctsError, match="under which it would not be found"):
        found(module(games=games)).game("crosses")
    family = [Registration("crosses:", lambda member: Renamed(), "games")]
    assert found(module(games=family)).game("crosses:any").spec.name == "noughts"
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
    with pytest.raises(UsageError, match=r"gate 'two': expected cuts as .*, got 'x': Input should be a valid integer"):
        plugins.gate("two?cuts=x", game)
    with pytest.raises(UsageError, match=r"expected option=value in 'two\?3', got '3'"):
        plugins.gate("two?3", game)


def test_what_is_no_game_is_refused_in_words() -> None:
    class Bare(NativeTicTacToe):
        spec = None  # type: ignore[assignment]

    class Raising(NativeTicTacToe):
        spec = property(lambda self: {}["spec"])  # type: ignore[assignment]

    for make, line in [
        (Bare, "expected its spec to be a moemcts.game.GameSpec, got None"),
        (Raising, "its spec raised KeyError: 'spec'"),
        (lambda: "chess", "expected a moemcts.game.Game, got 'chess'"),
    ]:
        with pytest.raises(MoemctsError, match=f"game 'odd' cannot be made: {line}"):
            found(module(games=[Registration("odd", make, "a game")])).game("odd")


def test_a_class_in_place_of_what_it_makes_is_told_where_it_is_made() -> None:
    plugins = found(module(games=[Registration("odd", lambda: NativeTicTacToe, "a game")]))
    with pytest.raises(MoemctsError, match="game 'odd' cannot be made: its plugin returned the class NativeTicTacToe"):
        plugins.game("odd")
    plugins = found(module(gates=[Registration("odd", lambda game: SinglePhase, "a gate")]))
    with pytest.raises(MoemctsError, match=r"expected an object, such as SinglePhase\(...\)"):
        plugins.gate("odd", NativeTicTacToe())


def test_a_hook_that_there_is_not_is_told_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"no hook named 'register_game'; did you mean 'register_games'\?"):
        found(module(game=[Registration("noughts", NativeTicTacToe, "a game")]))


def test_a_hook_without_its_mark_is_told() -> None:
    def register_games() -> list[Registration]:
        return [Registration("noughts", NativeTicTacToe, "a game")]

    with pytest.raises(UsageError, match="expected register_games to be marked with @hookimpl"):
        found(SimpleNamespace(register_games=register_games))
    with pytest.raises(UsageError, match="registers nothing; is a function missing @hookimpl"):
        found(SimpleNamespace(games=register_games))
    both = module(gates=[gate("noughts")])
    both.register_games = register_games
    with pytest.raises(UsageError, match="expected register_games to be marked"):
        found(both)


def test_a_hook_that_returns_no_list_is_named_with_its_plugin() -> None:
    for returned in (gate("go"), None, "material", [gate("go"), "material"]):
        with pytest.raises(UsageError, match="plugin 'plugin 0': expected register_gates to return a list of regist"):
            found(module(gates=returned))  # type: ignore[arg-type]


def test_what_another_kind_alone_can_say_is_refused() -> None:
    odd = Registration("odd", lambda game: SinglePhase(), "a gate", runs_programs=True)
    with pytest.raises(UsageError, match="runs_programs of 'odd' has no effect in gates, only in agents"):
        found(module(gates=[odd]))


def test_a_hook_with_an_argument_that_there_is_not_is_told_in_a_line() -> None:
    def register_gates(game: Game) -> list[Registration]:
        return []

    with pytest.raises(UsageError, match=r"hook 'register_gates'.*Argument\(s\) {'game'} are declared"):
        found(SimpleNamespace(register_gates=hookimpl(register_gates)))


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"games": "dice-race"}, r"'x': expected games to be a tuple of names such as \('my-game',\), got 'dice-race'"),
        ({"games": ["go"]}, "expected games to be a tuple"),
        ({"found": "cuts"}, "expected found to be a tuple of names"),
        ({"make": 3}, "expected make to be callable, got 3"),
        ({"summary": None}, "expected summary to be a string, got None"),
        ({"default": "yes"}, "expected default to be True or False, got 'yes'"),
        ({"search": ["c_init"]}, "expected search to be a mapping"),
        ({"name": "my game"}, r"expected a name without spaces or '\?', got 'my game'"),
        ({"name": ""}, "expected a name without spaces"),
    ],
)
def test_a_registration_of_wrong_types_is_refused(values: dict[str, Any], line: str) -> None:
    with pytest.raises((TypeError, ValueError), match=line):
        Registration(**{"name": "x", "make": NativeTicTacToe, "summary": "a game", **values})


def test_what_a_plugin_registers_is_counted() -> None:
    registers = found().add(
        "counted", module(games=[Registration("noughts", NativeTicTacToe, "a game")], gates=[gate("go"), gate("ka")])
    )
    assert registers == {"games": 1, "gates": 2}
    assert format_counts(registers) == "1 game, 2 gates"
    assert format_counts({"weights": 1, "replay_formats": 2, "commands": 1}) == "1 weights, 2 replay formats, commands"


def test_what_is_registered_for_a_game_that_nobody_registers_is_told() -> None:
    game = Registration("tiny", NativeTicTacToe, "a game")
    made = found(module(games=[game], gates=[gate("tiny")]), module(gates=[gate("tinny"), gate(name="everywhere")]))
    strays = {"plugin 1": ["gate 'material' is for the game 'tinny', which no plugin registers"]}
    assert {plugin: told for plugin, told in made.unknown_games().items() if told} == strays


def test_a_mistake_in_a_maker_is_no_misuse_and_says_its_place() -> None:
    def counts(game: Game) -> PlyGate:
        return PlyGate([len(None)])  # type: ignore[arg-type]

    def refuses(game: Game) -> PlyGate:
        raise ValueError("expected an even number of phases")

    def hands_on(game: Game, **options: Any) -> PlyGate:
        return PlyGate([3], **options)

    makers = {"counts": counts, "refuses": refuses, "hands-on": hands_on}
    plugins, game = found(module(gates=[Registration(*both, "cuts") for both in makers.items()])), NativeTicTacToe()
    with pytest.raises(
        MoemctsError, match=r"gate 'counts' .* TypeError: .* in counts \(test_registrations.py:\d+\)"
    ) as told:
        plugins.gate("counts", game)
    assert told.value.exit_code == 1
    for reference, line in [
        ("refuses", "gate 'refuses': expected an even number of phases"),
        ("hands-on?cut=4", "got an unexpected keyword argument 'cut'"),
    ]:
        with pytest.raises(UsageError, match=line):
            plugins.gate(reference, game)


def test_a_maker_of_other_arguments_is_no_misuse_and_says_which_it_gets() -> None:
    def without(*, cuts: Sequence[int] = (3,)) -> PlyGate:
        raise NotImplementedError

    def two(game: Game, more: int) -> PlyGate:
        raise NotImplementedError

    def named(game: Game, *, cuts: Sequence[int]) -> PlyGate:
        raise NotImplementedError

    def any_of_them(*arguments: Game) -> PlyGate:
        return PlyGate([len(arguments)])

    makers: dict[str, Any] = {"without": without, "two": two, "named": named, "any": any_of_them}
    plugins = found(module(gates=[Registration(*both, "cuts") for both in makers.items()]))
    game = NativeTicTacToe()
    for name, line in [("without", "without takes 0"), ("two", "two needs 2")]:
        with pytest.raises(MoemctsError, match=f"'{name}' cannot be made: expected a factory that .* {line}") as told:
            plugins.gate(name, game)
        assert told.value.exit_code == 1
    with pytest.raises(UsageError, match="missing 1 required keyword-only argument: 'cuts'"):
        plugins.gate("named", game)
    assert plugins.gate("any", game).parameters == {"cuts": [1]}

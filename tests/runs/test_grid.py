"""Grids of matches and single experts, on tic-tac-toe and with untrained networks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import numpy as np
import pytest
import torch

from moemcts.agents import Seat
from moemcts.arena.openings import read_openings, starts
from moemcts.arena.rating import elo, elo_of_score
from moemcts.cli.main import main
from moemcts.errors import MoemctsError, UsageError
from moemcts.evaluation import Evaluation
from moemcts.experts import ExpertSet
from moemcts.game import Game, Views
from moemcts.gates import PlyGate
from moemcts.learn.checkpoint import save_experts
from moemcts.learn.inference.fidelity import Fidelity
from moemcts.naming import identity_of, resolve_agent
from moemcts.plugins import plugins
from moemcts.report.tournaments import grid_heat, grid_lines, grid_table
from moemcts.runs.experiment.grid import Limit, grid_cells, impact_cells, limits_of
from moemcts.search import SearchAgent

NETWORK = "resnet?channels=4&blocks=1"
GATES = {"experts": "plies?cuts=3,6", "single": "none"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three untrained experts for tic-tac-toe, and a single network."""
    folder = tmp_path_factory.mktemp("teams")
    game = plugins().game("tictactoe")
    torch.manual_seed(1)
    for name, gate_name in GATES.items():
        gate = plugins().gate(gate_name, game)
        shape, num_actions = game.spec.observation_shape, game.spec.num_actions
        save_experts(
            folder / name,
            [plugins().network(NETWORK, shape, num_actions) for _ in range(gate.num_phases)],
            game=game,
            game_reference="tictactoe",
            gate=gate,
            gate_reference=gate_name,
            network_reference=NETWORK,
            scheme="separated",
            seed=3,
        )
    return folder


def run(*arguments: object, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.argv", ["moemcts", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code


class Says:
    """An evaluator whose value is its number."""

    def __init__(self, number: int) -> None:
        self.number = number

    def evaluate(self, views: Views) -> Evaluation:
        shape = (len(views), 9)
        return Evaluation(np.zeros(shape, dtype=np.float32), np.full(len(views), self.number, dtype=np.float32))


def positions(game: Game) -> Views:
    """Returns a game's positions from the first to the last ply."""
    state, pairs = game.initial_state(), []
    while state.active_players:
        pairs.append((state, state.active_players[0]))
        state = state.play([state.legal_actions(state.active_players[0])[0]])
    return game.views(pairs)


def test_one_expert_plays_its_phase_and_the_other_set_the_rest() -> None:
    game = plugins().game("tictactoe")
    experts = ExpertSet(PlyGate((2, 5), ("opening", "middlegame", "endgame")), [Says(1), Says(2), Says(3)])
    views = positions(game)
    assert len(views) == 7
    baseline = ExpertSet(plugins().gate("none", game), [Says(9)])
    assert experts.only(["middlegame"], baseline).evaluate(views).value.tolist() == [9, 9, 2, 2, 2, 9, 9]
    assert experts.only(["opening", "endgame"], Says(9)).evaluate(views).value.tolist() == [1, 1, 9, 9, 9, 3, 3]
    two = ExpertSet(PlyGate((3,), ("early", "late")), [Says(7), Says(8)])
    assert experts.only(["endgame"], two).evaluate(views).value.tolist() == [7, 7, 7, 8, 8, 3, 3]
    with pytest.raises(UsageError, match="no phase named 'midgame'; did you mean 'middlegame'"):
        experts.only(["midgame"], baseline)


def test_a_reference_names_one_expert_and_the_baseline(folder: Path) -> None:
    game = plugins().game("tictactoe")
    phase = plugins().gate(GATES["experts"], game).phase_names[0]
    reference = f"experts:{folder}/experts?simulations=4&only={phase}&else={folder}/single"
    views = positions(game)
    seats = [Seat(0, np.random.default_rng(0)) for _ in range(len(views))]
    assert len(resolve_agent(reference, game).act(views, seats)) == len(views)
    with pytest.raises(UsageError, match="expected only=PHASE and else=FOLDER together"):
        resolve_agent(f"{folder}/experts?only={phase}", game)
    with pytest.raises(MoemctsError, match="expected a folder of experts, got nowhere"):
        resolve_agent(f"experts:{folder}/experts?only={phase}&else=nowhere", game)
    with pytest.raises(MoemctsError, match="expected a folder of experts, got nowhere"):
        resolve_agent("experts:nowhere", game)


def test_a_reference_takes_the_policy_of_some_experts_and_the_values_of_others(folder: Path) -> None:
    game, views = plugins().game("tictactoe"), positions(plugins().game("tictactoe"))
    both, policy, value = (
        cast(SearchAgent, resolve_agent(f"{folder}/{name}simulations=4&backend=torch", game)).evaluator.evaluate(views)
        for name in (f"experts?value={folder}/single&", "experts?", "single?")
    )
    assert np.array_equal(both.logits, policy.logits)
    assert np.array_equal(both.value, value.value)
    assert not np.array_equal(policy.value, value.value)
    agent = resolve_agent(f"{folder}/experts?value={folder}/single&simulations=4", game)
    seats = [Seat(0, np.random.default_rng(0)) for _ in range(len(views))]
    phases = plugins().gate(GATES["experts"], game).phase_names
    assert {decision.phase for decision in agent.act(views, seats)} <= set(phases)
    known = identity_of([f"{folder}/experts?value={folder}/single"])["experts"]
    assert [len(manifests) for manifests in known.values()] == [2]
    with pytest.raises(UsageError, match="expected a set of experts for a queue"):
        resolve_agent(f"{folder}/experts?value={folder}/single&routing=queue", game)


def test_cells_say_who_plays_whom_and_for_how_long() -> None:
    limits = limits_of([100], [50])
    assert limits == [Limit(nodes=100), Limit(milliseconds=50)]
    cells = grid_cells("a?routing=majority", "b", [1, 8], limits)
    assert [(cell.row, cell.column) for cell in cells] == [
        ("batch 1", "100 nodes"),
        ("batch 1", "50 ms"),
        ("batch 8", "100 nodes"),
        ("batch 8", "50 ms"),
    ]
    assert cells[0].challenger == "a?routing=majority&nodes=100&leaves=1"
    assert cells[3].baseline == "b?seconds=0.05&leaves=8"
    assert [cell.is_timed for cell in cells] == [False, True, False, True]
    assert grid_cells("a", "b?seconds=0.05", [1], limits[:1])[0].is_timed
    assert len({cell.key for cell in cells}) == 4
    impact = impact_cells("a", "b?noise=0.1", ["opening", "endgame"], 64, limits[:1])
    assert impact[1].challenger == "a?nodes=100&leaves=64&only=endgame&else=b"
    assert impact[1].baseline == "b?noise=0.1&nodes=100&leaves=64"
    for bad in (lambda: limits_of([], []), lambda: limits_of([0], []), lambda: grid_cells("a", "b", [], limits)):
        with pytest.raises(UsageError, match="expected"):
            bad()


def test_cells_without_an_error_count_in_means_and_are_drawn_at_their_bound() -> None:
    won, nearly, even = elo(10, 0, 0), elo(9, 0, 1), elo(4, 2, 4)
    grid = {("a", "8 nodes"): won, ("a", "16 nodes"): even, ("b", "8 nodes"): nearly, ("c", "8 nodes"): elo(0, 0, 10)}
    assert nearly.error is None
    table = grid_table(grid, corner="", caption="")
    means = {str(row[0]): row[-1] for row in table.rows}
    expected = {"a": 0.75, "b": 0.9, "mean": (1 + 0.5 + 0.9 + 0) / 4}
    assert means == {name: f"{elo_of_score(score):+z.1f}" for name, score in expected.items()} | {"c": None}
    bounds = {("b", "8 nodes"): nearly, ("c", "8 nodes"): elo(1, 0, 9)}
    lines = grid_lines(bounds, title="", xlabel="", legend="").axes[0].lines
    arrows = {line.get_marker(): [*np.asarray(line.get_ydata())] for line in lines if line.get_marker() in ("^", "v")}
    assert arrows == {"^": [nearly.low], "v": [elo(1, 0, 9).high]}


def test_what_is_not_shown_is_hatched_and_one_column_stands_in_the_middle() -> None:
    grid = {("a", "8 nodes"): elo(60, 20, 20), ("b", "8 nodes"): elo(4, 2, 4), ("c", "8 nodes"): elo(0, 0, 10)}
    heat = grid_heat(grid, title="", xlabel="limit", ylabel="").axes[0]
    assert [patch.get_y() for patch in heat.patches] == [0.5], "the row of the even match"  # type: ignore[attr-defined]
    assert heat.get_xlabel() == "limit; hatched: zero is in the interval"
    assert grid_lines(grid, title="", xlabel="", legend="").axes[0].get_xlim() == (-0.5, 0.5)


def test_games_start_differently_where_the_game_does_not() -> None:
    chess, pommerman = plugins().game("chess"), plugins().game("pommerman")
    assert len({opening.start.key() for opening in starts(chess, 20)}) == 20  # type: ignore[union-attr]
    assert [opening.start for opening in starts(pommerman, 3, seed=5)] == [5, 6, 7]
    assert {opening.start for opening in starts(chess, 3, random_plies=0)} == {0, 1, 2}


@pytest.mark.parametrize("preset", ["grid", "impact"])
def test_presets_play_print_draw_and_go_on(
    preset: str,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = ["tournament", "--game", "tictactoe", "--preset", preset, "--experts", folder / "experts"]
    command += ["--baseline", folder / "single", "--nodes", "8,16", "--milliseconds", "2", "--batch-sizes", "4"]
    command += ["--games", 4, "--random-plies", 2, "--out", tmp_path / "out"]
    run(*command, monkeypatch=monkeypatch, folder=tmp_path)
    text = capsys.readouterr().out
    phases = plugins().gate(GATES["experts"], plugins().game("tictactoe")).phase_names
    rows = ["batch 4"] if preset == "grid" else list(phases)
    begin = "games begin after 2 random plies and are counted from there"
    for word in [
        *rows,
        "8 nodes",
        "16 nodes",
        "2 ms",
        f"mean over {3 * len(rows)} cells",
        "Elo over the baseline",
        begin,
    ]:
        assert word in text
    report = tmp_path / "out" / "report"
    assert {path.name for path in (report / "figures").glob("*.svg")} == {
        f"{kind}-{limit}.svg" for kind in ("lines", "grid") for limit in ("nodes", "time")
    }
    assert "Equal nodes" in (report / "report.md").read_text()
    numbers = json.loads((report / "numbers.json").read_text())
    assert (numbers["openings"], numbers["random_plies"]) == ("seeds", 2)
    assert len(numbers["cells"]) == 3 * len(rows)
    assert {cell["num_games"] for cell in numbers["cells"]} == {4}
    games = {path: path.read_bytes() for path in (tmp_path / "out" / "games").glob("*.jsonl")}
    assert len(games) == 3 * len(rows)
    # One file is cut short: it is played to its end again, and the same way but for what time decides.
    path = next(path for path in games if "nodes" in path.name)
    path.write_bytes(b"".join(games[path].splitlines(keepends=True)[:3]))
    run(*command, "--json", monkeypatch=monkeypatch, folder=tmp_path)
    assert json.loads(capsys.readouterr().out) == numbers
    assert sorted(path.read_bytes().splitlines()) == sorted(games[path].splitlines())


@pytest.mark.parametrize(
    "options",
    [
        "--agent {}/experts?nodes=8 --agent random --agent {}/single?nodes=8",
        "--preset grid --experts {}/experts --baseline {}/single --nodes 8 --batch-sizes 4",
    ],
)
def test_tables_go_on_with_what_was_chosen_when_they_began(
    options: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from moemcts.learn.inference import choice

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(choice, "_fidelity", lambda *_: Fidelity(top1=1, kl=0, regret=0, value=0))
    monkeypatch.setattr(choice, "_rates", lambda *_: {"torch": {8: 1.0}, "torch bf16": {8: 2.0}})
    command = ["tournament", "--game", "tictactoe", *options.replace("{}", str(folder)).split()]
    command += ["--games", "2", "--out", str(tmp_path / "out")]
    run(*command, monkeypatch=monkeypatch, folder=tmp_path)
    games = {path: path.read_bytes() for path in (tmp_path / "out" / "games").glob("*.jsonl")}
    assert all(b"backend=torch&precision=bf16" in begun for begun in games.values())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    monkeypatch.setattr(choice, "_rates", lambda *_: {"torch": {8: 2.0}, "torch bf16": {8: 1.0}})
    run(*command, monkeypatch=monkeypatch, folder=tmp_path)
    assert {path: path.read_bytes() for path in games} == games


def test_openings_come_from_a_file(folder: Path, tmp_path: Path) -> None:
    game = plugins().game("tictactoe")
    path = tmp_path / "positions.txt"
    path.write_text("X........\n.X.......\nXO.......\n")
    assert len(read_openings(game, path).openings) == 3
    names = {opening.name for opening in starts(game, 3, path=path)}
    assert len(names) == 3
    with pytest.raises(UsageError, match="expected 4 openings"):
        starts(game, 4, path=path)

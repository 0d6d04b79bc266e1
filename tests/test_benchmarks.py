"""Benchmarks that nobody watches while they run measure what they say, and go on where they stopped."""

from __future__ import annotations

import json
import math
import shlex
import subprocess
import sys
import types
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matches_for_tests import ended
from runs_for_tests import command, experiment

from moemcts.agents import Named
from moemcts.arena import Conditions, Lineup, duel_schedule, openings_from_seeds, play_match
from moemcts.arena.duel import DuelResult
from moemcts.arena.rating import elo_of_score
from moemcts.errors import ForeignData
from moemcts.game import Game, State
from moemcts.gates import SinglePhase
from moemcts.learn.checkpoint import save_experts
from moemcts.learn.data.generation import generate
from moemcts.learn.training.config import TrainerConfig
from moemcts.learn.training.progress import Progress
from moemcts.plugins import plugins
from moemcts.runs.settings import LearningConfig

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
sys.path.insert(0, str(Path(__file__).parent / "games" / "chess"))
SIDES = (("first", "second"), ("second", "first"))
"""Of the first game on an opening, and the second."""


@pytest.fixture(scope="module")
def game() -> Game:
    return plugins().game("tictactoe")


@pytest.fixture(scope="module")
def experts(game: Game, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("experts")
    network = plugins().complete_network("mlp?width=8&layers=1", game)
    save_experts(
        folder,
        [plugins().network(network, game.spec.observation_shape, game.spec.num_actions)],
        game=game,
        game_reference="tictactoe",
        gate=SinglePhase(),
        gate_reference="none",
        network_reference=network,
        scheme="single",
        seed=0,
    )
    return folder


def test_the_arms_of_an_ablation_hear_what_they_say(game: Game, experts: Path) -> None:
    from ablations import Ablation

    ablation = Ablation(game, experts, simulations=8)
    views = game.views([(game.initial_state(), 0)])
    both, policy, value, constant = (
        ablation.evaluator(part).evaluate(views) for part in ("both", "policy", "value", "constant")
    )
    assert both.logits.any()
    assert both.value.any()
    assert np.array_equal(policy.logits, both.logits)
    assert not policy.value.any()
    assert np.array_equal(value.value, both.value)
    assert not constant.logits.any()
    assert ablation.agent("value").config.uniform_share == 1
    assert ablation.agent("both?uniform_share=0.5&c_init=1.25").config.c_init == 1.25
    with pytest.raises(SystemExit, match="expected an arm that begins with both"):
        ablation.agent("nobody")


def test_an_ablation_is_paired_and_goes_on(game: Game, experts: Path, tmp_path: Path) -> None:
    from ablations import Ablation, row_of

    ablation = Ablation(game, experts, simulations=8, seed=3)
    games = {arm: ablation.play(arm, 4, tmp_path) for arm in ("both", "value")}
    assert len(list(tmp_path.iterdir())) == 2
    longer = ablation.play("both", 8, tmp_path)
    assert [record.moves for record in longer[:4]] == [record.moves for record in games["both"]]
    result = ablation.result(games)
    assert row_of([ablation], [result], "both", "tiny")["difference"] is None
    row = row_of([ablation], [result], "value", "tiny")
    wins = [sum(record.outcome == "win" for record in games[arm]) / 4 for arm in ("value", "both")]
    assert row["value"] == wins[0]
    assert row["difference"]["wins"] == wins[0] - wins[1]
    assert (row["games"], row["simulations"], row["seed"], row["trainings"]) == (4, 8, 3, 1)
    other = Ablation(game, experts, simulations=8, seed=4)
    second = other.result({arm: other.play(arm, 4, tmp_path / "1") for arm in ("both", "value")})
    joined = row_of([ablation, other], [result, second], "value", "tiny")
    assert (joined["games"], joined["trainings"]) == (8, 2)
    each = [row_of([ablation], [one], "value", "tiny")["difference"]["wins"] for one in (result, second)]
    assert joined["difference"]["by training"] == each
    assert joined["difference"]["wins"] == sum(each) / 2
    boards = [{record.start_key for record in one.records} for one in (result, second)]
    assert [record.start_key for record in games["both"]] == [record.start_key for record in games["value"]]
    assert len(boards[0]) == len(boards[1]) == 2
    assert not boards[0] & boards[1]


def test_another_network_of_an_ablation_plays_the_same_boards(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], experts: Path, tmp_path: Path
) -> None:
    import ablations

    rows: list[dict[str, Any]] = []
    monkeypatch.setattr(ablations, "append", lambda _, found: rows.extend(found))
    words = [str(experts), str(experts), "--game", "tictactoe", "--arm", "value", "--simulations", "8", "--games", "4"]
    also = ["--also", "the same", str(experts)]
    rest = ["--label", "tiny", "--out", str(tmp_path / "out"), "--record"]
    monkeypatch.setattr(ablations.sys, "argv", ["ablations.py", *words, *also, str(experts), *rest])
    ablations.main()
    first, other = rows
    assert [row["label"] for row in rows] == ["tiny", "the same"]
    assert first["difference"] is None
    assert (other["wins"], other["ties"]) == (first["wins"], first["ties"])
    assert other["difference"]["wins"] == 0
    assert other["difference"]["than"] == "tiny: value"
    assert len(list((tmp_path / "out").rglob("*.jsonl"))) == 4
    monkeypatch.setattr(ablations.sys, "argv", ["ablations.py", *words, *also, *rest])
    with pytest.raises(SystemExit, match="expected 2 trainings of 'the same', as the first, got 1"):
        ablations.main()


def test_a_match_against_a_field_is_a_row_per_agent_and_one_of_all(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    import field_match

    options = ["--game", "tictactoe", "--against", "random", "--games", "4", "--out", str(tmp_path / "games.jsonl")]
    options += ["--agent", "uct?simulations=30", "--agent", "random?seed=1", "--seed", "5"]
    monkeypatch.setattr(sys, "argv", ["field_match.py", "mine", "--label", "a", "--together", "--", *options])
    with pytest.raises(SystemExit, match="expected a --label for each of 2 agents, got 1"):
        field_match.main()
    assert not list(tmp_path.iterdir())
    sys.argv[2:2] = ["--label", "b"]
    with pytest.raises(SystemExit) as refused:
        field_match.main()
    assert refused.value.code == 2
    assert "no option of agent 'random' named 'seed'; there are none" in capfd.readouterr().err
    sys.argv[sys.argv.index("random?seed=1")] = "random"
    field_match.main()
    names = [line.partition(" ")[0:3:2] for line in capfd.readouterr().out.splitlines()]
    assert [name for name, _ in names] == ["mine:"] * 3
    assert [rest.split()[0] for _, rest in names] == ["b", "a", "all"]


def test_a_constant_plays_the_boards_of_a_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    import constant

    run = experiment(tmp_path / "run", num_seeds=2, match={"games": 4, "raw_games": 0, "field": "random"})
    monkeypatch.setattr(sys, "argv", ["constant.py", str(run.folder)])
    constant.main()
    row = json.loads(capsys.readouterr().out)
    assert (row["games"], row["wins"] + row["ties"] + row["losses"]) == (8, 8)
    assert row["simulations"] == run.config.search.simulations
    sys.argv[1:] = [str(experiment(tmp_path / "other").folder)]
    with pytest.raises(SystemExit, match="expected a run against an agent, got one against single"):
        constant.main()


def test_pairs_of_games_are_played_once_and_are_those_of_one_long_match(
    game: Game, monkeypatch: pytest.MonkeyPatch
) -> None:
    import levels

    num_starts = 0

    def start(lineup: Lineup, of: Game) -> State:
        nonlocal num_starts
        num_starts += 1
        return begin(lineup, of)

    begin = Lineup.start
    monkeypatch.setattr(Lineup, "start", start)
    ticks = iter([0.0] * 30 + [99.0] * 30)
    monkeypatch.setattr(levels, "time", types.SimpleNamespace(monotonic=lambda: next(ticks)))
    names = ("random", "uct?simulations=4")
    matches = [levels.Pairing("search", names), levels.Pairing("search", names[::-1])]
    found = levels.play(game, matches, 60.0, 3)
    assert num_starts == sum(len(result.records) for result in found.values())
    first, second = found.values()
    assert len(first.records) >= len(second.records) >= 10
    agents = levels.named_agents(names, game)
    starts = levels.starts(game, 500, seed=levels.first_board(3))
    schedule = duel_schedule(game, agents, num_games=len(first.records), openings=starts)
    assert first.records == play_match(game, schedule, Conditions(seed=3))
    assert sum(first.counts("random")) == len(first.informative)


def test_a_match_of_two_is_a_row(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    import duel_match

    options = ["--game", "tictactoe", "--games", "20", "--seed", "5", "--out", str(tmp_path / "games.jsonl")]
    agents = ["--agent", "uct?simulations=30", "--agent", "random"]
    monkeypatch.setattr(sys, "argv", ["duel_match.py", "mine", "--", *options, *agents[:2]])
    with pytest.raises(SystemExit, match="expected two agents that play each other, got 1"):
        duel_match.main()
    sys.argv += agents[2:]
    duel_match.main()
    assert capfd.readouterr().out.startswith("mine ")
    won = {"wins": 9, "ties": 1, "losses": 0, "num_games": 10}
    for elo, value, interval in (
        ({"difference": 338.04, "error": None, "low": 144.67, "high": None}, None, [144.7, None]),
        ({"difference": 338.04, "error": 50.0, "low": 288.04, "high": 388.04}, 338.0, [288.0, 388.0]),
    ):
        told = {"agents": [{**won, "pentanomial_elo": elo}], "num_duplicates": 0, "seed": 5}
        row = duel_match.read("mine", told)
        assert (row["value"], row["interval"], row["counts"], row["games"]) == (value, interval, [9, 1, 0], 10)


def test_two_ways_to_play_with_the_same_experts_are_compared_over_trainings(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    import expert_duels
    from measuring import pooling, record
    from trained_for_tests import save_team

    monkeypatch.setattr(record, "RESULTS", tmp_path / "results")
    teams = [str(save_team(tmp_path / f"team-{seed}", seed=seed)) for seed in (3, 4)]
    words = ["mine", "--game", "tictactoe", *(word for team in teams for word in ("--experts", team))]
    words += ["--first", "simulations=64&leaves=1", "--second", "simulations=0", "--games", "6", "--seed", "5"]
    words += ["--out", str(tmp_path / "games"), "--record"]
    monkeypatch.setattr(sys, "argv", ["expert_duels.py", *words])
    expert_duels.main()
    files = sorted((tmp_path / "games").glob("*.jsonl"))
    assert [file.name for file in files] == ["0.jsonl", "1.jsonl"]
    starts = [{json.loads(line)["start_key"] for line in file.read_text().splitlines()[1:]} for file in files]
    assert not starts[0] & starts[1]
    kept = [file.read_bytes() for file in files]
    expert_duels.main()
    assert [file.read_bytes() for file in files] == kept
    # What was recorded is not repeated.
    (row,) = [json.loads(line) for line in (tmp_path / "results" / "duels.jsonl").read_text().splitlines()]
    assert (row["games"], sum(row["counts"]), len(row["by training"])) == (12, 12, 2)
    assert row["value"] > 0
    assert str(tmp_path) not in row["command"]
    monkeypatch.setattr(sys, "argv", ["expert_duels.py", "again", *words[1:], "--than", "mine"])
    expert_duels.main()
    again = json.loads((tmp_path / "results" / "duels.jsonl").read_text().splitlines()[-1])
    assert again["than"] == {"name": "mine"}
    assert pooling.other_than(again, row)["by training"] == [0.0, 0.0]
    other = again | {"by training": [one - step for one, step in zip(again["by training"], (10, 30), strict=True)]}
    # The games of both say less than the trainings, which agree to 10 Elo: Student's of these alone is 20 ± 127.1.
    low, high = pooling.other_than(again, other)["interval"]
    assert low < -107.1
    assert high > 147.1
    with pytest.raises(ValueError, match="the same trainings, got 2 and 1"):
        pooling.other_than(again, {"by training": [1.0]})
    # The second team with search against the first without, and the other way round.
    others = [word for team in reversed(teams) for word in ("--others", team)]
    monkeypatch.setattr(sys, "argv", ["expert_duels.py", *words[:-2], str(tmp_path / "others"), *others])
    expert_duels.main()
    played = [json.loads(line)["agents"] for line in (tmp_path / "others" / "0.jsonl").read_text().splitlines()[1:]]
    assert {tuple(name.partition("?")[0] for name in agents) for agents in played} == {
        tuple(teams),
        tuple(reversed(teams)),
    }
    # The first has the policy of its own experts and the values of the others'.
    values = [word for team in reversed(teams) for word in ("--values", team)]
    monkeypatch.setattr(sys, "argv", ["expert_duels.py", *words[:-2], str(tmp_path / "values"), *values])
    expert_duels.main()
    valued = [json.loads(line)["agents"] for line in (tmp_path / "values" / "0.jsonl").read_text().splitlines()[1:]]
    assert {sum(f"value={teams[1]}" in name for name in agents) for agents in valued} == {1}


def test_what_a_policy_makes_of_legal_actions(
    experts: Path, game: Game, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    import policies
    from measuring import record

    # Half of it lies on an illegal action; of the rest, three quarters and one quarter on two legal ones.
    logits, legal = np.log([[4.0, 3.0, 1.0]]), np.array([[False, True, True]])
    found = dict(zip(policies.MEASURES, policies.per_position(logits, legal, np.array([2]))[:, 0], strict=True))
    entropy = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    expected = {"loss": math.log(8), "loss, legal": math.log(4), "illegal": 0.5, "entropy": entropy}
    assert found == pytest.approx({**expected, "likeliest": 0.75, "accuracy, legal": 0.0})

    generate(game, [plugins().agent("random", game)] * 2, 60, seed=1, out=tmp_path / "data", reference="tictactoe")
    monkeypatch.setattr(record, "RESULTS", tmp_path / "results")
    words = [
        str(tmp_path / "data"),
        "--game",
        "tictactoe",
        "--name",
        "mine",
        "--experts",
        str(experts),
        "--positions",
        "40",
    ]
    monkeypatch.setattr(sys, "argv", ["policies.py", *words, "--record"])
    policies.main()
    row = json.loads((tmp_path / "results" / "policies.jsonl").read_text())
    assert (row["name"], row["positions"]) == ("mine", 40)
    assert 0 < row["loss, legal"] < row["loss"]
    assert capsys.readouterr().out.startswith(f"mine tictactoe {row['seed']} 40 ")


def test_new_results_make_no_commit_another(tmp_path: Path) -> None:
    from measuring.record import commit

    def git(*words: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    results = tmp_path / "benchmarks" / "results"
    results.mkdir(parents=True)
    for path in (results / "rows.jsonl", tmp_path / "code.py"):
        path.write_text("1\n")
    git("init")
    git("add", ".")
    git("commit", "-m", "one")
    clean = commit(tmp_path)
    assert len(clean) >= 7
    (results / "rows.jsonl").write_text("2\n")
    assert commit(tmp_path) == clean
    (tmp_path / "code.py").write_text("2\n")
    assert commit(tmp_path) == f"{clean}+"


def test_savings_are_those_of_options_that_change_no_move(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import savings
    from measuring import record
    from results_page.searching import savings as shown
    from trained_for_tests import save_team

    monkeypatch.setattr(record, "RESULTS", tmp_path)
    team = str(save_team(tmp_path / "team"))
    words = ["--agent", team, "--game", "tictactoe", "--against", "random", "--games", "6", "--simulations", "40"]
    monkeypatch.setattr(sys, "argv", ["savings.py", *words, "--record"])
    savings.main()
    rows = [json.loads(line) for line in (tmp_path / "savings.jsonl").read_text().splitlines()]
    assert [row["option"] for row in rows] == list(savings.OPTIONS)
    assert rows[0]["ratio"] == 1.0
    assert all(row["value"] > 0 for row in rows)
    assert "| smart pruning | 6 |" in shown()
    monkeypatch.setattr(savings, "OPTIONS", {"as it is": "", "worse": "simulations=1"})
    with pytest.raises(SystemExit, match="expected the same moves with simulations=1, got others"):
        savings.main()


def test_the_interval_of_two_ways_to_play_is_over_trainings() -> None:
    from expert_duels import summary

    def training(*got: float) -> DuelResult:
        """Returns a match of two agents with what the first one got, an opening from both sides."""
        return ended(SIDES, [(one, -one) if i % 2 == 0 else (-one, one) for i, one in enumerate(got)])

    row = summary("mine", [training(1, 0, 0, 0), training(1, 1, 1, 0), training(1, -1, 0, 1)])
    assert (row["counts"], row["games"], row["duplicates"]) == ([6, 5, 1], 12, 0)
    assert row["by training"] == [88.7, 338.0, 88.7]
    # 5/8, 7/8 and 5/8 over three trainings: a mean of 17/24, a variance of 1/48, Student's t of two degrees.
    low, high = (17 / 24 + sign * 4.303 / math.sqrt(3 * 48) for sign in (-1, 1))
    assert row["value"] == round(elo_of_score(17 / 24), 1)
    assert row["interval"] == [round(elo_of_score(low), 1), None]
    assert high > 1


def test_a_first_play_urgency_goes_on_with_the_same_weights_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    import urgency
    from trained_for_tests import save_team

    save_team(tmp_path / "team", seed=3)
    words = [str(tmp_path / "team"), "--out", str(tmp_path / "games"), "--urgencies", "draw", "--simulations", "4"]
    words += ["--games", "4", "--plies", "2", "--backend", "torch", "--precision", "float32"]
    monkeypatch.setattr(sys, "argv", ["urgency.py", *words])
    urgency.main()
    kept = (tmp_path / "games" / "draw-4.jsonl").read_bytes()
    urgency.main()
    assert (tmp_path / "games" / "draw-4.jsonl").read_bytes() == kept
    first, again = capsys.readouterr().out.splitlines()
    assert first == again
    save_team(tmp_path / "others", seed=4)
    (tmp_path / "team").rename(tmp_path / "before")
    (tmp_path / "others").rename(tmp_path / "team")
    with pytest.raises(ForeignData, match=r"holds the games of another match, with .* in place of"):
        urgency.main()


def test_a_row_of_all_agents_counts_all_games() -> None:
    from field_match import together

    rows = [{"counts": counts, "value": 25.0 * counts[0], "seed": 5} for counts in ([3, 0, 1], [1, 1, 2])]
    found = together("mine", rows)
    assert found["name"] == "mine: all 2 together"
    assert (found["value"], found["counts"], found["games"]) == (50.0, [4, 1, 3], 8)
    assert found["by agent"] == [75.0, 25.0]


def test_the_command_of_a_run_says_what_was_changed_since_it_was_begun(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from strength import command_of

    text = "moemcts run --game tictactoe --gate 'plies?cuts=4' --preset smoke --network 'mlp?width=8&layers=1' --seed 3"
    begun = shlex.split(text)[1:]

    def resolved(words: list[str]) -> Any:
        assert command(*words, "--dry-run", "--json", monkeypatch=monkeypatch) == 0
        return json.loads(capsys.readouterr().out)["config"]

    config = resolved(begun)
    assert command_of(begun, config) == text
    config["num_seeds"], config["match"]["games"] = 7, 300
    changed = command_of([*begun, "--out", "folder"], config)
    assert changed == f"{text} --set num_seeds=7 --set match.games=300"
    fewer = ["--set", "num_seeds=1", "--out", "folder"]
    assert command_of([*begun, *fewer], config) == changed
    assert resolved(shlex.split(changed)[1:]) == config


def test_rows_say_what_a_path_is_for_and_not_where_it_is() -> None:
    from measuring.record import named

    given = ["/home/me/run", "--data", "/home/me/games", "--set", "data.folder=/home/me/games", "--set", "a=b/c"]
    assert list(named(given)) == ["PATH", "--data", "DATA", "--set", "data.folder=FOLDER", "--set", "a=b/c"]


def test_positions_at_random_are_of_one_game_after_the_other_and_in_none_is_it_over(game: Game) -> None:
    from measuring.positions import random_positions

    found = random_positions(game, 40)
    assert found[:20] == random_positions(game, 20)
    assert len(found) == 40
    assert all(state.active_players for state in found)
    plies = [state.ply for state in found]
    assert all(ply == 0 or ply == before + 1 for before, ply in pairwise(plies))
    assert plies[0] == 0
    # No game of tic-tac-toe is over before the fifth ply or goes on after the ninth.
    assert 5 <= plies.count(0) <= 8


def test_rows_name_a_folder_however_it_was_written() -> None:
    from measuring.record import without_places

    places = {Path("team"): "FOLDER", Path("games.jsonl"): "FILE", None: "OTHER"}
    words = ["cost.py", "team/", "--out", "./games.jsonl", "--out=games.jsonl", "--sprt", "-10", "0", "--record"]
    assert without_places(words, places) == [
        "cost.py", "FOLDER", "--out", "FILE", "--out=FILE", "--sprt", "-10", "0", "--record"
    ]  # fmt: skip


def test_what_fewer_digits_cost_is_recorded_of_a_folder_with_a_slash(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import precision_cost
    from measuring import record
    from trained_for_tests import save_team

    monkeypatch.setattr(record, "RESULTS", tmp_path / "results")
    save_team(tmp_path / "team")
    monkeypatch.chdir(tmp_path)
    words = ["team/", "--games", "4", "--simulations", "2", "--plies", "1", "--backend", "torch", "--record"]
    monkeypatch.setattr(sys, "argv", ["precision_cost.py", *words])
    precision_cost.main()
    row = json.loads((tmp_path / "results" / "inference.jsonl").read_text())
    assert row["games"] == 4
    assert row["command"].startswith("python precision_cost.py FOLDER --games 4")


def test_a_training_speed_is_recorded_of_a_folder_with_a_slash(
    game: Game, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import training_speed
    from measuring import record

    monkeypatch.setattr(record, "RESULTS", tmp_path / "results")
    generate(game, [plugins().agent("random", game)] * 2, 60, seed=1, out=tmp_path / "data", reference="tictactoe")
    monkeypatch.chdir(tmp_path)
    words = ["data/", "--game", "tictactoe", "--network", "mlp?width=8&layers=1", "--samples", "60"]
    words += ["--batch-size", "16", "--device", "cpu", "--record"]
    monkeypatch.setattr(sys, "argv", ["training_speed.py", *words])
    training_speed.main()
    row = json.loads((tmp_path / "results" / "training.jsonl").read_text())
    assert row["value"] > 0
    assert row["command"].startswith("python training_speed.py DATA --game tictactoe")


def test_a_pair_of_arms_is_turned_around_where_it_is_asked_for_so(tmp_path: Path) -> None:
    from strength import between

    found = {"arm": "staged", "other": "steps", "wins": 0.2, "interval": [-0.1, 0.5], "seed_means": [0.1, 0.3]}
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "numbers.json").write_text(json.dumps({"searched": {"between": [found]}}))
    rows = [{"game": "nim", "arm": arm, "kind": "searched", "label": "small"} for arm in ("steps", "staged")]
    row = between(rows, tmp_path, ("steps", "staged"))
    assert (row["name"], row["over"]) == ("nim, steps over staged, searched, small", "staged")
    difference = row["difference"]
    assert isinstance(difference, dict)
    assert (difference["wins"], difference["interval"]) == (-0.2, [-0.5, 0.1])
    assert difference["seed_means"] == [-0.1, -0.3]
    with pytest.raises(ValueError, match=r"expected a pair of \['staged', 'steps'\]"):
        between(rows, tmp_path, ("steps", "weighted"))


def test_a_trainings_speed_is_that_of_the_completed_network_after_its_first_steps(
    game: Game, monkeypatch: pytest.MonkeyPatch
) -> None:
    from measuring import probing

    clock = 0.0

    def train(config: Any, game: Game, arm: Any, *_: object, on_progress: Any, **folders: object) -> None:
        nonlocal clock
        assert config.network == arm.network == plugins().complete_network("resnet?channels=4&blocks=1", game)
        waited = 0.0
        # 100 samples in 4 batches; the first steps take 10 seconds of waiting each, later ones 0.5, 0.1 of it waiting.
        for step in range(1, round(config.training.epochs * 4) + 1):
            clock, waited = (clock + 10, waited + 10) if step <= 48 else (clock + 0.5, waited + 0.1)
            state = {"stage": "", "step": step, "num_steps": 0, "loss": 0.0}
            on_progress(Progress(**state, samples_per_second=25 * step / clock, waiting=waited / clock))

    monkeypatch.setattr(probing, "train_experts", train)
    monkeypatch.setattr(probing.time, "perf_counter", lambda: clock)
    sources = types.SimpleNamespace(training=range(100))
    training = TrainerConfig(batch_size=32)
    config = LearningConfig(game="tictactoe", network="resnet?channels=4&blocks=1", training=training)
    probe = probing.probe_training(config, game, sources, num_steps=300)
    assert clock == 48 * 10 + 305 * 0.5
    assert probe == pytest.approx((50.0, 0.2))


def test_what_phases_gain_adds_up_to_the_score(game: Game) -> None:
    import phase_swings

    gate = plugins().gate("plies?cuts=2,4", game)
    agents = {name: Named(plugins().agent("random", game), name) for name in ("first", "second")}
    schedule = duel_schedule(game, agents, num_games=8, openings=openings_from_seeds(4))
    judge = plugins().agent("uct?simulations=20", game)
    for record in play_match(game, schedule, Conditions(seed=3)):
        seat = record.agents.index("first")
        start = schedule.lineups[record.index].start(game)
        marks = list(phase_swings.beginnings(game, start, record, gate))
        assert [phase for phase, _ in marks] == sorted({phase for phase, _ in marks})
        gains = phase_swings.gains_of(game, start, record, seat, gate, judge)
        begun = phase_swings.valued(game, start, seat, judge)
        assert sum(gains) == pytest.approx((record.returns[seat] - begun) / 2)

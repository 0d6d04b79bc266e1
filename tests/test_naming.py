"""A reference becomes an agent in one place, and its options have the types that makers ask for."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch
from trained_for_tests import with_gpus

from moemcts.agents import Seat
from moemcts.errors import ForeignData, UsageError
from moemcts.gates import PlyGate
from moemcts.learn.checkpoint import save_experts
from moemcts.learn.inference.fidelity import Fidelity
from moemcts.naming import contestants, identity_of, is_more_specific, is_timed, resolve_agent, with_options
from moemcts.naming.experts import expert_options
from moemcts.options import checked_options
from moemcts.plugins import plugins
from moemcts.references import parse_reference, parse_value
from moemcts.runs.match import Match, MatchPlan, resume_plan
from moemcts.search import SearchAgent, SearchConfig


def make(
    *, count: int = 1, rate: float = 0.5, cuts: Sequence[int] = (), how: Literal["a", "b"] = "a", name: str = ""
) -> None:
    pass


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("x?cuts=4", {"cuts": [4]}),
        ("x?cuts=4,5", {"cuts": [4, 5]}),
        ("x?rate=1", {"rate": 1.0}),
        ("x?count=1e3", {"count": 1000}),
        ("x?cuts=[4,5]", {"cuts": [4, 5]}),
        ("x?cuts=[4]", {"cuts": [4]}),
        ("x?how=b&name=7", {"how": "b", "name": "7"}),
        ("x?name=[", {"name": "["}),
    ],
)
def test_options_become_what_their_annotations_say(text: str, options: dict[str, object]) -> None:
    assert checked_options("thing 'x'", make, parse_reference(text)[1]) == options


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x?count=1.5", "thing 'x': expected count as whole number, got 1.5"),
        ("x?count=many", "thing 'x': expected count as whole number, got 'many'"),
        ("x?cuts=a,b", "thing 'x': expected cuts as whole number, ..."),
        ("x?how=c", "thing 'x': expected how as a or b, got 'c'"),
        ("x?cut=4", "no option of thing 'x' named 'cut'; did you mean 'cuts'"),
        ("x?cuts=1,2&cuts=3", "expected option 'cuts' once"),
    ],
)
def test_options_of_other_types_are_named(text: str, line: str) -> None:
    with pytest.raises(UsageError, match=line):
        checked_options("thing 'x'", make, parse_reference(text)[1])


def test_options_of_any_name_are_taken_beside_those_with_types() -> None:
    def make_engine(*, nodes: int = 1, **others: object) -> None:
        pass

    given = parse_reference("x?nodes=1e3&option.Hash=8")[1]
    assert checked_options("thing 'x'", make_engine, given) == {"nodes": 1000, "option.Hash": 8}
    with pytest.raises(UsageError, match="expected nodes as whole number, got 'many'"):
        checked_options("thing 'x'", make_engine, {"nodes": "many"})


def test_lists_in_brackets_are_those_of_files() -> None:
    for text in ("[3,4]", "[3, 4]", "3,4"):
        assert parse_value(text) == [3, 4]
    for text in ('["random", "uct?c=2"]', "[random, uct?c=2]", "random,uct?c=2"):
        assert parse_value(text) == ["random", "uct?c=2"]
    assert parse_value("[random]") == ["random"]
    assert parse_value("[]") == []


def test_one_cut_makes_two_phases() -> None:
    gate = plugins().gate("plies?cuts=4", plugins().game("tictactoe"))
    assert isinstance(gate, PlyGate)
    assert gate.num_phases == 2


def test_a_reference_says_more_where_it_has_further_options() -> None:
    assert is_more_specific("uct?simulations=9&c=1.4", "uct?simulations=9")
    assert is_more_specific("flat?playouts=512", "flat")
    assert not is_more_specific("uct?simulations=90", "uct?simulations=9")
    assert not is_more_specific("random", "random?")
    assert not is_more_specific("uct?c=1.4", "flat")


def test_agents_are_known_by_their_references_and_by_all_that_was_chosen() -> None:
    found = contestants(["uct?simulations=9", "random", "flat?"], plugins().game("tictactoe"))
    assert [one.resolved for one in found.values()] == ["uct?simulations=9&c=1.4", "random", "flat?playouts=512"]
    assert [one.named.name for one in found.values()] == list(found)
    with pytest.raises(UsageError, match="expected different agents, got random, random"):
        contestants(["random", "random"], plugins().game("tictactoe"))


def test_the_clock_limits_agents_of_seconds_and_move_times() -> None:
    assert is_timed("uct?seconds=1")
    assert is_timed("uci:stockfish?movetime=100")
    assert not is_timed("uct?simulations=100")
    assert with_options("a?x=1", {"y": 2, "x": 3}) == "a?x=3&y=2"


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ("uct?simulations=20", "uct?simulations=20&c=1.4", "uct?simulations=20&c=1.4"),
        ("uct", "uct?c=1.4&simulations=512", "uct?simulations=512&c=1.4"),
        ("random?", "random", "random?"),
        ("uct?seconds=1", "uct?seconds=1.0", "uct?seconds=1.0&c=1.4"),
        ("{experts}?simulations=5", "{experts}/?backend=torch&simulations=5", "{experts}/?backend=torch&simulations=5"),
        (
            "{experts}?backend=torch",
            "{experts}?backend=torch&c_init=2.5&leaves=4&precision=float32",
            "precision=float32",
        ),
        ("{experts}?nodes=5&backend=torch", "experts:{experts}?nodes=5&backend=torch&opponents=self", "opponents=self"),
    ],
)
def test_one_agent_that_is_written_in_two_ways_is_refused(
    one: str, other: str, both: str, experts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from moemcts.learn.inference import choice

    monkeypatch.setattr(choice, "_rates", lambda *_: {"torch": {8: 1.0}})
    one, other = (text.format(experts=experts) for text in (one, other))
    with pytest.raises(UsageError) as raised:
        contestants([one, "flat?playouts=3", other], plugins().game("tictactoe"))
    said = str(raised.value)
    assert said.startswith(f"expected different agents, got {one!r} and {other!r}, which are both ")
    assert said.endswith(f"{both.format(experts=experts)}'")


def test_agents_that_differ_in_anything_are_different(experts: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    copy = shutil.copytree(experts, tmp_path_factory.mktemp("experts") / "copy")
    teams = [f"{experts}?backend=torch{rest}" for rest in ("", "&c_init=2", "&leaves=1", "&simulations=0", "&nodes=9")]
    names = [
        *teams,
        f"{copy}?backend=torch",
        "uct?simulations=20",
        "uct?simulations=20&depth=5",
        "uct",
        "flat",
        "random",
    ]
    game = plugins().game("tictactoe")
    assert list(contestants(names, game)) == names
    assert list(contestants(names, game, {"simulations": 7})) == names
    # With limits that they take, two may be the same.
    with pytest.raises(UsageError, match=r"got 'uct' and 'uct\?simulations=20', which are both"):
        contestants(["uct", "uct?simulations=20"], game, {"simulations": 20})


@pytest.fixture
def experts(tmp_path: Path) -> Path:
    game = plugins().game("tictactoe")
    gate = plugins().gate("plies?cuts=3,6", game)
    torch.manual_seed(1)
    network = "resnet?channels=4&blocks=1"
    save_experts(
        tmp_path,
        [plugins().network(network, game.spec.observation_shape, game.spec.num_actions) for _ in range(3)],
        game=game,
        game_reference="tictactoe",
        gate=gate,
        gate_reference="plies?cuts=3,6",
        network_reference=network,
        scheme="separated",
        seed=3,
    )
    return tmp_path


def test_what_an_agent_thinks_of_untried_actions_is_named(experts: Path) -> None:
    game = plugins().game("tictactoe")
    agent = resolve_agent(f"{experts}?backend=torch&first_play_urgency=parent", game)
    assert isinstance(agent, SearchAgent)
    assert agent.config.first_play_urgency == "parent"
    with pytest.raises(UsageError, match=r"expected first_play_urgency as loss or draw or .*got 'win'"):
        resolve_agent(f"{experts}?backend=torch&first_play_urgency=win", game)


def test_a_game_says_how_it_is_searched_where_nobody_else_does(experts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = plugins().games["tictactoe"]
    search = {"first_play_urgency": "draw", "c_init": 1.0, "virtual_loss": 0.0}
    monkeypatch.setitem(plugins().games, "tictactoe", replace(entry, search=search))
    agent = resolve_agent(f"{experts}?backend=torch&c_init=2", plugins().game("tictactoe"))
    assert isinstance(agent, SearchAgent)
    config = agent.config
    assert (config.first_play_urgency, config.c_init, config.virtual_loss) == ("draw", 2, 0)


def test_what_a_user_says_comes_before_what_a_game_says(experts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = plugins().games["tictactoe"]
    search = {"simulations": 7, "leaves_per_tree": 2, "noise_fraction": 0.5}
    monkeypatch.setitem(plugins().games, "tictactoe", replace(entry, search=search))
    game = plugins().game("tictactoe")

    def found(options: str, **limits: int) -> tuple[int | None, int | None, int, float]:
        agent = resolve_agent(f"{experts}?backend=torch{options}", game, limits)
        assert isinstance(agent, SearchAgent)
        config = agent.config
        return config.simulations, config.nodes, config.leaves_per_tree, config.noise_fraction

    assert found("") == (7, None, 2, 0.5)
    assert found("&simulations=50&leaves=8&noise=0.1") == (50, None, 8, 0.1)
    assert found("&nodes=30") == (None, 30, 2, 0.5)
    assert found("", simulations=40) == (40, None, 2, 0.5)
    assert found("", nodes=40) == (None, 40, 2, 0.5)
    assert found("&simulations=50", nodes=40) == (50, None, 2, 0.5)


def test_experts_take_every_setting_of_the_search(experts: Path) -> None:
    renamed = {"leaves_per_tree": "leaves", "noise_fraction": "noise"}
    assert {renamed.get(name, name) for name in SearchConfig.model_fields} <= expert_options().keys()
    agent = resolve_agent(f"{experts}?backend=torch&forced_playouts=2&num_threads=2", plugins().game("tictactoe"))
    assert isinstance(agent, SearchAgent)
    assert (agent.config.forced_playouts, agent.config.num_threads) == (2, 2)


@pytest.mark.parametrize(("setting", "option"), [("noise_fraction", "noise"), ("leaves-per-tree", "leaves")])
def test_a_setting_with_a_shorter_name_is_pointed_to_it(experts: Path, setting: str, option: str) -> None:
    with pytest.raises(UsageError, match=f"{setting.replace('-', '_')} is {option} here"):
        resolve_agent(f"{experts}?backend=torch&{setting}=1", plugins().game("tictactoe"))


def test_how_loudly_an_agents_policy_is_heard_is_named(experts: Path) -> None:
    game = plugins().game("tictactoe")
    agent = resolve_agent(f"{experts}?backend=torch&uniform-share=0.5&policy-temperature=2", game)
    assert isinstance(agent, SearchAgent)
    assert (agent.config.uniform_share, agent.config.policy_temperature) == (0.5, 2)
    with pytest.raises(UsageError, match="uniform_share"):
        resolve_agent(f"{experts}?backend=torch&uniform_share=2", game)


def test_a_match_goes_on_with_what_was_chosen_when_it_began(
    experts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from moemcts.learn.inference import choice

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    kept = Fidelity(top1=1, kl=0, regret=0, value=0)
    monkeypatch.setattr(choice, "_fidelity", lambda *_: kept)
    monkeypatch.setattr(choice, "_rates", lambda *_: {"torch": {8: 1.0}, "torch bf16": {8: 2.0}})
    plan = MatchPlan(game="tictactoe", agents=(f"{experts}?simulations=3", "random"), num_games=2, random_plies=0)
    path = tmp_path / "games.jsonl"
    Match(resume_plan(plan, path)).play(path)
    known = json.loads(path.read_text().splitlines()[0])["identity"]["agents"]
    assert known[plan.agents[0]].endswith("&backend=torch&precision=bf16")
    begun = path.read_bytes()
    monkeypatch.setattr(choice, "_rates", lambda *_: {"torch": {8: 1.0}, "torch bf16": {8: 1.0}})
    with pytest.raises(ForeignData):
        Match(plan).play(path)
    Match(resume_plan(plan, path)).play(path)
    assert path.read_bytes() == begun
    for other in ("", "{}\n", "no match\n"):
        path.write_text(other)
        assert resume_plan(plan, path) == plan


def test_an_agents_device_is_named_where_it_is_given(experts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    game = plugins().game("tictactoe")
    given = f"{experts}?simulations=3&backend=torch"
    seen = with_gpus(monkeypatch)
    for device, said, place in (
        ("", "", "cpu"),
        ("&device=cpu", "&device=cpu", "cpu"),
        ("&device=cuda:1", "&device=cuda:1", "cuda:1"),
        (f"&device=cuda&only=phase 0&else={experts}", f"&device=cuda&only=phase 0&else={experts}", "cuda"),
        ("&device=auto", "&device=cuda", "cuda"),
    ):
        assert contestants([given + device], game)[given + device].resolved == given + said
        assert set(seen) == {place}
        seen.clear()


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ("device=gpu", "expected a device such as cpu, cuda or cuda:1, got 'gpu'"),
        ("device=cuda:7", "no GPU for device 'cuda:7': torch .* finds 2, numbered from 0"),
        ("device=cuda&backend=openvino", "openvino runs networks only on the CPU here, not on cuda"),
    ],
)
def test_a_device_that_cannot_be_is_said_before_anything_is_played(
    experts: Path, monkeypatch: pytest.MonkeyPatch, options: str, line: str
) -> None:
    with_gpus(monkeypatch)
    with pytest.raises(UsageError, match=line):
        resolve_agent(f"{experts}?{options}", plugins().game("tictactoe"))
    with_gpus(monkeypatch, 0)
    with pytest.raises(UsageError, match=r"no GPU for device 'cuda': torch .* finds none; use device=cpu"):
        resolve_agent(f"{experts}?device=cuda", plugins().game("tictactoe"))


def test_another_gate_of_as_many_phases_chooses_the_experts(experts: Path) -> None:
    game = plugins().game("tictactoe")
    state = game.initial_state().play([0])
    found = []
    for option in ("", "&gate=plies?cuts=3,6", "&gate=plies?cuts=1,2", "&gate=plies?cuts=1,8"):
        agent = resolve_agent(f"{experts}?simulations=4&backend=torch{option}", game)
        found.append(agent.act(game.views([(state, 1)]), [Seat(1, np.random.default_rng(1))])[0])
    assert found[0] == found[1]
    assert [decision.expert for decision in found] == [0, 0, 1, 1]
    with pytest.raises(UsageError, match=r"expected a gate of 3 phases, .*got 'plies' of 2"):
        resolve_agent(f"{experts}?backend=torch&gate=plies?cuts=3", game)
    with pytest.raises(UsageError, match="no gate named 'plie'; did you mean 'plies'"):
        resolve_agent(f"{experts}?backend=torch&gate=plie", game)


def test_the_queue_is_a_routing_that_users_name(experts: Path) -> None:
    game = plugins().game("tictactoe")
    views = game.views([(game.initial_state(), 0)] * 3)
    for routing in ("queue", "queue&batch=2"):
        agent = resolve_agent(f"{experts}?simulations=30&backend=torch&routing={routing}", game)
        for decision in agent.act(views, [Seat(0, np.random.default_rng(row)) for row in range(3)]):
            assert (decision.simulations, decision.expert) == (30, 0)
            assert decision.action in range(9)
    with pytest.raises(UsageError, match="no routing named 'queu'; did you mean 'queue'"):
        resolve_agent(f"{experts}?routing=queu", game)


def test_games_of_other_options_are_refused(tmp_path: Path) -> None:
    def play(game: str, num_games: int) -> int:
        agents = ("random", "uct?simulations=2")
        match = Match(MatchPlan(game=game, agents=agents, num_games=num_games, random_plies=0))
        return len(match.play(tmp_path / "games.jsonl").records)

    # Empty boards of both sizes were played from, and nothing but the game's options tells them apart.
    assert play("hex?size=3", 2) == 2
    with pytest.raises(ForeignData, match=r"with game hex\?size=3"):
        play("hex?size=5", 4)
    assert play("hex?size=3", 4) == 4
    # Where there are none, files that were begun before options were written down go on.
    assert identity_of([], "chess") == {"experts": {}}
    assert identity_of([], "chess?b=2&a=1") == identity_of([], "chess?a=1&b=2")


def test_experts_by_another_gate_are_others_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "gate.safetensors").write_bytes(b"one")
    reference = f"{tmp_path}?gate={tmp_path / 'gate.safetensors'}"
    before = identity_of([reference])
    (tmp_path / "gate.safetensors").write_bytes(b"two")
    assert identity_of([reference]) != before


def test_the_depth_of_a_tree_is_no_limit_of_its_search() -> None:
    from moemcts.naming.limits import with_limits

    game, limits = plugins().game("tictactoe"), {"simulations": 3}
    assert with_limits({"depth": 9}, "uct?depth=9", game, limits) == {"depth": 9, **limits}
    assert with_limits({"depth": 2}, "alpha-beta?depth=2", game, limits) == {"depth": 2}


def test_engines_that_take_options_of_any_name_take_limits_too() -> None:
    from moemcts.naming.limits import with_limits

    game, limits = plugins().game("chess"), {"nodes": 7, "simulations": 3}
    for engine in ("uci", "uci:stockfish"):
        assert with_limits({"skill": 1}, engine, game, limits) == {"skill": 1, "nodes": 7}
        assert with_limits({"nodes": 9}, engine, game, limits) == {"nodes": 9}


def test_a_path_behind_an_agents_name_is_no_folder_of_experts() -> None:
    with pytest.raises(UsageError, match=r"no agent named 'uci:/bin/cat'; expected one of .*, uci, uci:stockfish"):
        resolve_agent("uci:/bin/cat", plugins().game("chess"))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("batch=8", "batch has no effect without routing=queue; leave it out"),
        ("temperature=1", "temperature has no effect with temperature_plies=0; leave it out"),
        ("simulations=0&temperature=1&temperature_plies=9", "temperature has no effect with simulations=0"),
        ("stop_share=0.5", "stop_share has no effect with stop_tolerance=0.0"),
        ("unpruned_actions=3", "unpruned_actions has no effect with pruning_visits=0"),
        ("considered_actions=4", "considered_actions has no effect with root=puct"),
    ],
)
def test_options_of_experts_that_nothing_comes_of_are_refused(options: str, told: str, experts: Path) -> None:
    with pytest.raises(UsageError, match=told):
        resolve_agent(f"{experts}?backend=torch&{options}", plugins().game("tictactoe"))

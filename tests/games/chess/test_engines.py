"""UCI engines as agents: real ones, and ones that hang, die, or answer nonsense."""

from __future__ import annotations

import gc
import shutil
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from matches_for_tests import duel

from moemcts.agents import RandomAgent, Seat
from moemcts.errors import AgentFailure, MoemctsError, UsageError
from moemcts.game import Game
from moemcts.learn.data.varied import RandomStartAgent
from moemcts.plugins import plugins
from moemcts.testing import check_agent
from moemcts_chess import engine as engines
from moemcts_chess.engine import GAMES_FOLDER, UciAgent
from moemcts_chess.game import ChessGame

ENGINE = """#!{python}
import os, sys, time
import chess
print("a banner", flush=True)
board = None
for line in sys.stdin:
    words = line.split()
    if words[:1] == ["uci"]:
        print("id name fake\\noption name Fails From type spin default 3 min 1 max 999")
        print("option name Hash type spin default 32 min 16 max 64")
        print("option name UCI_LimitStrength type check default false")
        if "{mode}" != "mute":
            print("uciok", flush=True)
    elif words[:1] == ["isready"]:
        print("info string still here\\nreadyok", flush=True)
    elif words[:3] == ["setoption", "name", "Fails"]:
        fails_from = int(words[-1])
    elif words[:2] == ["position", "startpos"]:
        board = chess.Board()
    elif words[:2] == ["position", "fen"]:
        board = chess.Board(" ".join(words[2:8]))
    elif words[:1] == ["go"]:
        if board.fullmove_number >= globals().get("fails_from", 3):
            if "{mode}" == "dies":
                sys.exit(3)
            if "{mode}" == "hangs":
                time.sleep(600)
            if "{mode}" == "hangs_once":
                hung = sys.argv[0] + ".hung"
                if not os.path.exists(hung):
                    open(hung, "w").close()
                    time.sleep(600)
                print("bestmove", next(iter(board.legal_moves)), flush=True)
                continue
            print("bestmove", {{"nonsense": "castle", "illegal": "a1a8", "resigns": "(none)"}}["{mode}"], flush=True)
        else:
            print("info depth 1 score cp 13 nodes 7 pv", board.legal_moves.__iter__().__next__(), flush=True)
            print("bestmove", next(iter(board.legal_moves)), flush=True)
    elif words[:1] == ["quit"]:
        break
"""


def fake(folder: Path, mode: str) -> str:
    path = folder / mode
    path.write_text(ENGINE.format(python=sys.executable, mode=mode))
    path.chmod(0o755)
    return str(path)


def real(name: str) -> str:
    if not (shutil.which(name) or shutil.which(name, path=GAMES_FOLDER)):
        pytest.skip(f"{name} is not installed; on Debian: apt-get install {name}")
    return name


def num_children() -> int:
    return sum(len(path.read_text().split()) for path in Path("/proc/self/task").glob("*/children"))


@pytest.mark.parametrize(
    ("mode", "kind", "reason"),
    [
        ("dies", "crash", "exit code: 3"),
        ("hangs", "timeout", "no answer within 2 s"),
        ("nonsense", "illegal move", "castle"),
        ("illegal", "illegal move", "a1a8"),
        ("resigns", "illegal move", "no move"),
    ],
)
def test_the_game_is_lost_and_the_match_goes_on(mode: str, kind: str, reason: str, tmp_path: Path) -> None:
    game = ChessGame("chess")
    timeout = 2 if mode == "hangs" else 60
    agents = {"fake": UciAgent(game, fake(tmp_path, mode), timeout=timeout, processes=2), "random": RandomAgent()}
    result = duel(game, agents, num_games=4)
    assert result.counts("fake") == (4, 0, 0)
    for record in result.records:
        assert record.termination == kind
        assert reason in record.failure
        # White's third move is ply 4, Black's ply 5.
        assert record.plies in (4, 5)


def test_a_wait_that_is_cut_short_costs_one_game(tmp_path: Path) -> None:
    game = ChessGame("chess")
    agents = {"fake": UciAgent(game, fake(tmp_path, "hangs_once"), timeout=60), "random": RandomAgent()}
    result = duel(game, agents, num_games=4, agent_timeout=3, max_plies=12)
    ended = Counter(record.termination for record in result.records)
    # Who waited for the same answer is asked again, and the engine that has hung is another one by then.
    assert ended["length"] >= 3, [record.failure for record in result.records]
    assert set(ended) <= {"length", "timeout"}


def test_an_engine_that_fails_in_one_position_answers_the_others(tmp_path: Path) -> None:
    game = ChessGame("chess")
    agent = UciAgent(game, fake(tmp_path, "dies"), timeout=20)
    late = game.parse_state("4k3/8/8/8/8/8/8/4K2R w K - 0 9")
    views = game.views([(game.initial_state(), 0), (late, 0), (game.initial_state(), 0)])
    seats = [Seat(0, np.random.default_rng(0)) for _ in range(3)]
    with pytest.raises(AgentFailure, match="crash: engine process died") as raised:
        agent.act(views, seats)
    assert list(raised.value.failures) == [1]
    first, failed, last = raised.value.decisions
    assert first.action == last.action != 0
    assert failed is None
    assert (first.nodes, first.depth) == (7, 1)
    assert 0 < first.value < 0.1


def test_an_engine_may_need_arguments(tmp_path: Path) -> None:
    game = ChessGame("chess")
    agent = UciAgent(game, f"{sys.executable} -B '{fake(tmp_path, 'dies')}'", timeout=20)
    (decision,) = agent.act(game.views([(game.initial_state(), 0)]), [Seat(0, np.random.default_rng(0))])
    assert decision.action != 0
    with pytest.raises(UsageError, match="no engine 'nowhere' found on PATH"):
        UciAgent(game, "nowhere --fast")


def test_options_of_the_engine_are_set_whatever_their_spelling(tmp_path: Path) -> None:
    game = ChessGame("chess")
    path = fake(tmp_path, "dies")
    agent = plugins().agent(f"uci?path={path}&option.fails-from=9&timeout=20", game)
    late = game.parse_state("4k3/8/8/8/8/8/8/4K2R w K - 0 8")
    assert agent.act(game.views([(late, 0)]), [Seat(0, np.random.default_rng(0))])
    with pytest.raises(UsageError, match=r"no option of uci:.*dies named 'UCI_Elo'"):
        plugins().agent(f"uci?path={path}&elo=1500", game)
    with pytest.raises(UsageError, match=r"no option of uci:.*dies named 'Fails Form'; did you mean 'Fails From'"):
        UciAgent(game, path, options={"Fails Form": 3})
    with pytest.raises(UsageError, match="expected value for option 'Fails From' to be at least 1, got: 0"):
        plugins().agent(f"uci?path={path}&option.fails-from=0", game)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are counted in /proc")
def test_engines_end_with_their_agent(tmp_path: Path) -> None:
    game = ChessGame("chess")
    gc.collect()
    before = num_children()
    agent = UciAgent(game, fake(tmp_path, "hangs"), timeout=1, processes=3)
    state = game.initial_state()
    agent.act(game.views([(state, 0)] * 6), [Seat(0, np.random.default_rng(0)) for _ in range(6)])
    assert num_children() == before + 3
    del agent
    gc.collect()
    assert num_children() == before


def test_an_engine_that_never_starts_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "START_TIMEOUT", 0.5)
    started = time.monotonic()
    with pytest.raises(MoemctsError, match=r"mute did not say uciok or readyok within 0.5 s; is it a UCI"):
        UciAgent(ChessGame("chess"), fake(tmp_path, "mute"), timeout=0.2)
    with pytest.raises(MoemctsError, match=r"within 0.7 s"):
        UciAgent(ChessGame("chess"), fake(tmp_path, "mute"), timeout=0.7)
    assert time.monotonic() - started < 20
    with pytest.raises(MoemctsError, match="true has ended; is it a UCI engine"):
        UciAgent(ChessGame("chess"), "true")
    with pytest.raises(UsageError, match="no engine 'stokfish' found on PATH; on Debian: apt-get install stokfish"):
        UciAgent(ChessGame("chess"), "stokfish")
    (tmp_path / "notes").touch()
    for path, what in (("", "a folder"), ("notes", "no program"), ("stockfish", "not there")):
        with pytest.raises(UsageError, match=f"expected the path of an engine, but '.*/{path}' is {what}"):
            UciAgent(ChessGame("chess"), f"{tmp_path}/{path}")


@pytest.mark.parametrize(
    ("reference", "line"),
    [
        ("uci?nods=3", "no option of a UCI engine named 'nods'; did you mean 'nodes'"),
        ("uci?variant=atomic", "expected variant=chess, the game being played, got 'atomic'"),
        ("uci?nodes=0", "expected nodes above 0, got 0"),
        ("uci?timeout=-1", "expected timeout above 0, got -1"),
        ("uci?nodes=many", "expected nodes as whole number, got 'many'"),
        ("uci?nodes=1.5", "expected nodes as whole number, got 1.5"),
        ("uci?seconds=soon", "expected seconds as number, got 'soon'"),
        ("uci?seconds=Infinity", "expected seconds to be finite, got inf"),
        ("uci?seconds=NaN", "expected seconds above 0, got nan"),
        ("uci?timeout=Infinity", "expected timeout to be finite, got inf"),
        ("uci?movetime=x", "expected movetime as whole number, got 'x'"),
        ("uci?path=3", "no engine '3' found on PATH"),
        ("uci?seconds=1&movetime=1000", "expected seconds or movetime"),
    ],
)
def test_mistakes_are_named_before_an_engine_starts(reference: str, line: str) -> None:
    with pytest.raises(UsageError, match=line):
        plugins().agent(reference, ChessGame("chess"))


@pytest.mark.parametrize("variant", ["chess", "chess960", "antichess", "crazyhouse", "threecheck", "racingkings"])
def test_fairy_stockfish_plays_every_variant(variant: str) -> None:
    real("fairy-stockfish")
    game = ChessGame(variant)
    opponents = {"engine": UciAgent(game, "fairy-stockfish", nodes=1000), "random": RandomAgent()}
    result = duel(game, opponents, num_games=2)
    assert result.counts("engine") == (0, 0, 2)
    assert {record.termination for record in result.records} == {"rules"}


def test_an_engine_plays_the_same_whatever_it_played_before() -> None:
    real("fairy-stockfish")
    game = ChessGame("antichess")
    agent = UciAgent(game, "fairy-stockfish", nodes=30)
    check_agent(agent, game, num_games=1)
    views = game.views([(game.initial_state(), 0)])
    assert len({agent.act(views, [Seat(0, np.random.default_rng(0))])[0].action for _ in range(3)}) == 1
    with pytest.raises(UsageError, match="does not play atomic, only chess, chess960, antichess"):
        UciAgent(ChessGame("atomic"), "fairy-stockfish")


def test_stockfish_plays_chess_only() -> None:
    real("stockfish")
    game = ChessGame("chess")
    check_agent(plugins().agent("uci:stockfish?nodes=30&skill=0&hash_mib=2&threads=1", game), game, num_games=1)
    check_agent(plugins().agent("uci:stockfish?movetime=5&elo=1400&processes=2", game), game, num_games=1)
    with pytest.raises(UsageError, match="does not play antichess, only chess, chess960"):
        UciAgent(ChessGame("antichess"), "stockfish")


def test_an_engine_without_its_option_does_not_play_chess960(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"does not play chess960, only chess$"):
        UciAgent(ChessGame("chess960"), fake(tmp_path, "dies"))


def test_varied_agents_play_at_random_first() -> None:
    game = ChessGame("chess")
    varied = RandomStartAgent(RandomAgent(), 4)
    check_agent(varied, game, num_games=1)
    assert varied.name == "random after 4 random plies"


def test_failures_of_varied_agents_keep_their_rows(tmp_path: Path) -> None:
    game = ChessGame("chess")
    varied = RandomStartAgent(UciAgent(game, fake(tmp_path, "nonsense"), timeout=20), 1)
    late = game.parse_state("4k3/8/8/8/8/8/8/4K2R w K - 0 9")
    views = game.views([(game.initial_state(), 0), (late, 0)])
    with pytest.raises(AgentFailure) as raised:
        varied.act(views, [Seat(0, np.random.default_rng(0)) for _ in range(2)])
    assert list(raised.value.failures) == [1]


def test_alpha_beta_plays_every_variant_and_never_by_chance() -> None:
    for variant in ("chess", "chess960", "antichess", "atomic", "crazyhouse", "kingofthehill", "threecheck", "horde"):
        game: Game = ChessGame(variant, max_plies=12)
        agent = plugins().agent("alpha-beta?depth=2", game)
        check_agent(agent, game, num_games=1)


@pytest.mark.parametrize(
    ("variant", "fen", "best"),
    [
        # A mate in one, and the mate in two of Morphy's problem.
        ("chess", "6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1", "a1a8"),
        ("chess", "kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", "a1a6"),
        # The king walks to the hill, to the last rank; a third check.
        ("kingofthehill", "6k1/8/8/8/8/4K3/8/8 w - - 0 1", None),
        ("threecheck", "6k1/5ppp/8/8/8/8/6PP/3Q2K1 w - - 1+3 0 1", "d1d8"),
        ("racingkings", "8/6K1/8/8/8/8/k7/8 w - - 0 1", None),
        # Antichess: the rook gives itself away and White has nothing left.
        ("antichess", "8/8/8/8/8/1p6/8/R7 w - - 0 1", "a1a2"),
        # Atomic: taking the pawn beside the king explodes it.
        ("atomic", "6k1/5p2/8/8/8/8/8/2K2R2 w - - 0 1", "f1f7"),
    ],
)
def test_alpha_beta_sees_what_each_variant_is_won_by(variant: str, fen: str, best: str | None) -> None:
    game = ChessGame(variant)
    state = game.parse_state(fen)
    ((action, score, _, nodes),) = game.views([(state, 0)]).alpha_beta(depth=4)  # type: ignore[attr-defined]
    assert score > 29_000, (game.format_action(state, 0, action), score)
    assert nodes > 0
    if best is not None:
        assert game.format_action(state, 0, action) == best


def test_alpha_beta_stops_at_its_limits() -> None:
    game = ChessGame("chess")
    views = game.views([(game.initial_state(), 0)])
    ((_, _, _, nodes),) = views.alpha_beta(nodes=5000)  # type: ignore[attr-defined]
    assert 4000 < nodes <= 5001
    started = time.monotonic()
    views.alpha_beta(seconds=0.1)  # type: ignore[attr-defined]
    assert time.monotonic() - started < 20
    queens = game.parse_state("qqqqkqqq/qqqqqqqq/8/8/8/8/QQQQQQQQ/QQQQKQQQ w - - 0 1")
    for limit in ({"nodes": 2000}, {"seconds": 0.1, "depth": 1}):
        ((action, _, depth, _),) = game.views([(queens, 0)]).alpha_beta(**limit)  # type: ignore[attr-defined]
        assert depth == 0
        assert action in queens.legal_actions(0)
    for bad in ({}, {"depth": 0}, {"nodes": 0}, {"seconds": -1.0}):
        with pytest.raises(ValueError, match="expected a limit above 0"):
            views.alpha_beta(**bad)  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="expected depth above 0, got 0"):
        plugins().agent("alpha-beta?depth=0", game)
    over = game.parse_state("7k/6Q1/6K1/8/8/8/8/8 b - - 0 1")
    with pytest.raises(ValueError, match="in which the game goes on"):
        game.views([(over, 1)]).alpha_beta(depth=1)  # type: ignore[attr-defined]


def test_alpha_beta_beats_random_moves() -> None:
    for variant in ("antichess", "racingkings"):
        game = ChessGame(variant)
        agents = {"alpha-beta": plugins().agent("alpha-beta?depth=2", game), "random": RandomAgent()}
        losses, _, wins = duel(game, agents, num_games=12).counts("alpha-beta")
        # Equal agents win 11 of 12 decided games once in 315 times.
        assert wins >= 11
        assert losses <= 1

"""Lines become values and values become lines."""

from __future__ import annotations

import pytest

from moemcts.evaluation import UniformEvaluator
from moemcts.experts import ExpertSet
from moemcts.gates import SinglePhase
from moemcts_chess.game import ChessGame
from moemcts_chess.uci import protocol
from moemcts_chess.uci.clock import Clock
from moemcts_chess.uci.loading import Resources
from moemcts_chess.uci.options import Options
from moemcts_chess.uci.protocol import Go, Line, Progress, parse_go, parse_position, parse_setoption


@pytest.mark.parametrize(
    ("line", "go"),
    [
        ("", Go()),
        ("infinite searchmoves e2e4 d2d4", Go(infinite=True, searchmoves=("e2e4", "d2d4"))),
        ("searchmoves e2e4 depth 3", Go(searchmoves=("e2e4",), depth=3)),
        ("movetime 1500 nodes 0", Go(movetime=1.5)),
        ("ponder wtime 1000 winc 10", Go(ponder=True, clocks=(Clock(remaining=1, increment=0.01), None))),
        (
            "btime -20 wtime 60000 movestogo 5",
            Go(clocks=(Clock(remaining=60, moves_to_go=5), Clock(remaining=0, moves_to_go=5))),
        ),
        ("mate 2 rubbish", Go(mate=2, unknown=("rubbish",))),
    ],
)
def test_go_is_read(line: str, go: Go) -> None:
    assert parse_go(line.split()) == go


@pytest.mark.parametrize("line", ["nodes", "depth x", "movetime 1e999", "wtime nan"])
def test_a_limit_without_a_number_is_answered_quickly(line: str) -> None:
    assert parse_go(line.split()) == Go(nodes=1, unknown=(line,))
    clocks = (None, Clock(remaining=1))
    assert parse_go(f"btime 1000 ponder {line}".split()) == Go(clocks=clocks, nodes=1, ponder=True, unknown=(line,))


def test_a_perft_without_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match="expected a number after perft, got 'deep'"):
        parse_go(["perft", "deep"])


def test_positions_are_read() -> None:
    assert parse_position(["startpos", "moves", "e2e4", "e7e5"]) == ("startpos", ["e2e4", "e7e5"])
    assert parse_position(["fen", "8/8/8/8/8/8/8/8", "w", "-", "-", "0", "1"]) == ("8/8/8/8/8/8/8/8 w - - 0 1", [])
    for words in ("", "moves e2e4", "fen", "startpos e2e4"):
        with pytest.raises(ValueError, match="expected position"):
            parse_position(words.split())


def test_options_are_read() -> None:
    assert parse_setoption(["name", "Clear", "Hash"]) == ("Clear Hash", "")
    assert parse_setoption(["name", "SyzygyPath", "value", "/a", "b:/c"]) == ("SyzygyPath", "/a b:/c")
    with pytest.raises(ValueError, match="expected setoption name"):
        parse_setoption(["MultiPV", "3"])


def test_progress_is_one_line_for_each_line_of_play() -> None:
    lines = [
        Line(moves=["e2e4", "e7e5"], score="cp 31", wdl=(300, 500, 200)),
        Line(moves=["d2d4"], score="mate 3", rank=2),
    ]
    progress = Progress(
        depth=2, seldepth=5, nodes=100, nodes_per_second=50.4, seconds=2, hashfull=1, tbhits=0, lines=lines
    )
    assert protocol.format_info(progress) == [
        "info depth 2 seldepth 5 multipv 1 score cp 31 wdl 300 500 200 nodes 100 nps 50 hashfull 1 tbhits 0 time 2000 "
        "pv e2e4 e7e5",
        "info depth 2 seldepth 5 multipv 2 score mate 3 nodes 100 nps 50 hashfull 1 tbhits 0 time 2000 pv d2d4",
    ]


def test_answers_name_the_move_and_the_reply_to_ponder_on() -> None:
    assert protocol.format_best_move(["e2e4", "e7e5", "g1f3"]) == "bestmove e2e4 ponder e7e5"
    assert protocol.format_best_move(["e2e4"]) == "bestmove e2e4"
    assert protocol.format_best_move([]) == "bestmove (none)"


@pytest.mark.parametrize("value", [-1.0, -0.37, 0.0, 0.2, 1.0])
def test_chances_are_thousand_and_agree_with_the_value(value: float) -> None:
    win, draw, loss = protocol.win_draw_loss(value)
    assert win + draw + loss == 1000
    assert win - loss == pytest.approx(1000 * value, abs=1.5)  # two roundings


def test_options_have_crazyaras_defaults() -> None:
    options = Options()
    config = options.search_config(100, 200, {"first_play_urgency": "draw"})
    assert (config.c_init, config.c_base, config.policy_temperature) == (2.5, 19652, 1.7)
    assert (config.noise_fraction, config.noise_alpha, config.first_play_urgency) == (0, 0.2, "draw")
    assert (config.nodes, config.simulations) == (100, 200)


def test_options_are_set_whatever_the_case_and_checked() -> None:
    options = Options(["lichess"])
    assert options.set("multipv", "4")[0].name == "MultiPV"
    assert options.number("MultiPV") == 4
    options.set("uci_variant", "3CHECK")
    assert options.game == "threecheck"
    options.set("UCI_Variant", "chess")
    options.set("UCI_Chess960", "TRUE")
    assert options.game == "chess960"
    for name, value, message in (
        ("MultiPV", "0", "expected 1 to 500 for MultiPV, got '0'"),
        ("MultiPV", "many", "got 'many'"),
        ("UCI_Chess960", "yes", "expected true or false"),
        ("UCI_Variant", "checkers", "expected chess, antichess"),
        ("MultPV", "1", "did you mean MultiPV"),
        ("", "", "no option named ''"),
    ):
        with pytest.raises(ValueError, match=message):
            options.set(name, value)


def test_what_crazyara_has_and_we_have_not_is_said() -> None:
    options = Options()
    assert "Backend" in options.remark(options.set("Use_TensorRT", "true")[0])
    assert "a tree" in options.remark(options.set("Search_Type", "mcgs")[0])
    assert options.remark(options.set("Search_Type", "mcts")[0]) == ""


def test_a_variant_says_how_it_is_searched_but_not_without_a_policy() -> None:
    def untried(variant: str, experts: ExpertSet | None) -> str:
        game = ChessGame(variant)
        resources = Resources(game=game, evaluator=UniformEvaluator(game.spec), experts=experts)
        return Options().search_config(100, 200, resources.search).first_play_urgency

    experts = ExpertSet(SinglePhase(), [UniformEvaluator(ChessGame("chess").spec)])
    assert [untried(variant, experts) for variant in ("chess", "chess960", "antichess")] == ["draw", "draw", "loss"]
    assert untried("chess", None) == "parent"

"""`moemcts annotate` writes into games what an agent thinks of them, as python-chess and Lichess read it."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path

import chess.pgn
import numpy as np
import pytest
from commands_for_tests import moemcts

from moemcts.agents import Decision, RandomAgent, Seat
from moemcts.errors import UsageError
from moemcts.game import Views
from moemcts.plugins import plugins
from moemcts_chess.annotation import annotate, table
from moemcts_chess.claims import without_claimable_draw
from moemcts_chess.game import ChessGame
from moemcts_chess.gates import LichessGate
from moemcts_chess.openings import positions
from moemcts_chess.score import centipawns

FOOLS_MATE = '[White "A"]\n[Black "B"]\n\n1. f3 {weak} e5 2. g4 Qh4# 0-1\n'


class Scripted:
    """Plays e2e4, else the first legal move, and expects what it is told, for who moves, ply by ply."""

    name = "scripted"

    def __init__(self, *values: float) -> None:
        self._values = values

    def act(self, views: Views, seats: Sequence[Seat]) -> list[Decision]:
        decisions = []
        for state, player in views:
            legal = {state.uci(action): action for action in state.legal_actions(player)}
            action = legal.get("e2e4", min(legal.values()))
            value, phase = self._values[state.ply], "early" if state.ply < 2 else "late"
            decisions.append(Decision(action=action, value=value, phase=phase, expert=int(state.ply >= 2)))
        return decisions


def read(text: str) -> chess.pgn.Game:
    game = chess.pgn.read_game(io.StringIO(text))
    assert game is not None
    return game


def test_moves_cost_what_can_be_expected_less_after_them() -> None:
    game, made = read(FOOLS_MATE), ChessGame("chess")
    moves = annotate(made, game, positions(made, game), Scripted(0.1, 0.05, -0.1, 0.25), LichessGate())
    # After 1. f3 Black expects 0.05; after 1... e5 White expects -0.1; after 2. g4 Black 0.25; then Black has won.
    assert [move.player for move in moves] == ["A", "B", "A", "B"]
    assert [move.cost for move in moves] == pytest.approx([0.15, 0.0, 0.15, 0.0])
    assert [move.judgement for move in moves] == ["inaccuracy", "", "inaccuracy", ""]
    nodes = list(game.mainline())
    assert [sorted(node.nags) for node in nodes] == [[6], [], [6], []]
    assert nodes[0].comment == "weak phase=early expert=0 judged=inaccuracy [%eval -0.15]"
    scores = [score and score.white().score() for score in (node.eval() for node in nodes)]
    assert scores == [*(centipawns(value, "chess") for value in (-0.05, -0.1, -0.25)), None]
    assert game.variations[1].move.uci() == "e2e4"
    assert len(nodes[0].variations) == 1
    assert [(row["player"], row["phase"], row["moves"]) for row in table(moves)] == [
        ("A", "early", 1),
        ("B", "early", 1),
        ("A", "late", 1),
        ("B", "late", 1),
    ]
    again = read(str(game))
    assert [node.comment for node in again.mainline()] == [node.comment for node in nodes]


@pytest.mark.parametrize(
    ("cost", "judgement"), [(0.09, ""), (0.11, "inaccuracy"), (0.21, "mistake"), (0.31, "blunder")]
)
def test_judgements_are_those_of_lichess(cost: float, judgement: str) -> None:
    game, made = read("1. e4 *"), ChessGame("chess")
    (move,) = annotate(made, game, positions(made, game), Scripted(0.0, cost), LichessGate())
    assert (move.judgement, move.agrees) == (judgement, True)
    assert len(game.variations) == 1


def test_agents_that_value_nothing_are_refused() -> None:
    game, made = read("1. e4 *"), ChessGame("chess")
    with pytest.raises(UsageError, match="expected an agent that values positions"):
        annotate(made, game, positions(made, game), RandomAgent(), LichessGate())


@pytest.mark.parametrize("variant", ["chess", "chess960", "crazyhouse"])
def test_random_games_are_annotated_to_their_end(variant: str) -> None:
    made, rng = ChessGame(variant), np.random.default_rng(5)
    board = made.initial_state(3).board()
    while not board.is_game_over() and board.ply() < 40:
        board.push(rng.choice(sorted(board.legal_moves, key=str)))
    game = read(str(chess.pgn.Game.from_board(board)))
    moves = annotate(made, game, positions(made, game), plugins().agent("uct?simulations=2", made), LichessGate())
    again = read(str(game))
    assert not again.errors
    assert list(again.mainline_moves()) == board.move_stack
    assert len(moves) == len(board.move_stack)
    # No gate of the agent's: the one that was given.
    assert moves[0].phase == "opening"


def test_who_judges_again_replaces_what_was_said() -> None:
    made = ChessGame("chess")
    game = read("1. f3 $1 $4 {weak [%clk 0:01:00] nodes=7} e5 2. g4 $14 Qh4# {[%eval 3.0] won} 0-1")
    for cost, glyph, judged, score in (
        (0.15, 6, " judged=inaccuracy", "-0.48"),
        (0.15, 6, " judged=inaccuracy", "-0.48"),
        (0.35, 4, " judged=blunder", "-1.28"),
        (0.0, 0, "", "0.00"),
    ):
        annotate(made, game, positions(made, game), Scripted(0.0, cost, -cost, cost), LichessGate())
        nodes = list(game.mainline())
        assert [sorted(node.nags) for node in nodes] == [[1, glyph] if glyph else [1], [], [14], []]
        assert nodes[0].comment == f"weak [%clk 0:01:00] phase=early expert=0{judged} [%eval {score}]"
        assert nodes[3].comment == "won phase=late expert=1"
        assert len(game.variations) == 1 + bool(glyph)


def test_what_people_wrote_stays_when_it_is_judged_again() -> None:
    made = ChessGame("chess")
    game = read("1. f3 $6 {nodes=7} (1. d4) (1. c4 {an idea}) e5 2. g4 Qh4# 0-1")
    for cost in (0.0, 0.15, 0.0):
        annotate(made, game, positions(made, game), Scripted(0.0, cost, -cost, cost), LichessGate())
        (_, *others) = game.variations
        assert [other.san() for other in others] == ["d4", "c4", *(["e4"] if cost else [])]
        assert others[1].comment == "an idea"
    # A glyph that no agent has set was replaced by one's, and that is taken back.
    assert game.variations[0].nags == set()


@pytest.mark.parametrize("variant", ["chess", "crazyhouse"])
def test_a_game_goes_on_behind_a_draw_that_nobody_claimed(variant: str) -> None:
    made = ChessGame(variant)
    game = read(f"{'Nf3 Nf6 Ng1 Ng8 ' * 3} e4 *")
    game.headers["Variant"] = variant
    states = positions(made, game, before_move=without_claimable_draw)
    assert [state.termination for state in states] == [None] * 14
    moves = annotate(made, game, states, Scripted(*[0.0] * 14), LichessGate())
    assert len(moves) == 13
    assert all(node.eval() is not None for node in game.mainline())
    # Where it ends with the draw it is one.
    drawn = read(f"{'Nf3 Nf6 Ng1 Ng8 ' * 2} 1/2-1/2")
    drawn.headers["Variant"] = variant
    assert positions(made, drawn, before_move=without_claimable_draw)[-1].termination == "threefold repetition"


def test_the_command_writes_games_and_says_what_each_phase_cost(tmp_path: Path) -> None:
    path, out = tmp_path / "games.pgn", tmp_path / "out.pgn"
    named = FOOLS_MATE.replace("weak", "schwächer")
    path.write_bytes(f"{named}\n\n1. e4 Ke3 *\n\n".encode("latin-1"))
    words = ("annotate", path, "--out", out, "--agent", "alpha-beta?depth=1")
    done = moemcts(*words, "--json")
    found = json.loads(done.stdout)
    assert (found["games"], found["left out"]) == (1, 1)
    assert [row["player"] for row in found["rows"]] == ["A", "B"]
    assert "game 2 is left out: illegal" in done.stderr
    assert "[%eval" in out.read_text()
    assert "schwächer" in out.read_text(encoding="utf-8")
    again = moemcts(*words)
    assert again.returncode == 2
    assert "expected a new file" in again.stderr
    text = moemcts("annotate", path, "--out", tmp_path / "other.pgn", "--agent", "alpha-beta?depth=1").stdout
    assert "other.pgn: 1 of 2 games, by alpha-beta" in text


def test_games_are_left_out_neither_for_their_length_nor_for_a_side_line(tmp_path: Path) -> None:
    late = '[FEN "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 511"]\n[SetUp "1"]\n\n511. Rd2 Kf8 512. Rd1 Ke8 513. Rd3 Ke7 *\n'
    aside = "\n1. e4 e5 (1... c5 2. Nf3 Nc3 3. d4) 2. Nf3 (2. f4 (2. Ke3) exf4) 2... Nc6 *\n"
    (tmp_path / "games.pgn").write_text(f"{late}{aside}")
    done = moemcts(
        "annotate", tmp_path / "games.pgn", "--out", tmp_path / "out.pgn", "--agent", "alpha-beta?depth=1", "--json"
    )
    assert done.returncode == 0, done.stderr
    assert (json.loads(done.stdout)["games"], json.loads(done.stdout)["left out"]) == (2, 0)
    assert "( 1... c5 2. Nf3 )" in (tmp_path / "out.pgn").read_text()


def test_of_very_many_games_that_are_left_out_ten_are_named(tmp_path: Path) -> None:
    (tmp_path / "no.pgn").write_text("a line\n\n" * 30)
    done = moemcts("annotate", tmp_path / "no.pgn", "--out", tmp_path / "out.pgn", "--agent", "alpha-beta?depth=1")
    assert done.returncode == 2
    assert done.stderr.count("is left out: it has no moves") == 10
    assert "20 more games left out\n" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("no.pgn",), "cannot read no.pgn: No such file"),
        (("EMPTY",), "expected games of chess in"),
        (("NO_PGN",), "game 1 is left out: it has no moves"),
        (("EMPTY", "--game", "horde"), "no experts come with horde: give an --agent"),
        (("EMPTY", "--agent", "alpha"), "did you mean 'alpha-beta'"),
    ],
)
def test_a_mistake_is_one_line(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    files = {"EMPTY": tmp_path / "empty.pgn", "NO_PGN": tmp_path / "no_pgn.pgn"}
    files["EMPTY"].write_text("")
    files["NO_PGN"].write_bytes(bytes(range(128, 256)))
    done = moemcts("annotate", *(files.get(word, word) for word in words), "--out", tmp_path / "out.pgn")
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out.pgn").exists()

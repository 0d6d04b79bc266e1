"""Games end early as cutechess ends them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from games_of_the_arena import StayOrLeave

from moemcts.agents import Decision, Seat
from moemcts.arena import Conditions, GameRecord, Lineup, play_games
from moemcts.arena.adjudication import Adjudication, Adjudicator, parse_adjudication
from moemcts.errors import UsageError
from moemcts.evaluation import UniformEvaluator
from moemcts.experts import ExpertSet
from moemcts.game import Views
from moemcts.gates import PlyGate
from moemcts.plugins import plugins
from moemcts.search import SearchAgent, SearchConfig

PAPERS = Adjudication()


def ends(
    values: Sequence[float | None], *, rules: Adjudication = PAPERS, moves_before: int = 0
) -> tuple[int, str] | None:
    """Returns after how many values, of White and Black in turn, the game ends, and how."""
    adjudicator = Adjudicator(rules)
    for number in range(moves_before):
        adjudicator.note([number % 2], [Decision(action=0, value=None)])
    for number, value in enumerate(values):
        how = adjudicator.note([number % 2], [Decision(action=0, value=value)])
        if how:
            return number + 1, how
    return None


def test_a_draw_takes_four_moves_of_each_side_after_move_thirty() -> None:
    assert ends([0.06, -0.06] * 50) == (60, "draw")
    assert ends([0.06, -0.06] * 50, moves_before=80) == (8, "draw")
    assert ends([0.06] * 7 + [0.07] + [0.0] * 9, moves_before=80) == (16, "draw")
    assert ends([0.0] * 7, moves_before=80) is None


def test_one_side_alone_does_not_agree_to_a_draw() -> None:
    assert ends([0.0, 0.5] * 100) is None
    assert ends([0.0, None] * 100) is None


def test_a_side_resigns_by_its_own_score_alone() -> None:
    assert ends([-0.9, 0.2] * 20) == (9, "resignation")
    assert ends([0.2, -0.9] * 20) == (10, "resignation")
    assert ends([0.95, 0.2] * 20) is None
    assert ends([-0.9, 0.2] * 4 + [-0.8, 0.2] + [-0.9, 0.2] * 5) == (19, "resignation")
    assert ends([-0.9, 0.2] * 4 + [None, 0.2] + [-0.9, 0.2] * 5) == (19, "resignation")


def test_each_rule_can_be_left_out() -> None:
    assert ends([-0.9] * 30, rules=Adjudication(resign_moves=0)) is None
    assert ends([0.0] * 90, rules=Adjudication(draw_moves=0)) is None


def test_thresholds_are_the_papers_centipawns() -> None:
    assert pytest.approx(1 - 1.4**-0.2, abs=2e-4) == PAPERS.draw_value
    assert pytest.approx(1 - 1.4**-6, abs=5e-4) == PAPERS.resign_value


def test_rules_are_named_with_options() -> None:
    assert parse_adjudication("off") is None
    assert parse_adjudication("papers") == PAPERS
    assert parse_adjudication("papers?draw-from=40&resign_moves=0") == Adjudication(draw_from=40, resign_moves=0)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("paper", "no adjudication named 'paper'; did you mean 'papers'?"),
        ("papers?draw=3", "no option of adjudication 'papers' named 'draw'"),
        ("papers?draw_value=2", "expected draw_value between 0 and 1, got 2"),
        ("papers?draw_from=many", "expected draw_from to be a number of moves, got 'many'"),
        ("papers?draw_value=true", "expected draw_value between 0 and 1, got True"),
        ("papers?resign_value=false", "expected resign_value between 0 and 1, got False"),
        ("papers?draw_moves=true", "expected draw_moves to be a number of moves, got True"),
        ("papers?draw_from=false", "expected draw_from to be a number of moves, got False"),
        ("papers?draw_value=low", "expected draw_value between 0 and 1, got 'low'"),
    ],
)
def test_mistakes_in_rules_are_named(text: str, line: str) -> None:
    with pytest.raises(UsageError, match=line.replace("?", r"\?")):
        parse_adjudication(text)


class Says:
    """Stays for ever, and thinks the same of every position."""

    name = "says"

    def __init__(self, value: float | None) -> None:
        self._value = value

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        return [Decision(action=0, value=self._value)] * len(seats)


def played(
    first: float | None, second: float | None, *, name: str = "antichess", opening: str | None = None
) -> GameRecord:
    game = plugins().game(name)
    start = 0 if opening is None else game.parse_state(opening)
    lineup = Lineup(agents=[FirstMove(first), FirstMove(second)], focus=0, opening=start)
    return next(iter(play_games(game, [lineup], Conditions(adjudication=PAPERS, keep_thoughts=True))))


class FirstMove(Says):
    """Plays the first legal move."""

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        seen = (views[row] for row in range(len(seats)))
        return [Decision(action=view.state.legal_actions(view.player)[0], value=self._value) for view in seen]


def test_who_resigns_has_lost() -> None:
    record = played(0.5, -0.9)
    assert (record.termination, record.returns, record.outcome, record.plies) == ("resignation", (1.0, -1.0), "win", 10)
    assert [[decision.value for decision in joint] for joint in record.decisions] == [[0.5], [-0.9]] * 5
    assert tuple(tuple(decision.action for decision in joint) for joint in record.decisions) == record.moves
    assert GameRecord.from_json(record.to_json()) == record


def test_moves_before_the_opening_do_not_count() -> None:
    record = played(0.0, 0.0, name="chess", opening="4k3/p7/8/8/8/8/P7/R3K2R w - - 0 40")
    assert (record.termination, record.plies) == ("draw", 60)


def test_games_of_agents_that_say_nothing_are_played_out() -> None:
    record = played(None, None)
    assert record.termination in ("rules", "length")
    assert record.decisions == ()


def test_only_games_of_two_against_each_other_are_adjudicated() -> None:
    with pytest.raises(UsageError, match="expected a zero-sum game of two players to adjudicate, got stay-or-leave"):
        list(play_games(StayOrLeave(4), [Lineup(agents=[Says(0.0)] * 4)], Conditions(adjudication=PAPERS)))


def test_a_searching_agent_says_what_it_thinks_and_which_expert_thought_it() -> None:
    game = plugins().game("antichess")
    experts = ExpertSet(PlyGate([3], ["early", "late"]), [UniformEvaluator(game.spec)] * 2)
    agent = SearchAgent(game, experts, SearchConfig(simulations=12))
    record = next(iter(play_games(game, [Lineup(agents=[agent, agent])], Conditions(max_plies=6, keep_thoughts=True))))
    decisions = [decision for (decision,) in record.decisions]
    assert [decision.phase for decision in decisions] == ["early"] * 3 + ["late"] * 3
    assert [decision.expert for decision in decisions] == [0] * 3 + [1] * 3
    assert all(decision.simulations == 12 and decision.depth > 0 for decision in decisions)
    assert all(decision.value is not None and abs(decision.value) <= 1 for decision in decisions)
    assert GameRecord.from_json(record.to_json()) == record

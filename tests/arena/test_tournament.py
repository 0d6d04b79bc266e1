"""Tournaments on games whose winners are known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from games_for_tests import NativeConnectFour, NativeTicTacToe
from games_of_the_arena import Leaver, LeavesAt, StayOrLeave

from moemcts.agents import Agent, Decision, RandomAgent, Seat
from moemcts.arena.games import Conditions, Progress
from moemcts.arena.openings import openings_from_seeds
from moemcts.arena.tournament import Kind, TournamentPlan, TournamentResult, play_tournament
from moemcts.errors import AgentFailure, Failure, ForeignData, UsageError
from moemcts.game import Game, Views
from moemcts.report.tournaments import crosstable, ratings_figure, tournament_report
from moemcts.search.playouts import PlayoutAgent


class Failing(RandomAgent):
    """Fails in its first position."""

    name = "failing"

    def act(self, views: Views, seats: Sequence[Seat]) -> list[Decision]:
        raise AgentFailure({row: Failure("crash", "no reason") for row in range(len(seats))}, [None] * len(seats))


def flats(game: Game) -> dict[str, Agent]:
    """Agents from weak to strong, by name."""
    return {"random": RandomAgent()} | {
        name: PlayoutAgent(game, playouts=num, depth=1, name=name) for name, num in (("weak", 8), ("strong", 300))
    }


def leavers(*rates: float) -> dict[str, Agent]:
    return {f"leaves {rate}": Leaver(rate, f"leaves {rate}") for rate in rates}


def play(
    game: Game,
    agents: dict[str, Agent],
    kind: Kind = "round-robin",
    *,
    num_games: int = 20,
    rounds: int = 1,
    seed: int = 0,
    **options: object,
) -> TournamentResult:
    plan = TournamentPlan(kind=kind, num_games=num_games, rounds=rounds)
    return play_tournament(game, agents, plan, Conditions(seed=seed), **options)  # type: ignore[arg-type]


def test_all_meet_all_and_the_stronger_is_ahead() -> None:
    game = NativeConnectFour()
    result = play(game, flats(game))
    assert [one.names for one in result.duels] == [("random", "weak"), ("random", "strong"), ("weak", "strong")]
    assert result.num_games == 60
    assert result.standings() == ["strong", "weak", "random"]
    losses, draws, wins = result.counts("strong", "random")
    assert (losses + draws + wins, losses) == (20, 0)
    assert result.counts("random", "strong") == (wins, draws, losses)
    table = crosstable(result)
    assert [row[1] for row in table.rows] == ["strong", "weak", "random"]
    assert table.rows[0][-1] == f"+{wins} ={draws} -{losses}"
    assert sum(float(str(row[5])) for row in table.rows) == 60
    numbers = result.to_json()
    assert [pair["wins"] + pair["draws"] + pair["losses"] for pair in numbers["crosstable"]] == [20, 20, 20]


def test_the_first_is_said_to_be_better_only_if_the_interval_shows_it() -> None:
    game = NativeTicTacToe()
    strong = PlayoutAgent(game, playouts=300, depth=1, name="strong")
    clear = tournament_report(play(game, {"random": RandomAgent(), "strong": strong}, num_games=40))
    assert clear.summary.startswith("strong is first, random second; the first over the second: better: +")
    alike = {name: PlayoutAgent(game, playouts=8, depth=1, name=name) for name in ("one", "other")}
    close = tournament_report(play(game, alike, num_games=40))
    assert "second; the first over the second: undecided: +" in close.summary
    assert ", 40 games." in close.summary


def test_a_game_against_several_others_is_one_game() -> None:
    result = play(StayOrLeave(4), leavers(0.1, 0.2, 0.3), num_games=8)
    table = crosstable(result)
    assert [row[table.columns.index("games")] for row in table.rows] == [8, 8, 8]
    # One of each pair of agents.
    assert sum(float(str(row[table.columns.index("points")])) for row in table.rows) == 3 * 8


def test_in_a_gauntlet_only_the_first_meets_everybody() -> None:
    game = NativeTicTacToe()
    result = play(game, flats(game), "gauntlet")
    assert [one.names for one in result.duels] == [("random", "weak"), ("random", "strong")]
    assert result.elo("weak", "strong") is None
    # Nobody meets itself, and the two others do not meet each other.
    assert [cell for row in crosstable(result).rows for cell in row[6:]].count(None) == 3 + 2
    four = play(StayOrLeave(4), leavers(0.01, 0.2, 0.4), "gauntlet", num_games=12)
    assert [one.seatings[0].count("leaves 0.01") for one in four.duels] == [1, 1]
    assert len(four.duels[0].seatings) == 4
    losses, _, wins = four.counts("leaves 0.01", "leaves 0.4")
    assert wins > losses


def test_there_is_no_elo_where_one_of_two_has_more_seats() -> None:
    agents = leavers(0.1, 0.2)
    uneven = play(StayOrLeave(4), agents, "gauntlet", num_games=8)
    assert uneven.elo(*agents) is None
    assert [pair["elo"] for pair in uneven.to_json()["crosstable"]] == [None]
    assert play(StayOrLeave(4), agents, num_games=8).elo(*agents) is not None
    # Three at four seats: one of them has two.
    assert play(StayOrLeave(4), leavers(0.1, 0.2, 0.3), num_games=8).elo(*agents) is None


@pytest.mark.parametrize(("num_agents", "num_tables"), [(2, 1), (4, 1), (6, 15)])
def test_many_seats_are_filled_by_all_sets_of_agents(num_agents: int, num_tables: int) -> None:
    game = StayOrLeave(4)
    rates = [round(0.02 + 0.1 * number, 2) for number in range(num_agents)]
    result = play(game, leavers(*rates), num_games=8)
    assert len(result.duels) == num_tables
    assert {len(one.names) for one in result.duels} == {min(4, num_agents)}
    assert result.standings()[0] == "leaves 0.02"


def test_a_ladder_seats_neighbours_and_winners_move_up() -> None:
    game = StayOrLeave(2, length=60)
    agents = leavers(0.9, 0.5, 0.2, 0.05, 0.01)
    seen: list[tuple[int, int]] = []

    def note(table: int, num_tables: int, progress: Progress) -> None:
        seen.append((table, num_tables))

    result = play(game, agents, "ladder", rounds=6, num_games=20, on_progress=note)
    assert [one.names for one in result.duels[:3]] == [
        ("leaves 0.9", "leaves 0.5"),
        ("leaves 0.2", "leaves 0.05"),
        ("leaves 0.05", "leaves 0.01"),
    ]
    assert seen[-1] == (len(result.duels) - 1, len(result.duels))
    assert result.standings() == list(reversed(agents))


def boards(result: TournamentResult) -> list[set[str]]:
    return [{record.opening for record in one.records} for one in result.duels]


def test_rounds_of_a_ladder_play_other_openings_while_there_are_enough(tmp_path: Path) -> None:
    game, agents = StayOrLeave(2), leavers(0.4, 0.1)
    two = play(game, agents, "ladder", rounds=2, num_games=4, folder=tmp_path)
    assert boards(two) == [{"seed 0", "seed 1"}, {"seed 2", "seed 3"}]
    three = play(game, agents, "ladder", rounds=3, num_games=4, folder=tmp_path)
    assert three.duels[:2] == two.duels
    assert boards(three)[2] == {"seed 4", "seed 5"}
    plan = TournamentPlan(kind="ladder", num_games=4, rounds=3, openings=openings_from_seeds(5, first=7))
    assert boards(play_tournament(game, agents, plan, Conditions())) == [
        {"seed 7", "seed 8"},
        {"seed 9", "seed 10"},
        {"seed 7", "seed 8"},
    ]


def test_later_rounds_that_repeat_earlier_ones_prove_nothing_again() -> None:
    """Three agents that never play at random, on two openings: from the third round on all is repeated."""
    game = StayOrLeave(2)
    agents: dict[str, Agent] = {f"leaves at {ply}": LeavesAt(ply) for ply in (3, 6, 9)}

    def climb(rounds: int) -> TournamentResult:
        plan = TournamentPlan(kind="ladder", num_games=4, rounds=rounds, openings=openings_from_seeds(2))
        return play_tournament(game, agents, plan, Conditions())

    short, long = climb(3), climb(12)
    assert len(long.duels) > 3 * len(long.joined)
    # Each pair plays an opening from both sides.
    assert [len(one.informative) for one in long.joined] == [4] * len(long.joined)
    assert len(long.joined) == len(short.joined)
    assert long.ratings().errors == pytest.approx(short.ratings().errors)
    assert long.to_json()["num_counted"] == 4 * len(long.joined) < long.num_games
    (losses, draws, wins), elo = long.counts("leaves at 9", "leaves at 6"), long.elo("leaves at 9", "leaves at 6")
    assert (losses, draws, wins) == (0, 0, 4)
    assert elo is not None
    assert elo.num_games == 4
    uncounted = long.num_games - 4 * len(long.joined)
    assert f"{uncounted} games not counted, as they repeat an earlier one" in tournament_report(long).summary
    assert [row[4] for row in crosstable(long).rows] == [row[4] for row in crosstable(short).rows]


def test_rounds_of_agents_that_play_at_random_are_all_counted() -> None:
    result = play(StayOrLeave(2), leavers(0.3, 0.1), "ladder", rounds=5, num_games=4)
    assert result.to_json()["num_counted"] == result.num_games == 20
    (joined,) = result.joined
    assert [record.index for record in joined.records] == list(range(20))
    # Whoever is named first in a round, agents keep their results.
    assert joined.counts(*joined.names) == tuple(
        sum(counts) for counts in zip(*(one.counts(*joined.names) for one in result.duels), strict=True)
    )


def test_a_tournament_goes_on_and_grows(tmp_path: Path) -> None:
    game = NativeTicTacToe()
    agents = flats(game)
    for kind in ("round-robin", "ladder"):
        whole = play(game, agents, kind)  # type: ignore[arg-type]
        folder = tmp_path / kind
        first = play(game, agents, kind, folder=folder)  # type: ignore[arg-type]
        assert first == whole
        files = sorted(folder.iterdir())
        assert len(files) == len(whole.duels)
        files[0].write_bytes(b"".join(files[0].read_bytes().splitlines(keepends=True)[:7]))
        files[1].unlink()
        assert play(game, agents, kind, folder=folder) == whole  # type: ignore[arg-type]
        with pytest.raises(ForeignData, match="openings and games a table;" if kind == "ladder" else "and openings;"):
            play(game, agents, kind, folder=folder, seed=1)  # type: ignore[arg-type]
    grown = play(game, {**agents, "other": RandomAgent()}, folder=tmp_path / "round-robin")
    kept = [one for one in grown.duels if "other" not in one.names]
    assert tuple(kept) == play(game, agents).duels


def test_tables_differ_in_their_randomness_but_not_in_their_openings() -> None:
    game = NativeTicTacToe()
    result = play(game, {name: RandomAgent() for name in "abc"})
    first, second, _ = result.duels
    assert [record.opening for record in first.records] == [record.opening for record in second.records]
    assert [record.moves for record in first.records] != [record.moves for record in second.records]
    other = play(game, {name: RandomAgent() for name in "abc"}, seed=1)
    assert [record.moves for record in other.duels[0].records] != [record.moves for record in first.records]


def test_failures_cost_games_and_are_told() -> None:
    game = NativeTicTacToe()
    result = play(game, {"failing": Failing(), "random": RandomAgent(), "other": RandomAgent()}, num_games=4)
    assert result.counts("failing", "random") == (4, 0, 0)
    numbers = result.to_json()
    assert len(numbers["failures"]) == 8
    assert "8 games were lost by failures, such as: failing in seat 0: no reason" in tournament_report(result).summary
    assert np.isfinite(result.ratings().elo).all()


def test_what_cannot_be_played_is_named() -> None:
    game = NativeTicTacToe()
    with pytest.raises(UsageError, match="no kind of tournament named 'swiss'"):
        play(game, flats(game), "swiss")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected at least two agents, got 1"):
        play(game, {"random": RandomAgent()})
    result = play(game, flats(game), num_games=2)
    with pytest.raises(UsageError, match="no agent named 'stong'; did you mean 'strong'"):
        result.counts("stong", "weak")


def test_ratings_are_drawn() -> None:
    game = NativeTicTacToe()
    result = play(game, flats(game), num_games=4)
    assert ", 12 games on 6 boards; " in crosstable(result).caption
    figure = ratings_figure(result)
    assert {text.get_text() for text in figure.axes[0].get_yticklabels()} == {"random", "weak", "strong"}

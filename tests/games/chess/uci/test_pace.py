"""Batches fit the time, and one that was held up is forgotten."""

from __future__ import annotations

import dataclasses
import io
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from moemcts.evaluation import Evaluation
from moemcts.game import Views
from moemcts_chess.static_evaluation import StaticEvaluator
from moemcts_chess.uci.loading import warm_up_sizes
from moemcts_chess.uci.pace import NUM_RECENT, Pace, batch_sizes
from moemcts_chess.uci.session import Session

GAME = ["d2d4", "d7d5", "c2c4", "e7e6", "b1c3", "g8f6", "c1g5", "f8e7", "e2e3", "e8g8", "g1f3", "h7h6"]


def measured(seconds: dict[int, float]) -> Pace:
    pace = Pace()
    for size, each in seconds.items():
        pace.measure(size, each)
    return pace


def test_the_largest_batch_that_fits_is_taken() -> None:
    pace = measured({1: 0.01, 2: 0.02, 4: 0.03, 8: 0.05, 16: 0.09})
    assert [pace.affordable_size(seconds, 16) for seconds in (None, 1.0, 0.08, 0.03, 0.015, 0.009)] == [
        16,
        16,
        8,
        4,
        1,
        0,
    ]
    assert pace.affordable_size(1.0, 12) == 12
    assert pace.affordable_size(0.05, 12) == 8
    assert batch_sizes(12) == [1, 2, 4, 8, 12]
    assert batch_sizes(1) == [1]


def test_without_any_measurement_one_position_is_tried() -> None:
    assert Pace().affordable_size(0.01, 64) == 1
    assert Pace().affordable_size(None, 64) == 64


def test_one_slow_batch_changes_nothing() -> None:
    pace = measured({1: 0.01, 16: 0.1})
    pace.record(16, 5.0)
    assert pace.seconds(16) == pytest.approx(0.1)
    pace.record(1, 5.0)
    assert pace.affordable_size(0.1, 16) == 16


def test_a_slow_machine_is_noticed_and_forgotten() -> None:
    pace = measured({1: 0.01, 2: 0.02, 4: 0.03, 8: 0.05, 16: 0.1})
    for _ in range(NUM_RECENT):
        pace.record(16, 0.3)
    assert pace.seconds(16) == pytest.approx(0.3)
    assert pace.seconds(1) == pytest.approx(0.03)
    pace.forget()
    assert pace.seconds(16) == pytest.approx(0.1)


def test_a_size_that_was_never_met_costs_at_most_its_share() -> None:
    pace = measured({4: 0.04})
    assert pace.seconds(16) == pytest.approx(0.16)
    assert pace.seconds(1) == pytest.approx(0.04)
    # The first of a size was held up by a compile.
    pace.record(16, 2.0)
    assert pace.seconds(16) == pytest.approx(0.16)


class Delayed:
    """Evaluates by a glance, after as long as `delay` says for so many positions."""

    def __init__(self, session: Session, delay: Callable[[int], float]) -> None:
        self._glance = StaticEvaluator(session._loaded().game)
        self._delay = delay
        self.sizes: list[int] = []

    def evaluate(self, views: Views) -> Evaluation:
        self.sizes.append(len(views))
        time.sleep(self._delay(len(views)))
        return self._glance.evaluate(views)


def delayed(delay: Callable[[int], float]) -> tuple[Session, Delayed, io.StringIO]:
    out = io.StringIO()
    session = Session(out)
    evaluator = Delayed(session, delay)
    session._resources = dataclasses.replace(session._loaded(), evaluator=evaluator)
    return session, evaluator, out


def think(session: Session, out: io.StringIO, *lines: str) -> int:
    """Returns the nodes that the search of the last line has found."""
    out.seek(0)
    out.truncate()
    for line in lines:
        session.handle_line(line)
    assert session._search_thread is not None
    session._search_thread.wait()
    return int(re.findall(r" nodes (\d+)", out.getvalue())[-1])


@pytest.mark.parametrize("is_continued", [True, False])
def test_a_pause_costs_the_move_it_happens_in_and_no_other(is_continued: bool) -> None:
    """One batch takes a second, as where a process was stopped; it was the next 24 moves that had one node."""
    calls = iter(range(10**9))
    session, _, out = delayed(lambda size: 1.0 if next(calls) == 3 else 0.002)
    nodes = []
    for ply in range(0, len(GAME), 2):
        if not is_continued:
            session.handle_line("ucinewgame")
        nodes.append(think(session, out, f"position startpos moves {' '.join(GAME[:ply])}", "go movetime 100"))
    session.close()
    # A machine that is busy may hold up one more of the moves.
    assert sorted(nodes[1:])[1] > 20


def test_batches_of_a_slow_network_shrink_to_what_fits_the_time() -> None:
    session, evaluator, out = delayed(lambda size: 0.02 * size)
    for size in batch_sizes(16):
        session._pace.measure(size, 0.02 * size)
    nodes = think(session, out, "position startpos", "go movetime 220")
    assert 3 <= nodes <= 11
    assert max(evaluator.sizes) <= 8
    # Where time is none of the limits batches are as large as they may be.
    think(session, out, "ucinewgame", "position startpos moves e2e4", "go nodes 40")
    assert max(evaluator.sizes) == 16


@pytest.mark.parametrize(("clock", "most"), [(4000, 1), (60_000, 16)])
def test_a_batch_of_pondering_is_no_longer_than_the_move_may_take(clock: int, most: int) -> None:
    session, evaluator, out = delayed(lambda size: 0.05 * size)
    for size in batch_sizes(16):
        session._pace.measure(size, 0.05 * size)
    session.handle_line("position startpos")
    session.handle_line(f"go ponder wtime {clock} btime {clock}")
    deadline = time.monotonic() + 60
    # After the root there are moves enough for the largest batch.
    while sum(evaluator.sizes) < 17 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert max(evaluator.sizes) == most
    session.handle_line("stop")
    session.close()
    assert out.getvalue().count("bestmove") == 1


def test_isready_warms_every_size_of_every_expert_once(experts: Path) -> None:
    out = io.StringIO()
    session = Session(out)
    session.handle_line(f"setoption name Model_Directory value {experts}")
    session.handle_line("setoption name Batch_Size value 6")
    team = session._loaded().experts
    assert team is not None
    seen: dict[int, list[int]] = {number: [] for number in range(len(team.experts))}

    def watched(number: int) -> object:
        inner = team.experts[number]

        class Watched:
            def evaluate(self, views: Views) -> Evaluation:
                seen[number].append(len(views))
                return inner.evaluate(views)

        return Watched()

    team.experts = [watched(number) for number in seen]  # type: ignore[misc]
    session.handle_line("isready")
    # Experts share a batch, so that one may get any number of its positions.
    assert all(set(each) == {1, 2, 3, 4, 5, 6} for each in seen.values())
    lines = out.getvalue().splitlines()
    assert re.fullmatch(
        r"info string 3 experts are warm for batches of 1 to 6 positions after \d+\.\d s; "
        r"such batches take \d+\.\d to \d+\.\d ms",
        lines[-2],
    )
    assert lines[-1] == "readyok"
    before = {number: len(each) for number, each in seen.items()}
    session.handle_line("isready")
    assert {number: len(each) for number, each in seen.items()} == before


def test_large_batches_are_met_in_powers_of_two(experts: Path) -> None:
    assert warm_up_sizes(6) == [1, 2, 3, 4, 5, 6]
    assert warm_up_sizes(64) == list(range(1, 65))
    assert warm_up_sizes(300) == [*range(1, 65), 128, 256, 300]
    out = io.StringIO()
    session = Session(out)
    for line in (f"Model_Directory value {experts}", "Batch_Size value 100"):
        session.handle_line(f"setoption name {line}")
    session.handle_line("isready")
    assert "3 experts are warm for batches of 1 to 64, 100 positions after" in out.getvalue()


def test_what_is_loaded_anew_is_warmed_anew_wherever_it_lies(experts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    session = Session(out)
    session.handle_line(f"setoption name Model_Directory value {experts}")
    session.handle_line("setoption name Batch_Size value 2")
    session.handle_line("isready")
    loaded = session._loaded()
    # Python gives the place of what is gone to what comes.
    monkeypatch.setattr("moemcts_chess.uci.session.load", lambda *arguments: loaded)
    session.handle_line(f"setoption name Model_Directory value {experts}")
    session.handle_line("isready")
    assert out.getvalue().count("3 experts are warm") == 2


def test_what_is_set_to_what_it_is_already_is_not_loaded_anew_nor_forgotten(experts: Path) -> None:
    """Interfaces name the variant after `isready`, when a clock is about to run."""
    session = Session(io.StringIO())
    for line in (f"Model_Directory value {experts}", "UCI_Variant value chess"):
        session.handle_line(f"setoption name {line}")
    session.handle_line("go nodes 20")
    assert session._search_thread is not None
    session._search_thread.wait()
    session.handle_line("isready")
    loaded, warm = session._loaded(), session._warmed_up_for
    for line in ("UCI_Variant value chess", "UCI_Chess960 value false", "Expert_Routing value each"):
        session.handle_line(f"setoption name {line}")
    assert session._loaded() is loaded
    assert session._warmed_up_for == warm
    assert session._tree is not None
    session.handle_line("setoption name UCI_Variant value atomic")
    assert session._resources is None


FIRST_MOVE = """
import io, sys
from moemcts_chess.uci.session import Session
session = Session(io.StringIO())
session.handle_line(f"setoption name Model_Directory value {sys.argv[1]}")
session.handle_line("isready")
before = set(sys.modules)
there_and_back = "g1f3 g8f6 f3g1 f6g8 " * 3
for line in ("ucinewgame", f"position startpos moves {there_and_back} e2e4", "go nodes 20", "stop"):
    session.handle_line(line)
session._search_thread.wait()
print(sorted(set(sys.modules) - before))
"""


def test_nothing_is_imported_once_a_game_has_begun(experts: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FIRST_MOVE, str(experts)], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


ANSWER = """
import sys
from moemcts.cli.main import main
sys.argv = ["moemcts", "uci", "--experts", sys.argv[1], "--set", "Batch_Size=8"]
try:
    main()
except SystemExit as left:
    pass
print("torch" in sys.modules, file=sys.stderr)
"""


@pytest.mark.parametrize(("lines", "is_loaded"), [("uci\nquit\n", "False"), ("uci\nisready\nquit\n", "True")])
def test_uci_is_answered_before_anything_is_loaded(experts: Path, lines: str, is_loaded: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ANSWER, str(experts)], input=lines, capture_output=True, text=True, timeout=120
    )
    assert "uciok" in done.stdout.splitlines()
    assert done.stderr.split() == [is_loaded]


def test_experts_that_cannot_be_loaded_are_told_to_the_interface_and_by_the_exit_code(
    experts: Path, tmp_path: Path
) -> None:
    damaged = tmp_path / "experts"
    shutil.copytree(experts, damaged)
    (damaged / "expert-1.safetensors").write_bytes(b"nothing")
    done = subprocess.run(
        [str(Path(sys.executable).parent / "moemcts"), "uci", "--experts", str(damaged)],
        input="uci\nisready\nposition startpos\ngo nodes 10\n",
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    assert "is damaged" in done.stderr
    assert done.stdout.splitlines()[-1].startswith("info string error: ")
    assert "bestmove" not in done.stdout
    assert "Traceback" not in done.stderr


def test_a_root_that_takes_long_to_evaluate_decides_nothing() -> None:
    session, _, out = delayed(lambda size: 0.12)
    # Many seconds are left, in which another move may catch up with the one that the policy prefers.
    assert think(session, out, "position startpos", "go wtime 60000 btime 60000") > 1
    session.close()


def test_a_forced_move_keeps_the_tree_for_what_comes_after_it() -> None:
    session, _, out = delayed(lambda size: 0.0)
    think(session, out, "position startpos moves e2e4 e7e5 d1h5", "go nodes 300")
    assert session._search_thread is not None
    tree = session._search_thread.tree
    assert tree.num_nodes > 100
    # The king has to take.
    forced = "position startpos moves e2e4 e7e5 d1h5 b8c6 h5f7"
    assert think(session, out, forced, "go wtime 60000 btime 60000") == 1
    session.handle_line(f"{forced} e8f7 f1c4")
    session.handle_line("go nodes 1")
    assert session._search_thread._task.tree is tree
    session.close()

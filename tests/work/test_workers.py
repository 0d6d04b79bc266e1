"""Work is the same wherever it is done, and nothing goes on when its caller has ended."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import tasks_for_tests as tasks

from moemcts.errors import MoemctsError, UsageError
from moemcts.work import InProcess, Processes, Workers, workers
from moemcts.work.progress import TotalProgress


@pytest.mark.parametrize("crew", [InProcess(), Processes(2), Processes(9)], ids=["here", "two", "nine"])
def test_results_come_in_order_and_reports_as_they_are_made(crew: Workers) -> None:
    reports: dict[int, Any] = {}
    done: dict[int, int] = {}
    items = [3, 1, 2, 5]
    found = crew.map(tasks.square, items, on_report=reports.__setitem__, on_done=done.__setitem__)
    assert found == [9, 1, 4, 25]
    assert reports == {number: ("seen", item) for number, item in enumerate(items)}
    assert done == dict(enumerate(found))


def test_nothing_to_do_is_done() -> None:
    assert Processes(2).map(tasks.square, []) == []


def test_one_worker_is_this_process() -> None:
    assert isinstance(workers(1), InProcess)
    assert workers(2).count == 2
    others = set(workers(2).map(tasks.process, range(4)))
    assert len(others) == 2
    assert os.getpid() not in others


def test_processes_that_are_kept_do_the_next_items_too_and_leave_in_the_end(tmp_path: Path) -> None:
    crew = Processes(2)
    with crew.keep_idle():
        first = crew.map(tasks.process, range(2))
        assert crew.map(tasks.square, [3, 4, 5]) == [9, 16, 25]
        assert set(crew.map(tasks.process, range(2))) == set(first)
        (one,) = crew.map(tasks.process, [0])
        assert one in first
        # One that has died meanwhile is missed by nobody.
        os.kill(one, signal.SIGKILL)
        # Its threads end after it: until then nobody is told of its death.
        os.waitid(os.P_PID, one, os.WEXITED | os.WNOWAIT)
        assert len({one, *crew.map(tasks.process, range(2)), *first}) == 3
        crew.map(tasks.furnishes, [str(tmp_path)])
        with pytest.raises(UsageError, match="expected another item"):
            crew.map(tasks.fails, [0, 1])
        again = crew.map(tasks.process, range(2))
        assert not {*again} & {*first}
    assert have_ended([*first, *again], seconds=0)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
def test_no_process_waits_for_another_before_it_starts(tmp_path: Path) -> None:
    task = tasks.Heavy(str(tmp_path / "pickled"))
    starts, loads = zip(*Processes(3).map(task, range(3)), strict=True)
    assert max(starts) < min(loads)
    assert (tmp_path / "pickled").read_text() == "pickled\n"


def test_a_process_has_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert Processes(2).map(tasks.threads, range(2)) == ["1", "1"]
    assert "OMP_NUM_THREADS" not in os.environ


def test_only_other_processes_look_for_garbage_less_often() -> None:
    before = gc.get_threshold()
    assert Processes(2).map(tasks.threshold, range(2)) == [10_000, 10_000]
    assert InProcess().map(tasks.threshold, [0]) == [before[0]]
    assert gc.get_threshold() == before


def test_a_process_leaves_no_files_behind(tmp_path: Path) -> None:
    Processes(3).map(tasks.furnishes, [str(tmp_path)] * 4)
    assert not list(tmp_path.iterdir())
    with pytest.raises(UsageError, match="expected another folder"):
        Processes(1).map(tasks.furnishes_and_fails, [str(tmp_path)])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("item", "kind", "line"), [(1, UsageError, "expected another"), (2, MoemctsError, "KeyError")])
def test_what_fails_is_raised_here_and_ends_the_others(item: int, kind: type[Exception], line: str) -> None:
    started = time.monotonic()
    with pytest.raises(kind, match=line):
        Processes(2).map(tasks.fails, [0, item])
    # The other would go on for ten minutes.
    assert time.monotonic() - started < 300


@pytest.mark.parametrize(("how", "ending"), [("killed", "SIGKILL"), ("leaves", "exit code 0")])
def test_a_process_that_ends_early_is_noticed_at_once(how: str, ending: str) -> None:
    started = time.monotonic()
    with pytest.raises(MoemctsError, match=rf"a worker process died \({ending}\).*; try fewer"):
        Processes(2, hint="try fewer").map(tasks.dies, ["sleeps", how])
    # Most of it is the start of two interpreters; the one that sleeps would go on for ten minutes.
    assert time.monotonic() - started < 300


def test_whether_a_job_ends_says_the_process_that_was_started() -> None:
    assert Processes(2).map(tasks.terminated, [3, 4]) == [3, 4]


def start(folder: Path) -> tuple[subprocess.Popen[bytes], list[int]]:
    process = subprocess.Popen(
        [sys.executable, tasks.__file__, str(folder)], stderr=subprocess.PIPE, start_new_session=True
    )
    deadline = time.monotonic() + 300
    while len(pids := [int(path.stem) for path in folder.glob("*.pid")]) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(pids) == 2
    return process, pids


def have_ended(pids: list[int], seconds: float = 60.0) -> bool:
    deadline = time.monotonic() + seconds
    while alive := [pid for pid in pids if _is_alive(pid)]:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return not alive


def _is_alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_their_parent(tmp_path: Path, how: signal.Signals) -> None:
    process, pids = start(tmp_path)
    process.send_signal(how)
    process.communicate(timeout=300)
    assert have_ended(pids)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("to_group", [True, False])
def test_an_interrupt_reaches_each_worker_once_so_that_it_can_save(tmp_path: Path, to_group: bool) -> None:
    process, pids = start(tmp_path)
    (os.killpg if to_group else os.kill)(process.pid, signal.SIGINT)
    process.communicate(timeout=300)
    assert have_ended(pids)
    assert {int(path.stem) for path in tmp_path.glob("*.saved")} == set(pids)


def test_parts_that_have_not_said_how_long_they_are_count_as_the_others() -> None:
    seen: list[tuple[int, int]] = []
    progress = TotalProgress([None] * 3, lambda done, total: seen.append((done, total)))
    progress.update(0, (5, 10))
    progress.update(2, (0, 20))
    progress.finish(0)
    assert seen == [(5, 30), (5, 45), (10, 45)]


def test_parts_whose_length_is_known_count_as_long_as_they_are_before_they_begin() -> None:
    seen: list[tuple[int, int]] = []
    progress = TotalProgress([10, 400], lambda done, total: seen.append((done, total)))
    progress.update(0, (5, 10))
    progress.finish(0)
    progress.update(1, (1, 400))
    assert seen == [(5, 410), (10, 410), (11, 410)]

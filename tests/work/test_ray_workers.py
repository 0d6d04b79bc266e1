"""Work is the same in actors of Ray, and goes on where one of them dies."""

from __future__ import annotations

import importlib.util
import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tasks_for_tests as tasks

from moemcts.errors import MissingExtra, MoemctsError, UsageError
from moemcts.work import RayWorkers, ray_workers, workers
from moemcts.work.background import BackgroundTask
from moemcts.work.progress import Advance

HAS_RAY = importlib.util.find_spec("ray") is not None
needs_ray = pytest.mark.skipif(not HAS_RAY, reason="ray is an extra")


@pytest.fixture(scope="module")
def two() -> Iterator[RayWorkers]:
    # Actors find the tasks as this process does.
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(Path(__file__).parent), before]))
    yield RayWorkers(count=2)
    import ray

    ray.shutdown()
    os.environ.pop("PYTHONPATH") if before is None else os.environ.update(PYTHONPATH=before)


@needs_ray
def test_results_come_in_order_and_reports_as_they_are_made(two: RayWorkers) -> None:
    reports: dict[int, Any] = {}
    done: dict[int, int] = {}
    items = [3, 1, 2, 5]
    found = two.map(tasks.square, items, on_report=reports.__setitem__, on_done=done.__setitem__)
    assert found == [9, 1, 4, 25]
    assert reports == {number: ("seen", item) for number, item in enumerate(items)}
    assert done == dict(enumerate(found))
    assert two.map(tasks.square, []) == []


@needs_ray
def test_an_actor_that_dies_is_replaced_and_nothing_is_lost(two: RayWorkers, tmp_path: Path) -> None:
    marks = [str(tmp_path / str(number)) for number in range(3)]
    assert two.map(tasks.dies_once, marks) == marks


@needs_ray
def test_a_task_travels_once_for_all_actors(two: RayWorkers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    handed: list[Any] = []
    started = ray_workers._start_actor

    def start(module: Any, task: Any, reports: Any) -> Any:
        handed.append(task)
        return started(module, task, reports)

    monkeypatch.setattr(ray_workers, "_start_actor", start)
    marks = [str(tmp_path / str(number)) for number in range(2)]
    assert two.map(tasks.dies_once, marks) == marks
    # Two actors, and one in place of each.
    assert len(handed) == 4
    assert all(isinstance(task, ray.ObjectRef) for task in handed)
    assert len(set(handed)) == 1


@needs_ray
def test_an_actor_that_finds_no_core_has_that_of_one_that_is_done(two: RayWorkers) -> None:
    import ray

    @ray.remote(num_cpus=1)
    class Other:
        def is_there(self) -> bool:
            return True

    other = Other.remote()
    assert ray.get(other.is_there.remote())
    found: list[int] = []
    work = BackgroundTask(lambda advance: found.extend(two.map(tasks.square, [2, 3])))
    ends = time.monotonic() + 100
    while not found and time.monotonic() < ends:
        time.sleep(0.2)
    work.stop()
    ray.kill(other)
    assert found == [4, 9]


@needs_ray
def test_an_item_that_kills_every_actor_is_given_up(two: RayWorkers) -> None:
    with pytest.raises(MoemctsError, match="an actor of Ray died 3 times with the same item"):
        two.map(tasks.dies, ["killed"])


@needs_ray
def test_what_fails_is_raised_here(two: RayWorkers) -> None:
    with pytest.raises(UsageError, match="expected another item"):
        two.map(tasks.fails, [1])


@needs_ray
def test_actors_that_say_nothing_are_stopped(two: RayWorkers) -> None:
    def do(advance: Advance) -> None:
        two.map(tasks.dies, ["sleeps"] * 2)

    work = BackgroundTask(do)
    started = time.monotonic()
    work.stop()
    assert time.monotonic() - started < 300


def test_words_that_are_no_workers_are_refused() -> None:
    with pytest.raises(UsageError, match=r"expected a number of workers, ray or ray://HEAD:PORT, got 'rays'"):
        workers("rays")


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install '\.\[ray\]'"):
        workers("ray")


@needs_ray
@pytest.mark.parametrize(
    ("address", "line"),
    [
        ("ray", "Ray failed to start here: the node timed out$"),
        ("ray://head:1", "expected a Ray cluster at ray://head:1, found none: the node timed out; one that asks for a"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_a_ray_that_does_not_start_is_one_line(address: str, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    def overloaded(**options: object) -> None:
        if address != "ray":
            warnings.warn("make sure that the port is open", stacklevel=2)
        raise Exception("the node timed out\nduring startup")

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", overloaded)
    with pytest.raises(MoemctsError, match=line):
        RayWorkers(address)


@needs_ray
def test_what_a_server_of_a_cluster_says_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    def refused(**options: object) -> None:
        raise ConnectionError("Initialization failure from server:\nTraceback:\nRuntimeError: no room for a server\n")

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", refused)
    with pytest.raises(MoemctsError, match="failure from server: RuntimeError: no room for a server; one that asks"):
        RayWorkers("ray://head:1")

"""A search ends soon after its page has left, or has changed the game, and is no part of the game."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from moemcts.evaluation import Evaluation, UniformEvaluator
from moemcts.game import Views
from moemcts.plugins import plugins
from moemcts.search import SearchAgent, SearchConfig

TestClient: Any = pytest.importorskip(
    "starlette.testclient", reason="starlette or what its client needs is missing", exc_type=(ImportError, RuntimeError)
).TestClient
pages: Any = pytest.importorskip("moemcts.web.app")
offered: Any = pytest.importorskip("moemcts.web.offers")

HOME = "http://localhost"
PATIENCE = 300.0
"""Seconds that a busy machine may take."""
SIMULATIONS = 200


class Slow(UniformEvaluator):
    """Counts its answers; the first ones wait until they may be given."""

    def __init__(self) -> None:
        super().__init__(GAME.spec)
        self.begun, self.may_go_on = threading.Event(), threading.Event()
        self.calls = 0

    def evaluate(self, views: Views) -> Evaluation:
        self.begun.set()
        assert self.may_go_on.wait(PATIENCE)
        self.calls += 1
        return super().evaluate(views)


GAME = plugins().game("connect-four")


@pytest.fixture
def slow() -> Slow:
    return Slow()


@pytest.fixture
def client(slow: Slow) -> Any:
    """Returns a client of a page on which who is called `random` searches, slowly."""
    offers = offered.Offers(game="connect-four", agents=["random"])
    offers._agents["connect-four", "random"] = SearchAgent(
        GAME, slow, SearchConfig(simulations=SIMULATIONS, reuse=True)
    )
    return TestClient(pages.make_app(offers), base_url=HOME)


def begin(client: Any) -> dict[str, Any]:
    answer = client.post("/api/tables", json={"game": "connect-four", "agents": ["random", "you"]})
    return dict(answer.json())


def advance(client: Any, now: dict[str, Any]) -> Any:
    return client.post(f"/api/tables/{now['id']}/advance", json={"step": now["step"], "revision": now["revision"]})


def leaves_while_it_is_thought(client: Any, slow: Slow, now: dict[str, Any]) -> None:
    """Asks for a round as a page does that is closed before it is told of it."""
    asked = json.dumps({"step": now["step"], "revision": now["revision"]}).encode()
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    path = f"/api/tables/{now['id']}/advance"
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": headers}
    came = [{"type": "http.request", "body": asked, "more_body": False}]

    async def receive() -> Any:
        if came:
            return came.pop()
        await asyncio.to_thread(slow.begun.wait, PATIENCE)
        # Nothing is answered before it is known that the page has left.
        asyncio.get_running_loop().call_later(0.05, slow.may_go_on.set)
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        pass

    asyncio.run(client.app(scope, receive, send))


def test_a_search_ends_when_its_page_has_left(client: Any, slow: Slow) -> None:
    now = begin(client)
    leaves_while_it_is_thought(client, slow, now)
    assert slow.calls == 1
    assert client.get(f"/api/tables/{now['id']}").json() == now
    # Whoever loads the page again is told what was never interrupted.
    again = advance(client, now).json()
    assert again["moves"] == advance(client, begin(client)).json()["moves"]
    assert again["moves"][0]["simulations"] == SIMULATIONS
    assert slow.calls > SIMULATIONS


def test_who_waits_for_an_agent_is_served_once_another_has_left(client: Any, slow: Slow) -> None:
    left, other = begin(client), begin(client)
    answers: list[Any] = []

    def wait_behind() -> None:
        assert slow.begun.wait(PATIENCE)
        answers.append(advance(client, other))

    thread = threading.Thread(target=wait_behind)
    thread.start()
    leaves_while_it_is_thought(client, slow, left)
    thread.join(PATIENCE)
    assert answers[0].json()["step"] == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda client, now: [client.post(f"/api/tables/{now['id']}/resign", json={"step": now["step"]})],
        lambda client, now: [
            client.post(f"/api/tables/{now['id']}/resign", json={"step": now["step"]}),
            client.post(f"/api/tables/{now['id']}/back", json={"step": now["step"]}),
        ],
    ],
)
def test_a_search_ends_when_its_game_is_changed(change: Callable[..., list[Any]], client: Any, slow: Slow) -> None:
    now = begin(client)
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(advance(client, now)))
    thread.start()
    assert slow.begun.wait(PATIENCE)
    for answer in change(client, now):
        assert answer.status_code == 200
    slow.may_go_on.set()
    thread.join(PATIENCE)
    assert answers[0].status_code == 409
    assert "the game has gone on elsewhere" in answers[0].json()["error"]
    assert slow.calls == 1


def test_a_page_that_turns_the_board_waits_on(client: Any, slow: Slow) -> None:
    now = begin(client)
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(advance(client, now)))
    thread.start()
    assert slow.begun.wait(PATIENCE)
    assert client.post(f"/api/tables/{now['id']}/turn", json={}).status_code == 200
    slow.may_go_on.set()
    thread.join(PATIENCE)
    assert answers[0].json()["step"] == 1

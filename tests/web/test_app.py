"""The server of the pages: games are played, and whatever is wrong gets a clear answer and nothing else."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from games_for_tests import Savings
from games_of_chance import ROLL, Pig
from trained_for_tests import save_team, shipped

from moemcts.agents import Decision
from moemcts.cli.main import main
from moemcts.errors import UsageError
from moemcts.gates import SinglePhase
from moemcts.report.style import PHASE_COLOURS, PHASE_INKS

TestClient: Any = pytest.importorskip(
    "starlette.testclient", reason="starlette or what its client needs is missing", exc_type=(ImportError, RuntimeError)
).TestClient
pages: Any = pytest.importorskip("moemcts.web.app")
offered: Any = pytest.importorskip("moemcts.web.offers")
laid_table: Any = pytest.importorskip("moemcts.web.table")
MAX_BODY, make_app, serve, Offers = pages.MAX_BODY, pages.make_app, pages.serve, offered.Offers
RequestError, WebTable = laid_table.RequestError, laid_table.WebTable

HOME = "http://localhost"
PATIENCE = 300.0
"""Seconds that a busy machine may take."""


@pytest.fixture
def client() -> TestClient:
    return TestClient(make_app(Offers()), base_url=HOME)


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = save_team(tmp_path_factory.mktemp("team") / "experts")
    with shipped(folder, default=True):
        yield folder


def begin(client: TestClient, *agents: str, game: str = "tictactoe", **more: Any) -> dict[str, Any]:
    answer = client.post("/api/tables", json={"game": game, "agents": list(agents), **more})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def advance(client: TestClient, now: dict[str, Any], action: int | None = None) -> dict[str, Any]:
    answer = client.post(f"/api/tables/{now['id']}/advance", json={"step": now["step"], "action": action})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def refused(answer: Any, status: int, *words: str) -> None:
    assert answer.status_code == status, answer.text
    assert set(answer.json()) == {"error"}
    for word in words:
        assert word in answer.json()["error"]


def test_a_person_plays_experts_to_the_end(client: TestClient, team: Path) -> None:
    now = begin(client, "you", "weights:noughts", simulations=8)
    assert now["seats"][0]["agent"] == "you"
    thoughts = []
    while not now["over"]:
        now = advance(client, now, now["actions"][-1]["action"] if now["asked"] else None)
        thoughts += [move for move in now["moves"] if move["player"] == 1]
    assert sum(now["returns"]) == 0
    assert thoughts
    for move in thoughts:
        assert move["simulations"] == sum(row["visits"] for row in move["actions"]) == 8
        assert move["gate"]["names"][move["expert"]] == move["phase"]
        assert move["gate"]["weights"][move["expert"]] == 1
        assert move["gate"]["parameters"] == {"cuts": [3, 6]}
        assert move["line"][0] == move["actions"][0]["name"]
        assert -1 <= move["value"] <= 1


def test_what_experts_think_that_see_other_planes_is_shown(client: TestClient) -> None:
    now = begin(client, "weights:chess", "you", game="chess", simulations=8)
    (move,) = advance(client, now)["moves"]
    assert sum(row["visits"] for row in move["actions"]) == 8
    assert (move["gate"]["gate"], move["phase"], move["line"][0]) == ("lichess", "opening", move["actions"][0]["name"])


@pytest.mark.parametrize("game", ["pommerman?max_steps=6", "crazyhouse?max_plies=30", "chess960?max_plies=8"])
def test_agents_play_each_other_to_the_end(game: str) -> None:
    client = TestClient(make_app(Offers(game=game)), base_url=HOME)
    offer = client.get(f"/api/games/{game.replace('?', '%3F')}").json()
    now = begin(client, *["random"] * len(offer["seats"]), game=game, seed=3)
    again = begin(client, *["random"] * len(offer["seats"]), game=game, seed=3)
    while not now["over"]:
        assert not now["asked"]
        now, again = advance(client, now), advance(client, again)
        assert now["drawing"] == again["drawing"]
        assert json.dumps(now["phases"])
        assert len(now["text"].splitlines()) > 8
    assert now["drawing"]["width"] > 0
    refused(client.post(f"/api/tables/{now['id']}/advance", json={"step": now["step"]}), 409, "the game is over")


def test_moves_are_taken_back(client: TestClient) -> None:
    start = begin(client, "you", "random")
    now = advance(client, advance(client, start, 4))
    assert now["asked"]
    back = client.post(f"/api/tables/{now['id']}/back", json={"step": now["step"]}).json()
    assert back["step"] == 0
    assert back["drawing"] == start["drawing"]
    refused(client.post(f"/api/tables/{now['id']}/back", json={"step": 0}), 409, "nothing to take back")


def test_what_was_paid_stays_when_moves_are_taken_back_or_the_program_is_started_anew() -> None:
    game = Savings()

    def laid() -> Any:
        return WebTable(game, "savings", [None], board=None, gate=SinglePhase(), seed=3)

    table = laid()
    for action in (1, 1, 0, 0):
        table.append(table.play_round(action))
    assert table.snapshot()["over"]
    assert table.snapshot()["scores"] == pytest.approx([4 + 4 + 1 + 1])
    assert [one["scores"][0] for one in table.rounds()] == pytest.approx([0, 4, 8, 9, 10])
    table.take_back()
    table.append(table.play_round(1))
    assert table.snapshot()["scores"] == pytest.approx([13])
    anew = laid()
    anew.replay([[1], [1], [0]])
    anew.append(anew.play_round(1))
    assert anew.snapshot()["returns"] == table.snapshot()["returns"] == pytest.approx([13 / 20])


def test_two_pages_play_two_games_and_one_page_is_told_of_the_others_move(client: TestClient) -> None:
    one, other = begin(client, "you", "random"), begin(client, "random", "you", seed=1)
    assert one["id"] != other["id"]
    moved = advance(client, one, 0)
    advance(client, other)
    late = client.post(f"/api/tables/{one['id']}/advance", json={"step": 0, "action": 1})
    refused(late, 409, "the game has gone on elsewhere")
    assert client.get(f"/api/tables/{one['id']}").json() == moved


def test_a_page_of_a_game_in_which_others_have_moved_since_is_told(client: TestClient) -> None:
    now = begin(client, "you", "random")
    seen = advance(client, now, 0)
    # In another tab the move is taken back, and another one played: as many rounds, not the same.
    back = client.post(f"/api/tables/{now['id']}/back", json={"step": 1, "revision": seen["revision"]}).json()
    other = advance(client, back, 4)
    assert other["step"] == seen["step"]
    late = {"step": seen["step"], "revision": seen["revision"], "action": None}
    refused(client.post(f"/api/tables/{now['id']}/advance", json=late), 409, "the game has gone on elsewhere")
    assert client.get(f"/api/tables/{now['id']}").json() == other
    late["revision"] = other["revision"]
    assert client.post(f"/api/tables/{now['id']}/advance", json=late).status_code == 200


def test_actions_have_names(client: TestClient) -> None:
    now = begin(client, "you", "random", game="chess")
    moved = client.post(f"/api/tables/{now['id']}/advance", json={"step": 0, "action": "Nf3"}).json()
    assert moved["moves"][0]["name"] == "g1f3"
    refused(client.post(f"/api/tables/{now['id']}/advance", json={"step": 1, "action": "e5"}), 409, "not your move")


def test_agents_of_a_game_whose_name_has_a_slash_are_told() -> None:
    gymnasium = pytest.importorskip("gymnasium")
    gymnasium.register("mine/Lake-v0", entry_point="gymnasium.envs.toy_text.frozen_lake:FrozenLakeEnv")
    client = TestClient(make_app(Offers(game="gymnasium:mine/Lake-v0")), base_url=HOME)
    answer = client.get("/api/games/gymnasium%3Amine%2FLake-v0")
    assert answer.status_code == 200, answer.text
    assert answer.json()["seats"] == ["player 0"]


def test_a_game_goes_on_where_the_program_was_started_anew(client: TestClient) -> None:
    now = begin(client, "you", "uct", game="connect-four", simulations=20, seed=4)
    while now["step"] < 6:
        now = advance(client, now, now["actions"][0]["action"] if now["asked"] else None)
    rounds = client.get(f"/api/tables/{now['id']}/rounds").json()["rounds"]
    moves = [[move["action"] for move in one["moves"]] for one in rounds[1:]]
    other = TestClient(make_app(Offers()), base_url=HOME)
    again = other.post("/api/tables", json={**now["made"], "moves": moves}).json()
    assert again["id"] != now["id"]
    assert (again["drawing"], again["step"], again["seats"]) == (now["drawing"], 6, now["seats"])
    assert advance(other, again, 3)["drawing"] == advance(client, now, 3)["drawing"]


WON = [[0], [3], [1], [4], [2]]
"""The moves of a finished game of tic-tac-toe."""


@pytest.mark.parametrize(
    "moves", [[[9]], [[4], [4]], [[1, 2]], [[]], [4], [["4"]], [[True]], "4", {"a": 1}, [*WON, []]]
)
def test_moves_that_were_never_played_are_refused(moves: Any, client: TestClient) -> None:
    asked = {"game": "tictactoe", "agents": ["you", "random"], "moves": moves}
    refused(client.post("/api/tables", json=asked), 400, "expected moves")


def test_dice_that_were_never_rolled_are_refused() -> None:
    def laid() -> Any:
        return WebTable(Pig(20, 6), "pig", [None, None], board=None, gate=SinglePhase(), seed=0)

    for moves in ([[ROLL], [99]], [[ROLL], [0]], [[ROLL], [-1]], [[ROLL], [4], [ROLL], [7]]):
        with pytest.raises(RequestError, match=rf"that can be played, got \[{moves[-1][0]}\]") as raised:
            laid().replay(moves)
        assert raised.value.status == 400
    table = laid()
    table.replay([[ROLL], [4], [ROLL], [6]])
    assert table.state.points == 10


def test_who_plays_against_another_may_resign_and_take_it_back(client: TestClient) -> None:
    now = begin(client, "random", "you")
    lost = client.post(f"/api/tables/{now['id']}/resign", json={"step": 0}).json()
    assert (lost["over"], lost["resigned"], lost["asked"], lost["returns"]) == (True, True, False, [1, -1])
    refused(client.post(f"/api/tables/{now['id']}/advance", json={"step": 0}), 409, "the game is over")
    back = client.post(f"/api/tables/{now['id']}/back", json={"step": 0}).json()
    assert (back["over"], back["resigned"]) == (False, False)
    watched = begin(client, "random", "random")
    refused(client.post(f"/api/tables/{watched['id']}/resign", json={"step": 0}), 409, "a person against one other")


def test_a_board_is_turned_round_where_it_has_two_sides(client: TestClient) -> None:
    now = begin(client, "you", "random", game="chess")
    now = advance(client, now, now["actions"][0]["action"])
    turned = client.post(f"/api/tables/{now['id']}/turn", json={}).json()["rounds"]
    assert [one["side"] for one in turned] == [1, 1]
    assert turned[1]["drawing"]["data"]["flipped"]
    (x, y, *_), _ = now["moves"][0]["spots"]
    (a, b, *_), _ = turned[1]["moves"][0]["spots"]
    assert (a, b) == (7 - x, 7 - y)
    assert turned[1]["viewer"] == now["viewer"]
    assert now["turns"]
    assert not begin(client, "you", "random")["turns"]


def test_the_command_line_says_where_a_person_sits() -> None:
    told = TestClient(make_app(Offers(game="chess", seat=1, seed=7, simulations=30)), base_url=HOME)
    told = told.get("/api/games").json()
    assert (told["game"], told["seat"], told["seed"], told["simulations"]) == ("chess", 1, 7, 30)
    assert told["phase_colours"] == list(PHASE_COLOURS), "those of plots in reports"
    assert told["phase_inks"] == list(PHASE_INKS)


def test_simulations_that_an_agent_names_are_its_own() -> None:
    offers = Offers(game="tictactoe", agents=["uct?simulations=4"])
    for agent, expected in (("uct?simulations=4", 4), ("uct", 20)):
        table = offers.table({"game": "tictactoe", "agents": [agent, "random"], "simulations": 20})
        assert [one.name for one in table.agents] == [f"uct?simulations={expected}&c=1.4", "random"]


def test_actions_that_cannot_be_are_refused(client: TestClient) -> None:
    now = begin(client, "you", "random")
    place = f"/api/tables/{now['id']}/advance"
    refused(client.post(place, json={"step": 0}), 409, "it is your move")
    refused(client.post(place, json={"step": 0, "action": 99}), 409, "a legal action, such as a3, b3", "got 99")
    refused(client.post(place, json={"step": 0, "action": [4]}), 400, "expected action as a whole number")
    refused(client.post(place, json={"step": 0, "action": "z9"}), 409, "expected one of")
    refused(client.post(place, json={"step": 0, "action": "a" * 81}), 400, "a text of at most 80 characters")
    refused(client.post(place, json={"step": True}), 400, "expected step as a whole number")
    refused(client.post("/api/tables/nobody/advance", json={"step": 0}), 404, "begin another")
    assert client.get(f"/api/tables/{now['id']}").json() == now


@pytest.mark.parametrize(
    ("asked", "word"),
    [
        ({}, "expected game as text"),
        ({"game": "tictactoo", "agents": []}, "no game named 'tictactoo'; did you mean 'tictactoe'? ("),
        ({"game": "tictactoe", "agents": ["you"]}, "a list of 2 names"),
        ({"game": "tictactoe", "agents": "you"}, "a list of 2 names"),
        ({"game": "tictactoe", "agents": ["you", "you"]}, "one person at most"),
        ({"game": "tictactoe", "agents": ["you", "/etc/passwd"]}, "no agent named '/etc/passwd'"),
        (
            {"game": "chess", "agents": ["you", "alpha-bet"]},
            "no agent named 'alpha-bet'; did you mean 'alpha-beta'? (you,",
        ),
        ({"game": "chess", "agents": ["you", "uci?path=/bin/sh"]}, "no agent named 'uci?path=/bin/sh'"),
        ({"game": "chess", "agents": ["you", "uci:stockfish"]}, "no agent named 'uci:stockfish'"),
        ({"game": "tictactoe", "agents": ["you", "hf:some/one"]}, "no agent named 'hf:some/one'"),
        ({"game": "tictactoe", "agents": ["you", "uct"], "simulations": 10**9}, "expected simulations from 1"),
        ({"game": "tictactoe", "agents": ["you", "uct"], "seed": -1}, "expected seed"),
    ],
)
def test_what_is_not_on_offer_is_refused(asked: dict[str, Any], word: str, client: TestClient) -> None:
    answer = client.post("/api/tables", json=asked)
    refused(answer, answer.status_code, word)
    assert answer.status_code in (400, 404)


def test_programs_of_the_machine_are_not_on_offer(client: TestClient) -> None:
    agents = client.get("/api/games/chess").json()["agents"]
    assert "alpha-beta" in agents
    assert not [name for name in agents if name.startswith("uci")]


@pytest.mark.parametrize(
    "path",
    [
        "/page/../app.py",
        "/page/%2e%2e/app.py",
        "/page/..%2f..%2fgame.py",
        "/page//etc/passwd",
        "/board/chess/../plugin.py",
        "/board/chess/%2e%2e/%2e%2e/plugin.py",
        "/board/chess/..%2fplugin.py",
        "/board/chess//etc/passwd",
        "/board/chess/cm-chessboard/../../game.py",
        "/board/chess/%00",
        "/board/..%2f..%2f/board.js",
        "/board/pommerman/board.js",
        "/moemcts/game.py",
    ],
)
def test_no_path_leaves_its_folder(path: str, client: TestClient) -> None:
    refused(client.get(path), 404)


def test_pages_and_boards_are_served(client: TestClient) -> None:
    page = client.get("/")
    assert "<title>moemcts</title>" in page.text
    assert page.headers["content-security-policy"].startswith("default-src 'self'")
    assert client.get("/page/page.js").headers["content-type"].startswith("text/javascript")
    assert client.get("/board/chess/board.js").headers["content-type"].startswith("text/javascript")
    pieces = client.get("/board/chess/cm-chessboard/assets/pieces/standard.svg")
    assert pieces.headers["content-type"].startswith("image/svg+xml")
    assert "CC BY-SA 3.0" in pieces.text


@pytest.mark.parametrize(
    "origin",
    [
        "http://example.org",
        "https://localhost",
        "http://localhost:1234",
        "null",
        "file://",
        "http://localhost.example.org",
        "http://[",
    ],
)
def test_pages_of_others_are_refused(origin: str, client: TestClient) -> None:
    asked = {"game": "tictactoe", "agents": ["you", "random"]}
    refused(client.post("/api/tables", json=asked, headers={"origin": origin}), 403, "expected a page of this server")
    refused(client.get("/api/games", headers={"origin": origin}), 403)
    assert client.post("/api/tables", json=asked, headers={"origin": HOME}).status_code == 200


@pytest.mark.parametrize(
    "host", ["example.org", "localhost.example.org", "127.0.0.1.example.org:80", "", "localhost:x"]
)
def test_names_of_others_that_lead_here_are_refused(host: str, client: TestClient) -> None:
    refused(client.get("/", headers={"host": host}), 403, "expected to be called localhost")


@pytest.mark.parametrize("host", ["localhost:8000", "127.0.0.1", "[::1]:80"])
def test_this_machine_has_several_names(host: str, client: TestClient) -> None:
    assert client.get("/", headers={"host": host}).status_code == 200


def test_before_there_is_a_game_nothing_can_be_asked_of_it(client: TestClient) -> None:
    page = client.get("/").text
    tags = {name: re.search(rf'<\w+ [^>]*id="{name}"[^>]*>', page) for name in ("back", "pause", "step", "resign")}
    assert all(tag and " disabled" in tag[0] for tag in tags.values())
    tags = {name: re.search(rf'<\w+ [^>]*id="{name}"[^>]*>', page) for name in ("flip", "typing", "gate", "thought")}
    assert all(tag and " hidden" in tag[0] for tag in tags.values())


def test_a_game_of_many_rounds_is_not_too_large_to_be_gone_on_with(client: TestClient) -> None:
    asked = {"game": "pommerman", "agents": ["you", *["random"] * 3], "moves": [[5, 5, 5, 5]] * 5000}
    refused(client.post("/api/tables", json=asked), 400, "expected moves that can be played")


def test_bodies_that_are_too_large_are_refused_unread(client: TestClient) -> None:
    json_type = {"content-type": "application/json"}
    refused(client.post("/api/tables", content=b" " * 10_000_000, headers=json_type), 413, str(MAX_BODY))
    pieces = (b" " * 1000 for _ in range(10_000))
    refused(client.post("/api/tables", content=pieces, headers=json_type), 413)
    refused(client.post("/api/tables", content=b"", headers={**json_type, "content-length": "-1"}), 400)


@pytest.mark.parametrize(
    ("content", "kind", "status", "word"),
    [
        (b"{", "application/json", 400, "expected JSON"),
        (b"\xff\xfe", "application/json", 400, "expected JSON"),
        (b"[" * 8000, "application/json", 400, "expected JSON"),
        (b"[1]", "application/json", 400, "expected a JSON object, got list"),
        (b"", "application/json", 400, "expected JSON"),
        (b"game=chess", "application/x-www-form-urlencoded", 415, "application/json"),
        (b"{}", "text/plain", 415, "application/json"),
    ],
)
def test_what_is_no_json_is_refused(content: bytes, kind: str, status: int, word: str, client: TestClient) -> None:
    for place in ("/api/tables", "/api/tables/x/advance", "/api/tables/x/back"):
        refused(client.post(place, content=content, headers={"content-type": kind}), status, word)


def test_methods_that_there_are_none_of_are_refused(client: TestClient) -> None:
    refused(client.put("/api/tables"), 405)
    refused(client.get("/nowhere"), 404)


def test_an_agent_that_fails_is_one_line_and_the_game_stays(client: TestClient, team: Path) -> None:
    class Broken:
        name = "broken"

        def act(self, views: Any, seats: Any) -> Any:
            raise ZeroDivisionError("nothing to divide by")

    offers = Offers(game="tictactoe", agents=["random"])
    offers._agents["tictactoe", "random"] = Broken()  # type: ignore[assignment]
    broken = TestClient(make_app(offers), base_url=HOME)
    now = begin(broken, "random", "you")
    for _ in range(2):
        answer = broken.post(f"/api/tables/{now['id']}/advance", json={"step": 0})
        refused(answer, 400, "player 0 (broken), crash: ZeroDivisionError: nothing to divide by")


def test_what_goes_wrong_in_the_program_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def draw(*_: Any) -> Any:
        raise ZeroDivisionError("nothing to divide by")

    monkeypatch.setattr(WebTable, "_draw", draw)
    client = TestClient(make_app(Offers()), base_url=HOME, raise_server_exceptions=False)
    answer = client.post("/api/tables", json={"game": "tictactoe", "agents": ["you", "random"]})
    refused(answer, 500, "the program failed: ZeroDivisionError: nothing to divide by")


class Slow:
    """An agent that has no answer before it may have one."""

    name = "slow"

    def __init__(self) -> None:
        self.begun, self.may_end = threading.Event(), threading.Event()

    def act(self, views: Any, seats: Any) -> Any:
        self.begun.set()
        assert self.may_end.wait(PATIENCE)
        return [Decision(action=int(views[row].state.legal_actions(0)[0])) for row in range(len(views))]

    def client(self) -> TestClient:
        """Returns a client of a page where it is called `random`."""
        offers = Offers(game="tictactoe", agents=["random"])
        offers._agents["tictactoe", "random"] = self  # type: ignore[assignment]
        return TestClient(make_app(offers), base_url=HOME)


def test_other_pages_wait_for_no_search() -> None:
    slow = Slow()
    client = slow.client()
    searching, other = begin(client, "random", "you"), begin(client, "you", "random")
    found: list[dict[str, Any]] = []
    thread = threading.Thread(target=lambda: found.append(advance(client, searching)))
    thread.start()
    assert slow.begun.wait(PATIENCE)
    for now in (searching, other):
        assert client.get(f"/api/tables/{now['id']}").json()["step"] == 0
    slow.may_end.set()
    thread.join(PATIENCE)
    assert found[0]["step"] == 1


def test_who_leaves_a_search_keeps_no_other_agent_waiting() -> None:
    slow = Slow()
    client = slow.client()
    left, other = begin(client, "random", "you"), begin(client, "uct", "you", simulations=2)
    answers: list[Any] = []
    place = f"/api/tables/{left['id']}"
    thread = threading.Thread(target=lambda: answers.append(client.post(f"{place}/advance", json={"step": 0})))
    thread.start()
    try:
        assert slow.begun.wait(PATIENCE)
        assert advance(client, other)["step"] == 1
        resigned = client.post(f"{place}/resign", json={"step": 0}).json()
        assert resigned["resigned"]
        back = client.post(f"{place}/back", json={"step": 0}).json()
        assert not back["over"]
    finally:
        slow.may_end.set()
        thread.join(PATIENCE)
    refused(answers[0], 409, "the game has gone on elsewhere")
    assert client.get(place).json() == back
    # What was searched in vain is no part of the game.
    now = advance(client, back)
    assert (now["step"], now["ply"], len(now["moves"])) == (1, 1, 1)
    assert advance(client, now, now["actions"][0]["action"])["ply"] == 2


def test_an_agent_is_asked_for_one_game_at_a_time() -> None:
    running: list[int] = [0, 0]

    class Shared:
        name = "shared"

        def act(self, views: Any, seats: Any) -> Any:
            running[0] += 1
            running[1] = max(running)
            time.sleep(0.1)
            running[0] -= 1
            return [Decision(action=int(views[row].state.legal_actions(0)[0])) for row in range(len(views))]

    offers = Offers(game="tictactoe", agents=["random"])
    offers._agents["tictactoe", "random"] = Shared()  # type: ignore[assignment]
    client = TestClient(make_app(offers), base_url=HOME)
    games = [begin(client, "random", "you") for _ in range(3)]
    threads = [threading.Thread(target=advance, args=(client, now)) for now in games]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert [client.get(f"/api/tables/{now['id']}").json()["step"] for now in games] == [1, 1, 1]
    assert running == [0, 1]


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_program_while_an_agent_thinks(number: signal.Signals) -> None:
    command = [Path(sys.executable).parent / "moemcts", "play", "--web", "--no-browser", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()

        def ask(path: str, **body: Any) -> Any:
            asked = json.dumps(body).encode()
            request = urllib.request.Request(f"{address}api/tables{path}", asked, {"content-type": "application/json"})
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return json.load(answer)

        now = ask("", game="connect-four", agents=["weights:connect-four", "you"], simulations=100_000)

        def think() -> None:
            with contextlib.suppress(OSError):
                ask(f"/{now['id']}/advance", step=0)

        thread = threading.Thread(target=think)
        thread.start()
        time.sleep(1)
        process.send_signal(number)
        _, said = process.communicate(timeout=PATIENCE)
        thread.join(PATIENCE)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 128 + number
    assert said.splitlines()[-1] == "interrupted"
    assert "Traceback" not in said


def test_a_port_in_use_is_said() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(UsageError, match="cannot listen on port"):
            serve(Offers(), taken.getsockname()[1], print)


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("play --web --against uct", "expected --game with --against"),
        ("play --web --game tictactoo", "did you mean 'tictactoe'"),
        ("play --web --game tictactoe --against utc", "did you mean 'uct'"),
        ("play --game tictactoe --port 80", "--port and --no-browser go with --web"),
        ("play", "expected --game"),
    ],
)
def test_mistakes_of_the_command_line_are_said_there(
    line: str, word: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["moemcts", *line.split()])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    assert word in capsys.readouterr().err


@pytest.mark.parametrize("page", ["tutorials/in-the-browser.md", "security.md"])
def test_pages_say_how_large_a_body_may_be(page: str) -> None:
    text = (Path(__file__).parents[2] / "docs" / page).read_text()
    assert f"bodies above {MAX_BODY // 1024} KiB" in text

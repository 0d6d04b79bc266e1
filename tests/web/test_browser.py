"""Games are played to their end on the page, in a real browser."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import moemcts

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
for package in ("starlette", "uvicorn"):
    pytest.importorskip(package, reason=f"{package} is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
CHROMEDRIVER = shutil.which("chromedriver")
if CHROMIUM is None or CHROMEDRIVER is None:
    pytest.skip("no browser: apt-get install chromium chromium-driver", allow_module_level=True)

PATIENCE = 300.0
"""Seconds that a busy machine may take."""
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1360,1000",
)
pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(CHROMEDRIVER))
    yield driver
    driver.quit()


@contextmanager
def page(browser: Any, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Opens the page of a server that is started for it."""
    command = [str(Path(sys.executable).parent / "moemcts"), "play", "--web", "--no-browser", "--port", "0", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as server:
        try:
            assert server.stdout is not None
            browser.get(server.stdout.readline().strip())
            # What was logged before is another page's.
            complaints(browser)
            until(lambda: step(browser) is not None)
            browser.execute_script("window.moemcts.wait = 0")
            yield server
        finally:
            server.terminate()


def until(condition: Callable[[], Any], what: str = "the page") -> Any:
    """Returns what a condition returns once that is true; fails where it never is."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.02)
    raise AssertionError(f"waited in vain for {what}")


def step(browser: Any) -> int | None:
    shown = browser.execute_script("return window.moemcts?.busy ? null : document.body.dataset.step")
    return None if shown is None else int(shown)


def now(browser: Any) -> dict[str, Any]:
    """Returns the last round that the page was told of, once it waits for a person or the game is over."""
    told: dict[str, Any] = until(
        lambda: browser.execute_script(
            "const s = window.moemcts, last = s.rounds[s.rounds.length - 1];"
            "const isShown = !s.busy && last && String(last.step) === document.body.dataset.step;"
            "return isShown && (last.asked || last.over) && last"
        )
    )
    return told


def complaints(browser: Any) -> list[str]:
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


def cell(browser: Any, name: str) -> Any:
    return browser.find_element("css selector", f"#overlay .spot[data-name='{name}']")


def test_three_in_a_row_is_clicked(browser: Any) -> None:
    with page(browser, "--game", "tictactoe", "--against", "uct?simulations=50"):
        while not (told := now(browser))["over"]:
            cell(browser, told["actions"][0]["name"]).click()
            until(lambda before=told["step"]: step(browser) not in (None, before))  # type: ignore[misc]
        notice = browser.find_element("id", "notice").text
        assert notice in ("X won.", "O won.", "A draw.")
        rows = browser.find_elements("css selector", "#weights .weight")
        assert not rows or browser.find_element("id", "gate").is_displayed()
        assert not complaints(browser)


def test_pieces_are_moved_square_by_square(browser: Any) -> None:
    with page(browser, "--game", "chess?max_plies=10", "--against", "alpha-beta?depth=1"):
        while not (told := now(browser))["over"]:
            name = told["actions"][len(told["actions"]) // 2]["name"]
            for square in (name[:2], name[2:4]):
                target = browser.find_element("css selector", f".chess-board [data-square='{square}']")
                webdriver.ActionChains(browser).move_to_element(target).click().perform()
            until(lambda before=told["step"]: step(browser) not in (None, before), f"{name} to be played")  # type: ignore[misc]
        assert told["step"] == 10
        assert browser.find_element("id", "notice").text == "A draw."
        lanes = browser.find_elements("css selector", "#lanes .ply")
        assert len(lanes) == 11
        lanes[2].click()
        until(lambda: "ply 2" in browser.find_element("id", "title").text)
        # Who hears the page is told the position and what was played, which others see on the board.
        heard = {name: browser.find_element("id", name) for name in ("text", "played")}
        assert "1 R N B Q K B N R" in heard["text"].get_property("textContent")
        assert heard["played"].get_property("textContent").startswith("ply 2\nBlack ")
        assert all(element.size["width"] <= 1 for element in heard.values())
        browser.find_element("id", "back").click()
        until(lambda: step(browser) == 8)
        assert not complaints(browser)


def test_tiles_are_walked_with_keys(browser: Any) -> None:
    with page(browser, "--game", "pommerman?max_steps=12", "--against", "simple"):
        while not (told := now(browser))["over"]:
            key = told["actions"][told["step"] % len(told["actions"])]["key"]
            webdriver.ActionChains(browser).send_keys(
                {"ArrowUp": "\ue013", "ArrowDown": "\ue015"}.get(key, ".")
            ).perform()
            until(lambda before=told["step"]: step(browser) not in (None, before))  # type: ignore[misc]
        assert len(browser.find_elements("css selector", "#seats .seat")) == 4
        # A button that keys have led to takes those that press it: here they do not lay a bomb.
        browser.execute_script("document.getElementById('back').focus()")
        webdriver.ActionChains(browser).send_keys(" ").perform()
        until(lambda: (step(browser) or told["step"]) < told["step"])
        assert browser.find_element("id", "gate-name").text.startswith("steps")
        assert not complaints(browser)


def test_two_tabs_play_two_games_and_a_killed_server_is_said(browser: Any) -> None:
    with page(browser, "--game", "tictactoe", "--against", "random") as server:
        first = browser.current_window_handle
        cell(browser, "b2").click()
        until(lambda: step(browser) == 2)
        address = browser.current_url
        browser.switch_to.new_window("tab")
        browser.get(address.partition("#")[0])
        until(lambda: step(browser) == 0)
        assert browser.current_url != address
        browser.get(address)
        browser.refresh()
        until(lambda: step(browser) == 2)
        cell(browser, now(browser)["actions"][0]["name"]).click()
        until(lambda: step(browser) == 4)
        browser.close()
        browser.switch_to.window(first)
        assert step(browser) == 2
        cell(browser, now(browser)["actions"][-1]["name"]).click()
        until(lambda: step(browser) == 4)
        assert "the game has gone on elsewhere" in browser.find_element("id", "notice").text
        port = address.partition("127.0.0.1:")[2].partition("/")[0]
        server.kill()
        server.wait()
        cell(browser, now(browser)["actions"][0]["name"]).click()
        until(lambda: "the program has ended" in browser.find_element("id", "notice").text)
    command = [str(Path(sys.executable).parent / "moemcts"), "play", "--web", "--no-browser", "--port", port]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as again:
        try:
            until(lambda: "the game goes on" in browser.find_element("id", "notice").text)
            assert step(browser) == 4
            browser.find_element("id", "typed").send_keys(now(browser)["actions"][0]["name"] + "\n")
            until(lambda: (step(browser) or 0) > 4)
            assert browser.current_url != address
        finally:
            again.terminate()


def test_a_player_flips_resigns_takes_back_and_types(browser: Any) -> None:
    with page(browser, "--game", "antichess", "--against", "random", "--seat", "1"):
        told = now(browser)
        assert told["viewer"] == 1
        assert browser.find_element("id", "turn").text == "your move"
        assert not browser.find_element("id", "pause").is_displayed()
        browser.find_element("id", "flip").click()
        until(lambda: now(browser)["side"] == 0)
        browser.find_element("id", "resign").click()
        until(lambda: "You resigned: White won." in browser.find_element("id", "notice").text)
        browser.find_element("id", "back").click()
        until(lambda: now(browser)["asked"])
        browser.find_element("id", "typed").send_keys("z9\n")
        until(lambda: "expected" in browser.find_element("id", "notice").text)
        before = now(browser)["step"]
        # Some press the key that leads to the field before every move, also while they are in it.
        browser.find_element("id", "typed").send_keys("/" + now(browser)["actions"][0]["name"] + "\n")
        until(lambda: now(browser)["step"] == before + 2)
        browser.refresh()
        until(lambda: step(browser) == before + 2)
        assert len(browser.find_elements("css selector", "#lanes .ply")) == before + 3


def test_who_thinks_is_left_by_taking_back_by_resigning_and_by_a_new_game(browser: Any) -> None:
    def move() -> None:
        cell(browser, now(browser)["actions"][0]["name"]).click()
        until(lambda: browser.execute_script("return moemcts.leaving && moemcts.rounds.length === 2"), "the answer")

    # By far more than there is time for.
    searching = ("--game", "connect-four", "--against", "weights:connect-four", "--simulations", "100000")
    with page(browser, *searching):
        move()
        browser.find_element("id", "back").click()
        until(lambda: step(browser) == 0)
        move()
        browser.find_element("id", "resign").click()
        until(lambda: "You resigned: Red won." in browser.find_element("id", "notice").text)
        browser.find_element("id", "back").click()
        until(lambda: browser.execute_script("return moemcts.leaving"), "the search to go on")
        browser.find_element("id", "open").click()
        browser.find_element("id", "seed").send_keys("\n")
        until(lambda: step(browser) == 0)
        assert now(browser)["asked"]
        assert not complaints(browser)


def test_the_dialog_offers_the_game_that_is_played(browser: Any) -> None:
    with page(browser, "--game", "chess", "--against", "random"):
        laid = browser.execute_async_script(
            "const body = JSON.stringify({game: 'pommerman', agents: ['simple', 'you', 'random', 'random']});"
            "fetch('/api/tables', {method: 'POST', headers: {'Content-Type': 'application/json'}, body})"
            ".then(answer => answer.json()).then(table => arguments[0](table.id))"
        )
        browser.execute_script("location.hash = arguments[0]", laid)
        until(lambda: now(browser)["game"] == "pommerman")
        browser.find_element("id", "open").click()
        places = [one.get_property("value") for one in browser.find_elements("css selector", "#places select")]
        assert browser.find_element("id", "game").get_property("value") == "pommerman"
        assert places == ["simple", "you", "random", "random"]


def test_a_pawn_becomes_what_is_chosen(browser: Any) -> None:
    game = moemcts.make("chess")
    state, moves = game.initial_state(), []
    for name in ("a2a4", "b7b5", "a4b5", "a7a6", "b5a6", "h7h6", "a6a7", "h6h5"):
        moves.append([game.parse_action(state, state.active_players[0], name)])
        state = state.play(moves[-1])
    with page(browser, "--game", "chess", "--against", "random"):
        laid = browser.execute_async_script(
            "const done = arguments[1];"
            "const body = JSON.stringify({game: 'chess', agents: ['you', 'random'], moves: arguments[0]});"
            "fetch('/api/tables', {method: 'POST', headers: {'Content-Type': 'application/json'}, body})"
            ".then(answer => answer.json()).then(table => done(table.id))",
            moves,
        )
        browser.execute_script("location.hash = arguments[0]; location.reload()", laid)
        until(lambda: step(browser) == 8)

        def promote() -> list[Any]:
            for square in ("a7", "b8"):
                target = browser.find_element("css selector", f".chess-board [data-square='{square}']")
                webdriver.ActionChains(browser).move_to_element(target).click().perform()
            return list(until(lambda: browser.find_elements("css selector", "#chooser[open] #choices button")))

        assert sorted(one.text.split()[1] for one in promote()) == ["bishop", "knight", "queen", "rook"]
        webdriver.ActionChains(browser).send_keys("\ue00c").perform()
        until(lambda: not browser.find_elements("css selector", "#chooser[open]"))
        assert step(browser) == 8
        next(one for one in promote() if "knight" in one.text).click()
        until(lambda: (step(browser) or 0) >= 9)
        assert browser.execute_script("return window.moemcts.rounds[9].moves[0].name") == "a7b8n"
        assert not complaints(browser)

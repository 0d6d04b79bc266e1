"""Writes docs/assets/web.png, a screenshot of a chess game between trained experts in the browser.

python scripts/picture.py

Needs Chromium and its driver. The same weights give the same game.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

from selenium import webdriver

PATH = Path(__file__).parent.parent / "docs" / "assets" / "web.png"
PLIES, SHOWN = 64, 38
PLAYED = ("--game", "chess", "--seat", "2", "--simulations", "200")
COMMAND = ("moemcts", "play", "--web", "--no-browser", "--port", "0", *PLAYED)
PLAY = """
const [plies, done] = arguments, state = window.moemcts
state.wait = 0
const timer = setInterval(() => {
    const last = state.rounds[state.rounds.length - 1]
    if (!last || last.step < plies && !last.over) return
    state.playing = false
    clearInterval(timer)
    setTimeout(done, 1500)
}, 5)
"""


def main() -> None:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1300,1123"):
        options.add_argument(flag)
    with subprocess.Popen(COMMAND, stdout=subprocess.PIPE, text=True) as server:
        browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
        try:
            assert server.stdout is not None
            browser.get(server.stdout.readline().strip())
            browser.set_script_timeout(600)
            browser.execute_async_script(PLAY, PLIES)
            browser.find_elements("css selector", "#lanes .ply")[SHOWN].click()
            # Wait for the animation of pieces.
            time.sleep(1.5)
            PATH.write_bytes(browser.get_screenshot_as_png())
        finally:
            browser.quit()
            server.terminate()


if __name__ == "__main__":
    main()

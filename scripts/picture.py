"""Writes docs/assets/web.png: a game of chess between trained experts, as the page in the browser shows it.

python scripts/picture.py [PLIES]

Needs Chromium and its driver. The same weights give the same game.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

from selenium import webdriver

PATH = Path(__file__).parent.parent / "docs" / "assets" / "web.png"
PLIES = 66
COMMAND = ("moemcts", "play", "--web", "--no-browser", "--port", "0", "--game", "chess", "--seat", "2")
PLAYED = """
const state = window.moemcts, last = state.rounds[state.rounds.length - 1]
return last && !state.busy && (last.step >= arguments[0] || last.over)
"""


def main() -> None:
    plies = int(sys.argv[1]) if len(sys.argv) > 1 else PLIES
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1300,1123"):
        options.add_argument(flag)
    with subprocess.Popen(COMMAND, stdout=subprocess.PIPE, text=True) as server:
        browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
        try:
            assert server.stdout is not None
            browser.get(server.stdout.readline().strip())
            browser.execute_script("window.moemcts.wait = 0")
            while not browser.execute_script(PLAYED, plies):
                time.sleep(0.1)
            browser.execute_script("document.getElementById('pause').click()")
            # Pieces are still on their way.
            time.sleep(1.5)
            PATH.write_bytes(browser.get_screenshot_as_png())
        finally:
            browser.quit()
            server.terminate()


if __name__ == "__main__":
    main()

"""Measures the setup time on a machine with only Python, a C compiler and Rust.

python benchmarks/setting_up.py FOLDER fetch            clones, and downloads all packages into an empty cache
python benchmarks/setting_up.py FOLDER play [--record]  the first game in the browser, then the README's two commands

The time of the first game is from the command until a network has answered a move clicked on the page, in headless
Chromium; it includes the compilation of the core. Crates in cargo's cache are not downloaded again. `load` is the
number of runnable processes meanwhile: times are those of an otherwise idle machine if it is about the number of cores.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import time
import tomllib
from pathlib import Path
from typing import Any

from measuring.record import add_option, append
from packaging.requirements import Requirement
from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename

ROOT = Path(__file__).parent.parent
COMMAND = "./uvw run --no-dev moemcts run --game pommerman --gate steps --preset smoke"
PLAY = "./uvw run --no-dev moemcts play --web --game chess"
TEST = "./uvw run pytest --version"
MOVE = ("e2", "e4")


def downloaded(*options: str) -> float:
    """Returns the megabytes of packages in uv.lock for this machine."""
    export = ["./uvw", "export", "--frozen", "--quiet", "--no-hashes", "--no-emit-workspace", *options]
    text = subprocess.run(export, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    requirements = [Requirement(line) for line in text.splitlines() if line and not line.strip().startswith("#")]
    packages = {package["name"]: package for package in tomllib.loads((ROOT / "uv.lock").read_text())["package"]}
    names = [package.name for package in requirements if package.marker is None or package.marker.evaluate()]
    return sum(size(packages[name]) for name in names) / 1e6


def size(package: dict[str, Any]) -> int:
    """Returns the size in bytes of the best file for this machine: a wheel, else the source distribution."""
    files = {Path(wheel["url"]).name: wheel["size"] for wheel in package.get("wheels", ())}
    tags = {name: parse_wheel_filename(name)[3] for name in files}
    for tag in sys_tags():
        for name, wheel_tags in tags.items():
            if tag in wheel_tags:
                return int(files[name])
    return int(package["sdist"]["size"])


def timed(command: str, folder: Path, environment: dict[str, str]) -> float:
    """Returns the duration of a command in seconds."""
    begin = time.perf_counter()
    subprocess.run(command, cwd=folder, env=environment, shell=True, check=True)
    return time.perf_counter() - begin


def played(folder: Path, environment: dict[str, str]) -> float:
    """Returns the seconds from the command until a network has answered the first move on the page."""
    from selenium import webdriver
    from selenium.webdriver.support.ui import WebDriverWait

    begin = time.perf_counter()
    command = [*PLAY.split(), "--no-browser", "--port", "0"]
    server = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        options = webdriver.ChromeOptions()
        for flag in ("--headless", "--no-sandbox", "--disable-gpu", "--window-size=1360,1000"):
            options.add_argument(flag)
        options.binary_location = shutil.which("chromium") or ""
        browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
        try:
            browser.get(address)
            wait = WebDriverWait(browser, 120)
            wait.until(lambda page: page.execute_script("return document.body.dataset.step === '0'"))
            for square in MOVE:
                target = browser.find_element("css selector", f".chess-board [data-square='{square}']")
                webdriver.ActionChains(browser).move_to_element(target).click().perform()
            wait.until(lambda page: page.execute_script("return document.body.dataset.step === '2'"))
            return time.perf_counter() - begin
        finally:
            browser.quit()
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("stage", choices=("fetch", "play"))
    add_option(parser)
    options = parser.parse_args()
    place: Path = options.folder.absolute()
    folder, rows_file = place / "moemcts", place / "rows.json"
    rows: list[dict[str, object]] = json.loads(rows_file.read_text()) if rows_file.exists() else []

    def add(name: str, value: float, unit: str) -> None:
        rows.append(
            {"name": name, "value": round(value), "unit": unit, "load": round(os.getloadavg()[0], 1), "seed": 0}
        )
        print(f"{name}: {value:,.0f} {unit}", flush=True)

    unset = ("VIRTUAL_ENV", "PYTHONPATH", "UV")
    environment = {key: value for key, value in os.environ.items() if key not in unset}
    environment["UV_CACHE_DIR"] = f"{place}/cache"
    if options.stage == "fetch":
        place.mkdir(parents=True)
        add(f"download for `{COMMAND}`", downloaded("--no-dev"), "MB")
        add("download for the tests", downloaded(), "MB")
        add("clone", timed(f"git clone --quiet {ROOT} {folder}", place, environment), "s")
        fetch = "./uvw sync --no-dev --no-install-workspace"
        add("download and unpacking of the packages", timed(fetch, folder, environment), "s")
        rows_file.write_text(json.dumps(rows))
        return
    add(f"`{PLAY}`, to the network's first answer, first time", played(folder, environment), "s")
    add(f"`{PLAY}`, to the network's first answer, second time", played(folder, environment), "s")
    add(f"`{COMMAND}`, once packages are there", timed(COMMAND, folder, environment), "s")
    add("what the tests need besides", timed(TEST, folder, environment), "s")
    disk = subprocess.run(["du", "-sm", ".venv"], cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    add("disk for the packages", int(disk.stdout.split()[0]), "MiB")
    if options.record:
        append("setup", rows)


if __name__ == "__main__":
    main()

"""`moemcts docs`: the documentation in the browser."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from moemcts.errors import MissingExtra, MoemctsError

ROOT = Path(__file__).parents[2]


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Look around")(docs)


def docs(
    build: Annotated[bool, typer.Option("--build", help="Build the site again, even if it is there.")] = False,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print where it is, open nothing.")] = False,
) -> None:
    """Open the documentation; it is built from the folder `docs` the first time."""
    if not (ROOT / "mkdocs.yml").exists():
        raise MoemctsError(f"expected the documentation beside the source, in {ROOT}; it does not come with a wheel")
    page = ROOT / "site" / "index.html"
    if build or not page.exists():
        _build()
    typer.echo(page)
    if not no_browser:
        import webbrowser

        webbrowser.open(page.as_uri())


def _build() -> None:
    for package in ("zensical", "mkdocstrings"):
        if find_spec(package) is None:
            raise MissingExtra(package, "docs")
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    process = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if process.returncode:
        raise MoemctsError(f"the site cannot be built: {process.stdout.strip()[-400:]}")

"""`moemcts new-game`: writes a plugin with a working game as a starting point."""

from __future__ import annotations

import importlib.util
import re
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from moemcts.errors import MoemctsError, UsageError, editable_install_command

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
FILES = {
    "pyproject.txt": "pyproject.toml",
    "readme.txt": "README.md",
    "module.txt": "{module}.py",
    "test.txt": "tests/test_{module}.py",
    "ci.txt": ".github/workflows/tests.yml",
}
NATIVE = (
    "a native game cannot be built outside moemcts yet: its classes are made by a macro of the compiled core, which "
    "other crates cannot use (docs/decisions/0018-native-games-live-here.md); write the game in Python, which the same "
    "native tree searches"
)


def register(app: typer.Typer) -> None:
    app.command("new-game", rich_help_panel="Extend")(new_game)


def new_game(
    name: Annotated[str, typer.Argument(help="The game's name: small letters, digits and hyphens.")],
    out: Annotated[Path | None, typer.Option(help="A new folder for the plugin; moemcts-NAME here by default.")] = None,
    native: Annotated[bool, typer.Option("--native", help="A game in Rust; not possible yet, says why.")] = False,
) -> None:
    """Write a complete plugin: a game, its gate, tests, entry point, README and CI."""
    from moemcts.plugins import plugins
    from moemcts.store import write_text

    if native:
        raise UsageError(NATIVE)
    if not NAME.fullmatch(name):
        raise UsageError(f"expected a name of small letters, digits and hyphens, such as my-game, got {name!r}")
    if name in plugins().games:
        raise UsageError(f"there is already a game named {name!r}; `moemcts games` lists them")
    module = f"moemcts_{name.replace('-', '_')}"
    if importlib.util.find_spec(module) is not None:
        raise UsageError(
            f"there is already a package named {module}, which a plugin of that name would hide; give another name"
        )
    folder = out or Path(f"moemcts-{name}")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise MoemctsError(f"expected a new or empty folder, but {folder} already exists")
    words = name.split("-")
    marks = {
        "@NAME@": name,
        "@MODULE@": module,
        # Differs from all other names in the plugin, whatever the game's name is.
        "@CLASS@": "".join(word.capitalize() for word in [*words, "game"]),
        "@TITLE@": " ".join(words).capitalize(),
    }
    templates = resources.files("moemcts.cli.new_game")
    for template, place in FILES.items():
        text = templates.joinpath(template).read_text(encoding="utf-8")
        for mark, value in marks.items():
            text = text.replace(mark, value)
        write_text(folder / place.format(module=module), text)
    typer.echo(f"{folder}: a game of two players to change into your own\n")
    typer.echo(editable_install_command(folder))
    typer.echo(f"moemcts check {name}\nmoemcts run --game {name} --gate {name}-taken --preset smoke")

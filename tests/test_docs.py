"""What the documents say is so."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
TESTED = ("README.md", "docs/install.md", "docs/guides/selfplay.md")
"""Pages whose commands are looked up."""
UVW = re.compile(r"^\./uvw run .*$", re.MULTILINE)


def blocks(page: str, language: str = "") -> list[str]:
    """Returns the blocks of a language in a page; "" is that of commands."""
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)


def commands(page: str) -> list[str]:
    """Returns the calls of `moemcts` in a page's blocks, continued lines joined."""
    lines = "\n".join(blocks(page)).replace("\\\n", " ").splitlines()
    return [line[line.index("moemcts ") :] for line in lines if re.match(r"(\./uvw run (--no-dev )?)?moemcts ", line)]


def test_the_tables_are_those_of_the_results() -> None:
    import tables

    for path, text in tables.pages().items():
        assert path.read_text() == text, f"{path.name}: run python benchmarks/tables.py"


def test_every_row_of_the_results_says_how_it_came_about() -> None:
    for path in (ROOT / "benchmarks" / "results").glob("*.jsonl"):
        for line in path.read_text().splitlines():
            assert json.loads(line).keys() >= {"name", "seed", "command", "commit", "machine", "date"}, path.name


def test_every_row_of_the_results_is_on_their_page() -> None:
    import tables

    page = (ROOT / "docs" / "results.md").read_text()
    for path in (ROOT / "benchmarks" / "results").glob("*.jsonl"):
        for name, row in tables.latest(path.stem).items():
            assert f"`{row['command']}`" in page, f"no table has {path.name}: {name}"


def test_what_was_found_is_what_the_results_say() -> None:
    results = (ROOT / "docs" / "results.md").read_text()
    rows = [line.split("|") for line in (ROOT / "docs" / "findings.md").read_text().splitlines() if line[:1] == "|"]
    ours = " ".join(row[2] for row in rows).replace("\N{MINUS SIGN}", "-")
    numbers = set(re.findall(r"[+-]?\d+\.\d+", ours))
    assert len(numbers) > 20
    rounded = {f"{float(number):.3f}" for number in re.findall(r"\d+\.\d{4}", results)}
    assert {number for number in numbers if number not in results} <= rounded


def test_the_readme_says_what_setting_up_costs() -> None:
    import tables

    cost = {name: row["value"] for name, row in (tables.latest("setup") | tables.latest("runs")).items()}
    first = UVW.findall(readme := (ROOT / "README.md").read_text())[0]
    said = " ".join(readme.split())
    assert f"download {cost[f'download for `{first}`'] / 1000:.1f} GB" in said
    assert f"fill {cost['disk for the packages'] / 1024:.1f} GiB" in said
    assert f"take {cost[f'`{first}`, first time'] / 60:.0f} minutes" in said
    assert f"takes {cost[first.partition('--no-dev ')[2]]:.0f} seconds" in said


def test_links_between_documents_lead_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("plugins/*/*.md")]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_python_in_the_readme_runs() -> None:
    found = blocks("README.md", "python")
    assert len(found) == 3
    for block in found:
        exec(compile(block, "README.md", "exec", dont_inherit=True), {"__name__": "__main__"})


def test_the_readmes_examples_are_as_short_as_promised() -> None:
    plain, _, game = (
        [line for line in block.splitlines() if line and "import" not in line]
        for block in blocks("README.md", "python")
    )
    assert len(plain) <= 6
    assert len(game) <= 40


@pytest.mark.parametrize("page", ["docs/guides/search.md", "docs/guides/inference.md"])
def test_python_in_the_guides_runs(page: str) -> None:
    found = blocks(page, "python")
    assert found
    exec(compile("\n".join(found), page, "exec"), {})


@pytest.mark.parametrize("line", sorted({line for page in TESTED for line in commands(page)}))
def test_commands_have_the_options_that_the_readme_gives_them(line: str) -> None:
    words = shlex.split(line)[1:]
    depth = next((index for index, word in enumerate(words) if word.startswith("-") or "." in word), len(words))
    command = [str(Path(sys.executable).parent / "moemcts"), *words[:depth], "--help"]
    environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for option in (word for word in words if word.startswith("--")):
        assert re.search(rf"{option}\b", done.stdout), f"{option}: {line}"


def test_ci_runs_the_readmes_two_commands() -> None:
    readme, script = (ROOT / "README.md").read_text(), (ROOT / ".ci" / "run").read_text()
    assert len(UVW.findall(readme)) == 2
    assert UVW.findall(readme) == UVW.findall(script)


def test_pip_is_told_of_extras_that_are_there() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    text = "".join(page.read_text() for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
    named = set(re.findall(r"\"\.\[(\w+)\]\"", text))
    assert {"dev", "fast"} <= named <= set(extras)

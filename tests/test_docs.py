"""What the documents say is so."""

from __future__ import annotations

import ast
import functools
import json
import re
import shlex
import sys
import tomllib
import types
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*/README.md"), *ROOT.glob("plugins/*/*.md")]
UVW = re.compile(r"^\./uvw run .*$", re.MULTILINE)


def blocks(page: str, language: str = "") -> list[str]:
    """Returns the blocks of a language in a page; "" is that of commands."""
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)


def commands(page: str) -> list[str]:
    """Returns the calls of `moemcts` in a page's blocks, continued lines joined."""
    lines = "\n".join([*blocks(page), *blocks(page, "sh")]).replace("\\\n", " ").splitlines()
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


NUMBER = r"[+-]?\d+\.\d+"
INTERVAL = r"\[[+-]?\d+\.\d[^\]]*\]"
DIFFERENCES = {
    "9.4": ("100.0", "90.6"),
    "0.0595": ("2.1948", "2.1353"),
    "0.0501": ("2.0599", "2.0098"),
    "0.0530": ("2.2100", "2.1570"),
    "0.0332": ("1.6544", "1.6212"),
    "0.0335": ("1.6544", "1.6209"),
    "0.0534": ("2.2104", "2.1570"),
    "0.0490": ("2.0588", "2.0098"),
    "0.0432": ("2.4164", "2.3732"),
    "0.0697": ("2.4164", "2.3467"),
    "0.0177": ("2.6007", "2.5830"),
    "0.0912": ("2.6007", "2.5095"),
    "0.1477": ("2.5838", "2.4361"),
    "0.1501": ("2.2100", "2.0599"),
}
"""Numbers of findings that are worked out from two of the tables, or from 100 and one of these."""


def test_what_was_found_is_what_the_tables_say() -> None:
    import tables

    found, measured = " ".join(tables.FOUND.read_text().split()), tables_of_results()
    assert len(intervals := re.findall(INTERVAL, found)) > 40
    assert [interval for interval in intervals if interval not in measured] == []
    known = set(re.findall(NUMBER, measured)) | not_in_tables(measured)
    values, unsigned = re.sub(r"p = \d\.\d+", "", found), {number.lstrip("+-") for number in known}
    assert [one for one in re.findall(NUMBER, values) if one not in (known if one[0] in "+-" else unsigned)] == []
    told = [float(one) for one in re.findall(r"\| (0\.\d{3}) \|$", measured, re.MULTILINE)]
    for p_value in re.findall(r"p = (\d\.\d+)", found):
        digits = len(p_value.partition(".")[2])
        assert p_value in {f"{one:.{digits}f}" for one in told}, f"no table has p = {p_value}"


def test_the_page_of_findings_is_what_the_tables_say() -> None:
    measured, page = tables_of_results(), ours("docs/findings.md").replace("\N{MINUS SIGN}", "-")
    numbers = set(re.findall(NUMBER, page))
    assert len(numbers) > 200
    rounded = {f"{float(number):.3f}" for number in re.findall(r"\d+\.\d{4}", measured)}
    assert {number for number in numbers if number not in measured} <= rounded | not_in_tables(measured)
    assert {interval for interval in re.findall(INTERVAL, " ".join(page.split())) if interval not in measured} == set()


def test_no_difference_is_said_of_narrow_intervals_alone() -> None:
    """What findings call "no difference shown" reaches at most 20 Elo, or 5 points, to either side."""
    page = " ".join((ROOT / "docs" / "findings.md").read_text().replace("\N{MINUS SIGN}", "-").split())
    chess, _, others = page.partition("## Chess")[2].partition("## Pommerman")
    for part in (chess, others):
        claims = re.split(r"[Nn]o difference (?:is )?shown\b", part)[1:]
        assert len(claims) > 5
        for claim in claims:
            found = re.search(r"\[([+-][\d.]+), ([+-][\d.]+)\]", claim)
            assert found
            low, high = map(float, found.groups())
            assert low <= 0.0 <= high, claim[:200]
            reach = 20.0 if part is chess or "Elo" in claim[: found.start()] else 5.0
            assert (high - low) / 2 <= reach, f"undecided: {claim[:200]}"


def not_in_tables(measured: str) -> set[str]:
    """Returns numbers of findings that no table has: those of the papers, and those worked out from tables."""
    from measuring.published import CHESS_ELO, CHESS_HALF_DATA, CHESS_LOSS

    single, separated = CHESS_LOSS["single"][-1], CHESS_LOSS["separated"][-1]
    found = {f"{single - separated:.3f}", *(f"{one:+.1f}" for one in (*CHESS_ELO.values(), *CHESS_HALF_DATA))}
    # Numbers of positions, in millions.
    found |= {f"{int(number.replace(',', '')) / 1e6:.3g}" for number in re.findall(r"\d+,\d{3},\d{3}", measured)}
    numbers = {*re.findall(NUMBER, measured), "100.0"}
    for difference, (one, other) in DIFFERENCES.items():
        digits = len(difference.partition(".")[2])
        found |= {f"{float(one) - float(other):.{digits}f}"} if {one, other} <= numbers else set()
    return found


def tables_of_results() -> str:
    """Returns the page of results without what it says was found, which has to stand in its tables."""
    import tables

    before, found, after = (ROOT / "docs" / "results.md").read_text().partition(tables.FOUND.read_text())
    assert found
    return before + after


def ours(page: str) -> str:
    """Returns what a page says of us: tables without their last column, and paragraphs that are not on papers."""
    rows, others = [], []
    for paragraph in (ROOT / page).read_text().split("\n\n"):
        if paragraph.startswith("|"):
            rows += [line.rsplit("|", 2)[0] for line in paragraph.splitlines()]
        elif not re.match(r"\*The |The (papers' gain|numbers of the last column)", paragraph):
            others.append(paragraph)
    return "\n".join([*rows, *others])


def test_the_pages_say_what_setting_up_costs() -> None:
    import tables

    cost = {name: row["value"] for name, row in tables.latest("setup").items()}
    first = UVW.findall(readme := (ROOT / "README.md").read_text())[0]
    said, told = " ".join(readme.split()), " ".join((ROOT / "docs" / "install.md").read_text().split())
    downloads = [value for name, value in cost.items() if name.startswith("download for")]
    fetched, answered, again = (
        cost[name]
        for name in (
            "download and unpacking of the packages",
            f"`{first}`, to the network's first answer, first time",
            f"`{first}`, to the network's first answer, second time",
        )
    )
    assert f"fills {cost['disk for the packages'] / 1024:.1f} GiB" in said
    assert f"takes about {(cost['clone'] + fetched + answered) / 60:.0f} minutes on two cores" in said
    assert round(fetched / 60) == 1
    assert f"one of them to download {downloads[0] / 1000:.1f} GB; later ones answer in about {again} seconds" in said
    assert f"{fetched} seconds to download" in told
    assert f"{answered} seconds until the core is compiled" in told
    assert fetched + answered < 300, "a stranger's first game within five minutes, downloads included"


def test_links_between_documents_lead_somewhere() -> None:
    for page in DOCUMENTS:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_links_to_a_heading_lead_to_one() -> None:
    for page in DOCUMENTS:
        for target, heading in re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", page.read_text()):
            there = (page.parent / target).read_text() if target else page.read_text()
            assert heading in headings(there), f"{page.name}: {target}#{heading}"


def test_every_row_of_a_table_has_the_cells_of_its_heading() -> None:
    for page in DOCUMENTS:
        text = re.sub(r"^(```.*?^```|<!--.*?-->)$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
        for table in re.findall(r"^\|.*$(?:\n.+$)*", text, re.MULTILINE):
            heading, *rows = (re.split(r"(?<!\\)\|", line) for line in table.splitlines())
            for row in rows:
                is_whole = len(row) == len(heading) and not (row[0] or row[-1]).strip()
                assert is_whole, f"{page.name}: {'|'.join(row)}"


def headings(text: str) -> set[str]:
    """Returns the addresses of a page's headings, as Python-Markdown and GitHub make them."""
    found = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in found}


def test_python_in_the_readme_runs() -> None:
    found = blocks("README.md", "python")
    assert len(found) == 2
    for block in found:
        exec(compile(block, "README.md", "exec", dont_inherit=True), {"__name__": "__main__"})


def test_the_readmes_examples_are_as_short_as_promised() -> None:
    plain, game = (
        [line for line in block.splitlines() if line and "import" not in line]
        for block in blocks("README.md", "python")
    )
    assert len(plain) <= 6
    assert len(game) <= 40


def test_the_page_of_benchmarks_names_each_with_its_question() -> None:
    rows = dict(re.findall(r"^\| \[`(\w+\.py)`\]\(\1\) \| (.+) \|$", (ROOT / "benchmarks/README.md").read_text(), re.M))
    scripts = {path.name: ast.parse(path.read_text()) for path in (ROOT / "benchmarks").glob("*.py")}
    assert rows == {name: str(ast.get_docstring(script)).splitlines()[0] for name, script in scripts.items()}


ELSEWHERE = ("README.md", "docs/tutorials/stable-baselines3.md")
"""Pages whose Python is run by another test, or needs a package that is not installed."""
PAGES = ("README.md", *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").rglob("*.md"))))
FOLLOWED = set(re.findall(r'"([\w-]+\.md)"', (ROOT / "tests" / "test_tutorials.py").read_text()))


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page not in ELSEWHERE and Path(page).name not in FOLLOWED and blocks(page, "python")],
)
def test_python_on_the_pages_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module = types.ModuleType("a_page")
    monkeypatch.setitem(sys.modules, "a_page", module)
    vars(module)["__file__"] = str(ROOT / page)
    exec(compile("\n".join(blocks(page, "python")), page, "exec", dont_inherit=True), vars(module))


def _words(line: str) -> list[str]:
    """Returns the words of a command; of a line that goes on in prose, what stands between blanks."""
    try:
        return shlex.split(line, comments=True)
    except ValueError:
        return line.split()


@functools.cache
def options_of(*words: str) -> frozenset[str]:
    """Returns the options of a command; raises KeyError for a command that there is none of."""
    import typer.main

    from moemcts.cli.app import make_app

    command: Any = typer.main.get_command(make_app())
    for word in words:
        command = command.commands[word]
    return frozenset(option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts))


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)])
def test_commands_have_the_options_that_the_pages_give_them(page: str) -> None:
    for line in commands(page):
        words = [word.strip("[],;`") for word in _words(line)[1:]]
        groups = ("data", "gate", "weights", "explain")
        depth = 2 if words[0] in groups and words[1:] and re.fullmatch(r"[a-z]+", words[1]) else 1
        try:
            known = options_of(*words[:depth])
        except (KeyError, AttributeError):
            known = options_of(words[0])
        for option in (word.partition("=")[0] for word in words if word.startswith("--")):
            assert option in known | {"--help"}, f"{page}: {option}: {line}"


def test_the_tables_on_the_pages_of_games_are_what_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("moemcts_gymnasium")
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import game_pages

    for path, text in game_pages.pages().items():
        assert path.read_text() == text, f"{path.name}: run python scripts/game_pages.py"


def test_the_table_of_presets_says_what_they_are() -> None:
    from moemcts.dotted import lookup
    from moemcts.runs import load_preset

    page = (ROOT / "docs" / "tutorials" / "first-run.md").read_text()
    rows = {
        "samples to learn from": "data.samples",
        "epochs": "training.epochs",
        "training seeds": "num_seeds",
        "simulations per move": "search.simulations",
        "games per arm and seed": "match.games",
        "games without search": "match.raw_games",
    }
    for what, path in rows.items():
        numbers = [f"{lookup(load_preset(name), path):,}" for name in ("smoke", "laptop", "paper")]
        assert f"| {what} | {' | '.join(numbers)} |" in page, path


def test_pages_of_games_have_the_same_headings() -> None:
    wanted = (ROOT / "docs" / "games" / "tictactoe.md").read_text()
    order = re.findall(r"^## (.*)$", wanted, re.MULTILINE)
    for path in (ROOT / "docs" / "games").glob("*.md"):
        found = re.findall(r"^## (.*)$", path.read_text(), re.MULTILINE)
        assert [heading for heading in found if heading in order] == order, path.name


def test_the_picture_of_the_flow_is_what_its_script_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import flow

    assert flow.PATH.read_text() == flow.picture(), "run python scripts/flow.py"


def test_the_page_of_the_architecture_has_every_module_and_room() -> None:
    page, package = (ROOT / "docs" / "architecture.md").read_text(), ROOT / "moemcts"
    folders = page.partition("## Folders")[2].partition("\n## ")[0]
    rooms = {f"{path.parent.name}/" for path in [*package.glob("*/__init__.py"), *package.glob("learn/*/__init__.py")]}
    modules = {path.name for path in package.glob("*.py") if not path.name.startswith("__")}
    assert len(rooms) > 10
    assert len(modules) > 20
    named = set(re.findall(r"(?<![\w/.-])\w+(?:\.py|/)(?!\w)", folders))
    assert sorted((rooms | modules) - named) == []


def test_the_page_of_the_architecture_has_the_order_that_is_enforced() -> None:
    page = " ".join((ROOT / "docs" / "architecture.md").read_text().split())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = {contract["name"]: contract for contract in project["tool"]["importlinter"]["contracts"]}
    order = " > ".join(contracts["Rooms"]["layers"]).replace("moemcts.", "")
    assert f"`{order}`" in page
    leaves = [f"`{leaf.removeprefix('moemcts.')}`" for leaf in contracts["Leaves"]["source_modules"]]
    assert f"{', '.join(leaves[:-1])} and {leaves[-1]} are leaves" in page


def test_ci_runs_the_readmes_commands() -> None:
    readme, script = (ROOT / "README.md").read_text(), (ROOT / ".ci" / "run").read_text()
    play, run, tests = UVW.findall(readme)
    # In CI nobody sits at the page: what it answers is looked at, and the page is closed.
    assert f"scripts/first_answer {play}" in script
    assert [run, tests] == UVW.findall(script)


def test_pip_is_told_of_extras_that_are_there() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    text = "".join(page.read_text() for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
    named = set(re.findall(r"\"\.\[(\w+)\]\"", text))
    assert {"dev", "fast"} <= named <= set(extras)

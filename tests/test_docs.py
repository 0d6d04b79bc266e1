"""What the documents say is so."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))


def test_the_readmes_numbers_are_those_of_the_results() -> None:
    import readme

    assert readme.tables() in (ROOT / "README.md").read_text()


def test_links_between_documents_lead_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("plugins/*/*.md")]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("page", ["README.md"])
def test_python_in_the_readme_runs(page: str) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        exec(compile(block, page, "exec"), {})


@pytest.mark.parametrize("page", ["docs/guides/search.md", "docs/guides/inference.md"])
def test_python_in_the_guides_runs(page: str) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert blocks
    exec(compile("\n".join(blocks), page, "exec"), {})


def test_the_readmes_commands_are_the_ones_ci_runs() -> None:
    readme, script = (ROOT / "README.md").read_text(), (ROOT / ".ci" / "run").read_text()
    assert "pytest -n 2" in readme
    assert "pytest -n 2" in script
    assert '".[dev]" ./plugins/moemcts-tictactoe' in readme
    assert '".[dev]" ./plugins/moemcts-tictactoe' in script

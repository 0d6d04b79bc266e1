"""Writes docs/reproduce.md: the papers' experiments with their commands, from the lists of the game plugins.

python scripts/papers_page.py
"""

from __future__ import annotations

from pathlib import Path

from moemcts.plugins import plugins
from moemcts.runs.papers import PaperExperiment, join

PAGE = Path(__file__).parent.parent / "docs" / "reproduce.md"
HEAD = """# The papers' experiments

Every experiment of the papers is one command:

```
moemcts reproduce losses --preset smoke
moemcts reproduce losses --preset laptop
moemcts reproduce losses --preset paper --data masters.pgn.zst
moemcts reproduce all --preset smoke --dry-run
```

It trains, plays and measures what the experiment needs, by commands that `--dry-run` prints, and writes a report with
the published numbers beside ours. Experiments of one size share a folder, `--out`, and its contents: a second one does
only what is new, and an interrupted one continues. `smoke` shows that everything works and says nothing about strength.
`laptop` takes hours. `paper` has the papers' sizes and asks for games of people where the papers use them; it has been
run for Pommerman only. `--set samples=20000` changes a single size. The sizes are in `games/moemcts_chess/papers.toml`
and `games/moemcts_pommerman/papers.toml`, from which this page is written (`python scripts/papers_page.py`).

The papers, by the names used below:

- *M2CTS paper*: Helfenstein, Czech, Blüml, Eisel and Kersting,
  [Checkmating One, by Using Many](https://arxiv.org/abs/2401.16852), 2024; *its thesis*: Felix Helfenstein, Game phase
  specific models in AlphaZero, master's thesis, TU Darmstadt, 2023.
- *AlphaVile paper*: Czech, Blüml, Kersting and Steingrimsson,
  [Representation Matters for Mastering Chess](https://arxiv.org/abs/2304.14918), 2023.
- *Antichess thesis*: Algeskog, Erngård, Forsberg, Ivarsson, Leesment and Muusha, A Self-Trained Engine for a
  Chess-variant, bachelor's thesis, Chalmers University of Technology and University of Gothenburg, 2024.
- *Prague thesis*: Jakub Král, Using Monte Carlo Tree Search to play chess, bachelor's thesis, Czech Technical
  University in Prague, 2024.

| experiment | what | published in | published |
| --- | --- | --- | --- |
"""


def page() -> str:
    """Returns the page."""
    experiments = join(plugins().papers).experiment
    rows = [_row(one) for one in experiments]
    missing = [f"- `{one.name}`: {one.missing}." for one in experiments if one.missing]
    programs = [f"- `{one.name}`: {', '.join(one.programs)}." for one in experiments if one.programs]
    return (
        HEAD
        + "\n".join(rows)
        + "\n\n## What is not as published\n\n"
        + "\n".join(missing)
        + "\n\n## What needs other programs\n\n"
        + "\n".join(programs)
        + "\n"
    )


def _row(one: PaperExperiment) -> str:
    published = "; ".join(f"{number.what}: {number.paper}" for number in one.numbers if number.paper)
    cells = [f"`{one.name}`", one.title, "; ".join(one.sources), published]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    PAGE.write_text(page())

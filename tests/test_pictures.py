"""The pictures of what was found are of the results."""

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))

import pictures  # noqa: E402


def test_pictures_show_what_the_results_say() -> None:
    results = (ROOT / "docs" / "results.md").read_text()
    for whisker in (*pictures.chess(), *pictures.pommerman()):
        assert f"{whisker.value:+.1f}" in results
        assert whisker.low is None or f"{whisker.low:+.1f}" in results
    assert len([whisker for whisker in pictures.pommerman() if whisker.is_part]) == 15

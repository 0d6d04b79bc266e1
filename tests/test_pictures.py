"""The pictures of what was found are of the results."""

import math
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))

import pictures  # noqa: E402
from measuring.record import latest  # noqa: E402

from moemcts.arena.intervals import t_quantile  # noqa: E402
from moemcts.arena.rating import elo_of_score, score_of_elo  # noqa: E402


def test_pictures_show_what_the_results_say() -> None:
    results = (ROOT / "docs" / "results.md").read_text()
    for whisker in (*pictures.chess(), *pictures.pommerman()):
        assert f"{whisker.value:+.1f}" in results
        assert whisker.low is None or f"{whisker.low:+.1f}" in results
        assert all(f"{seed:+.1f}" in results for seed in whisker.parts)
    assert [len(whisker.parts) for whisker in pictures.pommerman()] == [10, 5, 14, 29]


def student(values: Sequence[float], miss: float = 0.05) -> list[float]:
    """Returns the mean of values and the ends of its interval."""
    margin = t_quantile(1 - miss / 2, len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    mean = statistics.fmean(values)
    return [mean, mean - margin, mean + margin]


def test_intervals_that_the_text_has_beside_the_rows_follow_from_them() -> None:
    results = (ROOT / "docs" / "results.md").read_text().replace("\n", " ")
    strength = latest("strength")
    row = strength["pommerman, steps, searched, the paper's size, 29 seeds by steps"]
    seeds = [100 * mean for mean in row["difference"]["seed_means"]]
    for miss, digits in ((0.05 / 3, 1), (0.05 / 30, 1)):
        _, low, high = student(seeds, miss)
        assert f"[{low:+.{digits}f}, {high:+.{digits}f}]" in results
    sets = [*(statistics.fmean(seeds[i : i + 5]) for i in (0, 5, 10)), *seeds[15:]]
    _, low, high = student(sets)
    assert f"[{low:+.1f}, {high:+.1f}]" in results
    one = "chess, 100 simulations: policy of one network, values of experts trained apart, against that network"
    softened = (
        "chess, 100 simulations, policies softened by a temperature of 1.7: experts trained apart against one network"
    )
    deeper = "chess, 400 simulations: experts trained apart against one network"
    for name in (one, softened, deeper):
        sets = ("", ", seed 32", ", seed 33", ", seed 34")
        rows = [latest("duels")[f"{name}, 21,815,080 positions{which}"] for which in sets]
        scores = [score_of_elo(elo) for row in rows for elo in row["by training"]]
        mean, low, high = (elo_of_score(score) for score in student(scores))
        assert f"{mean:+.1f} [{low:+.1f}, {high:+.1f}]" in results
    chess = latest("chess")["chess, separated, searched, 21,815,080 positions, seeds 30 to 34"]
    found = student(chess["scores_by_seed"], 0.05 / 5)
    _, low, high = map(elo_of_score, found)
    assert f"[{low:+.1f}, {high:+.1f}]" in results

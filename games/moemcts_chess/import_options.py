"""Parsing of filters and splits of PGN games, and the reader of such files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from moemcts.errors import UsageError

if TYPE_CHECKING:
    from moemcts_chess.game import ChessGame
    from moemcts_chess.imports import Filter, Split

RESULTS = {"1-0": 1, "1/2-1/2": 0, "0-1": -1}
PLAIN_BYTES, PACKED_BYTES = 10.0, 1.9
"""Bytes of a file per position, plain and compressed; measured on 266,000 master games."""
_MONTH = re.compile(r"\s*\d+-")
"""The beginning of a list of months, as opposed to a share."""


@dataclass(frozen=True)
class PgnReader:
    """Converts the accepted games of PGN files to datasets."""

    game: ChessGame
    wanted: Filter
    split: Split

    def expected(self, files: Sequence[Path]) -> int:
        """Returns the estimated number of positions in the files."""
        num_positions = 0.0
        for file in files:
            bytes_per_position = PLAIN_BYTES if file.suffix == ".pgn" else PACKED_BYTES
            num_positions += file.stat().st_size / bytes_per_position
        return int(num_positions)

    def read(
        self, files: Sequence[Path], out: Path, *, reference: str, on_progress: Callable[[int, int], None]
    ) -> None:
        """Writes a dataset for each split with games; raises the same errors as `import_pgn`."""
        from moemcts_chess.imports import import_pgn

        import_pgn(
            files,
            self.game,
            out,
            reference=reference,
            wanted=self.wanted,
            split=self.split,
            on_progress=lambda done, total, games: on_progress(done, total),
        )


def game_filter(
    *,
    min_elo: int = 0,
    min_plies: int = 0,
    max_plies: int | None = None,
    result: Sequence[str] = (),
    since: str = "",
    until: str = "",
) -> Filter:
    """Returns the filter; raises UsageError for invalid results or dates, or conditions that no game can meet."""
    from moemcts_chess.imports import Filter

    wanted = Filter(
        min_elo=min_elo,
        min_plies=min_plies,
        max_plies=max_plies if max_plies is not None else Filter.max_plies,
        results=tuple(_parse_result(text) for text in result) if result else Filter.results,
        since=_parse_date(since, 0) if since else Filter.since,
        until=_parse_date(until, 99) if until else Filter.until,
    )
    if wanted.since > wanted.until:
        raise UsageError(f"expected a first date not after the last, got {since} and {until}")
    if wanted.min_plies > wanted.max_plies:
        most = wanted.max_plies
        raise UsageError(f"expected a minimum length not above the maximum, got {min_plies} and {most} plies")
    return wanted


def _parse_result(text: str) -> int:
    if text not in RESULTS:
        raise UsageError(f"expected a result 1-0, 1/2-1/2 or 0-1, got {text!r}")
    return RESULTS[text]


def _parse_date(text: str, default: int) -> int:
    """Returns 20170531 for 2017-05-31; `default` stands for missing parts."""
    parts = text.replace(".", "-").split("-")
    if not 1 <= len(parts) <= 3 or not all(part.isdecimal() for part in parts) or len(parts[0]) != 4:
        raise UsageError(f"expected a date like 2017-05-31, 2017-05 or 2017, got {text!r}")
    year, month, day = [*map(int, parts), default, default][:3]
    is_valid_month = len(parts) < 2 or 1 <= month <= 12
    is_valid_day = len(parts) < 3 or 1 <= day <= 31
    if not (is_valid_month and is_valid_day):
        raise UsageError(f"expected a month from 01 to 12 and a day from 01 to 31, got {text!r}")
    return 10_000 * year + 100 * month + day


def make_split(validation: str, test: str, seed: int = 0) -> Split:
    """Returns the split, by months such as 2012-09 or by shares such as 0.05; raises UsageError."""
    from moemcts_chess.imports import MonthSplit, RandomSplit

    is_months = [_MONTH.match(text) is not None for text in (validation, test) if text]
    if all(is_months):
        validation_months, test_months = _parse_months(validation), _parse_months(test)
        if shared := sorted({*validation_months} & {*test_months}):
            month = _format_month(shared[0])
            raise UsageError(f"expected other months for test than for validation, got {month} for both")
        return MonthSplit(validation_months, test_months)
    if any(is_months):
        raise UsageError(f"expected months or shares for both splits, got {validation!r} and {test!r}")
    validation_share, test_share = _parse_share(validation), _parse_share(test)
    if validation_share + test_share >= 1:
        raise UsageError(f"expected shares that leave something to train on, got {validation} and {test}")
    return RandomSplit(validation_share, test_share, seed)


def _parse_months(text: str) -> list[int]:
    return [_parse_month(month.strip()) for month in text.split(",") if month.strip()]


def _parse_month(text: str) -> int:
    """Returns 201209 for 2012-09."""
    month, day = divmod(_parse_date(text, 0), 100)
    if month % 100 == 0 or day != 0:
        raise UsageError(f"expected a month like 2012-09, got {text!r}")
    return month


def _format_month(number: int) -> str:
    return f"{number // 100}-{number % 100:02}"


def _parse_share(text: str) -> float:
    try:
        share = float(text or 0)
    except ValueError:
        share = -1.0
    if not 0 <= share < 1:
        raise UsageError(f"expected a share from 0 to 1 or months like 2012-09, got {text!r}")
    return share

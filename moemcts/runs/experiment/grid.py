"""The papers' matches of experts against a single network: a grid of batch sizes and limits, and single experts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from moemcts.agents import Agent, Named
from moemcts.arena.duel import DuelResult
from moemcts.arena.games import Conditions, Progress
from moemcts.arena.openings import Opening
from moemcts.arena.playing import MatchCallbacks, play_match
from moemcts.arena.schedules import duel_schedule
from moemcts.errors import UsageError
from moemcts.game import Game
from moemcts.naming import contestants, folder_of, identity_of, is_timed, with_options
from moemcts.runs.match import resolved_references

BATCH_SIZES = (1, 8, 16, 32, 64)
NODES = (100, 200, 400, 800, 1600, 3200)
MILLISECONDS = (100, 200, 400, 800, 1600)
IMPACT_BATCH_SIZE = 64
"""The batch size of the papers' matches with single experts (Figures 6 and 33)."""


@dataclass(frozen=True)
class Limit:
    """The limit of a search, per move."""

    nodes: int | None = None
    milliseconds: int | None = None

    @property
    def label(self) -> str:
        return f"{self.nodes} nodes" if self.nodes is not None else f"{self.milliseconds} ms"

    @property
    def options(self) -> dict[str, Any]:
        """The options that set the limit in a reference to experts."""
        return {"nodes": self.nodes} if self.nodes is not None else {"seconds": (self.milliseconds or 0) / 1000}


@dataclass(frozen=True)
class Cell:
    """One match of a grid."""

    row: str
    column: str
    challenger: str
    """A reference, as users write it."""
    baseline: str

    @property
    def is_timed(self) -> bool:
        return is_timed(self.challenger) or is_timed(self.baseline)

    @property
    def key(self) -> str:
        """The base name of its file."""
        text = f"{self.row} {self.column}".replace(" ", "-")
        return f"{text}-{hashlib.blake2b(f'{self.challenger} {self.baseline}'.encode(), digest_size=4).hexdigest()}"


def limits_of(nodes: Sequence[int], milliseconds: Sequence[int]) -> list[Limit]:
    """Returns the limits, nodes first; raises UsageError if there are none or if one is not positive."""
    if min([*nodes, *milliseconds], default=0) < 1:
        raise UsageError(f"expected nodes or milliseconds above 0, got {list(nodes)} and {list(milliseconds)}")
    return [Limit(nodes=n) for n in nodes] + [Limit(milliseconds=ms) for ms in milliseconds]


def grid_cells(experts: str, baseline: str, batch_sizes: Sequence[int], limits: Sequence[Limit]) -> list[Cell]:
    """Returns the matches of Tables I and XV and Figure 4: every batch size with every limit."""
    if min(batch_sizes, default=0) < 1:
        raise UsageError(f"expected batch sizes above 0, got {list(batch_sizes)}")
    return [
        Cell(
            f"batch {size}",
            limit.label,
            with_options(experts, limit.options | {"leaves": size}),
            with_options(baseline, limit.options | {"leaves": size}),
        )
        for size in batch_sizes
        for limit in limits
    ]


def impact_cells(
    experts: str, baseline: str, phase_names: Sequence[str], batch_size: int, limits: Sequence[Limit]
) -> list[Cell]:
    """Returns the matches of Figures 6 and 33: single experts, each in its own phase.

    The baseline plays the other phases and is the opponent.
    """
    folder = str(folder_of(baseline))
    return [
        Cell(
            phase,
            limit.label,
            with_options(experts, limit.options | {"leaves": batch_size, "only": phase, "else": folder}),
            with_options(baseline, limit.options | {"leaves": batch_size}),
        )
        for phase in phase_names
        for limit in limits
    ]


def play_cells(
    game: Game,
    cells: Sequence[Cell],
    conditions: Conditions,
    *,
    num_games: int,
    openings: Sequence[Opening],
    identity: Callable[[Sequence[str]], Mapping[str, Any]] = identity_of,
    folder: Path | None = None,
    on_progress: Callable[[int, Progress], None] | None = None,
) -> dict[tuple[str, str], DuelResult]:
    """Plays all matches from the same openings and returns the results by row and column.

    With time limits, games are played one after the other. `identity` returns what decides the games apart from the
    references: weights, and options of the game. With `folder`, each match has a file there, from which it is resumed.
    `on_progress` receives the index of the match and its progress.
    """
    results = {}
    for number, cell in enumerate(cells):

        def report(progress: Progress, number: int = number) -> None:
            if on_progress is not None:
                on_progress(number, progress)

        references = (cell.challenger, cell.baseline)
        journal = None if folder is None else folder / f"{cell.key}.jsonl"
        schedule = duel_schedule(
            game,
            named_agents(references, game, [] if journal is None else [journal]),
            num_games=num_games,
            openings=openings,
            identity=identity(references),
        )
        records = play_match(
            game,
            schedule,
            replace(conditions, max_parallel=1) if cell.is_timed else conditions,
            journal=journal,
            callbacks=MatchCallbacks(on_progress=report),
        )
        results[cell.row, cell.column] = DuelResult.of(schedule, records)
    return results


def named_agents(references: Sequence[str], game: Game, journals: Iterable[Path] = ()) -> dict[str, Agent]:
    """Returns agents by their references, each named by its resolved reference.

    They keep what was resolved for them, such as the backend, when the games in `journals` were begun.
    """
    resolved: dict[str, str] = {}
    for path in journals:
        resolved |= resolved_references(path, references)
    return {
        name: Named(contestant.agent, contestant.resolved)
        for name, contestant in contestants(references, game, resolved=resolved).items()
    }

"""The papers' matches of experts against a single network: the grid of limits, and one expert at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moemcts.agents import Agent
from moemcts.arena.adjudication import Adjudication
from moemcts.arena.duel import DuelResult, duel
from moemcts.arena.games import Progress
from moemcts.arena.guard import Guarded
from moemcts.arena.openings import Opening
from moemcts.errors import UsageError
from moemcts.game import Game
from moemcts.naming import EXPERTS, experts_in, resolve_agent
from moemcts.plugins import plugins
from moemcts.references import format_reference, parse_reference

BATCH_SIZES = (1, 8, 16, 32, 64)
NODES = (100, 200, 400, 800, 1600, 3200)
MILLISECONDS = (100, 200, 400, 800, 1600)
IMPACT_BATCH_SIZE = 64
"""Of the papers' matches with one expert (Figures 6 and 33)."""


@dataclass(frozen=True)
class Limit:
    """How long a move takes."""

    nodes: int | None = None
    milliseconds: int | None = None

    @property
    def label(self) -> str:
        return f"{self.nodes} nodes" if self.nodes is not None else f"{self.milliseconds} ms"

    @property
    def options(self) -> dict[str, Any]:
        """What it is in a reference to experts."""
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
        return "seconds" in parse_reference(self.challenger)[1]

    @property
    def key(self) -> str:
        """The name of its file."""
        text = f"{self.row} {self.column}".replace(" ", "-")
        return f"{text}-{hashlib.blake2b(f'{self.challenger} {self.baseline}'.encode(), digest_size=4).hexdigest()}"


def limits_of(nodes: Sequence[int], milliseconds: Sequence[int]) -> list[Limit]:
    """Returns the limits, nodes first; raises UsageError where there are none or one is not positive."""
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
            _with(experts, limit.options | {"leaves": size}),
            _with(baseline, limit.options | {"leaves": size}),
        )
        for size in batch_sizes
        for limit in limits
    ]


def impact_cells(
    experts: str, baseline: str, phase_names: Sequence[str], batch_size: int, limits: Sequence[Limit]
) -> list[Cell]:
    """Returns the matches of Figures 6 and 33: each expert in its phase, the baseline elsewhere and as opponent."""
    folder = parse_reference(baseline)[0].removeprefix(EXPERTS)
    return [
        Cell(
            phase,
            limit.label,
            _with(experts, limit.options | {"leaves": batch_size, "only": phase, "else": folder}),
            _with(baseline, limit.options | {"leaves": batch_size}),
        )
        for phase in phase_names
        for limit in limits
    ]


def phases_of(experts: str, game: Game) -> list[str]:
    """Returns the phases that the experts of a reference are for."""
    from moemcts.learn.checkpoint import load_experts

    folder = experts_in(Path(parse_reference(experts)[0].removeprefix(EXPERTS)))
    return list(load_experts(folder, game, plugins()).gate.phase_names)


def play_cells(
    game: Game,
    cells: Sequence[Cell],
    *,
    num_games: int,
    openings: Sequence[Opening],
    seed: int = 0,
    max_parallel: int = 256,
    adjudication: Adjudication | None = None,
    folder: Path | None = None,
    on_progress: Callable[[int, Progress], None] | None = None,
) -> dict[tuple[str, str], DuelResult]:
    """Plays all matches on the same openings and returns them by row and column.

    Where time limits a move, games are played one after the other. `folder` keeps a file per match, from which it
    goes on. `on_progress` is told which match is played and how far it is.
    """
    found = {}
    for number, cell in enumerate(cells):

        def report(progress: Progress, number: int = number) -> None:
            if on_progress is not None:
                on_progress(number, progress)

        references = (cell.challenger, cell.baseline)
        found[cell.row, cell.column] = duel(
            game,
            named_agents(references, game),
            num_games=num_games,
            openings=openings,
            seed=seed,
            max_parallel=1 if cell.is_timed else max_parallel,
            adjudication=adjudication,
            path=None if folder is None else folder / f"{cell.key}.jsonl",
            identity=identity_of(references, openings),
            on_progress=report,
        )
    return found


def named_agents(references: Sequence[str], game: Game) -> dict[str, Agent]:
    """Returns the agents by their references, guarded: what fails costs a game. Raises UsageError for doubles."""
    if len(set(references)) < len(references):
        raise UsageError(f"expected different agents, got {', '.join(references)}")
    agents: dict[str, Agent] = {}
    for reference in references:
        agent = Guarded(resolve_agent(reference, game))
        # Two agents of one kind may differ by their options only; one of experts may say more than its reference.
        if not agent.name.startswith(reference):
            agent.name = reference
        agents[reference] = agent
    return agents


def identity_of(references: Sequence[str], openings: Sequence[Opening]) -> Mapping[str, Any]:
    """Returns what else decides the games of these agents: their weights and where games start."""
    digest = hashlib.blake2b(digest_size=8)
    for opening in openings:
        start = opening.start if isinstance(opening.start, int) else opening.start.key()
        digest.update(f"{opening.name} {start}\n".encode())
    return {"experts": {name: _manifests(name) for name in references}, "openings": digest.hexdigest()}


def _with(reference: str, options: Mapping[str, Any]) -> str:
    name, given = parse_reference(reference)
    return format_reference(name, {**given, **options})


def _manifests(reference: str) -> list[str]:
    """Returns the hashes of the manifests of all experts that an agent plays with, which hold those of the weights."""
    name, options = parse_reference(reference)
    folders = [Path(name.removeprefix(EXPERTS)), *([Path(options["else"])] if "else" in options else [])]
    manifests = [place for folder in folders for place in (folder, folder / "experts") if place.is_dir()]
    files = [place / "manifest.toml" for place in manifests if (place / "manifest.toml").exists()]
    return [hashlib.sha256(file.read_bytes()).hexdigest()[:16] for file in files]

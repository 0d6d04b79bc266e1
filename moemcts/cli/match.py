"""`moemcts match`: agents against agents, with honest intervals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moemcts.errors import UsageError

if TYPE_CHECKING:
    from moemcts.arena.match import MatchResult


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Measure")(match)


def match(
    game: Annotated[str, typer.Option(help="A registered game.")],
    agent: Annotated[
        list[str],
        typer.Option(help="An agent or a folder of experts, with options: `runs/X/experts/steps-0?simulations=200`."),
    ],
    against: Annotated[
        str | None, typer.Option(help="Who sits in all other seats; the game's default agent otherwise.")
    ] = None,
    num_games: Annotated[int, typer.Option("--games", min=1, help="Games per agent.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Decides everything that is random.")] = 0,
    parallel: Annotated[int, typer.Option(min=1, help="Games that run at once and share batches.")] = 128,
    out: Annotated[
        Path | None, typer.Option(help="File for the finished games; a match goes on where it left off.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Let each agent play the same boards from the same seats against the same others, and compare.

    The first agent is the baseline that the others are compared with, game by game.
    """
    from moemcts.arena.match import match as play_match
    from moemcts.cli.progress import ConsoleProgress
    from moemcts.experiment.players import resolve_agent
    from moemcts.plugins import plugins

    if len(set(agent)) < len(agent):
        raise UsageError(f"expected different agents, got {', '.join(agent)}")
    made = plugins().game(game)
    arms = {name: resolve_agent(name, made) for name in agent}
    field = resolve_agent(against or plugins().default_agent(made), made)
    progress = ConsoleProgress()
    with progress.task("match", "games") as advance:
        result = play_match(
            made,
            arms,
            field,
            num_games=num_games,
            seed=seed,
            max_parallel=parallel,
            path=out,
            on_progress=lambda state: advance(state.num_finished, num_games * len(arms)),
        )
    typer.echo(json.dumps(result.to_json(), indent=1) if as_json else _describe(result))


def _describe(result: MatchResult) -> str:
    lines = []
    for arm in result.arms:
        summary = result.summary(arm)
        tally = summary.tally
        low, high = tally.win_interval
        lines.append(
            f"{arm}: {tally.wins} wins, {tally.ties} ties, {tally.losses} losses in {tally.num_games} games; "
            f"wins {100 * tally.win_rate:.1f} % [{100 * low:.1f}, {100 * high:.1f}], "
            f"mean length {summary.mean_plies:.0f}"
        )
        if summary.num_duplicates:
            lines.append(f"  {summary.num_duplicates} of these games repeat an earlier one move for move")
    lines += [
        f"{arm} against {result.baseline}: {result.difference(arm).verdict}"
        for arm in result.arms
        if arm != result.baseline
    ]
    return "\n".join(lines)

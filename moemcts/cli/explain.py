"""`moemcts explain`: shows which planes and cells experts base their answers on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moemcts.cli.options import check_effects
from moemcts.errors import UsageError, first_line, unknown_name

if TYPE_CHECKING:
    from moemcts.game import Game, State
    from moemcts.runs.explanation import Average, Team

BASELINES = ("zero", "mean")
NUM_POSITIONS = 64
"""Default number of positions to average over, per phase."""
MAX_STEPS = 1000
"""The paper (section 5) finds 20 to 300 sufficient; all points of a position are in memory at once."""


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Measure")(explain)


def explain(
    game: Annotated[str, typer.Option(help="A registered game.")],
    experts: Annotated[Path, typer.Option(help="A training, a folder of experts or `weights:NAME`.")],
    out: Annotated[Path, typer.Option(help="A folder for figures and numbers.")],
    data: Annotated[Path | None, typer.Option(help="A dataset, whose positions are averaged over.")] = None,
    position: Annotated[str | None, typer.Option(help="One position, as the game writes it, such as a FEN.")] = None,
    player: Annotated[
        int | None, typer.Option(min=0, help="The viewing player; by default the player to move.")
    ] = None,
    positions: Annotated[
        int | None,
        typer.Option(min=1, help=f"Positions of --data to average over, per phase; {NUM_POSITIONS} by default."),
    ] = None,
    steps: Annotated[int, typer.Option(min=2, max=MAX_STEPS, help="Points between baseline and position.")] = 64,
    baseline: Annotated[
        str, typer.Option(help="What positions are compared with: zero, or mean of the data.")
    ] = "zero",
    seed: Annotated[
        int | None, typer.Option(min=0, help="Random seed of the positions of --data; 0 by default.")
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, ...")] = "cpu",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Attribute experts' policies and values to the input planes, by integrated gradients.

    With --data: averages over the positions of each phase, per plane and cell. With --position: heat maps of that
    position.
    """
    if data is None and position is None:
        raise UsageError("expected --data, --position or both: something to explain")
    from moemcts.cli.consoles import print_json
    from moemcts.cli.outputs import check_output_folder
    from moemcts.cli.progress import ConsoleProgress
    from moemcts.learn.checkpoint import load_networks
    from moemcts.naming import experts_in
    from moemcts.plugins import plugins
    from moemcts.runs.explanation import (
        AVERAGES,
        POSITION,
        Team,
        draw_positions,
        explain_dataset,
        explain_position,
        mean_planes,
        write_averages,
    )
    from moemcts.runs.hardware import device_for
    from moemcts.runs.sources import open_training_samples
    from moemcts.store import write_json
    from moemcts.weights import encoded_as

    if baseline not in BASELINES:
        raise unknown_name("baseline", baseline, BASELINES)
    if baseline == "mean" and data is None:
        raise UsageError("expected --data for the baseline 'mean'")
    if position is None:
        check_effects({"--player": player}, "without --position")
    if data is None:
        check_effects({"--positions": positions, "--seed": seed}, "without --data")
    check_output_folder(out, "explanations", marks=[AVERAGES, POSITION])
    device = device_for(device)
    experts_folder = experts_in(experts)
    loaded_game = encoded_as(experts_folder, plugins().game(game))
    view = None if position is None else _parse_view(loaded_game, position, player)
    loaded = load_networks(experts_folder, loaded_game, plugins())
    team = Team(game=loaded_game, gate=loaded.gate, networks=[network.eval() for network in loaded.networks])
    result: dict[str, Any] = {"game": game, "experts": str(experts), "steps": steps, "baseline": baseline}
    baseline_planes = None
    if data is not None:
        dataset = open_training_samples(data, loaded_game)
        rows = draw_positions(team, dataset, NUM_POSITIONS if positions is None else positions, seed or 0)
        baseline_planes = mean_planes(dataset, rows) if baseline == "mean" else None
        with ConsoleProgress().task("explain", "explanations") as advance:
            averages = explain_dataset(
                team, dataset, rows, steps=steps, baseline=baseline_planes, device=device, on_progress=advance
            )
        result["averages"] = [average.to_json(loaded_game.spec.plane_labels) for average in averages]
        write_json(out / AVERAGES, result)
        write_averages(out, team, averages)
        if not as_json:
            _print_averages(team, averages)
    if view is not None:
        result["position"] = explain_position(out, team, *view, steps=steps, baseline=baseline_planes, device=device)
        if not as_json:
            _print_position(result["position"])
    if as_json:
        print_json(result)
    else:
        typer.echo(f"figures and numbers: {out}")


def _parse_view(game: Game, position: str, player: int | None) -> tuple[State, int]:
    """Returns a position and the player who sees it; raises UsageError if that player is not to move in it."""
    from moemcts.game import CHANCE

    try:
        state = game.parse_state(position)
    except Exception as error:
        # User input may make a game raise anything.
        raise UsageError(f"expected a position of {game.spec.name}, got {position!r}: {first_line(error)}") from None
    active = [mover for mover in state.active_players if mover != CHANCE]
    if not active:
        reason = "chance moves" if state.active_players else "the game is over"
        raise UsageError(f"expected a position in which a player moves, but in {position!r} {reason}")
    if player is not None and player not in active:
        raise UsageError(f"expected a position in which player {player} moves, but in {position!r} it is {active}")
    return state, active[0] if player is None else player


def _print_averages(team: Team, averages: list[Average]) -> None:
    from moemcts.report.tables import Table

    rows = [
        [
            average.expert,
            average.phase,
            average.answer,
            str(average.num_positions),
            f"{100 * average.gap:.1f} %",
            ", ".join(f"{name} {100 * share:.0f} %" for name, share in average.top(team.game.spec.plane_labels)),
        ]
        for average in averages
    ]
    typer.echo(Table(["expert", "on phase", "answer", "positions", "gap", "planes, share of attribution"], rows).text())


def _print_position(position: dict[str, Any]) -> None:
    from moemcts.report.tables import Table

    rows = []
    for expert in position["experts"]:
        for answer in ("policy", "value"):
            planes = sorted(expert[answer]["planes"].items(), key=lambda item: -abs(item[1]))[:5]
            planes_text = ", ".join(f"{name} {number:+.2g}" for name, number in planes)
            move = f"{expert['action']} {100 * expert['probability']:.0f} %"
            answer_text = move if answer == "policy" else f"{expert['value']['answer']:+z.3f}"
            rows.append([expert["expert"], f"{expert['weight']:.2f}", answer, answer_text, planes_text])
    typer.echo(Table(["expert", "weight", "answer", "", "planes that contribute most"], rows).text())

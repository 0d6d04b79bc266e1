"""`moemcts tournament`: plays many agents against each other, or the papers' grids of matches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from moemcts.cli.options import RANDOM_START, check_effects, check_num_games
from moemcts.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from moemcts.arena.games import Conditions, Progress
    from moemcts.arena.openings import Opening, OpeningSettings
    from moemcts.game import Game
    from moemcts.report import Report
    from moemcts.work.progress import Advance

PRESETS = ("grid", "impact")
ROUND_ROBIN, LADDER = "round-robin", "ladder"
ROUNDS = 3
"""The default number of rounds of a ladder."""
GAMES = "games"
"""The subfolder of a tournament for its games."""


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Measure")(tournament)


def tournament(
    game: Annotated[str, typer.Option(help="A registered game.")],
    agent: Annotated[
        list[str] | None,
        typer.Option(help="An agent or a folder of experts, with options: `flat?playouts=512`; two or more."),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            help="round-robin, the default: all against all; gauntlet: the first against each of the others; ladder: "
            "neighbours by their rating so far."
        ),
    ] = None,
    num_games: Annotated[int, typer.Option("--games", min=1, help="Games per table.")] = 20,
    rounds: Annotated[int | None, typer.Option(min=1, help=f"Rounds of a ladder, {ROUNDS} by default.")] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="The papers' matches of --experts against --baseline: grid (batch sizes and limits) or impact (one "
            "expert at a time)."
        ),
    ] = None,
    experts: Annotated[
        str | None, typer.Option(help="For a preset: a folder of experts, perhaps with options.")
    ] = None,
    baseline: Annotated[str | None, typer.Option(help="For a preset: a folder with a single network.")] = None,
    nodes: Annotated[str | None, typer.Option(help="For a preset: nodes per move, `100,200,400`.")] = None,
    milliseconds: Annotated[str | None, typer.Option(help="For a preset: time per move, `100,200`.")] = None,
    batch_sizes: Annotated[
        str | None, typer.Option(help="For a preset: leaves per batch, `1,8,64`; impact takes the last.")
    ] = None,
    openings: Annotated[Path | None, typer.Option(help="A file of positions (lines, EPD, PGN).")] = None,
    random_plies: Annotated[
        int | None, typer.Option(min=0, help=f"Random plies before the agents play; {RANDOM_START}.")
    ] = None,
    adjudicate: Annotated[str, typer.Option(help="`papers`, or off: games are played out.")] = "off",
    agent_timeout: Annotated[
        float | None, typer.Option(min=0.001, help="Seconds per decision, beyond which an agent loses the game.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    parallel: Annotated[int, typer.Option(min=1, help="Games played at once, which share batches.")] = 256,
    out: Annotated[
        Path | None, typer.Option(help="Folder for games and report, from which an interrupted tournament is resumed.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Play many agents against each other and rate them, or experts against a single network with many limits."""
    from moemcts.arena.adjudication import check_adjudicable, parse_adjudication
    from moemcts.arena.games import Conditions
    from moemcts.arena.openings import OpeningSettings, first_board, read_openings, starts
    from moemcts.cli.consoles import print_json
    from moemcts.cli.outputs import check_output_folder
    from moemcts.cli.progress import ConsoleProgress, interruptible
    from moemcts.naming import identity_of
    from moemcts.plugins import plugins

    preset_arguments = PresetArguments(preset, experts, baseline, nodes, milliseconds, batch_sizes)
    _check_preset_arguments(preset_arguments, agent)
    _check_effects(preset_arguments, kind, rounds)
    check_num_games("--games", num_games)
    check_num_games("--rounds times --games", (rounds or 1) * num_games)
    if openings is not None:
        check_effects({"--random-plies": random_plies}, "with --openings, games begin in the file's positions")
    if out is not None:
        check_output_folder(out, "tournament", marks=[GAMES])
    loaded_game = plugins().game(game)
    if loaded_game.spec.num_players < 2:
        raise UsageError(
            f"expected a game of two players or more, in which agents meet, got {game!r}, which has one; moemcts match "
            "compares what each gets"
        )
    adjudication = parse_adjudication(adjudicate)
    if adjudication is not None:
        check_adjudicable(loaded_game)
    # Each opening is played in at least two seatings.
    num_openings = -(-num_games // 2)
    # Enough for every round of a ladder.
    max_openings = num_openings * ((rounds or ROUNDS) if kind == LADDER else 1)
    opening_settings = OpeningSettings.of(loaded_game, path=openings, random_plies=random_plies)
    if openings is None:
        boards = starts(loaded_game, max_openings, random_plies=opening_settings.random_plies, seed=first_board(seed))
    else:
        suite = read_openings(loaded_game, openings)
        if suite.warning:
            ConsoleProgress().say(f"warning: {suite.warning}")
        boards = suite.choose(max(num_openings, min(max_openings, len(suite.openings))), "random", seed)
    setup = TournamentSetup(
        game=loaded_game,
        identity=partial(identity_of, game=game),
        num_games=num_games,
        openings=boards,
        opening_settings=opening_settings,
        conditions=Conditions(seed=seed, max_parallel=parallel, adjudication=adjudication, agent_timeout=agent_timeout),
        folder=None if out is None else out / GAMES,
    )
    resume_hint = f"finished games are kept in {out}, the same command resumes" if out else ""
    with interruptible(ConsoleProgress(), lambda: resume_hint):
        if preset is None:
            report = _play_tournament(setup, agent or [], kind or ROUND_ROBIN, rounds or ROUNDS)
        else:
            report = _play_preset(setup, preset_arguments)
        if as_json:
            print_json(report.numbers)
        else:
            _print_report(report)
        if out is not None:
            from moemcts.report import write_report

            write_report(out / "report", report)
    if out is not None and not as_json:
        typer.echo(f"report: {out / 'report' / 'report.html'}")


@dataclass(frozen=True, kw_only=True)
class TournamentSetup:
    """What all matches of a tournament share."""

    game: Game
    identity: Callable[[Sequence[str]], Mapping[str, Any]]
    """Returns what else decides the games of agents, given their references: weights, and options of the game."""
    num_games: int
    openings: Sequence[Opening]
    opening_settings: OpeningSettings
    conditions: Conditions
    folder: Path | None


class PresetArguments(NamedTuple):
    """The arguments of a preset."""

    preset: str | None
    experts: str | None
    baseline: str | None
    nodes: str | None
    milliseconds: str | None
    batch_sizes: str | None


def _check_preset_arguments(arguments: PresetArguments, agents: Sequence[str] | None) -> None:
    if arguments.preset is None:
        options = [f"--{name.replace('_', '-')}" for name, value in arguments._asdict().items() if value is not None]
        if options:
            raise UsageError(f"expected --preset with {options[0]}; one of {', '.join(PRESETS)}")
        if len(agents or ()) < 2:
            raise UsageError(f"expected --agent twice or more, got {len(agents or ())}")
        return
    if arguments.preset not in PRESETS:
        raise unknown_name("preset", arguments.preset, PRESETS)
    if agents:
        raise UsageError("expected --experts and --baseline with --preset, got --agent")
    if arguments.experts is None or arguments.baseline is None:
        raise UsageError(f"expected --experts and --baseline with --preset {arguments.preset}")


def _check_effects(arguments: PresetArguments, kind: str | None, rounds: int | None) -> None:
    if arguments.preset is not None:
        check_effects(
            {"--kind": kind, "--rounds": rounds}, f"with --preset {arguments.preset}, which says who meets whom"
        )
    elif kind != LADDER:
        check_effects({"--rounds": rounds}, f"without --kind {LADDER}")


def _play_tournament(setup: TournamentSetup, references: Sequence[str], kind: str, rounds: int) -> Report:
    from moemcts.arena.tournament import KINDS, TournamentPlan, play_tournament
    from moemcts.cli.progress import ConsoleProgress
    from moemcts.naming import is_timed
    from moemcts.report.tournaments import tournament_report
    from moemcts.runs.experiment.grid import named_agents

    kinds = {name: name for name in KINDS}
    if kind not in kinds:
        raise unknown_name("kind of tournament", kind, KINDS)
    num_games, conditions = setup.num_games, setup.conditions
    journals = [] if setup.folder is None else sorted(setup.folder.glob("*.jsonl"))
    agents = named_agents(references, setup.game, journals)
    if any(map(is_timed, references)):
        # Parallel games would take each other's time.
        conditions = replace(conditions, max_parallel=1)
    plan = TournamentPlan(
        kind=kinds[kind],
        num_games=num_games,
        rounds=rounds,
        openings=setup.openings,
        identity=setup.identity,
    )

    def report(advance: Advance, table: int, num_tables: int, progress: Progress) -> None:
        advance(table * num_games + progress.num_finished, num_tables * num_games)

    with ConsoleProgress().task("tournament", "games") as advance:
        result = play_tournament(
            setup.game, agents, plan, conditions, folder=setup.folder, on_progress=partial(report, advance)
        )
    return tournament_report(result, setup.opening_settings)


def _play_preset(setup: TournamentSetup, arguments: PresetArguments) -> Report:
    from moemcts.cli.progress import ConsoleProgress
    from moemcts.naming import phases_of
    from moemcts.report.tournaments import grid_report
    from moemcts.runs.experiment import grid

    experts, baseline = arguments.experts or "", arguments.baseline or ""
    nodes, times = _parse_numbers("nodes", arguments.nodes), _parse_numbers("milliseconds", arguments.milliseconds)
    if arguments.nodes is None and arguments.milliseconds is None:
        nodes, times = list(grid.NODES), list(grid.MILLISECONDS)
    limits = grid.limits_of(nodes, times)
    sizes = _parse_numbers("batch-sizes", arguments.batch_sizes)
    if arguments.preset == "grid":
        cells = grid.grid_cells(experts, baseline, sizes or grid.BATCH_SIZES, limits)
    else:
        phases = phases_of(experts, setup.game)
        size = sizes[-1] if sizes else grid.IMPACT_BATCH_SIZE
        cells = grid.impact_cells(experts, baseline, phases, size, limits)
    num_games = setup.num_games
    with ConsoleProgress().task(str(arguments.preset), "games") as advance:
        duels = grid.play_cells(
            setup.game,
            cells,
            setup.conditions,
            num_games=num_games,
            openings=setup.openings,
            identity=setup.identity,
            folder=setup.folder,
            on_progress=lambda cell, state: advance(cell * num_games + state.num_finished, len(cells) * num_games),
        )
    challengers = {(cell.row, cell.column): cell.challenger for cell in cells}
    rows = "batch size" if arguments.preset == "grid" else "expert"
    return grid_report(duels, challengers, setup.opening_settings, rows=rows)


def _parse_numbers(option: str, text: str | None) -> list[int]:
    try:
        return [int(number) for number in (text or "").split(",") if number]
    except ValueError:
        raise UsageError(f"expected --{option} as whole numbers separated by commas, got {text!r}") from None


def _print_report(report: Report) -> None:
    from moemcts.cli.consoles import add_row, ruled_table, table_console

    console = table_console()
    for section in report.sections:
        for table in section.tables:
            console_table = ruled_table(table.columns)
            for row in table.rows:
                add_row(console_table, row)
            console.print(console_table)
            console.print(table.caption, soft_wrap=True, markup=False)
    console.print(report.summary, soft_wrap=True, markup=False)

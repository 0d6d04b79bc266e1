"""The chess family's commands: for positions and games, the engine, and datasets of games."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moemcts.cli.options import check_effects
from moemcts.errors import UsageError, unreadable
from moemcts.references import extend_reference
from moemcts_chess.uci.command import uci

if TYPE_CHECKING:
    from moemcts.agents import Agent
    from moemcts.gates import PhaseGate
    from moemcts_chess.annotation import JudgedMove
    from moemcts_chess.game import ChessGame
    from moemcts_chess.imports import Filter, ImportReport, Split

PANEL = "Games and data"
NUMBERS = "stats.json"
"""The file with a dataset's statistics, next to its figures."""
_MISSING = "–"
"""Shown for a phase that no game reached."""
MAX_NAMED = 10
"""Number of skipped games whose errors are shown: a file that is not PGN is full of them."""

GameOption = Annotated[str, typer.Option(help="A game of the chess family, with options: `chess?planes=v1`.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Out = Annotated[Path, typer.Option(help="A new folder for what is written.")]


def register(app: typer.Typer, data: typer.Typer) -> None:
    """Adds the commands; those for datasets go into the group `data`."""
    app.command(rich_help_panel=PANEL)(analyze)
    app.command("annotate", rich_help_panel=PANEL)(annotate_games)
    app.command(rich_help_panel="Measure")(uci)
    app.command(rich_help_panel=PANEL)(bishops)
    data.command("import")(import_games)
    data.command("figures")(figures)


def analyze(
    game: GameOption = "chess",
    fen: Annotated[str, typer.Option(help="The position; `startpos; moves e2e4 e7e5` plays moves.")] = "startpos",
    svg: Annotated[Path | None, typer.Option(help="Also draw the board into this SVG file.")] = None,
    as_json: Json = False,
) -> None:
    """Show a position: its phase by every gate, the features of gates, and its legal moves."""
    from moemcts.cli.consoles import print_json
    from moemcts_chess.analysis import analysis, text

    made = _chess(game)
    try:
        state = made.parse_state(fen)
    except ValueError as error:
        raise UsageError(str(error)) from None
    found = analysis(made, state)
    if svg is not None:
        from moemcts.store import write_text
        from moemcts_chess.board import svg_board

        write_text(svg, svg_board(state))
    if as_json:
        print_json(found)
    else:
        typer.echo(text(made, state, found))


def annotate_games(
    games: Annotated[Path, typer.Argument(help="A PGN file.")],
    out: Annotated[Path, typer.Option(help="A new PGN file.")],
    game: GameOption = "chess",
    agent: Annotated[
        str | None,
        typer.Option(
            help="Who judges: `weights:chess?simulations=400`, a folder of experts, or an agent; by default the "
            "experts that come with the game."
        ),
    ] = None,
    gate: Annotated[str, typer.Option(help="Says the phase where the agent has no gate of its own.")] = "lichess",
    seed: Annotated[int, typer.Option(min=0, help="Decides what the agent draws.")] = 0,
    as_json: Json = False,
) -> None:
    """Annotate the games of a PGN file with the evaluation, phase and expert of every move, and sum up costs by phase.

    Costs are losses of value, from 0 to 2, judged as on Lichess: 0.1 is an inaccuracy, 0.2 a mistake, 0.3 a blunder.
    Games that cannot be read are skipped, the first ten of them with a message.
    """
    from moemcts import naming
    from moemcts.cli.consoles import print_json
    from moemcts.plugins import plugins
    from moemcts.store import write_text
    from moemcts.weights import default_weights
    from moemcts_chess.annotation import table
    from moemcts_chess.game import MAX_PLIES
    from moemcts_chess.openings import pgn_games, quiet_builder
    from moemcts_chess.pgn import text_of

    # The game has gone on, however long it was.
    made = _chess(extend_reference(game, {"max_plies": MAX_PLIES}) if "max_plies" not in game else game)
    if out.exists():
        raise UsageError(f"expected a new file, got --out {out}, which exists")
    if not (judge := agent or default_weights(made)):
        raise UsageError(f"no experts come with {made.variant}: give an --agent")
    try:
        found = list(pgn_games(games, quiet_builder()))
    except OSError as error:
        raise unreadable(str(games), error) from None
    by, phases = naming.resolve_agent(judge, made), plugins().gate(gate, made)
    done: list[Any] = []
    moves: list[JudgedMove] = []
    try:
        for read, judged in _judged(found, made, by, phases, seed):
            done.append(read)
            moves += judged
    finally:
        # Games annotated before an interruption are kept.
        if done:
            write_text(out, text_of(done))
    if not done:
        raise UsageError(f"expected games of {made.variant} in {games}, found none that can be played")
    if as_json:
        print_json({"games": len(done), "left out": len(found) - len(done), "agent": by.name, "rows": table(moves)})
    else:
        _print_judged(table(moves), f"{out}: {len(done)} of {len(found)} games, by {by.name}")


def _judged(
    found: Sequence[Any], game: ChessGame, agent: Agent, gate: PhaseGate, seed: int
) -> Iterator[tuple[Any, Sequence[JudgedMove]]]:
    """Yields the games that can be played, with annotations, and their judged moves."""
    from moemcts.arena.verdict import format_count
    from moemcts.cli.progress import ConsoleProgress
    from moemcts_chess.annotation import annotate
    from moemcts_chess.claims import without_claimable_draw
    from moemcts_chess.openings import positions

    progress, num_left_out = ConsoleProgress(), 0
    with progress.task("annotate", "games") as advance:
        for number, read in enumerate(found, start=1):
            try:
                states = positions(game, read, before_move=without_claimable_draw)
                if len(states) == 1:
                    # Text that is not PGN is parsed as such a game.
                    raise ValueError("it has no moves")
            except ValueError as error:
                num_left_out += 1
                if num_left_out <= MAX_NAMED:
                    progress.say(f"game {number} is left out: {error}")
            else:
                yield read, annotate(game, read, states, agent, gate, seed=seed)
            advance(number, len(found))
    if num_left_out > MAX_NAMED:
        progress.say(f"{format_count(num_left_out - MAX_NAMED, 'more game')} left out")


def _print_judged(rows: Sequence[Mapping[str, Any]], title: str) -> None:
    from moemcts.cli.consoles import print_rows

    typer.echo(title)
    print_rows(rows)


def bishops(
    experts: Annotated[
        list[Path], typer.Option(help="A training, a folder of experts or `weights:NAME`; may be repeated.")
    ],
    game: GameOption = "chess",
    as_json: Json = False,
) -> None:
    """Evaluate the 20 endgames with opposite-coloured bishops of the AlphaVile paper (Table 11): 15 draws, 5 wins.

    Networks that only count pawns evaluate the draws as wins; the better they know such endgames, the closer to 0 are
    the values of draws.
    """
    from moemcts.cli.consoles import add_row, plain_table, print_json, table_console
    from moemcts.learn.checkpoint import load_experts
    from moemcts.naming import experts_in
    from moemcts.plugins import plugins
    from moemcts.weights import encoded_as
    from moemcts_chess.bishops import PAPER, assess, summary

    made = _chess(game)
    if made.variant not in ("chess", "chess960"):
        raise UsageError(f"expected chess or chess960, whose endgames these are, got {game!r}")
    found = {}
    for folder in experts:
        place = experts_in(folder)
        seen = encoded_as(place, made)
        found[str(folder)] = assess(load_experts(place, seen, plugins()), seen)
    if as_json:
        print_json({name: {**summary(rows), "rows": rows} for name, rows in found.items()})
        return
    table = plain_table(["position", "truth", *found])
    for same in zip(*found.values(), strict=True):
        cells = [f"{row['value']:+z.4f} {row['phase']}" for row in same]
        add_row(table, [same[0]["fen"], same[0]["truth"], *cells])
    console = table_console()
    console.print(table)
    for name, rows in found.items():
        console.print(_bishop_line(name, summary(rows)), soft_wrap=True, markup=False)
    for name, numbers in PAPER.items():
        console.print(_bishop_line(f"paper, {name}", numbers), soft_wrap=True, markup=False, style="dim")


def _bishop_line(name: str, numbers: Mapping[str, float]) -> str:
    return (
        f"{name}: mean |value| of draws {numbers['draws']:.4f}, towards the winner in wins {numbers['wins']:.4f}, "
        f"difference {numbers['wins'] - numbers['draws']:+z.4f}"
    )


def import_games(
    files: Annotated[list[Path], typer.Argument(help="PGN files, plain or compressed with zstd, bzip2 or gzip.")],
    out: Out,
    game: GameOption = "chess",
    min_elo: Annotated[int, typer.Option(min=0, max=65535, help="Both players have at least this rating.")] = 0,
    min_plies: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Games are at least this long; the papers take 10.")
    ] = 0,
    max_plies: Annotated[int | None, typer.Option(min=1, max=2**32 - 1, help="Games are at most this long.")] = None,
    result: Annotated[list[str] | None, typer.Option(help="1-0, 1/2-1/2 or 0-1; may be repeated.")] = None,
    since: Annotated[str, typer.Option(help="First date, 2017-05-31 or 2017-05 or 2017.")] = "",
    until: Annotated[str, typer.Option(help="Last date.")] = "",
    validation: Annotated[str, typer.Option(help="Months (2012-09,2012-10) or a share of the games (0.05).")] = "",
    test: Annotated[str, typer.Option(help="Months or a share of the games.")] = "",
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=2**63 - 1, help="Draws the games where shares are asked for; 0 by default."),
    ] = None,
    threads: Annotated[int, typer.Option(min=0, max=1024, help="Threads that read; 0 takes all cores.")] = 0,
    as_json: Json = False,
) -> None:
    """Convert PGN files to a dataset: streamed and filtered; damaged games are skipped and counted."""
    from moemcts.cli.consoles import print_json
    from moemcts_chess.import_options import game_filter, make_split
    from moemcts_chess.imports import RandomSplit

    made = _chess(game)
    wanted = game_filter(
        min_elo=min_elo, min_plies=min_plies, max_plies=max_plies, result=result or (), since=since, until=until
    )
    split = make_split(validation, test, seed or 0)
    if not isinstance(split, RandomSplit):
        check_effects({"--seed": seed}, "without a share for --validation or --test")
    report = _with_progress(files, made, out, game, wanted, split, threads)
    if as_json:
        print_json(vars(report))
    else:
        typer.echo(_report(report, out))


def figures(
    data: Annotated[Path, typer.Option(help="A dataset, or an import with its splits.")],
    game: GameOption = "chess",
    gate: Annotated[str, typer.Option(help="A gate of the game.")] = "lichess",
    out: Annotated[Path | None, typer.Option(help="A folder for the figures.")] = None,
    as_json: Json = False,
) -> None:
    """Count positions, first moves, results and returns by phase, next to the papers' numbers."""
    from moemcts.cli.consoles import print_json
    from moemcts.cli.outputs import check_output_folder
    from moemcts.plugins import plugins
    from moemcts_chess.statistics import collect, read_datasets

    if out is not None:
        check_output_folder(out, "figures", marks=[NUMBERS])
    made = _chess(game)
    statistics = collect(read_datasets(data, made), made, plugins().gate(gate, made))
    summary = statistics.summary()
    if out is not None:
        from moemcts.store import write_json
        from moemcts_chess.plots import plot

        # Written first, as it marks the folder as ours in case of an interruption.
        write_json(out / NUMBERS, summary)
        plot(statistics, out)
    if as_json:
        print_json(summary)
    else:
        _print_statistics(summary, is_paper=gate == "lichess" and game.partition("?")[0] == "chess")


def _with_progress(
    files: Sequence[Path],
    game: ChessGame,
    out: Path,
    reference: str,
    wanted: Filter,
    split: Split,
    threads: int,
) -> ImportReport:
    from moemcts.arena.verdict import format_count
    from moemcts.cli.progress import ConsoleProgress
    from moemcts_chess.imports import import_pgn

    num_games = 0
    with ConsoleProgress().task("import", "bytes", lambda: format_count(num_games, "game")) as note:

        def advance(done: int, total: int, games: int) -> None:
            nonlocal num_games
            num_games = games
            note(done, total)

        return import_pgn(
            files,
            game,
            out,
            reference=reference,
            wanted=wanted,
            split=split,
            num_threads=threads,
            on_progress=advance,
        )


def _chess(reference: str) -> ChessGame:
    from moemcts.plugins import plugins
    from moemcts_chess.game import VARIANTS, ChessGame

    made = plugins().game(reference)
    if not isinstance(made, ChessGame):
        raise UsageError(f"expected a game of the chess family ({', '.join(VARIANTS)}), got {reference!r}")
    return made


def _report(report: ImportReport, out: Path) -> str:
    from moemcts.arena.verdict import format_count
    from moemcts_chess.imports import LEFT_OUT

    lines = [
        f"{out}: {format_count(report.num_games, 'game')}, {format_count(report.num_positions, 'position')} "
        f"in {report.seconds:,.1f} s, {report.num_positions / max(report.seconds, 1e-9):,.0f} positions/s"
    ]
    lines += [
        f"  {name}: {format_count(part['games'], 'game')}, {format_count(part['positions'], 'position')}"
        for name, part in report.splits.items()
    ]
    rejected = ((name, format_count(count, "game")) for name, count in report.rejected.items() if count)
    lines += [f"  left out by {name}: {count} ({LEFT_OUT[name]})" for name, count in rejected]
    if report.num_damaged:
        lines.append(f"  damaged: {format_count(report.num_damaged, 'game')}")
        lines += [f"    {damage}" for damage in report.damaged]
    return "\n".join(lines)


def _print_statistics(summary: Mapping[str, Any], *, is_paper: bool) -> None:
    from moemcts.arena.verdict import format_count
    from moemcts.cli.consoles import add_row, plain_table, table_console
    from moemcts_chess.statistics import PAPER

    table = plain_table(["", *summary["share of positions"]])
    for what in ("share of positions", "share of games", "first move", "results"):
        add_row(table, [what, *map(_numbers, summary[what].values())])
        if is_paper:
            paper = PAPER[what]
            add_row(table, ["  paper", *(_numbers(paper.get(phase, ())) for phase in summary[what])], style="dim")
    typer.echo(f"{format_count(summary['games'], 'game')}, {format_count(summary['positions'], 'position')}")
    table_console().print(table)
    for what in ("share of games that go back", "returns per game"):
        typer.echo(f"{what}: {_numbers(summary[what])}" + (f" (paper {_numbers(PAPER[what])})" if is_paper else ""))
    typer.echo(f"most returns: {summary['most returns']}")
    for phase, moves in summary["division as Lichess shows it"].items():
        typer.echo(f"first {phase} move as Lichess divides games: {' +- '.join(map(str, moves)) or _MISSING}")


def _numbers(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " / ".join("?" if number is None else f"{number:g}" for number in value) or _MISSING
    return f"{value:g}"

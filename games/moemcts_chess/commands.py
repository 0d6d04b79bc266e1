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
STATISTICS_FILE = "stats.json"
"""The file with a dataset's statistics, next to its figures."""
_MISSING = "–"
"""Shown for a phase that no game reached."""
MAX_ERRORS_SHOWN = 10
"""Maximum number of skipped games whose errors are shown: a file that is not PGN is full of them."""

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
    from moemcts_chess.analysis import analyze_position, format_analysis

    chess_game = _load_game(game)
    try:
        state = chess_game.parse_state(fen)
    except ValueError as error:
        raise UsageError(str(error)) from None
    analysis = analyze_position(chess_game, state)
    if svg is not None:
        from moemcts.store import write_text
        from moemcts_chess.board import svg_board

        write_text(svg, svg_board(state))
    if as_json:
        print_json(analysis)
    else:
        typer.echo(format_analysis(chess_game, state, analysis))


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
    from moemcts.cli.consoles import print_json, print_rows
    from moemcts.plugins import plugins
    from moemcts.store import write_text
    from moemcts.weights import default_weights
    from moemcts_chess.annotation import table
    from moemcts_chess.game import MAX_PLIES
    from moemcts_chess.openings import quiet_builder, read_games
    from moemcts_chess.pgn import format_pgn

    chess_game = _load_game(game)
    if "max_plies" not in game:
        # The games were played to their end, however long they are.
        chess_game = _load_game(extend_reference(game, {"max_plies": MAX_PLIES}))
    if out.exists():
        raise UsageError(f"expected a new file, got --out {out}, which exists")
    if not (reference := agent or default_weights(chess_game)):
        raise UsageError(f"no experts come with {chess_game.variant}: give an --agent")
    try:
        pgn_games = list(read_games(games, quiet_builder()))
    except OSError as error:
        raise unreadable(str(games), error) from None
    judge = naming.resolve_agent(reference, chess_game)
    phase_gate = plugins().gate(gate, chess_game)
    annotated: list[Any] = []
    moves: list[JudgedMove] = []
    try:
        for pgn_game, judged_moves in _annotate_all(pgn_games, chess_game, judge, phase_gate, seed):
            annotated.append(pgn_game)
            moves += judged_moves
    finally:
        # Games annotated before an interruption are kept.
        if annotated:
            write_text(out, format_pgn(annotated))
    if not annotated:
        raise UsageError(f"expected games of {chess_game.variant} in {games}, found none that can be played")
    rows = table(moves)
    if as_json:
        num_left_out = len(pgn_games) - len(annotated)
        print_json({"games": len(annotated), "left out": num_left_out, "agent": judge.name, "rows": rows})
    else:
        typer.echo(f"{out}: {len(annotated)} of {len(pgn_games)} games, by {judge.name}")
        print_rows(rows)


def _annotate_all(
    pgn_games: Sequence[Any], game: ChessGame, agent: Agent, gate: PhaseGate, seed: int
) -> Iterator[tuple[Any, Sequence[JudgedMove]]]:
    """Yields the games that can be played, with annotations, and their judged moves."""
    from moemcts.arena.verdict import format_count
    from moemcts.cli.progress import ConsoleProgress
    from moemcts_chess.annotation import annotate
    from moemcts_chess.claims import without_claimable_draw
    from moemcts_chess.openings import positions

    progress, num_left_out = ConsoleProgress(), 0
    with progress.task("annotate", "games") as advance:
        for number, pgn_game in enumerate(pgn_games, start=1):
            try:
                states = positions(game, pgn_game, before_move=without_claimable_draw)
                if len(states) == 1:
                    # Text that is not PGN is parsed as such a game.
                    raise ValueError("it has no moves")
            except ValueError as error:
                num_left_out += 1
                if num_left_out <= MAX_ERRORS_SHOWN:
                    progress.say(f"game {number} is left out: {error}")
            else:
                yield pgn_game, annotate(game, pgn_game, states, agent, gate, seed=seed)
            advance(number, len(pgn_games))
    if num_left_out > MAX_ERRORS_SHOWN:
        progress.say(f"{format_count(num_left_out - MAX_ERRORS_SHOWN, 'more game')} left out")


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

    chess_game = _load_game(game)
    if chess_game.variant not in ("chess", "chess960"):
        raise UsageError(f"expected chess or chess960, whose endgames these are, got {game!r}")
    evaluations = {}
    for reference in experts:
        folder = experts_in(reference)
        encoded_game = encoded_as(folder, chess_game)
        evaluations[str(reference)] = assess(load_experts(folder, encoded_game, plugins()), encoded_game)
    if as_json:
        print_json({name: {**summary(rows), "rows": rows} for name, rows in evaluations.items()})
        return
    table = plain_table(["position", "truth", *evaluations])
    for rows_of_endgame in zip(*evaluations.values(), strict=True):
        cells = [f"{row['value']:+z.4f} {row['phase']}" for row in rows_of_endgame]
        add_row(table, [rows_of_endgame[0]["fen"], rows_of_endgame[0]["truth"], *cells])
    console = table_console()
    console.print(table)
    for name, rows in evaluations.items():
        console.print(_format_bishops(name, summary(rows)), soft_wrap=True, markup=False)
    for name, means in PAPER.items():
        console.print(_format_bishops(f"paper, {name}", means), soft_wrap=True, markup=False, style="dim")


def _format_bishops(name: str, means: Mapping[str, float]) -> str:
    return (
        f"{name}: mean |value| of draws {means['draws']:.4f}, towards the winner in wins {means['wins']:.4f}, "
        f"difference {means['wins'] - means['draws']:+z.4f}"
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

    chess_game = _load_game(game)
    wanted = game_filter(
        min_elo=min_elo, min_plies=min_plies, max_plies=max_plies, result=result or (), since=since, until=until
    )
    split = make_split(validation, test, seed or 0)
    if not isinstance(split, RandomSplit):
        check_effects({"--seed": seed}, "without a share for --validation or --test")
    report = _import_with_progress(files, chess_game, out, game, wanted, split, threads)
    if as_json:
        print_json(vars(report))
    else:
        typer.echo(_format_report(report, split, out))


def figures(
    data: Annotated[Path, typer.Option(help="A dataset, or an import with its splits.")],
    game: Annotated[str | None, typer.Option(help="The game, if it is not the one that the dataset names.")] = None,
    gate: Annotated[str, typer.Option(help="A gate of the game.")] = "lichess",
    out: Annotated[Path | None, typer.Option(help="A folder for the figures.")] = None,
    as_json: Json = False,
) -> None:
    """Count positions, first moves, results and returns by phase, next to the papers' numbers."""
    from moemcts.cli.consoles import print_json
    from moemcts.cli.outputs import check_output_folder
    from moemcts.plugins import plugins
    from moemcts.store import MANIFEST, read_toml
    from moemcts_chess.statistics import collect, dataset_folders, read_datasets

    if out is not None:
        check_output_folder(out, "figures", marks=[STATISTICS_FILE])
    folders = dataset_folders(data)
    chess_game = _load_game(game or str(read_toml(folders[0] / MANIFEST).get("game", "")))
    statistics = collect(read_datasets(folders, chess_game), chess_game, plugins().gate(gate, chess_game))
    summary = statistics.summary()
    if out is not None:
        from moemcts.store import write_json
        from moemcts_chess.plots import plot

        # Written first, as it marks the folder as ours in case of an interruption.
        write_json(out / STATISTICS_FILE, summary)
        plot(statistics, out)
    if as_json:
        print_json(summary)
    else:
        _print_statistics(summary, is_paper=gate == "lichess" and chess_game.variant == "chess")


def _import_with_progress(
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
    with ConsoleProgress().task("import", "bytes", lambda: format_count(num_games, "game")) as advance:

        def on_progress(done: int, total: int, games: int) -> None:
            nonlocal num_games
            num_games = games
            advance(done, total)

        return import_pgn(
            files,
            game,
            out,
            reference=reference,
            wanted=wanted,
            split=split,
            num_threads=threads,
            on_progress=on_progress,
        )


def _load_game(reference: str) -> ChessGame:
    """Returns a game of the chess family; raises UsageError for any other."""
    from moemcts.plugins import plugins
    from moemcts_chess.game import VARIANTS, ChessGame

    game = plugins().game(reference)
    if not isinstance(game, ChessGame):
        raise UsageError(f"expected a game of the chess family ({', '.join(VARIANTS)}), got {reference!r}")
    return game


def _format_report(report: ImportReport, split: Split, out: Path) -> str:
    from moemcts.arena.verdict import format_count
    from moemcts_chess.imports import REJECTION_REASONS, SPLITS

    lines = [
        f"{out}: {format_count(report.num_games, 'game')}, {format_count(report.num_positions, 'position')} "
        f"in {report.seconds:,.1f} s, {report.num_positions / max(report.seconds, 1e-9):,.0f} positions/s"
    ]
    lines += [
        f"  {name}: {format_count(counts['games'], 'game')}, {format_count(counts['positions'], 'position')}"
        for name, counts in report.splits.items()
    ]
    wanted = (name for name in SPLITS if getattr(split, name, None))
    lines += [f"  {name}: no games, so there is no {out / name}" for name in wanted if name not in report.splits]
    rejected = ((name, format_count(count, "game")) for name, count in report.rejected.items() if count)
    lines += [f"  left out by {name}: {count} ({REJECTION_REASONS[name]})" for name, count in rejected]
    if report.num_damaged:
        lines.append(f"  damaged: {format_count(report.num_damaged, 'game')}")
        lines += [f"    {damage}" for damage in report.damaged]
    return "\n".join(lines)


def _print_statistics(summary: Mapping[str, Any], *, is_paper: bool) -> None:
    from moemcts.arena.verdict import format_count
    from moemcts.cli.consoles import add_row, plain_table, table_console
    from moemcts_chess.statistics import PAPER

    table = plain_table(["", *summary["share of positions"]])
    for name in ("share of positions", "share of games", "first move", "results"):
        by_phase = summary[name]
        add_row(table, [name, *map(_format_numbers, by_phase.values())])
        if is_paper:
            paper = PAPER[name]
            add_row(table, ["  paper", *(_format_numbers(paper.get(phase, ())) for phase in by_phase)], style="dim")
    typer.echo(f"{format_count(summary['games'], 'game')}, {format_count(summary['positions'], 'position')}")
    table_console().print(table)
    for name in ("share of games that go back", "returns per game"):
        paper_text = f" (paper {_format_numbers(PAPER[name])})" if is_paper else ""
        typer.echo(f"{name}: {_format_numbers(summary[name])}{paper_text}")
    typer.echo(f"most returns: {summary['most returns']}")
    for phase, mean_and_deviation in summary["division as Lichess shows it"].items():
        text = " +- ".join(map(str, mean_and_deviation)) or _MISSING
        typer.echo(f"first {phase} move as Lichess divides games: {text}")


def _format_numbers(value: Any) -> str:
    """Returns a number, or several separated by slashes; `?` for an unknown one."""
    if isinstance(value, list | tuple):
        return " / ".join("?" if number is None else f"{number:g}" for number in value) or _MISSING
    return f"{value:g}"

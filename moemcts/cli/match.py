"""`moemcts match`: plays agents against each other, with confidence intervals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moemcts.cli.options import RANDOM_START, check_effects, check_num_games
from moemcts.cli.outputs import check_output_files
from moemcts.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from moemcts.arena.games import Progress
    from moemcts.arena.rating import Sprt
    from moemcts.arena.replays import WriteReplays
    from moemcts.runs.match import Match, MatchPlan, Result

EVENT = "moemcts match"
"""The event named in files of games."""
ORDERS = ("random", "sequential")
SPRT_MODELS = {"normalized": "normalized", "pentanomial": "logistic", "trinomial": "trinomial"}


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Measure")(match)


def match(
    game: Annotated[str, typer.Option(help="A registered game.")],
    agent: Annotated[
        list[str],
        typer.Option(help="An agent or a folder of experts, with options: `runs/X/experts/steps-0?simulations=200`."),
    ],
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            "--field",
            help="The agent in all other seats, against each agent in turn. Without it two or more agents play each "
            "other, and one plays the game's default agent. In games of one player each plays alone.",
        ),
    ] = None,
    num_games: Annotated[
        int | None, typer.Option("--games", min=1, help="Games, about 100 by default; with --against, of each agent.")
    ] = None,
    pairs: Annotated[
        int | None,
        typer.Option(min=1, help="Openings, in place of --games; each is played in all rotations."),
    ] = None,
    openings: Annotated[
        str, typer.Option(help="A file of positions (lines, EPD, PGN), or `seeds`: the game's own starts.")
    ] = "seeds",
    openings_order: Annotated[
        str | None,
        typer.Option(help="Order of the openings in a file: random, drawn by --seed (the default), or sequential."),
    ] = None,
    openings_plies: Annotated[
        int | None, typer.Option(min=0, help="Plies of each line of a PGN file; all by default.")
    ] = None,
    random_plies: Annotated[
        int | None,
        typer.Option(min=0, help=f"Random plies before the agents play; {RANDOM_START}."),
    ] = None,
    simulations: Annotated[
        int | None,
        typer.Option(min=0, help="For agents that name no limit: simulations per move; 0 plays the experts' policy."),
    ] = None,
    nodes: Annotated[int | None, typer.Option(min=1, help="For agents that name no limit: nodes per move.")] = None,
    seconds: Annotated[
        float | None,
        typer.Option(min=0.0, help="For agents that name no limit: time per move; games are then played one by one."),
    ] = None,
    sprt: Annotated[
        str | None,
        typer.Option(
            help="Stop once the test is decided: `elo0,elo1[,alpha,beta][,model=normalized]`; models normalized, "
            "pentanomial, trinomial."
        ),
    ] = None,
    adjudicate: Annotated[
        str, typer.Option(help="`papers`, `papers?draw_from=40&resign_moves=0`, or off: games are played out.")
    ] = "off",
    max_plies: Annotated[int | None, typer.Option(min=1, help="Games are ties after so many plies.")] = None,
    agent_timeout: Annotated[
        float | None, typer.Option(min=0.001, help="Seconds per decision, beyond which an agent loses the game.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    parallel: Annotated[int, typer.Option(min=1, help="Games played at once, which share batches.")] = 256,
    workers: Annotated[
        int, typer.Option(min=0, help="Processes that share the games; 0: one per core. The games are the same.")
    ] = 1,
    out: Annotated[
        Path | None, typer.Option(help="File for the finished games, from which an interrupted match is resumed.")
    ] = None,
    pgn: Annotated[Path | None, typer.Option(help="Write the games as PGN, in games that have it.")] = None,
    replays: Annotated[
        Path | None, typer.Option(help="Write the games with all thoughts; the ending names the format: .jsonl.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Let agents play each other, or the same games against the same opponents, and report who is better.

    Agents play each other on every opening once per rotation of the seats. With --against, each agent plays the same
    openings from the same seats against the same opponents; the first agent is the baseline for the others. In games of
    one player, agents play the same starts, and the higher return is better.
    """
    from moemcts.arena.adjudication import parse_adjudication
    from moemcts.cli.consoles import print_json
    from moemcts.cli.match_table import print_result
    from moemcts.naming import check_limits
    from moemcts.plugins import plugins
    from moemcts.runs.match import MatchPlan

    if num_games is not None and pairs is not None:
        raise UsageError("expected --games or --pairs, got both")
    check_num_games("--games", num_games)
    check_num_games("--pairs", pairs)
    if openings_order not in (None, *ORDERS):
        raise UsageError(f"expected --openings-order {' or '.join(ORDERS)}, got {openings_order!r}")
    file = None if openings == "seeds" else Path(openings)
    if file is None:
        options_of_files = {"--openings-order": openings_order, "--openings-plies": openings_plies}
        check_effects(options_of_files, "without --openings FILE")
    else:
        check_effects({"--random-plies": random_plies}, "with --openings, games begin in the file's positions")
    loaded_game = plugins().game(game)
    if against is None and len(agent) == 1 and loaded_game.spec.num_players > 1:
        against = plugins().player(loaded_game)
    limit_options = {"simulations": simulations, "nodes": nodes, "seconds": seconds}
    limits = {name: value for name, value in limit_options.items() if value is not None}
    check_limits([*agent, *([] if against is None else [against])], loaded_game, limits)
    prepared = _prepare(
        MatchPlan(
            game=game,
            agents=tuple(agent),
            against=against,
            seed=seed,
            openings=file,
            order="sequential" if openings_order == "sequential" else "random",
            opening_plies=openings_plies,
            random_plies=random_plies,
            limits=limits,
            max_plies=max_plies,
            adjudication=parse_adjudication(adjudicate),
            sprt=None if sprt is None else parse_sprt(sprt),
            agent_timeout=agent_timeout,
            max_parallel=parallel,
            num_workers=workers,
        ),
        num_games,
        pairs,
        out,
    )
    formats = _formats(prepared, pgn, replays)
    outputs = [path for path in (out, pgn, replays) if path is not None]
    check_output_files(outputs, ours=[path for path, _ in formats], mark=EVENT)
    result = _play(prepared, out, keep_thoughts=bool(formats))
    # Printed first, in case the files cannot be written.
    if as_json:
        field = {} if against is None else {"against": against}
        print_json({"seed": seed, **field, **prepared.opening_settings.to_json(), **result.to_json()})
    else:
        print_result(result, prepared.opening_settings, against=against)
    for path, write in formats:
        from moemcts.arena.replays import replays_of

        write(path, replays_of(prepared.game, prepared.lineups, result.records, f"{EVENT}, {game}"))


def parse_sprt(text: str) -> Sprt:
    """Returns the test given as `elo0,elo1[,alpha,beta][,model=...]`; raises UsageError for anything else."""
    from moemcts.arena.rating import Sprt
    from moemcts.errors import unknown_name

    *numbers, last = text.split(",")
    model = "normalized"
    if last.startswith("model="):
        model = last.removeprefix("model=")
        if model not in SPRT_MODELS:
            raise unknown_name("model of a sequential test", model, SPRT_MODELS)
    else:
        numbers.append(last)
    try:
        values = [float(number) for number in numbers]
        if len(values) not in (2, 4):
            raise ValueError(f"got {len(values)} numbers")
        parameters = dict(zip(("elo0", "elo1", "alpha", "beta"), values, strict=False))
        return Sprt(**parameters, model=SPRT_MODELS[model])  # type: ignore[arg-type]
    except ValueError as error:
        raise UsageError(f"expected --sprt elo0,elo1[,alpha,beta][,model=...], got {text!r}: {error}") from None


def _prepare(plan: MatchPlan, num_games: int | None, pairs: int | None, out: Path | None) -> Match:
    """Returns a match of `num_games` games, by default of `pairs` openings or of the plan's games.

    The default is rounded up to complete the last opening.
    """
    from dataclasses import replace

    from moemcts.runs.match import Match, resume_plan

    plan = resume_plan(plan, out)
    prepared = Match(plan)
    num_openings = pairs or -(-plan.num_games // prepared.num_seatings)
    wanted_games = num_games or num_openings * prepared.num_seatings
    return prepared if wanted_games == plan.num_games else Match(replace(plan, num_games=wanted_games))


def _formats(prepared: Match, pgn: Path | None, replays: Path | None) -> list[tuple[Path, WriteReplays]]:
    """Returns the files to write games to and their formats, so that unknown formats fail before the first game."""
    from moemcts.plugins import plugins

    if pgn is not None and "pgn" not in plugins().replay_formats.for_game(prepared.game.spec.name):
        raise UsageError(f"{prepared.game.spec.name} has no PGN; --replays FILE.jsonl keeps its games")
    if replays is not None and not replays.suffix:
        raise UsageError(f"expected --replays with an ending that names the format, such as .jsonl, got {replays}")
    formats_by_path = [(pgn, "pgn"), (replays, replays.suffix.removeprefix(".") if replays is not None else "")]
    return [(path, plugins().replay_format(name, prepared.game)) for path, name in formats_by_path if path is not None]


def _play(prepared: Match, out: Path | None, *, keep_thoughts: bool) -> Result:
    from moemcts.arena.playing import MatchCallbacks
    from moemcts.arena.verdict import format_count
    from moemcts.cli.progress import ConsoleProgress, interruptible
    from moemcts.cli.running_score import RunningScore

    progress = ConsoleProgress()
    if prepared.suite is not None and prepared.suite.warning:
        progress.say(f"warning: {prepared.suite.warning}")
    if prepared.is_timed and prepared.plan.num_workers != 1:
        progress.say(
            "warning: an agent is limited by time, so games are played one after the other, not in --workers processes"
        )
    num_extra = prepared.plan.num_games % prepared.num_seatings
    if num_extra and prepared.plan.num_games > prepared.num_seatings:
        num_complete = prepared.plan.num_games - num_extra + prepared.num_seatings
        progress.say(
            f"warning: the last opening is played from {num_extra} of {prepared.num_seatings} seats; "
            f"--games {num_complete} plays it from all"
        )
    score = RunningScore(prepared, _once(progress.say))

    def resume_hint() -> str:
        games = f"{format_count(score.num_games, 'finished game')} {'is' if score.num_games == 1 else 'are'}"
        return f"{games} in {out}, the same command resumes" if out else ""

    with interruptible(progress, resume_hint), progress.task("match", "games", score.describe) as advance:

        def report(progress: Progress) -> None:
            score.num_plies = progress.num_plies
            advance(progress.num_finished, prepared.num_games)

        return prepared.play(out, callbacks=MatchCallbacks(report, score.add), keep_thoughts=keep_thoughts)


def _once(say: Callable[[str], None]) -> Callable[[str], None]:
    """Returns a wrapper of `say` that drops repeated lines."""
    printed: set[str] = set()

    def say_once(text: str) -> None:
        if text not in printed:
            printed.add(text)
            say(text)

    return say_once

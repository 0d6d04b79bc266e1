"""`moemcts games | gates | agents | networks | schemes | plugins`: lists what is registered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from moemcts.errors import MoemctsError, UsageError
from moemcts.hooks import format_counts
from moemcts.options import defaults_of, format_type, option_types, takes_any_option
from moemcts.plugins import plugins
from moemcts.references import format_value
from moemcts.registry import Registry

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Name = Annotated[str | None, typer.Argument(help="Of this one, the options, as in `name?option=value`.")]
GameName = Annotated[str | None, typer.Option("--game", help="Only what this game can use.")]

EXPERTS = "experts"
"""The name that stands for the agent of a folder of experts."""


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Look around")(games)
    app.command(rich_help_panel="Look around")(gates)
    app.command(rich_help_panel="Look around")(agents)
    app.command(rich_help_panel="Look around")(networks)
    app.command(rich_help_panel="Look around")(schemes)
    app.command("plugins", rich_help_panel="Look around")(list_plugins)


def games(as_json: Json = False) -> None:
    """List the games."""
    rows = []
    for name, entry in plugins().games.items():
        row: dict[str, Any] = {"game": name, "summary": entry.summary}
        if name.endswith(":"):
            rows.append(row | {"family": True})
            continue
        try:
            spec = plugins().game(name).spec
        except MoemctsError as error:
            row["error"] = str(error)
        else:
            row |= {"players": spec.num_players, "actions": spec.num_actions}
            row |= {"planes": list(spec.observation_shape)}
            row |= {"gates": list(plugins().gates.for_game(spec.name))}
        rows.append(row)
    # Everything else about a game is listed by name: `moemcts gates --game NAME`.
    _print_rows(rows if as_json else [_shorten(row) for row in rows], as_json)


def _shorten(row: Mapping[str, Any]) -> dict[str, Any]:
    short_row = {"game": row["game"], "players": row.get("players", ""), "summary": row["summary"]}
    return short_row | ({"error": row["error"]} if "error" in row else {})


def gates(name: Name = None, game: GameName = None, as_json: Json = False) -> None:
    """List the gates, which tell the phase of the game that a position is in, or the options of one."""
    _print_entries("gate", plugins().gates, name, game, as_json, num_given=1)


def agents(
    name: Annotated[
        str | None,
        typer.Argument(help="Show the options of this agent; `experts` for those of a folder of experts."),
    ] = None,
    game: GameName = None,
    as_json: Json = False,
) -> None:
    """List the agents that come with the games, or the options of one."""
    if name == EXPERTS:
        from moemcts.naming.experts import expert_options

        options = expert_options().items()
        rows = [{**_option(name, option.kind, option.default), "meaning": option.meaning} for name, option in options]
        _print_rows(rows, as_json)
        return
    _print_entries("agent", plugins().agents, name, game, as_json, num_given=1)


def networks(
    name: Name = None,
    game: Annotated[str | None, typer.Option(help="The game whose positions the measured networks see.")] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(help="A network to measure: parameters, multiply-adds, time; with --game, may be repeated."),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the networks or the options of one, or measure some of them."""
    if (game is None) != (not measure):
        raise UsageError("expected --game and --measure together")
    if measure and name is not None:
        raise UsageError(f"{name} has no effect with --measure; write --measure {name} to measure it too")
    if game is None or measure is None:
        _print_entries("network", plugins().networks, name, None, as_json, num_given=2)
        return
    from moemcts.learn.networks.cost import network_cost

    loaded_game = plugins().game(game)
    shape, num_actions = loaded_game.spec.observation_shape, loaded_game.spec.num_actions
    references = [plugins().complete_network(name, loaded_game) for name in measure]
    rows = [
        {"network": name, **asdict(network_cost(plugins().network(name, shape, num_actions), shape))}
        for name in references
    ]
    _print_rows(
        rows if as_json else [{key: _format_number(value) for key, value in row.items()} for row in rows], as_json
    )


def _format_number(value: Any) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def schemes(name: Name = None, as_json: Json = False) -> None:
    """List the learning schemes, or the options of one."""
    _print_entries("scheme", plugins().schemes, name, None, as_json, num_given=0)


def list_plugins(as_json: Json = False) -> None:
    """List the installed plugins, what they register, and the errors of those that do not load."""
    strays = dict(plugins().unknown_games())
    for name, error in plugins().register_commands(typer.Typer(), typer.Typer()).items():
        strays[name] = [*strays.get(name, []), f"its commands are left out: {error}"]
    infos = [asdict(info) | {"strays": strays.get(info.name, [])} for info in plugins().infos]
    _print_rows(infos if as_json else list(map(_plugin_row, infos)), as_json)


def _plugin_row(info: dict[str, Any]) -> dict[str, Any]:
    return {
        "plugin": info["name"],
        "module": info["module"],
        "distribution": f"{info['distribution']} {info['version']}",
        "registers": format_counts(info["registers"]) if info["error"] is None else "",
        "state": info["error"] or "; ".join(filter(None, ["ok", info["note"], *info["strays"]])),
    }


def _print_entries(
    kind: str,
    entries: Registry,
    name: str | None,
    game: str | None,
    as_json: bool,
    *,
    num_given: int,
) -> None:
    """Prints the entries of a registry, or the options of one.

    The first `num_given` parameters of an entry's maker are not options.
    """
    if game is not None:
        entries = entries.for_game(plugins().game(game).spec.name)
    if name is not None:
        if name not in entries:
            raise entries.unknown(name, [EXPERTS] if kind == "agent" else [])
        _print_rows(_options(entries[name].make, num_given=num_given), as_json)
        return
    rows = [
        {kind: entry.name, "summary": entry.summary, "games": ", ".join(entry.games) or "all"}
        for entry in entries.values()
    ]
    _print_rows(rows, as_json)


def _options(make: Callable[..., Any], *, num_given: int) -> list[dict[str, str]]:
    """Returns the options of a maker with types and defaults."""
    defaults = defaults_of(make)
    types = option_types(make, num_given=num_given)
    rows = [_option(option, kind, defaults.get(option)) for option, kind in types.items()]
    return [*rows, _option("any", None, None)] if takes_any_option(make) else rows


def _option(name: str, kind: Any, default: Any) -> dict[str, str]:
    return {
        "option": name,
        "type": "" if kind is None else format_type(kind),
        "default": "" if default is None else format_value(default),
    }


def _print_rows(rows: Sequence[Mapping[str, Any]], as_json: bool) -> None:
    from moemcts.cli.consoles import print_json, print_rows

    if as_json:
        print_json(rows)
    else:
        print_rows(rows)

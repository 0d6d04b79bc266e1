"""Replays: games of a match as files with the agents' decisions, one line of JSON each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from moemcts.agents import Decision
from moemcts.arena.records import THOUGHT_FIELDS, GameRecord, Lineup, check_moves
from moemcts.errors import DamagedFile, ForeignData, MoemctsError, unreadable
from moemcts.game import Game, Player, State
from moemcts.store import parse_json, write_text

FORMAT = "moemcts replay 1"


class Move(NamedTuple):
    """A decision of one player in a position."""

    player: Player
    decision: Decision
    text: str
    """The action in the game's usual notation."""


@dataclass(frozen=True, kw_only=True)
class Replay:
    """A game of a match that can be replayed."""

    game: Game
    start: State
    record: GameRecord
    event: str = ""

    def positions(self) -> Iterator[tuple[State, list[Move]]]:
        """Yields each position with the moves made in it; the last one has none."""
        state = self.start
        for ply, joint in enumerate(self.record.moves):
            players = state.active_players
            recorded = self.record.decisions
            decisions = recorded[ply] if recorded else [Decision(action=action) for action in joint]
            yield (
                state,
                [
                    Move(player, decision, self.game.format_action(state, player, decision.action))
                    for player, decision in zip(players, decisions, strict=True)
                ],
            )
            state = state.play(joint)
        yield state, []


WriteReplays = Callable[[Path, Sequence[Replay]], None]
"""Writes a file of replays atomically."""


def replays_of(game: Game, lineups: Sequence[Lineup], records: Iterable[GameRecord], event: str) -> list[Replay]:
    """Returns the replays of games that were played from a schedule, in its order."""
    return [
        Replay(game=game, start=lineups[record.index].start(game), record=record, event=event)
        for record in sorted(records, key=lambda record: record.index)
    ]


def write_jsonl(path: Path, replays: Sequence[Replay]) -> None:
    """Writes one game per line: agents, result, and every position with its moves and the agents' search data."""
    write_text(path, "".join(json.dumps(_to_json(replay), allow_nan=False) + "\n" for replay in replays))


def read_jsonl(path: Path, game: Game) -> list[Replay]:
    """Reads the output of `write_jsonl`.

    Raises ForeignData for games of another name, DamagedFile with the number of a line that cannot be replayed,
    UsageError if the file does not exist.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise unreadable(f"the replays {path}", error) from error
    except UnicodeDecodeError as error:
        raise MoemctsError(f"cannot read the replays {path}: {error}") from error
    replays = []
    for number, line in enumerate(lines, start=1):
        try:
            values = parse_json(line)
            if values["format"] != FORMAT:
                raise ValueError(f"expected format {FORMAT!r}, got {values['format']!r}")
            if values["game"] != game.spec.name:
                raise ForeignData(f"{path}, line {number}: expected a game of {game.spec.name}, got {values['game']}")
            replays.append(_from_json(values, game))
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise DamagedFile(f"{path}, line {number}: expected a game of a match, got {error!r}") from error
    return replays


def _to_json(replay: Replay) -> dict[str, Any]:
    record = replay.record.to_json()
    for name in ("moves", "thoughts"):
        record.pop(name, None)
    return {
        "format": FORMAT,
        "game": replay.game.spec.name,
        "event": replay.event,
        "record": record,
        "positions": [
            {
                "position": replay.game.format_state(state),
                "moves": [
                    {"player": move.player, "action": move.decision.action, "text": move.text}
                    | _thought_json(move.decision)
                    for move in moves
                ],
            }
            for state, moves in replay.positions()
        ],
    }


def _thought_json(decision: Decision) -> dict[str, Any]:
    return {} if decision.value is None else {name: getattr(decision, name) for name in THOUGHT_FIELDS}


def _from_json(values: dict[str, Any], game: Game) -> Replay:
    plies = [entry["moves"] for entry in values["positions"]][:-1]
    thoughts = [[_thought(move) for move in moves] for moves in plies]
    record = GameRecord.from_json(
        values["record"]
        | {
            "moves": " ".join(",".join(str(move["action"]) for move in moves) for moves in plies),
            "thoughts": thoughts if any(any(joint) for joint in thoughts) else [],
        }
    )
    start = game.parse_state(values["positions"][0]["position"])
    check_moves(start, record.moves)
    return Replay(game=game, start=start, record=record, event=values["event"])


def _thought(move: dict[str, Any]) -> list[Any] | None:
    return [move[name] for name in THOUGHT_FIELDS] if "value" in move else None

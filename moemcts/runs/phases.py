"""Descriptions of a gate's phases: their frequencies in a dataset and their course over a game."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moemcts.arena.records import GameRecord
from moemcts.game import Game, State
from moemcts.gates import PhaseGate
from moemcts.report.outcomes import Phases, Timeline

if TYPE_CHECKING:
    from moemcts.experts import ExpertSet
    from moemcts.learn.data.dataset import Dataset


def describe_phases(reference: str, label: str, gate: PhaseGate, dataset: Dataset, timeline: Timeline | None) -> Phases:
    """Returns the frequency of each of a gate's phases in a dataset, together with one game."""
    summary = (type(gate).__doc__ or "").split("\n\n")[0].replace("\n", " ")
    return Phases(
        gate=reference,
        label=label,
        text=f"{summary} {_describe_parameters(gate)}".strip(),
        names=tuple(gate.phase_names),
        counts=dataset.phase_counts(gate),
        num_samples=len(dataset),
        timeline=timeline,
    )


def _describe_parameters(gate: PhaseGate) -> str:
    """Returns a sentence on the parameters of a gate, such as its cuts; empty if it has none."""
    formatted = {
        key: ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        for key, value in gate.parameters.items()
    }
    return f"Made with {'; '.join(f'{key} {text}' for key, text in formatted.items())}." if formatted else ""


def timeline_of(record: GameRecord, start: State | int, game: Game, team: ExpertSet) -> Timeline | None:
    """Returns a recorded game as seen by a team from its seat; None if it was never to move."""
    player = record.focus or 0
    states = _replay(record, start, game)
    own_turns = [state for state in states if player in state.active_players]
    if not own_turns:
        return None
    views = game.views([(state, player) for state in own_turns])
    value = team.evaluate(views).value
    return Timeline(
        player=player,
        plies=tuple(state.ply for state in own_turns),
        weights=team.gate.weights(views),
        values=tuple(map(float, value if value.ndim == 1 else value[:, 0])),
        outcome=record.outcome or "game without an end",
        first_ply=states[0].ply,
        last_ply=states[-1].ply,
    )


def _replay(record: GameRecord, start: State | int, game: Game) -> list[State]:
    """Returns the positions of a recorded game, from its start."""
    states = [game.initial_state(start) if isinstance(start, int) else start]
    for joint in record.moves:
        states.append(states[-1].play(joint))
    return states

"""Analysis of a position: phases, features and legal moves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from moemcts.native import core
from moemcts_chess.game import ChessGame


def analyze_position(game: ChessGame, state: Any) -> dict[str, Any]:
    """Returns the phase by each gate, the measures of gates, legal moves and the state of the game, as JSON values."""
    from moemcts.plugins import plugins

    players = state.active_players
    views = game.views([(state, players[0] if players else 0)])
    phases = {}
    for name, entry in plugins().gates.for_game(game.spec.name).items():
        if entry.is_learned:
            continue
        gate = plugins().gate(name, game)
        phases[name] = gate.phase_names[int(gate.weights(views)[0].argmax())]
    features = {name: state.measure(name) for name in core.chess_measures() if name not in phases}
    moves = [state.uci(action) for player in players for action in state.legal_actions(player)]
    return {
        "game": game.spec.name,
        "fen": state.fen(),
        "ply": state.ply,
        "phases": phases,
        "features": features,
        "repetitions": state.repetitions,
        "legal moves": sorted(moves),
        "over": state.termination,
        "returns": [float(value) for value in state.returns()] if state.termination else None,
    }


def format_analysis(game: ChessGame, state: Any, analysis: Mapping[str, Any]) -> str:
    """Returns the analysis as text."""
    lines = [game.render(state), ""]
    lines += [f"{name + ' gate':<24} {phase}" for name, phase in analysis["phases"].items()]
    lines.append("")
    lines += [f"{name:<24} {number}" for name, number in analysis["features"].items()]
    lines.append("")
    if analysis["over"]:
        white, black = analysis["returns"]
        lines.append(f"over by {analysis['over']}: White {white:+g}, Black {black:+g}")
    else:
        san = [state.san(action) for player in state.active_players for action in state.legal_actions(player)]
        lines.append(f"{len(san)} legal moves: {' '.join(sorted(san))}")
    return "\n".join(lines)

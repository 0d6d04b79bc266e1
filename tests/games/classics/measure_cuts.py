"""Prints the number of lost pieces in positions of games between `uct` agents after random opening moves.

PYTHONPATH=games python tests/games/classics/measure_cuts.py [GAMES]
"""

from __future__ import annotations

import sys

import numpy as np

from moemcts.agents import Seat
from moemcts.search.playouts import PlayoutAgent
from moemcts_classics.breakthrough import Breakthrough

RANDOM_PLIES = 6
PLAYOUTS = 200


def main(num_games: int) -> None:
    game = Breakthrough()
    agent = PlayoutAgent(game, playouts=PLAYOUTS, exploration=1.4)
    lost, lengths = [], []
    for seed in range(num_games):
        rng = np.random.default_rng(seed)
        seat = Seat(0, rng)
        state = game.initial_state()
        while state.active_players:
            (player,) = state.active_players
            views = game.views([(state, player)])
            lost.append(32 - int(views.stones()[0]))  # type: ignore[attr-defined]
            if state.ply < RANDOM_PLIES:
                action = int(rng.choice(state.legal_actions(player)))
            else:
                (decision,) = agent.act(views, [seat])
                action = decision.action
            state = state.play([action])
        lengths.append(state.ply)
    print(f"{num_games} games, {len(lost)} positions, mean length {np.mean(lengths):.1f}")
    for cut in range(1, 12):
        print(f"fewer than {cut} lost: {np.mean(np.array(lost) < cut):.3f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)

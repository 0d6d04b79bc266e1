"""Prints the terciles that the default cuts of the gates come from: `python tests/games/pommerman/measure_cuts.py`."""

from __future__ import annotations

import numpy as np

from moemcts_pommerman import native, variant

GAMES = 300


def main() -> None:
    for env in ("PommeFFACompetition-v0", "PommeTeam-v0", "PommeRadioCompetition-v2", "OneVsOne-v0"):
        game = variant(env)
        steps, distances = [], []
        for seed in range(GAMES):
            state = game.initial_state(seed)
            players = [native.Player("simple", seed * 4 + player) for player in range(game.spec.num_players)]
            while not state.is_over:
                views = native.Views([(state, player) for player in state.living])
                steps.append(views.plies())
                distances.append(views.nearest_opponents())
                state = state.step([agent.choose(state, player) for player, agent in enumerate(players)])[0]
        for name, numbers in (("steps", steps), ("mixedness", distances)):
            values = np.concatenate(numbers)
            print(env, name, len(values), "views, terciles", np.quantile(values, [1 / 3, 2 / 3]))


if __name__ == "__main__":
    main()

"""How long a search without learning balances CartPole's pole, with a constant or random playouts at the leaves.

python benchmarks/cartpole.py constant --simulations 256 --record
python benchmarks/cartpole.py constant --simulations 1024 --discount 1 --c 0.1 --reuse --episodes 3 --record
python benchmarks/cartpole.py playouts --simulations 64 --record
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from measuring import record

from moemcts.agents import Seat
from moemcts.evaluation import Evaluator, RolloutEvaluator, UniformEvaluator
from moemcts.search import SearchAgent, SearchConfig
from moemcts_gymnasium import make


def main() -> None:
    """Plays episodes and prints their lengths."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("evaluator", choices=("constant", "playouts"))
    parser.add_argument("--simulations", type=int, default=64)
    parser.add_argument("--playouts", type=int, default=1, help="per leaf")
    parser.add_argument("--discount", type=float, default=0.99)
    parser.add_argument("--c", type=float, default=0.5, help="exploration; rewards are small beside it otherwise")
    parser.add_argument("--reuse", action="store_true", help="keep the part of the tree below the step taken")
    parser.add_argument("--episodes", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0, help="of the first episode")
    record.add_option(parser)
    options = parser.parse_args()
    game = make("CartPole-v1", discount=options.discount)
    evaluator: Evaluator = UniformEvaluator(game.spec)
    if options.evaluator == "playouts":
        evaluator = RolloutEvaluator(game.spec, num_rollouts=options.playouts, seed=0)
    config = SearchConfig(
        simulations=options.simulations, c_init=options.c, first_play_urgency="parent", reuse=options.reuse
    )
    agent = SearchAgent(game, evaluator, config, name="search")
    steps, places, started = [], [], time.process_time()
    for seed in range(options.seed, options.seed + options.episodes):
        state, seat = game.initial_state(seed), Seat(0, np.random.default_rng(seed))
        while state.active_players:
            (decision,) = agent.act(game.views([(state, 0)]), [seat])
            state = state.play([decision.action])
        steps.append(state.ply)
        places.append(round(float(state.seen[0]), 2))
        print(f"seed {seed}: {state.ply} steps, the cart at {places[-1]}", flush=True)
    leaf = "a constant" if options.evaluator == "constant" else f"{options.playouts} playouts at random"
    reuse_note = ", the tree kept" if options.reuse else ""
    horizon = "" if options.discount == parser.get_default("discount") else f", discount {options.discount:g}"
    first = f", from seed {options.seed}" if options.seed else ""
    row = {
        "name": f"CartPole-v1, {options.simulations} simulations, {leaf}{horizon}{reuse_note}{first}",
        "steps": steps,
        "cart": places,
        "discount": options.discount,
        "c": options.c,
        "reuse": options.reuse,
        "seconds per step": round((time.process_time() - started) / sum(steps), 4),
        "seed": options.seed,
    }
    print(row)
    if options.record:
        record.append("cartpole", [row])


if __name__ == "__main__":
    main()

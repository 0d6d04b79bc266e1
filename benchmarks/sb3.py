"""Stable-Baselines3's PPO against random opponents in the Pommerman environments, as rows of results.

python benchmarks/sb3.py [--env moemcts/PommermanOneVsOne-v0] [--steps 40000] [--games 200] [--seed 0] [--record]

The mean reward per game before and after training, with moves sampled from the policy, and with its most likely moves:
1 is a win, -1 a loss or a game that reached its limit. Needs `pip install stable-baselines3`. The measurements of the
tutorial docs/tutorials/stable-baselines3.md.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import math
import time

import gymnasium
import numpy as np
import torch
from measuring.record import add_option, append
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor

import moemcts_pommerman  # noqa: F401

NUM_ENVS = 4


def main() -> None:
    """Trains and prints; appends to the results with `--record`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", default="moemcts/PommermanOneVsOne-v0")
    parser.add_argument("--steps", type=int, default=40_000)
    parser.add_argument("--games", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    add_option(parser)
    options = parser.parse_args()
    torch.set_num_threads(1)
    envs = make_vec_env(options.env, n_envs=NUM_ENVS, seed=options.seed, env_kwargs={"opponents": "random"})
    model = PPO("MlpPolicy", envs, seed=options.seed, device="cpu")
    before = rewards(model, options, is_drawn=True)
    began = time.perf_counter()
    model.learn(options.steps)
    seconds = time.perf_counter() - began
    after, likeliest = (rewards(model, options, is_drawn=is_drawn) for is_drawn in (True, False))
    row: dict[str, object] = {
        "name": f"PPO, MlpPolicy, {options.env} against random opponents, {options.steps} steps",
        "value": round(float(after.mean()), 3),
        "unit": "mean reward per game",
        "error": round(float(after.std()) / math.sqrt(len(after)), 3),
        "likeliest moves": round(float(likeliest.mean()), 3),
        "error of likeliest moves": round(float(likeliest.std()) / math.sqrt(len(likeliest)), 3),
        "before": round(float(before.mean()), 3),
        "error before": round(float(before.std()) / math.sqrt(len(before)), 3),
        "games": options.games,
        "steps per second": round(options.steps / seconds),
        "seed": options.seed,
        "versions": {name: importlib.metadata.version(name) for name in ("stable-baselines3", "gymnasium", "torch")},
    }
    print(row)
    if options.record:
        append("sb3", [row])


def rewards(model: PPO, options: argparse.Namespace, *, is_drawn: bool) -> np.ndarray:
    """Returns the rewards of evaluation games, `[G]`, with moves sampled from the policy or its most likely ones."""
    env = Monitor(gymnasium.make(options.env, opponents="random"))
    env.reset(seed=options.seed + 1000)
    returns, _ = evaluate_policy(
        model, env, n_eval_episodes=options.games, deterministic=not is_drawn, return_episode_rewards=True
    )
    return np.array(returns)


if __name__ == "__main__":
    main()

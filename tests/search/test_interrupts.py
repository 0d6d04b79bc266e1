"""Ctrl-C ends what runs natively."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

SETUP = """
import os, signal, sys, threading, time
import numpy as np
from moemcts.agents import Seat
from moemcts.plugins import plugins
from moemcts.search import Search, SearchConfig
from moemcts.evaluation import UniformEvaluator
def act(name, game):
    game = plugins().game(game)
    state = game.initial_state(0)
    plugins().agent(name, game).act(game.views([(state, 0)]), [Seat(0, np.random.default_rng(0))])
def queens():
    game = plugins().game("chess")
    state = game.parse_state("qqqqkqqq/qqqqqqqq/8/8/8/8/QQQQQQQQ/QQQQKQQQ w - - 0 1")
    game.views([(state, 0)]).alpha_beta(depth=1)
def proven(threads):
    # Every descent ends in a known result, and none is ever proven: one `select` would go on for hours.
    game = plugins().game("pommerman-1v1?max_steps=1")
    roots = [(game.initial_state(seed), 0) for seed in range(4)]
    search = Search(game, SearchConfig(simulations=4_000_000_000, num_threads=threads))
    search.reset(game.views(roots), list(range(4)))
    search.run(UniformEvaluator(game.spec))
def short(threads):
    # Each tree makes fewer descents than those between two looks at signals: only the thread that waits hears of one.
    game = plugins().game("connect-four")
    roots = game.views([(game.initial_state(), 0)] * 2000)
    search = Search(game, SearchConfig(simulations=10**9, leaves_per_tree=60, num_threads=threads))
    while True:
        search.reset(roots, list(range(2000)))
        search.backup(UniformEvaluator(game.spec).evaluate(search.select()))
        search.select()
# Not while modules are still imported, on a machine that is busy: the interrupt has to come in the loop.
plugins().game("chess"), plugins().game("pommerman")
threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    {call}
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize(
    "call",
    [
        "act('uct?seconds=99999', 'chess')",
        "act('flat?seconds=99999', 'pommerman')",
        "act('alpha-beta?depth=30', 'chess')",
        # The captures of the first ply alone take hours.
        "queens()",
        "plugins().game('chess').initial_state().perft(9)",
        "plugins().game('chess').views([(plugins().game('chess').initial_state(), 0)]).playouts(2**31, 0)",
        "proven(1)",
        "proven(2)",
        "short(2)",
    ],
)
def test_an_interrupt_ends_a_native_loop(call: str) -> None:
    script = SETUP.replace("{call}", call)
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "interrupted\n", done.stderr
    # Two seconds of it are imports; the machine may be busy.
    assert time.monotonic() - started < 60

"""Ctrl-C ends what runs natively."""

from __future__ import annotations

import subprocess
import sys

CALLS = [
    "act('uct?seconds=99999', 'chess')",
    "act('flat?seconds=99999', 'pommerman')",
    "act('alpha-beta?depth=30', 'chess')",
    # The captures of the first ply alone take hours.
    "queens()",
    "lambda: chess.initial_state().perft(9)",
    "lambda: chess.views([(chess.initial_state(), 0)]).playouts(2**31, 0)",
    "proven(1)",
    "proven(2)",
    "short(2)",
]
SCRIPT = """
import os, signal, threading
import numpy as np
from moemcts.agents import Seat
from moemcts.plugins import plugins
from moemcts.search import Search, SearchConfig
from moemcts.evaluation import UniformEvaluator
chess = plugins().game("chess")
def act(name, game):
    game = plugins().game(game)
    state, agent = game.initial_state(0), plugins().agent(name, game)
    return lambda: agent.act(game.views([(state, 0)]), [Seat(0, np.random.default_rng(0))])
def queens():
    state = chess.parse_state("qqqqkqqq/qqqqqqqq/8/8/8/8/QQQQQQQQ/QQQQKQQQ w - - 0 1")
    return lambda: chess.views([(state, 0)]).alpha_beta(depth=1)
def proven(threads):
    # Every descent ends in a known result, and none is ever proven: one `select` would go on for hours.
    game = plugins().game("pommerman-1v1?max_steps=1")
    roots = [(game.initial_state(seed), 0) for seed in range(4)]
    search = Search(game, SearchConfig(simulations=4_000_000_000, num_threads=threads))
    search.reset(game.views(roots), list(range(4)))
    return lambda: search.run(UniformEvaluator(game.spec))
def short(threads):
    # Each tree makes fewer descents than those between two looks at signals: only the thread that waits hears of one.
    game = plugins().game("connect-four")
    roots = game.views([(game.initial_state(), 0)] * 2000)
    search = Search(game, SearchConfig(simulations=10**9, leaves_per_tree=60, num_threads=threads))
    def run():
        while True:
            search.reset(roots, list(range(2000)))
            search.backup(UniformEvaluator(game.spec).evaluate(search.select()))
            search.select()
    return run
def interrupt(name, call):
    # Its default ends this process, whatever the call keeps: no call waits for ever.
    signal.alarm(600)
    # Not before all that the call needs is there: the interrupt has to come in the loop.
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        call()
    except KeyboardInterrupt:
        print(name, flush=True)
for name in {calls}:
    interrupt(name, eval(name))
"""


def test_an_interrupt_ends_native_loops() -> None:
    script = SCRIPT.replace("{calls}", repr(CALLS))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == CALLS, done.stderr
    assert done.returncode == 0, done.stderr

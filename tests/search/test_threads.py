"""Python's other threads run while the core does: it leaves the interpreter's lock to them."""

from __future__ import annotations

import subprocess
import sys

CALLS = [
    "select(1)",
    "select(2)",
    "lambda: views.playout_search([0], seconds=99999, exploration=1.4)",
    "lambda: views.playouts(2**31, 0)",
    "lambda: chess.perft(9)",
    "lambda: views.alpha_beta(depth=30)",
    "games()",
]
SCRIPT = """
import os, signal, threading, time
from moemcts.evaluation import UniformEvaluator
from moemcts.native import core
from moemcts.plugins import plugins
from moemcts.search import Search, SearchConfig
NUM_STEPS = 50
chess = plugins().game("chess").initial_state()
views = plugins().game("chess").views([(chess, 0)])
def select(threads):
    # Every descent ends in a known result, and none is ever proven: one `select` would go on for hours.
    game = plugins().game("pommerman-1v1?max_steps=1")
    search = Search(game, SearchConfig(simulations=4_000_000_000, num_threads=threads))
    search.reset(game.views([(game.initial_state(seed), 0) for seed in range(2)]), [0, 1])
    search.backup(UniformEvaluator(game.spec).evaluate(search.select()))
    return search.select
def games():
    rules, seeds = plugins().game("pommerman").rules, list(range(1_000_000))
    return lambda: core.pommerman_games(rules, ["simple"] * 4, seeds, False)
def count():
    # Between two steps the lock is let go, and the call takes it: if it keeps it, there is no next step.
    for _ in range(NUM_STEPS):
        time.sleep(0.01)
    print("counted", flush=True)
    os.kill(os.getpid(), signal.SIGINT)
def run(name, call):
    # Its default ends this process even where the call keeps the lock.
    signal.alarm(600)
    counting = threading.Thread(target=count)
    try:
        counting.start()
        call()
    except KeyboardInterrupt:
        print(name, flush=True)
    counting.join()
for name in {calls}:
    run(name, eval(name))
"""


def test_a_thread_counts_on_while_native_calls_run() -> None:
    # Each call alone would take hours. There is no bound on how long the counting takes, which a busy machine could
    # miss: a call that keeps the lock meets the alarm.
    script = SCRIPT.replace("{calls}", repr(CALLS))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [line for call in CALLS for line in ("counted", call)], done.stderr
    assert done.returncode == 0, done.stderr

"""Runs commands in forks of one process that has imported everything, which saves their start-up time.

Reads one order per line, a JSON object with `arguments`, `folder`, `limit` (seconds), `stdout` and `stderr` (paths),
and answers each with the exit code, or -1 if it timed out.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import time
import traceback
from typing import Any

WARM = ("moemcts.cli.app", "moemcts.report.page", "moemcts.runs.experiment.run", "moemcts.runs.training")


def serve() -> None:
    import torch

    from moemcts.runs.experiment import estimate

    for module in WARM:
        importlib.import_module(module)
    torch.set_num_threads(1)
    estimate.MEASURE_SECONDS = 0.005
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            _obey(order)
        print(json.dumps({"code": _wait(child, order["limit"])}), flush=True)


def _wait(child: int, limit: float) -> int:
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -1


def _obey(order: dict[str, Any]) -> None:
    os.setsid()
    os.chdir(order["folder"])
    for number, path in ((1, order["stdout"]), (2, order["stderr"])):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.argv = ["moemcts", *order["arguments"]]
    code: Any = 0
    try:
        from moemcts.cli.main import main

        main()
    except SystemExit as stop:
        code = stop.code
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    serve()

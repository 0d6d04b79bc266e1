"""The games of one match in several processes: each plays its part of the schedule, one process writes them down."""

from __future__ import annotations

import multiprocessing
import queue
import signal
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from moemcts.arena.games import GameRecord, Progress
from moemcts.arena.schedule import Play, play_here
from moemcts.errors import MoemctsError

if TYPE_CHECKING:
    from moemcts.runs.match import MatchPlan

_SECONDS_BETWEEN_LOOKS = 0.2


def play_in_processes(plan: MatchPlan, num_workers: int) -> Play:
    """Returns what plays games of the plan's schedule in as many processes, each by that plan.

    Games depend on their place in the schedule only, so they are those that one process would play.
    """

    def play(indices: Sequence[int], on_progress: Callable[[Progress], None]) -> Generator[GameRecord, None, None]:
        # In turn, so that early games finish early: a sequential test looks at them in their order.
        shares = [indices[number::num_workers] for number in range(num_workers)]
        context = multiprocessing.get_context("spawn")
        messages: Any = context.Queue()
        processes = [
            context.Process(target=_work, args=(plan, number, share, messages), daemon=True)
            for number, share in enumerate(shares)
            if share
        ]
        for process in processes:
            process.start()
        try:
            yield from _follow(processes, messages, on_progress)
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.join()

    return play


def _follow(
    processes: Sequence[Any], messages: Any, on_progress: Callable[[Progress], None]
) -> Generator[GameRecord, None, None]:
    working = len(processes)
    states: dict[int, Progress] = {}
    while working:
        # Looked at before the queue, so that what a process has said before its end is heard.
        has_died = any(process.exitcode not in (None, 0) for process in processes)
        try:
            number, message = messages.get(timeout=_SECONDS_BETWEEN_LOOKS)
        except queue.Empty:
            if has_died:
                raise MoemctsError(
                    "a worker process died, perhaps of too little memory; try fewer --workers or --parallel"
                ) from None
            continue
        if isinstance(message, GameRecord):
            yield message
        elif isinstance(message, Progress):
            states[number] = message
            on_progress(_sum(states.values()))
        elif isinstance(message, BaseException):
            raise message
        else:
            working -= 1


def _sum(states: Any) -> Progress:
    return Progress(
        num_finished=sum(state.num_finished for state in states),
        num_running=sum(state.num_running for state in states),
        num_plies=sum(state.num_plies for state in states),
    )


def _work(plan: MatchPlan, number: int, indices: Sequence[int], messages: Any) -> None:
    # The process that was started answers to Ctrl-C, and ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from moemcts.runs.match import Match

    try:
        match = Match(plan)
        play = play_here(match.game, match.lineups, match.conditions)
        with closing(play(indices, lambda progress: messages.put((number, progress)))) as games:
            for record in games:
                messages.put((number, record))
        messages.put((number, None))
    except MoemctsError as error:
        messages.put((number, error))
    except Exception as error:
        messages.put((number, MoemctsError(f"a worker failed: {type(error).__name__}: {error}")))

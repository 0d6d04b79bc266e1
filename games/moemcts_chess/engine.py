"""UCI engines as agents, through python-chess: Stockfish, Fairy-Stockfish and any other engine with the protocol."""

from __future__ import annotations

import asyncio
import logging
import math
import shlex
import shutil
import threading
import weakref
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import chess
import chess.engine

from moemcts.agents import Decision, Seat
from moemcts.errors import AgentFailure, Failure, MoemctsError, UsageError, first_line, unknown_name
from moemcts.game import Game, Views
from moemcts_chess.game import VARIANTS
from moemcts_chess.score import MAX_CENTIPAWNS, value_of_centipawns

T = TypeVar("T")

UCI_NAMES = {"threecheck": "3check"}
"""Engines' names of variants that differ from ours."""
GAMES_FOLDER = "/usr/games"
"""The folder where Debian installs engines, which is not always on the path."""
ANSWER_TIMEOUT = 20.0
"""Timeout of an answer in seconds, in addition to the time given to the engine."""
START_TIMEOUT = 60.0
"""Timeout in seconds for starting an engine, and then for its setup, which may load networks."""
MIN_NODES_PER_SECOND = 5_000.0
"""Nodes per second below which an engine with a node limit counts as hanging."""
DEPTH_TIMEOUT = 120.0
"""Timeout of an answer in seconds if a depth is given, which does not determine the time."""


class UciAgent:
    """Plays an engine's answer to each position, which it gets without history and with an empty hash.

    An engine with one thread that is limited by nodes or depth therefore plays deterministically. Stockfish does not if
    its skill is below 20 or its Elo is limited, as it seeds its errors by the clock.

    If an engine crashes, times out or answers with an illegal move, that game is lost, and the engine is restarted for
    the others. Batches of positions are distributed over `processes` engines. Engines end with the agent or the
    program.
    """

    def __init__(
        self,
        game: Game,
        path: str,
        *,
        nodes: int | None = None,
        depth: int | None = None,
        seconds: float | None = None,
        skill: int | None = None,
        elo: int | None = None,
        threads: int = 1,
        hash_mib: int = 1,
        processes: int = 1,
        timeout: float | None = None,
        options: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        """Starts the first engine; raises UsageError if there is no such program or it does not play the game.

        `path` may include arguments. All given limits apply; the default is 1000 nodes. `skill` sets the option Skill
        Level, `elo` sets UCI_LimitStrength and UCI_Elo, `options` are others by name, ignoring case and punctuation.
        `timeout` is in seconds per answer; by default it is the time that the engine needs plus 20 seconds, or 120 with
        a depth. Starting may take a minute, or `timeout` if that is longer.
        """
        self.name = name or f"uci:{path}"
        if nodes is None and depth is None and seconds is None:
            nodes = 1000
        _check_positive(nodes=nodes, depth=depth, seconds=seconds, threads=threads, hash=hash_mib, processes=processes)
        _check_positive(timeout=timeout)
        self._game = game
        self._limit = chess.engine.Limit(time=seconds, depth=depth, nodes=nodes)
        extra = DEPTH_TIMEOUT if depth is not None else ANSWER_TIMEOUT
        self._timeout = timeout or extra + (seconds or 0.0) + (nodes or 0) / MIN_NODES_PER_SECOND
        strength = {"Skill Level": skill, "UCI_LimitStrength": None if elo is None else True, "UCI_Elo": elo}
        self._preferred = {"Threads": threads, "Hash": hash_mib}
        self._options = {key: value for key, value in strength.items() if value is not None} | dict(options or {})
        program, *arguments = [path] if Path(path).exists() else shlex.split(path) or [path]
        self._program = find_engine(program)
        self._command = [self._program, *arguments]
        # Otherwise python-chess logs each unexpected line of an engine to standard error.
        logging.getLogger("chess.engine").addHandler(logging.NullHandler())
        self._loop = _EventLoopThread()
        self._engines: list[chess.engine.UciProtocol | None] = [None] * processes
        self.close = weakref.finalize(self, _shut_down, self._loop, self._engines)
        try:
            self._engines[0] = self._loop.run(self._start())
        except BaseException:
            self.close()
            raise

    def act(self, views: Views, seats: Sequence[Seat]) -> Sequence[Decision]:
        """Raises AgentFailure if the engine fails."""
        rows = iter(range(len(seats)))
        decisions: dict[int, Decision] = {}
        failures: dict[int, Failure] = {}

        async def answer_rows(slot: int) -> None:
            for row in rows:
                answer = await self._answer(slot, views[row])
                if isinstance(answer, Failure):
                    failures[row] = answer
                else:
                    decisions[row] = answer

        async def answer_all() -> None:
            await asyncio.gather(*(answer_rows(slot) for slot in range(min(len(self._engines), len(seats)))))

        try:
            self._loop.run(answer_all())
        except BaseException:
            # The caller no longer waits: pending answers must not be taken for those to later questions.
            self._loop.run(self._stop_all())
            raise
        if failures:
            raise AgentFailure(dict(sorted(failures.items())), [decisions.get(row) for row in range(len(seats))])
        return [decisions[row] for row in range(len(seats))]

    async def _answer(self, slot: int, view: Any) -> Decision | Failure:
        board = view.state.board()
        info = chess.engine.INFO_BASIC | chess.engine.INFO_SCORE
        try:
            engine = self._engines[slot] = self._engines[slot] or await self._start()
            # Every position is treated as a new game, so that the engine carries nothing over.
            playing = engine.play(board, self._limit, game=object(), info=info)
            result = await asyncio.wait_for(playing, self._timeout)
        except TimeoutError:
            await self._stop(slot)
            return Failure("timeout", f"no answer within {self._timeout:g} s to {view.state.fen()}")
        except (chess.engine.EngineTerminatedError, MoemctsError, OSError) as error:
            await self._stop(slot)
            return Failure("crash", f"{first_line(error)} at {view.state.fen()}")
        except chess.engine.EngineError as error:
            # The state of the engine is unknown.
            await self._stop(slot)
            return Failure("illegal move", f"{first_line(error)} at {view.state.fen()}")
        move = "no move" if result.move is None else board.uci(result.move)
        try:
            action = self._game.parse_action(view.state, view.player, move)
        except ValueError:
            return Failure("illegal move", f"{move} at {view.state.fen()}")
        return Decision(
            action=action,
            value=self._value(result.info),
            nodes=result.info.get("nodes", 0),
            depth=result.info.get("depth", 0),
        )

    def _value(self, info: chess.engine.InfoDict) -> float | None:
        if "score" not in info:
            return None
        score = info["score"].relative.score(mate_score=MAX_CENTIPAWNS)
        return value_of_centipawns(score or 0, self._game.spec.name)

    async def _start(self) -> chess.engine.UciProtocol:
        """Raises UsageError if the engine does not support the game or an option, MoemctsError if it fails."""
        timeout = max(self._timeout, START_TIMEOUT)
        try:
            starting = chess.engine.UciProtocol.popen(self._command, stderr=asyncio.subprocess.DEVNULL)
            _, engine = await asyncio.wait_for(starting, timeout)
            try:
                await asyncio.wait_for(self._set_up(engine), timeout)
            except BaseException:
                await _kill(engine)
                raise
        except TimeoutError:
            raise MoemctsError(
                f"{self._program} did not say uciok or readyok within {timeout:g} s; is it a UCI engine? If it "
                "takes longer to start, give timeout=SECONDS"
            ) from None
        except chess.engine.EngineTerminatedError:
            raise MoemctsError(f"{self._program} has ended; is it a UCI engine?") from None
        except (chess.engine.EngineError, OSError) as error:
            raise UsageError(f"{self.name}: {first_line(error)}") from None
        return engine

    async def _set_up(self, engine: chess.engine.UciProtocol) -> None:
        await engine.initialize()
        self._check_variant(engine)
        options: dict[str, Any] = {
            name: _clip(engine.options[name], value)
            for name, value in self._preferred.items()
            if name in engine.options
        }
        options |= {self._engine_option_name(engine, name): value for name, value in self._options.items()}
        await engine.configure(options)
        await engine.ping()

    def _check_variant(self, engine: chess.engine.UciProtocol) -> None:
        option = engine.options.get("UCI_Variant")
        supported = {"chess", *(option.var or () if option else ())}
        if "UCI_Chess960" in engine.options:
            supported.add("chess960")
        variants = [name for name in VARIANTS if UCI_NAMES.get(name, name) in supported]
        name = self._game.spec.name
        if name not in variants:
            raise UsageError(f"{self.name} does not play {name}, only {', '.join(variants)}")

    def _engine_option_name(self, engine: chess.engine.UciProtocol, name: str) -> str:
        """Returns the engine's spelling of an option."""
        names = {_normalize(known): known for known in engine.options}
        if _normalize(name) not in names:
            raise unknown_name(f"option of {self.name}", name, engine.options)
        return names[_normalize(name)]

    async def _stop_all(self) -> None:
        await asyncio.gather(*(self._stop(slot) for slot in range(len(self._engines))))

    async def _stop(self, slot: int) -> None:
        engine, self._engines[slot] = self._engines[slot], None
        if engine is not None:
            await _kill(engine)


def find_engine(path: str) -> str:
    """Returns the path of the program that the user named; raises UsageError if there is none."""
    program = shutil.which(path) or shutil.which(path, path=GAMES_FOLDER)
    if program is not None:
        return program
    if "/" not in path:
        raise UsageError(f"no engine {path!r} found on PATH; on Debian: apt-get install {path}")
    problem = "a folder" if Path(path).is_dir() else "no program" if Path(path).exists() else "not there"
    raise UsageError(f"expected the path of an engine, but {path!r} is {problem}")


class _EventLoopThread:
    """An event loop in a background thread, which runs the engines."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="engines", daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Returns the result of the coroutine; an exception during the wait cancels it."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _kill(engine: chess.engine.UciProtocol) -> None:
    """Ends the process and waits for it, so that it does not remain as a zombie."""
    if engine.transport is not None:
        engine.transport.close()
        await asyncio.wait([engine.returncode], timeout=ANSWER_TIMEOUT)


def _shut_down(loop: _EventLoopThread, engines: Iterable[chess.engine.UciProtocol | None]) -> None:
    async def end_all() -> None:
        await asyncio.gather(*(_kill(engine) for engine in engines if engine is not None))

    loop.run(end_all())
    loop.stop()


def _check_positive(**options: float | None) -> None:
    for name, number in options.items():
        if number is None:
            continue
        if not number > 0:
            raise ValueError(f"expected {name} above 0, got {number}")
        # Infinite timeouts are not supported.
        if number == math.inf:
            raise ValueError(f"expected {name} to be finite, got {number}")


def _clip(option: chess.engine.Option, value: int) -> int:
    """Clips a number to the range of an engine's option."""
    low, high = option.min, option.max
    return max(value if high is None else min(value, high), value if low is None else low)


def _normalize(name: str) -> str:
    return "".join(filter(str.isalnum, name)).lower()

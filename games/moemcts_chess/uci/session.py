"""A UCI session: commands in, protocol lines out."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TextIO

from moemcts import __version__
from moemcts.errors import MoemctsError
from moemcts.game import Action
from moemcts_chess.claims import without_claimable_draw
from moemcts_chess.score import MAX_CENTIPAWNS
from moemcts_chess.uci import protocol
from moemcts_chess.uci.clock import DEFAULT_SECONDS, fixed_time, thinking_time
from moemcts_chess.uci.loading import EVERY_SIZE_UP_TO, Resources, load, one_line, warm_up, warm_up_sizes
from moemcts_chess.uci.options import Options
from moemcts_chess.uci.pace import Pace
from moemcts_chess.uci.perft import PerftThread
from moemcts_chess.uci.position import any_legal_move, read_position
from moemcts_chess.uci.report import Reporter
from moemcts_chess.uci.search_thread import Limits, SearchTask, SearchThread

MAX_SIMULATIONS = 2**32 - 2
DEEPEST_PERFT = 6
"""Maximum depth of perft, which takes seconds with as few moves as at the start."""
MAX_REMARK = 400
"""Maximum length of a remark in characters; an error can list all legal moves."""


class LoadError(MoemctsError):
    """What the engine was started with could not be loaded; the error has been reported."""


class Session:
    """The engine of one GUI. Commands are processed at once, even while a search or a perft runs in its thread.

    Commands that change the position stop a search, but wait for a perft, as scripts request several in sequence.
    """

    def __init__(
        self,
        out: TextIO,
        *,
        gates: Sequence[str] = (),
        is_strict: bool = False,
        on_loaded: Callable[[], None] = lambda: None,
    ) -> None:
        """Takes the output stream, and the names of gates that experts can be used with.

        A strict session ends if the first load fails; others use fallbacks. `on_loaded` is called when everything that
        searches need has been loaded.
        """
        self.options = Options(gates)
        self._out = out
        self._lock = threading.Lock()
        self._log: Path | None = None
        self._is_strict = is_strict
        self._on_loaded = on_loaded
        self._resources: Resources | None = None
        self._position: tuple[str, list[str]] = ("startpos", [])
        self._state: Any = None
        self._search_thread: SearchThread | None = None
        self._perft: PerftThread | None = None
        self._is_quitting = False
        self._pending_answer: str | None = None
        """The answer to an infinite `go` without anything to search; `stop` or `ponderhit` releases it."""
        self._tree: Any = None
        self._pace = Pace()
        self._warmed_up_for: tuple[int, ...] = ()
        """The batch sizes and threads for which experts are warmed up; empty if they are not."""
        self._commands: dict[str, Callable[[Sequence[str]], None]] = {
            "uci": self._uci,
            "debug": _ignore,
            "register": _ignore,
            "isready": self._isready,
            "setoption": self._setoption,
            "ucinewgame": self._ucinewgame,
            "position": self._set_position,
            "go": self._go,
            "stop": self._stop,
            "ponderhit": self._ponderhit,
            "d": self._display,
            "root": self._root,
        }

    def run(self, lines: Iterable[bytes]) -> None:
        """Processes lines until `quit` or the end of input; a running search is then stopped, and prints its move.

        A running perft is stopped by `quit` but not by the end of input, as scripts wait for it. Raises Unloadable if
        the session is strict.
        """
        try:
            for line in lines:
                if self._is_quitting:
                    return
                # Windows shells start piped text with a byte order mark.
                if not self.handle_line(line.decode("utf-8-sig", errors="replace")):
                    return
            if self._perft is not None and not self._is_quitting:
                self._perft.wait()
        finally:
            self.close()

    def handle_line(self, line: str) -> bool:
        """Processes one line; returns whether to continue. Words before the first command are skipped."""
        self._log_line(f"> {line.rstrip()}")
        words = line.split()
        start = next((i for i, word in enumerate(words) if word in self._commands or word == "quit"), None)
        if start is None:
            if words:
                self.remark(protocol.unknown_command(words, (*self._commands, "quit")))
            return True
        if words[start] == "quit":
            return False
        try:
            self._commands[words[start]](words[start + 1 :])
        except LoadError:
            raise
        except (MoemctsError, ValueError, OSError) as error:
            self.remark(f"error: {one_line(error)}")
        return True

    def send(self, line: str) -> None:
        """Writes one line of the protocol; all output of the search and the commands goes through this method."""
        with self._lock:
            self._log_line(f"< {line}")
            # If the GUI has gone, the end of input will end the session.
            with contextlib.suppress(BrokenPipeError, ValueError):
                self._out.write(f"{line}\n")
                self._out.flush()

    def remark(self, text: str) -> None:
        """Prints a message for the user."""
        printable = "".join(character if character.isprintable() else "?" for character in text)
        shown = printable if len(printable) <= MAX_REMARK else f"{printable[:MAX_REMARK]} ..."
        self.send(f"info string {shown}")

    def request_quit(self) -> None:
        """Makes `run` return before the next line, and stops a perft. Does not block, for use in signal handlers."""
        self._is_quitting = True
        if self._perft is not None:
            self._perft.stop()

    def close(self) -> None:
        """Ends the running search or perft, if any."""
        if self._perft is not None:
            self._perft.stop()
        self._finish_work()

    def _uci(self, words: Sequence[str]) -> None:
        self.send(f"id name moemcts {__version__}")
        self.send("id author the moemcts contributors")
        for option in self.options:
            self.send(str(option))
        self.send("uciok")

    def _isready(self, words: Sequence[str]) -> None:
        if self._search_thread is None or self._search_thread.is_over:
            self._warm_up()
        self.send("readyok")

    def _setoption(self, words: Sequence[str]) -> None:
        self.set_option(*protocol.parse_setoption(words))
        if self._resources is None:
            # Unlike the command line, the GUI can name something else after a failure.
            self._is_strict = False

    def set_option(self, name: str, value: str) -> None:
        """Does the same as `setoption`.

        Raises ValueError for an unknown option or an invalid value, OSError for a log file that cannot be written.
        """
        self._finish_work()
        option, is_changed = self.options.set(name, value)
        if remark := self.options.remark(option):
            self.remark(remark)
        if option.loads and is_changed:
            # The last search holds references to its networks, and freeing them takes as long as a fast move.
            self._resources = self._state = self._search_thread = None
            self._pace = Pace()
            self._warmed_up_for = ()
        if is_changed and not option.keeps_tree:
            self._tree = None
        if option.name == "Log_File":
            self._open_log(self.options.text("Log_File"))

    def _ucinewgame(self, words: Sequence[str]) -> None:
        self._finish_work()
        self._tree = None
        self._pace.forget()

    def _set_position(self, words: Sequence[str]) -> None:
        self._finish_work()
        before = self._position
        # If the words are invalid there is no position, rather than the previous one.
        self._position, self._state = (" ".join(["position", *words]), []), None
        fen, moves = self._position = protocol.parse_position(words)
        if fen != before[0] or moves[: len(before[1])] != before[1]:
            self._pace.forget()
        self._read_position()

    def _go(self, words: Sequence[str]) -> None:
        go = protocol.parse_go(words)
        if go.unknown:
            self.remark(f"go: {' '.join(go.unknown)!r} means nothing")
        if go.mate and not self.options.flag("MCTS_Solver"):
            self.remark("go mate: nothing is proven without MCTS_Solver; another limit or a full tree ends the search")
        self._finish_work()
        try:
            state = self._read_position()
        except ValueError as error:
            if go.perft is not None:
                raise
            self.remark(f"error: {one_line(error)}")
            self._answer((), go)
            return
        if go.perft is not None:
            self._start_perft(state, go.perft)
            return
        if not state.active_players:
            self._answer_final_position(state, go)
            return
        resources = self._loaded()
        task = self._task(go, resources, state)
        reporter = Reporter(
            resources,
            self.send,
            num_lines=self.options.number("MultiPV"),
            shows_wdl=self.options.flag("UCI_ShowWDL"),
            max_nodes=self.options.max_nodes(),
        )
        self._search_thread = SearchThread(task, reporter, self.send)
        self._search_thread.start()

    def _stop(self, words: Sequence[str]) -> None:
        self._send_pending_answer()
        if self._search_thread is not None:
            self._search_thread.stop()
        if self._perft is not None:
            self._perft.stop()

    def _ponderhit(self, words: Sequence[str]) -> None:
        self._send_pending_answer()
        if self._search_thread is not None:
            self._search_thread.ponderhit()

    def _display(self, words: Sequence[str]) -> None:
        resources, state = self._loaded(), self._read_position()
        for line in resources.game.render(state).splitlines():
            self.send(line)
        if state.active_players:
            self.send(f"legal moves: {' '.join(sorted(map(state.uci, state.legal_actions(state.active_players[0]))))}")
            self.send(resources.phase(resources.game.views([(state, state.active_players[0])])))
        else:
            self.send(f"over by {state.termination}")

    def _root(self, words: Sequence[str]) -> None:
        if self._search_thread is None or not self._search_thread.is_over or self._search_thread.result is None:
            self.remark("root shows the moves of the last search, once it is over")
            return
        state, result = self._search_thread.state, self._search_thread.result
        self.send(f"{'move':<8}{'visits':>10}{'prior':>10}{'value':>10}")
        for row in (-result.visits).argsort(kind="stable"):
            move = state.uci(int(result.actions[row]))
            self.send(f"{move:<8}{result.visits[row]:>10}{result.priors[row]:>10.4f}{result.values[row]:>10.4f}")

    def _task(self, go: protocol.Go, resources: Resources, state: Any) -> SearchTask:
        limits = self._limits(go, state)
        actions: set[Action] = set()
        for move in go.searchmoves:
            try:
                actions.add(state.action(move))
            except ValueError:
                self.remark(f"error: searchmoves {move!r} is not legal here")
        self._set_threads()
        return SearchTask(
            resources=resources,
            state=state,
            config=self.options.search_config(limits.nodes, limits.simulations, resources.search),
            limits=limits,
            actions=sorted(actions) or None,
            is_raw=self.options.flag("Use_Raw_Network"),
            seed=self.options.number("Seed"),
            pace=self._pace,
            tree=self._tree if self.options.flag("Reuse_Tree") else None,
        )

    def _limits(self, go: protocol.Go, state: Any) -> Limits:
        options = self.options

        def limit(name: str) -> int:
            """Returns an option that limits all but infinite searches; 0 for no limit."""
            return 0 if go.infinite else options.number(name)

        nodes = min(filter(None, (go.nodes, limit("Nodes"))), default=None)
        simulations = limit("Simulations") or (2 * nodes if nodes else MAX_SIMULATIONS)
        is_counted = any((nodes, limit("Simulations"), go.depth, go.mate))
        fixed = (go.movetime or 0.0, limit("Fixed_Movetime") / 1000)
        clock = go.clocks[state.active_players[0]]
        times = [fixed_time(seconds, options.overhead) for seconds in fixed if seconds]
        if clock is not None:
            times.append(thinking_time(clock, state.ply // 2 + 1, options.overhead))
        if not times and not is_counted and not go.infinite:
            times.append(DEFAULT_SECONDS)
        is_game = clock is not None and not options.flag("UCI_AnalyseMode")
        is_forced = is_game and len(state.legal_actions(state.active_players[0])) == 1
        return Limits(
            nodes=options.max_nodes(nodes),
            simulations=min(simulations, MAX_SIMULATIONS),
            seconds=None if go.infinite or not times else 0.0 if is_forced else min(times),
            depth=go.depth,
            waits=go.infinite or go.ponder,
            may_stop_early=is_game and options.flag("Allow_Early_Stopping"),
        )

    def _answer_final_position(self, state: Any, go: protocol.Go) -> None:
        result = float(state.returns()[state.ply % 2])
        # In antichess a player without moves has won.
        score = "mate 0" if result < 0 else f"cp {MAX_CENTIPAWNS if result > 0 else 0}"
        self.remark(f"the game is over by {state.termination}")
        self.send(f"info depth 0 score {score}")
        self._answer(any_legal_move(state), go)

    def _answer(self, line: Sequence[str], go: protocol.Go) -> None:
        """Prints a move without a search, at once or when an infinite `go` ends, as `SearchThread` does."""
        self._pending_answer = protocol.format_best_move(line)
        if not (go.infinite or go.ponder):
            self._send_pending_answer()

    def _send_pending_answer(self) -> None:
        if self._pending_answer is not None:
            self.send(self._pending_answer)
            self._pending_answer = None

    def _start_perft(self, state: Any, depth: int) -> None:
        """Counts the leaves below every move; raises ValueError for depths that take too long."""
        if depth > DEEPEST_PERFT:
            raise ValueError(f"expected perft of a depth up to {DEEPEST_PERFT}, got {depth}")
        self._perft = PerftThread(state, depth, self.send)
        self._perft.start()

    def _loaded(self) -> Resources:
        if self._resources is None:
            self._resources = load(self.options, self.remark, self._refuse if self._is_strict else None)
            self._is_strict = False
            self._on_loaded()
        return self._resources

    def _refuse(self, error: MoemctsError) -> None:
        self.remark(f"error: {one_line(error)}")
        raise LoadError(str(error)) from error

    def _warm_up(self) -> None:
        """Warms up the experts for all batch sizes before a clock runs."""
        resources, max_size = self._loaded(), self.options.number("Batch_Size")
        setting = (max_size, self.options.number("Threads"))
        if resources.experts is None or self._warmed_up_for == setting:
            return
        self._set_threads()
        self._warmed_up_for = setting
        try:
            seconds = warm_up(resources, max_size, self._pace)
        except RuntimeError as error:
            # The search that encounters the error again will still print a move.
            self.remark(f"error: {one_line(error)}")
            return
        small = min(max_size, EVERY_SIZE_UP_TO)
        sizes = ", ".join([f"1 to {small}", *map(str, warm_up_sizes(max_size)[small:])])
        self.remark(
            f"{len(resources.experts.experts)} experts are warm for batches of {sizes} positions after "
            f"{seconds:.1f} s; such batches take {1000 * self._pace.seconds(1):.1f} to "
            f"{1000 * self._pace.seconds(max_size):.1f} ms"
        )

    def _set_threads(self) -> None:
        if "torch" in sys.modules:
            sys.modules["torch"].set_num_threads(self.options.number("Threads"))

    def _read_position(self) -> Any:
        if self._state is None:
            game = self._loaded().game
            self._state = without_claimable_draw(game, read_position(game, *self._position))
        return self._state

    def _finish_work(self) -> None:
        """Stops the running search, which prints its move, and takes its tree; waits for a perft."""
        self._send_pending_answer()
        if self._perft is not None:
            self._perft.wait()
            self._perft = None
        if self._search_thread is not None:
            self._search_thread.stop()
            self._search_thread.wait()
            self._tree = self._search_thread.tree or self._tree
            self._search_thread.tree = None

    def _open_log(self, path: str) -> None:
        """Raises ValueError if the file cannot be written."""
        self._log = None
        if path:
            try:
                Path(path).open("a", encoding="utf-8").close()
            except OSError as error:
                raise ValueError(f"expected a file to write the log to, got {path}: {error.strerror}") from error
            self._log = Path(path)

    def _log_line(self, line: str) -> None:
        if self._log is not None:
            # A full disk must not lose a game.
            with contextlib.suppress(OSError), self._log.open("a", encoding="utf-8") as log:
                log.write(f"{line}\n")


def _ignore(words: Sequence[str]) -> None:
    pass

"""Parsing and formatting of the Universal Chess Interface (Kahlen, Meyer-Kahlen 2006)."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field

from moemcts_chess.uci.clock import Clock

MIN_NUMBER, MAX_NUMBER = -(2**31), 2**31 - 1
LIMITS = ("wtime", "btime", "winc", "binc", "movestogo", "depth", "nodes", "mate", "movetime", "perft")
SWITCHES = ("infinite", "ponder")
POSITION = "position [startpos | fen FEN] [moves MOVE ...]"


@dataclass(frozen=True, kw_only=True)
class Go:
    """The parameters of `go`; times in seconds."""

    clocks: tuple[Clock | None, Clock | None] = (None, None)
    """White's and Black's."""
    movetime: float | None = None
    nodes: int | None = None
    depth: int | None = None
    mate: int | None = None
    """Length of the mate to search for in moves; any proof ends the search, even a longer one."""
    perft: int | None = None
    infinite: bool = False
    ponder: bool = False
    searchmoves: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    """Unknown words."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """A principal variation, from the point of view of the player to move."""

    moves: Sequence[str]
    score: str
    """`cp 31` or `mate -4`."""
    wdl: tuple[int, int, int] | None = None
    """Probabilities to win, draw and lose in thousandths."""
    rank: int = 1


@dataclass(frozen=True, kw_only=True)
class Progress:
    """The progress of a search; times in seconds."""

    depth: int
    seldepth: int
    nodes: int
    nodes_per_second: float
    seconds: float
    hashfull: int
    """Used share of the allowed memory, in thousandths."""
    tbhits: int
    lines: Sequence[Line] = field(default_factory=tuple)


def unknown_command(words: Sequence[str], commands: Sequence[str]) -> str:
    """Returns the error for a line without a command, with the closest match of its first word."""
    near = difflib.get_close_matches(words[0].lower(), commands, n=1, cutoff=0.6)
    hint = f"did you mean {near[0]}? " if near else ""
    return f"no command in {' '.join(words)!r}; {hint}expected {', '.join(commands[:-1])} or {commands[-1]}"


def parse_go(words: Sequence[str]) -> Go:
    """Returns the parameters of a `go`, given the words after it.

    A limit with a missing or invalid number counts as unknown, and then one node is searched: the sender waits for a
    move on an unknown clock. Raises ValueError for such a perft, which has no answer.
    """
    numbers: dict[str, int] = {}
    switches: set[str] = set()
    moves: list[str] = []
    unknown: list[str] = []
    has_invalid_limit = False
    remaining_words = list(words)
    while remaining_words:
        word = remaining_words.pop(0)
        if word in LIMITS:
            argument = remaining_words.pop(0) if remaining_words else ""
            if (number := _parse_number(argument)) is not None:
                numbers[word] = number
            elif word == "perft":
                raise ValueError(f"expected a number after {word}, got {argument!r}")
            else:
                unknown.append(f"{word} {argument}".rstrip())
                has_invalid_limit = True
        elif word in SWITCHES:
            switches.add(word)
        elif word == "searchmoves":
            while remaining_words and remaining_words[0] not in (*LIMITS, *SWITCHES):
                moves.append(remaining_words.pop(0))
        else:
            unknown.append(word)

    def positive(name: str) -> int | None:
        # GUIs send 0 for no limit.
        return number if (number := numbers.get(name, 0)) > 0 else None

    movetime = positive("movetime")
    return Go(
        clocks=(_clock(numbers, "w"), _clock(numbers, "b")),
        movetime=movetime / 1000 if movetime else None,
        nodes=1 if has_invalid_limit else positive("nodes"),
        depth=positive("depth"),
        mate=positive("mate"),
        perft=numbers.get("perft"),
        infinite="infinite" in switches,
        ponder="ponder" in switches,
        searchmoves=tuple(moves),
        unknown=tuple(unknown),
    )


def parse_position(words: Sequence[str]) -> tuple[str, list[str]]:
    """Returns a FEN or `startpos`, and moves; raises ValueError for anything else."""
    split = words.index("moves") if "moves" in words else len(words)
    head, moves = words[:split], list(words[split + 1 :])
    if list(head) == ["startpos"]:
        return "startpos", moves
    if len(head) > 1 and head[0] == "fen":
        # A semicolon starts our own extensions to FEN.
        return " ".join(head[1:]).partition(";")[0], moves
    raise ValueError(f"expected {POSITION}, got {' '.join(['position', *words])!r}")


def parse_setoption(words: Sequence[str]) -> tuple[str, str]:
    """Returns name and value of `setoption name NAME [value VALUE]`; raises ValueError for anything else."""
    if len(words) < 2 or words[0] != "name":
        raise ValueError(f"expected setoption name NAME [value VALUE], got {' '.join(['setoption', *words])!r}")
    split = words.index("value") if "value" in words else len(words)
    return " ".join(words[1:split]), " ".join(words[split + 1 :])


def format_info(progress: Progress) -> list[str]:
    """Returns the `info` lines, one per principal variation."""
    head = f"info depth {progress.depth} seldepth {progress.seldepth}"
    tail = (
        f"nodes {progress.nodes} nps {progress.nodes_per_second:.0f} hashfull {progress.hashfull} "
        f"tbhits {progress.tbhits} time {1000 * progress.seconds:.0f}"
    )
    info_lines = []
    for line in progress.lines:
        wdl = f" wdl {line.wdl[0]} {line.wdl[1]} {line.wdl[2]}" if line.wdl is not None else ""
        pv = f" pv {' '.join(line.moves)}" if line.moves else ""
        info_lines.append(f"{head} multipv {line.rank} score {line.score}{wdl} {tail}{pv}")
    return info_lines


def format_best_move(line: Sequence[str]) -> str:
    """Returns the answer to `go`: the first move of a line, and the second as the ponder move."""
    ponder = f" ponder {line[1]}" if len(line) > 1 else ""
    return f"bestmove {line[0] if line else '(none)'}{ponder}"


def win_draw_loss(value: float) -> tuple[int, int, int]:
    """Returns probabilities in thousandths that are consistent with a value in [-1, 1].

    A value does not determine draws; as in a game decided by two independent halves, the probability of a win is the
    square of the expected score, and that of a loss the square of its complement.
    """
    score = min(max((1 + value) / 2, 0.0), 1.0)
    win, loss = round(1000 * score**2), round(1000 * (1 - score) ** 2)
    return win, 1000 - win - loss, loss


def _clock(numbers: dict[str, int], side: str) -> Clock | None:
    if f"{side}time" not in numbers:
        return None
    moves = numbers.get("movestogo", 0)
    return Clock(
        remaining=max(numbers[f"{side}time"], 0) / 1000,
        increment=max(numbers.get(f"{side}inc", 0), 0) / 1000,
        moves_to_go=moves if moves > 0 else None,
    )


def _parse_number(word: str) -> int | None:
    try:
        return min(max(int(float(word)), MIN_NUMBER), MAX_NUMBER)
    except (ValueError, OverflowError):
        return None

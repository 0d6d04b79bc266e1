"""The games of the chess family: native states with python-chess' notations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from moemcts.errors import UsageError, unknown_name
from moemcts.game import Action, FloatArray, Game, GameSpec, IntArray, Packed, Player, Start, Symmetry
from moemcts.native import core
from moemcts_chess.planenames import plane_names

VARIANTS = (
    "chess",
    "chess960",
    "antichess",
    "atomic",
    "crazyhouse",
    "kingofthehill",
    "threecheck",
    "horde",
    "racingkings",
)
WITHOUT_CASTLING = ("antichess", "racingkings")
"""Variants whose board can be mirrored, as they have no castling."""

NUM_CHESS960 = 960
MAX_PLIES = 1_000_000
"""The largest number of plies that a packed position can count."""


class ChessGame(Game[core.ChessState]):
    """One variant; White is player 0, Black player 1.

    Draws that a player could claim, by the fifty-move rule or threefold repetition, end the game. Results are otherwise
    those of Lichess.
    """

    def __init__(
        self, variant: str, *, planes: str | None = None, policy: str | None = None, max_plies: int | None = None
    ) -> None:
        """Uses the variant's own plane set, policy map and maximum length unless given.

        Raises UsageError for an unknown plane set or policy map or an invalid number of plies, ValueError for an
        unknown variant.
        """
        if planes is not None and planes not in (known := core.chess_plane_sets()):
            raise unknown_name("plane set", planes, known)
        if policy is not None and policy not in (known := core.chess_policy_maps(variant)):
            raise unknown_name(f"policy map for {variant}", policy, known)
        if max_plies is not None and not 0 < max_plies <= MAX_PLIES:
            raise UsageError(f"expected max_plies from 1 to {MAX_PLIES}, got {max_plies}")
        self.rules = core.ChessRules(variant, planes=planes, policy=policy, max_plies=max_plies)
        self.variant = variant
        self.spec = GameSpec(
            name=variant,
            num_players=2,
            num_actions=self.rules.num_actions,
            observation_shape=(self.rules.num_planes, 8, 8),
            max_plies=self.rules.max_plies,
            plane_names=plane_names(self.rules.features()),
            rows_upward=True,
            policy_planes=self.rules.num_actions // 64,
        )

    def initial_state(self, seed: int = 0) -> core.ChessState:
        """Returns the start position; in Chess960 one with a Scharnagl number sampled from the seed."""
        if self.variant == "chess960":
            return self.chess960(int(np.random.default_rng(seed).integers(NUM_CHESS960)))
        return core.ChessState.start(self.rules)

    def chess960(self, number: int) -> core.ChessState:
        """Returns the Chess960 start position with a Scharnagl number; 518 is the standard one."""
        return core.ChessState.chess960(self.rules, number)

    def parse_state(self, text: str) -> core.ChessState:
        """Returns the position of a FEN, or of `startpos`, optionally followed by `; moves e2e4 e7e5`."""
        return core.ChessState.parse(self.rules, text)

    def format_state(self, state: core.ChessState) -> str:
        """Returns the FEN, followed by the history that planes and repetitions depend on."""
        return state.format()

    def read_starts(self, path: Path, *, plies: int | None = None) -> Iterator[Start] | None:
        """Yields the positions of an EPD file, or the final positions of the games of a PGN file, by suffix."""
        from moemcts_chess.openings import read_epd, read_pgn

        ending = path.suffix.lower()
        if ending == ".epd" and plies is None:
            return read_epd(self, path)
        return read_pgn(self, path, plies) if ending == ".pgn" else None

    def parse_action(self, state: core.ChessState, player: Player, text: str) -> Action:
        """Returns the move written in UCI or SAN; raises ValueError listing the legal ones."""
        return state.action(text)

    def format_action(self, state: core.ChessState, player: Player, action: Action) -> str:
        """Returns the move in UCI: castling is e1g1, but e1h1 in Chess960."""
        return state.uci(action)

    def render(self, state: core.ChessState) -> str:
        """Returns the board as text, White at the bottom, with the FEN below."""
        from moemcts_chess.board import text_board

        return text_board(state)

    def symmetries(self) -> Sequence[Symmetry]:
        """Returns the mirror image from file a to file h, for variants without castling."""
        return (self._mirror(),) if self.variant in WITHOUT_CASTLING else ()

    def views(self, pairs: Sequence[tuple[core.ChessState, Player]]) -> core.ChessViews:
        """Returns the views with this game's planes, also of states that were made for others.

        Raises ValueError for states of another variant or policy map.
        """
        return core.ChessViews([(state, int(player)) for state, player in pairs]).encoded_as(self.rules)

    def pack(self, states: Sequence[core.ChessState]) -> Packed:
        """Returns 80 bytes per position, plus 8 for each position that it could still repeat."""
        return Packed(*core.chess_pack(list(states)))

    def unpack(self, packed: Packed, players: IntArray) -> core.ChessPackedViews:
        return core.chess_unpack(self.rules, packed.data, packed.offsets, players)

    def search_type(self) -> Any:
        return core.ChessSearch

    def planes(self) -> list[str]:
        """Returns the feature name of each plane."""
        return [name for name, width, _ in self.rules.features() for _ in range(width)]

    def _mirror(self) -> Symmetry:
        fixed = [plane for plane, name in enumerate(self.planes()) if name == "checkerboard"]

        def planes(observations: FloatArray) -> FloatArray:
            mirrored = observations[..., ::-1].copy()
            mirrored[:, fixed] = observations[:, fixed]
            return mirrored

        return Symmetry("mirror", planes, mirrored_actions(self.spec.num_actions))


def mirrored_actions(num_actions: int) -> IntArray:
    """Returns the policy index of each action after mirroring the board from left to right, `[A]`."""
    planes, squares = np.divmod(np.arange(num_actions), 64)
    mirrored = planes.copy()
    queen = planes < 56
    direction, distance = np.divmod(planes, 7)
    mirrored[queen] = ((8 - direction) % 8 * 7 + distance)[queen]
    knight = (planes >= 56) & (planes < 64)
    mirrored[knight] = 56 + 7 - (planes[knight] - 56)
    # Three planes per piece: left, forward, right; drop planes have no direction.
    num_promotions = 12 + 3 * (num_actions in (79 * 64, 84 * 64))
    promotion = (planes >= 64) & (planes < 64 + num_promotions)
    piece, step = np.divmod(planes - 64, 3)
    mirrored[promotion] = (64 + 3 * piece + 2 - step)[promotion]
    return np.asarray(mirrored * 64 + (squares ^ 7), dtype=np.int64)

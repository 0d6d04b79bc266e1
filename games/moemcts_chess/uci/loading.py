"""What the engine's options name: a game, who evaluates it, and its endgame tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from moemcts.config import parse_reference
from moemcts.errors import MoemctsError
from moemcts.evaluation import Evaluator
from moemcts.experts import ROUTINGS, ExpertSet
from moemcts.game import Views
from moemcts_chess.game import ChessGame
from moemcts_chess.material import MaterialEvaluator
from moemcts_chess.tablebase import Tablebase, TablebaseEvaluator
from moemcts_chess.uci.options import GATE_OF_THE_EXPERTS, Options

NO_END = 2**31
"""Plies after which games are drawn: an interface decides that, not the engine."""
ENCODINGS = ("planes", "policy")


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """All that a search of one game knows."""

    game: ChessGame
    evaluator: Evaluator
    experts: ExpertSet | None = None
    tables: Tablebase | None = None

    @property
    def tbhits(self) -> int:
        """Positions that were found in tables."""
        return self.evaluator.num_hits if isinstance(self.evaluator, TablebaseEvaluator) else 0

    def phase(self, views: Views) -> str:
        """Returns phase and expert of the first view, as the engine tells them."""
        if self.experts is None:
            return "expert=material"
        gate = self.experts.gate
        phase = int(gate.weights(views)[0].argmax())
        return f"phase={gate.phase_names[phase]} expert={phase}"


def load(options: Options, complain: Callable[[str], None]) -> Knowledge:
    """Returns what the options name; what cannot be had is complained of, and done without."""
    folder = options.text("Model_Directory")
    game, experts = ChessGame(options.game, max_plies=NO_END), None
    if folder:
        try:
            game, experts = load_experts(Path(folder), options)
        except (MoemctsError, OSError, RuntimeError, ValueError) as error:
            complain(f"error: {one_line(error)}")
    if experts is None:
        complain("no experts: thinking with material alone; set Model_Directory to a folder of experts")
    elif (chosen := options.text("Game_Phase_Definition")) != GATE_OF_THE_EXPERTS:
        experts = _behind(chosen, experts, game, complain)
    evaluator: Evaluator = experts or MaterialEvaluator(game)
    tables = _tables(options.text("SyzygyPath"), game, complain)
    if tables is not None:
        evaluator = TablebaseEvaluator(evaluator, tables)
    return Knowledge(game=game, evaluator=evaluator, experts=experts, tables=tables)


def load_experts(folder: Path, options: Options) -> tuple[ChessGame, ExpertSet]:
    """Returns experts and the game as they see it.

    Raises MoemctsError where the folder holds none, or experts for another game.
    """
    from moemcts.learn.checkpoint import MANIFEST, load_experts
    from moemcts.learn.files import read_toml
    from moemcts.plugins import plugins

    if not (folder / MANIFEST).exists():
        teams = sorted(str(manifest.parent) for manifest in folder.glob(f"experts/*/{MANIFEST}"))
        hint = f"; it holds {', '.join(teams)}" if teams else ""
        raise MoemctsError(f"expected a folder of experts, got {folder}{hint}")
    name, given = parse_reference(str(read_toml(folder / MANIFEST).get("game", "")))
    if name != options.game:
        raise MoemctsError(f"{folder} holds experts for {name}, the game is {options.game}")
    encodings = {key: value for key, value in given.items() if key in ENCODINGS}
    game = ChessGame(name, max_plies=NO_END, **encodings)
    routing = ROUTINGS[options.text("Expert_Routing")]
    return game, load_experts(folder, game, plugins(), device=options.device, routing=routing)


def one_line(error: BaseException) -> str:
    """Returns what an error says, without line breaks, which would end the protocol's line."""
    return " ".join(str(error).split()) or type(error).__name__


def _behind(gate_name: str, experts: ExpertSet, game: ChessGame, complain: Callable[[str], None]) -> ExpertSet:
    from moemcts.plugins import plugins

    gate = plugins().gate(gate_name, game)
    if gate.num_phases != experts.gate.num_phases:
        complain(
            f"error: gate {gate_name} has {gate.num_phases} phases, there are {experts.gate.num_phases} experts; "
            f"they stay behind {experts.gate.name}"
        )
        return experts
    if gate.name != experts.gate.name:
        complain(f"the experts were trained behind gate {experts.gate.name}, {gate.name} chooses among them")
    return ExpertSet(gate, experts.experts, routing=experts.routing)


def _tables(folders: str, game: ChessGame, complain: Callable[[str], None]) -> Tablebase | None:
    if not folders:
        return None
    try:
        return Tablebase(game, folders)
    except MoemctsError as error:
        complain(f"error: {one_line(error)}")
        return None

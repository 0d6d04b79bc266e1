"""Loads what the engine's options name: a game, its evaluator, and its tablebases."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from moemcts.errors import ForeignData, MoemctsError
from moemcts.evaluation import Evaluator
from moemcts.experts import ROUTINGS, ExpertSet
from moemcts.game import Views
from moemcts.references import parse_reference
from moemcts.store import MANIFEST
from moemcts.weights import default_weights, folder_of
from moemcts_chess.board import python_chess
from moemcts_chess.game import MAX_PLIES, ChessGame
from moemcts_chess.static_evaluation import StaticEvaluator
from moemcts_chess.tablebase import Tablebase, TablebaseEvaluator
from moemcts_chess.uci.options import BUNDLED, GAMES_WITH_EXPERTS, GATE_OF_EXPERTS, NO_EXPERTS, Options
from moemcts_chess.uci.pace import Pace, batch_sizes

UNLIMITED_PLIES = MAX_PLIES
"""Maximum length of games, practically unlimited: draws by length are up to the GUI."""
ENCODINGS = ("planes", "policy")
EVERY_SIZE_UP_TO = 64
"""Each batch size up to this is warmed up; the time for that grows quadratically."""
NUM_TIMED = 2
"""Number of timed batches of each size, of which the fastest counts."""


@dataclass(frozen=True, kw_only=True)
class Resources:
    """The game and evaluator of a search."""

    game: ChessGame
    evaluator: Evaluator
    experts: ExpertSet | None = None
    tables: Tablebase | None = None

    @property
    def search(self) -> Mapping[str, Any]:
        """The search settings of the game; without a policy, untried moves get their node's value."""
        from moemcts.plugins import plugins

        settings = plugins().search_settings(self.game)
        return settings if self.experts is not None else {**settings, "first_play_urgency": "parent"}

    @property
    def tbhits(self) -> int:
        """Number of positions found in tablebases."""
        return self.evaluator.num_hits if isinstance(self.evaluator, TablebaseEvaluator) else 0

    def phase(self, views: Views) -> str:
        """Returns phase and expert of the first view, in the engine's output format."""
        if self.experts is None:
            return "expert=none"
        gate = self.experts.gate
        phase = int(gate.weights(views)[0].argmax())
        return f"phase={gate.phase_names[phase]} expert={phase}"


def load(
    options: Options, remark: Callable[[str], None], fail: Callable[[MoemctsError], None] | None = None
) -> Resources:
    """Returns what the options name.

    What cannot be loaded is replaced by a fallback after a call of `fail` with the error; the default prints a remark.
    """
    # Needed for positions after a draw; imported now, as it takes longer than a fast move.
    python_chess()
    fail = fail or (lambda error: remark(f"error: {one_line(error)}"))
    reference = _expert_reference(options, remark)
    if options.flag("UCI_Chess960") and options.game != "chess960":
        remark(f"UCI_Chess960 changes nothing in {options.game}: only chess is played from other starts")
    game, experts = ChessGame(options.game, max_plies=UNLIMITED_PLIES), None
    if reference:
        try:
            game, experts = _load_experts(folder_of(reference), options)
        except MoemctsError as error:
            fail(error)
        except (OSError, RuntimeError, ValueError) as error:
            fail(MoemctsError(f"{reference}: {one_line(error)}"))
    if experts is None:
        has_bundled = _bundled(options.game) != ""
        bundled_hint = f", or to {BUNDLED} for those that come with {options.game}" if has_bundled else ""
        remark(
            f"no experts: thinks of material, squares and the variant's aim; set Model_Directory to some{bundled_hint}"
        )
    elif (gate_name := options.text("Game_Phase_Definition")) != GATE_OF_EXPERTS:
        try:
            experts = _with_gate(gate_name, experts, game, remark)
        except MoemctsError as error:
            fail(error)
    evaluator: Evaluator = experts or StaticEvaluator(game)
    tables = None
    if folders := options.text("SyzygyPath"):
        try:
            tables = Tablebase(game, folders)
            evaluator = TablebaseEvaluator(evaluator, tables)
        except MoemctsError as error:
            fail(error)
    return Resources(game=game, evaluator=evaluator, experts=experts, tables=tables)


def _expert_reference(options: Options, remark: Callable[[str], None]) -> str:
    """Returns the folder of experts, or `weights:NAME`, that the options name; an empty string for none."""
    named = options.text("Model_Directory")
    if named == NO_EXPERTS:
        return ""
    if named == BUNDLED:
        bundled = _bundled(options.game)
        if not bundled:
            remark(f"no experts come with {options.game}")
        return bundled
    if not named and options.game in GAMES_WITH_EXPERTS:
        return _bundled(options.game)
    return named


def _bundled(game: str) -> str:
    """Returns the reference of the experts that come with a game, or an empty string."""
    return default_weights(ChessGame(game)) or ""


def warm_up(resources: Resources, batch_size: int, pace: Pace) -> float:
    """Makes every expert evaluate batches of `warm_up_sizes`, records their times and returns the total seconds.

    On the first batch of each size, libraries compile a network, allocate memory and autotune: up to seconds for a
    large network. A batch that is split among experts has parts of any size.
    """
    started = time.monotonic()
    state = resources.game.initial_state()
    view = resources.game.views([(state, state.active_players[0])])
    experts = resources.experts.experts if resources.experts is not None else ()
    for size in warm_up_sizes(batch_size):
        views = view.take(np.zeros(size, dtype=np.int64))
        for expert in experts:
            expert.evaluate(views)
    for size in batch_sizes(batch_size):
        views = view.take(np.zeros(size, dtype=np.int64))
        for _ in range(NUM_TIMED):
            batch_started = time.monotonic()
            resources.evaluator.evaluate(views)
            pace.measure(size, time.monotonic() - batch_started)
    return time.monotonic() - started


def warm_up_sizes(batch_size: int) -> list[int]:
    """Returns the batch sizes for the warm-up: all small ones, then powers of two."""
    small = range(1, min(batch_size, EVERY_SIZE_UP_TO) + 1)
    return [*small, *(size for size in batch_sizes(batch_size) if size > EVERY_SIZE_UP_TO)]


def game_of(folder: Path) -> tuple[str, dict[str, Any]]:
    """Returns name and options of the game that experts were made for; raises UsageError if there are no experts."""
    from moemcts.naming import experts_in
    from moemcts.store import read_toml

    return parse_reference(str(read_toml(experts_in(folder) / MANIFEST).get("game", "")))


def _load_experts(folder: Path, options: Options) -> tuple[ChessGame, ExpertSet]:
    """Returns the experts, and the game with their encodings."""
    from moemcts.agents import RandomAgent
    from moemcts.learn.checkpoint import load_networks
    from moemcts.learn.inference.positions import default_positions
    from moemcts.naming import experts_in
    from moemcts.plugins import plugins

    name, game_options = game_of(folder)
    if name != options.game:
        raise ForeignData(f"{folder} holds experts for {name}, but the game is {options.game}")
    encodings = {key: value for key, value in game_options.items() if key in ENCODINGS}
    game = ChessGame(name, max_plies=UNLIMITED_PLIES, **encodings)
    loaded = load_networks(experts_in(folder), game, plugins())
    inference = loaded.choice(
        options.text("Backend"),
        options.precision,
        batch_size=options.number("Batch_Size"),
        device=options.device,
        positions=lambda: default_positions(game, loaded.gate, RandomAgent()),
    ).inference
    routing = ROUTINGS[options.text("Expert_Routing")]
    return game, loaded.expert_set(inference, device=options.device, routing=routing)


def one_line(error: BaseException) -> str:
    """Returns an error's message without line breaks, which would end the protocol's line."""
    return " ".join(str(error).split()) or type(error).__name__


def _with_gate(gate_name: str, experts: ExpertSet, game: ChessGame, remark: Callable[[str], None]) -> ExpertSet:
    from moemcts.plugins import plugins

    gate = plugins().gate(gate_name, game)
    if gate.num_phases != experts.gate.num_phases:
        remark(
            f"error: gate {gate_name} has {gate.num_phases} phases, there are {experts.gate.num_phases} experts; "
            f"they stay behind {experts.gate.name}"
        )
        return experts
    if gate.name != experts.gate.name:
        remark(f"the experts were trained behind gate {experts.gate.name}, {gate.name} chooses among them")
    return ExpertSet(gate, experts.experts, routing=experts.routing)

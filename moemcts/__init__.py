"""AlphaZero-style search with a team of phase experts, for any game.

play    position --gate--> phase --experts--> evaluation --search--> tree --SearchAgent--> decision
learn   games --play/import--> records --phase weights--> per-phase sets --scheme, trainer--> experts --play--> games
judge   experts --schedule, play--> records --rating--> Elo +- error --report--> tables and plots
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moemcts.agents import Agent as Agent
    from moemcts.agents import Decision as Decision
    from moemcts.agents import Seat as Seat
    from moemcts.evaluation import Evaluation as Evaluation
    from moemcts.evaluation import Evaluator as Evaluator
    from moemcts.experts import ExpertSet as ExpertSet
    from moemcts.game import Game as Game
    from moemcts.game import GameSpec as GameSpec
    from moemcts.game import State as State
    from moemcts.game import View as View
    from moemcts.game import Views as Views
    from moemcts.gates import PhaseGate as PhaseGate
    from moemcts.hookspecs import Registration as Registration
    from moemcts.hookspecs import hookimpl as hookimpl
    from moemcts.learn.data.dataset import Dataset as Dataset
    from moemcts.learn.schemes.scheme import Scheme as Scheme
    from moemcts.learn.training.trainer import Trainer as Trainer
    from moemcts.loading import LoadedAgent as LoadedAgent
    from moemcts.loading import load as load
    from moemcts.loading import make as make
    from moemcts.runs import Experiment as Experiment
    from moemcts.runs import Training as Training
    from moemcts.search import Search as Search
    from moemcts.search import SearchAgent as SearchAgent
    from moemcts.search import SearchConfig as SearchConfig

__version__ = "0.1.0"

_HOMES = {
    "Agent": "agents",
    "Dataset": "learn.data.dataset",
    "Decision": "agents",
    "Evaluation": "evaluation",
    "Evaluator": "evaluation",
    "Experiment": "runs",
    "ExpertSet": "experts",
    "Game": "game",
    "GameSpec": "game",
    "LoadedAgent": "loading",
    "PhaseGate": "gates",
    "Registration": "hookspecs",
    "Scheme": "learn.schemes.scheme",
    "Search": "search",
    "SearchAgent": "search",
    "SearchConfig": "search",
    "Seat": "agents",
    "State": "game",
    "Trainer": "learn.training.trainer",
    "Training": "runs",
    "View": "game",
    "Views": "game",
    "hookimpl": "hookspecs",
    "load": "loading",
    "make": "loading",
}
"""The public names and the modules that define them; each module is imported on first access, as importing torch takes
seconds."""

__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})

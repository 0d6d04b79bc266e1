"""The numbers of a search."""

from __future__ import annotations

import math
from dataclasses import astuple
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from moemcts.game import GameSpec
from moemcts.search.foresight import LOOKS, EarlyEnd, Width
from moemcts.search.gumbel import GumbelRoot
from moemcts.search.unpruning import Unpruning, thresholds
from moemcts.sections import LATER, Idle, Mark, Section, told

FirstPlayUrgency = Literal["loss", "draw", "parent", "reduction"]

# What an untried action is worth: (share of the node's mean value, constant, reduction per sqrt(prior tried)).
FIRST_PLAY_URGENCIES: dict[FirstPlayUrgency, tuple[float, float, float]] = {
    "loss": (0.0, -1.0, 0.0),
    "draw": (0.0, 0.0, 0.0),
    "parent": (1.0, 0.0, 0.0),
    "reduction": (1.0, 0.0, 0.33),
}

# What the native search counts with.
LARGEST_U32 = 2**32 - 1

# With the solver, one more descent after so many simulations goes where a win is nearest to being proven; 0 is never.
PROOF_INTERVAL = 5

NOT_FOR_TREES = Mark()
"""A setting of which trees are not told, or by `SearchConfig.options` in another way."""
_OF_GUMBEL = Idle(root=("puct",))
_OF_PRUNING = Idle(pruning_visits=(0,))
_DRAWN = Idle(temperature=(0,))
_DRAWN_EARLY = Idle(temperature_plies=(0,))

_OFF = (None, False, 0, "puct")
"""Values by which a setting asks for nothing."""
_COUNTED: dict[str, tuple[tuple[str, ...], str]] = {
    "root": (("simulations",), "divides them among the root's actions"),
    "stop_tolerance": (("simulations",), "asks what the rest of them would change"),
    "smart_pruning": (("simulations", "nodes"), "asks what is left of them"),
}
"""Settings that need a limit which can be counted, one of those named, and what for."""
_ALONE: dict[str, dict[str, str]] = {
    "root": {
        "forced_playouts": "which plans all simulations",
        "stop_tolerance": "which plans all simulations",
        "smart_pruning": "which plans all simulations",
        "noise_fraction": "which has noise of its own, gumbel_noise",
        "reuse": "which begins with untried actions",
        "q_veto_delta": "which plays what is left",
        "q_value_weight": "which plays what is left",
    },
    "stop_tolerance": {"forced_playouts": "which foresees what PUCT does by itself"},
    "smart_pruning": {
        "temperature": "for moves that are drawn depend on all visits",
        **dict.fromkeys(
            ("forced_playouts", "q_veto_delta", "q_value_weight", "solver", "reuse"),
            "for moves then depend on more than which action is visited most",
        ),
    },
}
"""Settings that do not go together with others, and why not."""


class SearchConfig(Section):
    """How a search selects, what it adds to priors, and when it stops.

    Defaults are those of the M2CTS papers' engine (CrazyAra: c_init 2.5, c_base 19652, untried actions valued as
    lost, virtual loss 1); `c_init` 1.25 and `first_play_urgency` "draw" give AlphaZero's. A game says what else plays
    better in it: `Registration.search`.
    """

    model_config = ConfigDict(allow_inf_nan=False)

    simulations: int | None = Field(default=100, ge=1, le=LARGEST_U32)
    """Descents made by this search, each a visit of an action of the root, beside those of a kept tree; fewer where
    another limit, the solver, stop_tolerance or smart_pruning ends it sooner (`SearchResult.num_simulations`)."""
    nodes: int | None = Field(default=None, ge=1, le=LARGEST_U32 // 2)
    """Nodes in the tree, kept ones and ends of games included; without `simulations`, these stop at twice the nodes, as
    in CrazyAra."""
    seconds: float | None = Field(default=None, gt=0)
    """Time from `reset` on, for all trees of a search together: that of one move where one game is played at a time."""
    c_init: float = Field(default=2.5, ge=0)
    """PUCT's exploration constant: c = log((visits + c_base + 1) / c_base) + c_init (AlphaZero, Silver et al. 2018)."""
    c_base: float = Field(default=19652.0, gt=0)
    """Visits at which the logarithm begins to count."""
    first_play_urgency: Annotated[FirstPlayUrgency, NOT_FOR_TREES] = "loss"
    """Value of an untried action: -1, 0, its node's mean, or that less 0.33 per root of the prior tried (lc0)."""
    virtual_loss: float = Field(default=1.0, ge=0)
    """Losses counted while a leaf is evaluated; 0 is a virtual visit, which lowers exploration but no value."""
    policy_temperature: float = Field(default=1.0, gt=0)
    """Divides the logits of the policy."""
    uniform_share: Annotated[float, LATER] = Field(default=0.0, ge=0, le=1)
    """Share of uniform priors in the priors of every node; at 1 the policy is not heard."""
    noise_fraction: float = Field(default=0.0, ge=0, le=1)
    """Share of Dirichlet noise in the root's priors."""
    noise_alpha: Annotated[float, Idle(noise_fraction=(0,))] = Field(default=0.3, gt=0)
    """Concentration of that noise."""
    forced_playouts: Annotated[float, LATER] = Field(default=0.0, ge=0)
    """Actions of the root that were tried are visited at least sqrt(this * prior * simulations) times, and recommended
    without what that forced (KataGo 2, Wu 2019); 0 forces nothing."""
    root: Annotated[Literal["puct", "gumbel"], LATER, NOT_FOR_TREES] = "puct"
    """How the root's actions are tried: by PUCT, or by sequential halving among those that Gumbel noise draws, which
    improves the policy with any number of simulations (Danihelka et al. 2022)."""
    considered_actions: Annotated[int, LATER, NOT_FOR_TREES, _OF_GUMBEL] = Field(default=16, ge=1, le=LARGEST_U32)
    """With root "gumbel": actions of the root that are tried at most."""
    gumbel_noise: Annotated[float, LATER, NOT_FOR_TREES, _OF_GUMBEL] = Field(default=1.0, ge=0)
    """With root "gumbel": factor of the noise; 0 plays the best, 1 learns."""
    visit_offset: Annotated[float, LATER, NOT_FOR_TREES, _OF_GUMBEL] = Field(default=50.0, ge=0)
    """With root "gumbel": added to the visits of the most visited action, which weigh values (c_visit)."""
    value_scale: Annotated[float, LATER, NOT_FOR_TREES, _OF_GUMBEL] = Field(default=1.0, gt=0)
    """With root "gumbel": what such a visit is worth in logits, between a loss and a win (c_scale)."""
    pruning_visits: Annotated[int, LATER, NOT_FOR_TREES] = Field(default=0, ge=0, le=LARGEST_U32)
    """Visits from which on a node goes on with only the actions of the largest priors (progressive unpruning, Chaslot
    et al. 2008: T); 0 prunes nothing."""
    unpruned_actions: Annotated[int, LATER, NOT_FOR_TREES, _OF_PRUNING] = Field(default=5, ge=1, le=LARGEST_U32)
    """With pruning_visits: actions that are left then (k_init)."""
    unpruning_visits: Annotated[float, LATER, NOT_FOR_TREES, _OF_PRUNING] = Field(default=50.0, gt=0)
    """With pruning_visits: visits that have to be surpassed for one more action (A)."""
    unpruning_factor: Annotated[float, LATER, NOT_FOR_TREES, _OF_PRUNING] = Field(default=1.3, ge=1.01)
    """With pruning_visits: factor of visits from each such action to the next (B)."""
    stop_tolerance: Annotated[float, LATER, NOT_FOR_TREES] = Field(default=0.0, ge=0)
    """A search ends before its last simulation where the visits that it would end with, as shares, changed by less than
    this since half as many simulations (virtual expansions, Ye et al. 2022: epsilon); 0 never."""
    stop_share: Annotated[float, LATER, NOT_FOR_TREES, Idle(stop_tolerance=(0,))] = Field(default=0.2, ge=0, le=1)
    """With stop_tolerance: share of the simulations before which no search ends (r)."""
    smart_pruning: Annotated[bool, LATER] = False
    """Whether a search ends where the simulations that are left cannot change which action is visited most, as in lc0:
    moves are those of whole searches, visits and values those made so far."""
    temperature: Annotated[float, NOT_FOR_TREES, _DRAWN_EARLY] = Field(default=0.0, ge=0)
    """Moves are drawn in proportion to visits ** (1 / temperature); 0 takes the most visited."""
    temperature_plies: Annotated[int, NOT_FOR_TREES, _DRAWN] = Field(default=0, ge=0)
    """Plies from the start of the game during which `temperature` holds; it is 0 afterwards."""
    temperature_decay: Annotated[float, NOT_FOR_TREES, _DRAWN, _DRAWN_EARLY] = Field(default=1.0, gt=0, le=1)
    """Factor by which the temperature falls with every ply (CrazyAra 0.92)."""
    quantile_clipping: Annotated[float, NOT_FOR_TREES, _DRAWN, _DRAWN_EARLY] = Field(default=0.0, ge=0, lt=1)
    """Share of the least likely moves that is never drawn (CrazyAra 0.25)."""
    q_veto_delta: Annotated[float, NOT_FOR_TREES] = Field(default=0.0, ge=0)
    """A move whose mean value is more than this above the most visited one's is played instead; 0 never (CrazyAra 0.4).
    """
    q_value_weight: Annotated[float, NOT_FOR_TREES] = Field(default=0.0, ge=0)
    """What the second most visited move gains by a higher mean value: the difference times this, in shares of the most
    visited one's visits (CrazyAra 1)."""
    rollout_plies: Annotated[int, LATER, NOT_FOR_TREES] = Field(default=0, ge=0, le=LARGEST_U32)
    """A position's value is that of one so many plies further on, where the search's opponents' agent, or random moves,
    lead when they play for everybody (truncated rollouts, Tesauro and Galperin 1996); 0 is the position's own."""
    cache_size: Annotated[int, LATER, NOT_FOR_TREES] = Field(default=0, ge=0, le=LARGEST_U32)
    """Evaluations that an agent remembers, those of all its searches together, by position and player: an equal one is
    not evaluated again. A row takes four bytes per action; 0 remembers none."""
    replies: Annotated[Literal["kept", "drawn"], LATER] = "kept"
    """Whether a player given an agent replies once per node (Weil et al. 2023), or anew at every descent."""
    solver: bool = False
    """Whether ends of the game prove the positions above them, and one more descent after every fifth looks for proofs;
    two players, both searched, of opposite interests."""
    leaves_per_tree: int = Field(default=1, ge=1, le=LARGEST_U32)
    """Leaves that one tree may have in a batch."""
    num_threads: int = Field(default=1, ge=1, le=LARGEST_U32)
    """1, or more to let native games use all cores for many trees; results are the same."""
    reuse: Annotated[bool, NOT_FOR_TREES] = False
    """Whether the part of the tree below the moves played is kept for the next move."""

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if self.simulations is None and self.nodes is None and self.seconds is None:
            raise ValueError("expected a limit: simulations, nodes or seconds")
        idle = dict(self.idle())
        asked = {name: value for name, value in self if value not in _OFF and name not in idle}
        for name in (name for name in _ALONE if name in asked):
            beside = f"with {name}={told(asked[name])}"
            without = f"{name}={told(type(self).model_fields[name].default)} does without it"
            limits, why = _COUNTED[name]
            if all(getattr(self, limit) is None for limit in limits):
                raise ValueError(f"expected {' or '.join(limits)} {beside}, which {why}; {without}")
            for other in (other for other in _ALONE[name] if other in asked):
                why, got = _ALONE[name][other], f"{other}={told(asked[other])}"
                raise ValueError(f"expected no {other} {beside}, {why}, got {got}; {without}")
        return self

    def exploration(self, visits: float) -> float:
        """Returns PUCT's factor of priors at a node of so many visits."""
        c = self.c_init + math.log((visits + self.c_base + 1.0) / self.c_base)
        return c * math.sqrt(visits)

    @property
    def gumbel(self) -> GumbelRoot | None:
        """The numbers of the Gumbel root; None where it is PUCT's."""
        if self.root == "puct":
            return None
        return GumbelRoot(
            considered=self.considered_actions,
            visit_offset=self.visit_offset,
            value_scale=self.value_scale,
            noise=self.gumbel_noise,
        )

    @property
    def unpruning(self) -> Unpruning | None:
        """The numbers of progressive unpruning; None where nothing is pruned."""
        if not self.pruning_visits:
            return None
        return Unpruning(
            visits=self.pruning_visits,
            actions=self.unpruned_actions,
            thresholds=thresholds(self.unpruning_visits, self.unpruning_factor),
        )

    @property
    def width(self) -> Width:
        """How many actions of a node may be chosen, by its visits; None is all of them."""
        rule = self.unpruning
        return rule.width if rule else lambda visits: None

    @property
    def early_end(self) -> EarlyEnd | None:
        """When a search ends early; None where none does."""
        if not self.stop_tolerance or self.simulations is None:
            return None
        return EarlyEnd(
            simulations=self.simulations,
            interval=max(1, self.simulations // LOOKS),
            least=math.ceil(self.stop_share * self.simulations),
            tolerance=self.stop_tolerance,
        )

    @property
    def most_simulations(self) -> int | None:
        """The simulations after which a search ends: twice the nodes where these alone are limited, as in CrazyAra."""
        return 2 * self.nodes if self.simulations is None and self.nodes is not None else self.simulations

    def untried(self, mean: float, tried_prior: float) -> float:
        """Returns what an untried action is worth at a node of a mean value, where actions of this prior were tried."""
        parent, offset, reduction = FIRST_PLAY_URGENCIES[self.first_play_urgency]
        return parent * mean + offset - reduction * math.sqrt(max(tried_prior, 0.0))

    def options(self, spec: GameSpec) -> dict[str, Any]:
        """Returns what the native search is made with."""
        parent, offset, reduction = FIRST_PLAY_URGENCIES[self.first_play_urgency]
        fields = type(self).model_fields.items()
        options = {name: getattr(self, name) for name, field in fields if NOT_FOR_TREES not in field.metadata}
        return options | {
            "gumbel": None if self.gumbel is None else (*astuple(self.gumbel), self.most_simulations),
            "unpruning": None if self.unpruning is None else astuple(self.unpruning),
            "early_end": None if self.early_end is None else astuple(self.early_end),
            "simulations": self.most_simulations,
            "fpu_parent": parent,
            "fpu_offset": offset,
            "fpu_reduction": reduction,
            "proof_interval": PROOF_INTERVAL,
            "num_players": spec.num_players,
            "num_actions": spec.num_actions,
            "utility_sum": spec.utility_sum,
            "teams": spec.teams,
            "discount": spec.discount,
        }

"""Settings of a search."""

from __future__ import annotations

import math
from dataclasses import astuple
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from moemcts.game import GameSpec
from moemcts.search.foresight import LOOKS, EarlyEnd, Width
from moemcts.search.gumbel import GumbelRoot
from moemcts.search.unpruning import Unpruning, thresholds
from moemcts.sections import LATER, Idle, Mark, Section, format_value

FirstPlayUrgency = Literal["loss", "draw", "parent", "reduction"]

# The value of an untried action: (factor of the node's mean value, constant, reduction per sqrt(visited prior)).
FIRST_PLAY_URGENCIES: dict[FirstPlayUrgency, tuple[float, float, float]] = {
    "loss": (0.0, -1.0, 0.0),
    "draw": (0.0, 0.0, 0.0),
    "parent": (1.0, 0.0, 0.0),
    "reduction": (1.0, 0.0, 0.33),
}

# Limit of the native search's counters.
LARGEST_U32 = 2**32 - 1

# With the solver, one extra descent after this many simulations goes to the leaf nearest to a proven win; 0 for never.
PROOF_INTERVAL = 5

NOT_FOR_TREES = Mark()
"""Marks settings that `SearchConfig.options` does not pass to the native tree under their own names."""
_OF_GUMBEL = Idle(root=("puct",))
_OF_PRUNING = Idle(pruning_visits=(0,))
_DRAWN = Idle(temperature=(0,))
_DRAWN_EARLY = Idle(temperature_plies=(0,))

_OFF = (None, False, 0, "puct")
"""Values that turn a setting off."""
_NEEDS_LIMIT: dict[str, tuple[tuple[str, ...], str]] = {
    "root": (("simulations",), "divides them among the root's actions"),
    "stop_tolerance": (("simulations",), "asks what the rest of them would change"),
    "smart_pruning": (("simulations", "nodes"), "asks what is left of them"),
}
"""Settings that need one of the named limits, which have to be counts, and why."""
_INCOMPATIBLE: dict[str, dict[str, str]] = {
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
"""Settings that cannot be combined with others, and why not."""


class SearchConfig(Section):
    """How a search selects actions, what it adds to priors, and when it stops.

    Defaults are those of the M2CTS papers' engine (CrazyAra: c_init 2.5, c_base 19652, untried actions valued as
    losses, virtual loss 1); `c_init` 1.25 and `first_play_urgency` "draw" are AlphaZero's. Games may set other
    defaults: `Registration.search`.
    """

    model_config = ConfigDict(allow_inf_nan=False)

    simulations: int | None = Field(default=100, ge=1, le=LARGEST_U32)
    """Simulations of this search, not counting those of a reused tree; each adds one visit to an action of the root.
    There are fewer if another limit, the solver, stop_tolerance or smart_pruning ends it earlier
    (`SearchResult.num_simulations`)."""
    nodes: int | None = Field(default=None, ge=1, le=LARGEST_U32 // 2)
    """Nodes in the tree, including reused ones and ends of games; without `simulations`, the limit of simulations is
    twice this, as in CrazyAra."""
    seconds: float | None = Field(default=None, gt=0)
    """Time since `reset`, for all trees of a search together: the time per move if one game is played at a time."""
    c_init: float = Field(default=2.5, ge=0)
    """PUCT's exploration constant: c = log((visits + c_base + 1) / c_base) + c_init (AlphaZero, Silver et al. 2018)."""
    c_base: float = Field(default=19652.0, gt=0)
    """Visits at which the logarithm becomes relevant."""
    first_play_urgency: Annotated[FirstPlayUrgency, NOT_FOR_TREES] = "loss"
    """Value of an untried action: -1, 0, the node's mean, or the mean minus 0.33 * sqrt(visited prior) (lc0)."""
    virtual_loss: float = Field(default=1.0, ge=0)
    """Losses counted while a leaf is being evaluated; 0 is a virtual visit, which lowers only the exploration term."""
    policy_temperature: float = Field(default=1.0, gt=0)
    """Divides the policy logits."""
    uniform_share: Annotated[float, LATER] = Field(default=0.0, ge=0, le=1)
    """Weight of a uniform distribution mixed into the priors of every node; 1 ignores the policy."""
    noise_fraction: float = Field(default=0.0, ge=0, le=1)
    """Weight of Dirichlet noise mixed into the root's priors."""
    noise_alpha: Annotated[float, Idle(noise_fraction=(0,))] = Field(default=0.3, gt=0)
    """Concentration of the Dirichlet noise."""
    forced_playouts: Annotated[float, LATER] = Field(default=0.0, ge=0)
    """Tried root actions get at least sqrt(this * prior * simulations) visits, which the resulting policy does not
    count (KataGo 2, Wu 2019); 0 forces none."""
    root: Annotated[Literal["puct", "gumbel"], LATER, NOT_FOR_TREES] = "puct"
    """How root actions are selected: by PUCT, or by sequential halving of actions sampled with Gumbel noise, which
    improves the policy for any number of simulations (Danihelka et al. 2022)."""
    considered_actions: Annotated[int, LATER, NOT_FOR_TREES, _OF_GUMBEL] = Field(default=16, ge=1, le=LARGEST_U32)
    """With root "gumbel": maximum number of root actions that are tried."""
    gumbel_noise: Annotated[float, LATER, NOT_FOR_TREES, _OF_GUMBEL] = Field(default=1.0, ge=0)
    """With root "gumbel": scale of the noise; 0 for playing strength, 1 for training."""
    visit_offset: Annotated[float, LATER, NOT_FOR_TREES, _OF_GUMBEL] = Field(default=50.0, ge=0)
    """With root "gumbel": added to the visits of the most visited action to scale values (c_visit)."""
    value_scale: Annotated[float, LATER, NOT_FOR_TREES, _OF_GUMBEL] = Field(default=1.0, gt=0)
    """With root "gumbel": logits per such visit for a value range from loss to win (c_scale)."""
    pruning_visits: Annotated[int, LATER, NOT_FOR_TREES] = Field(default=0, ge=0, le=LARGEST_U32)
    """Visits from which on a node considers only the actions with the largest priors (progressive unpruning, Chaslot et
    al. 2008: T); 0 prunes nothing."""
    unpruned_actions: Annotated[int, LATER, NOT_FOR_TREES, _OF_PRUNING] = Field(default=5, ge=1, le=LARGEST_U32)
    """With pruning_visits: number of actions that are kept at first (k_init)."""
    unpruning_visits: Annotated[float, LATER, NOT_FOR_TREES, _OF_PRUNING] = Field(default=50.0, gt=0)
    """With pruning_visits: visits above which the next action is added (A)."""
    unpruning_factor: Annotated[float, LATER, NOT_FOR_TREES, _OF_PRUNING] = Field(default=1.3, ge=1.01)
    """With pruning_visits: factor between the visits at which consecutive actions are added (B)."""
    stop_tolerance: Annotated[float, LATER, NOT_FOR_TREES] = Field(default=0.0, ge=0)
    """Ends a search early if its predicted final visit shares have changed by less than this since half as many
    simulations (virtual expansions, Ye et al. 2022: epsilon); 0 for never."""
    stop_share: Annotated[float, LATER, NOT_FOR_TREES, Idle(stop_tolerance=(0,))] = Field(default=0.2, ge=0, le=1)
    """With stop_tolerance: fraction of the simulations before which no search ends (r)."""
    smart_pruning: Annotated[bool, LATER] = False
    """Whether a search ends early when the remaining simulations cannot change the most visited action, as in lc0: the
    move is that of the full search, visits and values are those so far."""
    temperature: Annotated[float, NOT_FOR_TREES, _DRAWN_EARLY] = Field(default=0.0, ge=0)
    """Moves are sampled in proportion to visits ** (1 / temperature); 0 takes the most visited."""
    temperature_plies: Annotated[int, NOT_FOR_TREES, _DRAWN] = Field(default=0, ge=0)
    """Plies from the start of the game in which `temperature` applies; it is 0 afterwards."""
    temperature_decay: Annotated[float, NOT_FOR_TREES, _DRAWN, _DRAWN_EARLY] = Field(default=1.0, gt=0, le=1)
    """Factor of the temperature per ply (CrazyAra 0.92)."""
    quantile_clipping: Annotated[float, NOT_FOR_TREES, _DRAWN, _DRAWN_EARLY] = Field(default=0.0, ge=0, lt=1)
    """Total probability of the least likely moves, which are never sampled (CrazyAra 0.25)."""
    q_veto_delta: Annotated[float, NOT_FOR_TREES] = Field(default=0.0, ge=0)
    """Plays a move whose mean value exceeds that of the most visited one by more than this; 0 for never (CrazyAra
    0.4)."""
    q_value_weight: Annotated[float, NOT_FOR_TREES] = Field(default=0.0, ge=0)
    """Bonus of the second most visited move if its mean value is higher: this times the difference times the visits of
    the most visited move (CrazyAra 1)."""
    rollout_plies: Annotated[int, LATER, NOT_FOR_TREES] = Field(default=0, ge=0, le=LARGEST_U32)
    """Evaluates a position by the one that is reached after this many more plies, played by the search's opponent agent
    or else at random (truncated rollouts, Tesauro and Galperin 1996); 0 evaluates the position itself."""
    cache_size: Annotated[int, LATER, NOT_FOR_TREES] = Field(default=0, ge=0, le=LARGEST_U32)
    """Evaluations that an agent caches, by position and player, for all its searches. An entry takes four bytes per
    action; 0 for no cache."""
    replies: Annotated[Literal["kept", "drawn"], LATER] = "kept"
    """Whether an opponent agent replies once per node (Weil et al. 2023), or again in every descent."""
    solver: bool = False
    """Whether ends of games prove the values of positions above them, with an extra descent after every fifth
    simulation to search for proofs; for two-player zero-sum games in which both players are searched."""
    leaves_per_tree: int = Field(default=1, ge=1, le=LARGEST_U32)
    """Maximum number of leaves per tree in a batch."""
    num_threads: int = Field(default=1, ge=1, le=LARGEST_U32)
    """1, or more to let native games use all cores for many trees; does not change results."""
    reuse: Annotated[bool, NOT_FOR_TREES] = False
    """Whether the subtree below the moves played is reused for the next move."""

    @model_validator(mode="after")
    def _check_combination(self) -> Self:
        if self.simulations is None and self.nodes is None and self.seconds is None:
            raise ValueError("expected a limit: simulations, nodes or seconds")
        idle = dict(self.idle())
        active = {name: value for name, value in self if value not in _OFF and name not in idle}
        for name, incompatible in _INCOMPATIBLE.items():
            if name not in active:
                continue
            condition, off = f"with {name}={format_value(active[name])}", self._default(name)
            limits, reason = _NEEDS_LIMIT[name]
            if all(getattr(self, limit) is None for limit in limits):
                raise ValueError(f"expected {' or '.join(limits)} {condition}, which {reason}; or set {off}")
            for other, reason in incompatible.items():
                if other in active:
                    got = f"{other}={format_value(active[other])}"
                    raise ValueError(
                        f"expected no {other} {condition}, {reason}, got {got}; set {self._default(other)} or {off}"
                    )
        return self

    @classmethod
    def _default(cls, name: str) -> str:
        """Returns a setting with its default, as it is written in options."""
        return f"{name}={format_value(cls.model_fields[name].default)}"

    def exploration(self, visits: float) -> float:
        """Returns PUCT's factor of the prior at a node with this many visits."""
        c = self.c_init + math.log((visits + self.c_base + 1.0) / self.c_base)
        return c * math.sqrt(visits)

    @property
    def gumbel(self) -> GumbelRoot | None:
        """The parameters of the Gumbel root; None for PUCT."""
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
        """The parameters of progressive unpruning; None without pruning."""
        if not self.pruning_visits:
            return None
        return Unpruning(
            visits=self.pruning_visits,
            actions=self.unpruned_actions,
            thresholds=thresholds(self.unpruning_visits, self.unpruning_factor),
        )

    @property
    def width(self) -> Width:
        """The number of actions to choose from at a node, by its visits; None for all."""
        rule = self.unpruning
        return rule.width if rule else lambda visits: None

    @property
    def early_end(self) -> EarlyEnd | None:
        """The rule for ending a search early; None without one."""
        if not self.stop_tolerance or self.simulations is None:
            return None
        return EarlyEnd(
            simulations=self.simulations,
            interval=max(1, self.simulations // LOOKS),
            least=math.ceil(self.stop_share * self.simulations),
            tolerance=self.stop_tolerance,
        )

    @property
    def max_simulations(self) -> int | None:
        """The maximum number of simulations: twice the nodes if only these are limited, as in CrazyAra."""
        return 2 * self.nodes if self.simulations is None and self.nodes is not None else self.simulations

    def first_play_value(self, mean: float, tried_prior: float) -> float:
        """Returns the value of an untried action, given the node's mean value and the sum of its visited priors."""
        parent, offset, reduction = FIRST_PLAY_URGENCIES[self.first_play_urgency]
        return parent * mean + offset - reduction * math.sqrt(max(tried_prior, 0.0))

    def options(self, spec: GameSpec) -> dict[str, Any]:
        """Returns the options of the native search."""
        parent, offset, reduction = FIRST_PLAY_URGENCIES[self.first_play_urgency]
        fields = type(self).model_fields.items()
        options = {name: getattr(self, name) for name, field in fields if NOT_FOR_TREES not in field.metadata}
        return options | {
            "gumbel": None if self.gumbel is None else (*astuple(self.gumbel), self.max_simulations),
            "unpruning": None if self.unpruning is None else astuple(self.unpruning),
            "early_end": None if self.early_end is None else astuple(self.early_end),
            "simulations": self.max_simulations,
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

"""Experts as an agent, as the options of their reference say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from moemcts.agents import Agent, PolicyAgent, Translated
from moemcts.errors import UsageError, unknown_name
from moemcts.experts import QUEUE, ROUTING_NAMES, ROUTINGS, ExpertSet, ValuedBy
from moemcts.game import Game
from moemcts.naming.folders import experts_in, folder_of
from moemcts.naming.opponents import opponents_named, usual_opponents
from moemcts.options import told
from moemcts.plugins import plugins
from moemcts.references import extend_reference, format_reference, parse_reference
from moemcts.search import SearchAgent, SearchConfig
from moemcts.search.config import FirstPlayUrgency
from moemcts.weights import encoded_as

if TYPE_CHECKING:
    from moemcts.learn.checkpoint import LoadedNetworks
    from moemcts.learn.inference.backends import Inference

LIMITS = ("simulations", "nodes", "seconds")
"""Options that limit a search."""
AUTO = "auto"
"""The backend, the precision and the device that are chosen here."""
CHOSEN = ("backend", "device", "precision")
"""Options that are chosen where an agent is made, and the only ones that its reference gains there."""
_WORDS = {
    "routing": f"Who evaluates the leaves of a batch: {', '.join(ROUTING_NAMES)}; by default what fits the gate.",
    "batch": "Leaves that wait, with routing=queue, until they are evaluated at once.",
    "gate": "Another gate of as many phases, by which the experts are chosen.",
    "opponents": "Who the search expects in the other seats, by default the game's usual agent; self searches for all.",
    "only": "Phases whose experts answer; in the others those of else do.",
    "baseline": "A folder of experts that answer in the phases that only does not name.",
    "value": "A folder of experts whose values are taken, with these policies.",
    "backend": "What runs the networks: torch, onnxruntime, openvino, or auto, the quickest here.",
    "precision": "float32, bf16, int8 where models are exported, or auto, the quickest here that keeps the policy.",
    "device": "Where they run: cpu, cuda, or auto.",
}
"""What options mean that are no settings of the search."""
_BATCH = 64


@dataclass(frozen=True, kw_only=True)
class ExpertAgent:
    """What a reference to experts can say of their agent; see `moemcts.naming.resolve_agent`."""

    simulations: int | None = 100
    nodes: int | None = None
    seconds: float | None = None
    leaves: int = 4
    routing: str = ""
    batch: int = _BATCH
    gate: Sequence[str] = ()
    opponents: str = ""
    c_init: float | None = None
    first_play_urgency: FirstPlayUrgency | None = None
    policy_temperature: float | None = None
    uniform_share: float | None = None
    rollout_plies: int | None = None
    cache_size: int | None = None
    noise: float | None = None
    pruning_visits: int | None = None
    stop_tolerance: float | None = None
    smart_pruning: bool | None = None
    solver: bool | None = None
    reuse: bool | None = None
    root: Literal["puct", "gumbel"] | None = None
    considered_actions: int | None = None
    gumbel_noise: float | None = None
    visit_offset: float | None = None
    value_scale: float | None = None
    c_base: float | None = None
    virtual_loss: float | None = None
    noise_alpha: float | None = None
    forced_playouts: float | None = None
    unpruned_actions: int | None = None
    unpruning_visits: float | None = None
    unpruning_factor: float | None = None
    stop_share: float | None = None
    temperature: float | None = None
    temperature_plies: int | None = None
    temperature_decay: float | None = None
    quantile_clipping: float | None = None
    q_veto_delta: float | None = None
    q_value_weight: float | None = None
    replies: Literal["kept", "drawn"] | None = None
    num_threads: int | None = None
    only: Sequence[str] = ()
    baseline: str | None = None
    value: str | None = None
    backend: str = AUTO
    precision: str = ""
    device: str = "cpu"

    @classmethod
    def saying(cls, options: Mapping[str, Any], game: Game) -> Self:
        """Returns what the options say; where they name no limit or no `leaves`, what the game says of these."""
        usual = plugins().search_settings(game)
        said = dict(options)
        if not any(name in said for name in LIMITS) and any(name in usual for name in LIMITS):
            said |= {name: usual.get(name) for name in LIMITS}
        if "leaves" not in said and "leaves_per_tree" in usual:
            said["leaves"] = usual["leaves_per_tree"]
        return cls(**said)

    def meaning(self, game: Game) -> dict[str, Any]:
        """Returns what it says, with what it leaves to others filled in: equal of what makes equal agents of a folder.

        It has to make one.
        """
        settings = SearchConfig.model_fields.keys() | {"leaves", "noise"}
        found = {name: value for name, value in vars(self).items() if name not in settings}
        found["opponents"] = self.opponents or usual_opponents(game)
        found["precision"] = self._precision
        # Who searches nothing has settings of the search that mean nothing.
        found["search"] = self._search(game) if self.simulations != 0 else None
        return found

    def of(self, folder: Path, game: Game, reference: str) -> Agent:
        """Returns the agent of a folder of experts; its name is the reference, which also says what was chosen here."""
        from moemcts.learn.checkpoint import load_networks
        from moemcts.learn.training.ranks import device_of

        if self.routing and self.routing not in ROUTING_NAMES:
            raise unknown_name("routing", self.routing, ROUTING_NAMES)
        try:
            if idle := self._idle(game):
                raise ValueError(f"{idle}; leave it out")
        except ValueError as error:
            raise UsageError(f"{reference}: {told(error)}") from None
        device = str(device_of(self.device))
        own = encoded_as(experts_in(folder), game)
        networks = load_networks(experts_in(folder), own, plugins())
        if self.gate:
            # The commas are those of the gate's own options.
            networks = networks.by_gate(plugins().gate(",".join(self.gate), own))
        inference = self._inference(networks, own, device)
        experts = self._evaluator(networks, own, inference, device)
        name = _saying_more(reference, self._chosen(inference, device))
        try:
            agent = self._playing(experts, own, name)
        except ValueError as error:
            raise UsageError(f"{reference}: {told(error)}") from None
        return agent if own is game else Translated(agent, game, own)

    def _idle(self, game: Game) -> str:
        """Returns which option nothing comes of, in words; empty where there is none."""
        if self.batch != _BATCH and self.routing != QUEUE:
            return f"batch has no effect without routing={QUEUE}"
        if self.simulations == 0:
            drawing = (name for name in vars(self) if name.startswith("temperature") and getattr(self, name))
            return next((f"{name} has no effect with simulations=0, the likeliest move" for name in drawing), "")
        idle = self._search(game).idle()
        return next((f"{name} has no effect {reason}" for name, reason in idle if getattr(self, name, None)), "")

    @property
    def _precision(self) -> str:
        # What the names of agents say that took float32: the backend alone.
        return self.precision or (AUTO if self.backend == AUTO else "float32")

    def _inference(self, networks: LoadedNetworks, game: Game, device: str) -> Inference:
        from moemcts.learn.inference.positions import usual_positions

        return networks.choice(
            self.backend,
            self._precision,
            device=device,
            positions=lambda: usual_positions(game, networks.gate, plugins().agent(plugins().player(game), game)),
        ).inference

    def _evaluator(
        self, networks: LoadedNetworks, game: Game, inference: Inference, device: str
    ) -> ExpertSet | ValuedBy:
        """Returns what answers the search: these experts, with those of other folders where they are named."""
        experts = networks.expert_set(inference, device=device, routing=ROUTINGS.get(self.routing))
        if self.baseline is not None:
            experts = experts.only(self.only, self._others(self.baseline, game, inference, device))
        return experts if self.value is None else ValuedBy(experts, self._others(self.value, game, inference, device))

    def _others(self, reference: str, game: Game, inference: Inference, device: str) -> ExpertSet:
        """Returns the experts of another folder, run as these are."""
        from moemcts.learn.checkpoint import load_networks
        from moemcts.learn.inference.backends import Inference
        from moemcts.learn.inference.folder import has_models

        others = load_networks(experts_in(folder_of(reference)), game, plugins())
        # Of these, `auto` knows nothing but what they are run by; without models it is float32.
        is_unfit = inference.precision == "int8" != self.precision and not has_models(others.folder, "int8")
        return others.expert_set(Inference(inference.backend) if is_unfit else inference, device=device)

    def _chosen(self, inference: Inference, device: str) -> dict[str, str]:
        """Returns what `auto` was taken for."""
        taken = (inference.backend, device, inference.precision)
        is_precision_left = self.precision == AUTO or (not self.precision and inference.precision != "float32")
        is_left = (self.backend == AUTO, self.device == AUTO, is_precision_left)
        return {option: one for option, one, left in zip(CHOSEN, taken, is_left, strict=True) if left}

    def _playing(self, experts: ExpertSet | ValuedBy, game: Game, name: str) -> Agent:
        if self.simulations == 0:
            return PolicyAgent(experts, name=name)
        model = opponents_named(self.opponents or usual_opponents(game), game)
        queue = self.batch if self.routing == QUEUE else None
        config = self._search(game)
        return SearchAgent(game, experts, config, opponents=model, queue=queue, name=name)

    def _search(self, game: Game) -> SearchConfig:
        """Returns the game's settings of the search with those that are said here."""
        own = {name: getattr(self, name, None) for name in SearchConfig.model_fields.keys() - LIMITS}
        said = own | {"noise_fraction": self.noise}
        settings = {**plugins().search_settings(game), **{key: one for key, one in said.items() if one is not None}}
        limits = {"simulations": self.simulations, "nodes": self.nodes, "seconds": self.seconds}
        return SearchConfig.model_validate({**settings, **limits, "leaves_per_tree": self.leaves})


def option_words() -> dict[str, str]:
    """Returns what each option of `ExpertAgent` means, by its field."""
    fields = {**SearchConfig.model_fields, "leaves": SearchConfig.model_fields["leaves_per_tree"]}
    fields |= {"noise": SearchConfig.model_fields["noise_fraction"]}
    return {name: " ".join((field.description or "").split()) for name, field in fields.items()} | _WORDS


def _saying_more(reference: str, chosen: dict[str, str]) -> str:
    """Returns a reference with what was chosen for its agent, in place of `auto` where that is written."""
    name, options = parse_reference(reference)
    if any(option in options for option in chosen):
        return format_reference(name, {**options, **chosen})
    return extend_reference(reference, chosen)

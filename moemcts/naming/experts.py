"""Experts as an agent, as the options of their reference say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from pydantic import Field
from pydantic.fields import FieldInfo

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
from moemcts.sections import Frozen
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
SHORT = {"leaves_per_tree": "leaves", "noise_fraction": "noise"}
"""Settings of the search that references call by shorter names."""
_SEARCHED = {"simulations": 100, "leaves_per_tree": 4}
"""What experts search with where neither a reference nor the game says it."""
_BATCH = 64


class ExpertOption(NamedTuple):
    """What a reference to experts may say."""

    kind: Any
    """The type of its value."""
    default: Any
    """None where the game says it, or nothing comes of it."""
    meaning: str


class ExpertAgent(Frozen):
    """What a reference to experts says of their agent; see `moemcts.naming.resolve_agent`."""

    search: dict[str, Any]
    """Settings of the search that are said, and its limits."""
    routing: str = Field(
        default="",
        description=f"Who evaluates the leaves of a batch: {', '.join(ROUTING_NAMES)}; by default what fits the gate.",
    )
    batch: int = _BATCH
    """Leaves that wait, with routing=queue, until they are evaluated at once."""
    gate: Sequence[str] = ()
    """Another gate of as many phases, by which the experts are chosen."""
    opponents: str = ""
    """Who the search expects in the other seats, by default the game's usual agent; self searches for all."""
    only: Sequence[str] = ()
    """Phases whose experts answer; in the others those of else do."""
    # `else` is no word that Python takes for a name.
    baseline: str | None = Field(default=None, alias="else")
    """A folder of experts that answer in the phases that only does not name."""
    value: str | None = None
    """A folder of experts whose values are taken, with these policies."""
    backend: str = AUTO
    """What runs the networks: torch, onnxruntime, openvino, or auto, the quickest here."""
    precision: str = ""
    """float32, bf16, int8 where models are exported, or auto, the quickest here that keeps the policy."""
    device: str = "cpu"
    """Where they run: cpu, cuda, or auto."""

    @classmethod
    def saying(cls, options: Mapping[str, Any], game: Game) -> Self:
        """Returns what the options say; where they name no limit or no `leaves`, what the game says of these."""
        usual = plugins().search_settings(game)
        settings = {SHORT.get(name, name): name for name in SearchConfig.model_fields}
        own = {option: value for option, value in options.items() if option not in settings}
        said = {settings[option]: value for option, value in options.items() if option in settings}
        limits = next((source for source in (said, usual) if any(name in source for name in LIMITS)), _SEARCHED)
        leaves = usual.get("leaves_per_tree", _SEARCHED["leaves_per_tree"])
        return cls(search={"leaves_per_tree": leaves, **said, **{name: limits.get(name) for name in LIMITS}}, **own)

    @property
    def searches(self) -> bool:
        """Whether it searches at all; else it plays the likeliest move."""
        return bool(self.search["simulations"] != 0)

    def meaning(self, game: Game) -> dict[str, Any]:
        """Returns what it says, with what it leaves to others filled in: equal of what makes equal agents of a folder.

        It has to make one.
        """
        return {
            **dict(self),
            "opponents": self.opponents or usual_opponents(game),
            "precision": self._precision,
            # Who searches nothing has settings of the search that mean nothing.
            "search": self._search(game) if self.searches else None,
        }

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
        if not self.searches:
            drawing = (name for name, value in self.search.items() if name.startswith("temperature") and value)
            return next((f"{name} has no effect with simulations=0, the likeliest move" for name in drawing), "")
        idle = self._search(game).idle()
        return next((f"{name} has no effect {reason}" for name, reason in idle if self.search.get(name)), "")

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
        if not self.searches:
            return PolicyAgent(experts, name=name)
        model = opponents_named(self.opponents or usual_opponents(game), game)
        queue = self.batch if self.routing == QUEUE else None
        config = self._search(game)
        return SearchAgent(game, experts, config, opponents=model, queue=queue, name=name)

    def _search(self, game: Game) -> SearchConfig:
        """Returns the game's settings of the search with those that are said here."""
        return SearchConfig.model_validate({**plugins().search_settings(game), **self.search})


def expert_options() -> dict[str, ExpertOption]:
    """Returns what a reference to experts may say, by name."""

    def meaning(field: FieldInfo) -> str:
        return " ".join((field.description or "").split())

    searched = {
        SHORT.get(name, name): ExpertOption(field.annotation, _SEARCHED.get(name), meaning(field))
        for name, field in SearchConfig.model_fields.items()
    }
    own = {
        field.alias or name: ExpertOption(field.annotation, field.default, meaning(field))
        for name, field in ExpertAgent.model_fields.items()
        if name != "search"
    }
    # What is wanted most comes first.
    return {name: searched[name] for name in (*LIMITS, "leaves")} | own | searched


def _saying_more(reference: str, chosen: dict[str, str]) -> str:
    """Returns a reference with what was chosen for its agent, in place of `auto` where that is written."""
    name, options = parse_reference(reference)
    if any(option in options for option in chosen):
        return format_reference(name, {**options, **chosen})
    return extend_reference(reference, chosen)

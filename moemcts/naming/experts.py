"""Agents that play with experts, configured by the options of a reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from pydantic import Field
from pydantic.fields import FieldInfo

from moemcts.agents import Agent, PolicyAgent, Translated
from moemcts.errors import UsageError, unknown_name
from moemcts.experts import QUEUE, ROUTING_NAMES, ROUTINGS, ExpertSet, PolicyValueSplit
from moemcts.game import Game
from moemcts.naming.folders import experts_in, folder_of
from moemcts.naming.opponents import default_opponents, resolve_opponents
from moemcts.options import error_message
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
"""Selects the backend, the precision or the device automatically."""
CHOSEN = ("backend", "device", "precision")
"""Options that may be chosen automatically, the only ones that are added to an agent's reference."""
SHORT_NAMES = {"leaves_per_tree": "leaves", "noise_fraction": "noise"}
"""Settings of the search with a shorter name in references."""
_DEFAULT_SEARCH = {"simulations": 100, "leaves_per_tree": 4}
"""Default search settings of experts, if neither the reference nor the game has any."""
_DEFAULT_BATCH = 64


class ExpertOption(NamedTuple):
    """An option in references to experts."""

    kind: Any
    """The type of its value."""
    default: Any
    """None if it depends on the game, or has no effect."""
    meaning: str


class ExpertSettings(Frozen):
    """The settings in a reference to experts; see `moemcts.naming.resolve_agent`."""

    search: dict[str, Any]
    """Explicit settings of the search, and its limits."""
    routing: str = Field(
        default="",
        description=f"Who evaluates the leaves of a batch: {', '.join(ROUTING_NAMES)}; by default what fits the gate.",
    )
    batch: int = _DEFAULT_BATCH
    """Batch size of each expert's queue, with routing=queue."""
    gate: Sequence[str] = ()
    """Another gate with the same number of phases, by which experts are selected."""
    opponents: str = ""
    """Agent that the search assumes in the other seats, by default the game's default agent; self searches for all."""
    only: Sequence[str] = ()
    """Phases in which these experts are used; in the others, those of else are."""
    # `else` is a Python keyword.
    baseline: str | None = Field(default=None, alias="else")
    """A folder of experts for the phases that are not in only."""
    value: str | None = None
    """A folder of experts whose values are combined with the policy of these."""
    backend: str = AUTO
    """How networks are run: torch, onnxruntime, openvino, or auto, the fastest here."""
    precision: str = ""
    """float32, bf16, int8 for exported models, or auto, the fastest here that preserves the policy."""
    device: str = "cpu"
    """Where networks are run: cpu, cuda, or auto."""

    @classmethod
    def from_options(cls, options: Mapping[str, Any], game: Game) -> Self:
        """Returns the settings of options; without a limit or `leaves`, the game's search settings provide these."""
        game_defaults = plugins().search_settings(game)
        settings = {SHORT_NAMES.get(name, name): name for name in SearchConfig.model_fields}
        others = {option: value for option, value in options.items() if option not in settings}
        explicit = {settings[option]: value for option, value in options.items() if option in settings}
        sources = [
            source for source in (explicit, game_defaults, _DEFAULT_SEARCH) if any(name in source for name in LIMITS)
        ]
        limits = {name: sources[0].get(name) for name in LIMITS}
        leaves = game_defaults.get("leaves_per_tree", _DEFAULT_SEARCH["leaves_per_tree"])
        return cls(search={"leaves_per_tree": leaves, **explicit, **limits}, **others)

    @property
    def has_search(self) -> bool:
        """Whether it searches; otherwise it plays the most likely move."""
        return bool(self.search["simulations"] != 0)

    def canonical(self, game: Game) -> dict[str, Any]:
        """Returns the settings with defaults filled in, which are equal for equal agents of a folder.

        The settings must be valid.
        """
        return {
            **dict(self),
            "opponents": self.opponents or default_opponents(game),
            "precision": self._precision,
            # Without a search, its settings do not matter.
            "search": self._search_config(game) if self.has_search else None,
        }

    def make_agent(self, folder: Path, game: Game, reference: str) -> Agent:
        """Returns the agent for a folder of experts; its name is the reference with automatic choices made explicit."""
        from moemcts.learn.checkpoint import load_networks
        from moemcts.learn.training.ranks import device_of

        if self.routing and self.routing not in ROUTING_NAMES:
            raise unknown_name("routing", self.routing, ROUTING_NAMES)
        try:
            if idle := self._describe_idle_option(game):
                raise ValueError(f"{idle}; leave it out")
        except ValueError as error:
            raise UsageError(f"{reference}: {error_message(error)}") from None
        device = str(device_of(self.device))
        own_game = encoded_as(experts_in(folder), game)
        networks = load_networks(experts_in(folder), own_game, plugins())
        if self.gate:
            # Commas separate values of the gate's own options.
            networks = networks.by_gate(plugins().gate(",".join(self.gate), own_game))
        inference = self._choose_inference(networks, own_game, device)
        experts = self._make_evaluator(networks, own_game, inference, device)
        name = _with_choices(reference, self._automatic_choices(inference, device))
        try:
            agent = self._make_playing_agent(experts, own_game, name)
        except ValueError as error:
            raise UsageError(f"{reference}: {error_message(error)}") from None
        return agent if own_game is game else Translated(agent, game, own_game)

    def _describe_idle_option(self, game: Game) -> str:
        """Returns, in words, which option has no effect; empty if there is none."""
        if self.batch != _DEFAULT_BATCH and self.routing != QUEUE:
            return f"batch has no effect without routing={QUEUE}"
        if not self.has_search:
            for name, value in self.search.items():
                if name.startswith("temperature") and value:
                    return f"{name} has no effect with simulations=0, which plays the likeliest move"
            return ""
        for name, reason in self._search_config(game).idle():
            if self.search.get(name):
                return f"{name} has no effect {reason}"
        return ""

    @property
    def _precision(self) -> str:
        # With an explicit backend the precision is float32, as in the names of earlier agents.
        return self.precision or (AUTO if self.backend == AUTO else "float32")

    def _choose_inference(self, networks: LoadedNetworks, game: Game, device: str) -> Inference:
        from moemcts.learn.inference.positions import default_positions

        return networks.choice(
            self.backend,
            self._precision,
            device=device,
            positions=lambda: default_positions(game, networks.gate, plugins().agent(plugins().player(game), game)),
        ).inference

    def _make_evaluator(
        self, networks: LoadedNetworks, game: Game, inference: Inference, device: str
    ) -> ExpertSet | PolicyValueSplit:
        """Returns the evaluator of the search: these experts, combined with those of other folders if any are given."""
        experts = networks.expert_set(inference, device=device, routing=ROUTINGS.get(self.routing))
        if self.baseline is not None:
            experts = experts.only(self.only, self._load_others(self.baseline, game, inference, device))
        return (
            experts
            if self.value is None
            else PolicyValueSplit(experts, self._load_others(self.value, game, inference, device))
        )

    def _load_others(self, reference: str, game: Game, inference: Inference, device: str) -> ExpertSet:
        """Returns the experts of another folder, run in the same way as these."""
        from moemcts.learn.checkpoint import load_networks
        from moemcts.learn.inference.backends import Inference
        from moemcts.learn.inference.folder import has_models

        others = load_networks(experts_in(folder_of(reference)), game, plugins())
        # `auto` was decided for the main experts; these use float32 if they have no int8 models.
        lacks_models = inference.precision == "int8" != self.precision and not has_models(others.folder, "int8")
        return others.expert_set(Inference(inference.backend) if lacks_models else inference, device=device)

    def _automatic_choices(self, inference: Inference, device: str) -> dict[str, str]:
        """Returns the choices that were made for `auto`."""
        choices: dict[str, str] = {}
        if self.backend == AUTO:
            choices["backend"] = inference.backend
        if self.device == AUTO:
            choices["device"] = device
        if self.precision == AUTO or (not self.precision and inference.precision != "float32"):
            choices["precision"] = inference.precision
        return choices

    def _make_playing_agent(self, experts: ExpertSet | PolicyValueSplit, game: Game, name: str) -> Agent:
        if not self.has_search:
            return PolicyAgent(experts, name=name)
        opponents = resolve_opponents(self.opponents or default_opponents(game), game)
        queue = self.batch if self.routing == QUEUE else None
        config = self._search_config(game)
        return SearchAgent(game, experts, config, opponents=opponents, queue=queue, name=name)

    def _search_config(self, game: Game) -> SearchConfig:
        """Returns the game's search settings, updated by the explicit ones."""
        return SearchConfig.model_validate({**plugins().search_settings(game), **self.search})


def expert_options() -> dict[str, ExpertOption]:
    """Returns the options in references to experts, by name."""

    def describe(field: FieldInfo) -> str:
        return " ".join((field.description or "").split())

    search_options = {
        SHORT_NAMES.get(name, name): ExpertOption(field.annotation, _DEFAULT_SEARCH.get(name), describe(field))
        for name, field in SearchConfig.model_fields.items()
    }
    expert_only = {
        field.alias or name: ExpertOption(field.annotation, field.default, describe(field))
        for name, field in ExpertSettings.model_fields.items()
        if name != "search"
    }
    # The most important options first.
    return {name: search_options[name] for name in (*LIMITS, "leaves")} | expert_only | search_options


def _with_choices(reference: str, chosen: dict[str, str]) -> str:
    """Returns a reference with the automatic choices added, in place of `auto` if that is given."""
    name, options = parse_reference(reference)
    if any(option in options for option in chosen):
        return format_reference(name, {**options, **chosen})
    return extend_reference(reference, chosen)

"""The engine's options: CrazyAra's names and defaults, and their meaning for our search."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from moemcts.experts import ROUTINGS
from moemcts.search import SearchConfig
from moemcts.search.config import FirstPlayUrgency

Value = bool | int | str
EMPTY = "<empty>"
MAX_VALUE = 2**31 - 1
BYTES_PER_NODE = {"crazyhouse": 4096}
"""Memory per node including its edges and its position, measured in middlegames and rounded up."""
USUAL_BYTES_PER_NODE = 2048
GATE_OF_EXPERTS = "experts"
AS_THE_GAME = "game"
"""The value that leaves a setting to the game."""
BUNDLED = "weights"
"""The folder name that stands for the experts that come with the game, if any."""
NO_EXPERTS = "none"
"""The folder name that stands for no experts, but a simple evaluation."""
GAMES_WITH_EXPERTS = ("chess",)
"""Games that by default use the experts that come with them: these beat a search with the simple evaluation, see the
card of `weights:chess`; those of antichess are about equal to it at the same number of nodes, but need more time.
"""
VARIANTS = {
    "chess": "chess",
    "antichess": "antichess",
    "atomic": "atomic",
    "crazyhouse": "crazyhouse",
    "kingofthehill": "kingofthehill",
    "3check": "threecheck",
    "horde": "horde",
    "racingkings": "racingkings",
}
"""The protocol's names of the variants, and ours."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """One option, as listed by `uci`."""

    name: str
    default: Value
    low: int = 0
    high: int = MAX_VALUE
    choices: tuple[str, ...] = ()
    idle: str = ""
    """Why the option has no effect here, if so."""
    replaced: Mapping[str, str] = field(default_factory=dict)
    """What replaces choices that only CrazyAra has."""
    keeps_tree: bool = False
    """Whether the tree of an earlier search stays valid."""
    loads: bool = False
    """Whether it names something to be loaded: a game, experts, tables."""

    @property
    def names_files(self) -> bool:
        return isinstance(self.default, str) and not self.choices

    def __str__(self) -> str:
        if isinstance(self.default, bool):
            return f"option name {self.name} type check default {str(self.default).lower()}"
        if isinstance(self.default, int):
            return f"option name {self.name} type spin default {self.default} min {self.low} max {self.high}"
        if self.choices:
            choices = " ".join(f"var {choice}" for choice in self.choices)
            return f"option name {self.name} type combo default {self.default} {choices}"
        return f"option name {self.name} type string default {self.default or EMPTY}"

    def parse(self, text: str) -> Value:
        """Returns the value written as `text`; raises ValueError describing what was expected."""
        if isinstance(self.default, bool):
            if text.lower() not in ("true", "false"):
                raise ValueError(f"expected true or false for {self.name}, got {text!r}")
            return text.lower() == "true"
        if isinstance(self.default, int):
            try:
                number = int(text)
            except ValueError:
                number = self.low - 1
            if not self.low <= number <= self.high:
                raise ValueError(f"expected {self.low} to {self.high} for {self.name}, got {text!r}")
            return number
        if self.choices:
            for choice in self.choices:
                if choice.lower() == text.lower():
                    return choice
            raise ValueError(f"expected {', '.join(self.choices)} for {self.name}, got {text!r}")
        return "" if text == EMPTY else text


class Options:
    """The options with their current values."""

    def __init__(self, gates: Sequence[str] = ()) -> None:
        """Takes the names of the gates that experts can be used with."""
        self._options = {option.name.lower(): option for option in _table(tuple(gates))}
        self._values = {option.name: option.default for option in self._options.values()}

    def __iter__(self) -> Iterator[Option]:
        return iter(self._options.values())

    def set(self, name: str, text: str) -> tuple[Option, bool]:
        """Sets an option by its case-insensitive name; returns it and whether that may change anything.

        Setting the current value changes nothing, unless it names files, which may have changed. Raises ValueError for
        an unknown option or an invalid value.
        """
        option = self._options.get(name.lower())
        if option is None:
            matches = difflib.get_close_matches(name.lower(), self._options, n=1, cutoff=0.6)
            hint = f"; did you mean {self._options[matches[0]].name}?" if matches else ""
            raise ValueError(f"no option named {name!r}{hint}")
        before, self._values[option.name] = self._values[option.name], option.parse(text)
        return option, option.names_files or self._values[option.name] != before

    def remark(self, option: Option) -> str:
        """Returns a remark about an option's value; empty if it works as named."""
        replaced = option.replaced.get(self.text(option.name)) if option.replaced else None
        if option.idle:
            return f"{option.name} changes nothing here: {option.idle}"
        return f"{option.name} {self.text(option.name)}: {replaced}" if replaced else ""

    def flag(self, name: str) -> bool:
        return bool(self._values[name])

    def number(self, name: str) -> int:
        return int(self._values[name])

    def text(self, name: str) -> str:
        return str(self._values[name])

    @property
    def game(self) -> str:
        """The name of the game."""
        variant = VARIANTS[self.text("UCI_Variant")]
        return "chess960" if variant == "chess" and self.flag("UCI_Chess960") else variant

    @property
    def device(self) -> str:
        """The device of the networks."""
        return "cpu" if self.text("Context") == "cpu" else f"cuda:{self.number('First_Device_ID')}"

    @property
    def precision(self) -> str:
        """The precision of the networks."""
        precision = self.text("Precision")
        return "float32" if precision == "float16" else precision

    @property
    def overhead(self) -> float:
        """Seconds that the transmission of a move may take."""
        return self.number("Move_Overhead") / 1000

    def max_nodes(self, wanted: int | None = None) -> int:
        """Returns the maximum number of nodes of a tree: `wanted` if given, else what fits into memory."""
        num_fitting = self.number("Hash") * 2**20 // BYTES_PER_NODE.get(self.game, USUAL_BYTES_PER_NODE)
        return min(filter(None, (wanted or num_fitting, self.number("Nodes_Limit"))))

    def search_config(self, nodes: int, simulations: int, game_settings: Mapping[str, Any]) -> SearchConfig:
        """Returns the search configuration with these limits; settings without an option are those of the game."""
        numbers = {
            "simulations": simulations,
            "nodes": nodes,
            "c_init": self.number("Centi_CPuct_Init") / 100,
            "c_base": self.number("CPuct_Base"),
            "policy_temperature": self.number("Centi_Node_Temperature") / 100,
            "noise_fraction": self.number("Centi_Dirichlet_Epsilon") / 100,
            "noise_alpha": self.number("Centi_Dirichlet_Alpha") / 100,
            "virtual_loss": 1.0 if self.text("Virtual_Style") in ("virtual_loss", "virtual_mix") else 0.0,
            "solver": self.flag("MCTS_Solver"),
            "leaves_per_tree": self.number("Batch_Size"),
            "temperature": self.number("Centi_Temperature") / 100,
            "temperature_plies": self.number("Temperature_Moves"),
            "temperature_decay": self.number("Centi_Temperature_Decay") / 100,
            "quantile_clipping": self.number("Centi_Quantile_Clipping") / 100,
            "q_value_weight": self.number("Centi_Q_Value_Weight") / 100,
            "q_veto_delta": self.number("Centi_Q_Veto_Delta") / 100,
        }
        urgency = self.text("First_Play_Urgency")
        overrides = {} if urgency == AS_THE_GAME else {"first_play_urgency": urgency}
        return SearchConfig.model_validate({**game_settings, **numbers, **overrides})


def _table(gates: tuple[str, ...]) -> tuple[Option, ...]:
    unused = "CrazyAra itself does not use it"
    no_tensorrt = "Backend says what runs the networks"
    two = "all games here are for two players"
    no_detours = "the search takes no random detours"
    return (
        Option(name="UCI_Variant", default="chess", choices=tuple(VARIANTS), loads=True),
        Option(name="UCI_Chess960", default=False, loads=True),
        Option(name="UCI_ShowWDL", default=False, keeps_tree=True),
        Option(name="UCI_AnalyseMode", default=False, keeps_tree=True),
        Option(name="Ponder", default=False, idle="pondering begins with `go ponder`", keeps_tree=True),
        Option(name="MultiPV", default=1, low=1, high=500, keeps_tree=True),
        Option(name="Model_Directory", default="", loads=True),
        Option(name="Game_Phase_Definition", default=GATE_OF_EXPERTS, choices=(GATE_OF_EXPERTS, *gates), loads=True),
        Option(name="Expert_Routing", default="each", choices=tuple(ROUTINGS), loads=True),
        Option(name="Backend", default="auto", choices=("auto", "torch", "onnxruntime", "openvino"), loads=True),
        Option(
            name="Precision",
            default="auto",
            choices=("auto", "float32", "float16", "bf16", "int8"),
            replaced={"float16": "networks run in float32"},
            loads=True,
        ),
        Option(name="SyzygyPath", default="", loads=True),
        Option(name="Batch_Size", default=16, low=1, high=8192, keeps_tree=True),
        Option(name="Nodes", default=0, keeps_tree=True),
        Option(name="Simulations", default=0, keeps_tree=True),
        Option(name="Nodes_Limit", default=0, keeps_tree=True),
        Option(name="Fixed_Movetime", default=0, keeps_tree=True),
        Option(name="Move_Overhead", default=20, high=60_000, keeps_tree=True),
        Option(name="Hash", default=1024, low=1, high=1_048_576, keeps_tree=True),
        Option(name="Threads", default=1, low=1, high=512, keeps_tree=True),
        Option(name="Seed", default=0, keeps_tree=True),
        Option(name="Reuse_Tree", default=True),
        Option(name="Allow_Early_Stopping", default=True, keeps_tree=True),
        Option(name="Use_Raw_Network", default=False, keeps_tree=True),
        Option(
            name="Search_Type",
            default="mcts",
            choices=("mcts", "mcgs"),
            replaced={"mcgs": "transpositions are not joined; it searches a tree, as mcts"},
            keeps_tree=True,
        ),
        Option(name="MCTS_Solver", default=True),
        Option(name="Centi_CPuct_Init", default=250, high=99_999),
        Option(name="First_Play_Urgency", default=AS_THE_GAME, choices=(AS_THE_GAME, *get_args(FirstPlayUrgency))),
        Option(name="CPuct_Base", default=19_652, low=1, high=99_999_999),
        Option(name="Centi_Node_Temperature", default=170, low=1, high=99_999),
        Option(name="Centi_Dirichlet_Epsilon", default=0, high=100),
        Option(name="Centi_Dirichlet_Alpha", default=20, low=1, high=99_999),
        Option(name="Centi_Temperature", default=170, high=99_999, keeps_tree=True),
        Option(name="Centi_Temperature_Decay", default=92, low=1, high=100, keeps_tree=True),
        Option(name="Centi_Quantile_Clipping", default=25, high=99, keeps_tree=True),
        Option(name="Temperature_Moves", default=0, high=99_999, keeps_tree=True),
        Option(name="Centi_Q_Value_Weight", default=100, high=99_999, keeps_tree=True),
        Option(name="Centi_Q_Veto_Delta", default=40, high=99_999, keeps_tree=True),
        Option(
            name="Virtual_Style",
            default="virtual_loss",
            choices=("virtual_loss", "virtual_visit", "virtual_offset", "virtual_mix"),
            replaced={"virtual_offset": "it is played as virtual_visit", "virtual_mix": "it is played as virtual_loss"},
        ),
        # The following options are accepted so that scripts and saved settings for CrazyAra work.
        Option(name="Virtual_Mix_Threshold", default=1000, idle="the style does not change with visits"),
        Option(name="Centi_Epsilon_Checks", default=1, high=100, idle=no_detours),
        Option(name="Centi_Epsilon_Greedy", default=5, high=100, idle=no_detours),
        Option(name="Centi_Random_Move_Factor", default=0, high=99, idle="time is not spent at random"),
        Option(name="Centi_U_Init_Divisor", default=100, low=1, idle=unused),
        Option(name="Use_NPS_Time_Manager", default=True, idle="Allow_Early_Stopping decides it"),
        Option(name="Timeout_MS", default=0, idle="networks load within seconds"),
        Option(name="Search_Player_Mode", default="two_player", choices=("two_player", "single_player"), idle=two),
        Option(name="Threads_NN_Inference", default=1, low=1, high=512, idle="Threads says how many"),
        Option(name="Context", default="cpu", choices=("cpu", "gpu"), loads=True),
        Option(name="First_Device_ID", default=0, high=99_999, loads=True),
        Option(name="Last_Device_ID", default=0, high=99_999, idle="one device evaluates"),
        Option(name="Use_TensorRT", default=False, idle=no_tensorrt),
        Option(name="Log_File", default="", keeps_tree=True),
    )

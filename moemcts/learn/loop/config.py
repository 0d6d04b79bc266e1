"""Settings of self-play: games, replay window, value targets, pace of training and promotion."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from moemcts.sections import LATER, Idle, Replaces, Section

_PROMOTING = Idle(rule=("none",))
_TESTED = Idle(rule=("none", "score"))


class _Section(Section):
    model_config = ConfigDict(allow_inf_nan=False)


class GamesConfig(_Section):
    """The games of one generation. How moves are searched and chosen is set in `search`."""

    games: int = Field(default=256, ge=1)
    """Games per generation."""
    samples: Annotated[int | None, Replaces("games")] = Field(default=None, ge=1)
    """Decisions per generation, instead of a number of games: as many games as needed are played, and surplus decisions
    of the last one are cut off."""
    parallel: int = Field(default=128, ge=1)
    """Games that are played concurrently in one process and share batches."""
    in_flight: Annotated[int | None, LATER] = Field(default=None, ge=1)
    """Groups of the games in one process: with 2, one half is searched while positions of the other are evaluated, on a
    core of their own or a GPU. Defaults to 2, but to 1 on one core and for rules in Python; the value used is
    recorded."""
    per_part: int = Field(default=256, ge=1)
    """Games that a process plays as one chunk; after an interruption, unfinished chunks are played again."""
    continuous: Annotated[bool, LATER] = False
    """Whether games of a process's next chunk take the places of finished ones, so that batches stay full. Which
    positions share a batch, and so the last digits of values, then depends on the number of processes and on where a
    run was interrupted; without it, games are always the same to the byte."""
    searched: bool = True
    """Whether moves are searched; otherwise, they are drawn from the policy at `search.temperature`, and the policy
    target is the policy itself."""
    full_share: Annotated[float, Idle(searched=(False,))] = Field(default=1.0, gt=0, le=1)
    """Share of the moves that are searched in full and learned from; the others have `fast_simulations`, no noise, and
    are not learned from (playout cap randomisation, Wu 2019: 0.25)."""
    fast_simulations: Annotated[int | None, Idle(full_share=(1,)), Idle(searched=(False,))] = Field(default=None, ge=1)
    """Simulations of the other moves; defaults to a quarter of a full search."""
    random_plies: int = Field(default=0, ge=0)
    """Maximum number of random moves at the start of each game, drawn uniformly from 0; they are not learned from."""
    openings: str = ""
    """File of start positions, from which one is drawn at random per game; if empty, the game's own start."""
    resign_value: float | None = Field(default=None, gt=0, le=1)
    """A player resigns if it expects minus this or less for `resign_moves` of its moves in a row; by default all games
    are played to the end. Only for zero-sum games of two players who take turns."""
    resign_moves: Annotated[int, Idle(resign_value=(None,))] = Field(default=3, ge=1)
    """Consecutive moves of its own; forced ones do not count."""
    played_on: Annotated[float, Idle(resign_value=(None,))] = Field(default=0.1, ge=0, le=1)
    """Share of the games without resignation, from which the report estimates how often resigning would have been
    wrong."""
    opponents: str = "self"
    """Who plays the other seats: `self`, `league` for earlier generations, or an agent."""
    opponent_share: Annotated[float, Idle(opponents=("self",))] = Field(default=1.0, ge=0, le=1)
    """Share of the games with these opponents; in the others the newest experts play all seats."""
    league: Annotated[int, Idle(opponents=("self",))] = Field(default=5, ge=1)
    """Number of generations before the newest that are in the league."""
    opponent_model: str = ""
    """Opponent model of the search for the other seats; `self` searches for all of them. If empty, the opponents if
    these are an agent, else `self`."""
    ahead: Annotated[bool, LATER] = False
    """Whether the next generation's games are played while one is trained, by the experts from before it: no time is
    spent waiting for training, and the weights that play are one generation older. Games are played in processes of
    their own."""
    backend: str = "auto"
    """Backend of the networks: torch, onnxruntime, openvino, or auto for the fastest, which is then recorded."""
    precision: Annotated[str | None, LATER] = None
    """Precision of the networks: float32, bf16, or auto for the fastest that keeps the policy, which is then recorded.
    Defaults to auto with backend auto, else to float32."""
    device: Annotated[str, LATER] = "cpu"
    """Device of the networks that play: cpu, cuda, cuda:1, ... or auto for what is available, which is then recorded.
    Processes that play share a GPU."""

    @property
    def size(self) -> tuple[int, str]:
        """The size of a generation, and its unit."""
        return (self.games, "games") if self.samples is None else (self.samples, "samples")


class ReplayConfig(_Section):
    """Which samples a generation is trained on."""

    generations: int = Field(default=20, ge=1)
    """Size of the replay window: at most this many of the newest generations."""
    growth: float = Field(default=1.0, gt=0, le=1)
    """The window is at most this share of all generations so far, rounded up, so that the first, weak ones leave it
    early."""
    samples: int | None = Field(default=None, ge=1)
    """Approximate maximum of samples in the window: generations older than the one that reaches it are left out."""
    newest: float = Field(default=0.0, ge=0, le=1)
    """Minimum share of the newest generation among the training samples; older ones are drawn at random."""
    drawn: int | None = Field(default=None, ge=1)
    """Number of samples that are drawn from the window for training; all if not given."""


class TargetsConfig(_Section):
    """Value targets. Policy targets are those of the search."""

    search_share: float = Field(default=0.0, ge=0, le=1)
    """Share of the search's own value in the target; the rest is the outcome of the game."""
    td_lambda: float = Field(default=1.0, ge=0, le=1)
    """The outcome of the game: 1 is its result, 0 the search's value at the next decision, in between TD(lambda)."""
    steps: int | None = Field(default=None, ge=1)
    """The outcome of the game is the search's value this many decisions later (n-step), instead of its result."""

    @model_validator(mode="after")
    def _is_one_kind(self) -> Self:
        if self.steps is not None and self.td_lambda != 1:
            raise ValueError(f"expected steps or td_lambda, got steps {self.steps} and td_lambda {self.td_lambda}")
        return self

    @property
    def is_result(self) -> bool:
        """Whether value targets are game results alone."""
        return not self.search_share and self.td_lambda == 1 and self.steps is None


class PaceConfig(_Section):
    """How training continues from one generation to the next. Training itself is set in `training`."""

    optimiser: Literal["anew", "kept"] = "anew"
    """Whether the optimiser's state, such as momentum, is reset between generations (anew) or kept."""
    steps: int | None = Field(default=None, ge=1)
    """Steps per generation of a stage that sees all samples, instead of `training.epochs`."""
    rate_steps: tuple[int, ...] = ()
    """Generations from which on the learning rate is multiplied by `rate_factor`, once for each."""
    rate_factor: Annotated[float, Idle(rate_steps=((),))] = Field(default=0.3, gt=0)
    """Factor of the learning rate at each of `rate_steps`."""

    def rate(self, generation: int) -> float:
        """Returns the factor of the learning rate for a generation."""
        return float(self.rate_factor ** sum(generation >= step for step in self.rate_steps))


class PromotionConfig(_Section):
    """Gating: whether newly trained experts play the next generation's games."""

    rule: Literal["none", "score", "sprt"] = "none"
    """none: always; score: if they score enough against those that played; sprt: if a sequential test finds them
    stronger."""
    games: Annotated[int, _PROMOTING] = Field(default=100, ge=2)
    """Games between the two; with sprt at most."""
    score: Annotated[float, Idle(rule=("none", "sprt"))] = Field(default=0.55, gt=0, lt=1)
    """The mean score above which they are promoted."""
    parallel: Annotated[int | None, LATER, _PROMOTING] = Field(default=None, ge=1)
    """Of these games, how many are played concurrently in one process and share batches; defaults to `games.parallel`.
    If this is less than their number, processes divide the games among themselves."""
    elo0: Annotated[float, _TESTED] = 0.0
    """Difference in logistic Elo under the hypothesis that they are not promoted."""
    elo1: Annotated[float, _TESTED] = 100.0
    """Difference under the hypothesis that they are promoted; a smaller one needs more `games`, without which the test
    stays undecided and nobody is promoted."""
    simulations: Annotated[int | None, _PROMOTING] = Field(default=None, ge=0)
    """Simulations in these games; defaults to those of `search`, 0 plays the policy alone."""
    temperature: Annotated[float, _PROMOTING] = Field(default=0.0, ge=0)
    """Temperature of the first moves of these games, as many as in `search`; openings differ in any case."""
    goes_on: Annotated[Literal["newest", "champion"], _PROMOTING] = "newest"
    """Which experts training continues from if the last ones were not promoted: these, or those that play
    (champion)."""

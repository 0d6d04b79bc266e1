"""The numbers of self-play: games, the window that is learned from, targets, and who plays the next generation."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from moemcts.sections import LATER, Idle, Section

_PROMOTING = Idle(rule=("none",))
_TESTED = Idle(rule=("none", "score"))


class _Section(Section):
    model_config = ConfigDict(allow_inf_nan=False)


class GamesConfig(_Section):
    """The games of one generation. How moves are searched and drawn is said in `search`."""

    games: int = Field(default=256, ge=1)
    """Games per generation."""
    samples: int | None = Field(default=None, ge=1)
    """Decisions per generation, in place of a number of games: as many games as that takes, what the last one has
    beyond is cut off."""
    parallel: int = Field(default=128, ge=1)
    """Games that are played side by side in one process and share batches."""
    in_flight: Annotated[int | None, LATER] = Field(default=None, ge=1)
    """Groups of the games in one process: with 2 one half is searched while positions of the other are evaluated, by a
    core of their own or a GPU. If not given 2, but 1 on one core and for rules in Python; that is written down."""
    per_part: int = Field(default=256, ge=1)
    """Games that one process plays in one go, a chunk; an interrupted run plays unfinished ones of these again."""
    continuous: Annotated[bool, LATER] = False
    """Whether games of a process's next chunk take the places of those that are over, so that batches stay full. Which
    positions share a batch, and so the last digits of values, then depends on the number of processes and on where a
    run was interrupted; without, games are the same to the byte whatever happens."""
    searched: bool = True
    """Whether moves are searched; without, they are drawn from the policy at `search.temperature`, and what is learned
    of the policy is what it says already."""
    full_share: Annotated[float, Idle(searched=(False,))] = Field(default=1.0, gt=0, le=1)
    """Share of the moves that are searched in full and learned from; the others have `fast_simulations`, no noise, and
    are not learned from (playout cap randomisation, Wu 2019: 0.25)."""
    fast_simulations: Annotated[int | None, Idle(full_share=(1,)), Idle(searched=(False,))] = Field(default=None, ge=1)
    """Simulations of the other moves; a quarter of a full search if not given."""
    random_plies: int = Field(default=0, ge=0)
    """Each game begins with 0 to so many moves at random, which are not learned from."""
    openings: str = ""
    """A file of start positions, drawn at random; the game's own where empty."""
    resign_value: float | None = Field(default=None, gt=0, le=1)
    """A player gives up where it expects minus this or less for `resign_moves` of its moves in a row; without it all
    games are played to their end. Zero-sum games of two players in turn."""
    resign_moves: Annotated[int, Idle(resign_value=(None,))] = Field(default=3, ge=1)
    """Of its own moves in a row; forced ones do not count."""
    played_on: Annotated[float, Idle(resign_value=(None,))] = Field(default=0.1, ge=0, le=1)
    """Share of the games in which nobody gives up, from which the report says how often that would have been wrong."""
    opponents: str = "self"
    """Who sits in the other seats: `self`, `league` for earlier generations, or an agent."""
    opponent_share: Annotated[float, Idle(opponents=("self",))] = Field(default=1.0, ge=0, le=1)
    """Share of the games with these opponents; in the others the newest experts sit in all seats."""
    league: Annotated[int, Idle(opponents=("self",))] = Field(default=5, ge=1)
    """How many of the generations before the newest are in the league."""
    opponent_model: str = ""
    """Who the search believes to sit in the other seats; `self` searches for all of them. Empty takes the opponents
    where these are an agent, else `self`."""
    ahead: Annotated[bool, LATER] = False
    """Whether the next generation's games are played while one learns, by the experts from before: nobody waits for
    the training, and the weights that play are one generation older. Games are played in processes of their own."""
    backend: str = "auto"
    """What runs the networks: torch, onnxruntime, openvino, or auto, in place of which the quickest is written down."""
    precision: Annotated[str | None, LATER] = None
    """What networks compute in: float32, bf16, or auto, in place of which the quickest that keeps the policy is
    written down. If not given auto with backend auto, else float32."""
    device: Annotated[str, LATER] = "cpu"
    """Where the networks that play run: cpu, cuda, cuda:1, ... or auto, in place of which is written down what there
    is. Processes that play share a GPU."""

    @property
    def size(self) -> tuple[int, str]:
        """How large a generation is, and in what."""
        return (self.games, "games") if self.samples is None else (self.samples, "samples")


class ReplayConfig(_Section):
    """Which samples a generation learns from."""

    generations: int = Field(default=20, ge=1)
    """The window: so many of the newest generations, at most."""
    growth: float = Field(default=1.0, gt=0, le=1)
    """The window is at most this share of all generations so far, rounded up, so that the first, weak ones leave it
    early."""
    samples: int | None = Field(default=None, ge=1)
    """The window has about so many samples at most: of older generations none that begin beyond."""
    newest: float = Field(default=0.0, ge=0, le=1)
    """Least share of the newest generation among the samples that are learned from; older ones are drawn at random."""
    drawn: int | None = Field(default=None, ge=1)
    """So many samples of the window are drawn and learned from; all if not given."""


class TargetsConfig(_Section):
    """What the value is to say of a position. The policy is to say what the search made of it."""

    search_share: float = Field(default=0.0, ge=0, le=1)
    """Share of the search's own value in the target; the rest is what came of the game."""
    td_lambda: float = Field(default=1.0, ge=0, le=1)
    """What came of the game: 1 is its result, 0 the search's value at the next decision, between them TD(lambda)."""
    steps: int | None = Field(default=None, ge=1)
    """What came of the game is what the search expected so many decisions later (n-step), instead of its result."""

    @model_validator(mode="after")
    def _is_one_kind(self) -> Self:
        if self.steps is not None and self.td_lambda != 1:
            raise ValueError(f"expected steps or td_lambda, got steps {self.steps} and td_lambda {self.td_lambda}")
        return self

    @property
    def is_result(self) -> bool:
        """Whether values are learned from results alone."""
        return not self.search_share and self.td_lambda == 1 and self.steps is None


class PaceConfig(_Section):
    """How training goes on from one generation to the next. What a training is, is said in `training`."""

    optimiser: Literal["anew", "kept"] = "anew"
    """Whether the optimiser forgets between generations what it has gathered, such as momentum, or keeps it."""
    steps: int | None = Field(default=None, ge=1)
    """Steps per generation of a stage that sees all samples, in place of `training.epochs`."""
    rate_steps: tuple[int, ...] = ()
    """Generations from which on the learning rate is multiplied by `rate_factor`, each time."""
    rate_factor: Annotated[float, Idle(rate_steps=((),))] = Field(default=0.3, gt=0)
    """By this."""

    def rate(self, generation: int) -> float:
        """Returns the share of the learning rate that a generation has."""
        return float(self.rate_factor ** sum(generation >= step for step in self.rate_steps))


class PromotionConfig(_Section):
    """Whether the experts that have just learned play the next generation's games."""

    rule: Literal["none", "score", "sprt"] = "none"
    """none: always; score: if they score enough against those that played; sprt: if a sequential test says that they
    are stronger."""
    games: Annotated[int, _PROMOTING] = Field(default=100, ge=2)
    """Of the two against each other; with sprt at most."""
    score: Annotated[float, Idle(rule=("none", "sprt"))] = Field(default=0.55, gt=0, lt=1)
    """The mean score above which they are promoted."""
    parallel: Annotated[int | None, LATER, _PROMOTING] = Field(default=None, ge=1)
    """Of these games so many are played side by side in one process and share batches, those of `games.parallel` if not
    given. Processes share the games where this is less."""
    elo0: Annotated[float, _TESTED] = 0.0
    """Difference in logistic Elo at which they are not."""
    elo1: Annotated[float, _TESTED] = 20.0
    """Difference at which they are."""
    simulations: Annotated[int | None, _PROMOTING] = Field(default=None, ge=0)
    """Of these games; those of `search` if not given, 0 for the policy alone."""
    temperature: Annotated[float, _PROMOTING] = Field(default=0.0, ge=0)
    """Of the first moves of these games, as many as in `search`; openings differ in any case."""
    goes_on: Annotated[Literal["newest", "champion"], _PROMOTING] = "newest"
    """Which experts learn on where those that learned last were not promoted: they themselves, or those that play."""

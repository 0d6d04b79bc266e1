"""Generations of self-play are measured: against those that play, and against opponents that stay the same."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from moemcts.agents import Agent
from moemcts.arena.duel import DuelResult
from moemcts.arena.openings import BOARDS_PER_SEED, Beginnings, Opening, first_board, starts
from moemcts.arena.rating import Sprt
from moemcts.arena.solo import SoloResult
from moemcts.errors import UsageError
from moemcts.learn.loop.players import quiet
from moemcts.naming import contestants, experts_of
from moemcts.runs.gauntlet import Duel, in_turn, is_promoted, manifest_digest, one_against_all
from moemcts.runs.generations import PROMOTED
from moemcts.runs.kept_openings import GAUNTLET, openings_file
from moemcts.runs.selfplay_players import Players, name_of
from moemcts.runs.settings import LARGEST_SEED
from moemcts.store import read_json, write_json
from moemcts.work import Here
from moemcts.work.progress import Advance

_BOARDS = 10_000
"""Start positions that a generation's promotion may have."""
_SEEDS = LARGEST_SEED + 1


class Judging:
    """The matches of generations."""

    def __init__(self, players: Players, measured: Sequence[int]) -> None:
        """`measured` are the generations that are measured, in their order.

        Raises UsageError for a promotion's test that makes no sense, or not in this game.
        """
        self.players = players
        self.config, self.game = players.config, players.game
        self.folder, self.on_disk = players.folder, players.on_disk
        self.measured = measured
        self._sprt = self._test()

    def _test(self) -> Sprt | None:
        rule = self.config.promotion
        if rule.rule == "none":
            return None
        try:
            if not in_turn(self.game, "newest", "champion") and rule.rule == "sprt":
                raise ValueError("expected rule none or score in a game of one player, got 'sprt'")
            return Sprt(elo0=rule.elo0, elo1=rule.elo1, model="logistic") if rule.rule == "sprt" else None
        except ValueError as error:
            raise UsageError(f"promotion in {self.config.game}: {error}") from None

    def promote(self, generation: int, advance: Advance) -> None:
        """Lets the newest experts play those that have played, and says whether they play the next games."""
        if self.on_disk.said(generation, PROMOTED):
            return
        rule, champion = self.config.promotion, self.on_disk.champion(generation - 1)
        search = quiet(self.config.search, temperature=rule.temperature)
        newest = name_of(generation)
        result = Duel(
            game=self.game,
            agents={
                name: self.players.judged(one, search, rule.simulations)
                for name, one in ((newest, generation), (name_of(champion), champion))
            },
            openings=self._openings(rule.games, generation),
            num_games=rule.games,
            seed=self._board(generation),
            parallel=self.config.games.parallel,
            identity=self._identity([generation, champion], search.model_dump(mode="json"), rule.simulations),
            journal=self.folder / "matches" / f"promote-{generation:04d}.jsonl",
            seating=in_turn(self.game, newest, name_of(champion)),
            sprt=self._sprt,
        ).play(Here(), advance)
        self.on_disk.say(
            generation,
            PROMOTED,
            {
                "promoted": is_promoted(result, newest, score=rule.score, sprt=self._sprt),
                "champion": champion,
                "games": len(result.records),
                "counts": list(result.counts(newest)),
            },
        )

    def measure(self, generation: int, advance: Advance) -> None:
        """Plays a generation against the opponents that stay the same, and the one that was measured before it."""
        gauntlet = self.config.gauntlet
        search = quiet(self.config.search, temperature=0.0)
        known = contestants(gauntlet.opponents, self.game)
        others: dict[str, Agent] = {name: one.agent for name, one in known.items()}
        before = [one for one in self.measured if one < generation and not self.on_disk.is_gone(one)][-1:]
        if gauntlet.previous:
            others |= {name_of(one): self.players.judged(one, search, gauntlet.simulations) for one in before}
        ours = self.players.judged(generation, search, gauntlet.simulations)
        found = []
        for number, (name, agent) in enumerate(others.items()):
            theirs = experts_of([name]) if name in known else {}
            own = [generation, *(before if name == name_of(before[-1] if before else -1) else [])]
            result = Duel(
                game=self.game,
                agents={name_of(generation): ours, name: agent},
                openings=self._gauntlet_openings,
                num_games=gauntlet.games,
                seed=self._board(0) + number,
                # Whom the clock limits plays one game at a time.
                parallel=1 if name in known and known[name].is_timed else gauntlet.parallel,
                identity=self._identity(own, search.model_dump(mode="json"), gauntlet.simulations) | theirs,
                journal=self.folder / "matches" / f"measure-{generation:04d}-{number}.jsonl",
                seating=one_against_all(self.game, name_of(generation), name),
            ).play(Here(), lambda done, total, n=number: advance(n * total + done, len(others) * total))  # type: ignore[misc]
            tally = result.tally(name_of(generation))
            found.append(
                {
                    "agent": name_of(generation),
                    "other": name,
                    "counts": list(result.counts(name_of(generation))),
                    "tally": tally.to_json(),
                    "rankings": [
                        [list(map(list, one.groups)), list(one.unranked), one.board] for one in result.rankings()
                    ],
                    "returns": _mean_returns(result, (name_of(generation), name)),
                }
            )
        write_json(measurement_of(self.folder, generation), found)

    def measurements(self) -> list[dict[str, Any]]:
        """Returns the matches of all generations that were measured."""
        paths = [measurement_of(self.folder, generation) for generation in self.measured]
        return [one for path in paths if path.exists() for one in read_json(path)]

    @functools.cached_property
    def beginnings(self) -> Beginnings:
        """How the games begin that measure generations."""
        gauntlet = self.config.gauntlet
        path = Path(gauntlet.openings) if gauntlet.openings else None
        return Beginnings.of(self.game, path=path, random_plies=gauntlet.random_plies)

    @property
    def num_openings(self) -> int:
        """How many openings the games that measure a generation are played on; none where none is measured."""
        # One is against all from each side: team mates are one agent.
        return -(-self.config.gauntlet.games // len(self.game.spec.sides)) if self.measured else 0

    @functools.cached_property
    def _gauntlet_openings(self) -> list[Opening]:
        file = openings_file(self.folder, self.config, GAUNTLET)
        return starts(
            self.game,
            self.num_openings,
            path=None if file is None else file.path,
            random_plies=self.beginnings.random_plies,
            seed=self._board(0),
        )

    def _openings(self, num_games: int, generation: int) -> list[Opening]:
        # Each is played from two seatings, or by each alone.
        num_seatings = min(2, self.game.spec.num_players)
        return starts(self.game, -(-num_games // num_seatings), seed=self._board(generation))

    def _board(self, generation: int) -> int:
        # Generations for which a seed has no boards left have those of seeds that nobody can name.
        hundreds, rest = divmod(generation, BOARDS_PER_SEED // _BOARDS)
        return first_board(self.config.seed + 1 + hundreds * _SEEDS) + rest * _BOARDS

    def _identity(
        self, generations: Sequence[int], search: Mapping[str, Any], simulations: int | None
    ) -> dict[str, Any]:
        return {
            "experts": [manifest_digest(self.on_disk.experts(one)) for one in generations],
            "search": dict(search),
            "simulations": simulations,
            "backend": self.config.games.backend,
            **({} if self.config.games.device == "cpu" else {"device": self.config.games.device}),
        }


def measurement_of(folder: Path, generation: int) -> Path:
    """Returns the file with what the games that measure a generation say."""
    return folder / "matches" / f"measure-{generation:04d}.json"


def _mean_returns(result: DuelResult | SoloResult, names: Sequence[str]) -> list[float] | None:
    """Returns what each of some agents got on average, in the game's own score; None where they played each other."""
    return [result.mean_return(name).mean for name in names] if isinstance(result, SoloResult) else None

"""The report of self-play: strength over generations, losses per expert, and statistics of the games."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from moemcts.arena.verdict import format_count
from moemcts.report.page import Figure, Report, Section
from moemcts.report.plots import Curve, loss_curves, phase_shares
from moemcts.report.strength import strength_curve
from moemcts.report.tables import Table

MAX_ROWS = 25
"""Maximum number of generations in a table; of more, an evenly spaced selection is shown."""


@dataclass(frozen=True, kw_only=True)
class Generation:
    """The results of one generation's games and training."""

    number: int
    played: Mapping[str, Any]
    learned: Mapping[str, Any]
    promoted: Mapping[str, Any]
    """The result of the promotion match; empty if there was none."""


@dataclass(frozen=True, kw_only=True)
class Strength:
    """An agent's rating relative to the first measured generation."""

    name: str
    elo: float
    error: float
    """Half the width of the 95 % interval."""
    num_games: int


@dataclass(frozen=True, kw_only=True)
class SelfPlayOutcomes:
    """The outcomes of self-play."""

    title: str
    making: str
    settings: Mapping[str, Any]
    phase_names: tuple[str, ...]
    generations: tuple[Generation, ...]
    strengths: tuple[Strength, ...]
    matches: tuple[Mapping[str, Any], ...]
    measured: tuple[int, ...]
    score_unit: float = 1.0
    """A return of 1 in units of the game's own score."""

    @property
    def is_solo(self) -> bool:
        """Whether the game has one player, so that there are returns but no wins."""
        return any(len(generation.played["results"]) == 1 for generation in self.generations)


def selfplay_report(outcomes: SelfPlayOutcomes) -> Report:
    """Returns the report of self-play."""
    losses = _loss_figures(outcomes)
    return Report(
        title=outcomes.title,
        summary=_summary(outcomes),
        sections=[
            Section(
                "Strength",
                "" if outcomes.strengths else "No generation was measured: see `gauntlet` in the settings.",
                tables=_strength_tables(outcomes),
                figures=_strength_figures(outcomes),
            ),
            Section("Generations", text=_describe_notes(outcomes), tables=[_generations_table(outcomes)]),
            Section("What was played", text=_REPLAYS, tables=_openings_tables(outcomes)),
            Section("What was learned", "" if losses else "No losses are known: nothing was held out.", figures=losses),
            Section("What was learned from", tables=[_phases_table(outcomes)], figures=_phase_figures(outcomes)),
            Section("How it was made", outcomes.making),
        ],
        numbers={
            "config": outcomes.settings,
            "strength": list(outcomes.strengths),
            "matches": [
                {key: value for key, value in match.items() if key != "rankings"} for match in outcomes.matches
            ],
            "generations": [
                {
                    "generation": generation.number,
                    **generation.played,
                    "learned": generation.learned,
                    "promoted": generation.promoted or None,
                }
                for generation in outcomes.generations
            ],
        },
    )


def _summary(outcomes: SelfPlayOutcomes) -> str:
    last = outcomes.generations[-1] if outcomes.generations else None
    if last is None:
        return "Nothing is learned yet."
    total = sum(generation.played["games"] for generation in outcomes.generations)
    samples = sum(generation.played["samples"] for generation in outcomes.generations)
    summary = (
        f"{format_count(len(outcomes.generations), 'generation')} of {total:,} games and {samples:,} samples in all."
    )
    by_name = {strength.name: strength for strength in outcomes.strengths}
    newest = by_name.get(f"generation {last.number}")
    if newest is not None and last.number != outcomes.measured[0]:
        summary += (
            f" Generation {last.number} is {newest.elo:+z.0f} ± {newest.error:.0f} Elo over generation "
            f"{outcomes.measured[0]} (95 % interval, {newest.num_games} games)."
        )
    return summary


def _describe_notes(outcomes: SelfPlayOutcomes) -> str:
    """Returns the trainings' notes on phases with few samples, each with its generations."""
    numbers_by_note: dict[str, list[int]] = {}
    for generation in outcomes.generations:
        for note in generation.learned.get("notes", []):
            numbers_by_note.setdefault(note, []).append(generation.number)
    return "\n".join(
        f"- generation {', '.join(map(str, numbers))}: {note}" for note, numbers in numbers_by_note.items()
    )


def _strength_tables(outcomes: SelfPlayOutcomes) -> list[Table]:
    if not outcomes.strengths:
        return []
    rated = sorted(outcomes.strengths, key=lambda strength: -strength.elo)
    ratings = Table(
        ["agent", "Elo", "± 95 %", "games"],
        [[strength.name, f"{strength.elo:.0f}", f"{strength.error:.0f}", strength.num_games] for strength in rated],
        f"Strength over generation {outcomes.measured[0]}, from all measured games together (Bradley-Terry; "
        "Plackett-Luce with more players).",
    )
    return [ratings, _matches_table(outcomes.matches)]


def _matches_table(matches: Sequence[Mapping[str, Any]]) -> Table:
    # Older measurements have no returns either.
    are_alone = all(match.get("returns") for match in matches)
    rows: list[list[str | int | float | None]] = []
    for match in matches:
        losses, draws, wins = match["counts"]
        score = (wins + draws / 2) / max(wins + draws + losses, 1)
        returns = [f"{value:.2f}" for value in match["returns"]] if are_alone else []
        rows.append([match["agent"], match["other"], wins, draws, losses, f"{100 * score:.1f}", *returns])
    columns = ["agent", "against", "won", "tied", "lost", "score %"]
    if are_alone:
        return Table(
            [*columns, "mean return", "the other's"],
            rows,
            f"Each alone from the same starts; who got more there has won. {_RETURNS}",
        )
    return Table(
        columns,
        rows,
        "Games on the same openings against each opponent; with more seats the opponent sits in all others.",
    )


def _strength_figures(outcomes: SelfPlayOutcomes) -> list[Figure]:
    by_name = {strength.name: strength for strength in outcomes.strengths}
    points = [(number, by_name[name]) for number in outcomes.measured if (name := f"generation {number}") in by_name]
    if not points:
        return []
    lines = {name: strength.elo for name, strength in by_name.items() if not name.startswith("generation ")}
    image = strength_curve(
        [number for number, _ in points],
        [strength.elo for _, strength in points],
        [strength.error for _, strength in points],
        lines,
    )
    caption = (
        f"Elo over generation {points[0][0]} with 95 % intervals; broken lines are opponents that stay the same, "
        "those with an arrow are far above or below."
    )
    return [Figure("strength", image, caption)]


def _generations_table(outcomes: SelfPlayOutcomes) -> Table:
    shown = _select_evenly(outcomes.generations)
    rows: list[list[str | int | float | None]] = []
    for generation in shown:
        played, learned = generation.played, generation.learned
        losses = [entry["loss"] for entry in learned["losses"].values() if entry]
        rows.append(
            [
                generation.number,
                played.get("played_by", generation.number - 1),
                played["games"],
                played["samples"],
                f"{played['plies']['mean']:.1f}",
                *_format_results(played["results"][0], outcomes),
                f"{100 * played['duplicates']:.1f}",
                f"{100 * played['resigned']:.1f}",
                learned["samples"],
                f"{sum(losses) / len(losses):.4f}" if losses else None,
                _format_promotion(generation),
            ]
        )
    results = ["mean return"] if outcomes.is_solo else ["seat 0 wins %", "ties %"]
    return Table(
        ["generation", "played by", "games", "samples", "plies", *results, "repeated %", "given up %", "learned from",
         "loss", "plays on"],
        rows,
        "Played by: the generation whose experts play. Loss: mean over the experts on held-out games of the window. "
        "Repeated games equal an earlier one of the generation move for move."
        + (f" {_RETURNS}" if outcomes.is_solo else "")
        + _describe_promotions(outcomes) + _describe_resignations(outcomes),
    )  # fmt: skip


def _format_results(first: Mapping[str, float], outcomes: SelfPlayOutcomes) -> list[str | None]:
    """Returns the first player's results; in a game of one player, the mean return."""
    if not outcomes.is_solo:
        return [f"{100 * first['won']:.1f}", f"{100 * first['tied']:.1f}"]
    # Older games have no mean.
    return [f"{outcomes.score_unit * first['mean']:.2f}" if "mean" in first else None]


def _format_promotion(generation: Generation) -> str | None:
    if not generation.promoted:
        return None
    losses, draws, wins = generation.promoted["counts"]
    return f"{'yes' if generation.promoted['promoted'] else 'no'} ({wins}-{draws}-{losses})"


def _describe_promotions(outcomes: SelfPlayOutcomes) -> str:
    if not any(generation.promoted for generation in outcomes.generations):
        return ""
    return " Plays on: whether its experts play from then on, with wins, draws and losses against those that did."


def _describe_resignations(outcomes: SelfPlayOutcomes) -> str:
    total = sum(generation.played["would_have_resigned"] for generation in outcomes.generations)
    num_wrong = sum(generation.played["wrongly"] for generation in outcomes.generations)
    if not total:
        return ""
    return f" Of {total} games that were played on though a player would have given up, it did not lose {num_wrong}."


_RETURNS = "Returns are in the game's own score, all that was paid, not discounted."
_REPLAYS = "One game of each generation is in `generations/NNNN/game.jsonl`, move by move."


def _openings_tables(outcomes: SelfPlayOutcomes) -> list[Table]:
    rows: list[list[str | int | float | None]] = []
    for generation in _select_evenly(outcomes.generations, 5):
        for opening in generation.played.get("openings", [])[:3]:
            share, mean = 100 * opening["games"] / generation.played["games"], opening["player 0"]
            mean_return = f"{outcomes.score_unit * mean:.2f}" if outcomes.is_solo else f"{mean:+z.2f}"
            rows.append([generation.number, opening["moves"], opening["games"], f"{share:.1f}", mean_return])
    if not rows:
        return []
    note = "The most frequent first moves of some generations"
    if outcomes.is_solo:
        note += f", and the mean return of games that begin so. {_RETURNS}"
    else:
        note += ", and what player 0 got on average, from -1 to 1."
    last_column = "mean return" if outcomes.is_solo else "player 0"
    return [Table(["generation", "first moves", "games", "share %", last_column], rows, note)]


def _loss_figures(outcomes: SelfPlayOutcomes) -> list[Figure]:
    figures = []
    for term in ("loss", "policy", "value"):
        curves = []
        for phase, name in enumerate(outcomes.phase_names):
            points = [
                (float(generation.number), entry[term])
                for generation in outcomes.generations
                if (entry := generation.learned["losses"].get(name)) and term in entry
            ]
            if points:
                steps, values = [step for step, _ in points], [value for _, value in points]
                curves.append(Curve(label=name, steps=steps, values=values, phase=phase))
        if curves:
            image = loss_curves(curves, title=f"Held-out {term}", xlabel="generation", ylabel=term)
            caption = f"{_TERMS[term]} of each expert at the end of each generation, on held-out games of its window."
            figures.append(Figure(f"{term}-generations", image, caption))
    return figures


_TERMS = {"loss": "The whole loss", "policy": "The policy's cross-entropy", "value": "The value's squared error"}


def _phases_table(outcomes: SelfPlayOutcomes) -> Table:
    rows: list[list[str | int | float | None]] = [
        [
            generation.number,
            f"{generation.learned['window'][0]} to {generation.learned['window'][1]}",
            *(f"{generation.learned['phases'][name]:,.0f}" for name in outcomes.phase_names),
        ]
        for generation in _select_evenly(outcomes.generations)
    ]
    return Table(["generation", "window", *outcomes.phase_names], rows, "Samples of each phase that were learned from.")


def _phase_figures(outcomes: SelfPlayOutcomes) -> list[Figure]:
    if len(outcomes.phase_names) == 1 or not outcomes.generations:
        return []
    names = outcomes.phase_names
    shown = _select_evenly(outcomes.generations, 8)
    shares = {
        f"generation {generation.number}": [generation.learned["phases"][name] for name in names]
        for generation in shown
    }
    caption = "Phases of the samples that generations learned from."
    return [Figure("phases", phase_shares(shares, names), caption)]


def _select_evenly(generations: Sequence[Generation], max_generations: int = MAX_ROWS) -> list[Generation]:
    if len(generations) <= max_generations:
        return list(generations)
    step = (len(generations) - 1) / (max_generations - 1)
    return [generations[round(number * step)] for number in range(max_generations)]

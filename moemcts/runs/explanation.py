"""Attributions of each expert's answers, over a dataset and in single positions, as numbers and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from moemcts.errors import MoemctsError
from moemcts.game import FloatArray, Game, IntArray, Player, State
from moemcts.gates import PhaseGate
from moemcts.report.attributions import cell_maps, plane_bars, plane_shares
from moemcts.runs.hardware import device_for
from moemcts.store import write_bytes, write_json

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from torch.nn import Module

    from moemcts.learn.attribution import Attribution, ExplainedOutput
    from moemcts.learn.data.dataset import Dataset

AVERAGES, POSITION = "averages.json", "position.json"
"""The files with the numbers."""
NUM_TOP = 5
"""The number of planes listed in tables."""


@dataclass(frozen=True, kw_only=True)
class Team:
    """The networks of a set of experts and its gate."""

    game: Game
    gate: PhaseGate
    networks: Sequence[Module]

    def phases_by_network(self) -> list[list[int]]:
        """Returns the phases that share each network, with equal weights; `[[0, 1, 2]]` if there is only one."""
        groups: list[list[int]] = []
        for phase, network in enumerate(self.networks):
            for phases in groups:
                if _have_equal_weights(self.networks[phases[0]], network):
                    phases.append(phase)
                    break
            else:
                groups.append([phase])
        return groups


@dataclass(frozen=True, kw_only=True)
class Average:
    """Attributions of one answer of one expert, averaged over positions of one phase."""

    expert: str
    phase: str
    answer: ExplainedOutput
    num_positions: int
    mean: FloatArray
    """Signed attribution of each plane, `[C]`."""
    magnitude: FloatArray
    """Absolute attribution of each plane: the absolute values of all cells, summed, `[C]`."""
    cells: FloatArray
    """Absolute attribution of each cell, summed over planes, `[H, W]`."""
    gap: float
    """Mean completeness error, relative to the mean change of the answer."""

    def to_json(self, names: Sequence[str]) -> dict[str, Any]:
        """Returns the numbers as JSON values, with the planes by name."""
        return {
            "expert": self.expert,
            "phase": self.phase,
            "answer": self.answer,
            "positions": self.num_positions,
            "relative gap": round(self.gap, 5),
            "mean": _named(names, self.mean),
            "magnitude": _named(names, self.magnitude),
        }

    def top(self, names: Sequence[str]) -> list[tuple[str, float]]:
        """Returns the planes of largest magnitude, each with its share of the total magnitude."""
        total = max(float(self.magnitude.sum()), 1e-12)
        order = np.argsort(-self.magnitude, kind="stable")[:NUM_TOP]
        return [(names[i], float(self.magnitude[i]) / total) for i in order]


def draw_positions(team: Team, dataset: Dataset, num_positions: int, seed: int) -> dict[str, IntArray]:
    """Returns up to `num_positions` random rows of each phase, by the phase's name.

    A position belongs to the phase of the largest weight; phases without positions are left out. Raises MoemctsError if
    the dataset is empty.
    """
    phase_of_row = dataset.phase_weights(team.gate).argmax(axis=1)
    rng = np.random.default_rng(seed)
    drawn = {
        name: np.sort(rng.permutation(np.flatnonzero(phase_of_row == phase))[:num_positions])
        for phase, name in enumerate(team.gate.phase_names)
    }
    if not len(dataset):
        raise MoemctsError("expected a dataset with positions to explain, got an empty one")
    return {name: rows for name, rows in drawn.items() if len(rows)}


def mean_planes(dataset: Dataset, drawn: Mapping[str, IntArray]) -> FloatArray:
    """Returns the mean planes of all drawn positions, of an observation's shape, for use as a baseline."""
    planes = dataset.views(np.concatenate(list(drawn.values()))).observations()
    return np.asarray(planes.mean(axis=0), dtype=np.float32)


def explain_dataset(
    team: Team,
    dataset: Dataset,
    drawn: Mapping[str, IntArray],
    *,
    steps: int,
    baseline: FloatArray | None = None,
    device: str = "cpu",
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Average]:
    """Returns average attributions over the drawn rows for every expert, phase and answer.

    A network that serves several phases is evaluated on each of these as that phase's expert, and on every other phase
    once. The baseline, of an observation's shape, is all zeros by default.
    """
    from moemcts.learn.attribution import explain

    device = device_for(device)
    averages: list[Average] = []
    pairs = _expert_phase_pairs(team, drawn)
    for done, (expert, phase) in enumerate(pairs, 1):
        views = dataset.views(drawn[phase])
        network = team.networks[team.gate.phase_names.index(expert)]
        explanation = explain(network, views, steps=steps, baseline=baseline, device=device)
        averages.append(_average(expert, phase, "policy", explanation.policy))
        averages.append(_average(expert, phase, "value", explanation.value))
        on_progress(done, len(pairs))
    return averages


def _expert_phase_pairs(team: Team, phases: Iterable[str]) -> list[tuple[str, str]]:
    """Returns the pairs of expert and phase to evaluate, such that each network sees each phase once."""
    names, pairs = team.gate.phase_names, list[tuple[str, str]]()
    served = {names[phase]: [names[other] for other in group] for group in team.phases_by_network() for phase in group}
    """By expert, the phases that its network serves."""
    phases = list(phases)
    for expert in names:
        for phase in phases:
            # On a phase of another network, the first of the experts that share a network stands for all of them.
            if expert == (phase if phase in served[expert] else served[expert][0]):
                pairs.append((expert, phase))
    return pairs


def write_averages(folder: Path, team: Team, averages: Sequence[Average]) -> list[Path]:
    """Writes figures of all experts, each on its own phase, into a folder and returns their files."""
    own = [average for average in averages if average.expert == average.phase]
    labels = file_names(team.gate.phase_names)
    files = []
    for phase, name in enumerate(team.gate.phase_names):
        columns: dict[str, tuple[FloatArray, FloatArray | None]] = {
            average.answer: (average.mean, average.magnitude) for average in own if average.expert == name
        }
        if columns:
            num_positions = next(average.num_positions for average in own if average.expert == name)
            title = f"Expert for {name}: attribution per plane, mean of {num_positions} positions"
            figure = plane_bars(team.game.spec.plane_labels, columns, phase=phase, title=title)
            files.append(_save(figure, folder / f"planes-{labels[phase]}.png"))
    shares = {f"{average.expert}, {average.answer}": average.magnitude for average in own}
    files.append(_save(plane_shares(team.game.spec.plane_labels, shares), folder / "planes.png"))
    maps = {f"{average.expert}, {average.answer}": (average.answer, average.cells) for average in own}
    title = "Attribution per cell, taken absolutely, mean over positions"
    figure = cell_maps(maps, columns=2, rows_upward=team.game.spec.rows_upward, title=title)
    files.append(_save(figure, folder / "cells.png"))
    return files


def file_names(phases: Sequence[str]) -> list[str]:
    """Returns a part of a file name for each phase, unique even on case-insensitive file systems."""
    labels = ["".join(c if c.isalnum() else "-" for c in phase) for phase in phases]
    if len({label.casefold() for label in labels}) == len(labels):
        return labels
    return [f"{number}-{label}" for number, label in enumerate(labels)]


def explain_position(
    folder: Path,
    team: Team,
    state: State,
    player: Player,
    *,
    steps: int,
    baseline: FloatArray | None = None,
    device: str = "cpu",
) -> dict[str, Any]:
    """Returns every expert's answers to one position with their attributions, and draws them into a folder.

    A network that serves several phases counts as one expert. Writes heat maps of the cells and bars of the planes to
    `position-*.png`, and the numbers to `position.json`.
    """
    from moemcts.learn.attribution import explain

    device = device_for(device)
    views = team.game.views([(state, player)])
    weights = team.gate.weights(views)[0]
    labels = file_names(team.gate.phase_names)
    experts: list[dict[str, Any]] = []
    maps: dict[str, tuple[str, FloatArray]] = {}
    figures: dict[str, Figure] = {}
    for phases in team.phases_by_network():
        phase, name = phases[0], ", ".join(team.gate.phase_names[served] for served in phases)
        explanation = explain(team.networks[phase], views, steps=steps, baseline=baseline, device=device)
        action = team.game.format_action(state, player, int(explanation.actions[0]))
        answers: dict[str, Attribution] = {"policy": explanation.policy, "value": explanation.value}
        experts.append(
            {
                "expert": name,
                "weight": round(float(weights[phases].sum()), 6),
                "action": action,
                "probability": round(float(np.exp(explanation.policy.answers[0])), 5),
                **{
                    answer: _attribution_json(team.game.spec.plane_labels, attribution)
                    for answer, attribution in answers.items()
                },
            }
        )
        likely = f"{name}: {action}, {100 * np.exp(explanation.policy.answers[0]):.0f} %"
        maps[likely] = ("policy", explanation.policy.by_cell()[0])
        maps[f"{name}: value {explanation.value.answers[0]:+z.2f}"] = ("value", explanation.value.by_cell()[0])
        bars: dict[str, tuple[FloatArray, FloatArray | None]] = {
            answer: (attribution.by_plane()[0], None) for answer, attribution in answers.items()
        }
        title = f"Expert for {name}: attribution per plane"
        figures[f"planes-{labels[phase]}"] = plane_bars(team.game.spec.plane_labels, bars, phase=phase, title=title)
    text = team.game.format_state(state)
    title = f"{text if len(text) < 90 else team.game.spec.name}, seen by player {player}"
    figures["cells"] = cell_maps(maps, columns=2, rows_upward=team.game.spec.rows_upward, title=title)
    result = {"position": text, "player": player, "experts": experts}
    # Written first: it marks the folder as one of these, even after an interruption.
    write_json(folder / POSITION, result)
    for label, figure in figures.items():
        _save(figure, folder / f"position-{label}.png")
    return result


def _have_equal_weights(one: Module, other: Module) -> bool:
    import torch

    first, second = one.state_dict(), other.state_dict()
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def _average(expert: str, phase: str, answer: ExplainedOutput, attribution: Attribution) -> Average:
    change = float(np.abs(attribution.answers - attribution.baselines).mean())
    return Average(
        expert=expert,
        phase=phase,
        answer=answer,
        num_positions=len(attribution.answers),
        mean=attribution.by_plane().mean(axis=0),
        magnitude=np.abs(attribution.planes).sum(axis=(2, 3)).mean(axis=0),
        cells=np.abs(attribution.planes).sum(axis=1).mean(axis=0),
        gap=float(attribution.gaps.mean()) / max(change, 1e-12),
    )


def _attribution_json(names: Sequence[str], attribution: Attribution) -> dict[str, Any]:
    return {
        "answer": round(float(attribution.answers[0]), 6),
        "baseline": round(float(attribution.baselines[0]), 6),
        "gap": round(float(attribution.gaps[0]), 6),
        "planes": _named(names, attribution.by_plane()[0]),
        "cells": np.round(attribution.by_cell()[0], 6).tolist(),
    }


def _named(names: Sequence[str], numbers: FloatArray) -> Mapping[str, float]:
    return {name: round(float(number), 6) for name, number in zip(names, numbers, strict=True)}


def _save(figure: Figure, path: Path) -> Path:
    import io

    content = io.BytesIO()
    figure.savefig(content, format="png")
    write_bytes(path, content.getvalue())
    return path

"""Losses on the way, from the measurements of trainings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from moemcts.report.outcomes import Entry
from moemcts.report.page import Figure
from moemcts.report.plots import Curve, loss_curves


def running_steps(entries: Sequence[Entry]) -> list[float]:
    """Returns the steps of measurements, those of later stages behind those of earlier ones.

    Stages of different experts may have one name, and so may two of the same: their steps begin anew.
    """
    steps: list[float] = []
    before = 0
    for i, entry in enumerate(entries):
        if i and _begins(entry, entries[i - 1]):
            before += entries[i - 1]["step"]
        steps.append(before + entry["step"])
    return steps


@dataclass(frozen=True, kw_only=True)
class Reached:
    """What somebody else has reached on the same samples in the end."""

    who: str
    """As the figure calls it: `single network`, `baseline`."""
    samples: str
    """Which these are: test, validation or held-out."""
    losses: Mapping[str, float | None]
    """By the name of the phase, and of `all`."""


def curve_figures(
    phase_names: Sequence[str],
    entries: Sequence[Entry],
    baseline: Sequence[Entry] = (),
    *,
    seed: int,
    reached: Reached | None = None,
    label: str = "",
) -> list[Figure]:
    """Returns the loss of each phase's expert on its phase while it learned, and what it is compared with there.

    That is how the baseline learned, where it was measured on these phases on the way, else what it has `reached`. One
    figure for the validation samples and one for the test samples, as far as they were measured. `seed` is that of
    the training; `label` tells the figures from those of others.
    """
    figures = []
    for kind, samples in (("phases", "validation"), ("test", "test")):
        own = [_curve(name, _of(name, entries), kind, name, phase) for phase, name in enumerate(phase_names)]
        keys = dict(enumerate(phase_names))
        if not any(curve.steps for curve in own):
            # Experts that learn together are measured together.
            own, keys = [_curve("all experts", entries, kind, "all", None)], {}
        unknown = [curve.label for curve in own if not curve.steps]
        own = [curve for curve in own if curve.steps]
        if not own:
            continue
        others = [
            _curve(f"{name}, baseline", _of(name, baseline), kind, name, phase, is_baseline=True)
            for phase, name in keys.items()
        ]
        others = [curve for curve in others if curve.steps]
        told = _legend(others)
        if not others and reached is not None and (reached.samples == "test") == (samples == "test"):
            others = _levels(reached, keys)
            told = f"; dashed what the {reached.who} has reached on the same phase in the end" if others else ""
        caption = f"Loss of each expert on the {samples} samples of its own phase, seed {seed}{told}."
        caption += f" Nothing was measured of {', '.join(unknown)}." if unknown else ""
        image = loss_curves([*own, *others], title=f"Loss per phase, {samples} samples", ylabel=f"{samples} loss")
        figures.append(Figure("-".join(word for word in ("loss", samples, label) if word), image, caption))
    return figures


def _begins(entry: Entry, last: Entry) -> bool:
    """Returns whether a measurement is of another stage than the one before it."""
    return any(entry.get(key) != last.get(key) for key in ("experts", "stage")) or entry["step"] <= last["step"]


def _of(name: str, entries: Sequence[Entry]) -> list[Entry]:
    """Returns what was measured while the expert of a phase learned."""
    return [entry for entry in entries if name in entry["experts"]]


def _levels(reached: Reached, keys: Mapping[int, str]) -> list[Curve]:
    """Returns a line across for each phase that the experts were measured on; one for all where there is none."""
    named: list[tuple[int | None, str]] = [*keys.items()] or [(None, "all")]
    levels = [(phase, name, reached.losses.get(name)) for phase, name in named]
    return [
        Curve(label=f"{name}, {reached.who}", steps=(), values=(loss,), phase=phase, is_baseline=True)
        for phase, name, loss in levels
        if loss is not None
    ]


def _legend(drawn: Sequence[Curve]) -> str:
    """Returns what tells the curves of the baseline apart, as far as there are any to be seen."""
    if not drawn:
        return ""
    is_line = max(len(curve.steps) for curve in drawn) > 1
    return "; dashed the baseline" if is_line else "; hollow the baseline, which was measured once"


def _curve(
    label: str, entries: Sequence[Entry], kind: str, key: str, phase: int | None, *, is_baseline: bool = False
) -> Curve:
    cells = [(entry.get(kind) or {}).get(key) for entry in entries]
    found = [(step, cell["loss"]) for step, cell in zip(running_steps(entries), cells, strict=True) if cell]
    steps, values = [step for step, _ in found], [loss for _, loss in found]
    return Curve(label=label, steps=steps, values=values, phase=phase, is_baseline=is_baseline)

"""Losses on the way, from the measurements of trainings."""

from __future__ import annotations

from collections.abc import Sequence

from moemcts.report.outcomes import Entry
from moemcts.report.page import Figure
from moemcts.report.plots import Curve, loss_curves


def running_steps(entries: Sequence[Entry]) -> list[float]:
    """Returns the steps of measurements, those of later stages behind those of earlier ones."""
    steps: list[float] = []
    before = 0
    for i, entry in enumerate(entries):
        if i and entry["stage"] != entries[i - 1]["stage"]:
            before += entries[i - 1]["step"]
        steps.append(before + entry["step"])
    return steps


def curve_figures(
    phase_names: Sequence[str], entries: Sequence[Entry], baseline: Sequence[Entry], label: str = ""
) -> list[Figure]:
    """Returns the loss of each phase's expert on its phase while it learned, and the baseline's.

    One figure for the validation samples and one for the test samples, as far as they were measured. `label` tells
    them from those of other trainings.
    """
    figures = []
    for kind, samples in (("phases", "validation"), ("test", "test")):
        own = [
            _curve(name, [entry for entry in entries if name in entry["experts"]], kind, name, phase)
            for phase, name in enumerate(phase_names)
        ]
        if not any(curve.steps for curve in own):
            # Experts that learn together are measured together.
            own = [_curve("all experts", entries, kind, "all", None)]
        others = [
            _curve(f"{name}, baseline", baseline, kind, name, phase, is_baseline=True)
            for phase, name in enumerate(phase_names)
        ]
        if not any(curve.steps for curve in others):
            # A baseline of another gate knows nothing of these phases, only of all.
            others = [_curve("baseline, all phases", baseline, kind, "all", None, is_baseline=True)]
        drawn = [curve for curve in (*own, *others) if curve.steps]
        if drawn:
            caption = f"Loss of each expert on the {samples} samples of its own phase{_legend(drawn)}."
            image = loss_curves(drawn, title=f"Loss per phase, {samples} samples", ylabel=f"{samples} loss")
            figures.append(Figure("-".join(word for word in ("loss", samples, label) if word), image, caption))
    return figures


def _legend(drawn: Sequence[Curve]) -> str:
    """Returns what tells the baseline apart, as far as there is one to be seen."""
    baselines = [len(curve.steps) for curve in drawn if curve.is_baseline]
    if not baselines:
        return ""
    return "; dashed the baseline" if max(baselines) > 1 else "; hollow the baseline, which was measured once"


def _curve(
    label: str, entries: Sequence[Entry], kind: str, key: str, phase: int | None, *, is_baseline: bool = False
) -> Curve:
    cells = [(entry.get(kind) or {}).get(key) for entry in entries]
    found = [(step, cell["loss"]) for step, cell in zip(running_steps(entries), cells, strict=True) if cell]
    steps, values = [step for step, _ in found], [loss for _, loss in found]
    return Curve(label=label, steps=steps, values=values, phase=phase, is_baseline=is_baseline)

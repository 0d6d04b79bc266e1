"""Loss curves from the measurements of trainings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from moemcts.report.outcomes import Entry
from moemcts.report.page import Figure
from moemcts.report.plots import Curve, loss_curves


def running_steps(entries: Sequence[Entry]) -> list[float]:
    """Returns the cumulative steps of measurements: later stages continue after earlier ones.

    Stages are told apart by expert, name and restarted step count, as several may have the same name.
    """
    steps: list[float] = []
    before = 0
    for i, entry in enumerate(entries):
        if i and _starts_stage(entry, entries[i - 1]):
            before += entries[i - 1]["step"]
        steps.append(before + entry["step"])
    return steps


@dataclass(frozen=True, kw_only=True)
class FinalLosses:
    """What another team reached on the same samples at the end of its training."""

    name: str
    """Its name in the figure: `single network` or `baseline`."""
    samples: str
    """The kind of samples: test, validation or held-out."""
    losses: Mapping[str, float | None]
    """By the name of the phase; `all` is the total."""


def curve_figures(
    phase_names: Sequence[str],
    entries: Sequence[Entry],
    baseline: Sequence[Entry] = (),
    *,
    seed: int,
    final_losses: FinalLosses | None = None,
    label: str = "",
) -> list[Figure]:
    """Returns curves of each expert's loss on its own phase during training, with a comparison.

    The comparison is the baseline's curve if it was measured on these phases during training, else the losses in
    `final_losses`. There is one figure for the validation samples and one for the test samples, if measured. `seed` is
    that of the training; `label` distinguishes the figures' names.
    """
    figures = []
    for kind, samples in (("phases", "validation"), ("test", "test")):
        own = [_curve(name, _entries_of(name, entries), kind, name, phase) for phase, name in enumerate(phase_names)]
        keys = dict(enumerate(phase_names))
        if not any(curve.steps for curve in own):
            # Experts that are trained together are measured together.
            own, keys = [_curve("all experts", entries, kind, "all", None)], {}
        unknown = [curve.label for curve in own if not curve.steps]
        own = [curve for curve in own if curve.steps]
        if not own:
            continue
        others = [
            _curve(f"{name}, baseline", _entries_of(name, baseline), kind, name, phase, is_baseline=True)
            for phase, name in keys.items()
        ]
        others = [curve for curve in others if curve.steps]
        comparison = _describe_baseline(others)
        if not others and final_losses is not None and (final_losses.samples == "test") == (samples == "test"):
            others = _final_loss_lines(final_losses, keys)
            comparison = (
                f"; dashed: what the {final_losses.name} reached on the same phase in the end" if others else ""
            )
        caption = f"Loss of each expert on the {samples} samples of its own phase, seed {seed}{comparison}."
        caption += f" Nothing was measured of {', '.join(unknown)}." if unknown else ""
        image = loss_curves([*own, *others], title=f"Loss per phase, {samples} samples", ylabel=f"{samples} loss")
        figures.append(Figure("-".join(word for word in ("loss", samples, label) if word), image, caption))
    return figures


def _starts_stage(entry: Entry, last: Entry) -> bool:
    """Returns whether a measurement belongs to another stage than the previous one."""
    return any(entry.get(key) != last.get(key) for key in ("experts", "stage")) or entry["step"] <= last["step"]


def _entries_of(name: str, entries: Sequence[Entry]) -> list[Entry]:
    """Returns the measurements made while the expert of a phase was trained."""
    return [entry for entry in entries if name in entry["experts"]]


def _final_loss_lines(final_losses: FinalLosses, keys: Mapping[int, str]) -> list[Curve]:
    """Returns a horizontal line per phase that the experts were measured on, or one for all if there is none."""
    phases: list[tuple[int | None, str]] = [*keys.items()] or [(None, "all")]
    levels = [(phase, name, final_losses.losses.get(name)) for phase, name in phases]
    return [
        Curve(label=f"{name}, {final_losses.name}", steps=(), values=(loss,), phase=phase, is_baseline=True)
        for phase, name, loss in levels
        if loss is not None
    ]


def _describe_baseline(drawn: Sequence[Curve]) -> str:
    """Returns a legend for the baseline's curves, empty if there are none."""
    if not drawn:
        return ""
    is_line = max(len(curve.steps) for curve in drawn) > 1
    return "; dashed the baseline" if is_line else "; hollow the baseline, which was measured once"


def _curve(
    label: str, entries: Sequence[Entry], kind: str, key: str, phase: int | None, *, is_baseline: bool = False
) -> Curve:
    cells = [(entry.get(kind) or {}).get(key) for entry in entries]
    points = [(step, cell["loss"]) for step, cell in zip(running_steps(entries), cells, strict=True) if cell]
    steps, values = [step for step, _ in points], [loss for _, loss in points]
    return Curve(label=label, steps=steps, values=values, phase=phase, is_baseline=is_baseline)

"""Folders of exported experts: one ONNX model per phase, and a manifest of their origin and accuracy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field
from torch import nn

from moemcts import __version__
from moemcts.errors import DamagedFile, ForeignData, MoemctsError, UsageError
from moemcts.learn.identity import PLAIN_FILE, FileContent, validate_content
from moemcts.learn.inference.backends import BACKENDS, Precision, installed_version, require_backend, run_model
from moemcts.learn.inference.export import check_error, largest_error, onnx_bytes, torch_evaluation, with_metadata
from moemcts.learn.inference.positions import Positions
from moemcts.learn.inference.quantise import agreements, evaluate_in_batches, quantised
from moemcts.learn.inference.torch_evaluator import TorchEvaluator
from moemcts.store import MANIFEST, digest, read_bytes, read_toml, write_bytes, write_toml

FORMAT = 1
COPIED_ENTRIES = ("game", "encoding", "gate", "network", "scheme", "seed", "data")
"""Entries of the experts' manifest that are copied into that of their exports."""


@dataclass(frozen=True, kw_only=True)
class Team:
    """Experts to export: networks, and the manifest of their folder."""

    networks: Sequence[nn.Module]
    phase_names: tuple[str, ...]
    manifest: Mapping[str, Any]


def export_folder(experts: Path, precision: Precision) -> Path:
    """Returns the default folder for exports of a folder of experts."""
    return experts / precision


def export_experts(team: Team, positions: Positions, out: Path, *, precision: Precision, source: str) -> dict[str, Any]:
    """Writes one model per expert, and the manifest last; returns the manifest.

    float32 models are compared with torch on all positions, and it is an error if they differ; int8 models are
    calibrated on half of the positions, whatever their phase, as an expert may see any, and compared on the other half.
    `source` describes where the positions come from. Raises MissingExtra if a package is not installed, UsageError if
    `out` holds something else.
    """
    if (out / MANIFEST).exists() and "precision" not in read_toml(out / MANIFEST):
        raise UsageError(f"expected a folder for exported models, but {out} holds something else")
    if not len(positions):
        raise MoemctsError("expected positions to check exported models on, got none")
    backend = _comparison_backend()
    models = _int8_models(team, positions) if precision == "int8" else _float32_models(team, positions, backend)
    entries: list[dict[str, Any]] = []
    for i, (name, expert, (model, measured)) in enumerate(
        zip(team.phase_names, team.manifest["experts"], models, strict=True)
    ):
        metadata = {"game": str(team.manifest["game"]), "phase": name, "precision": precision}
        metadata |= {f"encoding.{key}": str(value) for key, value in team.manifest["encoding"].items()}
        content = with_metadata(model, metadata | {"weights": expert["sha256"], "moemcts": __version__})
        file = f"expert-{i}.onnx"
        write_bytes(out / file, content)
        entries.append({"phase": name, "file": file, "sha256": digest(content), "weights": expert["sha256"]} | measured)
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "version": __version__,
        "precision": precision,
        **{key: team.manifest[key] for key in COPIED_ENTRIES},
        "positions": {
            "source": source,
            "counts": dict(zip(team.phase_names, positions.counts(len(team.phase_names)), strict=True)),
        },
        "libraries": {name: version for name in BACKENDS if (version := installed_version(name))},
        "experts": entries,
    }
    write_toml(out / MANIFEST, manifest)
    return manifest


def has_models(experts: Path, precision: Precision) -> bool:
    """Returns whether a folder of experts has exported models, of these weights or others."""
    return (export_folder(experts, precision) / MANIFEST).exists()


def read_models(experts: Path, precision: Precision, weights: Sequence[str]) -> list[bytes]:
    """Returns the exported models of a folder of experts whose weights have the given SHA-256.

    Raises MoemctsError, saying how to make them, if there are none, ForeignData if they were made from other weights,
    DamagedFile if a file is not as it was written.
    """
    folder = export_folder(experts, precision)
    command = f"moemcts export {experts} --precision {precision}"
    if not (folder / MANIFEST).exists():
        raise MoemctsError(f"{experts} has no {precision} models; make them: {command}")
    manifest = validate_content(
        _Manifest, read_toml(folder / MANIFEST), f"{folder / MANIFEST} is not a valid manifest of exported models"
    )
    if manifest.format != FORMAT:
        raise ForeignData(f"{folder} has format {manifest.format}, this version reads {FORMAT}; {command}")
    exported = [entry.weights for entry in manifest.experts]
    if exported != list(weights):
        raise ForeignData(
            f"{folder} was made of weights {_abbreviate(exported)}, but the experts have {_abbreviate(weights)}; "
            f"make it again: {command}"
        )
    models = []
    for entry in manifest.experts:
        path = folder / entry.file
        content = read_bytes(path)
        if digest(content) != entry.sha256:
            raise DamagedFile(
                f"{path} is damaged: expected SHA-256 {entry.sha256[:12]}, got {digest(content)[:12]}; "
                f"make it again: {command}"
            )
        models.append(content)
    return models


class _Model(FileContent):
    file: str = Field(pattern=PLAIN_FILE)
    sha256: str
    weights: str


class _Manifest(FileContent):
    format: int
    experts: list[_Model]


def _float32_models(team: Team, positions: Positions, backend: str) -> list[tuple[bytes, dict[str, Any]]]:
    models: list[tuple[bytes, dict[str, Any]]] = []
    for name, network in zip(team.phase_names, team.networks, strict=True):
        model = onnx_bytes(network, positions.planes.shape[1:])
        evaluator = run_model(model, "openvino" if backend == "openvino" else "onnxruntime", name=f"expert {name!r}")
        error = largest_error(
            torch_evaluation(network, positions.planes), evaluate_in_batches(evaluator, positions.planes)
        )
        check_error(error, f"expert {name!r}, run by {backend},")
        models.append((model, {"largest_error": error}))
    return models


def _int8_models(team: Team, positions: Positions) -> list[tuple[bytes, dict[str, Any]]]:
    calibration, comparison = positions.halves()
    if not len(comparison):
        counts = zip(positions.counts(len(team.phase_names)), team.phase_names, strict=True)
        raise MoemctsError(
            "expected two positions or more of some phase, to calibrate with and to compare on, got "
            + ", ".join(f"{count} of {name!r}" for count, name in counts)
        )
    models: list[tuple[bytes, dict[str, Any]]] = []
    for name, network in zip(team.phase_names, team.networks, strict=True):
        model = quantised(network, calibration.planes)
        evaluator = run_model(model, "onnxruntime", name=f"expert {name!r}")
        by_phase = agreements(TorchEvaluator(network), evaluator, comparison, team.phase_names)
        models.append((model, {"agreement": {phase: each.to_toml() for phase, each in by_phase.items()}}))
    return models


def _comparison_backend() -> str:
    """Returns the backend that compares exported models with torch; raises MissingExtra if there is none."""
    if installed_version("onnxruntime") is None and installed_version("openvino") is not None:
        return "openvino"
    require_backend("onnxruntime")
    return "onnxruntime"


def _abbreviate(hashes: Sequence[str]) -> str:
    return ", ".join(each[:8] for each in hashes)

"""Checkpoints: a team of experts in a folder, with the names and hashes of everything they must be used with."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel, Field
from torch import nn

from moemcts import __version__
from moemcts.errors import DamagedFile, ForeignData, UsageError
from moemcts.experts import ExpertSet, Routing
from moemcts.game import Game
from moemcts.gates import PhaseGate
from moemcts.learn.fingerprint import encoding_fingerprint, gate_fingerprint
from moemcts.learn.gates.saved import LearnedGate, load_gate, save_gate
from moemcts.learn.identity import PLAIN_FILE, Encoding, check_encoding, validate_content
from moemcts.learn.inference.evaluators import AUTO, BATCH_SIZE, Choice, Inference, resolve
from moemcts.learn.inference.factory import build_evaluator
from moemcts.learn.inference.folder import has_models, read_models
from moemcts.learn.inference.positions import Sample
from moemcts.learn.inference.shared_body import stacked_experts, torch_experts
from moemcts.learn.training.ranks import device_of
from moemcts.learn.weights import (
    check_finite,
    check_state,
    load_state,
    meta_network,
    network_state,
    state_bytes,
    state_of,
)
from moemcts.store import MANIFEST, digest, read_bytes, read_toml, write_bytes, write_toml

FORMAT = 1
GATE_FILE = "gate.safetensors"


class Makers(Protocol):
    """Creates objects from the names in a manifest; implemented by `moemcts.plugins.Plugins`."""

    def gate(self, reference: str, game: Game) -> PhaseGate: ...

    def network(self, reference: str, observation_shape: tuple[int, ...], num_actions: int) -> Any: ...


def save_experts(
    folder: Path,
    networks: Sequence[nn.Module],
    *,
    game: Game,
    game_reference: str,
    gate: PhaseGate,
    gate_reference: str,
    network_reference: str,
    scheme: str,
    seed: int,
    data: str = "",
    data_parts: Sequence[str] = (),
    measurements: Sequence[Mapping[str, Any]] = (),
) -> Path:
    """Writes one network per phase of the gate and the manifest; returns `folder`.

    References are what users write; loading creates the gate and the networks from them. A learned gate is saved beside
    its experts and loaded from there. The manifest is written last, so a folder with a manifest is complete. Raises
    ValueError unless there is one network per phase.
    """
    if len(networks) != gate.num_phases:
        raise ValueError(f"expected {gate.num_phases} networks, one per phase of the gate, got {len(networks)}")
    experts: list[dict[str, Any]] = []
    for phase, (name, network) in enumerate(zip(gate.phase_names, networks, strict=True)):
        content = state_bytes(network_state(network))
        file = f"expert-{phase}.safetensors"
        write_bytes(folder / file, content)
        experts.append({"phase": name, "file": file, "sha256": digest(content)})
    saved_gate: dict[str, Any] = {}
    if isinstance(gate, LearnedGate):
        # Saved with the experts, so that copies of the folder are complete.
        save_gate(folder / GATE_FILE, gate)
        saved_gate = {"file": GATE_FILE}
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "version": __version__,
        "game": game_reference,
        "encoding": encoding_fingerprint(game),
        "gate": {
            "reference": gate_reference,
            "name": gate.name,
            "parameters": dict(gate.parameters),
            "fingerprint": gate_fingerprint(gate, game),
            **saved_gate,
        },
        "network": network_reference,
        "scheme": scheme,
        "seed": seed,
        "data": data,
        "data_parts": list(data_parts),
        "experts": experts,
    }
    for entry, measurement in zip(experts, measurements, strict=False):
        entry["validation"] = dict(measurement.get("validation") or {})
    write_toml(folder / MANIFEST, manifest)
    return folder


def load_experts(
    folder: Path,
    game: Game,
    makers: Makers,
    *,
    device: str = "cpu",
    routing: Routing | None = None,
    inference: Inference | None = None,
) -> ExpertSet:
    """Returns the experts of a folder behind their gate, run by torch in float32 unless `inference` says otherwise.

    Raises as `load_networks` and, for int8, `inference.folder.read_models`.
    """
    loaded = load_networks(folder, game, makers)
    return loaded.expert_set(inference or Inference(), device=device, routing=routing)


@dataclass(frozen=True, kw_only=True)
class LoadedNetworks:
    """The networks of a folder of experts, one per phase of their gate."""

    folder: Path
    game: Game
    gate: PhaseGate
    networks: tuple[nn.Module, ...]
    manifest: Mapping[str, Any]

    def by_gate(self, gate: PhaseGate) -> LoadedNetworks:
        """Returns the networks behind another gate; raises UsageError unless it has as many phases."""
        if gate.num_phases != len(self.networks):
            raise UsageError(
                f"expected a gate of {len(self.networks)} phases, one for each expert in {self.folder}, "
                f"got {gate.name!r} of {gate.num_phases}"
            )
        return replace(self, gate=gate)

    def expert_set(self, inference: Inference, *, device: str = "cpu", routing: Routing | None = None) -> ExpertSet:
        """Returns the networks as evaluators behind their gate, on a device as `ranks.device_of` names it.

        Raises UsageError if torch lacks the device here, or the backend does not run on it.
        """
        device = str(device_of(device))
        inference.checked(device)
        if inference.backend == "torch":
            open_experts = stacked_experts if routing and routing.is_stacked else torch_experts
            return ExpertSet(self.gate, open_experts(self.networks, device, inference.precision), routing=routing)
        models: Sequence[bytes | None] = [None] * len(self.networks)
        if inference.precision == "int8":
            models = self._int8_models()
        experts = [
            build_evaluator(
                network,
                self.game.spec.observation_shape,
                inference,
                model=model,
                device=device,
                name=str(self.folder / entry["file"]),
            )
            for network, model, entry in zip(self.networks, models, self.manifest["experts"], strict=True)
        ]
        return ExpertSet(self.gate, experts, routing=routing)

    def choice(
        self,
        backend: str = AUTO,
        precision: str = AUTO,
        *,
        batch_size: int = BATCH_SIZE,
        device: str = "cpu",
        positions: Callable[[], Sample] | None = None,
    ) -> Choice:
        """Returns the backend and precision for these networks, with `auto` resolved, and what they were compared with.

        int8 is considered if the folder has models of these weights. Raises as `evaluators.resolve`, and UsageError if
        torch lacks the device here.
        """
        device = str(device_of(device))
        quantised: Sequence[bytes] | None = None
        if precision == "int8" and backend == AUTO:
            quantised = self._int8_models()
        elif precision == AUTO and device == "cpu" and has_models(self.folder, "int8"):
            # Not requested explicitly: models of other weights count as absent.
            with contextlib.suppress(ForeignData):
                quantised = self._int8_models()
        return resolve(
            backend,
            precision,
            self.networks,
            self.game.spec.observation_shape,
            batch_size=batch_size,
            device=device,
            positions=positions,
            quantised=quantised,
        )

    def _int8_models(self) -> list[bytes]:
        return read_models(self.folder, "int8", [entry["sha256"] for entry in self.manifest["experts"]])


def read_manifest(folder: Path, game: Game) -> Mapping[str, Any]:
    """Returns the manifest of a folder of experts.

    Raises ForeignData, naming both sides, if they were made for another game or encoding, and DamagedFile if the
    manifest is not as it was written.
    """
    manifest = read_toml(folder / MANIFEST)
    if isinstance(found := manifest.get("format"), int) and found != FORMAT:
        raise ForeignData(f"{folder} has format {found}; this version reads {FORMAT}")
    validate_content(_Manifest, manifest, f"{folder / MANIFEST} is not a valid manifest of experts")
    if "precision" in manifest:
        raise ForeignData(
            f"{folder} holds exported models; name the folder of the experts instead, with precision=int8 for "
            "quantised models"
        )
    check_encoding(folder, manifest["game"], manifest["encoding"], game)
    return manifest


def load_networks(folder: Path, game: Game, makers: Makers) -> LoadedNetworks:
    """Returns the networks of a folder of experts, in evaluation mode.

    Raises as `read_manifest`, ForeignData also if they were made for another gate or network than the manifest's names
    refer to here, and DamagedFile if a file is not as it was written.
    """
    manifest = read_manifest(folder, game)
    gate = _load_gate(folder, manifest["gate"], game, makers)
    _check_gate(folder, manifest["gate"], gate, game)

    def blank() -> nn.Module:
        network: nn.Module = makers.network(manifest["network"], game.spec.observation_shape, game.spec.num_actions)
        return network

    expected = meta_network(blank)
    networks = [
        _load_expert(folder / entry["file"], entry["sha256"], blank, expected).eval() for entry in manifest["experts"]
    ]
    if len(networks) != gate.num_phases:
        raise DamagedFile(
            f"{folder / MANIFEST} names {len(networks)} experts, but its gate {gate.name} has {gate.num_phases} phases"
        )
    return LoadedNetworks(folder=folder, game=game, gate=gate, networks=tuple(networks), manifest=manifest)


class _Gate(BaseModel):
    reference: str
    name: str
    parameters: dict[str, Any]
    fingerprint: str
    file: str | None = Field(default=None, pattern=PLAIN_FILE)


class _Expert(BaseModel):
    phase: str = ""
    file: str = Field(pattern=PLAIN_FILE)
    sha256: str


class _Manifest(BaseModel):
    """Schema of a manifest; fields that are read elsewhere are only checked for their types."""

    format: int
    game: str
    network: str
    encoding: Encoding
    gate: _Gate
    experts: list[_Expert]
    scheme: str = ""
    data: str = ""
    data_parts: list[str] = []
    seed: int = 0


def _load_gate(folder: Path, saved: Mapping[str, Any], game: Game, makers: Makers) -> PhaseGate:
    if "file" in saved:
        return load_gate(folder / saved["file"], game, makers)
    return makers.gate(saved["reference"], game)


def _check_gate(folder: Path, saved: Mapping[str, Any], gate: PhaseGate, game: Game) -> None:
    fingerprint = gate_fingerprint(gate, game)
    if saved["fingerprint"] != fingerprint:
        raise ForeignData(
            f"{folder} was trained with gate {saved['name']} {dict(saved['parameters'])}, "
            f"fingerprint {saved['fingerprint'][:12]}, but {saved['reference']!r} is here "
            f"{gate.name} {dict(gate.parameters)}, fingerprint {fingerprint[:12]}"
        )


def _load_expert(path: Path, sha256: str, blank: Callable[[], nn.Module], expected: nn.Module | None) -> nn.Module:
    content = read_bytes(path)
    if (found := digest(content)) != sha256:
        raise DamagedFile(f"{path} is damaged: expected SHA-256 {sha256[:12]}, got {found[:12]}")
    state, _ = state_of(content, path)
    check_finite(state, path)
    # Checked first against a network without memory, so that sizes that the manifest only claims are not allocated.
    if expected is not None:
        check_state(expected, state, str(path))
    network = blank()
    load_state(network, state, str(path))
    return network

"""The arms that an experiment compares: per network, a single network and one set of experts per gate and scheme."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from moemcts.errors import UsageError
from moemcts.references import parse_reference

NO_GATE = "none"
"""The gate with a single phase, whose one expert is the single network."""
SINGLE = "single"
"""The name of the single network's arm and of the scheme that trains it."""
_LONGEST = 160


@dataclass(frozen=True)
class Arm:
    """One set of experts, or a single network."""

    name: str
    """The name in tables."""
    gate: str
    scheme: str
    network: str
    label: str = ""
    """The name as used in file names; unique within an experiment."""
    gate_name: str = ""
    """The gate's name in tables."""

    @property
    def is_single(self) -> bool:
        """Whether a single network serves all phases."""
        return _is_single(self.scheme)


def file_label(reference: str) -> str:
    """Returns a reference in a form that can be part of a file name."""
    name, options = parse_reference(reference)
    text = name.lstrip("./") + "".join(f"-{key}-{value}" for key, value in options.items())
    label = "".join(c if c.isalnum() else "-" for c in text)
    # File systems limit names to 255 bytes.
    return label if len(label.encode()) <= _LONGEST else f"{label[: _LONGEST // 8]}-{_digest(reference)}"


def file_labels(names: Sequence[str]) -> list[str]:
    """Returns a unique label per name: names that differ only in punctuation must not share a file."""
    labels = [file_label(name) for name in names]
    counts = Counter(labels)
    return [label if counts[label] == 1 else exact_label(name) for name, label in zip(names, labels, strict=True)]


def exact_label(reference: str) -> str:
    """Returns the label of a reference followed by a digest of it, which makes it unique."""
    return f"{file_label(reference)}-{_digest(reference)}"


def single_arm(network: str, name: str = SINGLE) -> Arm:
    """Returns the arm of a single network for all phases."""
    return Arm(name, NO_GATE, SINGLE, network, gate_name=NO_GATE)


def make_arms(
    networks: Sequence[str],
    gates: Sequence[str],
    schemes: Sequence[str],
    gate_names: Sequence[str] = (),
    single_networks: Sequence[str] = (),
    begun: tuple[int, int] | None = None,
) -> list[Arm]:
    """Returns, for each network, the arm of the single network and one arm per gate and scheme.

    The first arm is the single network that all others are compared with. Arms are named by what differs between them;
    those of the first network do not name it. `gate_names` are the display names of the gates, in their order; if it is
    empty, the gates are named by their references. Networks in `single_networks` get a single-network arm only. `begun`
    is the number of gates and schemes that the experiment began with: arms of these keep the names they had then, and
    all others are named by gate and scheme. A scheme that trains one network gives the same result for every gate, so
    it has one arm, named by the scheme alone; the scheme `single` gets no further arm, as the first one is the same.
    Raises UsageError if two arms would have the same name.
    """
    names = {gate: gate for gate in gates} | dict(zip(gates, gate_names, strict=False))
    gates = [gate for gate in gates if gate != NO_GATE]
    first_gates, first_schemes = (gates, schemes) if begun is None else (gates[: begun[0]], schemes[: begun[1]])
    arms = []
    for network in networks:
        further = [] if network == networks[0] else [network]
        arms.append(single_arm(network, " ".join([SINGLE, *further])))
        for gate in gates:
            for scheme in schemes:
                words = [names[gate], scheme]
                if _is_single(scheme):
                    if gate != gates[0] or scheme == SINGLE:
                        continue
                    words = [scheme]
                elif gate in first_gates and scheme in first_schemes:
                    words = [word for word, among in zip(words, (first_gates, first_schemes), strict=True) if among[1:]]
                name = " ".join([*(words or [names[gate]]), *further])
                arms.append(Arm(name, gate, scheme, network, gate_name=names[gate]))
    arms += [single_arm(network, f"{SINGLE} {network}") for network in single_networks]
    if twice := next((name for name, count in Counter(arm.name for arm in arms).items() if count > 1), ""):
        raise UsageError(
            f"expected arms with different names, got two named {twice!r}; give one of the gates another name in "
            "gate_names"
        )
    labels = file_labels([arm.name for arm in arms])
    return [replace(arm, label=label) for arm, label in zip(arms, labels, strict=True)]


def _is_single(scheme: str) -> bool:
    return parse_reference(scheme)[0] == SINGLE


def _digest(name: str) -> str:
    return hashlib.blake2b(name.encode(), digest_size=4).hexdigest()

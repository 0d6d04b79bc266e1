"""Descriptions of input planes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

ROLES = ("pawns", "knights", "bishops", "rooks", "queens", "king")
SIDES = ("own", "opponent's")
ONE_HOT = ("chess", "antichess", "atomic", "crazyhouse", "kingofthehill", "threecheck", "horde", "racingkings")


def plane_names(features: Iterable[tuple[str, int, float]]) -> tuple[str, ...]:
    """Returns one name per plane of features, which are given as name, number of planes and unit."""
    return tuple(name for feature, width, _ in features for name in _names_of_feature(feature, width))


def _names_of_feature(feature: str, width: int) -> Sequence[str]:
    if feature == "last moves":
        return [f"move {1 + i // 2} back, {'from' if i % 2 == 0 else 'to'}" for i in range(width)]
    return _NAMES.get(feature, {}).get(width) or ([feature] if width == 1 else _number_names(feature, width))


def _number_names(feature: str, width: int) -> list[str]:
    return [f"{feature} {i + 1}" for i in range(width)]


def _names_of_both_sides(*names: str) -> list[str]:
    return [f"{side} {name}" for side in SIDES for name in names]


_NAMES: dict[str, dict[int, list[str]]] = {
    "pieces": {12: _names_of_both_sides(*ROLES)},
    "repetition": {2: ["occurred before", "occurred twice before"]},
    "pockets": {10: _names_of_both_sides(*(f"pocket {role}" for role in ROLES[:5]))},
    "promoted": {2: _names_of_both_sides("promoted pieces")},
    "castling": {4: _names_of_both_sides("castling, king side", "castling, queen side")},
    "remaining checks": {4: _names_of_both_sides("last check", "last two checks")},
    "variant": {8: [f"variant {name}" for name in ONE_HOT]},
    "piece masks": {2: _names_of_both_sides("pieces")},
    "attacks": {12: _names_of_both_sides(*(f"attacks of {role}" for role in ROLES))},
    "attacked twice": {2: _names_of_both_sides("attacks of two pieces")},
    "hanging": {2: _names_of_both_sides("hanging pieces")},
    "blockers": {2: _names_of_both_sides("king's blockers")},
    "check squares": {4: [f"squares where {role} check" for role in ROLES[:4]]},
    "material difference": {n: [f"difference in {role}" for role in ROLES[:n]] for n in (5, 6)},
    "material count": {n: [f"number of own {role}" for role in ROLES[:n]] for n in (5, 6)},
}

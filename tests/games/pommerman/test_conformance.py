"""The simulator replays what the reference recorded, and what it recorded itself when it did so."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from moemcts_pommerman import native
from moemcts_pommerman.spaces import observe

sys.path.insert(0, str(Path(__file__).parent))
from traces import FIXTURES, TRACES, load, rules_of, state_of

MAPS = ("board", "bomb_blast_strength", "bomb_life", "bomb_moving_direction", "flame_life")
no_traces = pytest.mark.skipif(not TRACES.is_dir(), reason=f"the reference's traces are not at {TRACES}")


def traces(*prefixes: str, without: tuple[str, ...] = ()) -> list[Path]:
    files = sorted(TRACES.glob("*.npz")) if TRACES.is_dir() else [TRACES / f"{prefixes[0] or 'any'}.npz"]
    return [file for file in files if file.name.startswith(prefixes) and not file.name.startswith(without or ("-",))]


def fixtures(schema: str) -> list[Path]:
    return [file for file in sorted(FIXTURES.glob("*.npz")) if load(file)["meta"]["schema"] == schema]


def name(path: Path) -> str:
    return path.stem


def replay(path: Path) -> int:
    arrays = load(path)
    steps, mismatches = native.replay(rules_of(arrays["meta"]), {k: v for k, v in arrays.items() if k != "meta"})
    assert not mismatches, f"{len(mismatches)} games differ; {mismatches[0]}"
    return int(steps)


@no_traces
@pytest.mark.parametrize("path", traces("", without=("obs_", "sa_")), ids=name)
def test_every_trace_of_the_reference_replays(path: Path) -> None:
    assert replay(path) > 1000


@pytest.mark.parametrize("path", fixtures("pommerman-trace-v1"), ids=name)
def test_every_recorded_game_replays(path: Path) -> None:
    assert replay(path) > 100


def test_a_changed_action_is_noticed() -> None:
    arrays = load(FIXTURES / "crowded_ffa.npz")
    rules = rules_of(arrays.pop("meta"))
    arrays["actions"] = np.where(arrays["actions"] >= 1, arrays["actions"] % 5, arrays["actions"])
    assert native.replay(rules, arrays)[1]


@no_traces
@pytest.mark.parametrize("path", traces("obs_"), ids=name)
def test_observations_are_those_of_the_reference(path: Path) -> None:
    arrays = load(path)
    rules = native.Rules(arrays["meta"]["env_id"])
    for sample in range(arrays["meta"]["samples"]):
        state = state_of(arrays, sample, rules)
        for player in range(rules.num_players):
            message = arrays["sent"][sample, (player + 2) % 4] if rules.has_radio else (0, 0)
            check_observation(arrays, sample, player, observe(state, player, message))


def check_observation(arrays: dict[str, Any], sample: int, player: int, seen: dict[str, Any]) -> None:
    def listed(key: str) -> tuple[int, ...]:
        return tuple(int(value) for value in arrays[key][sample, player] if value)

    for key in MAPS:
        assert np.array_equal(seen[key], arrays[f"obs_{key}"][sample, player]), (sample, player, key)
        assert seen[key].dtype == (np.uint8 if key == "board" else np.float64)
    scalars = [*seen["position"], seen["ammo"], seen["blast_strength"], seen["can_kick"], seen["step_count"]]
    assert scalars == arrays["obs_scalars"][sample, player].tolist()
    assert seen["alive"] == listed("obs_alive")
    assert seen["enemies"] == listed("obs_enemies")
    assert seen["teammate"] == arrays["obs_teammate"][sample, player]
    assert seen["game_type"] == arrays["meta"]["game_type_value"]
    assert seen["game_env"] == arrays["meta"]["game_env"]
    if "message" in seen:
        assert seen["message"] == tuple(arrays["obs_message"][sample, player].tolist())


def test_observations_are_as_recorded() -> None:
    arrays = load(FIXTURES / "observations.npz")
    records, maps = (
        np.split(arrays[key], arrays[f"{key[:-1] if key == 'maps' else key}_off"][1:-1]) for key in ("record", "maps")
    )
    for record, expected in zip(records, maps, strict=True):
        state = native.State.unpack(record.tobytes())
        seen = [observe(state, player) for player in range(state.rules.num_players)]
        found = [value.ravel() for each in seen for value in each.values() if isinstance(value, np.ndarray)]
        assert np.array_equal(np.concatenate(found), expected)


@no_traces
@pytest.mark.parametrize("path", traces("sa_"), ids=name)
def test_the_simple_agent_decides_like_the_reference(path: Path) -> None:
    assert check_decisions(path) > 100


def test_the_simple_agent_decides_as_recorded() -> None:
    assert check_decisions(FIXTURES / "decisions.npz") > 100


def check_decisions(path: Path) -> int:
    arrays = load(path)
    outcomes = native.decisions({key: value for key, value in arrays.items() if key != "meta"})
    for sample, outcome in enumerate(outcomes):
        rows = slice(arrays["out_off"][sample], arrays["out_off"][sample + 1])
        keys = [tuple(key) for key in arrays["out_key"][rows].tolist()]
        expected = dict(zip(keys, arrays["out_prob"][rows].tolist(), strict=True))
        # Products of halves and thirds: 1e-12 is far above what rounding does to them.
        assert {(row[0], row[1], int(row[2])): row[3] for row in outcome} == pytest.approx(expected, abs=1e-12), sample
    return len(outcomes)


def test_a_players_choices_follow_the_exact_distribution() -> None:
    arrays = load(FIXTURES / "crowded_ffa.npz")
    rules = rules_of(arrays["meta"])
    draws = 3000
    rows = range(0, len(arrays["step"]), 97)
    for row in rows:
        state = state_of(arrays, row, rules)
        for player in state.living:
            seen = state.observed(player)
            sample = {
                "board": seen["board"][None],
                "bomb_blast_strength": seen["bomb_blast_strength"][None],
                "position": np.array([seen["position"]], np.int8),
                "ammo": np.array([seen["ammo"]], np.int8),
                "blast_strength": np.array([seen["blast_strength"]], np.int8),
                "enemies": np.array([seen["enemies"]], np.uint8),
                "prev_direction": np.array([-1], np.int8),
                "recent": np.zeros((1, 6, 2), np.int8),
                "recent_len": np.zeros(1, np.int8),
            }
            expected = np.zeros(6)
            for action, _, _, probability in native.decisions(sample)[0]:
                expected[action] += probability
            chosen = [native.Player("simple", seed).choose(state, player) for seed in range(draws)]
            shares = np.bincount(chosen, minlength=6) / draws
            # Five standard errors at fixed seeds, and nothing outside the support.
            assert (np.abs(shares - expected) <= 5 * np.sqrt(expected * (1 - expected) / draws) + 1e-12).all()

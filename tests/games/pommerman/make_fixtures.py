"""Writes the fixtures: games and crowded states of our simulator, which had replayed all reference traces before.

`python tests/games/pommerman/make_fixtures.py`; the seeds are fixed, so that only a change of the rules changes the
files.
"""

from __future__ import annotations

import struct
from collections import Counter
from typing import Any

import numpy as np
from traces import FIXTURES, Recorder, save

from moemcts_pommerman import native
from moemcts_pommerman.spaces import observe

STEPS = {1: (-1, 0), 2: (1, 0), 3: (0, -1), 4: (0, 1)}
RUST = FIXTURES.parents[3] / "native" / "pommerman" / "tests" / "steps.bin"


def main() -> None:
    FIXTURES.mkdir(exist_ok=True)
    played = {
        "ffa": ("PommeFFACompetition-v0", {}, 4, ("simple",)),
        "ffa_random": ("PommeFFACompetition-v0", {}, 9, ("random", "random", "simple", "stop")),
        "team_fog": ("PommeTeamCompetition-v0", {}, 3, ("simple",)),
        "onevsone": ("OneVsOne-v0", {}, 6, ("simple",)),
        "collapse": ("PommeFFA-v1", {"first_collapse": 20, "max_steps": 100}, 12, ("simple", "stop", "random")),
        "team_collapse": ("PommeTeamCompetition-v1", {"first_collapse": 30, "max_steps": 90}, 4, ("simple", "stop")),
    }
    for name, (env, overrides, games, scripts) in played.items():
        recorder = Recorder(env, **overrides)
        for seed in range(games):
            record_game(recorder, seed, scripts)
        save(FIXTURES / f"{name}.npz", recorder.arrays())
    crowded = {
        "crowded_ffa": ("PommeFFACompetition-v0", 155, None, 10),
        "crowded_team": ("PommeTeam-v0", 60, None, 10),
        "crowded_duel": ("OneVsOne-v0", 90, None, 10),
        "rare": ("PommeFFACompetition-v0", 140, {"undone", "boomerang"}, 10),
        "caps": ("PommeFFACompetition-v0", 50, {"cap"}, 10),
    }
    rust = bytearray()
    for number, (name, (env, games, wanted, steps)) in enumerate(crowded.items()):
        recorder = Recorder(env)
        tags = record_crowded(recorder, np.random.default_rng(number), games, wanted, steps, rust)
        save(FIXTURES / f"{name}.npz", recorder.arrays())
        print(name, dict(tags))
    RUST.write_bytes(rust)
    save(FIXTURES / "observations.npz", observations())
    save(FIXTURES / "decisions.npz", decisions())
    sizes = {path.name: path.stat().st_size for path in [*FIXTURES.glob("*.npz"), RUST]}
    print(sizes, sum(sizes.values()))


def record_game(recorder: Recorder, seed: int, scripts: tuple[str, ...]) -> None:
    players = [native.Player(scripts[p % len(scripts)], 10 * seed + p) for p in range(recorder.rules.num_players)]
    states, actions, outcomes = [native.State.initial(recorder.rules, seed, seed % 2 == 1)], [], []
    while not states[-1].is_over:
        actions.append([agent.choose(states[-1], player) for player, agent in enumerate(players)])
        state, *outcome = states[-1].step(actions[-1])
        states.append(state)
        outcomes.append(outcome)
    recorder.add(states, actions, outcomes, " ".join(scripts))


def record_crowded(
    recorder: Recorder, rng: np.random.Generator, games: int, wanted: set[str] | None, steps: int, rust: bytearray
) -> Counter[str]:
    """Records random steps from crowded states; with `wanted`, only games in which one of these events occurs."""
    seen: Counter[str] = Counter()
    kept = 0
    while kept < games:
        states, actions, outcomes = [crowded_state(recorder.rules, rng, wanted == {"cap"})], [], []
        tags: set[str] = set()
        while len(actions) < steps and not states[-1].is_over:
            actions.append(rng.choice(6, recorder.rules.num_players, p=[0.1, 0.2, 0.2, 0.2, 0.2, 0.1]).tolist())
            state, *outcome = states[-1].step(actions[-1])
            tags |= events(states[-1], actions[-1], state)
            states.append(state)
            outcomes.append(outcome)
            if wanted and wanted & tags and len(actions) >= 3:
                break
        if not actions or (wanted and not wanted & tags):
            continue
        kept += 1
        seen.update(tags)
        recorder.add(states, actions, outcomes, " ".join(sorted(tags)))
        if kept % 3 == 0:
            add_to_rust(rust, states, actions)
    return seen


def crowded_state(rules: Any, rng: np.random.Generator, near_caps: bool) -> Any:
    """Returns a board full of moving bombs, flames of all ages, items and players who kick."""
    n, players = rules.board_size, rules.num_players
    cells = rng.permutation(n * n)
    # The players are close together, so that they obstruct each other.
    centre = rng.integers(2, n - 2, 2)
    near = sorted(cells, key=lambda cell: abs(cell // n - centre[0]) + abs(cell % n - centre[1]))
    order = [*rng.permutation(near[:14]), *rng.permutation(near[14:])]
    board, items = np.zeros(n * n, np.uint8), np.zeros(n * n, np.uint8)
    agents, bombs, flames = [], [], []
    high = (8, 11) if near_caps else (1, 5)
    for player in range(players):
        cell = int(order.pop(0))
        ammo, blast = (int(number) for number in (rng.integers(*high), rng.integers(max(2, high[0]), high[1])))
        agents.append(
            [cell // n, cell % n, ammo, blast, int(rng.random() < 0.8), int(player < 2 or rng.random() < 0.8)]
        )
        if rng.random() < 0.2 and agents[-1][5]:
            bombs.append([cell // n, cell % n, player, int(rng.integers(1, 10)), blast, 0])
    for _ in range(int(rng.integers(2, 9))):
        cell = int(order.pop(0))
        blast = int(rng.integers(*((7, 11) if near_caps else (2, 5))))
        owner, life = int(rng.integers(players)), int(rng.integers(1, 10))
        bombs.append([cell // n, cell % n, owner, life, blast, int(rng.choice(5, p=[0.4, 0.15, 0.15, 0.15, 0.15]))])
    for _ in range(int(rng.integers(0, 5))):
        cell = int(order.pop(0))
        ages = rng.permutation(3)[: 1 + int(rng.random() < 0.4)]
        flames += [[cell // n, cell % n, int(age)] for age in ages]
        items[cell] = rng.choice([0, 6, 7, 8])
    for value, count in ((1, 12), (2, 14), (6, 3), (7, 3), (8, 2)):
        for _ in range(int(rng.integers(0, count))):
            cell = order.pop(int(rng.integers(len(order))))
            board[cell] = value
            if value == 2:
                items[cell] = rng.choice([0, 6, 7, 8])
    flames.sort(key=lambda flame: flame[2])
    tables = (np.array(agents, np.int8), np.array(bombs, np.int8), np.array(flames, np.int8).reshape(-1, 3))
    for row, column, _ in flames:
        board[row * n + column] = 4
    step = int(rng.integers(0, 700))
    return native.State.from_arrays(rules, step, board.reshape(n, n), items.reshape(n, n), *tables)


def events(before: Any, actions: list[int], after: Any) -> set[str]:
    """Returns the observable events of a step: kicks, undone kicks, boomerangs, chains, overlaps, caps."""
    old, new = before.arrays(), after.arrays()
    found = set()
    was = {(bomb[2], bomb[3]): bomb for bomb in old["bombs"].tolist()}
    for bomb in new["bombs"].tolist():
        source = was.get((bomb[2], bomb[3] + 1))
        if source and bomb[5] and bomb[5] != source[5]:
            found.add("boomerang" if bomb[:2] == source[:2] and source[5] else "kick")
    if sum(1 for bomb in old["bombs"].tolist() if bomb[3] > 1) > len(new["bombs"]):
        found.add("chain")
    burning = Counter((row, column) for row, column, _ in new["flames"].tolist())
    if any(count > 1 for count in burning.values()):
        found.add("overlap")
    for (_, _, ammo, blast, *_), (*_, alive) in zip(new["agents"].tolist(), old["agents"].tolist(), strict=True):
        if alive and (ammo == 10 or blast == 10):
            found.add("cap")
    if undone_kick(old, actions, new):
        found.add("undone")
    return found


def undone_kick(old: Any, actions: list[int], new: Any) -> bool:
    """Returns whether a player could have kicked a bomb at rest but stayed on its cell."""
    board = old["board"]
    n = len(board)
    standing = {(bomb[0], bomb[1]) for bomb in old["bombs"].tolist() if not bomb[5]}
    wanted = set()
    for agent, action in zip(old["agents"].tolist(), actions, strict=True):
        step = STEPS.get(action, (0, 0))
        wanted |= {(agent[0], agent[1]), (agent[0] + step[0], agent[1] + step[1])} if agent[5] else set()
    for bomb in old["bombs"].tolist():
        step = STEPS.get(bomb[5], (0, 0))
        wanted |= {(bomb[0], bomb[1]), (bomb[0] + step[0], bomb[1] + step[1])}
    for agent, action, moved in zip(old["agents"].tolist(), actions, new["agents"].tolist(), strict=True):
        if not agent[5] or not agent[4] or action not in STEPS:
            continue
        step = STEPS[action]
        bomb = (agent[0] + step[0], agent[1] + step[1])
        target = (bomb[0] + step[0], bomb[1] + step[1])
        is_free = all(0 <= x < n for x in target) and board[target] == 0 and target not in wanted
        others = [a for a in old["agents"].tolist() if a is not agent and (a[0], a[1]) == bomb and a[5]]
        if bomb in standing and is_free and not others and moved[:2] == agent[:2]:
            return True
    return False


def add_to_rust(rust: bytearray, states: list[Any], actions: list[list[int]]) -> None:
    """Appends a game for the tests of the Rust crate: first record, actions, last record, each with its length."""
    joint = bytes(action for row in actions for action in [*row, 0, 0][:4])
    for part in (states[0].pack(), joint, states[-1].pack()):
        rust += struct.pack("<H", len(part)) + part


def observations() -> dict[str, Any]:
    """Returns the observations of all players in states of games on every kind of board, as one row of bytes each."""
    records, dictionaries = [], []
    for seed, env in enumerate(
        ["PommeFFACompetition-v0", "PommeTeamCompetition-v0", "PommeRadioCompetition-v2", "OneVsOne-v0"]
    ):
        rules = native.Rules(env)
        players = [native.Player("simple", seed + player) for player in range(rules.num_players)]
        state = native.State.initial(rules, seed, False)
        while not state.is_over and state.ply < 120:
            state = state.step([agent.choose(state, player) for player, agent in enumerate(players)])[0]
            if state.ply % 9 == 0:
                records.append(np.frombuffer(state.pack(), np.uint8))
                seen = [observe(state, player) for player in range(rules.num_players)]
                maps = [value.ravel() for each in seen for value in each.values() if isinstance(value, np.ndarray)]
                dictionaries.append(np.concatenate(maps).astype(np.uint8))
    return {
        "meta": {"schema": "moemcts-pommerman-observations"},
        "record": np.concatenate(records),
        "record_off": np.cumsum([0, *map(len, records)]),
        "maps": np.concatenate(dictionaries),
        "map_off": np.cumsum([0, *map(len, dictionaries)]),
    }


def decisions() -> dict[str, Any]:
    """Returns SimpleAgent decisions with their exact distributions, as `pommerman-simpleagent-v1`."""
    names = ("board", "bomb_blast_strength", "position", "ammo", "blast_strength", "enemies")
    rows: dict[str, list[Any]] = {name: [] for name in (*names, "prev_direction", "recent", "recent_len")}
    rng = np.random.default_rng(5)
    rules = native.Rules("PommeTeamCompetition-v0")
    for seed in range(3):
        players = [native.Player("simple", seed + player) for player in range(4)]
        state = native.State.initial(rules, seed, False)
        while not state.is_over:
            for player in state.living:
                if rng.random() < 0.12:
                    seen = state.observed(player)
                    position = np.array(seen["position"])
                    length = int(rng.integers(7))
                    rows["board"].append(seen["board"])
                    rows["bomb_blast_strength"].append(seen["bomb_blast_strength"])
                    rows["position"].append(position.astype(np.int8))
                    rows["ammo"].append(np.int8(seen["ammo"]))
                    rows["blast_strength"].append(np.int8(seen["blast_strength"]))
                    rows["enemies"].append(np.array((seen["enemies"] + [0, 0, 0])[:3], np.uint8))
                    rows["prev_direction"].append(np.int8(rng.choice([-1, 1, 2, 3, 4])))
                    rows["recent"].append(np.clip(position + rng.integers(-1, 2, (6, 2)), 0, 10).astype(np.int8))
                    rows["recent_len"].append(np.int8(length))
            state = state.step([agent.choose(state, player) for player, agent in enumerate(players)])[0]
    arrays: dict[str, Any] = {name: np.stack(values) for name, values in rows.items()}
    outcomes = native.decisions(arrays)
    flat = [row for outcome in outcomes for row in outcome]
    return arrays | {
        "out_key": np.array([row[:3] for row in flat], np.int8),
        "out_prob": np.array([row[3] for row in flat]),
        "out_off": np.cumsum([0, *map(len, outcomes)]).astype(np.int32),
        "meta": {"schema": "pommerman-simpleagent-v1"},
    }


if __name__ == "__main__":
    main()

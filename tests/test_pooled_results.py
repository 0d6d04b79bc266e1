"""Self-plays and rows that scripts of the benchmarks join are alike in all but their seeds, and say what was run."""

from __future__ import annotations

import json
import math
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from matches_for_tests import ended

from moemcts.arena.rating import elo_of_score

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
sys.path.insert(0, str(Path(__file__).parent / "games" / "chess"))
SIDES = (("first", "second"), ("second", "first"))
"""Of the first game on an opening, and the second."""


@pytest.fixture
def selfplays(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Has self-plays made at once, of experts of random weights; returns the commands that were called."""
    import selfplay_schemes
    from trained_for_tests import save_team

    called: list[list[str]] = []

    def run(command: list[str], **options: object) -> None:
        called.append(command[4:])
        if "--resume" in command:
            folder = Path(command[command.index("--resume") + 1])
            (folder / "done.json").write_text("{}")
            return
        said = dict(zip(command[4::2], command[5::2], strict=True))
        folder, seed = Path(said["--out"]), int(said["--seed"])
        team = folder / "generations" / "0001"
        is_single = "--gate" not in said
        save_team(team / "experts", gate=said.get("--gate", "none"), seed=10 * seed + is_single)
        (team / "played.json").write_text('{"samples": 100}')
        config = 'generations = 1\nnetwork = "tiny"\n[games]\ngames = 8\n'
        (folder / "config.toml").write_text(f'game = "{said["--game"]}"\n{config}')
        (folder / "env.json").write_text(json.dumps({"command": ["moemcts", *command[3:]]}))
        # One is broken off.
        if seed == 0:
            (folder / "done.json").write_text("{}")

    monkeypatch.setattr(selfplay_schemes, "subprocess", types.SimpleNamespace(run=run))
    return called


def test_self_play_by_schemes_goes_on_with_the_settings_that_it_was_begun_with(
    selfplays: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    import selfplay_schemes

    gate = "plies?cuts=3,6"
    (tmp_path / "four.toml").write_text("[games]\ngames = 8\n")
    words = [str(tmp_path / "out"), "--game", "tictactoe", "--config", str(tmp_path / "four.toml"), "--seeds", "2"]
    words += ["--games", "4", "--simulations", "4"]
    arms = ["--gate", gate, "--arms", "single", "separated"]

    def call(*more: str) -> str:
        monkeypatch.setattr(sys, "argv", ["selfplay_schemes.py", *words, *more])
        selfplay_schemes.main()
        return capsys.readouterr().out

    first = call(*arms)
    assert first.startswith("tictactoe, separated over single, from random weights ")
    assert len(selfplays) == 4
    assert call(*arms) == first
    assert selfplays[4:] == [["--resume", str(tmp_path / "out" / f"{arm}-1")] for arm in ("single", "separated")]
    games = [(tmp_path / "out" / f"match-separated-{seed}-4-4.jsonl").read_text().splitlines() for seed in (0, 1)]
    boards = [{json.loads(line)["start_key"] for line in lines[1:]} for lines in games]
    assert not boards[0] & boards[1]

    def refused(told: str, *more: str) -> None:
        with pytest.raises(SystemExit, match=told) as error:
            call(*arms, *more)
        assert "\n" not in str(error.value)

    others = [
        ("game was 'tictactoe' and is 'connect-four'", "--game", "connect-four"),
        ("separated-0 was begun with other settings: gate was 'plies.cuts=3,6' and is 'none'", "--gate", "none"),
        ("single-0 was begun with other settings: generations was None and is 99", "--set", "generations=99"),
    ]
    for told, *more in others:
        refused(told, *more)
    # As self-play that was begun before its settings were written down.
    for path in (tmp_path / "out").glob("*-?.json"):
        path.unlink()
    assert call(*arms) == first
    for told, *more in others:
        refused(told, *more)
    assert len(selfplays) == 6
    new = [str(tmp_path / "new"), "--game", "tictactoe", "--config", str(tmp_path / "four.toml"), "--gate", gate]
    monkeypatch.setattr(sys, "argv", ["selfplay_schemes.py", *new, "--seeds", "1", "--games", "2", "--arms", "single"])
    selfplay_schemes.main()
    (tmp_path / "four.toml").write_text("[games]\ngames = 9\n")
    with pytest.raises(SystemExit, match=r"games\.games was 8 and is 9"):
        selfplay_schemes.main()


def test_self_play_by_schemes_is_recorded_as_it_was_run(
    selfplays: list[list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import selfplay_schemes
    from measuring import record

    monkeypatch.setattr(record, "RESULTS", tmp_path)
    words = [str(tmp_path / "out"), "--game", "tictactoe", "--seeds", "2", "--games", "4", "--simulations", "4"]
    words += ["--arms", "single", "separated", "wide", "--gate", "plies?cuts=3,6", "--against", "random", "--record"]
    words += ["--variant", "wide search.simulations=34 games.full_share=1", "--set", "search.temperature=0.5"]
    monkeypatch.setattr(sys, "argv", ["selfplay_schemes.py", *words])
    selfplay_schemes.main()
    separated, wide = map(json.loads, (tmp_path / "selfplay_schemes.jsonl").read_text().splitlines())
    assert (separated["gate"], separated["against"], separated["seeds"]) == ("plies?cuts=3,6", "random", 2)
    assert (wide["settings"], wide["samples"]) == (
        ["search.simulations=34", "games.full_share=1"],
        {"wide": 100, "single": 100},
    )
    assert separated["shared"] == wide["shared"] == ["search.temperature=0.5"]
    assert separated["unit"] == "points of games won"
    assert [sum(counts) for counts in separated["counts"]] == [4, 4]
    files = [tmp_path / "out" / f"match-separated-{seed}-4-4-random.jsonl" for seed in (0, 1)]
    boards = [{json.loads(line)["start_key"] for line in path.read_text().splitlines()[1:]} for path in files]
    assert not boards[0] & boards[1]


def test_seeds_of_self_play_that_agree_have_the_interval_of_their_games() -> None:
    from selfplay_schemes import compared

    won = [(one, -one) if i % 2 == 0 else (-one, one) for i, one in enumerate([1.0, 1.0, 1.0, -1.0] * 5)]
    row = compared("mine", [ended(SIDES, won)] * 12)
    assert (row["unit"], row["value"], row["games"], row["counts"]) == ("Elo", 190.8, 240, [[15, 0, 5]] * 12)
    assert row["by seed"] == [190.8] * 12
    # Ten openings of each seed with 1 or 0.5: a deviation of 0.2635, of their mean 0.0833; Student's t of eleven
    # degrees over twelve seeds.
    low, high = (0.75 + sign * 2.201 * 0.0833 / math.sqrt(12) for sign in (-1, 1))
    assert row["interval"] == [pytest.approx(elo_of_score(end), abs=0.2) for end in (low, high)]


def test_runs_that_differ_in_their_seeds_are_pooled() -> None:
    from pooled_seeds import key_of, pooled

    def run(label: str, seed: int, *means: float, **more: object) -> dict[tuple[str, str, str], Any]:
        row = {"game": "pommerman", "kind": "searched", "scheme": "separated", "network": "tiny", "label": label}
        row |= {"simulations": 50, "rollout_plies": 0, "samples": 1000, "seed": seed, "training_seeds": len(means)}
        row |= {"games": 10 * len(means), "wins": 6 * len(means), "ties": len(means), "losses": 3 * len(means)}
        row |= {"unit": "share of games won", "run_command": f"run --seed {seed}", **more}
        found = {"wins": 0.0, "interval": [], "num_pairs": row["games"], "seed_means": list(means)}
        found |= {"own_variance": 1e-4 / len(means)}
        arms = {"single": None, "steps": found, "only": found} if label == "a" else {"single": None, "steps": found}
        rows = [{**row, "arm": arm, "difference": one} for arm, one in arms.items()]
        rows.append({**rows[-1], "arm": "steps", "over": "larger"})
        return {key_of(row): row for row in rows}

    single, steps, pair = pooled([run("a", 0, 0.1, 0.0, 0.2), run("b", 3, 0.1)], "both")
    assert (pair["name"], pair["over"]) == ("pommerman, steps over larger, searched, both", "larger")
    assert "over" not in steps
    assert single["difference"] is None
    assert steps["name"] == "pommerman, steps, searched, both"
    assert (steps["games"], steps["wins"], steps["training_seeds"], steps["seeds"]) == (40, 24, 4, [0, 1, 2, 3])
    assert steps["difference"]["seed_means"] == [0.1, 0.0, 0.2, 0.1]
    # A deviation of 0.0816 over four, Student's t of three degrees.
    assert steps["difference"]["interval"] == pytest.approx([0.1 - 0.1299, 0.1 + 0.1299], abs=1e-4)
    # Three that are not zero: of eight ways to set their signs, two have so large a sum.
    assert steps["difference"]["p_value"] == 0.25
    with pytest.raises(ValueError, match=r"different training seeds, got \[0, 1, 2, 2\]"):
        pooled([run("a", 0, 0.1, 0.0, 0.2), run("b", 2, 0.1)], "both")
    with pytest.raises(ValueError, match="one samples, got 1000, 2000"):
        pooled([run("a", 0, 0.1), run("b", 2, 0.1, samples=2000)], "both")


def test_a_pool_of_runs_is_as_wide_as_their_games() -> None:
    from pooled_seeds import key_of, pooled

    from moemcts.arena.intervals import seed_interval

    pairs = [[1.0] * (50 + more) + [-1.0] * (49 - more) + [0.0] for more in range(6)]
    row = {"game": "pommerman", "kind": "searched", "scheme": "separated", "network": "tiny", "simulations": 50}
    row |= {"rollout_plies": 0, "samples": 1000, "training_seeds": 3, "games": 300, "ties": 0}
    row |= {"unit": "share of games won", "run_command": "run", "wins": 156, "losses": 144}

    def run(label: str, seed: int, *left_out: str) -> dict[tuple[str, str, str], Any]:
        """Returns the rows of a run of three seeds, of which all three differ by less than their games allow."""
        found = seed_interval(pairs[seed : seed + 3])
        difference = {"wins": found.mean, "interval": list(found.interval), "own_variance": found.own_variance}
        difference |= {"num_pairs": 300, "seed_means": list(found.seed_means), "p_value": found.p_value}
        kept = {key: value for key, value in difference.items() if key not in left_out}
        arms = {"single": None, "steps": kept}
        rows = [{**row, "label": label, "seed": seed, "arm": arm, "difference": one} for arm, one in arms.items()]
        return {key_of(one): one for one in rows}

    whole = seed_interval(pairs)
    assert whole.high - whole.low > 0.2
    # An earlier row does not say what its games allow; its interval is made of that here.
    for left_out in ((), ("own_variance",)):
        _, steps = pooled([run("a", 0, *left_out), run("b", 3, *left_out)], "both")
        assert steps["difference"]["interval"] == pytest.approx(whole.interval, abs=1e-9)
        assert steps["difference"]["own_variance"] == pytest.approx(whole.own_variance)


def test_runs_that_differ_in_more_than_their_seeds_are_not_pooled(monkeypatch: pytest.MonkeyPatch) -> None:
    import pooled_seeds

    row = {"game": "pommerman", "kind": "searched", "scheme": "separated", "network": "tiny", "arm": "steps"}
    row |= {"simulations": 50, "rollout_plies": 0, "samples": 1000, "unit": "share of games won", "difference": None}
    row |= {"games": 10, "wins": 6, "ties": 1, "losses": 3, "training_seeds": 1}

    def run(seed: int, command: str, **more: object) -> dict[str, Any]:
        return {**row, "seed": seed, "name": f"run {seed}", "label": str(seed), "run_command": command, **more}

    def tell(*rows: dict[str, Any]) -> None:
        monkeypatch.setattr(pooled_seeds, "latest", lambda table: {each["name"]: each for each in rows})
        labels = [word for each in rows for word in ("--run", each["label"])]
        monkeypatch.setattr(sys, "argv", ["pooled_seeds.py", *labels, "--label", "both"])
        pooled_seeds.main()

    base = "moemcts run --game pommerman --gate steps --preset laptop"
    first = run(0, f"{base} --set workers=2")
    # Only how many, how quickly, and which further arms.
    other = f"{base} --gate mixedness --single-network wide --seed 5 --set match.games=160 --set training.compile=auto"
    tell(first, run(5, other))
    for command, told in (
        (f"{base} --set match.field=random", "one match.field, got none, random"),
        (f"{base} --set training.epochs=9", "one training.epochs, got none, 9"),
        (f"{base} --set match.openings=OPENINGS", "one match.openings, got none, OPENINGS"),
        (f"{base} --network wide --network tiny", "one first network, got , wide"),
        (base.replace("laptop", "paper"), "one preset, got laptop, paper"),
    ):
        with pytest.raises(SystemExit, match=f"expected runs with {told}"):
            tell(first, run(5, command))
    with pytest.raises(SystemExit, match="expected rows that say rollout_plies, got 'run 5' without"):
        tell(first, {key: value for key, value in run(5, base).items() if key != "rollout_plies"})
    with pytest.raises(SystemExit, match="expected runs, got '5', which is pooled of others already"):
        tell(first, run(5, base, pooled=["a", "b"]))
    # By several schemes arms are not named by their gate.
    schemes = "--scheme separated --scheme staged"
    with pytest.raises(SystemExit, match="one gate, got steps, mixedness"):
        tell(run(0, f"{base} {schemes}"), run(5, f"{base} {schemes}".replace("steps", "mixedness")))


def test_recorded_pools_are_those_of_the_recorded_runs() -> None:
    import pooled_seeds
    from measuring.record import latest

    known = latest("strength").values()
    pools = {(row["label"], *row["pooled"]) for row in known if "pooled" in row}
    assert pools
    for label, *labels in pools:
        recorded = {row["name"]: row for row in known if row.get("label") == label}
        runs = [{pooled_seeds.key_of(row): row for row in known if row.get("label") == one} for one in labels]
        found = {str(row["name"]): row for row in pooled_seeds.pooled(runs, label)}
        assert found.keys() == recorded.keys()
        for name, row in found.items():
            for key in ("value", "games", "seeds", "run_command"):
                assert row[key] == recorded[name][key]
            if (difference := row["difference"]) is not None:
                before = recorded[name]["difference"]
                (low, high), (known_low, known_high) = difference["interval"], before["interval"]
                # Rows that do not say what their games allow were recorded before these counted.
                assert "own_variance" not in before or (low, high) == pytest.approx((known_low, known_high))
                assert low <= known_low + 1e-9
                assert high >= known_high - 1e-9


def test_comparisons_that_differ_in_their_seeds_are_pooled() -> None:
    from pooled_comparisons import group_by_set, pooled
    from results_page.chess import elo_range

    def part(seed: int, elos: list[float], loss: float, counts: tuple[int, ...], **more: object) -> list[Any]:
        seeds = f"seeds {seed} to {seed + len(elos) - 1}" if len(elos) > 1 else f"seed {seed}"
        row = {"seed": seed, "seeds": len(elos), "command": f"compare --seeds {len(elos)} --seed {seed}", **more}
        games = dict(zip(("wins", "draws", "losses"), counts, strict=True)) | {"games": sum(counts)}
        match = {"name": f"chess, staged, searched, {seeds}", "kind": "searched", "elo_by_seed": elos, **games}
        means = {"value": loss, "policy": loss, "value_loss": loss, "accuracy": loss}
        return [{**row, **match, "error": 9.0}, {**row, "name": f"chess, {seeds}", "kind": "loss", **means}]

    two = part(0, [0.0, 60.0], 1.0, (234, 400, 166))
    rows = [*part(2, [120.0], 4.0, (166, 200, 34)), *two]
    rows += part(9, [1.0], 1.0, (1, 2, 1), command="another --seed 9")
    (together,) = group_by_set(rows)
    match, loss = pooled(together)
    assert (match["name"], match["seed"], match["seeds"]) == ("chess, staged, searched, seeds 0 to 2", 0, 3)
    assert (match["games"], match["wins"], match["elo_by_seed"]) == (1200, 400, [0.0, 60.0, 120.0])
    assert match["pooled"] == ["compare --seeds 2 --seed 0", "compare --seeds 1 --seed 2"]
    assert "error" not in match
    # Scores of 0.5, 0.5855 and 0.665: a deviation of 0.0825 over three, Student's t of two degrees.
    assert match["score_interval"] == pytest.approx([0.5835 - 0.2050, 0.5835 + 0.2050], abs=1e-3)
    assert elo_range(match).difference == pytest.approx(58.6, abs=0.2)
    # Scores of a game vary by 0.1232, 0.1232 and 0.0978: the mean of 1200 by 0.0098, 1.96 times.
    assert match["own_score_interval"] == pytest.approx([0.5835 - 0.0192, 0.5835 + 0.0192], abs=1e-3)
    assert (loss["name"], loss["value"]) == ("chess, seeds 0 to 2", 2.0)
    with pytest.raises(ValueError, match="follow on one another, got 4 after 1"):
        group_by_set([*two, *part(4, [1.0], 1.0, (1, 2, 1))])
    # All games of the second seed were won: its Elo is a bound.
    (together,) = group_by_set([*part(0, [0.0, 60.0], 1.0, (600, 200, 0)), *part(2, [120.0], 4.0, (166, 200, 34))])
    with pytest.raises(ValueError, match=r"a mean score of 0\.543, of its games 0\.875; record it anew"):
        pooled(together)
    together = [{**row, "scores_by_seed": [0.75, 1.0]} if row["seeds"] == 2 else row for row in together]
    assert pooled(together)[0]["score"] == pytest.approx((0.75 + 1 + 0.665) / 3)


@pytest.mark.parametrize(("counts", "score"), [((0, 20, 0), 0.5), ((20, 0, 0), 1.0)])
def test_seeds_whose_games_all_agree_leave_doubt(counts: tuple[int, int, int], score: float) -> None:
    from pooled_comparisons import pooled

    from moemcts.arena.intervals import seed_interval

    won, drawn, lost = counts
    row = {"kind": "searched", "seeds": 1, "games": 20, "wins": won, "draws": drawn, "losses": lost}
    rows = [
        {**row, "name": f"chess, seed {seed}", "seed": seed, "command": f"{seed}", "elo_by_seed": [190.8 * score]}
        for seed in range(3)
    ]
    (match,) = pooled(rows)
    assert match["score"] == score
    openings = [[number // 2 for number in range(20)]] * 3
    expected = seed_interval([[score] * 20] * 3, openings, bounds=(0.0, 1.0))
    assert match["score_interval"] == pytest.approx(expected.interval)
    assert match["score_interval"][1] - match["score_interval"][0] > 0.1


def test_recorded_pools_of_comparisons_are_those_of_the_recorded_ones() -> None:
    from measuring.record import latest
    from pooled_comparisons import group_by_set, pooled

    known = latest("chess")
    found = {str(row["name"]): row for rows in group_by_set(list(known.values())) for row in pooled(rows)}
    recorded = {name: row for name, row in known.items() if "pooled" in row}
    assert recorded
    for name in recorded.keys() & found.keys():
        row, before = found[name], recorded[name]
        assert (row["value"], row["pooled"]) == (before["value"], before["pooled"])
        if row["kind"] != "loss":
            # The Elo by seed, which the score of these was made of, has one digit.
            assert row["score_interval"] == pytest.approx(before["score_interval"], abs=1e-4)


def test_duels_of_several_trainings_are_pooled() -> None:
    from pooled_duels import group_by_set, pooled

    def duel(seed: int, elos: list[float], counts: list[int], more: str = "", **others: object) -> dict[str, Any]:
        command = f"python benchmarks/expert_duels.py mine{more} --experts EXPERTS --first leaves=8 --seed {seed}"
        row = {"name": f"mine{more}", "seed": seed, "by training": elos, "counts": counts, "games": sum(counts)}
        row |= {"unit": "Elo", "duplicates": 1, "simulations": 100, "command": f"{command} --record"}
        return row | others

    two, third = duel(7, [0.0, 70.4], [90, 40, 70]), duel(9, [-70.4], [35, 10, 55], ", seed 32")
    (together,) = group_by_set([third, two, duel(1, [0.0], [1, 0, 1], "s")])
    row = pooled(together)
    assert (row["name"], row["seed"], row["pooled"]) == ("mine, 3 trainings", 7, ["mine", "mine, seed 32"])
    assert (row["counts"], row["games"], row["duplicates"]) == ([125, 50, 125], 300, 2)
    assert row["by training"] == [0.0, 70.4, -70.4]
    # 0.5, 0.6 and 0.4: a deviation of 0.1 over three, Student's t of two degrees.
    margin = 4.303 * 0.1 / math.sqrt(3)
    assert row["interval"] == [pytest.approx(elo_of_score(0.5 + sign * margin), abs=0.5) for sign in (-1, 1)]
    assert group_by_set([row | {"command": "pool"}, two]) == []
    with pytest.raises(ValueError, match="expected openings from 9 on, got 10 in 'mine, seed 32'"):
        group_by_set([two, third | {"seed": 10}])
    with pytest.raises(ValueError, match="expected duels that were played alike, got others of 'mine'"):
        group_by_set([two, third | {"command": third["command"].replace("leaves=8", "leaves=1")}])


def test_duels_of_trainings_of_any_length_are_joined_where_they_were_played_alike() -> None:
    from pooled_duels import OF_ANY_LENGTH, of_any_length, pooled

    ((name, (longer, shorter)),) = OF_ANY_LENGTH.items()

    def duel(of: str, seed: int, elo: float, score: float, simulations: int = 400) -> dict[str, Any]:
        row = {"name": f"{of}, seed {seed}", "seed": seed, "by training": [elo], "counts": [round(200 * score), 0, 100]}
        row |= {"games": 200, "unit": "Elo", "duplicates": 0, "simulations": simulations}
        return row | {"scores by training": [score], "command": "python expert_duels.py mine --first leaves=8"}

    rows = [duel(shorter, 9, 0.0, 0.5), duel(longer, 7, 70.4, 0.6), duel(longer, 8, -70.4, 0.4)]
    assert of_any_length(rows[1:]) == {}
    row = pooled(of_any_length(rows)[name], name)
    assert (row["name"], row["by training"]) == (f"{name}, 3 trainings", [70.4, -70.4, 0.0])
    with pytest.raises(ValueError, match="expected duels that were played alike"):
        of_any_length([*rows, duel(shorter, 10, 0.0, 0.5, simulations=100)])


def test_recorded_pools_of_duels_are_those_of_the_recorded_ones() -> None:
    from measuring.record import latest
    from pooled_duels import OF_ANY_LENGTH, group_by_set, of_any_length, pooled

    known = latest("duels")
    recorded = [row for row in known.values() if "pooled" in row]
    assert recorded
    for row in recorded:
        duels = [known[name] for name in row["pooled"]]
        name = next((one for one in OF_ANY_LENGTH if row["name"].startswith(one)), "")
        (parts,) = [of_any_length(duels)[name]] if name else group_by_set(duels)
        for key, value in pooled(parts, name).items():
            is_rounded = key in ("own variance", "scores by training")
            assert row[key] == (pytest.approx(value, rel=1e-9) if is_rounded else value), key


def test_self_play_by_schemes_goes_on_with_more_seeds(
    selfplays: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    import selfplay_schemes

    words = [str(tmp_path), "--game", "tictactoe", "--gate", "plies?cuts=3,6", "--arms", "single", "staged"]
    words += ["--games", "4", "--simulations", "4"]
    for first, count in [(3, 1), (4, 1), (3, 2)]:
        line = ["selfplay_schemes.py", *words, "--seed", str(first), "--seeds", str(count)]
        monkeypatch.setattr(sys, "argv", line)
        selfplay_schemes.main()
    assert sorted(path.name for path in tmp_path.glob("*-[0-9]")) == ["single-3", "single-4", "staged-3", "staged-4"]
    # The seeds of the last are those of the others: nothing was made anew.
    assert sum("--resume" not in command for command in selfplays) == 4
    *_, line = capsys.readouterr().out.splitlines()
    by_seed = line[line.rindex("[") :]
    assert by_seed.count(",") == 1


def test_self_play_of_other_seeds_is_joined() -> None:
    from pooled_selfplay import group_by_set, pooled

    def row(seed: int, *scores: float, **more: object) -> dict[str, Any]:
        head = {"name": f"hex, staged over single, seeds from {seed}, from random weights", "unit": "Elo", "seed": seed}
        counts = [[round(20 * score), 0, 20 - round(20 * score)] for score in scores]
        found = {"by seed": [elo_of_score(score) for score in scores], "scores by training": list(scores)}
        found |= {"counts": counts, "own variance": 1e-4 / len(scores), "seeds": len(scores), "games": 20 * len(scores)}
        return {**head, **found, "samples": {"staged": 10 * seed, "single": 5}, "generations": 3, **more}

    rows = [row(3, 0.5, 0.6), row(1, 0.4, 0.5), row(9, 0.5, generations=4), row(5, 0.5, name="go, staged over single")]
    ((first, second),) = group_by_set(rows)
    found = pooled([first, second])
    assert found["name"] == "hex, staged over single, 4 trainings, from random weights"
    assert found["by seed"] == [*first["by seed"], *second["by seed"]]
    assert (found["value"], found["games"], found["seed"], found["seeds"]) == (0.0, 80, 1, 4)
    assert found["samples"] == {"staged": 20, "single": 5}
    # A deviation of 0.0816 over the root of four, Student's t of three degrees.
    assert found["interval"] == [pytest.approx(elo_of_score(0.5 + sign * 0.1299), abs=0.2) for sign in (-1, 1)]
    with pytest.raises(ValueError, match=r"expected every seed once, got \[1, 2, 2\]"):
        group_by_set([row(1, 0.4, 0.5), row(2, 0.5)])

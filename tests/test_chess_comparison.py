"""The comparison of experts in chess trains, plays, and says in rows what came out; so does that of sizes."""

from __future__ import annotations

import json
import subprocess
import sys
import types
from pathlib import Path

import pytest
from trained_for_tests import save_team

from moemcts.plugins import plugins
from moemcts.runs import Experiment
from moemcts.runs.experiment.growth import extend_experiment, save_extension
from moemcts.work.progress import NoProgress

ROOT = Path(__file__).parent
sys.path[:0] = [str(ROOT.parent / "benchmarks"), str(ROOT / "games" / "chess")]
NETWORK = "resnet?channels=4&blocks=1&value_channels=1&value_hidden=4"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from chess_oracle import random_pgn

    from moemcts_chess.imports import RandomSplit, import_pgn

    folder = tmp_path_factory.mktemp("games")
    (folder / "games.pgn").write_text(random_pgn(20, plies=250))
    split = RandomSplit(validation=0.2, test=0.2, seed=0)
    import_pgn([folder / "games.pgn"], plugins().game("chess"), folder / "data", reference="chess", split=split)
    return folder / "data"


def called(script: str, monkeypatch: pytest.MonkeyPatch, *words: object) -> None:
    monkeypatch.setattr(sys, "argv", [f"{script}.py", *map(str, words)])
    __import__(script).main()


def test_a_network_alone_has_a_row_and_a_table_of_its_own(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import chess_comparison
    from measuring import record
    from results_page import chess

    monkeypatch.setattr(chess_comparison, "num_cores", lambda: 1)
    monkeypatch.setattr(record, "RESULTS", tmp_path / "results")
    for game, seed in (("chess", 3), ("chess", 4), ("chess?planes=attacks", 3)):
        words = ["--samples", 600, "--seeds", 1, "--seed", seed, "--gate", "none", "--network", NETWORK, "--game", game]
        words += ["--games", 2, "--device", "cpu", "--record"]
        called("chess_comparison", monkeypatch, data, tmp_path / f"{game}-{seed}", *words)
    assert not (tmp_path / "results" / "chess.jsonl").exists()
    rows = [json.loads(line) for line in (tmp_path / "results" / "chess_alone.jsonl").read_text().splitlines()]
    assert [row["name"] for row in rows] == [
        "chess, one network alone, 600 positions, seed 3",
        "chess, one network alone, 600 positions, seed 4",
        "chess?planes=attacks, one network alone, 600 positions, seed 3",
    ]
    first, second, other = (f"{row['value']:.4f}" for row in rows)
    *_, one, two = chess._alone(rows).splitlines()
    assert one.endswith(f"| {first}, {second} |")
    assert two.startswith("| `chess?planes=attacks`, `resnet?channels=4")
    assert two.endswith(f"| {other} |")


def test_networks_are_called_by_their_size_or_name() -> None:
    from results_page.chess import size_of

    assert size_of(NETWORK) == "1 x 4"
    assert size_of("rise-v3.3?policy_planes=76") == "rise-v3.3"


def test_a_comparison_has_a_row_per_phase_and_match_and_goes_on(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import chess_comparison
    from measuring import record
    from results_page.chess import comparison_cells

    monkeypatch.setattr(chess_comparison, "num_cores", lambda: 1)
    monkeypatch.setattr(record, "RESULTS", tmp_path / "results")
    words = ["--samples", 600, "--seeds", 2, "--seed", 3, "--scheme", "separated", "--network", NETWORK]
    words += ["--games", 2, "--simulations", 4, "--device", "cpu", "--value-weight", 0.2, "--record"]
    for _ in range(2):
        called("chess_comparison", monkeypatch, data, tmp_path / "run", *words)
    # What was recorded is not repeated.
    rows = [json.loads(line) for line in (tmp_path / "results" / "chess.jsonl").read_text().splitlines()]
    # One network, three experts and their mixture, in three phases and all; a match with search and one without.
    assert len(rows) == 5 * 4 + 2
    assert {row["kind"] for row in rows} == {"loss", "searched", "raw"}
    for row in rows:
        assert row["command"].startswith("python chess_comparison.py DATA OUT --samples 600")
        assert (row["seed"], row["seeds"], row["samples_per_pass"], row["value_weight"]) == (3, 2, 600, 0.2)
        if row["kind"] == "loss":
            assert row["value"] == pytest.approx(0.99 * row["policy"] + 0.01 * row["value_loss"], abs=1e-3)
        else:
            assert row["games"] == (4 if row["kind"] == "searched" else 16)
            assert len(row["elo_by_seed"]) == 2
    cells = comparison_cells(rows)
    assert list(cells) == ["single", "separated"]
    assert cells["separated"]["searched"].endswith("(4)")
    assert "1.2897" in capsys.readouterr().out


def test_rows_of_other_planes_name_them(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import chess_comparison
    from measuring import record

    monkeypatch.setattr(chess_comparison, "num_cores", lambda: 1)
    monkeypatch.setattr(record, "RESULTS", tmp_path / "results")
    words = ["--game", "chess?planes=attacks", "--samples", 300, "--seeds", 1, "--scheme", "separated"]
    words += ["--network", NETWORK, "--games", 2, "--simulations", 2, "--device", "cpu", "--record"]
    called("chess_comparison", monkeypatch, data, tmp_path / "run", *words)
    rows = [json.loads(line) for line in (tmp_path / "results" / "chess.jsonl").read_text().splitlines()]
    assert {row["game"] for row in rows} == {"chess?planes=attacks"}
    assert all(row["name"].startswith("chess?planes=attacks, separated, ") for row in rows)


def test_a_comparison_goes_on_with_the_settings_that_it_was_begun_with(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import chess_comparison
    from measuring import record

    class BrokenOff(Exception):
        pass

    def finish(experiment: object, progress: object) -> None:
        raise BrokenOff

    monkeypatch.setattr(record, "RESULTS", tmp_path)
    monkeypatch.setattr(chess_comparison, "finish", finish)
    monkeypatch.setattr(chess_comparison, "training_rate", lambda config, folder: 100.0)
    words = ["--seeds", 1, "--scheme", "separated", "--network", NETWORK, "--device", "cpu"]
    sizes = {"timed": ["--minutes", 0.1], "counted": ["--samples", 600]}
    for name, size in sizes.items():
        for cores in (1, 4):
            # On another machine too.
            monkeypatch.setattr(chess_comparison, "num_cores", lambda cores=cores: cores)
            with pytest.raises(BrokenOff):
                called("chess_comparison", monkeypatch, data, tmp_path / name, *size, *words)
        # Its device too is that which it was begun with.
        with monkeypatch.context() as other:
            other.setattr(chess_comparison.torch.cuda, "is_available", lambda: True)
            with pytest.raises(BrokenOff):
                called("chess_comparison", monkeypatch, data, tmp_path / name, *size, *words[:-2])
    config = (tmp_path / "counted" / "config.toml").read_bytes()
    for name, told, more in (
        ("counted", "search.simulations was 100 and is 4", ["--simulations", 4]),
        ("counted", "match.games was 100 and is 50; match.raw_games was 400 and is 200", ["--games", 50]),
        ("counted", "num_seeds was 1 and is 2", ["--seeds", 2]),
        ("counted", "network was 'resnet.*", ["--network", NETWORK.replace("channels=4", "channels=2")]),
        ("counted", "samples was 600 and is 700", ["--samples", 700]),
        ("counted", "start_samples was 0 and is 5", ["--start-samples", 5]),
        ("timed", "minutes was 0.1 and is 60.0", ["--minutes", 60]),
    ):
        with pytest.raises(SystemExit, match=f"{name} was begun with other settings: {told}; give the same ones"):
            called("chess_comparison", monkeypatch, data, tmp_path / name, *sizes[name], *words, *more)
    with pytest.raises(SystemExit, match=r"samples was 600\.0 and is None"):
        called("chess_comparison", monkeypatch, data, tmp_path / "counted", *words)
    assert (tmp_path / "counted" / "config.toml").read_bytes() == config

    # Rows say what began it, however it is called later.
    row = {"name": "mine", "kind": "raw", "arm": "separated", "value": 0.0, "games": 2}
    row |= {"wins": 1, "draws": 0, "losses": 1, "score_interval": [0.1, 0.9]}
    monkeypatch.setattr(chess_comparison, "finish", lambda *_: types.SimpleNamespace(numbers={}))
    monkeypatch.setattr(chess_comparison, "rows", lambda *_: [row])
    turned = ["--record", "--samples", 600.0, *words, data, tmp_path / "counted"]
    called("chess_comparison", monkeypatch, *turned)
    (written,) = [json.loads(line) for line in (tmp_path / "chess.jsonl").read_text().splitlines()]
    said = " ".join(["python chess_comparison.py DATA OUT --samples 600", *map(str, words), "--record"])
    assert written["command"] == said

    # Those of a run that has grown name what it has gained.
    save_extension(extend_experiment(Experiment.load(tmp_path / "counted"), schemes=["staged"]))
    with pytest.raises(SystemExit, match=r"counted was begun with other settings: schemes was .*staged"):
        called("chess_comparison", monkeypatch, *turned)
    called("chess_comparison", monkeypatch, *turned, "--scheme", "staged")
    told = [json.loads(line)["command"] for line in (tmp_path / "chess.jsonl").read_text().splitlines()]
    assert told[0] == said
    assert told[1].count("--scheme") == 2


def test_arms_of_equal_cost_have_rows_of_their_own(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One network for as long as three experts, and a smaller one, alone and as experts."""
    import chess_comparison
    from measuring import record
    from results_page.chess import comparison_cells

    monkeypatch.setattr(chess_comparison, "num_cores", lambda: 1)
    monkeypatch.setattr(record, "RESULTS", tmp_path)
    small = NETWORK.replace("channels=4", "channels=2")
    words = [
        "--samples",
        600,
        "--seeds",
        1,
        "--scheme",
        "separated",
        "--scheme",
        "single?epochs=3",
        "--network",
        NETWORK,
    ]
    words += ["--other-network", small, "--games", 2, "--simulations", 2, "--device", "cpu", "--record"]
    called("chess_comparison", monkeypatch, data, tmp_path / "run", *words)
    rows = [json.loads(line) for line in (tmp_path / "chess.jsonl").read_text().splitlines()]
    assert len({row["name"] for row in rows}) == len(rows)
    cells = comparison_cells(rows)
    others = [f"{arm} {small}&policy_planes=76" for arm in ("single", "separated", "single?epochs=3")]
    assert set(cells) == {"single", "separated", "single?epochs=3", *others}
    for arm, cell in cells.items():
        assert float(cell["all"]) > 0
        assert (cell["searched"] == "–") == (arm == "single")
    assert cells[others[0]]["opening"] == "–" != cells[others[1]]["opening"]
    channels = {row["arm"]: row["network"].partition("&")[0] for row in rows if row["kind"] == "searched"}
    assert channels == {arm: f"resnet?channels={2 if arm in others else 4}" for arm in cells if arm != "single"}


def test_a_comparison_begins_with_one_network_and_names_what_is_no_phase(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import chess_comparison
    from measuring import record
    from results_page import chess

    monkeypatch.setattr(record, "RESULTS", tmp_path)
    monkeypatch.setattr(chess_comparison, "num_cores", lambda: 1)
    start = save_team(tmp_path / "single", game="chess", gate="none")
    words = ["--samples", 600, "--seeds", 1, "--scheme", "separated", "--games", 2, "--simulations", 2]
    words += ["--gate", "lichess", "--gate", "round-robin"]
    words += ["--start", start, "--start-samples", 5000, "--device", "cpu", "--record"]
    called("chess_comparison", monkeypatch, data, tmp_path / "run", *words)
    rows = [json.loads(line) for line in (tmp_path / "chess.jsonl").read_text().splitlines()]
    assert {row["start_samples"] for row in rows} == {5000}
    assert all(str(tmp_path) not in row["command"] for row in rows)
    assert "600 positions per pass, beginning with one network that had learned from 5,000," in chess.comparison()
    summary = chess.summary()
    for arm in ("separated", "separated by round-robin"):
        assert f"| `{arm}` | 5,000, then 600 | 1 x 4 | 1 | 2 |" in summary
    assert len({row["name"] for row in rows}) == len(rows)
    assert chess_comparison.SMALL not in {row["network"] for row in rows}


def test_a_time_begins_with_a_training_and_is_that_of_one_network(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import chess_comparison

    start = tmp_path / "first"
    words = ["train", "--game", "chess", "--data", data, "--network", NETWORK, "--set", "training.epochs=0.1"]
    words += ["--set", "training.policy_weight=0.9", "--set", "training.value_weight=0.1", "--out", start]
    subprocess.run([sys.executable, "-m", "moemcts", *map(str, words)], check=True, capture_output=True)
    more = "--minutes 0.01 --seeds 1 --scheme separated --gate lichess --device cpu --games 2 --network"
    given = [data, tmp_path / "run", "--start", start, *more.split(), NETWORK]
    options = chess_comparison.parser().parse_args([str(word) for word in given])
    experiment = chess_comparison.begin(options, NoProgress())
    assert Path(experiment.config.start) == start / "experts"
    assert experiment.config.training.epochs > 0
    with pytest.raises(SystemExit):
        called("chess_comparison", monkeypatch, data, tmp_path / "other", "--single-network", "resnet-4")
    assert "expected --samples with further networks" in capsys.readouterr().err


def test_sizes_learn_for_as_long_and_are_tested_alike(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import chess_sizes
    from measuring import record

    monkeypatch.setattr(record, "RESULTS", tmp_path)
    monkeypatch.setattr(chess_sizes, "num_cores", lambda: 1)
    monkeypatch.setattr(chess_sizes, "training_rate", lambda config, folder: 3000.0)
    called("chess_sizes", monkeypatch, data, "--minutes", 0.01, "--network", NETWORK, "--record")
    (row,) = [json.loads(line) for line in (tmp_path / "chess_sizes.jsonl").read_text().splitlines()]
    network = plugins().complete_network(NETWORK, plugins().game("chess"))
    assert (row["network"], row["samples"], row["minutes"]) == (network, 1800, 0.01)
    assert row["parameters"] > 1000
    assert 0 <= row["accuracy"] <= 1
    assert network in capsys.readouterr().out


def test_gates_learn_from_as_many_positions_the_best_play_and_all_goes_on(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import chess_gates
    from measuring import record
    from measuring.trainings import trained
    from results_page.learning import chess_gates as shown

    monkeypatch.setattr(record, "RESULTS", tmp_path)
    monkeypatch.setattr(chess_gates, "num_cores", lambda: 1)
    words = ["--gate", "movecount?phases=2", "--gate", "kmeans", "--gate", "learned", "--gate", "none?epochs=3"]
    words += ["--network", NETWORK]
    words += ["--samples", 600, "--seeds", 1, "--seed", 3, "--out", tmp_path / "out", "--record"]
    words += ["--games", 2, "--simulations", 4]
    called("chess_gates", monkeypatch, data, *words)
    monkeypatch.setattr(chess_gates, "trained", None)
    called("chess_gates", monkeypatch, data, *words)
    written = [json.loads(line) for line in (tmp_path / "chess_gates.jsonl").read_text().splitlines()]
    # What was recorded is not repeated.
    gates = [(row["gate"], row["scheme"], len(row["shares"])) for row in written]
    assert gates == [
        ("none", "single", 1),
        ("movecount?phases=2", "separated", 2),
        ("kmeans", "separated", 3),
        ("learned", "mixture", 3),
        ("none?epochs=3", "single?epochs=3", 1),
    ]
    assert len({row["test_samples"] for row in written}) == 1
    duels = [json.loads(line) for line in (tmp_path / "duels.jsonl").read_text().splitlines()]
    assert len(duels) == 4
    assert {row["gate"] for row in duels} == {"movecount?phases=2", "kmeans", "learned"}
    longer = [row["name"] for row in duels if "three times as long" in row["name"]]
    one = "one network trained three times as long, 600 positions, seed 3"
    assert longer == [f"chess, experts by learned against {one}"]
    assert all((row["games"], sum(row["counts"]), row["seed"]) == (2, 2, 3) for row in duels)
    assert all("--out OUT" in row["command"] for row in written)
    lines = shown().splitlines()
    assert "–" in lines[2]
    assert "separated, `kmeans`" in lines[4]
    # What was trained stays so, finished or broken off.
    for told, *more in (
        ("samples was 600 and is 2000000", "--samples", 2_000_000),
        ("network was 'resnet.*", "--network", NETWORK.replace("channels=4", "channels=2")),
        ("precision was 'float32' and is 'bf16'; give", "--precision", "bf16"),
        ("value_weight was 0.01 and is 0.2; policy_weight was 0.99 and is 0.8", "--value-weight", 0.2),
    ):
        with pytest.raises(SystemExit, match=f"none-3 was begun with other settings: {told}"):
            called("chess_gates", monkeypatch, data, *words, *more)
    for path in (tmp_path / "out").glob("*/row.json"):
        path.unlink()
    smaller = ("--network", NETWORK.replace("channels=4", "channels=2"))
    for told, *more in (("samples was 600 and is 700; epochs was", "--samples", 700), ("network was", *smaller)):
        with pytest.raises(SystemExit, match=f"none-3 was begun with other settings: {told}"):
            called("chess_gates", monkeypatch, data, *words, *more)
    for path in (tmp_path / "out").glob("*/begun.json"):
        path.unlink()
    with pytest.raises(SystemExit, match=r"none-3 was begun with other settings: epochs was .* and is"):
        called("chess_gates", monkeypatch, data, *words, "--samples", 700)
    monkeypatch.setattr(chess_gates, "trained", trained)
    with pytest.raises(SystemExit, match=r"none-3/training was begun with initial_weights .* another folder$"):
        called("chess_gates", monkeypatch, data, *words[:-5], *smaller)
    assert len((tmp_path / "chess_gates.jsonl").read_text().splitlines()) == 5


def test_deaf_experts_see_a_position_of_chess960_as_one_of_chess(tmp_path: Path) -> None:
    import torch
    from chess960_plane import write_variants
    from trained_for_tests import save_team

    from moemcts.learn.checkpoint import load_networks

    folder = save_team(tmp_path / "chess", game="chess", gate="lichess")
    chess, chess960 = (plugins().game(name) for name in ("chess", "chess960"))
    heard, deaf = (load_networks(team, chess960, plugins()) for team in write_variants(folder, tmp_path))
    state = chess960.initial_state(5)
    planes = torch.from_numpy(chess960.views([(state, 0)]).observations())
    zero = planes.clone()
    zero[:, chess960.spec.plane_names.index("is960")] = 0
    originals = load_networks(folder, chess, plugins()).networks
    for networks in zip(originals, heard.networks, deaf.networks, strict=True):
        network, hearing, deafened = (one.eval() for one in networks)
        with torch.inference_mode():
            assert torch.equal(hearing(planes).logits, network(planes).logits)
            assert torch.allclose(deafened(planes).logits, network(zero).logits, atol=1e-6)
            assert not torch.allclose(deafened(planes).logits, hearing(planes).logits, atol=1e-4)

"""Gates from the command line: fitted, shown, checked, and named where gates are named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from moemcts.learn.data.generation import generate
from moemcts.plugins import plugins

TINY = ["--preset", "smoke", "--set", "match.games=2", "--set", "match.raw_games=2", "--set", "search.simulations=4"]
TINY += ["--set", "training.epochs=1", "--set", "workers=1"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    game = plugins().game("tictactoe")
    generate(game, [plugins().agent("random", game)] * 2, 600, seed=1, out=folder, reference="tictactoe")
    return folder


def test_a_fitted_gate_is_a_gate_everywhere(moemcts, data: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    fit = ["gate", "fit", "--game", "tictactoe", "--data", data, "--phases", 2, "--out", "gates/two.safetensors"]
    code, out, _ = moemcts(*fit, "--json")
    assert code == 0
    found = json.loads(out)
    assert sum(phase["share"] for phase in found["phases"]) == pytest.approx(1)
    assert found["phases"][0]["mean_ply"] < found["phases"][1]["mean_ply"]
    assert found["phases"][0]["traits"][0][0] in ("own marks", "opponent's marks")

    code, out, _ = moemcts("check", "tictactoe", "--games", 3, "--gate", "gates/two.safetensors")
    assert code == 0
    assert "gate gates/two.safetensors\n  ok  weights are [N, K]" in out
    assert "gate kmeans\n  not checked: gate 'kmeans' has to be fitted to data first" in out
    assert "gate learned\n  ok" in out

    for name, complaint in (("nope", "no gate named 'nope'"), ("plies?cuts=9,3", "cuts"), ("gone.safetensors", "gone")):
        code, _, error = moemcts("check", "tictactoe", "--games", 1, "--gate", name)
        assert code in (1, 2)
        assert complaint in error

    show = ["gate", "show", "gates/two.safetensors", "--game", "tictactoe", "--data", data]
    code, out, _ = moemcts(*show, "--against", "gates/two.safetensors", "--json")
    assert code == 0
    shown = json.loads(out)
    assert shown["agreement"]["adjusted_rand"] == 1
    assert shown["phases"][0]["share"] == pytest.approx(found["phases"][0]["share"])
    _, out, _ = moemcts(*show, "--against", "plies")
    assert "phase 0 of plies" in out.splitlines()[0]
    # Nothing is said of a phase in which no position is.
    _, out, _ = moemcts("gate", "show", "plies?cuts=0,3", "--game", "tictactoe", "--data", data)
    assert [line.split()[-2:] for line in out.splitlines() if line.startswith("phase 0")] == [["%", "–"]]
    _, out, _ = moemcts("data", "stats", "--data", data, "--gate", "plies?cuts=0,3")
    assert [line.split()[-2:] for line in out.splitlines() if line.startswith("phase 0")] == [["%", "–"]]

    run = ["run", "--game", "tictactoe", "--gate", "gates/two.safetensors", "--set", f"data.folder={data}"]
    code, out, _ = moemcts(*run, "--out", "run", *TINY)
    assert code == 0
    # The run has a copy and goes on without the original.
    (tmp_path / "gates" / "two.safetensors").unlink()
    (tmp_path / "run" / "report" / "report.html").unlink()
    code, out, err = moemcts("run", "--resume", "run")
    assert code == 0, err
    assert (tmp_path / "run" / "report" / "report.html").exists()
    (team,) = (tmp_path / "run" / "experts").glob("gates-two*")
    assert (team / "gate.safetensors").exists()
    code, out, err = moemcts(
        "match", "--game", "tictactoe", "--agent", f"{team}?simulations=0", "--against", "random", "--games", 2
    )
    assert code == 0, err

    # The folder of a training has its experts in it.
    shutil.copytree(team, tmp_path / "training" / "experts")
    network = ["--features", "network", "--experts", "training", "--expert", 1]
    code, out, err = moemcts(*fit[:-1], "of-network.safetensors", *network)
    assert code == 0, err
    assert "feature" in out


def test_experts_and_gate_are_trained_together(moemcts, data: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    run = ["run", "--game", "tictactoe", "--gate", "learned?phases=2", "--set", f"data.folder={data}"]
    code, _, err = moemcts(*run, "--scheme", "mixture", "--out", "run", *TINY)
    assert code == 0, err
    team = tmp_path / "run" / "experts" / "learned-phases-2-0"
    for routing in ("", "&routing=each", "&routing=mixture"):
        agent = f"{team}?simulations=4{routing}"
        code, _, err = moemcts("match", "--game", "tictactoe", "--agent", agent, "--against", "random", "--games", 2)
        assert code == 0, err
    code, out, err = moemcts("gate", "show", team / "gate.safetensors", "--game", "tictactoe", "--data", data)
    assert code == 0, err
    assert "the weightiest phase weighs 0." in out


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        ("run --game tictactoe --gate kmeans", 2, "gate 'kmeans' has to be fitted to data first: moemcts gate fit"),
        ("run --game tictactoe --gate learned", 2, "gate 'learned' is trained together with its experts"),
        ("run --game tictactoe --gate plies --scheme mixture", 2, "expected --gate learned, got 'plies'"),
        (
            "run --game tictactoe --gate learned?phases=0 --scheme mixture",
            2,
            "expected phases and channels of at least 1",
        ),
        ("run --game tictactoe --gate learned --scheme mixture?balance=-1", 2, "a balance of at least 0, got"),
        ("run --game tictactoe --gate none.safetensors", 2, "expected a gate's file at none.safetensors, found"),
        ("gate fit --game tictactoe --data DATA --out gate.toml", 2, "expected a file NAME.safetensors for the gate"),
        ("gate fit --game tictactoe --data nowhere --out g.safetensors", 2, "expected a dataset in nowhere, found"),
        ("gate fit --game tictactoe --data DATA --out g.safetensors --features plane", 2, "did you mean 'planes'?"),
        (
            "gate fit --game tictactoe --data DATA --out g.safetensors --features network",
            2,
            "--experts together",
        ),
        (
            "gate fit --game tictactoe --data DATA --out g.safetensors --phases 1",
            2,
            "expected --phases of 2 or more, got 1; the gate of one phase is `none`",
        ),
        (
            "gate fit --game tictactoe --data DATA --out g.safetensors --phases 9999",
            1,
            "cannot find 9999 phases in 600",
        ),
        ("gate fit --game tictactoe --data DATA --out g.safetensors --expert 1", 2, "no effect without --experts"),
        ("gate show plie --game tictactoe --data DATA", 2, "did you mean 'plies'?"),
    ],
)
def test_mistakes_get_one_line(moemcts, data: Path, tmp_path: Path, arguments: str, code: int, line: str) -> None:  # type: ignore[no-untyped-def]
    left, _, error = moemcts(*arguments.replace("DATA", str(data)).split())
    assert left == code
    assert line in error
    assert len(error.splitlines()) == 1
    assert not list(tmp_path.iterdir())

"""`moemcts doctor`: checks what this installation can do."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moemcts.errors import MoemctsError, install_command, one_line

if TYPE_CHECKING:
    from moemcts.game import Game

EXTRAS = {
    "onnx": "fast",
    "onnxruntime": "fast",
    "openvino": "openvino",
    "pettingzoo": "pettingzoo",
    "starlette": "web",
    "huggingface_hub": "hub",
    "captum": "explain",
    "ray": "ray",
    "tensorboard": "tensorboard",
    "zensical": "docs",
}
"""Optional packages and the extra that installs each."""


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Look around")(doctor)


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for bug reports.")] = False,
) -> None:
    """Check the installation: versions, plugins, disk, speed of networks and search, and fixes for what is slow."""
    from moemcts.cli.advice import advise, read_machine_info
    from moemcts.cli.consoles import print_json

    # Gathered before anything is timed, so that the timing does not count as load.
    machine = read_machine_info()
    report, advice = examine(), advise(machine)
    if as_json:
        advice_json = [{"what": item.cause, "command": item.command} for item in advice]
        print_json({**report, "advice": advice_json})
        return
    for section, values in report.items():
        typer.echo(section)
        for name, value in values.items():
            typer.echo(f"  {name:<22} {value}")
    typer.echo("advice" if advice else "advice: none; nothing is slow that a command could fix")
    for item in advice:
        typer.echo(f"  {item.cause}\n    {item.command}")


def examine() -> dict[str, dict[str, Any]]:
    """Returns the facts about the installation, by section."""
    import importlib.metadata

    import torch

    from moemcts.hooks import format_counts
    from moemcts.plugins import plugins

    packages = ("moemcts", "torch", "numpy", "gymnasium", "safetensors", "pluggy")
    return {
        "machine": {
            "processor": _processor(),
            "python": sys.version.split()[0],
            "system": platform.platform(),
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
            "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else "none",
            "disk free": f"{shutil.disk_usage(Path.cwd()).free / 1e9:.1f} GB in {Path.cwd()}",
            "writable": _is_writable(Path.cwd()),
        },
        "packages": {name: importlib.metadata.version(name) for name in packages}
        | {name: _version_or_hint(name, extra) for name, extra in EXTRAS.items()},
        "plugins": {
            info.name: info.error or f"ok ({info.distribution} {info.version}): {format_counts(info.registers)}"
            for info in plugins().infos
        },
        "networks, positions/s of resnet on 16 x 8 x 8 with one thread; the quickest of others": _networks(),
        "search, simulations/s with a constant evaluator and one thread": {
            name: _search_speed(name) for name in plugins().games if not name.endswith(":")
        },
    }


def _networks() -> dict[str, str]:
    """Returns the backends of a small network with their speeds, then every network measured on this machine.

    Rates are positions per second with one thread, by batch size.
    """
    import torch

    from moemcts.learn.inference.choice import BATCH_SIZE, NetworkGroup, cached_measurements, choose
    from moemcts.plugins import plugins

    torch.set_num_threads(1)
    shape = (16, 8, 8)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = plugins().network("resnet", shape, 64).eval()
    choice = choose(NetworkGroup(networks=[network], observation_shape=shape))
    rates = choice.rates or {str(choice.inference): {}}
    lines = {name: _format_rates(row) for name, row in rates.items()}
    fidelities = [
        f"{name}: policy {'kept' if fidelity.keeps_policy else 'not kept'}, best move {100 * fidelity.top1:.0f} %, "
        f"divergence {fidelity.kl:.5f}, value {fidelity.value:.5f}"
        for name, fidelity in choice.fidelities.items()
    ]
    lines["auto"] = "; ".join([f"{choice.inference}, for batches of {BATCH_SIZE}", *fidelities])
    for entry in cached_measurements():
        best = {
            size: _describe_quickest(entry["rates"], size)
            for size in sorted({batch_size for row in entry["rates"].values() for batch_size in row})
        }
        lines[entry["network"]] = ", ".join(f"batch {size}: {quickest}" for size, quickest in best.items())
    return lines


def _format_rates(rates: Mapping[int, float]) -> str:
    return ", ".join(f"batch {size}: {rate:,.0f}" for size, rate in rates.items()) or "the only one installed"


def _describe_quickest(rates: Mapping[str, Mapping[int, float]], size: int) -> str:
    name = max(rates, key=lambda backend: rates[backend].get(size, 0.0))
    return f"{name} {rates[name][size]:,.0f}"


def _version_or_hint(package: str, extra: str) -> str:
    import importlib.metadata

    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return f"not installed; {install_command(extra)}"


def _processor() -> str:
    import torch

    return f"{platform.machine()}, PyTorch computes with {torch.backends.cpu.get_cpu_capability()}"


def _is_writable(folder: Path) -> str:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return "yes"
    except OSError as error:
        return f"no: {error.strerror}"


def _search_speed(name: str) -> str:
    """Returns simulations per second from a start position, with a constant evaluator and one thread, or the error."""
    from moemcts.plugins import plugins

    try:
        return f"{_simulations_per_second(plugins().game(name)):,.0f}"
    except MoemctsError as error:
        return f"error: {error}"
    except Exception as error:
        # A plugin's game may raise anything.
        return f"error: {one_line(error)}"


def _simulations_per_second(game: Game) -> float:
    from moemcts.evaluation import UniformEvaluator
    from moemcts.search import Search, SearchConfig

    state = game.initial_state(0)
    roots = game.views([(state, state.active_players[0])] * 8)
    search = Search(game, SearchConfig(simulations=200, leaves_per_tree=8))
    num_simulations, started = 0, time.perf_counter()
    while time.perf_counter() - started < 0.2:
        search.reset(roots, list(range(8)))
        num_simulations += sum(result.num_simulations for result in search.run(UniformEvaluator(game.spec)))
    return num_simulations / (time.perf_counter() - started)

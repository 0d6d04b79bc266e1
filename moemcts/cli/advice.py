"""Finds what makes an installation or a machine slow, and the command that fixes it."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from moemcts.errors import CHECKOUT, how_to_get
from moemcts.work.processor import processor

GIB = 2**30
ENOUGH_MEMORY = 2 * GIB
ENOUGH_SHARED = GIB // 4
"""Bytes of /dev/shm; containers have a quarter of this by default, which Ray actors soon fill."""
RUST = (1, 95)
"""The oldest version that compiles the core."""
TORCH_LEVELS = ("DEFAULT", "AVX2", "AVX512")
"""PyTorch's names of CPU instruction sets, slowest first."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What decides the speed of this machine; None if unknown."""

    cpu: frozenset[str] = frozenset()
    """The processor's instruction set flags as named by Linux; empty on other systems."""
    torch_level: str = "DEFAULT"
    """The instruction set that PyTorch uses."""
    cores: int = 1
    """Cores that this process may run on."""
    quota: float | None = None
    """The container's CPU quota in cores."""
    load: float | None = None
    """Load average over the last minute."""
    governor: str = ""
    """The kernel's CPU frequency governor."""
    memory: int | None = None
    """Available bytes, within the container's limit."""
    shared: int | None = None
    """Size of /dev/shm in bytes."""
    extras: frozenset[str] = frozenset()
    """Optional packages that are installed."""
    gpu: str = ""
    """The name of a GPU, as reported by its driver."""
    is_gpu_used: bool = False
    """Whether PyTorch can use a GPU."""
    is_optimised: bool = True
    """Whether the core was compiled with optimisations."""
    rust: tuple[int, int] | None = None
    is_checkout: bool = False
    """Whether the core is compiled from a source checkout."""
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Advice:
    """A cause of slowness and the command that fixes it."""

    what: str
    command: str


def advise(facts: Facts) -> list[Advice]:
    """Returns what can be improved, the most important first; empty if nothing."""
    return [*_core(facts), *_networks(facts), *_instructions(facts), *_threads(facts), *_machine(facts)]


def _core(facts: Facts) -> Iterator[Advice]:
    if not facts.is_optimised:
        rebuild = "./uvw sync --reinstall-package moemcts" if facts.is_checkout else "pip install --force-reinstall ."
        yield Advice("the core was compiled without optimisations: searches are slow", rebuild)
    if facts.is_checkout and facts.rust is None:
        yield Advice(
            "no Rust: the core runs, but changes to native/ cannot be compiled",
            "curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh",
        )
    elif facts.rust is not None and facts.rust < RUST:
        found = ".".join(map(str, facts.rust))
        yield Advice(f"Rust is {found}, the core needs {'.'.join(map(str, RUST))} or later", "rustup update stable")


def _networks(facts: Facts) -> Iterator[Advice]:
    if facts.gpu and not facts.is_gpu_used:
        yield Advice(f"{facts.gpu} is there, but this PyTorch cannot use it", "pip install --force-reinstall torch")
    if facts.is_gpu_used:
        return
    if "onnxruntime" not in facts.extras:
        yield Advice(
            "networks run in PyTorch only; ONNX Runtime is usually faster on a CPU, and runs int8", how_to_get("fast")
        )
    elif "openvino" not in facts.extras and any(flag.startswith("amx") for flag in facts.cpu):
        yield Advice("the CPU has AMX, which OpenVINO uses for int8 and bfloat16", how_to_get("openvino"))


def _instructions(facts: Facts) -> Iterator[Advice]:
    if not facts.cpu:
        return
    best = "AVX512" if "avx512f" in facts.cpu else "AVX2" if "avx2" in facts.cpu else "DEFAULT"
    used = facts.torch_level if facts.torch_level in TORCH_LEVELS else best
    if TORCH_LEVELS.index(used) < TORCH_LEVELS.index(best):
        capped = "ATEN_CPU_CAPABILITY" in facts.environment
        yield Advice(
            f"the CPU has {best}, but PyTorch computes with {used}",
            "unset ATEN_CPU_CAPABILITY" if capped else "pip install --upgrade --force-reinstall torch",
        )
    if best == "DEFAULT":
        yield Advice(
            "the CPU has no AVX2: networks run slower than on most others",
            "moemcts networks --game GAME --measure rise-tiny  # what one costs; take a small one by --network",
        )


def _threads(facts: Facts) -> Iterator[Advice]:
    allowed = min(facts.cores, facts.quota or facts.cores)
    if facts.quota is not None and facts.quota < facts.cores:
        workers = max(1, int(facts.quota))
        yield Advice(
            f"{facts.cores} cores are visible, but the container has the time of {facts.quota:g}: with one "
            "process per core, they wait for each other",
            f"moemcts run ... --workers {workers}",
        )
    asked = facts.environment.get("OMP_NUM_THREADS", "")
    if asked.isdigit() and int(asked) > 1:
        yield Advice(
            f"OMP_NUM_THREADS={asked}: small networks are slower with several threads, and every process of a run "
            "takes as many",
            "unset OMP_NUM_THREADS",
        )
    if facts.load is not None and facts.load > allowed + 1:
        yield Advice(
            f"{facts.load:.1f} processes compete for {allowed:g} cores: all speeds above are those of a busy machine",
            "top  # who they are; then moemcts doctor again",
        )


def _machine(facts: Facts) -> Iterator[Advice]:
    if facts.governor == "powersave":
        yield Advice("the CPU saves power: its clock is slow to rise", "sudo cpupower frequency-set -g performance")
    if facts.memory is not None and facts.memory < ENOUGH_MEMORY:
        yield Advice(
            f"{facts.memory / GIB:.1f} GiB of memory are free, and a run starts one process per core",
            "moemcts run ... --workers 1",
        )
    if facts.shared is not None and facts.shared < ENOUGH_SHARED and "ray" in facts.extras:
        yield Advice(
            f"/dev/shm has {facts.shared / 2**20:,.0f} MiB: actors of Ray share their data on the disk instead",
            "docker run --shm-size=2g ...  # or: mount -o remount,size=2g /dev/shm",
        )


def gather() -> Facts:
    """Returns the facts about this machine."""
    import torch

    from moemcts.native import core

    levels = {"DEFAULT", "AVX2", "AVX512"}
    level = torch.backends.cpu.get_cpu_capability()
    is_gpu_used = torch.cuda.is_available()
    extras = ("onnxruntime", "openvino", "ray")
    return Facts(
        cpu=processor().instructions,
        torch_level=level if level in levels else "",
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        quota=quota(Path("/sys/fs/cgroup")),
        load=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        governor=_text(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")).strip(),
        memory=_memory(),
        shared=shutil.disk_usage("/dev/shm").total if Path("/dev/shm").is_dir() else None,
        extras=frozenset(name for name in extras if importlib.util.find_spec(name) is not None),
        gpu="" if is_gpu_used else _gpu(),
        is_gpu_used=is_gpu_used,
        is_optimised=core.IS_OPTIMISED,
        rust=_rust(),
        is_checkout=CHECKOUT is not None,
        environment=dict(os.environ),
    )


def quota(folder: Path) -> float | None:
    """Returns the CPU quota of a control group in cores; None if it is unlimited or unknown."""
    words = _text(folder / "cpu.max").split()
    if len(words) == 2 and words[0].isdigit() and words[1].isdigit():
        return int(words[0]) / int(words[1])
    limit, period = (_text(folder / "cpu" / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period"))
    return int(limit) / int(period) if limit.isdigit() and period.isdigit() else None


def _memory() -> int | None:
    words = _field(Path("/proc/meminfo"), "MemAvailable").split()
    free = int(words[0]) * 1024 if words else None
    limit, used = (_text(Path("/sys/fs/cgroup") / f"memory.{name}").strip() for name in ("max", "current"))
    if free is not None and limit.isdigit() and used.isdigit():
        return min(free, int(limit) - int(used))
    return free


def _rust() -> tuple[int, int] | None:
    found = re.match(r"rustc (\d+)\.(\d+)", _said("rustc", "--version"))
    return (int(found[1]), int(found[2])) if found else None


def _gpu() -> str:
    return (_said("nvidia-smi", "--query-gpu=name", "--format=csv,noheader").splitlines() or [""])[0].strip()


def _said(*command: str) -> str:
    """Returns the output of a program; empty if it is missing or fails."""
    if platform.system() == "Windows" or shutil.which(command[0]) is None:
        return ""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout if done.returncode == 0 else ""


def _field(path: Path, name: str) -> str:
    found = re.search(rf"^{name}\s*:\s*(.*)$", _text(path), re.MULTILINE)
    return found[1] if found else ""


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""

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

from moemcts.errors import CHECKOUT, install_command
from moemcts.work.processor import processor

GIB = 2**30
ENOUGH_MEMORY = 2 * GIB
ENOUGH_SHARED_MEMORY = GIB // 4
"""Bytes of /dev/shm; containers have a quarter of this by default, which Ray actors soon fill."""
RUST = (1, 95)
"""The oldest version that compiles the core."""
TORCH_LEVELS = ("DEFAULT", "AVX2", "AVX512")
"""PyTorch's names of CPU instruction sets, slowest first."""


@dataclass(frozen=True, kw_only=True)
class MachineInfo:
    """The properties of a machine that decide its speed; None if unknown."""

    cpu: frozenset[str] = frozenset()
    """The processor's instruction set flags as named by Linux; empty on other systems."""
    torch_level: str = "DEFAULT"
    """The instruction set that PyTorch uses."""
    cores: int = 1
    """Cores that this process may run on."""
    cpu_quota: float | None = None
    """The container's CPU quota in cores."""
    load: float | None = None
    """Load average over the last minute."""
    governor: str = ""
    """The kernel's CPU frequency governor."""
    memory: int | None = None
    """Available bytes, within the container's limit."""
    shared_memory: int | None = None
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

    cause: str
    command: str


def advise(machine: MachineInfo) -> list[Advice]:
    """Returns what can be improved, the most important first; empty if nothing."""
    return [
        *_advise_on_core(machine),
        *_advise_on_networks(machine),
        *_advise_on_instructions(machine),
        *_advise_on_threads(machine),
        *_advise_on_machine(machine),
    ]


def _advise_on_core(machine: MachineInfo) -> Iterator[Advice]:
    if not machine.is_optimised:
        rebuild = "./uvw sync --reinstall-package moemcts" if machine.is_checkout else "pip install --force-reinstall ."
        yield Advice("the core was compiled without optimisations: searches are slow", rebuild)
    if machine.is_checkout and machine.rust is None:
        yield Advice(
            "no Rust: the core runs, but changes to native/ cannot be compiled",
            "curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh",
        )
    elif machine.rust is not None and machine.rust < RUST:
        version = ".".join(map(str, machine.rust))
        yield Advice(f"Rust is {version}, the core needs {'.'.join(map(str, RUST))} or later", "rustup update stable")


def _advise_on_networks(machine: MachineInfo) -> Iterator[Advice]:
    if machine.gpu and not machine.is_gpu_used:
        yield Advice(f"{machine.gpu} is there, but this PyTorch cannot use it", "pip install --force-reinstall torch")
    if machine.is_gpu_used:
        return
    if "onnxruntime" not in machine.extras:
        yield Advice(
            "networks run in PyTorch only; ONNX Runtime is usually faster on a CPU, and runs int8",
            install_command("fast"),
        )
    elif "openvino" not in machine.extras and any(flag.startswith("amx") for flag in machine.cpu):
        yield Advice("the CPU has AMX, which OpenVINO uses for int8 and bfloat16", install_command("openvino"))


def _advise_on_instructions(machine: MachineInfo) -> Iterator[Advice]:
    if not machine.cpu:
        return
    best = "AVX512" if "avx512f" in machine.cpu else "AVX2" if "avx2" in machine.cpu else "DEFAULT"
    used = machine.torch_level if machine.torch_level in TORCH_LEVELS else best
    if TORCH_LEVELS.index(used) < TORCH_LEVELS.index(best):
        capped = "ATEN_CPU_CAPABILITY" in machine.environment
        yield Advice(
            f"the CPU has {best}, but PyTorch computes with {used}",
            "unset ATEN_CPU_CAPABILITY" if capped else "pip install --upgrade --force-reinstall torch",
        )
    if best == "DEFAULT":
        yield Advice(
            "the CPU has no AVX2: networks run slower than on most others",
            "moemcts networks --game GAME --measure rise-tiny  # what one costs; take a small one by --network",
        )


def _advise_on_threads(machine: MachineInfo) -> Iterator[Advice]:
    allowed = min(machine.cores, machine.cpu_quota or machine.cores)
    if machine.cpu_quota is not None and machine.cpu_quota < machine.cores:
        workers = max(1, int(machine.cpu_quota))
        yield Advice(
            f"{machine.cores} cores are visible, but the container has the time of {machine.cpu_quota:g}: with one "
            "process per core, they wait for each other",
            f"moemcts run ... --workers {workers}",
        )
    num_threads = machine.environment.get("OMP_NUM_THREADS", "")
    if num_threads.isdigit() and int(num_threads) > 1:
        yield Advice(
            f"OMP_NUM_THREADS={num_threads}: small networks are slower with several threads, and every process of a "
            "run takes as many",
            "unset OMP_NUM_THREADS",
        )
    if machine.load is not None and machine.load > allowed + 1:
        yield Advice(
            f"{machine.load:.1f} processes compete for {allowed:g} cores: all speeds above are those of a busy machine",
            "top  # who they are; then moemcts doctor again",
        )


def _advise_on_machine(machine: MachineInfo) -> Iterator[Advice]:
    if machine.governor == "powersave":
        yield Advice("the CPU saves power: its clock is slow to rise", "sudo cpupower frequency-set -g performance")
    if machine.memory is not None and machine.memory < ENOUGH_MEMORY:
        yield Advice(
            f"{machine.memory / GIB:.1f} GiB of memory are free, and a run starts one process per core",
            "moemcts run ... --workers 1",
        )
    if machine.shared_memory is not None and machine.shared_memory < ENOUGH_SHARED_MEMORY and "ray" in machine.extras:
        yield Advice(
            f"/dev/shm has {machine.shared_memory / 2**20:,.0f} MiB: actors of Ray share their data on the disk "
            "instead",
            "docker run --shm-size=2g ...  # or: mount -o remount,size=2g /dev/shm",
        )


def read_machine_info() -> MachineInfo:
    """Returns the properties of this machine."""
    import torch

    from moemcts.native import core

    level = torch.backends.cpu.get_cpu_capability()
    is_gpu_used = torch.cuda.is_available()
    extras = ("onnxruntime", "openvino", "ray")
    return MachineInfo(
        cpu=processor().instructions,
        torch_level=level if level in TORCH_LEVELS else "",
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        cpu_quota=read_cpu_quota(Path("/sys/fs/cgroup")),
        load=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        governor=_read_text(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")).strip(),
        memory=_available_memory(),
        shared_memory=shutil.disk_usage("/dev/shm").total if Path("/dev/shm").is_dir() else None,
        extras=frozenset(name for name in extras if importlib.util.find_spec(name) is not None),
        gpu="" if is_gpu_used else _gpu_name(),
        is_gpu_used=is_gpu_used,
        is_optimised=core.IS_OPTIMISED,
        rust=_rust_version(),
        is_checkout=CHECKOUT is not None,
        environment=dict(os.environ),
    )


def read_cpu_quota(folder: Path) -> float | None:
    """Returns the CPU quota of a control group in cores; None if it is unlimited or unknown."""
    words = _read_text(folder / "cpu.max").split()
    if len(words) == 2 and words[0].isdigit() and words[1].isdigit():
        return int(words[0]) / int(words[1])
    limit, period = (_read_text(folder / "cpu" / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period"))
    return int(limit) / int(period) if limit.isdigit() and period.isdigit() else None


def _available_memory() -> int | None:
    words = _read_field(Path("/proc/meminfo"), "MemAvailable").split()
    available = int(words[0]) * 1024 if words else None
    limit, used = (_read_text(Path("/sys/fs/cgroup") / f"memory.{name}").strip() for name in ("max", "current"))
    if available is not None and limit.isdigit() and used.isdigit():
        return min(available, int(limit) - int(used))
    return available


def _rust_version() -> tuple[int, int] | None:
    version = re.match(r"rustc (\d+)\.(\d+)", _output_of("rustc", "--version"))
    return (int(version[1]), int(version[2])) if version else None


def _gpu_name() -> str:
    return (_output_of("nvidia-smi", "--query-gpu=name", "--format=csv,noheader").splitlines() or [""])[0].strip()


def _output_of(*command: str) -> str:
    """Returns the output of a program; empty if it is missing or fails."""
    if platform.system() == "Windows" or shutil.which(command[0]) is None:
        return ""
    try:
        process = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return ""
    return process.stdout if process.returncode == 0 else ""


def _read_field(path: Path, name: str) -> str:
    match = re.search(rf"^{name}\s*:\s*(.*)$", _read_text(path), re.MULTILINE)
    return match[1] if match else ""


def _read_text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""

"""`moemcts doctor` says what is slow and which command mends it, and nothing where nothing is."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from moemcts import errors
from moemcts.cli import advice
from moemcts.cli.advice import GIB, MachineInfo, advise, read_cpu_quota, read_machine_info

WELL = MachineInfo(
    cpu=frozenset({"avx2", "avx512f"}),
    torch_level="AVX512",
    cores=4,
    load=0.5,
    memory=8 * GIB,
    shared_memory=GIB,
    extras=frozenset({"onnxruntime", "openvino", "ray"}),
    rust=(1, 95),
    is_checkout=True,
)


def given(**facts: Any) -> list[tuple[str, str]]:
    return [(one.cause, one.command) for one in advise(MachineInfo(**{**vars(WELL), **facts}))]


def test_where_all_is_well_nothing_is_said() -> None:
    assert given() == []


@pytest.mark.parametrize(
    ("facts", "word", "command"),
    [
        ({"is_optimised": False}, "without optimisations", "./uvw sync --reinstall-package moemcts"),
        ({"is_optimised": False, "is_checkout": False, "rust": None}, "optimisations", "pip install --force-reinstall"),
        ({"rust": None}, "no Rust", "sh.rustup.rs"),
        ({"rust": (1, 80)}, "Rust is 1.80, the core needs 1.95", "rustup update stable"),
        ({"gpu": "H100"}, "H100 is there, but this PyTorch cannot use it", "pip install --force-reinstall torch"),
        ({"extras": frozenset({"ray"})}, "PyTorch only", "--extra fast"),
        ({"cpu": frozenset({"avx512f", "amx_tile"}), "extras": frozenset({"onnxruntime"})}, "AMX", "--extra openvino"),
        (
            {"torch_level": "AVX2", "environment": {"ATEN_CPU_CAPABILITY": "avx2"}},
            "the CPU has AVX512, but PyTorch computes with AVX2",
            "unset ATEN_CPU_CAPABILITY",
        ),
        ({"torch_level": "DEFAULT"}, "computes with DEFAULT", "pip install --upgrade --force-reinstall torch"),
        ({"cpu": frozenset({"sse2"}), "torch_level": "DEFAULT"}, "no AVX2", "moemcts networks"),
        ({"cpu_quota": 2.0}, "4 cores are visible, but the container has the time of 2", "--workers 2"),
        ({"environment": {"OMP_NUM_THREADS": "4"}}, "OMP_NUM_THREADS=4", "unset OMP_NUM_THREADS"),
        ({"load": 9.0}, "9.0 processes compete for 4 cores", "top"),
        ({"governor": "powersave"}, "saves power", "cpupower frequency-set -g performance"),
        ({"memory": GIB}, "1.0 GiB of memory are free", "--workers 1"),
        ({"shared_memory": 64 * 2**20}, "/dev/shm has 64 MiB", "--shm-size=2g"),
    ],
)
def test_what_is_slow_is_said_with_what_mends_it(facts: dict[str, Any], word: str, command: str) -> None:
    ((what, mends),) = given(**facts)
    assert word in what
    assert command in mends


def test_a_gpu_that_is_used_needs_no_advice_on_backends() -> None:
    assert given(is_gpu_used=True, extras=frozenset()) == []


def test_what_is_not_known_is_not_complained_about() -> None:
    assert advise(MachineInfo(extras=WELL.extras)) == []


def test_limits_of_containers_are_read(tmp_path: Path) -> None:
    assert read_cpu_quota(tmp_path) is None
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert read_cpu_quota(tmp_path) is None
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    assert read_cpu_quota(tmp_path) == 1.5
    (tmp_path / "cpu.max").unlink()
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text("200000")
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000")
    assert read_cpu_quota(tmp_path) == 2


def test_this_machine_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = read_machine_info()
    assert facts.cores >= 1
    assert facts.is_optimised
    monkeypatch.setattr(advice.shutil, "which", lambda name: None)
    assert read_machine_info().rust is None


def test_extras_are_got_as_the_installation_was_made(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "./uvw sync --no-dev --inexact --extra web, or pip install '.[web]'" in errors.install_command("web")
    added = f"{errors.CHECKOUT}/uvw pip install --python {sys.prefix} -e my-game"
    assert errors.editable_install_command(Path("my-game")) == added
    monkeypatch.setattr(errors, "CHECKOUT", None)
    assert errors.install_command("web") == "pip install 'moemcts[web]'"
    assert errors.editable_install_command(Path("my game")) == "pip install -e 'my game'"

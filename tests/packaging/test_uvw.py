"""Two commands set everything up: ./uvw, the workspace behind it, and its lock."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
needs_a_shell = pytest.mark.skipif(os.name == "nt", reason="a POSIX shell runs ./uvw")


def program(path: Path, script: str) -> None:
    """Writes a shell script that stands for a program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with ./uvw, and a `bin` with the few tools that it may count on."""
    shutil.copy(ROOT / "uvw", tmp_path / "uvw")
    for tool in ("sh", "dirname"):
        found = shutil.which(tool)
        assert found
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / tool).symlink_to(found)
    return tmp_path


def call(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(checkout / "bin")}
    command = [str(checkout / "uvw"), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@needs_a_shell
def test_the_uv_of_the_machine_is_used(checkout: Path) -> None:
    program(checkout / "bin" / "uv", 'echo "uv of the machine: $*"')
    assert call(checkout, "run", "a  b").stdout == "uv of the machine: run a  b\n"
    assert not (checkout / ".uv").exists()


@needs_a_shell
def test_where_there_is_no_uv_pip_brings_one_once(checkout: Path) -> None:
    own = checkout / ".uv" / "bin" / "uv"
    ready = checkout / "uv-that-pip-brings"
    program(ready, 'echo "own uv: $*"')
    links = "\n".join(f'{tool}() {{ {shutil.which(tool)} "$@"; }}' for tool in ("mkdir", "cp"))
    program(
        checkout / "bin" / "python3",
        f'{links}\necho "$@" >> "{checkout}/calls"\nmkdir -p "{own.parent}"\ncp "{ready}" "{own}"',
    )
    assert [call(checkout, "sync").stdout for _ in range(2)] == ["own uv: sync\n"] * 2
    looked, asked = (checkout / "calls").read_text().splitlines()
    assert looked == "-m pip --version"
    assert asked.startswith("-m pip install")
    assert asked.endswith(f"--target {checkout}/.uv uv>=0.5")


@needs_a_shell
def test_where_there_is_no_python_either_one_line_says_so(checkout: Path) -> None:
    done = call(checkout, "sync")
    assert done.returncode == 1
    assert "expected uv, or Python 3.11 or later with pip" in done.stderr


@needs_a_shell
def test_a_python_without_pip_is_passed_over(checkout: Path) -> None:
    program(checkout / "bin" / "python3", "exit 1")
    program(checkout / "behind" / "python3", f'echo "$@" >> "{checkout}/calls"; [ "$3" = --version ]')
    environment = {"PATH": f"{checkout}/bin:{checkout}/behind"}
    done = subprocess.run([str(checkout / "uvw"), "sync"], env=environment, capture_output=True, text=True, check=False)
    assert (checkout / "calls").read_text().count("-m pip install") == 1
    assert "puts uv into" in done.stderr


@needs_a_shell
def test_where_there_is_no_rust_one_line_says_how_to_get_it(checkout: Path) -> None:
    program(checkout / "bin" / "uv", "exit 0")
    (line,) = call(checkout, "sync").stderr.splitlines()
    assert "Rust 1.95 or later" in line
    assert "https://rustup.rs" in line
    program(checkout / "bin" / "cargo", "exit 0")
    assert not call(checkout, "sync").stderr


def test_the_lock_names_public_hosts_alone() -> None:
    hosts = set(re.findall(r"https?://([^/\"]+)", (ROOT / "uv.lock").read_text()))
    assert hosts == {"pypi.org", "files.pythonhosted.org"}


def test_the_lock_is_that_of_the_dependencies() -> None:
    lock = tomllib.loads((ROOT / "uv.lock").read_text())
    (moemcts,) = [package for package in lock["package"] if package["name"] == "moemcts"]
    metadata = moemcts["metadata"]
    extras = PROJECT["project"]["optional-dependencies"]
    asked = [*PROJECT["project"]["dependencies"], *(line for extra in extras.values() for line in extra)]
    locked = [f"{one['name']}{one.get('specifier', '')}" for one in metadata["requires-dist"]]
    assert sorted(set(locked)) == sorted(set(asked))
    assert sorted(metadata["provides-extras"]) == sorted(extras)


def test_every_plugin_is_a_member_of_the_workspace() -> None:
    lock = tomllib.loads((ROOT / "uv.lock").read_text())
    plugins = {path.parent.name for path in ROOT.glob("plugins/*/pyproject.toml")}
    assert set(lock["manifest"]["members"]) == plugins | {"moemcts"}


def test_what_pip_calls_an_extra_uv_calls_a_group() -> None:
    assert PROJECT["dependency-groups"]["dev"] == [
        "moemcts[dev,docs,ray]",
        "moemcts-tictactoe",
        "moemcts-openspiel",
        "moemcts-gymnasium",
    ]


def test_a_change_of_any_rust_file_compiles_anew() -> None:
    keys = [key["file"] for key in PROJECT["tool"]["uv"]["cache-keys"]]
    watched = {path for key in keys for path in ROOT.glob(key)}
    listed = subprocess.run(["git", "ls-files", "native"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    sources = {ROOT / name for name in listed.stdout.splitlines() if re.search(r"(Cargo\.\w+|src/.*\.rs)$", name)}
    assert sources
    assert sources <= watched

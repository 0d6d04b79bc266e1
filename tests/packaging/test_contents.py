"""What is released: the sdist and the wheel have what they need and nothing else."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from contents import sdist_faults, wheel_faults  # noqa: E402

COMMITTED = {"LICENSE", "games/moemcts_chess/game.py", "moemcts/game.py", "native/tree/src/lib.rs", ".gitignore"}
WHEEL = "moemcts-0.1.0-cp311-abi3-manylinux_2_34_x86_64.whl"
INSTALLED = {
    "moemcts/_core.abi3.so",
    "moemcts/game.py",
    "moemcts_chess/game.py",
    "moemcts-0.1.0.dist-info/licenses/LICENSE",
    "moemcts-0.1.0.dist-info/licenses/native/LICENSES.txt",
}


def test_an_sdist_without_its_rust_sources_is_not_whole() -> None:
    whole = COMMITTED - {".gitignore"} | {"PKG-INFO"}
    assert not sdist_faults(whole, COMMITTED)
    assert sdist_faults(whole - {"native/tree/src/lib.rs"}, COMMITTED) == ["the sdist lacks native/tree/src/lib.rs"]
    assert sdist_faults(whole | {"native/target/release/core.d"}, COMMITTED)
    assert sdist_faults(whole | {"runs/mine/config.toml"}, COMMITTED)
    assert not sdist_faults(whole | {"moemcts/runs/training.py"}, COMMITTED)


@pytest.mark.parametrize("missing", sorted(INSTALLED))
def test_a_wheel_that_lacks_a_module_the_core_or_a_licence_is_named(missing: str) -> None:
    assert not wheel_faults(WHEEL, INSTALLED, COMMITTED)
    assert len(wheel_faults(WHEEL, INSTALLED - {missing}, COMMITTED)) == 1


def test_a_wheel_for_one_python_alone_is_refused() -> None:
    (fault,) = wheel_faults("moemcts-0.1.0-cp311-cp311-linux_x86_64.whl", INSTALLED, COMMITTED)
    assert "cp311-abi3" in fault


def test_the_crates_licences_are_those_of_the_lock() -> None:
    command = [sys.executable, "scripts/licences.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if "No such file or directory: 'cargo'" in done.stderr:
        pytest.skip("cargo is not installed")
    assert done.returncode == 0, done.stderr


def test_building_without_rust_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}
    setuptools, errors, setuptools_rust = (ModuleType(name) for name in ("setuptools", "setuptools.errors", "rust"))
    setuptools.setup = asked.update  # type: ignore[attr-defined]
    errors.PlatformError = RuntimeError  # type: ignore[attr-defined]
    setuptools_rust.build_rust = SimpleNamespace  # type: ignore[attr-defined]
    for name, module in (("", setuptools), (".errors", errors), ("_rust", setuptools_rust)):
        monkeypatch.setitem(sys.modules, f"setuptools{name}", module)
    monkeypatch.setenv("PATH", "")
    runpy.run_path(str(ROOT / "setup.py"))
    with pytest.raises(
        RuntimeError, match=r"Rust 1\.95 or later, and no cargo is on the PATH: get it from https://rustup"
    ):
        asked["cmdclass"]["build_rust"]().run()


def test_one_version_stands_everywhere() -> None:
    import moemcts

    cargo = tomllib.loads((ROOT / "native" / "Cargo.toml").read_text())["workspace"]["package"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert moemcts.__version__ == cargo["version"] == citation["version"]
    assert f"## {moemcts.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_one_version_of_rust_is_asked_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    rust = tomllib.loads((ROOT / "native" / "Cargo.toml").read_text())["workspace"]["package"]["rust-version"]
    assert project["tool"]["setuptools-rust"]["ext-modules"][0]["rust-version"] == f">={rust}"
    for page in ("README.md", "CONTRIBUTING.md", "setup.py", "uvw"):
        assert rust in (ROOT / page).read_text(), page


def test_the_citation_names_the_papers_of_the_readme() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    assert citation["license"] == "GPL-3.0-or-later"
    assert citation["authors"] == [{"name": "The moemcts authors"}]
    readme = " ".join((ROOT / "README.md").read_text().split())
    named = re.findall(r"et al\., \*([^*]+)\*", readme)
    assert len(named) == 4
    assert set(named) <= {paper["title"] for paper in citation["references"]}


def test_the_workflow_parses_and_runs_the_commands_of_the_readme() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    systems = workflow["jobs"]["test"]["strategy"]["matrix"]["os"]
    assert [system.partition("-")[0] for system in systems] == ["ubuntu", "macos", "windows"]
    steps = [step.get("run", "") for step in workflow["jobs"]["test"]["steps"]]
    readme = (ROOT / "README.md").read_text()
    assert [step.removeprefix("scripts/first_answer ") for step in steps if "./uvw" in step] == [
        line for line in readme.splitlines() if line.startswith("./uvw")
    ]

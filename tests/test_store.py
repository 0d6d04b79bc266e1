"""Files are whole or not there, and a folder has one writer."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from moemcts.errors import DamagedFile, MoemctsError, UsageError
from moemcts.store import check_path, digest, exclusive, manifest_digest, read_json, write_bytes, write_text

HOLD = "import sys; from pathlib import Path; from moemcts.store import exclusive\n"
HOLD += "with exclusive(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"


def test_a_folder_has_one_writer_and_says_which(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path / "folder")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(MoemctsError, match=f"in use by process {process.pid}"), exclusive(tmp_path / "folder"):
            pass
        process.kill()
    with exclusive(tmp_path / "folder"):
        assert (tmp_path / "folder" / ".holder").read_text() == f"{os.getpid()} {platform.node()}".strip()


def test_a_writer_on_another_machine_is_named_with_it(tmp_path: Path) -> None:
    with exclusive(tmp_path):
        # As a folder that machines share has it while the other one works.
        write_text(tmp_path / ".holder", "4242 node7")
        with pytest.raises(MoemctsError, match="in use by process 4242 on node7; wait"), exclusive(tmp_path):
            pass


def test_what_killed_writers_left_is_cleared_at_the_next_start_and_nothing_else(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        gone = process.pid
    left = [
        tmp_path / f".report.md.{gone}.part",
        tmp_path / "data" / f".shard-00000.safetensors.{gone}-12.part",
        tmp_path / ".stages.0.part",
    ]
    running = tmp_path / f".out.{os.getppid()}.part"
    ours = [tmp_path / "a.part", tmp_path / ".hidden.part", tmp_path / "data" / "shard-00000.safetensors"]
    folder = tmp_path / f".import.{gone}.part"
    for path in [*left, *ours, folder / "shard", running / "shard"]:
        write_text(path, "text")
    with exclusive(tmp_path):
        assert not [path for path in [*left, folder] if path.exists()]
        assert all(path.exists() for path in [*ours, running / "shard"])


def test_a_folder_is_not_written_as_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in (Path("."), tmp_path):
        with pytest.raises(MoemctsError, match="cannot write"):
            write_text(folder, "text")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["x" * 300, "\udcff", "a\0b"], ids=["too long", "no UTF-8", "no name"])
def test_a_name_that_no_file_can_have_is_one_line(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="choose another name"):
        check_path(tmp_path / name)
    with pytest.raises(UsageError, match="choose another name"), exclusive(tmp_path / name):
        pass


def test_json_that_is_none_is_damaged(tmp_path: Path) -> None:
    write_text(tmp_path / "a.json", "{")
    with pytest.raises(DamagedFile, match="is not valid JSON"):
        read_json(tmp_path / "a.json")
    with pytest.raises(MoemctsError, match="found none"):
        read_json(tmp_path / "b.json")


def test_json_that_is_nested_too_deeply_is_damaged(tmp_path: Path) -> None:
    write_text(tmp_path / "a.json", "[" * 100_000)
    with pytest.raises(DamagedFile, match="is not valid JSON: it is nested too deeply"):
        read_json(tmp_path / "a.json")


def test_threads_that_write_one_file_do_not_write_into_each_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, both = tmp_path / "a", threading.Barrier(2)
    # Both have written before the first of them moves its file to its place.
    monkeypatch.setattr(os, "fsync", lambda _: both.wait(timeout=20))
    failures: list[MoemctsError] = []

    def write(letter: bytes) -> None:
        try:
            write_bytes(path, letter * 1000)
        except MoemctsError as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(letter,)) for letter in (b"a", b"b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert path.read_bytes() in (b"a" * 1000, b"b" * 1000)
    assert [found.name for found in tmp_path.iterdir()] == ["a"]


def test_a_manifest_that_is_gone_is_an_error_that_names_it(tmp_path: Path) -> None:
    write_text(tmp_path / "manifest.toml", "format = 1\n")
    whole = digest(b"format = 1\n")
    assert manifest_digest(tmp_path) == whole[:16]
    assert manifest_digest(tmp_path, length=64) == whole
    with pytest.raises(DamagedFile, match=r"cannot read .*gone/manifest\.toml: No such file"):
        manifest_digest(tmp_path / "gone")

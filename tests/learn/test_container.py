"""Files of arrays with JSON in their header are read as they were written, or refused in a line."""

from __future__ import annotations

import contextlib
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
import torch

from moemcts.errors import DamagedFile
from moemcts.learn.container import container_bytes, read_container
from moemcts.learn.tensors import map_sealed, map_tensors, sealed_bytes
from moemcts.learn.weights import read_state, write_state

ONE: dict[str, Any] = {"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}


def file_of(header: Any) -> bytes:
    """Returns a file of four bytes behind any header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(4)


def test_arrays_and_content_come_back(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    path.write_bytes(container_bytes({"a": np.arange(3)}, {"of": [1, "x"]}))
    arrays, content = read_container(path)
    assert arrays["a"].tolist() == [0, 1, 2]
    assert content == {"of": [1, "x"]}
    assert path.read_bytes() == safetensors.numpy.save({"a": np.arange(3)}, {"content": '{"of": [1, "x"]}'})
    write_state(path, {"a": torch.ones(2)}, {"step": 3})
    assert read_state(path)[1] == {"step": 3}


def test_a_sealed_file_is_whole_or_refused_whatever_byte_changes_or_is_missing(tmp_path: Path) -> None:
    path, arrays = tmp_path / "a.safetensors", {"a": np.arange(3), "b": np.zeros((2, 0), np.float32)}
    whole = sealed_bytes(arrays)
    path.write_bytes(whole)
    written = {"a": [0, 1, 2], "b": [[], []]}
    assert {name: array.tolist() for name, array in map_sealed(path).items()} == written
    for place in range(len(whole)):
        path.write_bytes(whole[:place])
        with pytest.raises(DamagedFile):
            map_sealed(path)
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        # A header may say the same in other bytes, such as those that it is filled up with.
        with contextlib.suppress(DamagedFile):
            assert {name: array.tolist() for name, array in map_sealed(path).items()} == written
    # Of an earlier version, that wrote no hash.
    path.write_bytes(container_bytes(arrays, {}))
    with pytest.raises(DamagedFile, match=r"its .* bytes are not those that were written"):
        map_sealed(path)


@pytest.mark.parametrize(
    "content",
    [
        file_of(ONE),
        file_of({**ONE, "__metadata__": None}),
        file_of({**ONE, "__metadata__": {"content": "3"}}),
        file_of({**ONE, "__metadata__": {"content": "{"}}),
        file_of({**ONE, "__metadata__": {"content": "[" * 100_000}}),
        file_of(b"[]"),
        file_of(b"[" * 100_000),
        b"",
        b"\1\2\3",
        b"\xff" * 40,
    ],
    ids=["no content", "null", "a number", "cut", "deep", "a list", "deep header", "empty", "short", "long header"],
)
def test_what_is_no_content_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    path.write_bytes(content)
    for read in (read_container, read_state):
        with pytest.raises(DamagedFile, match=r"a.safetensors is damaged"):
            read(path)


@pytest.mark.parametrize(
    "header",
    [
        b"[]",
        b"[" * 100_000,
        {"a": None},
        {"a": {**ONE["a"], "data_offsets": ["x", 4]}},
        {"a": {**ONE["a"], "dtype": "F8_E4M3"}},
        {"a": {**ONE["a"], "shape": [3]}},
    ],
    ids=["a list", "deep", "no entry", "no offsets", "an unknown type", "too large"],
)
def test_what_is_no_header_is_refused(header: Any, tmp_path: Path) -> None:
    (tmp_path / "a.safetensors").write_bytes(file_of(header))
    with pytest.raises(DamagedFile, match=r"a.safetensors is not a safetensors file"):
        map_tensors(tmp_path / "a.safetensors", None)

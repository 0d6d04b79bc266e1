"""What the system tells of the processor."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from moemcts.runs.provenance import machine
from moemcts.work import processor as processors
from moemcts.work.processor import Processor, processor

LISTED = """processor\t: {number}
model name\t: Tiny CPU @ 1.00GHz
flags\t\t: sse2 avx2

"""


def test_each_thread_that_linux_lists_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processors, "CPUINFO", tmp_path / "cpuinfo")
    (tmp_path / "cpuinfo").write_text("".join(LISTED.format(number=number) for number in range(2)))
    expected = Processor(name="Tiny CPU @ 1.00GHz", num_listed=2, instructions=frozenset({"sse2", "avx2"}))
    assert processor() == expected
    assert machine() == "Tiny CPU @ 1.00GHz x 2"


def test_a_system_that_tells_nothing_has_the_name_of_the_platform(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processors, "CPUINFO", tmp_path / "none")
    monkeypatch.setattr(platform, "processor", lambda: "")
    assert processor() == Processor(name="", num_listed=0, instructions=frozenset())
    assert machine() == platform.machine()

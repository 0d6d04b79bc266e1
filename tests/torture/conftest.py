"""Makes the driver of these tests importable, and keeps one of it for all of them."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from driving import Driver


@pytest.fixture(scope="session")
def driver() -> Iterator[Driver]:
    with Driver() as made:
        yield made

"""Makes the driver of these tests importable, and shares one instance."""

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

"""All classic games, from their plugin."""

from __future__ import annotations

import pytest

import moemcts_classics.plugin
from moemcts import builtins
from moemcts.plugins import Plugins


@pytest.fixture(scope="session")
def found() -> Plugins:
    return Plugins([("builtins", builtins), ("classics", moemcts_classics.plugin)])

"""`import moemcts` gives the nouns, and costs nothing before one is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

import moemcts


def test_the_nouns_are_few_and_there() -> None:
    assert len(moemcts.__all__) <= 30
    for name in moemcts.__all__:
        assert getattr(moemcts, name) is not None
        assert name in dir(moemcts)


def test_a_name_that_is_none_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Gmae'"):
        _ = moemcts.Gmae  # type: ignore[attr-defined]


def test_no_noun_of_play_costs_torch() -> None:
    code = "import sys, moemcts; moemcts.Game, moemcts.Search, moemcts.PhaseGate; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_first_import_brings_nothing() -> None:
    code = "import sys, moemcts, moemcts.cli.main; sys.exit(bool({'numpy', 'typer', 'torch'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

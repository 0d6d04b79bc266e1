"""Errors arrive from other processes as they were raised."""

import json
import pickle
import re

import pytest
from pydantic import ValidationError

from moemcts.errors import (
    DamagedFile,
    ForeignData,
    MissingExtra,
    MoemctsError,
    UnlawfulGame,
    UsageError,
    first_fault,
    one_line,
)
from moemcts.search.config import SearchConfig


@pytest.mark.parametrize(
    "error",
    [
        MoemctsError("m"),
        UsageError("u"),
        ForeignData("f"),
        DamagedFile("d"),
        UnlawfulGame("g"),
        MissingExtra("pettingzoo", "pettingzoo"),
    ],
)
def test_errors_survive_the_way_between_processes(error: MoemctsError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert again.exit_code == error.exit_code


def test_what_others_raise_is_one_line_with_its_place_and_not_too_long() -> None:
    def opening(text: str) -> None:
        raise OSError(text)

    for text, told in (("no\n  disk", "no disk"), ("", "no message"), ("x" * 999, "x" * 200 + " ...")):
        with pytest.raises(OSError) as raised:
            opening(text)
        assert re.fullmatch(rf"OSError: {told} in opening \(test_errors.py:\d+\)", one_line(raised.value))
    assert one_line(KeyError("seed")) == "KeyError: 'seed'"


def test_the_place_of_an_error_is_not_in_pythons_own_library() -> None:
    def read() -> None:
        json.loads("{")

    with pytest.raises(ValueError, match="double quotes") as raised:
        read()
    assert re.search(r" in read \(test_errors.py:\d+\)$", one_line(raised.value))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"simulations": "many"}, "simulations: Input should be a valid integer, got 'many'"),
        ({"simulations": None}, "expected a limit: simulations, nodes or seconds"),
        ({"root": "x" * 99}, f"root: Input should be 'puct' or 'gumbel', got '{'x' * 79}..."),
        ({"simulation": 3}, "simulation is not known"),
        ({"nodes": 10**5000}, "nodes: Input should be less than or equal to 2147483647, got a larger one"),
    ],
)
def test_settings_that_are_refused_are_one_line_of_where_and_what(settings: dict[str, object], told: str) -> None:
    with pytest.raises(ValidationError) as refused:
        SearchConfig.model_validate(settings)
    assert first_fault(refused.value) == told

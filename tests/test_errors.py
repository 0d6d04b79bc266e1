"""Errors arrive from other processes as they were raised."""

import pickle

import pytest

from moemcts.errors import DamagedFile, ForeignData, MissingExtra, MoemctsError, UsageError


@pytest.mark.parametrize(
    "error",
    [MoemctsError("m"), UsageError("u"), ForeignData("f"), DamagedFile("d"), MissingExtra("pettingzoo", "pettingzoo")],
)
def test_errors_survive_the_way_between_processes(error: MoemctsError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert again.exit_code == error.exit_code

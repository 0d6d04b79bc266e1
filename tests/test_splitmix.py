"""Numbers are mixed as SplitMix64 does, and the same in every process."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
import pytest

from moemcts.splitmix import SplitMix64, mixed, uniform_of

PUBLISHED = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]
"""The stream of seed 1234567, https://rosettacode.org/wiki/Pseudo-random_numbers/Splitmix64."""


def test_the_stream_is_the_published_one() -> None:
    stream = SplitMix64(1234567)
    assert [stream.next_u64() for _ in PUBLISHED] == PUBLISHED


@pytest.mark.parametrize("seed", range(20))
def test_each_number_is_added_to_what_was_mixed_and_mixed_with_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    numbers = [int(number) for number in rng.integers(-(2**63), 2**63, size=seed)]
    start = int(rng.integers(2**64, dtype=np.uint64))
    *_, expected = accumulate(numbers, lambda before, number: SplitMix64(before + number).next_u64(), initial=start)
    assert mixed(numbers, start) == expected
    assert mixed(numbers[seed // 2 :], mixed(numbers[: seed // 2], start)) == expected
    assert mixed(np.array(numbers, np.int64), start) == expected


def test_the_order_of_numbers_counts_and_none_changes_nothing() -> None:
    assert mixed([1, 2]) != mixed([2, 1])
    assert mixed([], 7) == 7


def test_numbers_are_drawn_by_what_they_are_of_as_the_stream_draws_them() -> None:
    drawn = uniform_of(np.array([1234567, 0]), seed=0)
    assert drawn.tolist() == [SplitMix64(1234567).uniform(), SplitMix64(0).uniform()]

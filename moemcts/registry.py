"""What plugins register of one kind: names and families of names, and what is made of them."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Sequence
from typing import Any, Self

from moemcts.errors import MoemctsError, UsageError, listed, one_line, unknown_name
from moemcts.hookspecs import Registration
from moemcts.options import checked_options, misfit, told
from moemcts.references import parse_reference

FAMILY = ":"
"""What the name of a family ends with; its members are written behind it."""


class Registry(dict[str, Registration]):
    """The entries of one kind by name."""

    def __init__(
        self,
        kind: str,
        entries: Iterable[Registration] = (),
        *,
        missing: Sequence[str] = (),
        of_others: Sequence[Registration] = (),
    ) -> None:
        """Raises UsageError where one name is registered twice. `missing` says, a line each, why names may be missing
        here; who has the list adds to it. `of_others` are the entries that a game cannot use.
        """
        super().__init__()
        self.kind = kind
        self._missing = missing
        self._of_others = of_others
        for entry in entries:
            self.add(entry)

    def add(self, entry: Registration) -> None:
        """Adds an entry; raises UsageError where its name is taken, or one of its games has another default."""
        if entry.name in self:
            raise UsageError(f"two plugins register the {self.kind} {entry.name!r}")
        self.check_default(entry)
        self[entry.name] = entry

    def grown(self, entries: Iterable[Registration]) -> Self:
        """Returns a registry with these entries behind its own; raises UsageError as `add`."""
        return type(self)(self.kind, [*self.values(), *entries], missing=self._missing)

    def check_default(self, entry: Registration) -> None:
        """Raises UsageError for a default of a game that has one: which is taken would be chance."""
        for other in self.values() if entry.default else ():
            if other.default and (shared := _shared_games(entry, other)):
                raise UsageError(
                    f"expected one default {self.kind} for {shared}, got {other.name!r} and {entry.name!r}; register "
                    "one of them without default=True"
                )

    def for_game(self, game: str) -> Self:
        """Returns the entries that a game can use."""
        usable = [entry for entry in self.values() if not entry.games or game in entry.games]
        others = [entry for entry in self.values() if entry.games and game not in entry.games]
        return type(self)(self.kind, usable, missing=self._missing, of_others=others)

    def knows(self, name: str) -> bool:
        """Returns whether a name is registered, or is in a family that is."""
        return name in self or self.is_member(name)

    def is_member(self, name: str) -> bool:
        """Returns whether a name is in a family, `family:member`, and not one of its own."""
        return bool(self._member(name))

    def entry(self, name: str) -> Registration:
        """Returns the entry of a name, or of the family that it is in; raises UsageError where there is none."""
        if name in self:
            return self[name]
        if self.is_member(name):
            return self[name.partition(FAMILY)[0] + FAMILY]
        raise self.unknown(name)

    def unknown(self, name: str, others: Iterable[str] = ()) -> UsageError:
        """Returns the error for a name that there is not: the games that it is for or else the nearest of these and of
        `others`, and why names may be missing.
        """
        known = [*self, *others]
        games = [game for entry in self._of_others if entry.name == name for game in entry.games]
        told = str(unknown_name(self.kind, name, known))
        if games:
            told = f"no {self.kind} named {name!r} for this game, only for {listed(games)}; expected one of "
            told += listed(known)
        return UsageError("; ".join([told, *self._missing]))

    def make(self, reference: str, *arguments: Any) -> Any:
        """Returns what an entry makes of a user's reference and the arguments of its kind.

        Raises UsageError for a name or an option that there is not and for what the maker refuses by ValueError,
        MoemctsError where it takes other arguments than those of its kind and, with the place, where it fails.
        """
        name, options = parse_reference(reference)
        entry = self.entry(name)
        member = self._member(name)
        if entry.name.endswith(FAMILY) and not member:
            raise UsageError(f"expected a name behind {entry.name!r}, got {reference!r}; {entry.summary}")
        given = (*member, *arguments)
        if problem := misfit(entry.make, len(given)):
            raise MoemctsError(f"{self.kind} {reference!r} cannot be made: {problem}; see moemcts.hookspecs")
        options = checked_options(f"{self.kind} {name!r}", entry.make, options, num_given=len(given))
        try:
            made = entry.make(*given, **options)
        except MoemctsError:
            raise
        except Exception as error:
            if isinstance(error, ValueError) or _is_of_options(error, options):
                raise UsageError(f"{self.kind} {reference!r}: {told(error)}") from error
            raise MoemctsError(f"{self.kind} {reference!r} cannot be made: {one_line(error)}") from error
        if made is None:
            raise MoemctsError(f"{self.kind} {reference!r} cannot be made: its plugin returned None")
        if isinstance(made, type):
            own = made.__name__
            raise MoemctsError(
                f"{self.kind} {reference!r} cannot be made: its plugin returned the class {own} itself, expected one "
                f"of its objects, as {own}(...) makes"
            )
        return made

    def _member(self, name: str) -> tuple[str, ...]:
        """Returns what a name says behind its family; nothing for a name of its own."""
        family, _, member = name.partition(FAMILY)
        return (member,) if member and name not in self and family + FAMILY in self else ()


def _is_of_options(error: Exception, options: Iterable[str]) -> bool:
    """Returns whether a maker could not be called, or hands on to others an option that they do not take."""
    calls = traceback.walk_tb(error.__traceback__)
    refused = any(f"unexpected keyword argument '{option}'" in str(error) for option in options)
    return isinstance(error, TypeError) and (refused or len(list(calls)) == 1)


def _shared_games(entry: Registration, other: Registration) -> str:
    """Returns the games that two entries are both for, in words; empty where there is none."""
    if not entry.games or not other.games:
        return ", ".join(entry.games or other.games) or "all"
    return ", ".join(game for game in entry.games if game in other.games)


class RegistryByGame(Registry):
    """The entries of a kind of which a game can use one of each name; the second of a name has its games in its key."""

    def add(self, entry: Registration) -> None:
        """Adds an entry; raises UsageError where one of its games could not tell it from another."""
        for other in (other for other in self.values() if other.name == entry.name):
            if shared := _shared_games(entry, other):
                raise UsageError(f"two plugins register the {self.kind} {entry.name!r} for {shared}")
        self.check_default(entry)
        self[f"{entry.name} of {', '.join(entry.games)}" if entry.name in self else entry.name] = entry

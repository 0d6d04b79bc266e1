"""Registries, one for each kind of registration: lookup by name or family, and creation from references."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Sequence
from typing import Any, Self

from moemcts.errors import MoemctsError, UsageError, listed, one_line, unknown_name
from moemcts.hookspecs import Registration
from moemcts.options import checked_options, error_message, signature_problem
from moemcts.references import parse_reference

FAMILY = ":"
"""The last character of a family's name; the member's name follows it."""


class Registry(dict[str, Registration]):
    """The entries of one kind, by name."""

    def __init__(
        self,
        kind: str,
        entries: Iterable[Registration] = (),
        *,
        missing: Sequence[str] = (),
        of_others: Sequence[Registration] = (),
    ) -> None:
        """Raises UsageError if a name is registered twice. `missing` has a line for each reason why names may be
        missing; its owner may append to it. `of_others` are entries that the game cannot use.
        """
        super().__init__()
        self.kind = kind
        self._missing = missing
        self._of_others = of_others
        for entry in entries:
            self.add(entry)

    def add(self, entry: Registration) -> None:
        """Adds an entry; raises UsageError if its name is taken or one of its games already has a default."""
        if entry.name in self:
            raise UsageError(f"two plugins register the {self.kind} {entry.name!r}")
        self.check_default(entry)
        self[entry.name] = entry

    def extended(self, entries: Iterable[Registration]) -> Self:
        """Returns a copy with further entries appended; raises UsageError as `add` does."""
        return type(self)(self.kind, [*self.values(), *entries], missing=self._missing)

    def check_default(self, entry: Registration) -> None:
        """Raises UsageError for a second default of the same game, as the choice between them would be arbitrary."""
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
        """Returns whether a name is registered, itself or through its family."""
        return name in self or self.is_member(name)

    def is_member(self, name: str) -> bool:
        """Returns whether a name is a member of a family, `family:member`, and not registered itself."""
        return bool(self._member(name))

    def entry(self, name: str) -> Registration:
        """Returns the entry of a name or of its family; raises UsageError for an unknown name."""
        if name in self:
            return self[name]
        if self.is_member(name):
            return self[name.partition(FAMILY)[0] + FAMILY]
        raise self.unknown(name)

    def unknown(self, name: str, others: Iterable[str] = ()) -> UsageError:
        """Returns the error for an unknown name: the games it is registered for, or else the closest match among these
        names and `others`, and the reasons why names may be missing.
        """
        known = [*self, *others]
        games = [game for entry in self._of_others if entry.name == name for game in entry.games]
        if games:
            only = f"for this game, only for {listed(games)}"
            message = f"no {self.kind} named {name!r} {only}; expected one of {listed(known)}"
        else:
            message = str(unknown_name(self.kind, name, known))
        return UsageError("; ".join([message, *self._missing]))

    def make(self, reference: str, *arguments: Any) -> Any:
        """Returns the object that a reference names; `arguments` are the positional arguments of its kind.

        Raises UsageError for an unknown name or option and for a ValueError of the factory, MoemctsError, with the
        location, if the factory has another signature than its kind or fails otherwise.
        """
        name, options = parse_reference(reference)
        entry = self.entry(name)
        member = self._member(name)
        if entry.name.endswith(FAMILY) and not member:
            raise UsageError(f"expected a name after {entry.name!r}, got {reference!r}; {entry.summary}")
        positional = (*member, *arguments)
        if problem := signature_problem(entry.make, len(positional)):
            raise MoemctsError(f"{self.kind} {reference!r} cannot be made: {problem}; see moemcts.hookspecs")
        options = checked_options(f"{self.kind} {name!r}", entry.make, options, num_given=len(positional))
        try:
            made = entry.make(*positional, **options)
        except MoemctsError:
            raise
        except Exception as error:
            if isinstance(error, ValueError) or _is_caused_by_options(error, options):
                raise UsageError(f"{self.kind} {reference!r}: {error_message(error)}") from error
            raise MoemctsError(f"{self.kind} {reference!r} cannot be made: {one_line(error)}") from error
        if made is None:
            raise MoemctsError(f"{self.kind} {reference!r} cannot be made: its plugin returned None")
        if isinstance(made, type):
            raise MoemctsError(
                f"{self.kind} {reference!r} cannot be made: its plugin returned the class {made.__name__} itself; "
                f"expected an object, such as {made.__name__}(...)"
            )
        return made

    def _member(self, name: str) -> tuple[str, ...]:
        """Returns the member of a family that a name denotes; empty if the name itself is registered."""
        family, _, member = name.partition(FAMILY)
        return (member,) if member and name not in self and family + FAMILY in self else ()


def _is_caused_by_options(error: Exception, options: Iterable[str]) -> bool:
    """Returns whether the call itself failed because of its arguments, or an option was passed on to code that rejects
    it.
    """
    if not isinstance(error, TypeError):
        return False
    is_rejected = any(f"unexpected keyword argument '{option}'" in str(error) for option in options)
    num_calls = len(list(traceback.walk_tb(error.__traceback__)))
    return is_rejected or num_calls == 1


def _shared_games(entry: Registration, other: Registration) -> str:
    """Returns the games that both entries apply to, as text; empty if there are none."""
    if not entry.games or not other.games:
        return ", ".join(entry.games or other.games) or "all"
    return ", ".join(game for game in entry.games if game in other.games)


class RegistryByGame(Registry):
    """Entries of a kind whose names are unique per game; if a name is taken, the key includes the entry's games."""

    def add(self, entry: Registration) -> None:
        """Adds an entry; raises UsageError if one of its games already has an entry of that name."""
        for other in self.values():
            if other.name == entry.name and (shared := _shared_games(entry, other)):
                raise UsageError(f"two plugins register the {self.kind} {entry.name!r} for {shared}")
        self.check_default(entry)
        self[f"{entry.name} of {', '.join(entry.games)}" if entry.name in self else entry.name] = entry

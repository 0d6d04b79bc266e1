"""Options in references: which options a factory takes, and conversion of their values."""

from __future__ import annotations

import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from moemcts.errors import UsageError, first_fault, shortened, unknown_name, validation_message

_TYPE_NAMES = {int: "whole number", float: "number", str: "text", bool: "true or false"}


def option_types(make: Callable[..., Any], *, num_given: int = 0) -> dict[str, Any]:
    """Returns a factory's keyword arguments with their types, None for an unknown type.

    Parameters with a default that follow the `num_given` positional arguments are included. `**options:
    Unpack[SomeTypedDict]` stands for the keys of that dictionary; other `**options` add nothing (`takes_any_option`).
    """
    types: dict[str, Any] = {}
    for position, parameter in enumerate(inspect.signature(make).parameters.values()):
        has_name = parameter.kind is parameter.POSITIONAL_OR_KEYWORD and position >= num_given
        if parameter.kind is parameter.KEYWORD_ONLY or (has_name and parameter.default is not parameter.empty):
            types[parameter.name] = _annotation(make, parameter)
        elif parameter.kind is parameter.VAR_KEYWORD:
            types |= _unpacked_types(make, parameter)
    return types


def takes_any_option(make: Callable[..., Any]) -> bool:
    """Returns whether a factory has `**options` of any name, whose values are not converted."""
    parameters = inspect.signature(make).parameters.values()
    return any(
        parameter.kind is parameter.VAR_KEYWORD and not _unpacked_types(make, parameter) for parameter in parameters
    )


def signature_problem(make: Callable[..., Any], num_given: int) -> str:
    """Returns, in words, how many positional arguments a factory gets and how many it takes; empty if these agree.
    Missing keyword-only arguments are not checked.
    """
    parameters = inspect.signature(make).parameters.values()
    positional = [
        parameter
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    num_required = sum(parameter.default is parameter.empty for parameter in positional)
    takes_any = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)
    if num_required <= num_given and (takes_any or num_given <= len(positional)):
        return ""
    count = f"needs {num_required}" if num_required > num_given else f"takes {len(positional)}"
    name = getattr(make, "__name__", repr(make))
    return f"expected a factory that takes {num_given} positional arguments, then options by name, but {name} {count}"


def defaults_of(make: Callable[..., Any]) -> dict[str, Any]:
    """Returns the default values of a factory's parameters, by name, for those that have one."""
    parameters = inspect.signature(make).parameters.values()
    return {parameter.name: parameter.default for parameter in parameters if parameter.default is not parameter.empty}


def checked_options(
    owner: str, make: Callable[..., Any], options: Mapping[str, Any], *, num_given: int = 0
) -> dict[str, Any]:
    """Returns the options converted to the factory's annotations: one item becomes a list, an integer a float.

    `num_given` is the number of positional arguments that the factory gets, which are not options. Raises UsageError
    for an unknown option and for a value of a wrong type.
    """
    types = option_types(make, num_given=num_given)
    others = dict.fromkeys(options) if takes_any_option(make) else {}
    return checked_values(owner, others | types, options)


def checked_values(owner: str, types: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options converted to these types; raises as `checked_options` does."""
    for option in options:
        if option not in types:
            raise unknown_name(f"option of {owner}", option, types)
    return {option: _converted(owner, option, types[option], value) for option, value in options.items()}


def format_type(kind: Any) -> str:
    """Returns a type in words, without None: the default shows that an option is optional."""
    if isinstance(kind, type) and kind in _TYPE_NAMES:
        return _TYPE_NAMES[kind]
    parts = [part for part in get_args(kind) if part is not NoneType]
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(map(format_type, parts))
    if get_origin(kind) is Literal:
        return " or ".join(map(str, parts))
    if get_origin(kind) in (Sequence, list, tuple):
        return f"{format_type(parts[0])}, ..."
    return kind.__name__ if isinstance(kind, type) else str(kind)


def error_message(error: Exception) -> str:
    """Returns an error's message; for a validation error, its first fault, on one line."""
    from pydantic import ValidationError

    return first_fault(error) if isinstance(error, ValidationError) else str(error)


def _unpacked_types(make: Callable[..., Any], parameter: inspect.Parameter) -> dict[str, Any]:
    """Returns the types that `**options: Unpack[SomeTypedDict]` stands for; empty for other annotations."""
    unpacked = typing.get_args(_annotation(make, parameter))
    return typing.get_type_hints(unpacked[0]) if unpacked and typing.is_typeddict(unpacked[0]) else {}


def _annotation(make: Callable[..., Any], parameter: inspect.Parameter) -> Any:
    """Returns the type of one parameter; annotations of other parameters may be importable by type checkers only."""
    if parameter.annotation is parameter.empty:
        return None
    while isinstance(make, functools.partial):
        make = make.func
    names = vars(sys.modules[make.__module__]) if isinstance(make, type) else getattr(make, "__globals__", {})
    annotated = types.SimpleNamespace(__annotations__={"parameter": parameter.annotation})
    try:
        return typing.get_type_hints(annotated, names)["parameter"]
    except NameError:
        return None


def _converted(owner: str, option: str, kind: Any, value: Any) -> Any:
    """Returns a value converted to a type; None stands for an unknown type."""
    if kind is None:
        return value
    from pydantic import ConfigDict, TypeAdapter, ValidationError
    from pydantic.errors import PydanticUserError

    try:
        adapter: TypeAdapter[Any] = TypeAdapter(kind, config=ConfigDict(coerce_numbers_to_str=True))
    except PydanticUserError:
        # A type that pydantic does not know, for the factory to check.
        return value
    faults: list[ValidationError] = []
    # A single item is accepted where a list is expected.
    for candidate in (value, [value]):
        try:
            return adapter.validate_python(candidate)
        except ValidationError as error:
            faults.append(error)
    # For a list, the error about the item is more helpful than the one about the missing list.
    is_item = get_origin(kind) in (Sequence, list, tuple) and not isinstance(value, list)
    fault = faults[is_item].errors()[0]
    # The type already lists the allowed literals.
    reason = "" if fault["type"] == "literal_error" else f": {validation_message(fault)}"
    raise UsageError(f"{owner}: expected {option} as {format_type(kind)}, got {shortened(value)}{reason}")

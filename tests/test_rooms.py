"""No circle of imports in the house, inside a room or between rooms."""

from __future__ import annotations

import functools
from pathlib import Path

import grimp
import pytest

import moemcts

ROOMS = sorted(path.name for path in Path(moemcts.__file__).parent.iterdir() if (path / "__init__.py").exists())


@functools.cache
def graph() -> grimp.ImportGraph:
    """Returns who imports whom, inside functions too; what only a type checker imports makes no circle."""
    return grimp.build_graph("moemcts", exclude_type_checking_imports=True)


def circle(modules: set[str]) -> list[str]:
    """Returns the modules of one circle, none if there is none: Kahn's algorithm leaves them and those behind them."""
    imported = {module: graph().find_modules_directly_imported_by(module) & modules for module in modules}
    while free := [module for module, others in imported.items() if not others]:
        for module in free:
            del imported[module]
        imported = {module: others.difference(free) for module, others in imported.items()}
    path: list[str] = []
    while imported:
        module = min(imported[path[-1]]) if path else min(imported)
        if module in path:
            return [*path[path.index(module) :], module]
        path.append(module)
    return []


@pytest.mark.parametrize("room", ROOMS)
def test_no_module_of_a_room_imports_itself_by_way_of_others(room: str) -> None:
    inside = {module for module in graph().modules if module.startswith(f"moemcts.{room}.")}
    assert inside
    assert not circle(inside), " -> ".join(circle(inside))

# SPDX-License-Identifier: Apache-2.0
"""A change of the public API is deliberate: tools/public_api.txt lists all names and signatures; none is Any."""

import functools
import inspect
import re
import runpy
from pathlib import Path

import pytest

import ada_dynamics as ada

TOOL = Path(__file__).parents[3] / "tools/public_api.py"


def test_names_and_signatures_are_those_of_the_list():
    expected = TOOL.with_suffix(".txt").read_text(encoding="utf-8")
    assert runpy.run_path(str(TOOL))["public_api"]() == expected, "run python tools/public_api.py --write"


def test_the_package_shows_public_names_only():
    assert dir(ada) == sorted(ada.__all__)


def test_subpackages_are_imported_on_first_use():
    assert ada.simulation.Simulation is ada.Simulation
    assert not hasattr(ada, "no_such_subpackage")


def functions(name):
    """A public function, or the public methods and properties of a class, with their names."""
    thing = getattr(ada, name)
    if inspect.isfunction(thing):
        yield "", thing
    for member in dir(thing) if inspect.isclass(thing) else ():
        if member.startswith("_") and member not in ("__init__", "__call__", "__getitem__"):
            continue
        found = inspect.getattr_static(thing, member)
        if isinstance(found, property):
            found = found.fget
        elif isinstance(found, functools.cached_property):
            found = found.func
        elif isinstance(found, staticmethod | classmethod):
            found = found.__func__
        if inspect.isfunction(found) and found.__module__.startswith("ada_"):
            yield member, found


@pytest.mark.parametrize("name", ada.__all__)
def test_no_public_name_takes_or_returns_anything(name):
    for member, function in functions(name):
        for argument, kind in function.__annotations__.items():
            assert not re.search(r"\bAny\b", str(kind)), f"{name}.{member}: {argument} is {kind}"

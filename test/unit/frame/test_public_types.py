# SPDX-License-Identifier: Apache-2.0
"""What the public names take and return is said in types: none is Any, and choices are spelled out."""

import functools
import inspect
import re

import pytest

import ada_dynamics as ada


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

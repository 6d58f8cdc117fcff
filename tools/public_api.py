# SPDX-License-Identifier: Apache-2.0
"""python tools/public_api.py [--write]: names and signatures of `ada_dynamics` and of its public classes.

Prints them, or writes them to tools/public_api.txt, with which a unit test compares the code.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import ada_dynamics

FILE = Path(__file__).with_suffix(".txt")
OPERATORS = ("__init__", "__call__", "__getitem__", "__iter__", "__len__", "__enter__")


def public_api() -> str:
    """One line per public name of `ada_dynamics`, followed by one indented line per public member of a class."""
    return "".join(f"{line}\n" for name in dir(ada_dynamics) for line in described(name, getattr(ada_dynamics, name)))


def described(name: str, thing: object) -> Iterator[str]:
    """Lines of one public name."""
    if inspect.isclass(thing):
        bases = ", ".join(base.__name__ for base in thing.__bases__ if base is not object)
        yield f"class {name}" + (f"({bases})" if bases else "")
        yield from (f"    {line}" for line in members(thing))
    else:
        yield name + signature(thing) if inspect.isfunction(thing) else f"{name}: {type(thing).__name__}"


def members(cls: type) -> Iterator[str]:
    """Public methods and attributes; not those that the class inherits from another public class or package."""
    listed = {vars(ada_dynamics).get(base.__name__) for base in cls.__mro__[1:]}
    for name in sorted({name for base in cls.__mro__ for name in declared(base)}):
        owner = next(base for base in cls.__mro__ if name in declared(base))
        if (name.startswith("_") and name not in OPERATORS) or owner in listed or owner.__module__[:4] != "ada_":
            continue
        found = owner.__dict__.get(name)
        if isinstance(found, property | functools.cached_property):
            function = found.fget if isinstance(found, property) else found.func
            yield f"{name}: {annotation(function, 'return')}"
        elif isinstance(found, staticmethod | classmethod):
            yield f"{type(found).__name__} {name}{signature(found.__func__)}"
        else:
            yield name + signature(found) if inspect.isfunction(found) else f"{name}: {annotation(owner, name)}"


def declared(cls: type) -> set[str]:
    """Members that a class itself defines or annotates."""
    return {*cls.__dict__, *inspect.get_annotations(cls)}


def annotation(thing: object, name: str) -> str:
    """Type of an attribute or of a result, as it is written in the code; the kind of descriptor where there is none."""
    kind = inspect.get_annotations(thing).get(name, type(thing.__dict__.get(name)).__name__)  # type: ignore[arg-type]
    return str(getattr(kind, "__forward_arg__", kind))


def signature(function: object) -> str:
    """Signature without `self` or `cls`, quotes of annotations and addresses of objects."""
    text = re.sub(r" at 0x[0-9a-f]+", "", str(inspect.signature(function)))  # type: ignore[arg-type]
    text = re.sub(r"""(: |-> )(['"])(.*?)\2""", r"\1\3", text)
    return re.sub(r"^\((self|cls)(: \w+)?(, )?", "(", text)


if __name__ == "__main__":
    if "--write" in sys.argv:
        FILE.write_text(public_api(), encoding="utf-8")
    else:
        print(public_api(), end="")

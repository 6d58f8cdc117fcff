# SPDX-License-Identifier: Apache-2.0
"""Expansion of xacro files by the PyPI package xacro (an optional dependency).

A xacro file is a program that evaluates Python expressions and reads other files: load only trusted ones.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from ada_dynamics.errors import AdaError, InputError, ModelError
from ada_dynamics.robots.addresses import AddressResolver
from ada_dynamics.robots.readers.xml import parse_xml
from ada_dynamics.structured_text.files import read_file

MOST_ELEMENTS = 50_000  # limit of expanded elements, as nested macros grow exponentially
_ONE_AT_A_TIME = threading.Lock()  # the package keeps its state in module variables


def expand_xacro(path: str | os.PathLike[str], mappings: Mapping[str, object] | None = None) -> str:
    """Expand a xacro file to URDF text.

    A xacro file is a program that runs with the user's rights: load only trusted ones.

    Args:
        path: the file.
        mappings: values of its <xacro:arg>s.

    Raises:
        InputError: the package xacro is not installed, or mappings is not a dict of names and values.
        ModelError: the file cannot be read or expanded.
    """
    parse_xml(read_file(path), str(path))  # refuses entities and binary files before the expansion
    xacro = _package()
    arguments = _arguments(mappings)
    with _ONE_AT_A_TIME, _finding_packages(Path(path)), _counting(xacro, path):
        try:
            document = xacro.process_file(str(path), mappings=arguments)
            return str(document.toprettyxml(indent="  "))
        except AdaError:
            raise
        except RecursionError:
            message = f"{path}: xacro recurses without end: does a file or macro include itself?"
            raise ModelError(message, file=path) from None
        except Exception as problem:  # expressions in the file can raise any exception
            reason = " ".join(str(problem).split()) or type(problem).__name__
            included = [str(f) for f in (getattr(xacro, "filestack", None) or []) if f and str(f) != str(path)]
            where = f" (in {included[-1]})" if included else ""
            raise ModelError(f"{path}: xacro cannot expand it: {reason[:500]}{where}.", file=path) from problem


def _package() -> ModuleType:
    try:
        import xacro
    except ImportError:
        fix = "Install it with: pip install xacro"
        raise InputError(f"xacro files need the package xacro, which is not installed. {fix}") from None
    return xacro  # type: ignore[no-any-return]


def _arguments(mappings: object) -> dict[str, str]:
    if mappings is None:
        return {}
    if not isinstance(mappings, Mapping) or not all(isinstance(k, str) for k in mappings):
        message = f"mappings is {mappings!r}; it must be a dict of argument names and values."
        raise InputError(message, field="mappings", value=mappings, allowed="a dict of argument names and values")
    return {name: str(value) for name, value in mappings.items()}


@contextmanager
def _counting(xacro: ModuleType, path: str | os.PathLike[str]) -> Iterator[None]:
    """Limit the number of expanded elements."""
    expand = xacro.handle_macro_call
    left = iter(range(MOST_ELEMENTS))

    def counted(*arguments: Any) -> Any:
        if next(left, None) is None:
            message = f"{path}: xacro expands more than {MOST_ELEMENTS} elements, which is the limit."
            raise ModelError(message, file=path)
        return expand(*arguments)

    xacro.handle_macro_call = counted  # type: ignore[attr-defined]
    try:
        yield
    finally:
        xacro.handle_macro_call = expand  # type: ignore[attr-defined]


@contextmanager
def _finding_packages(path: Path) -> Iterator[None]:
    """Resolve $(find package) by the rules of mesh addresses, also without ROS."""
    from xacro import substitution_args

    installed: Callable[[str], str] = substitution_args._eval_find
    names: dict[str, Any] = getattr(substitution_args, "_eval_dict", {})
    addresses = AddressResolver(path)

    def find(package: str) -> str:
        folder = addresses.package(package)
        return str(folder) if folder is not None else installed(package)

    substitution_args._eval_find = find
    before = names.get("find")
    if before is not None:
        names["find"] = find
    try:
        yield
    finally:
        substitution_args._eval_find = installed
        if before is not None:
            names["find"] = before

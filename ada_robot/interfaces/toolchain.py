# SPDX-License-Identifier: Apache-2.0
"""The compilers for message packages, and what a machine lacks for them.

Only the standard library is used: `tools/precheck.py` runs this file before anything is installed.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class Lack(NamedTuple):
    """One thing that is not there, and what brings it.

    Attributes:
        what: in words.
        package: of Debian and Ubuntu that has it; "" where the user's own choice is what fails.
    """

    what: str
    package: str


class Toolchain(NamedTuple):
    """Commands that compile, and the folder of Python.h.

    Attributes:
        c: command that compiles C.
        cxx: command that compiles and links C++.
        headers: folders of Python's headers.
    """

    c: tuple[str, ...]
    cxx: tuple[str, ...]
    headers: tuple[Path, ...]


def find(environment: Mapping[str, str] = os.environ) -> tuple[Toolchain | None, list[Lack]]:
    """The toolchain, or None and what it lacks.

    Args:
        environment: whose CC, CXX and PATH count.
    """
    lacks: list[Lack] = []
    c = _compiler("CC", ("gcc", "cc", "clang"), "C compiler", environment, lacks)
    cxx = _compiler("CXX", ("g++", "c++", "clang++"), "C++ compiler", environment, lacks)
    headers = tuple(dict.fromkeys(Path(sysconfig.get_path(kind)) for kind in ("include", "platinclude")))
    if not any((folder / "Python.h").is_file() for folder in headers):
        lacks.append(Lack(f"Python.h (looked in {', '.join(map(str, headers))})", headers_package()))
    return (None if lacks else Toolchain(c, cxx, headers)), lacks


def apt_line(lacks: list[Lack]) -> str:
    """The one command that brings all of them; "" where no package does."""
    packages = dict.fromkeys(lack.package for lack in lacks if lack.package)
    return f"sudo apt install {' '.join(packages)}" if packages else ""


def in_words(lacks: list[Lack]) -> str:
    """The missing parts, in one line."""
    return " and ".join(dict.fromkeys(lack.what for lack in lacks))


def headers_package() -> str:
    """The package of Debian and Ubuntu with Python.h of this very Python."""
    return "python3-dev" if is_systems_python() else f"python3.{sys.version_info.minor}-dev"


def is_systems_python() -> bool:
    """True if this Python, or the one that its virtual environment was made from, is the one that the system brings."""
    ours = Path(sys.base_prefix, "bin", f"python3.{sys.version_info.minor}")
    return ours.resolve() == Path("/usr/bin/python3").resolve()


def _compiler(
    variable: str, names: tuple[str, ...], what: str, environment: Mapping[str, str], lacks: list[Lack]
) -> tuple[str, ...]:
    chosen = shlex.split(environment.get(variable, ""))
    path = environment.get("PATH", "")
    if chosen:
        if shutil.which(chosen[0], path=path) is None:
            lacks.append(Lack(f"the {what} {chosen[0]!r} that {variable} names", ""))
        return tuple(chosen)
    for name in names:
        if shutil.which(name, path=path) is not None:
            return (name,)
    lacks.append(Lack(f"a {what} ({' or '.join(names[:2])})", "g++"))
    return ()

# SPDX-License-Identifier: Apache-2.0
"""Detection of the compilers for message packages, and of missing parts.

Only the standard library is used, because `tools/precheck.py` runs this file before the installation.
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
    """Missing part.

    Attributes:
        what: description.
        package: Debian and Ubuntu package that contains it; "" if a setting of the user is wrong.
    """

    what: str
    package: str


class Toolchain(NamedTuple):
    """Compiler commands, and the folders of Python.h.

    Attributes:
        c: command of the C compiler.
        cxx: command of the C++ compiler and linker.
        headers: folders of Python's headers.
    """

    c: tuple[str, ...]
    cxx: tuple[str, ...]
    headers: tuple[Path, ...]


def find(environment: Mapping[str, str] = os.environ) -> tuple[Toolchain | None, list[Lack]]:
    """Return the toolchain, or None and the missing parts.

    Args:
        environment: environment with CC, CXX and PATH.
    """
    lacks: list[Lack] = []
    c = _compiler("CC", ("gcc", "cc", "clang"), "C compiler", environment, lacks)
    cxx = _compiler("CXX", ("g++", "c++", "clang++"), "C++ compiler", environment, lacks)
    headers = tuple(dict.fromkeys(Path(sysconfig.get_path(kind)) for kind in ("include", "platinclude")))
    if not any((folder / "Python.h").is_file() for folder in headers):
        lacks.append(Lack(f"Python.h (looked in {', '.join(map(str, headers))})", headers_package()))
    return (None if lacks else Toolchain(c, cxx, headers)), lacks


def apt_line(lacks: list[Lack]) -> str:
    """Return the command that installs all missing parts; "" if no package contains them."""
    packages = dict.fromkeys(lack.package for lack in lacks if lack.package)
    return f"sudo apt install {' '.join(packages)}" if packages else ""


def in_words(lacks: list[Lack]) -> str:
    """Format the missing parts as one line."""
    return " and ".join(dict.fromkeys(lack.what for lack in lacks))


def headers_package() -> str:
    """Return the Debian and Ubuntu package with Python.h of this Python version."""
    return "python3-dev" if is_systems_python() else f"python3.{sys.version_info.minor}-dev"


def is_systems_python() -> bool:
    """Return True if this Python, or the base of its virtual environment, is the system's Python."""
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

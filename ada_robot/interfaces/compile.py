# SPDX-License-Identifier: Apache-2.0
"""Compilation of generated sources to one library: C messages, type support, and conversion to Python."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from ada_dynamics.errors import CompileError
from ada_robot.interfaces.generate import HASHES, SOURCES, TYPE_SUPPORTS
from ada_robot.interfaces.prefix import Prefix
from ada_robot.interfaces.toolchain import Toolchain

# libraries that other message packages have separately; the library built here replaces all of them
PARTS = ("rosidl_generator_c", "rosidl_generator_py", "rosidl_typesupport_c", *TYPE_SUPPORTS)
_RUNTIME = (
    "rosidl_runtime_c",
    "rosidl_typesupport_c",
    "rosidl_typesupport_fastrtps_c",
    "rosidl_typesupport_fastrtps_cpp",
    "rosidl_typesupport_introspection_c",
    "fastcdr",
    "rmw",
    "rcutils",
)
_FLAGS = ("-O1", "-fPIC", "-w", "-c")


def library_name(package: str) -> str:
    """Return the file name of the library, which is also the Python module of the conversions."""
    return f"{package}_s__rosidl_typesupport_c.so"


def shared_name(package: str, part: str) -> str:
    """Return the file name under which the loader searches for a part of a package."""
    return f"lib{package}__{part}.so"


def compile_library(package: str, generated: Path, prefix: Prefix, tools: Toolchain) -> Path:
    """Compile and link all sources below `generated`.

    Args:
        package: package name.
        generated: output of `generate`; objects and library are written there.
        prefix: environment with headers and libraries of ROS 2.
        tools: compilers.

    Raises:
        CompileError: if a compiler fails; the message contains its output.
    """
    roots = [generated / generator for generator in SOURCES]
    folders = [*roots, prefix.include, *_header_folders(prefix), *tools.headers, Path(np.get_include())]
    include = [f"-I{folder}" for folder in folders]

    def compile_one(source: Path) -> Path:
        target = source.with_name(source.name + ".o")
        command = (*tools.c, "-std=gnu11") if source.suffix == ".c" else (*tools.cxx, "-std=c++17")
        _run([*command, *_FLAGS, str(source), "-o", str(target), *include])
        return target

    sources = sorted(path for root in roots for path in root.rglob("*") if path.suffix in (".c", ".cpp"))
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        objects = list(pool.map(compile_one, sources))
    library = generated / library_name(package)
    used = [prefix.lib / shared_name(other, part) for other in used_packages(generated) - {package} for part in PARTS]
    to_lib = os.path.relpath(prefix.lib.resolve(), prefix.site.resolve() / package)
    _run(
        [
            *tools.cxx,
            "-shared",
            "-o",
            str(library),
            *map(str, objects),
            "-Wl,--as-needed",
            *sorted(map(str, used)),
            f"-L{prefix.lib}",
            *(f"-l{name}" for name in _RUNTIME),
            f"-Wl,-soname,{shared_name(package, 'rosidl_typesupport_c')}",
            f"-Wl,-rpath,$ORIGIN/{to_lib}",
        ]
    )
    return library


def used_packages(generated: Path) -> set[str]:
    """Return all packages referenced by the type descriptions."""
    found = set()
    for path in (generated / HASHES).rglob("*.json"):
        description = json.loads(path.read_text(encoding="utf-8"))["type_description_msg"]
        found |= {one["type_name"].split("/")[0] for one in description["referenced_type_descriptions"]}
        if path.parent.name == "action":  # references to status and cancellation are implicit
            found.add("action_msgs")
    return found


def _header_folders(prefix: Prefix) -> list[Path]:
    """Return the header folders of the wheels, include/PACKAGE/PACKAGE/."""
    return sorted(path for path in prefix.include.iterdir() if path.is_dir() and not path.name.startswith("python"))


def _run(command: Sequence[str]) -> None:
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if result.returncode:
        said = result.stdout.strip().splitlines()
        shown = next((line for line in said if "error" in line), said[-1] if said else "no output")
        raise CompileError(f"{command[0]} ended with code {result.returncode}: {shown.strip()}")

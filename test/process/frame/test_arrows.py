# SPDX-License-Identifier: Apache-2.0
"""Import rules of packages, rooms (folders of a package) and modules, read from every import statement."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FLOORS = (("ada_dynamics",), ("ada_robot",), ("ada_controllers", "ada_hardware"), ("ada_tools",), ("ada_experiments",))
"""From the ground up; packages of one floor do not know one another."""
PACKAGES = tuple(package for floor in FLOORS for package in floor)
HOMES = dict.fromkeys(PACKAGES, ROOT) | {"ada_experiments": ROOT / "experiments"}
"""Folders that contain the packages."""
LEVEL = {package: level for level, floor in enumerate(FLOORS) for package in floor}
ROS = ("rclpy", "launch", "launch_ros", "ament_index_python")
LAZY = "ada_dynamics.gpu"
"""Imported inside functions only, except by its own files."""
ROOM_CIRCLES = {"ada_robot.driver", "ada_robot.safety"}
"""Rooms that still name types of each other under TYPE_CHECKING."""


@cache
def imports(package: str) -> list[tuple[str, int, str]]:
    """(file, line, module) of every import of a package, including those inside functions and under TYPE_CHECKING."""
    found = []
    for path in sorted((HOMES[package] / package).rglob("*.py")):
        where = path.relative_to(HOMES[package]).as_posix()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found += [(where, node.lineno, name.name) for name in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert not node.level, f"{where}:{node.lineno}: a relative import"
                names = [f"{node.module}.{name.name}" for name in node.names]
                found += [(where, node.lineno, name if is_file(name) else str(node.module)) for name in names]
    return found


def is_file(module: str) -> bool:
    """True if a module of this repository has this name."""
    path = HOMES.get(module.partition(".")[0], ROOT).joinpath(*module.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def test_every_package_stands_on_a_floor():
    found = [path.parent for home in {*HOMES.values()} for path in home.glob("ada_*/__init__.py")]
    assert {path.name: path.parent for path in found} == HOMES


@pytest.mark.parametrize("package", PACKAGES)
def test_arrows_point_downwards(package):
    wrong = [
        f"{where}:{line} imports {module}"
        for where, line, module in imports(package)
        for above in [module.partition(".")[0]]
        if above in LEVEL and above != package and LEVEL[above] >= LEVEL[package]
    ]
    assert not wrong, "\n".join(wrong)


def test_the_library_knows_no_ros():
    assert not [found for found in imports("ada_dynamics") if found[2].partition(".")[0] in ROS]


def test_importing_the_library_loads_nothing_of_the_floors_above():
    code = "import sys, ada_dynamics.dynamics, ada_dynamics.simulation, ada_dynamics.drawing; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    above = {module.partition(".")[0] for module in loaded.split()} & {*PACKAGES[1:], *ROS}
    assert not above
    assert LAZY not in loaded.split()


def is_lazy(module: str) -> bool:
    """True for the package of GPUs and its modules."""
    return f"{module}.".startswith(f"{LAZY}.")


@pytest.mark.parametrize("package", PACKAGES)
def test_gpu_code_is_imported_inside_functions_only(package):
    wrong = []
    for path in sorted((HOMES[package] / package).rglob("*.py")):
        where = path.relative_to(HOMES[package])
        if is_lazy(".".join(where.with_suffix("").parts)):
            continue
        tree = ast.parse(path.read_text())
        inside = {
            id(node)
            for function in ast.walk(tree)
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
            for node in ast.walk(function)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                names = [str(node.module), *(f"{node.module}.{name.name}" for name in node.names)]
            else:
                names = [name.name for name in node.names] if isinstance(node, ast.Import) else []
            if id(node) not in inside and any(map(is_lazy, names)):
                wrong.append(f"{where}:{node.lineno}")
    assert not wrong, "\n".join(wrong)


def name_of(where: str) -> str:
    """Module name of a file."""
    return where.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def graph_of(package: str) -> dict[str, set[str]]:
    """For each module of a package, the modules of the same package that it imports."""
    arrows: dict[str, set[str]] = {}
    for where, _, module in imports(package):
        if module.partition(".")[0] == package and module != name_of(where) and not is_lazy(module):
            arrows.setdefault(name_of(where), set()).add(module)
    return arrows


def room_of(module: str) -> str:
    """Name of the package and its room, which is a folder or a file of it."""
    return ".".join(module.split(".")[:2])


def in_circles(arrows: dict[str, set[str]]) -> set[str]:
    """The nodes of a graph that can be reached from themselves."""
    found = set()
    for start in arrows:
        seen, pending = set(), [start]
        while pending:
            new = arrows.get(pending.pop(), set()) - seen
            seen |= new
            pending += new
        if start in seen:
            found.add(start)
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_no_rooms_import_each_other_in_a_circle(package):
    arrows: dict[str, set[str]] = {}
    for module, others in graph_of(package).items():
        if module != package:
            arrows.setdefault(room_of(module), set()).update({room_of(other) for other in others} - {room_of(module)})
    circles = in_circles(arrows)
    assert circles <= ROOM_CIRCLES, sorted(circles - ROOM_CIRCLES)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_modules_import_each_other_in_a_circle(package):
    circles = in_circles(graph_of(package))
    assert not circles, sorted(circles)

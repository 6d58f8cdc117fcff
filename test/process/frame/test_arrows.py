# SPDX-License-Identifier: Apache-2.0
"""The floors of the house: who may import whom, read from every import statement of the tree."""

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
LEVEL = {package: level for level, floor in enumerate(FLOORS) for package in floor}
ROS = ("rclpy", "launch", "launch_ros", "ament_index_python")
LAZY = "ada_dynamics.gpu"
"""Imported inside functions only, except by its own files."""


@cache
def imports(package: str) -> list[tuple[str, int, str]]:
    """(file, line, module) of every import below a package, those inside of functions too, those of types alone not."""
    found = []
    for path in sorted((ROOT / package).rglob("*.py")):
        where = path.relative_to(ROOT).as_posix()
        tree = ast.parse(path.read_text())
        of_types = {
            id(node)
            for block in ast.walk(tree)
            if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"
            for node in ast.walk(block)
        }
        for node in ast.walk(tree):
            if id(node) in of_types:
                continue
            if isinstance(node, ast.Import):
                found += [(where, node.lineno, name.name) for name in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert not node.level, f"{where}:{node.lineno}: a relative import"
                found.append((where, node.lineno, str(node.module)))
    return found


def test_every_package_stands_on_a_floor():
    assert sorted(path.parent.name for path in ROOT.glob("ada_*/__init__.py")) == sorted(PACKAGES)


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
    for path in sorted((ROOT / package).rglob("*.py")):
        where = path.relative_to(ROOT)
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


def rooms_of(package: str) -> dict[str, set[str]]:
    """For each room of a package, a folder or a file beside it, the rooms that it imports."""
    arrows: dict[str, set[str]] = {}
    for where, _, module in imports(package):
        if is_lazy(module):
            continue
        room, (top, _, inside) = Path(where).parts[1].removesuffix(".py"), module.partition(".")
        other = inside.partition(".")[0]
        if room != "__init__" and top == package and other and other != room:
            arrows.setdefault(room, set()).add(other)
    return arrows


@pytest.mark.parametrize("package", PACKAGES)
def test_no_rooms_stand_in_a_circle(package):
    arrows = rooms_of(package)
    while free := [room for room in arrows if not arrows[room] & arrows.keys()]:
        for room in free:
            del arrows[room]
    assert not arrows, {room: sorted(others & arrows.keys()) for room, others in arrows.items()}

# SPDX-License-Identifier: Apache-2.0
"""The floors of the house: who may import whom, read from every import statement of the tree."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FLOORS = (
    ("ada_dynamics",),
    ("ada_robot",),
    ("ada_controllers", "ada_hardware"),
    ("ada_tools",),
    ("ada_experiments",),
)
"""From the ground up; packages of one floor do not know one another."""
PACKAGES = tuple(package for floor in FLOORS for package in floor)
LEVEL = {package: level for level, floor in enumerate(FLOORS) for package in floor}
ROS = ("rclpy", "launch", "launch_ros", "ament_index_python")


def imports(package: str) -> list[tuple[str, int, str]]:
    """(file, line, module) of every import below a package, those inside of functions too."""
    found = []
    for path in sorted((ROOT / package).rglob("*.py")):
        where = path.relative_to(ROOT).as_posix()
        for node in ast.walk(ast.parse(path.read_text())):
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
